"""What of the Neo4j store needs no server: addresses, guesses, identifiers, values."""

from __future__ import annotations

import contextlib
import socket
import threading
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st
from neo4j.spatial import CartesianPoint, WGS84Point
from neo4j.time import Date, DateTime, Duration, Time

from thinkgraph.errors import KnowledgeError, StoreError
from thinkgraph.tools.addresses import redacted
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.neo4j import cypher
from thinkgraph.tools.neo4j.connection import SCHEMES, parse_address
from thinkgraph.tools.neo4j.plan import in_words
from thinkgraph.tools.neo4j.roles import (
    LabelFacts,
    PropertyFacts,
    Roles,
    Template,
    guess,
    is_generic,
    plain_words,
    short_text,
    speaks,
)
from thinkgraph.tools.neo4j.rows import Fact, elements, read_fact, render
from thinkgraph.tools.neo4j.text import _id, _read_id
from thinkgraph.tools.openers import OPENERS


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_DATABASE"):
        monkeypatch.delenv(name, raising=False)


def test_every_scheme_is_registered() -> None:
    assert set(SCHEMES) <= set(OPENERS)


def test_a_whole_address() -> None:
    spec = (
        "neo4j+s://ann:p%40s%2Fs%3A%3F@db.example:7688/films?name=Person.full+name,title&alias=none&timeout=5&vectors=v"
    )
    found = parse_address(spec)
    assert (found.uri, found.database, found.user, found.password) == (
        "neo4j+s://db.example:7688",
        "films",
        "ann",
        "p@s/s:?",
    )
    assert found.mapping["name"] == ("Person.full+name", "title")
    assert found.mapping["alias"] == ()
    assert "text" not in found.mapping
    assert (found.timeout, found.scan, found.vectors) == (5.0, 5.0, "v")
    assert "p@s" not in repr(found) + str(found)


def test_the_environment_fills_in(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = parse_address("bolt://h")
    assert (bare.port, bare.user, bare.password, bare.database) == (7687, None, None, None)
    for name, value in (("USERNAME", "env"), ("PASSWORD", "secret"), ("DATABASE", "d")):
        monkeypatch.setenv(f"NEO4J_{name}", value)
    assert (parse_address("bolt://h").user, parse_address("bolt://h").password) == ("env", "secret")
    found = parse_address("bolt://me@[::1]:7/other")
    assert (found.host, found.user, found.password, found.database) == ("[::1]", "me", "secret", "other")
    assert parse_address("bolt://me:own@h").password == "own"  # noqa: S105 - made up


@pytest.mark.parametrize(
    "spec",
    [
        "neo4j://u:pa/ss@host",
        "neo4j://u:pa?ss@host",
        "neo4j://u:1234?ss=x@host",
        "neo4j://u:pa#ss@host:x",
        "neo4j://u:pass@",
        "neo4j://u:pass@host:99999",
        "neo4j://u:pass@ho st",
        "neo4j://",
    ],
)
def test_what_cannot_be_read_is_never_repeated(spec: str) -> None:
    with pytest.raises(KnowledgeError) as caught:
        Knowledge.open(spec)
    assert "cannot be read" in str(caught.value)
    assert "ss" not in str(caught.value).replace("password", "").replace("address", "")


def test_the_system_database_holds_no_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KnowledgeError, match="the database 'system' of Neo4j holds no graph; name another"):
        parse_address("bolt://h/System")
    monkeypatch.setenv("NEO4J_DATABASE", "system")
    with pytest.raises(KnowledgeError, match="holds no graph"):
        parse_address("bolt://h")
    assert parse_address("bolt://h/films").database == "films"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("nam=x", "there is no option 'nam'"),
        ("name", "has no value"),
        ("name=", "has no value"),
        ("name=none,x", "says none and more"),
        ("timeout=0", "takes a number of seconds"),
        ("timeout=x", "takes a number of seconds"),
        ("timeout=1&timeout=2", "takes one value"),
        ("vectors=a,b", "takes one value"),
    ],
)
def test_wrong_options(query: str, said: str) -> None:
    with pytest.raises(KnowledgeError, match=said):
        parse_address(f"bolt://h?{query}")


