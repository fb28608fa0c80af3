from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from built_graph import built_graph
from fake_graph import FakeGraph, entity
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkgraph.ingest.readers.files import EntityRow, in_batches
from thinkgraph.state.knowledge import Link
from thinkgraph.testing.conformance.linker import LinkerConformance
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.testing.memory import MemoryGraphStore
from thinkgraph.tools.linking.linker import StandardLinker
from thinkgraph.tools.meter import Meter, current_meter
from thinkgraph.tools.protocols import link_by_name
from thinkgraph.tools.sqlite.graph import SqliteGraphStore


class TestOverSqlite(LinkerConformance):
    @pytest.fixture
    def graph(self, tmp_path: Path) -> Iterator[SqliteGraphStore]:
        path = tmp_path / "graph.sqlite"
        built_graph(
            path,
            in_batches((node["id"], "in", "world", (), None) for node, _ in self.entities),
            entities=[EntityRow(one["id"], one["label"], "", one["description"]) for one, _ in self.entities],
            aliases={node["id"]: aliases for node, aliases in self.entities},
        )
        with SqliteGraphStore(path) as store:
            yield store

    @pytest.fixture
    def linker(self, graph: SqliteGraphStore) -> StandardLinker:
        return StandardLinker(graph)


class TestOverMemory(LinkerConformance):
    @pytest.fixture
    def linker(self) -> StandardLinker:
        return StandardLinker(
            MemoryGraphStore(
                [(node["id"], "in", "world") for node, _ in self.entities],
                labels={node["id"]: node["label"] for node, _ in self.entities},
                descriptions={node["id"]: node["description"] for node, _ in self.entities},
                aliases={node["id"]: aliases for node, aliases in self.entities},
            )
        )


class TestStandardLinker(LinkerConformance):
    @pytest.fixture
    def linker(self) -> StandardLinker:
        return StandardLinker(FakeGraph(self.entities))


GRAPH = FakeGraph(
    [
        *LinkerConformance.entities,
        (entity("us", "United States", "country"), ["US", "U.S.", "America"]),
        (entity("may", "May", "month"), []),
        (entity("it", "It", "novel by Stephen King"), []),
        (entity("capital", "capital", "kind of city"), []),
        (entity("ivory", "Côte d'Ivoire", ""), ["Ivory Coast"]),
        (entity("congo", "Congo (Kinshasa)", ""), ["Congo, Democratic Republic of the"]),
        (entity("woolf", "Who's Afraid of Virginia Woolf?", "play"), []),
        (entity("obama", "Barack Obama", "president"), []),
        (entity("seoul", "서울", ""), []),
        (entity("hague", "The Hague", ""), []),
        (entity("spain", "Espagne", ""), []),
        (entity("welcome", "Welcome to L.A.", "film"), []),
        (entity("europe", "Europe '51", "film"), []),
        (entity("devil", "Oh, God! You Devil", "film"), []),
        (entity("cry", "Big Girls Don't Cry... They Get Even", "film"), []),
        (entity("world", "In a World...", "film"), []),
        (entity("dead", "99 and 44/100% Dead", "film"), []),
        (entity("mo", "Mo' Money", "film"), []),
        (entity("coward", "The Assassination of Jesse James by the Coward Robert Ford", "film"), []),
        *((entity(name, name, "language"), []) for name in ("C", "C++", "C#")),
        (entity("disney", "Disney+", "channel"), []),
        (entity("a heist", "heist", "tag"), []),
        (entity("the heist", "Heist", "film"), []),
    ]
)


