"""The profiles of public endpoints, over a few triples in their shapes."""

from __future__ import annotations

import pytest
from sparql_server import SparqlServer

from thinkgraph.tools.sparql.http import RequestPolicy
from thinkgraph.tools.sparql.store import SparqlGraphStore

QUICK = RequestPolicy(rate=0, concurrency=8, retries=0)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("THINKGRAPH_CACHE", str(tmp_path / "cache"))


DBPEDIA = """
@prefix dbo: <http://dbpedia.org/ontology/> . @prefix dbr: <http://dbpedia.org/resource/> . @prefix dbp: <http://dbpedia.org/property/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
dbr:Vienna a dbo:City ; rdfs:label "Vienna"@en, "Wien"@de ; rdfs:comment "Vienna is the capital.\\nAnd more."@en ;
    dbo:country dbr:Austria ; dbo:wikiPageWikiLink dbr:Danube ; dbp:name "Vienna"@en ; dbo:motto "voran"@de, "onwards"@en ;
    owl:sameAs <http://www.wikidata.org/entity/Q1741> .
dbr:Austria rdfs:label "Austria"@en . dbo:City rdfs:label "city"@en . dbo:country rdfs:label "country"@en .
<http://dbpedia.org/resource/Category:Vienna> rdfs:label "Vienna"@en .
"""
FREEBASE = """
@prefix ns: <http://rdf.freebase.com/ns/> .
ns:m.0fhp9 ns:type.object.name "Vienna"@en ; ns:common.topic.alias "Wien"@en ; ns:type.object.type ns:location.citytown ;
    ns:location.location.containedby ns:m.0h7x ; ns:common.topic.notable_types ns:m.01m9 .
ns:m.0h7x ns:type.object.name "Austria"@en . ns:m.01m9 ns:type.object.name "City/Town"@en .
"""


def test_dbpedia():
    with (
        SparqlServer(DBPEDIA) as server,
        SparqlGraphStore(server.url, profile="dbpedia", policy=QUICK, search="none") as store,
    ):
        assert [m["entity"]["id"] for m in store.lookup(["vienna"])[0]] == ["dbr:Vienna", "dbr:Category:Vienna"]
        (vienna,) = store.entities(["dbr:Vienna"])
        assert (vienna["label"], vienna["type"], vienna["description"]) == (
            "Vienna",
            "city",
            "Vienna is the capital. And more.",
        )
        found = {
            (t["relation"], t["relation_label"], t["object"]) for t in store.neighbourhood(["dbr:Vienna"])[0]["triples"]
        }
        assert found == {("dbo:country", "country", "dbr:Austria"), ("dbo:motto", "motto", '"onwards"@en')}
        assert [(r["name"], r["direction"]) for r in store.relations(["dbr:Austria"])[0]] == [("dbo:country", "in")]
        step = {"entity": "dbr:Vienna", "relation": "dbo:wikiPageWikiLink", "direction": "out"}
        assert store.neighbours([step])[0]["total"] == 0


def test_freebase():
    with SparqlServer(FREEBASE) as server, SparqlGraphStore(server.url, profile="freebase", policy=QUICK) as store:
        assert [(m["entity"]["id"], m["method"]) for m in store.lookup(["wien"])[0]] == [("m.0fhp9", "alias")]
        (vienna,) = store.entities(["m.0fhp9"])
        assert (vienna["label"], vienna["type"]) == ("Vienna", "City/Town")
        (triple,) = store.neighbourhood(["m.0fhp9"])[0]["triples"]
        assert triple["id"] == "m.0fhp9 location.location.containedby m.0h7x"
        assert (triple["object_label"], triple["relation_label"]) == ("Austria", "location.location.containedby")
        assert store.triples([triple["id"]]) == [triple]
