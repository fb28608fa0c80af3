from __future__ import annotations

import pytest

from thinkgraph.testing.conformance.graph import GraphStoreConformance
from thinkgraph.testing.rdf_samples import (
    example_iri,
    suite_ids,
    suite_rdf,
    suite_things,
    wikidata_rdf,
)
from thinkgraph.testing.sparql import SparqlServer
from thinkgraph.tools.sparql.http import Manners
from thinkgraph.tools.sparql.store import SparqlGraphStore

QUICK = Manners(rate=0, concurrency=8)
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
        with SparqlGraphStore(rdf_server.url, manners=QUICK) as store:
            yield store

    def key(self, entity: str) -> str:
        return example_iri("id", entity)

    def relation(self, name: str) -> str:
        return example_iri("rel", name)


class TestWikidata(GraphStoreConformance):
    @pytest.fixture
    def store(self, wikidata_server):
        options = {"names": "local", "counts": True, "bound": 0}
        with SparqlGraphStore(wikidata_server.url, profile="wikidata", manners=QUICK, **options) as store:
            yield store

    def key(self, entity: str) -> str:
        return ITEMS.get(entity, f"Q9{sum(map(ord, entity)):09d}")

    def relation(self, name: str) -> str:
        return PROPS[name]


class TestBounded(TestWikidata):
    """The bound of the public profiles, above every hub of the suite: other queries, same answers."""

    @pytest.fixture
    def store(self, wikidata_server):
        options = {"names": "local", "counts": True, "page": 500, "batch": 40}
        with SparqlGraphStore(wikidata_server.url, profile="wikidata", manners=QUICK, **options) as store:
            yield store