@pytest.mark.parametrize(
    ("spec", "kept"),
    [
        ("neo4j://u:p@h:1/d?x=1", "neo4j://u@h:1/d?x=1"),
        ("neo4j://:p@h", "neo4j://h"),
        ("neo4j://u@h", "neo4j://u@h"),
        ("bolt://h:7687/d?name=a.b", "bolt://h:7687/d?name=a.b"),
        ("sparql+https://u:p%40@h/sparql?q=a:b@c", "sparql+https://u@h/sparql?q=a:b@c"),
        ("https://h/x:y@z", "https://h/x:y@z"),
        ("world", "world"),
        ("/folder/a:b@c", "/folder/a:b@c"),
    ],
)
def test_passwords_are_taken_out(spec: str, kept: str) -> None:
    assert redacted(spec) == kept


@pytest.mark.parametrize("bolt", [b"\0\1\1\5", b"\0\0\4\4", b"\0\0\0\0"], ids=["Neo4j 5.6", "Neo4j 4.4", "Neo4j 3.4"])
def test_an_old_server_is_told_to_be_old(bolt: bytes) -> None:
    def old(server: socket.socket) -> None:
        with contextlib.suppress(OSError), server.accept()[0] as client:
            client.recv(100)
            client.sendall(bolt)
            client.recv(100)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=old, args=(server,))
        thread.start()
        with pytest.raises(StoreError, match=r"too old .*; 5\.7 or newer is needed") as error:
            Knowledge.open(f"bolt://127.0.0.1:{server.getsockname()[1]}/db")
        thread.join()
    assert "TLS" not in str(error.value)


