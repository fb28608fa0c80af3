from __future__ import annotations

import bz2
import gzip
import json

import pytest
from rdf_samples import SAMPLE, wikidata_dump, wikidata_rdf
from sparql_server import SparqlServer

from thinkgraph.errors import KnowledgeError
from thinkgraph.ingest.build import build_kb
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.linking.linker import StandardLinker
from thinkgraph.tools.meter import Meter, current_meter
from thinkgraph.tools.sparql.http import RequestPolicy
from thinkgraph.tools.sparql.store import SparqlGraphStore
from thinkgraph.tools.values import place_text, point_text, quantity_text, time_text

DUMP = wikidata_dump(SAMPLE)
ITEMS = [thing.id for thing in SAMPLE if thing.id[0] == "Q"]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("THINKGRAPH_CACHE", str(tmp_path / "cache"))


def build(tmp_path, text=DUMP, name="w.json", **options):
    path = tmp_path / name
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(data)
    return build_kb(tmp_path / "kb", wikidata=[path], index=False, replace=True, **options)


def shape(graph, ids):
    return [
        sorted(
            (t["subject"], t["relation"], t["relation_label"], t["object_label"], t["literal"], t["qualifiers"])
            for t in one["triples"]
        )
        for one in graph.neighbourhood(ids)
    ]


def test_the_same_as_the_query_service(tmp_path):
    """The dump of a graph and its RDF: same entities, triples, links, and as many round trips."""
    report = build(tmp_path)
    assert report.rejected == {"value of a kind that is left out": 2}
    questions = [
        "Is Vienna the capital of Austria?",
        "countess of lovelace",
        "Wien",
        "Who was Caesar, Julius Caesar?",
        "nothing",
    ]
    with (
        Knowledge.open(tmp_path / "kb") as kb,
        SparqlServer(wikidata_rdf(SAMPLE)) as server,
        SparqlGraphStore(server.url, profile="wikidata", names="local", policy=RequestPolicy(rate=0)) as store,
    ):
        assert shape(kb.graph, ITEMS) == shape(store, ITEMS)
        pairs = list(zip(kb.graph.entities(ITEMS), store.entities(ITEMS), strict=True))
        assert len(pairs) > 10
        for one, other in pairs:
            assert (one["label"], one["type"]) == (other["label"], other["type"])
        links = []
        for graph in (kb.graph, store):
            meter = Meter()
            token = current_meter.set(meter)
            try:
                found = StandardLinker(graph).link(questions)
            finally:
                current_meter.reset(token)
            sure = [
                [(x["entity"]["id"], x["method"], x["start"]) for x in one if x["method"] in ("exact", "alias")]
                for one in found
            ]
            links.append((sure, meter.store_round_trips))
        assert links[0] == links[1]
        assert links[0][0][0]


def test_labels_of_what_comes_later_and_properties_nobody_uses(tmp_path):
    build(tmp_path)
    with Knowledge.open(tmp_path / "kb") as kb:
        triples = {(t["relation_label"], t["object_label"]): t for t in kb.graph.neighbourhood(["Q1741"])[0]["triples"]}
        assert triples["population", "1982097"]["qualifiers"] == [
            ["point in time", "2023-01-01"],
            ["criterion used", "census"],
        ]
        assert kb.graph.lookup(["VIAF ID", "point in time"]) == [[], []]
        assert kb.graph.lookup(["P36"]) == [[]]


def test_languages(tmp_path):
    build(tmp_path, languages=["de", "en"])
    with Knowledge.open(tmp_path / "kb") as kb:
        (wien,) = kb.graph.entities(["Q1741"])
        assert (wien["label"], wien["type"], wien["description"]) == ("Wien", "Stadt", "capital of Austria")
        assert {m["method"] for m in kb.graph.lookup(["Republik Österreich"])[0]} == {"alias"}
        assert {t["relation_label"] for t in kb.graph.neighbourhood(["Q513"])[0]["triples"]} == {
            "ist ein(e)",
            "Höhe über dem Meeresspiegel",
        }
        assert {t["object_label"] for t in kb.graph.neighbourhood(["Q513"])[0]["triples"]} == {"Berg", "8848.86 Meter"}


@pytest.mark.parametrize(("name", "pack"), [("w.json.gz", gzip.compress), ("w.json.bz2", bz2.compress)])
def test_packed(tmp_path, name, pack):
    plain = build(tmp_path).manifest["graph"]
    assert build(tmp_path, pack(DUMP.encode()), name).manifest["graph"] == plain
    with pytest.raises(KnowledgeError, match="damaged"):
        build(tmp_path, pack(DUMP.encode())[:-200], name)
    assert not list(tmp_path.rglob("*.waiting"))
    assert not list((tmp_path / "kb").glob("facts*"))


def test_a_dump_that_is_cut_off_is_told_and_used(tmp_path):
    report = build(tmp_path, DUMP[: DUMP.index('"id": "Q513"') + 30])
    assert report.rejected["cut off"] == 1
    assert report.rejected["malformed"] == 1
    (line,) = [one["line"] for one in report.examples if one["kind"] == "malformed"]
    assert DUMP.splitlines()[line - 1].find('"id": "Q513"') > 0
    assert report.manifest["graph"]["triples"] == 22


