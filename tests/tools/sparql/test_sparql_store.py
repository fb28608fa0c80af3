"""What the store makes of Wikidata's shapes and of plain RDF, and how it asks."""

from __future__ import annotations

import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdf_samples import SAMPLE, plain_rdf, wikidata_rdf
from sparql_server import SparqlServer

from thinkgraph.errors import KnowledgeError, StoreError
from thinkgraph.tools.linking.names import spellings
from thinkgraph.tools.sparql.address import sparql_store
from thinkgraph.tools.sparql.http import RequestPolicy
from thinkgraph.tools.sparql.store import SparqlGraphStore

QUICK = RequestPolicy(rate=0, concurrency=8, retries=0)
EX = "http://example.org/"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("THINKGRAPH_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def server():
    with SparqlServer(wikidata_rdf(SAMPLE)) as server:
        yield server


@pytest.fixture
def store(server):
    with SparqlGraphStore(server.url, profile="wikidata", policy=QUICK, search="none") as store:
        yield store


def shown(store, id_, **options):
    (found,) = store.neighbourhood([id_], **options)
    assert found["total"] == len(found["triples"])
    return {
        (t["subject_label"], t["relation_label"], t["object_label"], *map(tuple, t["qualifiers"]))
        for t in found["triples"]
    }


def test_wikidata_statements(store):
    assert shown(store, "Q1741") == {
        ("Vienna", "instance of", "city"),
        ("Vienna", "country", "Austria", ("start time", "1918")),
        ("Vienna", "located in or next to body of water", "Danube"),
        # The preferred rank alone; the external id is no fact.
        ("Vienna", "population", "1982097", ("point in time", "2023-01-01"), ("criterion used", "census")),
        ("Vienna", "coordinate location", "48.2083, 16.3731"),
        ("Austria", "capital", "Vienna"),
    }
    assert ("Austria", "area", "83871 square kilometre") in shown(store, "Q40")
    assert ("Austria", "inception", "976") in shown(store, "Q40")
    assert ("London", "inception", "40s") in shown(store, "Q84")
    assert ("Julius Caesar", "date of death", "44-03-15 BC") in shown(store, "Q1048")
    # A sibling that is known to exist and nothing more is left out.
    assert {relation for _, relation, *_ in shown(store, "Q7259")} == {"instance of", "date of birth", "place of birth"}


def test_without_details_fewer_requests(server):
    with SparqlGraphStore(server.url, profile="wikidata", policy=QUICK, qualifiers=False) as store:
        assert ("Vienna", "population", "1982097") in shown(store, "Q1741")


def test_directions_and_labels(store):
    found = {(one["label"], one["direction"]): one["count"] for one in store.relations(["Q40"])[0]}
    assert found == {
        ("instance of", "out"): 1,
        ("capital", "out"): 1,
        ("shares border with", "out"): 1,
        ("shares border with", "in"): 1,
        ("country", "in"): 2,
        ("area", "out"): 1,
        ("inception", "out"): 1,
    }
    (found,) = store.neighbours([{"entity": "Q40", "relation": "P47", "direction": "in"}])
    assert [(t["subject"], t["object"]) for t in found["triples"]] == [("Q28", "Q40")]


def test_entities_and_languages(store, server):
    vienna, german, unknown = store.entities(["Q1741", "Q300", "Q999"])
    assert (vienna["label"], vienna["type"], vienna["description"]) == ("Vienna", "city", "capital of Austria")
    assert german["label"] == "Nur auf Deutsch"  # no English name: any other
    assert unknown is None
    with SparqlGraphStore(server.url, profile="wikidata", policy=QUICK, languages=("de", "en")) as german_store:
        (vienna,) = german_store.entities(["Q1741"])
        assert (vienna["label"], vienna["type"], vienna["description"]) == ("Wien", "Stadt", "capital of Austria")
        assert german_store.lookup(["Mensch"])[0][0]["entity"]["id"] == "Q5"


def test_names_looked_up_by_the_server(store):
    asked = [
        "Vienna",
        "vienna",
        "VIENNA",
        "wien",
        "republic of austria",
        "countess OF lovelace",
        "Q513",
        "Vienn",
        "P36",
        "",
    ]
    found = [[(m["entity"]["id"], m["method"]) for m in one] for one in store.lookup(asked)]
    vienna = [("Q1741", "exact"), ("Q1034", "exact")]  # the one with more statements first
    assert found == [
        vienna, vienna, vienna, [("Q1741", "alias")], [("Q40", "alias")], [("Q7259", "alias")], [("Q513", "alias")], [], [], [],
    ]  # fmt: skip
    assert store.search(["Vienna"]) == [[]]
    assert store.search(["Viena"], fuzzy=True) == [[]]
    assert any("misspelt" in note for note in store.notes)


def test_spellings():
    assert set(spellings("city OF light")) >= {"City of Light", "CITY OF LIGHT", "city of light", "City of light"}
    assert spellings("\uff30aris")[0] == "\uff30aris"
    assert "Paris" in spellings("\uff30aris")


def test_names_read_once(server):
    options = {"profile": "wikidata", "policy": QUICK, "names": "local", "page": 7}
    with SparqlGraphStore(server.url, **options) as store:
        assert store.lookup(["ViEnNa"])[0][0]["entity"]["id"] == "Q1741"
        assert store.search(["Mont Everest"], fuzzy=True)[0][0]["entity"]["id"] == "Q513"
        assert store.search(["the countess"])[0][0]["entity"]["description"] == "English mathematician"
        assert store.lookup(["Nur auf Deutsch"])[0][0]["entity"]["id"] == "Q300"
        assert store.notes[0].startswith("the endpoint's graph is not counted")
    before = len(server.calls)
    with SparqlGraphStore(server.url, **options) as store:
        assert store.search(["the countess"])[0][0]["entity"]["id"] == "Q7259"
    # The version, and what is said of the one that was found.
    assert len(server.calls) - before <= 5
    with (
        SparqlGraphStore(server.url, **options, max_names=3) as small,
        pytest.raises(KnowledgeError, match="names=server"),
    ):
        small.lookup(["Vienna"])


def test_plain_rdf():
    with SparqlServer(plain_rdf(SAMPLE)) as server, SparqlGraphStore(server.url, policy=QUICK) as store:
        assert store.lookup(["vienna"])[0][0]["entity"]["id"] == f"{EX}id/Vienna"
        triples = shown(store, f"{EX}id/Ada%20Lovelace")
        assert ("Ada Lovelace", "place of birth", "London") in triples
        assert not any("sibling" in one for one in triples)  # its object is a blank node
        (ada,) = store.entities([f"{EX}id/Ada%20Lovelace"])
        assert (ada["type"], ada["description"]) == ("human", "English mathematician")
        assert store.entities(["_:b0", "_:unknown"]) == [None, None]


def test_shapes_that_graphs_have():
    data = """
        @prefix e: <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        @prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix x: <http://www.w3.org/2001/XMLSchema#> .
        @prefix foaf: <http://xmlns.com/foaf/0.1/> .
        e:a e:to e:a, e:b, [ e:x 1 ], "text"@de, "text"@en, "8"^^x:int, 7, "" .
        [] e:to e:a .
        e:Le_Mans e:to e:a . e:n foaf:name "Named" . e:n e:to e:a .
        e:b rdfs:label "Ein B"@de ; skos:prefLabel "The B"@en ; e:to e:b .
        e:to rdfs:label "leads to"@en .
        e:c e:to <http://odd/[x]?a=%zz> .
    """
    with SparqlServer(data) as server, SparqlGraphStore(server.url, policy=QUICK, counts="all") as store:
        info = store.info()
        assert (info["triples"], info["relations"], info["entities"], info["literals"]) == (11, 1, 6, 5)
        found = store.neighbourhood(["http://e/a"])[0]
        assert found["total"] == 9
        assert {t["object_label"] for t in found["triples"] if t["literal"]} == {"text", "7", "8", ""}
        assert sum(t["subject"] == t["object"] for t in found["triples"]) == 1
        assert {t["relation_label"] for t in found["triples"]} == {"leads to"}
        labels = [e["label"] for e in store.entities(["http://e/Le_Mans", "http://e/n", "http://e/b"])]
        assert labels == ["Le Mans", "Named", "The B"]
        ids = [t["id"] for t in found["triples"]]
        assert store.triples(ids) == found["triples"]
        # An IRI that this server does not take in a query: asked for, it is unknown, and its neighbours are not lost.
        (odd,) = store.neighbourhood(["http://e/c"])[0]["triples"]
        ends = store.entities([odd["object"], "http://e/a"])
        assert ends[0] is None or ends[0]["id"] == odd["object"]
        assert ends[1] is not None
        assert [m["entity"]["id"] for m in store.lookup(["le mans"])[0]] == ["http://e/Le_Mans"]


def test_an_empty_graph():
    with SparqlServer("") as server, SparqlGraphStore(server.url, policy=QUICK, counts="all") as store:
        assert store.info()["triples"] == 0
        assert store.lookup(["x"]) == [[]]
        assert store.search(["x"]) == store.search(["x"], fuzzy=True) == [[]]
        assert store.neighbourhood(["http://e/a"]) == [{"triples": [], "total": 0}]
        assert store.edges_among(["http://e/a", "http://e/b"]) == []


def test_texts_of_a_megabyte():
    long = "word " * 200_000
    data = f'<http://e/a> <http://e/to> "{long}", "short", <http://e/b> ; <http://www.w3.org/2000/01/rdf-schema#label> "{long}" ; <http://schema.org/description> "{long}" .'
    with SparqlServer(data) as server, SparqlGraphStore(server.url, policy=QUICK) as store:
        (entity,) = store.entities(["http://e/a"])
        assert len(entity["label"]) <= 300
        assert len(entity["description"]) <= 160
        found = store.neighbourhood(["http://e/a"])[0]
        assert (found["total"], len(found["triples"])) == (2, 2)
        assert store.relations(["http://e/a"])[0][0]["count"] == 2
        assert store.lookup([long]) == [[]]
        assert store.entities([f'"{long}"'])[0] is not None


def hub(edges: int) -> str:
    rows = [f"<http://e/leaf{i}> <http://e/in> <http://e/hub> ." for i in range(edges)]
    return "\n".join([*rows, "<http://e/hub> <http://e/out> <http://e/leaf1> ."])


def test_a_hub_is_counted_and_never_fetched():
    with SparqlServer(hub(3_000)) as server, SparqlGraphStore(server.url, policy=QUICK, counts="none") as store:
        step = {"entity": "http://e/hub", "relation": "http://e/in", "direction": "in"}
        sizes = []
        answer = server.answer
        server.answer = lambda query: sizes.append(len(body := answer(query))) or body
        (edges,) = store.relations(["http://e/hub"])
        assert [(one["name"], one["count"]) for one in edges] == [("http://e/out", 1), ("http://e/in", 3_000)]
        (found,) = store.neighbours([step], limit=10, seed=5)
        assert (found["total"], len(found["triples"])) == (3_000, 10)
        assert max(sizes) < 10_000
        # The same without the counts of `relations`, and asked in company.
        with SparqlGraphStore(server.url, policy=QUICK, counts="none") as other:
            leaf = {"entity": "http://e/leaf7", "relation": "http://e/in", "direction": "out"}
            assert other.neighbours([leaf, step, leaf], limit=10, seed=5)[1] == found
        # More than a page: in pages, each triple once.
        with SparqlGraphStore(server.url, policy=QUICK, counts="none", page=400) as paged:
            (every,) = paged.neighbours([step], limit=3_000)
            assert len({t["id"] for t in every["triples"]}) == every["total"] == 3_000
            (most,) = paged.neighbours([step], limit=2_000)
            assert (len({t["id"] for t in most["triples"]}), most["total"]) == (2_000, 3_000)


def test_the_bound_of_hubs():
    with (
        SparqlServer(hub(3_000)) as server,
        SparqlGraphStore(server.url, policy=QUICK, counts="none", bound=100) as store,
    ):
        (edges,) = store.relations(["http://e/hub"])
        assert {one["name"]: one["count"] for one in edges} == {"http://e/out": 1, "http://e/in": 100}
        step = {"entity": "http://e/hub", "relation": "http://e/in", "direction": "in"}
        (found,) = store.neighbours([step], limit=10)
        assert (found["total"], len(found["triples"])) == (100, 10)
        (around,) = store.neighbourhood(["http://e/hub"], limit=10)
        assert len(around["triples"]) == 10
        assert any("100" in note for note in store.notes)


def test_few_requests_whatever_the_list(server):
    with SparqlGraphStore(server.url, profile="wikidata", policy=QUICK, search="none") as store:

        def requests(call) -> int:
            before = len(server.calls)
            call()
            return len(server.calls) - before

        ids = ["Q40", "Q28", "Q1741", "Q1781", "Q7259", "Q513"]
        one, many = [[id_] for id_ in ids[:1]], [ids]
        assert requests(lambda: store.relations(one[0])) == requests(lambda: store.relations(many[0])) == 3
        steps = [{"entity": id_, "relation": "P31", "direction": "out"} for id_ in ids]
        # Counted already by `relations`: the triples, what is said of them, labels.
        assert requests(lambda: store.neighbours(steps)) <= 3
        assert requests(lambda: store.neighbours(steps)) <= 2
        assert requests(lambda: store.lookup(["Vienna", "Austria", "nobody"] * 100)) <= 5
        assert requests(lambda: store.entities(ids)) <= 3


def test_polite(monkeypatch):
    slept = []
    monkeypatch.setattr("thinkgraph.tools.sparql.http.time.sleep", slept.append)
    policy = RequestPolicy(rate=2, concurrency=2, contact="mailto:me@example.org")
    with (
        SparqlServer(hub(3), latency=0.05) as server,
        SparqlGraphStore(server.url, policy=policy, counts="none") as store,
    ):
        threads = [threading.Thread(target=store.entities, args=(["http://e/hub"],)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert server.max_in_flight <= 2
        assert len(slept) >= 5  # every request but the first had to wait for its time
        assert max(slept) > 1.0
        agent = server.calls[0].headers["User-Agent"]
        assert agent.startswith("thinkgraph/")
        assert "mailto:me@example.org" in agent


NASTY = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            '"',
            "\\",
            '" } #',
            "http://e/> } INSERT",
            "\\u0022",
            "http://e/a",
            '"x"@en',
            '"1"^^<http://e/t>',
            "http://[x",
            "a:%zz",
            "http://e/a http://e/to http://e/b",
            "\ud800",
            "\0",
            "http://e/\u202e",
            "urn:x",
            "_:b",
            "?x",
            "http://e/a#b#c",
        ]
    ),
)


