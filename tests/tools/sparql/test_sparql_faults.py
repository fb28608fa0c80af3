"""What an endpoint can do to us, and what becomes of it: patience, or one clear line."""

from __future__ import annotations

import email.utils
import json
import re
import time

import pytest
from local_http import self_signed
from replies import Drop, Fault, Garbage, Hang
from sparql_server import JSON, CutOff, Page, SparqlServer

from thinkgraph.errors import StoreError
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.sparql import http
from thinkgraph.tools.sparql.http import RequestPolicy
from thinkgraph.tools.sparql.store import SparqlGraphStore

DATA = '<http://e/a> <http://e/to> <http://e/b> ; <http://www.w3.org/2000/01/rdf-schema#label> "A" .'
LOGIN = Page(b"<html><title>Log in</title></html>", 302, headers={"Location": "https://login.example.org/?next=x"})


@pytest.fixture
def server():
    with SparqlServer(DATA) as server:
        yield server


@pytest.fixture
def slept(monkeypatch):
    waits: list[float] = []
    monkeypatch.setattr(http.time, "sleep", waits.append)
    return waits


def opened(server, *, batch=300, names="local", **policy) -> SparqlGraphStore:
    limits = RequestPolicy(**{"rate": 0, "retries": 2, **policy})
    return SparqlGraphStore(server.url, policy=limits, counts="none", batch=batch, names=names)


def cut_answers(server, rows: int, *, unless: str = "\0") -> None:
    """Have the server send so many rows at most, and say nothing of it; `unless` is in the query."""
    answer = server.answer

    def cut(query):
        body = json.loads(answer(query))
        if unless not in query:
            body["results"]["bindings"] = body["results"]["bindings"][:rows]
        return json.dumps(body).encode()

    server.answer = cut


@pytest.mark.parametrize(
    ("trouble", "waits"),
    [
        (Fault(429, "slow down", headers={"Retry-After": "7"}), 7),
        (Fault(503, "busy", headers={"Retry-After": "a date"}), 30),
        (Fault(429, "slow down"), None),
        (Fault(500, "oops"), None),
        (Fault(502, "bad gateway"), None),
        (Drop("head"), None),
        (Drop("body"), None),
        (CutOff(20, announced=True), None),
    ],
)
def test_what_passes_is_tried_again(server, slept, trouble, waits):
    if isinstance(trouble, Fault) and trouble.headers.get("Retry-After") == "a date":
        date = email.utils.formatdate(time.time() + 30, usegmt=True)
        trouble = Fault(503, "busy", headers={"Retry-After": date})
    server.change([trouble, trouble])
    with opened(server) as store:
        assert store.entities(["http://e/a"])[0]["label"] == "A"
    assert len(slept) == 2
    if waits:
        assert all(abs(wait - waits) < 3 for wait in slept)
    else:
        assert slept[0] < slept[1]


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize(
    ("trouble", "says"),
    [
        (Fault(500, "java.util.concurrent.TimeoutException: at x"), "ran out of its time"),
        (Page(b"<html><title>504 Gateway Time-out</title></html>", 504), "ran out of its time"),
        (Page(b'{"exception": "Operation timed out."}', 429, "application/json"), "ran out of its time"),
        (Fault(429, "later", headers={"Retry-After": "3600"}), "left alone for 3,600 s"),
        (Fault(400, "Parse error at line 1"), "Parse error"),
        (Fault(401, "who are you"), "user and password"),
        (Fault(403, ""), "user and password"),
        (Fault(404, "nothing"), "no SPARQL endpoint at this path"),
        (Fault(413, "too large"), "batch="),
        (Fault(414, "too long"), "batch="),
        (Page(b"", 301, "text/plain"), "no SPARQL endpoint at this path: status 301"),
        (Page(b"", 304, "text/plain"), "no SPARQL endpoint at this path: status 304"),
        (LOGIN, "redirects to 'https://login.example.org"),
        (Page(b"<html>a page\x1b[31m</html>"), "'text/html'"),
        (Page(b"<html></html>", kind=JSON), "no valid SPARQL JSON"),
        (Page(b"{}", kind=JSON), "no valid SPARQL JSON"),
        (Page(b'{"results": {"bindings": 3}}', kind=JSON), "no valid SPARQL JSON"),
        (Page(b'{"results": {"bindings": [3]}}', kind=JSON), "no valid SPARQL JSON"),
        (Page(b'{"results": {"bindings": [{"i": {"value": "x"}}]}}', kind=JSON), "where \\?i is a number"),
        (Page(b'{"results": {"bindings": [{"i": 5}]}}', kind=JSON), "no valid SPARQL JSON|no RDF term|is a number"),
        (Page(b'{"boolean": true}', kind=JSON), "no valid SPARQL JSON"),
        (Page(b"[" * 100_000, kind=JSON), "no valid SPARQL JSON"),
        (Garbage(), "no valid SPARQL JSON"),
        (CutOff(60), "cut off"),
        (Page(b'{"results": {"bindings": []}}', kind=JSON, headers={"X-SQL-State": "S1TAT"}), "anytime"),
        (Page(b'{"results": {"bindings": []}}', 206, JSON), "only a part"),
    ],
)
def test_what_does_not_pass_is_one_line_and_asked_once(server, slept, trouble, says):
    server.change([trouble])
    with opened(server) as store, pytest.raises(StoreError, match=says) as error:
        store.entities(["http://e/a"])
    text = str(error.value)
    assert "127.0.0.1" in text or "SPARQL endpoint" in text
    assert "\n" not in text
    assert "\x1b" not in text
    assert len(text) < 500
    assert not slept
    assert len(server.calls) == 1