def test_lines_without_brackets(tmp_path):
    lines = [line.removesuffix(",") for line in DUMP.splitlines()[1:-1]]
    assert build(tmp_path, "\n".join(lines)).manifest["graph"]["triples"] == 26


def entity(**changes):
    found = {"type": "item", "id": "Q1", "labels": {"en": {"language": "en", "value": "One"}}, "claims": {}}
    return json.dumps({**found, **changes})


def claim(**snak):
    return {
        "P1": [{"mainsnak": {"snaktype": "value", "property": "P1", **snak}, "rank": "normal", "type": "statement"}]
    }


ODD = [
    "null", "[]", "{}", '{"id": 5}', '{"id": "X1"}', '{"id": "Q1", "claims": 5, "labels": 3, "aliases": [1], "descriptions": "x"}',
    entity(claims={"P1": 5, "P2": [5, {}], "not a property": []}),
    entity(claims=claim()),
    entity(claims=claim(datavalue=5)),
    entity(claims=claim(datavalue={"type": "time", "value": {"time": "never", "precision": "x"}})),
    entity(claims=claim(datavalue={"type": "quantity", "value": {}})),
    entity(claims=claim(datavalue={"type": "globecoordinate", "value": {"latitude": "x", "longitude": None}})),
    entity(claims=claim(datavalue={"type": "wikibase-entityid", "value": {"entity-type": "item", "numeric-id": "x"}})),
    entity(claims=claim(datavalue={"type": "wikibase-entityid", "value": {"entity-type": "item", "id": "Q5> <x"}})),
    entity(claims=claim(datavalue={"type": "string", "value": "\0"})),
    entity(claims=claim(datavalue={"type": "string", "value": "\ud800"})),
    entity(claims=claim(datavalue={"type": "string", "value": "x" * 5_000})),
    entity(claims=claim(datavalue={"type": "novel", "value": {"a": 1}})),
    entity(claims=claim(datavalue={"type": "time", "value": {"time": None, "precision": 11}})),
    entity(claims=claim(datavalue={"type": "quantity", "value": {"amount": 5, "unit": "1"}})),
    entity(claims=claim(datavalue={"type": "quantity", "value": {"amount": "5", "unit": "\ud800"}})),
    entity(claims=claim(datavalue={"type": "monolingualtext", "value": {"text": "x", "language": "\ud800"}})),
    entity(claims=claim(datatype=[], datavalue={"type": "string", "value": "x"})),
    entity(claims={"P1": [{"mainsnak": {}, "qualifiers": {}, "qualifiers-order": [[]]}]}),
    entity(labels={"en": {"value": "\ud800"}, "de": {"value": 5}, "fr": None}),
    entity(aliases={"en": [{"value": None}, 5], "de": "x"}),
]  # fmt: skip


def test_odd_entities_stop_nothing(tmp_path):
    good = entity(
        id="Q2",
        claims=claim(datavalue={"type": "wikibase-entityid", "value": {"entity-type": "item", "numeric-id": 3}}),
    )
    report = build(tmp_path, "\n".join([*ODD, "{", good]))
    assert report.manifest["graph"]["triples"] == 1
    assert report.rejected["malformed"] == 6
    with Knowledge.open(tmp_path / "kb") as kb:
        (triple,) = kb.graph.neighbourhood(["Q2"])[0]["triples"]
        assert (triple["object"], triple["object_label"]) == ("Q3", "Q3")


@pytest.mark.parametrize(
    ("time", "precision", "shown"),
    [
        ("+1815-12-10T00:00:00Z", 11, "1815-12-10"),
        ("+1815-12-00T00:00:00Z", 10, "1815-12"),
        ("+1815-00-00T00:00:00Z", 9, "1815"),
        ("+1815-00-00T00:00:00Z", 8, "1810s"),
        ("+1900-00-00T00:00:00Z", 7, "19th century"),
        ("+1901-00-00T00:00:00Z", 7, "20th century"),
        ("+1100-00-00T00:00:00Z", 7, "11th century"),
        ("+2000-00-00T00:00:00Z", 6, "2nd millennium"),
        ("-0044-03-15T00:00:00Z", 11, "44-03-15 BC"),
        ("-0044-00-00T00:00:00Z", 9, "44 BC"),
        ("-13798000000-00-00T00:00:00Z", 3, "13798000000 BC"),
        ("+2020-01-02T03:04:05Z", 14, "2020-01-02 03:04:05"),
        ("whenever", 11, "whenever"),
    ],
)
def test_times_are_no_more_exact_than_they_are_known(time, precision, shown):
    assert time_text(time, precision) == shown


def test_years_before_christ_are_counted_in_two_ways():
    assert time_text("-0043-03-15T00:00:00Z", years="astronomical") == "44-03-15 BC"
    assert time_text("0000-03-15T00:00:00Z", years="astronomical") == "1-03-15 BC"
    assert time_text("1815-12-10T00:00:00Z", years="astronomical") == "1815-12-10"


def test_quantities_and_places():
    assert quantity_text("+8848.86", "metre") == "8848.86 metre"
    assert quantity_text("-5") == "-5"
    assert place_text(48.20833, "16.37") == "48.2083, 16.37"
    assert point_text("Point(16.37 48.2)") == "48.2, 16.37"
    assert point_text("<http://www.wikidata.org/entity/Q405> Point(1 2)") == "2, 1"
    assert point_text("nowhere") == "nowhere"