@pytest.fixture(scope="module")
def small_server():
    with SparqlServer('<http://e/a> <http://e/to> <http://e/b>, "x"@en .') as server:
        yield server


@given(st.lists(NASTY, max_size=6))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nothing_that_is_given_becomes_part_of_a_query(small_server, texts):
    seen = len(small_server.calls)
    for names in ("server", "local"):
        with SparqlGraphStore(small_server.url, policy=QUICK, counts="none", names=names) as store:
            for found in (store.lookup(texts), store.entities(texts), store.triples(texts), store.relations(texts)):
                assert len(found) == len(texts)
            steps = [
                {"entity": one, "relation": two, "direction": d}
                for one in texts
                for two in texts
                for d in ("in", "out")
            ]
            assert len(store.neighbours(steps)) == len(steps)
            store.neighbourhood(texts)
            store.edges_among(texts)
            store.search(texts)
    for call in small_server.calls[seen:]:
        # A refusal may only be for an IRI that this server finds no good.
        assert call.status in (200, 400)
        assert "INSERT" not in call.query.replace('INSERT"', "")


def test_an_entity_with_a_blank_label_is_found_by_its_own_name():
    rdf = '<http://e/Ann> <http://e/to> <http://e/Bob> ; <http://www.w3.org/2000/01/rdf-schema#label> "" .'
    with (
        SparqlServer(rdf) as server,
        SparqlGraphStore(server.url, policy=QUICK, counts="none", names="local") as store,
    ):
        assert [one["entity"]["label"] for (one,) in store.lookup(["ann", "bob"])] == ["Ann", "Bob"]