def test_rows_that_the_server_kept_back_are_no_answer(server):
    body = b'{"results": {"bindings": [{"i": {"type": "literal", "value": "0"}}]}}'
    server.change([Page(body, kind=JSON, headers={"X-SPARQL-MaxRows": "1"})])
    with opened(server) as store, pytest.raises(StoreError, match="page="):
        store.entities(["http://e/a"])


def test_a_server_that_sends_shorter_pages_than_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("THINKGRAPH_CACHE", str(tmp_path))
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    data = "\n".join(f'<http://e/{i}> <http://e/to> <http://e/{i + 1}> ; {label} "Name {i}" .' for i in range(50))
    with SparqlServer(data) as server:
        cut_answers(server, 7)
        with opened(server) as store:
            found = store.lookup([f"name {i}" for i in range(0, 50, 10)])
            assert [len(one) for one in found] == [1] * 5


FILMS = [f"http://e/f{i}" for i in range(200)]
HUB = "http://e/hub"


def films() -> str:
    """Films with 5 relations and 12 triples each, a class and three names; one hub with 900 relations."""
    label, alias = "<http://www.w3.org/2000/01/rdf-schema#label>", "<http://www.w3.org/2004/02/skos/core#altLabel>"
    stars = ", ".join(f"<http://e/star{i}>" for i in range(8))
    rows = [
        f'<{film}> a <http://e/Film> ; {label} "Film {i}" ; {alias} "film {i}", "FILM {i}" ; <http://e/star> {stars} ; '
        f'<http://e/in> <{HUB}> ; <http://e/year> "{i}" ; <http://e/by> <http://e/d> .'
        for i, film in enumerate(FILMS)
    ]
    return "\n".join([*rows, *(f"<{HUB}> <http://e/r{i:03}> <http://e/x> ." for i in range(900))])