def ids(text: str, **options: object) -> list[str]:
    return [link["entity"]["id"] for link in StandardLinker(GRAPH).link([text])[0]]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Where does the U.S. end?", "us"),
        ("who leads the us today", "us"),
        ("Is Côte d'Ivoire in Africa?", "ivory"),
        ("who rules congo (kinshasa) now", "congo"),
        ('Who wrote "Who\'s Afraid of Virginia Woolf?" and when', "woolf"),
        ("서울은 어디에 있습니까", "seoul"),
        ("what is the hague known for", "hague"),
        ("la capitale de l'Espagne", "spain"),
        ("Who married Obama?", "obama"),
        ("what is the capitol of switzerlnd", "switzerland"),
    ],
)
def test_mentions_as_people_write_them(text: str, first: str) -> None:
    assert ids(text)[0] == first


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Who directed Welcome to L.A.?", "welcome"),
        ("who directed welcome to L.A.", "welcome"),
        ("Who stars in Europe '51?", "europe"),
        ("Who wrote Oh, God! You Devil and when?", "devil"),
        ("Which actors has Big Girls Don't Cry... They Get Even?", "cry"),
        ("the films starred by In a World... actors", "world"),
        ("Who wrote 99 and 44/100% Dead?", "dead"),
        ("who directed the movie Mo' Money", "mo"),
        ("Who starred in The Assassination of Jesse James by the Coward Robert Ford?", "coward"),
        ("which words describe the film Heist", "the heist"),
        ("Who made C++?", "C++"),
        ("who made C#", "C#"),
        ("Who made C, and when?", "C"),
        ("What is on Disney+?", "disney"),
    ],
)
def test_punctuation_and_length_hide_no_name(text: str, first: str) -> None:
    found = StandardLinker(GRAPH).link([text])[0]
    assert (found[0]["entity"]["id"], found[0]["method"]) == (first, "exact")


@pytest.mark.parametrize("of_graph", ["'", "\u2019"])
@pytest.mark.parametrize("typed", ["'", "\u2019"])
def test_a_name_is_found_whichever_apostrophe_is_typed(typed: str, of_graph: str) -> None:
    """Phones type the curved one: a straight name was found by its words alone, beside others that share them."""
    graph = FakeGraph([(entity("tonga", f"Nuku{of_graph}alofa"), []), (entity("bay", f"Nuku{of_graph}alofa Bay"), [])])
    (link,) = StandardLinker(graph).link([f"Which country is Nuku{typed}alofa the capital of?"])[0]
    assert (link["entity"]["id"], link["method"], link["mention"]) == ("tonga", "exact", f"Nuku{typed}alofa")


def first_link(question: str, names: Sequence[str]) -> tuple[str, str]:
    """The first entity that a question is linked to, of those with these names, and how."""
    first, *_ = StandardLinker(FakeGraph([(entity(name, name), []) for name in names])).link([question])[0]
    return first["entity"]["id"], first["method"]


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("What is the capital of S. Sudan?", "South Sudan"),
        ("what is the capital of s sudan", "South Sudan"),
        ("Who leads the U.S.?", "US"),
        ("Where is St. Lucia?", "Saint Lucia"),
        ("Who first climbed Mt. Kenya in 1899?", "Mount Kenya"),
        ("What is the capital of South-Sudan?", "South Sudan"),
        ("what is the capital of guinea bissau", "Guinea-Bissau"),
    ],
)
def test_a_name_may_be_written_short_or_with_a_hyphen(question: str, wanted: str) -> None:
    """Of "S. Sudan" only Sudan was found, of "U.S." whatever has an s of its own, of "Guinea Bissau" Guinea."""
    names = (
        "Sudan",
        "South Sudan",
        "US",
        "Saint Lucia",
        "Lucia",
        "Mount Kenya",
        "Kenya",
        "Vaal [s]",
        "Guinea",
        "Guinea-Bissau",
    )
    assert first_link(question, names) == (wanted, "exact")


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Who directed Saint Elmo's Fire?", "St. Elmo's Fire"),
        ("who directed saint elmo\u2019s fire", "St. Elmo's Fire"),
        ("Which films did JK Simmons star in?", "J.K. Simmons"),
        ("Which films did J. K. Simmons star in?", "J.K. Simmons"),
        ("Who wrote LA Confidential?", "L.A. Confidential"),
        ("When was SWAT released?", "S.W.A.T."),
        ("What did JRR Tolkien write?", "J. R. R. Tolkien"),
        ("Which country is Port au Prince the capital of?", "Port-au-Prince"),
        ("Who directed Spider Man Homecoming?", "Spider-Man Homecoming"),
    ],
)
def test_a_name_may_be_written_in_full_or_without_its_signs(question: str, wanted: str) -> None:
    """None of them was found by its name: "SWAT" not at all, of "Saint Elmo's Fire" only "Fire"."""
    names = (
        "St. Elmo's Fire",
        "Fire",
        "J.K. Simmons",
        "Simmons",
        "L.A. Confidential",
        "S.W.A.T.",
        "J. R. R. Tolkien",
        "Port-au-Prince",
        "Prince",
        "Spider-Man Homecoming",
        "Spider",
    )
    assert first_link(question, names) == (wanted, "exact")