def test_a_blank_label_hides_none_in_another_language():
    rdf = '<http://e/a> <http://e/to> <http://e/b> ; <http://www.w3.org/2000/01/rdf-schema#label> "", "Wien"@de .'
    with SparqlServer(rdf) as server, SparqlGraphStore(server.url, policy=QUICK, counts="none") as store:
        assert store.entities(["http://e/a"])[0]["label"] == "Wien"


@pytest.mark.parametrize("profile", ["rdf", "wikidata"])
def test_half_a_character_in_an_answer_spoils_nothing_else(profile):
    wd = "http://www.wikidata.org"
    rdf = f"""<{wd}/entity/Q1> <{wd}/prop/direct/P1> <{wd}/entity/Q2>, "note HALF" ; <http://www.w3.org/2000/01/rdf-schema#label> "Ann" .
    <{wd}/entity/Q2> <http://www.w3.org/2000/01/rdf-schema#label> "Bob HALF" .
    <{wd}/entity/P1> <http://wikiba.se/ontology#directClaim> <{wd}/prop/direct/P1> ."""
    with SparqlServer(rdf) as server:
        answer = server.answer
        server.answer = lambda query: answer(query).replace(b"HALF", b"\\ud83d")
        with SparqlGraphStore(server.url, profile=profile, policy=QUICK, counts="none", names="local") as store:
            ((ann,),) = store.lookup(["ann"])
            (found,) = store.neighbourhood([ann["entity"]["id"]])
            assert [one["object_label"] for one in found["triples"]] == ["Bob \ufffd"]
            assert store.triples([one["id"] for one in found["triples"]]) == found["triples"]