@pytest.mark.parametrize(("cut", "unless"), [(500, "\0"), (777, "\0"), (500, "LIMIT ")])
def test_a_server_that_cuts_answers_without_notice_is_asked_for_the_rest(cut, unless, tmp_path, monkeypatch):
    monkeypatch.setenv("THINKGRAPH_CACHE", str(tmp_path))
    with SparqlServer(films()) as server:
        cut_answers(server, cut, unless=unless)
        with opened(server) as store:
            assert all(store.lookup([f"Film {i}" for i in range(200)]))
            assert [len(found) for found in store.relations(FILMS)] == [5] * 200
            assert {(one["label"][:4], one["type"]) for one in store.entities(FILMS)} == {("Film", "Film")}
            # One entity whose relations alone are too many.
            (edges,) = store.relations([HUB])
            assert sum(edge["count"] for edge in edges) == 1_100
            steps = [{"entity": film, "relation": "http://e/star", "direction": "out"} for film in FILMS]
            assert {(one["total"], len(one["triples"])) for one in store.neighbours(steps)} == {(8, 8)}
            # Drawn, and all.
            for limit, sent in ((1_000, 1_000), (5_000, 1_100)):
                (around,) = store.neighbourhood([HUB], limit=limit)
                assert (around["total"], len({one["id"] for one in around["triples"]})) == (1_100, sent)
        with opened(server, names="server") as store:
            assert all(store.lookup([f"Film {i}" for i in range(200)]))


def test_long_answers_that_are_whole_are_seldom_asked_for_again():
    with SparqlServer(films()) as server, opened(server, batch=150) as store:
        assert len(store.relations(FILMS[:150])) == 150
        # What leaves, that again in halves, what arrives, and the relations' labels: preferred, any.
        assert len(server.calls) == 6
        store.relations(FILMS[60:])
        assert len(server.calls) == 8


def test_a_server_that_ignores_the_offset_is_not_asked_for_ever(tmp_path, monkeypatch):
    monkeypatch.setenv("THINKGRAPH_CACHE", str(tmp_path))
    with SparqlServer('<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "A" .') as server:
        answer = server.answer

        def same(query):
            assert len(server.calls) < 20, "asked again and again"
            return answer(re.sub(r"OFFSET \d+", "", query))

        server.answer = same
        with opened(server) as store, pytest.raises(StoreError, match="whatever the OFFSET"):
            store.lookup(["a"])


def test_an_empty_default_graph_is_known_as_empty():
    with SparqlServer("") as server:
        for options in ("", "?counts=yes"):
            with Knowledge.open(f"sparql+{server.url}{options}") as knowledge:
                assert knowledge.empty
                assert knowledge.graph.info()["triples"] == 0
                assert any("default graph holds no triples" in note for note in knowledge.graph.notes)
        # Not counted, it is not known.
        with Knowledge.open(f"sparql+{server.url}?counts=no") as knowledge:
            assert not knowledge.empty
            assert not any("default graph" in note for note in knowledge.graph.notes)
    with SparqlServer(DATA) as server, Knowledge.open(f"sparql+{server.url}") as knowledge:
        assert (knowledge.empty, knowledge.graph.info()["triples"]) == (False, -1)
        assert any("not counted" in note for note in knowledge.graph.notes)


def test_a_search_that_the_server_does_not_have(server):
    with (
        SparqlGraphStore(server.url, profile="wikidata", policy=RequestPolicy(rate=0)) as store,
        pytest.raises(StoreError, match="search=none"),
    ):
        store.search(["something"])


def test_a_server_that_keeps_failing(server, slept):
    server.change(lambda _: Fault(503, "down for maintenance\nuntil noon"))
    with opened(server) as store, pytest.raises(StoreError, match=r"maintenance until noon\) \(tried 3 times\)"):
        store.entities(["http://e/a"])
    assert len(server.calls) == 3


def test_timeouts(server):
    server.change(lambda _: Hang(5))
    with opened(server, timeout=0.5, retries=1) as store:
        with pytest.raises(StoreError, match=r"within 0.5 s; ask for less.*tried 2 times"):
            store.entities(["http://e/a"])
        server.change(())
        assert store.entities(["http://e/a"])[0]["label"] == "A"


def test_the_longest_timeout_of_an_address_can_be_waited_for(server):
    for seconds in ("999999.5", "999999", "0000001", ".5"):
        with Knowledge.open(f"sparql+{server.url}?counts=no&timeout={seconds}") as knowledge:
            assert knowledge.graph.entities(["http://e/a"])[0] is not None