def test_an_abbreviation_ends_no_sentence(tmp_path: Path) -> None:
    """The name after "Mt." was taken for a word that begins a sentence, and not looked for."""
    path = tmp_path / "graph.sqlite"
    built_graph(path, in_batches((name, "in", "Chad", (), None) for name in ("Mont Ngaoui", "mt")))
    with SqliteGraphStore(path) as graph:
        links = StandardLinker(graph).link(["Which country has Mt. Ngaoui as its highest point?"])[0]
    assert "Mont Ngaoui" in [link["entity"]["id"] for link in links]


def test_words_with_accents_are_those_without(tmp_path: Path) -> None:
    """The store found "Sao Tome" for "São Tomé", and the linker passed it over for "São Paulo", which has an accent in common."""
    path = tmp_path / "graph.sqlite"
    built_graph(path, in_batches((name, "in", "world", (), None) for name in ("Sao Tome Harbour", "São Paulo")))
    with SqliteGraphStore(path) as graph:
        links = StandardLinker(graph).link(["Where is São Tomé?"])[0]
    assert [(link["entity"]["id"], link["method"]) for link in links][:1] == [("Sao Tome Harbour", "fulltext")]


def test_marks_that_nobody_sees_make_no_other_name(tmp_path: Path) -> None:
    names = {"\u200fHaifa\u200e": "Haifa", "Repu\u00adblik Kon\u200bgo": "Republik Kongo"}
    path = tmp_path / "graph.sqlite"
    built_graph(path, in_batches((name, "in", "world", (), None) for name in names))
    with SqliteGraphStore(path) as store:
        found = StandardLinker(store).link([f"Where is {asked}?" for asked in names.values()])
    assert [[link["method"] for link in links[:1]] for links in found] == [["exact"]] * len(names)


def test_letters_with_a_stroke_may_be_written_without(tmp_path: Path) -> None:
    """No accent is taken from them, so "Lodz" was no word of "Łódź"."""
    path = tmp_path / "graph.sqlite"
    names = {"Łódź": "Lodz", "Bjørn Sundquist": "Bjorn Sundquist", "Þingvellir": "Thingvellir", "Ærø": "Aero"}
    built_graph(path, in_batches((name, "in", "world", (), None) for name in names))
    with SqliteGraphStore(path) as graph:
        links = StandardLinker(graph).link([f"Where is {name}?" for pair in names.items() for name in pair])
    assert [one[0]["entity"]["id"] for one in links] == [name for name in names for _ in range(2)]


def test_vowel_signs_are_parts_of_words() -> None:
    linker = StandardLinker(
        FakeGraph(
            [
                (entity("india", "भारत", "country"), []),
                (entity("delhi", "नई दिल्ली", "city"), []),
                (entity("sand", "বালি", ""), []),
            ]
        )
    )
    for text, first in (("भारत की राजधानी क्या है", "india"), ("नई दिल्ली किस देश में है", "delhi"), ("এই বালি কোথায়?", "sand")):
        found = linker.link([text])[0]
        assert (found[0]["entity"]["id"], found[0]["method"]) == (first, "exact")


@pytest.mark.parametrize("text", ["What may it be in the end?", "It is what it is", "tell us about it"])
def test_function_words_are_no_mentions(text: str) -> None:
    assert not {"may", "it", "us"} & set(ids(text))


