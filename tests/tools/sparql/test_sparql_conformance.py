from __future__ import annotations

import pytest
from rdf_samples import (
    Claim,
    Thing,
    example_iri,
    item,
    suite_ids,
    suite_rdf,
    suite_things,
    wikidata_rdf,
)
from sparql_server import SparqlServer

from thinkgraph.testing.conformance.graph import GraphStoreConformance
from thinkgraph.testing.conformance.linker import LinkerConformance
from thinkgraph.tools.linking.linker import StandardLinker
from thinkgraph.tools.sparql.http import RequestPolicy
from thinkgraph.tools.sparql.store import SparqlGraphStore

QUICK = RequestPolicy(rate=0, concurrency=8)
ITEMS, PROPS = suite_ids()


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("THINKGRAPH_CACHE", str(tmp_path_factory.getbasetemp() / "sparql-cache"))


@pytest.fixture(scope="module")
def rdf_server():
    with SparqlServer(suite_rdf()) as server:
        yield server


@pytest.fixture(scope="module")
def wikidata_server():
    with SparqlServer(wikidata_rdf(suite_things())) as server:
        yield server


class TestPlainRdf(GraphStoreConformance):
    qualifiers = False

    @pytest.fixture
    def store(self, rdf_server):
        with SparqlGraphStore(rdf_server.url, policy=QUICK, counts="all") as store:
            yield store

    def key(self, entity: str) -> str:
        return example_iri("id", entity)

    def relation(self, name: str) -> str:
        return example_iri("rel", name)


class TestWikidata(GraphStoreConformance):
    @pytest.fixture
    def store(self, wikidata_server):
        options = {"names": "local", "counts": "all", "bound": 0}
        with SparqlGraphStore(wikidata_server.url, profile="wikidata", policy=QUICK, **options) as store:
            yield store

    def key(self, entity: str) -> str:
        return ITEMS.get(entity, f"Q9{sum(map(ord, entity)):09d}")

    def relation(self, name: str) -> str:
        return PROPS[name]


class TestBounded(TestWikidata):
    """The bound of the public profiles, above every hub of the suite: other queries, same answers."""

    @pytest.fixture
    def store(self, wikidata_server):
        options = {"names": "local", "counts": "all", "page": 500, "batch": 40}
        with SparqlGraphStore(wikidata_server.url, profile="wikidata", policy=QUICK, **options) as store:
            yield store


def suite_linker_things() -> list[Thing]:
    numbers = {entity["id"]: f"Q{i}" for i, (entity, _) in enumerate(LinkerConformance.entities, 1)}
    world = Thing("Q99", {"en": "world"})
    things = [
        Thing(
            numbers[one["id"]],
            {"en": one["label"]},
            {"en": one["description"]},
            {"en": aliases},
            (Claim("P1", item("Q99")),),
        )
        for one, aliases in LinkerConformance.entities
    ]
    return [Thing("P1", {"en": "in"}, datatype="wikibase-item"), world, *things]


@pytest.fixture(scope="module")
def linker_server():
    with SparqlServer(wikidata_rdf(suite_linker_things())) as server:
        yield server


class TestLinker(LinkerConformance):
    """The ids are the suite's again on their way out, as its tests know them."""

    @pytest.fixture
    def linker(self, linker_server):
        options = {"profile": "wikidata", "names": "local", "policy": QUICK}
        with SparqlGraphStore(linker_server.url, **options) as store:
            yield Renamed(StandardLinker(store))


class Renamed:
    """A linker whose entities have the suite's ids."""

    def __init__(self, linker: StandardLinker) -> None:
        self._linker = linker
        self._ids = {f"Q{i}": entity["id"] for i, (entity, _) in enumerate(LinkerConformance.entities, 1)}

    def link(self, texts, *, limit=20):
        return [
            [
                {**link, "entity": {**link["entity"], "id": self._ids.get(link["entity"]["id"], "world")}}
                for link in found
            ]
            for found in self._linker.link(texts, limit=limit)
        ]