def test_the_note_on_names_says_that_regions_are_asked_for_one_by_one():
    rdf = '<http://e/a> <http://e/to> <http://e/b> ; <http://www.w3.org/2000/01/rdf-schema#label> "Lorry"@en-GB .'
    with SparqlServer(rdf) as server:
        for languages, found in (("en",), 0), (("en", "en-GB"), 1):
            with SparqlGraphStore(
                server.url, policy=QUICK, counts="none", names="server", languages=languages
            ) as store:
                assert store.entities(["http://e/a"])[0]["label"] == "Lorry"
                assert len(store.lookup(["Lorry"])[0]) == found
                assert any("language=en,en-US" in note for note in store.notes)


@pytest.mark.parametrize(
    ("search", "mark"), [("bif", "bif:contains"), ("jena", "text#query"), ("entitysearch", "mwapi")]
)
def test_full_text_of_servers_is_asked_for_in_one_query(search, mark):
    asked = []
    with SparqlServer(wikidata_rdf(SAMPLE)) as server:
        answer = server.answer

        def magic(query):
            if mark not in query:
                return answer(query)
            asked.append(query)
            rows = ", ".join(
                f'{{"i": {{"type": "literal", "value": "{i}"}}, "e": {{"type": "uri", "value": "http://www.wikidata.org/entity/{e}"}}}}'
                for i, e in ((0, "Q1741"), (0, "Q1034"), (1, "Q7259"), (1, "P36"))
            )
            return f'{{"head": {{"vars": ["i", "e"]}}, "results": {{"bindings": [{rows}]}}}}'.encode()

        server.answer = magic
        with SparqlGraphStore(server.url, profile="wikidata", policy=QUICK, search=search) as store:
            first, second, none = store.search(["Vienna's \" } #", "ADA Zürcher Straße", "?!"])
    assert [m["entity"]["id"] for m in first] == ["Q1741", "Q1034"]
    assert [m["entity"]["id"] for m in second] == ["Q7259"]
    assert none == []
    assert all(0 < m["score"] < 1 and m["method"] == "fulltext" for m in first + second)
    (query,) = asked
    assert [mark in query for mark in ("} #", "ada", "zürcher", "straße")] == [False, True, True, True]