def test_function_words_in_capitals_or_quotes_are() -> None:
    assert "may" in ids("Does it rain here in May or June?")
    assert "it" in ids('Who wrote "It" first?')


def test_a_name_outranks_a_common_word() -> None:
    found = ids("What is the capital of Austria?")
    assert found.index("austria") < found.index("capital")


def test_three_round_trips_however_many_texts() -> None:
    graph = FakeGraph(LinkerConformance.entities)
    meter = Meter()
    token = current_meter.set(meter)
    try:
        found = StandardLinker(graph).link(["Does Austria border Switzerlnd on Lake Constnce?", "what is vienna"] * 50)
    finally:
        current_meter.reset(token)
    assert len(found) == 100
    assert [kind for kind, _ in graph.calls] == ["lookup", "fulltext", "fuzzy"]
    assert meter.store_round_trips == 3


def test_long_text_is_bounded() -> None:
    graph = FakeGraph(LinkerConformance.entities)
    StandardLinker(graph).link(["Austria borders many a Thing and other Places. " * 400] * 3)
    assert all(len(texts) <= 24_000 for _, texts in graph.calls)


def test_namesakes_are_ordered_by_description_with_an_embedder() -> None:
    graph = FakeGraph(LinkerConformance.entities)
    linker = StandardLinker(graph, embedder=HashEmbedder())
    towns = [link["entity"]["id"] for link in linker.link(["Vienna, a town in Virginia"])[0]]
    assert towns.index("vienna-us") < towns.index("vienna")
    capitals = [link["entity"]["id"] for link in linker.link(["Vienna, the capital of Austria"])[0]]
    assert capitals.index("vienna") < capitals.index("vienna-us")


class NoEncoder:
    name = "none"

    def embed(self, texts: list[str]) -> list[list[float]]:
        raise AssertionError("names need no encoder")


def test_names_alone_come_with_all_namesakes_in_one_round_trip_and_without_an_encoder() -> None:
    graph = FakeGraph([(entity(f"s{n:04}", "Springfield", f"town {n}"), []) for n in range(1500)])
    linker = StandardLinker(graph, embedder=NoEncoder())
    found = linker.link_names(["Springfield", "Sprngfield", "highest point"], limit=1200)
    assert [len(links) for links in found] == [1200, 0, 0]
    assert [link["entity"]["id"] for link in found[0]] == [f"s{n:04}" for n in range(1200)]
    assert all(0.8 < link["score"] <= 1 for link in found[0])
    assert [kind for kind, _ in graph.calls] == ["lookup"]
    guessed = linker.link_names(["Sprngfield"], limit=3, guess=True)
    assert [link["method"] for link in guessed[0]] == ["fuzzy"] * 3
    assert [kind for kind, _ in graph.calls] == ["lookup", "lookup", "fulltext", "fuzzy"]
    assert linker.link_names([], limit=3) == []
    assert linker.link_names(["Springfield"], limit=0) == [[]]


def test_another_linker_is_asked_for_names_by_leaving_its_guesses_out() -> None:
    class Own:
        def link(self, texts: list[str], *, limit: int = 20) -> list[list[Link]]:
            return StandardLinker(GRAPH).link(texts, limit=limit)

    names = link_by_name(Own(), ["Vienna", "Switzerlnd"], limit=5)
    assert [[link["method"] for link in links] for links in names] == [["exact", "exact"], []]
    guesses = link_by_name(Own(), ["Switzerlnd"], limit=5, guess=True)
    assert [link["entity"]["id"] for link in guesses[0]] == ["switzerland"]


@given(st.lists(st.text(max_size=300), max_size=3))
@settings(max_examples=150, deadline=None)
def test_never_raises(texts: list[str]) -> None:
    found = StandardLinker(GRAPH).link(texts, limit=5)
    assert len(found) == len(texts)
    for text, links in zip(texts, found, strict=True):
        assert len(links) <= 5
        for link in links:
            assert link["start"] == -1 or text[link["start"] :].startswith(link["mention"])