def test_an_answer_without_end(server):
    server.change([Page(b" " * 3_000_000, kind=JSON)])
    with opened(server, max_bytes=1_000_000) as store, pytest.raises(StoreError, match="more than 1,000,000 bytes"):
        store.entities(["http://e/a"])


def test_a_dead_server(server, slept):
    server.stop()
    with pytest.raises(StoreError, match="cannot be reached") as error:
        Knowledge.open(f"sparql+{server.url}?retries=0")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("host", ["a" * 80 + ".example", "xn--a"])
def test_a_host_that_cannot_be_one(host):
    with pytest.raises(StoreError, match=f"{host} cannot be reached"):
        Knowledge.open(f"sparql+http://{host}/sparql?retries=0")


@pytest.mark.parametrize(
    ("name", "value"), [("HTTPS_PROXY", "gopher://x"), ("NO_PROXY", "::x["), ("SSL_CERT_FILE", "/nowhere")]
)
def test_an_environment_that_no_client_takes(server, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(StoreError, match=f"cannot be asked.*{name}"):
        Knowledge.open(f"sparql+{server.url}")


def test_a_certificate_of_ones_own(server, tmp_path, monkeypatch):
    server._http.socket = self_signed(tmp_path).wrap_socket(server._http.socket, server_side=True)
    address = f"sparql+{server.url.replace('http:', 'https:')}?retries=0&counts=no"
    with pytest.raises(StoreError, match=r"self-signed certificate.*SSL_CERT_FILE"):
        Knowledge.open(address)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert"))
    with Knowledge.open(address) as knowledge:
        assert knowledge.graph.entities(["http://e/a"])[0] is not None


def test_no_server_at_that_path(server):
    with pytest.raises(StoreError, match="no SPARQL endpoint at this path"):
        Knowledge.open(f"sparql+{server.url}s?retries=0")


def test_a_server_that_refuses_odd_iris_is_asked_without_them(server):
    with opened(server) as store:
        odd = "http://e/[x]"
        found = store.entities([odd, "http://e/a", "http://e/b"])
        assert [one and one["id"] for one in found] == [None, "http://e/a", "http://e/b"]
        assert [len(one) for one in store.relations([odd, "http://e/a"])] == [0, 1]
        assert len(store.edges_among([odd, "http://e/a", "http://e/b"])) == 1
        step = {"entity": "http://e/a", "relation": "http://e/to", "direction": "out"}
        assert [one["total"] for one in store.neighbours([{**step, "entity": odd}, step])] == [0, 1]
        assert store.triples([f"http://e/a http://e/to {odd}", "http://e/a http://e/to http://e/b"])[1] is not None


@pytest.mark.parametrize(
    "odd", ["http://e/My Picture.jpg", "http://e/x{1}", "http://e/p|q", "http://e/p^q", "relative"]
)
def test_a_triple_with_an_iri_that_no_query_can_hold_is_left_out(odd):
    data = f"<http://e/a> <http://e/to> <{odd}>, <http://e/b> . <http://e/a> <{odd}> <http://e/b> . <{odd}> <http://e/to> <http://e/a> ."
    with SparqlServer(data) as server, opened(server) as store:
        (found,) = store.neighbourhood(["http://e/a"])
        assert [(triple["id"], found["total"]) for triple in found["triples"]] == [
            ("http://e/a http://e/to http://e/b", 1)
        ]
        # Drawn, and between nodes, the same triple.
        (drawn,) = store.neighbourhood(["http://e/a"], limit=2)
        assert {triple["id"] for triple in drawn["triples"]} <= {found["triples"][0]["id"]}
        assert store.edges_among(["http://e/a", "http://e/b"]) == found["triples"]
        step = {"entity": "http://e/a", "relation": "http://e/to", "direction": "out"}
        assert store.neighbours([step])[0]["triples"] == found["triples"]


def test_a_triple_without_an_object_is_an_error(server):
    body = json.loads(server.answer("SELECT (0 AS ?i) ?s ?p ?o { ?s ?p ?o FILTER(isIRI(?o)) }"))
    del body["results"]["bindings"][0]["o"]
    with opened(server) as store:
        store.relations(["http://e/a"])
        server.change([Page(json.dumps(body).encode(), kind=JSON)])
        with pytest.raises(StoreError, match="without subject, predicate or object"):
            store.neighbourhood(["http://e/a"])


def like_virtuoso(server, *, sorts: int = 10_000) -> None:
    """Have the server refuse what Virtuoso 7.2.5 cannot compile or sort, and find nothing where that finds nothing."""
    answer = server.answer

    def answered(query):
        rows = re.search(r"VALUES \((\?i [?a-z ]+)\) \{(.*?)\} ", query)
        if "UNION" in query and "VALUES" in query and re.search(r"FILTER\(is(IRI|Literal)\(\?t\)\)", query):
            raise SyntaxError("Internal error: sparp_gp_deprecate(): equiv replaces filter but under deprecation")
        if re.search(r'sameTerm\(\?s, "', query):
            raise SyntaxError("Internal error: ssg_print_builtin_expn(): bad native type for IRI()")
        if "ORDER BY" in query and sum(map(int, re.findall(r"(?:LIMIT|OFFSET) (\d+)", query))) > sorts:
            raise RuntimeError(f"Sorted TOP clause specifies too many rows to sort. Only {sorts} are allowed.")
        if rows and "@" in rows[2] and rows[2].count("(") > 1 and "EXISTS" not in query:
            query = re.sub(r'"[^"]*"@[a-zA-Z-]+', '"nothing"', query)
        return answer(query)

    server.answer = answered


def test_a_server_with_the_faults_of_virtuoso():
    label, hub = "<http://www.w3.org/2000/01/rdf-schema#label>", '"1999-01-01"^^<http://www.w3.org/2001/XMLSchema#date>'
    films = "\n".join(
        f'<http://e/f{i}> a <http://e/Film>, "a text" ; {label} "Film {i}"@en ; <http://e/on> {hub} ; <http://e/by> "me"@en .'
        for i in range(5)
    )
    with SparqlServer(films) as server:
        like_virtuoso(server)
        with opened(server, names="server") as store:
            assert [[one["entity"]["id"] for one in found] for found in store.lookup(["film 1", "Film 4", "film"])] == [
                ["http://e/f1"],
                ["http://e/f4"],
                [],
            ]
            assert store.entities(["http://e/f1"])[0]["type"] == "Film"
            (found,) = store.neighbourhood([hub], limit=2)
            assert (found["total"], len(found["triples"])) == (5, 2)
            said = [f'http://e/f{i} http://e/by "me"@en' for i in range(5)]
            assert [one and one["id"] for one in store.triples([*said, 'http://e/f0 http://e/by "you"@en'])] == [
                *said,
                None,
            ]


def test_the_label_in_another_language_on_virtuoso():
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    data = f'<http://dbpedia.org/resource/A> {label} "Ah"@de, <http://e/b>, _:b . _:b {label} "no" .'
    with SparqlServer(data) as server:
        like_virtuoso(server)
        with SparqlGraphStore(server.url, profile="dbpedia", policy=RequestPolicy(rate=0, retries=0)) as store:
            assert store.entities(["dbr:A"])[0]["label"] == "Ah"


def test_a_server_that_cannot_list_all_names_is_asked_by_names_server(slept, tmp_path, monkeypatch):
    monkeypatch.setenv("THINKGRAPH_CACHE", str(tmp_path))
    with SparqlServer(DATA) as server, opened(server) as store:
        like_virtuoso(server)
        with pytest.raises(StoreError, match=r"Only 10000 are allowed.*names=server") as error:
            store.lookup(["a"])
        assert "\n" not in str(error.value)