def test_addresses():
    store = sparql_store(
        "sparql+https://user:p%40ss@example.org:8443/sparql?profile=wikidata&language=de,en&rate=2&timeout=9&names=local"
        "&contact=mailto:a@b.org&x-infer=false&bound=50&qualifiers=no&counts=yes"
    )
    assert store._client.url == "https://example.org:8443/sparql"
    assert store._client._parameters == {"infer": "false"}
    assert store._client._policy.rate == 2
    assert (store.profile.bound, store.profile.counts, store._reader._with_details) == (50, "all", False)
    assert "p%40ss" not in store._name
    assert "p@ss" not in repr(store.__dict__["_settings"])
    store.close()


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("sparql+http://", "no address"),
        ("sparql+http://h:99999/", "no address"),
        ("sparql+http://u:secret@h:xx/", "no address"),
        ("sparql+http://h/?proifle=rdf", "'proifle' is no option"),
        ("sparql+http://h/?profile=other", "one of dbpedia, freebase, rdf, wikidata"),
        ("sparql+http://h/?bound=-1", "a whole number from 0"),
        ("sparql+http://h/?batch=0", "a whole number from 1"),
        ("sparql+http://h/?rate=x", "a number from 0"),
        ("sparql+http://h/?timeout=0", "a number above 0"),
        ("sparql+http://h/?timeout=inf", "a number above 0"),
        ("sparql+http://h/?timeout=9999999999", "a number above 0 and below 1000000"),
        ("sparql+http://h/?language=,", "language codes"),
        ('sparql+http://h/?language=en"', "language codes"),
        ("sparql+http://h/?counts=maybe", "yes or no"),
        ("sparql+http://h/?agent=a%0Ab", "a line of ASCII"),
    ],
)
def test_wrong_addresses(spec, says):
    with pytest.raises(KnowledgeError, match=says) as error:
        sparql_store(spec)
    assert "\n" not in str(error.value)
    assert "secret" not in str(error.value)


def test_closed_store_refuses(server):
    store = SparqlGraphStore(server.url, policy=QUICK)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.entities(["http://e/a"])


def test_fingerprints_and_what_they_see():
    prints = set()
    for data, options in (
        ("<http://e/a> <http://e/b> <http://e/c> .", {}),
        ("<http://e/a> <http://e/b> <http://e/c>, <http://e/d> .", {}),
        ("<http://e/a> <http://e/b> <http://e/c> .", {"version": "2"}),
        ("<http://e/a> <http://e/b> <http://e/c> .", {"languages": ("de",)}),
        ("<http://e/a> <http://e/b> <http://e/c> .", {"profile": "dbpedia"}),
    ):
        with SparqlServer(data) as server:
            for counts in ("all", "total", "none"):
                with SparqlGraphStore(server.url, policy=QUICK, counts=counts, **options) as store:
                    # The port is another each time, and part of the address.
                    store._settings[0] = "somewhere"
                    info = store.info()
                    assert info == store.info()
                    assert (info["triples"] >= 0) == (counts == "all")
                    prints.add((info["fingerprint"], counts))
    # Without counts, more triples are not noticed: 5 + 5 + 4.
    assert len(prints) == 14
    assert len({one for one, _ in prints}) == 14