def facts(label: str, count: int = 100, **properties: list[object]) -> LabelFacts:
    made = {}
    for key, samples in properties.items():
        lengths = sorted(len(value) for value in samples if isinstance(value, str))
        made[key] = PropertyFacts(
            key=key,
            present=len(samples),
            distinct=len({str(value) for value in samples}),
            length=lengths[len(lengths) // 2] if lengths else 0,
            long_length=lengths[len(lengths) * 9 // 10 - 1] if lengths else 0,
            size=max((len(value) for value in samples if isinstance(value, list)), default=-1),
            samples=tuple(value[:100] if isinstance(value, str) else value for value in samples[:20]),
        )
    return LabelFacts(label, count, max(map(len, properties.values()), default=0), made)


def numbered(text: str, n: int = 20) -> list[object]:
    return [f"{text} {at}" for at in range(n)]


@pytest.mark.parametrize(
    ("label", "properties", "name"),
    [
        ("Person", {"name": numbered("Ann"), "born": list(range(20))}, "name"),
        ("Movie", {"title": numbered("Film"), "tagline": numbered("words")}, "title"),
        (
            "Customer",
            {"contactName": numbered("Ann"), "companyName": numbered("Inc"), "city": ["Rome"] * 20},
            "companyName",
        ),
        ("Product", {"productName": numbered("Tea"), "supplierName": ["One"] * 20}, "productName"),
        (
            "Employee",
            {"title": ["Clerk"] * 20, "firstName": numbered("A"), "lastName": numbered("B")},
            "firstName+lastName",
        ),
        ("Order", {"orderID": list(range(20)), "shipName": ["x", "y"] * 10}, "orderID"),
        ("Genre", {"genre": numbered("g")}, "genre"),
        ("Town", {"names": [["Osk", "Oskanar"], ["Tolm"]] * 10, "river": numbered("r")}, "names"),
        ("Town", {"name": ["Osk"] * 9 + [["Tolm", "Tolma"]], "river": ["r", "s"] * 5}, "name"),
        ("Town", {"name": ["Osk", ["Tolm", "Tolma"]] * 10, "river": numbered("r")}, "name"),
        ("Person", {"name": [1984.0, *numbered("Ann")], "city": numbered("c")}, "name"),
        ("Person", {"name": [[0.5] * 60, *numbered("Ann")], "city": numbered("c")}, "name"),
        ("Person", {"name": [0.5] * 20 + ["Ann"], "city": numbered("c", 21)}, "city"),
        ("Town", {"tags": [["a", "b"]] * 20, "nickNames": [["c"]] * 20}, ""),
        ("Year", {"year": list(range(1990, 2010))}, "year"),
        (
            "Resource",
            {"uri": [f"http://x.org/{at}" for at in range(20)], "rdfs__label": numbered("thing")},
            "rdfs__label",
        ),
        ("Concept", {"skos__prefLabel": numbered("c"), "id": numbered("id")}, "skos__prefLabel"),
        ("User", {"id": [f"{at:032x}" for at in range(20)], "displayName": numbered("u")}, "displayName"),
        ("Country", {"iso2": ["FR", "DE"], "name": ["France", "Germany"]}, "name"),
        ("Payment", {"amount": [1.5, 2.5]}, ""),
        ("Bare", {}, ""),
    ],
)
def test_naming(label: str, properties: dict[str, list[object]], name: str) -> None:
    found = guess(facts(label, **properties)).names
    assert str(found[0] if found else "") == name


def test_names_of_numbers_say_what_they_number() -> None:
    (order,) = guess(facts("SalesOrder", salesOrderID=[10248, 10249])).names
    assert order.render({"salesOrderID": "10248"}) == "Sales order 10248"
    (year,) = guess(facts("Year", year=[1999])).names
    assert year.render({"year": "1999"}) == "1999"
    assert year.render({}) == ""


def test_further_names_must_tell_nodes_apart() -> None:
    found = guess(facts("Order", orderID=list(range(20)), shipName=["Inc", "Ltd"] * 10, code=numbered("c")))
    assert [str(name) for name in found.names] == ["code", "orderID"]


PROSE: list[object] = [
    f"The story {at} is told at some length, in many words, with an end that nobody expected. " * 3 for at in range(20)
]


def test_texts_vectors_and_data() -> None:
    found = guess(
        facts(
            "Film",
            title=numbered("Film"),
            plot=PROSE,
            tagline=numbered("short words"),
            poster=["A" * 900] * 20,
            embedding=[[0.5] * 384] * 20,
            genres=[["drama", "war"]] * 20,
        )
    )
    assert found.texts == ("plot",)
    assert found.data == {"poster", "embedding"}
    assert not found.passage
    assert not found.non_facts & {"tagline", "genres"}
    assert found.non_facts == {"title", "plot", "poster", "embedding"}


def test_one_long_name_is_no_text() -> None:
    assert guess(facts("Film", name=[*numbered("Film", 30), "long " * 3_000])).texts == ()


def test_one_long_name_among_a_few_takes_the_others_no_names() -> None:
    found = guess(facts("Place", name=[*numbered("Place", 8), *["long " * 3_000] * 2]))
    assert (found.texts, [str(name) for name in found.names]) == ((), ["name"])


@pytest.mark.parametrize(
    ("label", "properties", "text"),
    [
        ("Chunk", {"text": ["short"], "id": ["c1"]}, "text"),
        ("__Chunk__", {"text": PROSE, "id": numbered("c")}, "text"),
        ("TextUnit", {"content": PROSE}, "content"),
        ("Document", {"title": numbered("Doc"), "text": PROSE}, "text"),
        ("Document", {"title": numbered("Doc"), "url": numbered("x")}, ""),
        ("Review", {"rating": [1, 2], "text": PROSE}, "text"),
        ("Movie", {"title": numbered("Film"), "text": PROSE}, ""),
        ("Person", {"name": numbered("Ann"), "text": PROSE}, ""),
    ],
)
def test_labels_of_passages(label: str, properties: dict[str, list[object]], text: str) -> None:
    assert guess(facts(label, **properties)).passage == text


def test_all_names_of_a_list_find_the_node_and_none_is_a_fact() -> None:
    found = guess(facts("Town", officialNames=[["Osk", "Oskanar"]] * 20))
    assert ([str(name) for name in found.names], found.aliases) == (["officialNames"], ("officialNames",))
    assert found.non_facts == {"officialNames"}


def test_a_list_among_names_finds_its_node_by_all_and_one_odd_value_hides_no_text() -> None:
    found = guess(facts("Town", name=[["Tolm", "Tolma"], *numbered("Osk")]))
    assert found.aliases == ("name",)
    assert guess(facts("Film", title=numbered("Film"), plot=[1.5, *PROSE])).texts == ("plot",)


@pytest.mark.parametrize(
    ("label", "properties", "text"),
    [
        ("Note", {"text": numbered("Firm opened an office")}, "text"),
        ("Article", {"title": numbered("Doc"), "body": numbered("Firm opened an office")}, "body"),
        ("Film", {"title": numbered("Film"), "text": numbered("Firm opened an office")}, ""),
        ("Note", {"text": numbered("firm")}, ""),
        ("Note", {"text": PROSE}, ""),
        ("Note", {"tagline": numbered("Firm opened an office")}, ""),
    ],
)
def test_short_texts(label: str, properties: dict[str, list[object]], text: str) -> None:
    sample = facts(label, **properties)
    assert short_text(sample, guess(sample)) == text


def test_a_property_without_letters_may_be_chosen_as_the_name() -> None:
    assert short_text(facts("Note", _=numbered("firm")), Roles("Note", names=(Template(("_",)),))) == ""


@pytest.mark.parametrize(
    ("kind", "is_one"),
    [
        ("MENTIONS", 1),
        ("mentionedIn", 1),
        ("HAS_ENTITY", 1),
        ("EXTRACTED_FROM", 1),
        ("FROM_DOCUMENT", 1),
        ("ACTED_IN", 0),
        ("FROM_TOWN", 0),
    ],
)
def test_relationships_of_texts(kind: str, is_one: int) -> None:
    assert speaks(kind) == bool(is_one)


def test_generic_labels_have_their_type_in_a_property() -> None:
    own = {"name": numbered("x"), "type": ["city"] * 20, "description": numbered("d")}
    assert guess(facts("__Entity__", **own)).non_facts == {"name", "type", "description"}
    assert guess(facts("City", **own)).non_facts == {"name"}
    assert is_generic("Entity")
    assert not is_generic("LegalEntity")


def test_words() -> None:
    assert plain_words("ns0__companyName") == ["company", "name"]
    assert plain_words("HTTPStatus_code2") == ["http", "status", "code", "2"]
    assert [
        in_words(kind)
        for kind in ("ACTED_IN", "actedIn", "part_of", "P31", "ns0__capitalOf", "IS", "né(e) 'r'", "__x__")
    ] == [
        "acted in",
        "acted in",
        "part of",
        "P31",
        "capital of",
        "is",
        "né(e) 'r'",
        "x",
    ]


def test_values_as_people_read_them() -> None:
    assert [render(value) for value in ("x", True, 3, 4.0, 2.5, 1e300, None, b"x", [1])] == [
        *("x", "true", "3", "4", "2.5", "1e+300", "", "", ""),
    ]
    assert render(Date(1992, 5, 1)) == "1992-05-01"
    assert render(DateTime(1992, 5, 1, 12, 30)) == "1992-05-01T12:30:00"
    assert render(DateTime(2020, 10, 10, 10, 0, 20, 500_000_000, UTC)) == "2020-10-10T10:00:20.5+00:00"
    assert render(Time(12, 30, 0, 10)) == "12:30:00.00000001"
    assert render(Duration(days=1)) == "P1D"
    assert render(WGS84Point((12.5, 55.0))) == "latitude 55, longitude 12.5"
    assert render(CartesianPoint((1.0, 2.0))) == "x 1, y 2"
    assert len(render("x" * 10_000)) == cypher.VALUE_CUT
    assert elements(["a", "", 2]) == ["a", "2"]


@given(st.text(), st.text(), st.integers(0, 999))
def test_facts_are_read_as_they_were_written(node: str, key: str, place: int) -> None:
    fact = Fact(node, key, place, "0123abcd")
    assert read_fact(fact.id("fact")) == fact
    assert read_fact(fact.id("value")) == fact


@given(st.text(min_size=1), st.text(), st.integers(0, 63))
def test_passages_ids_are_read_as_they_were_written(owner: str, key: str, part: int) -> None:
    assert _read_id(_id(owner, key, part)) == (owner, key, part)


@pytest.mark.parametrize("odd", ["", "fact:", "fact:a@b@c@d", "value:a@b@1", "fact:%ff@b@0@x", "other:a@b@0@c"])
def test_what_is_no_fact(odd: str) -> None:
    assert read_fact(odd) is None


@given(st.text(alphabet="a`\\u0041'\"{}\n:", min_size=1, max_size=12))
def test_quoted_names_hold_no_open_backtick_or_escape(name: str) -> None:
    inside = cypher.quoted(name)[1:-1]
    assert "`" not in inside.replace("``", "")
    assert inside.replace("\\u005cu", "\\u").replace("``", "`") == name
    assert "\\u" not in inside.replace("\\u005cu", "")


def test_no_labels_no_match() -> None:
    assert cypher.any_label("n", []) == "false"
    assert Roles("X").non_facts == frozenset()
