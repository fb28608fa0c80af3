"""Indexes that are there and cannot be used."""

from __future__ import annotations

import contextlib

import pytest
from tools.neo4j.conftest import Database

from thinkgraph.errors import KnowledgeError, StoreError
from thinkgraph.tools.neo4j import names
from thinkgraph.tools.neo4j.graph import Neo4jGraphStore
from thinkgraph.tools.neo4j.schema import Catalogue, Index


def too_long(database: Database) -> None:
    """More cities than are looked through for an id, one of them with a value that no index takes."""
    database.run("UNWIND range(1, 2500) AS i CREATE (:City {name: 'City ' + i, key: toString(i)})")
    database.run("CREATE (:City {name: 'X', key: $key})", key="x" * 20_000)
    database.run("CREATE INDEX city_key FOR (n:City) ON (n.key)")
    with contextlib.suppress(Exception):
        database.run("CALL db.awaitIndexes(60)")


def test_an_index_that_has_failed_is_not_to_be_made_once_more(neo4j_server: Database) -> None:
    # Emptied at once: while it is there, nobody can wait for all indexes.
    neo4j_server.forget()
    neo4j_server.empty()
    too_long(neo4j_server)
    try:
        with pytest.raises(KnowledgeError, match=r"2,501 nodes of City; the index city_key has failed and is not used"):
            Neo4jGraphStore.open(f"{neo4j_server.spec}?id=City.key")
        with Neo4jGraphStore.open(neo4j_server.spec) as store:
            assert ["city_key has failed" in note for note in store.describe()["missing"]] == [True]
    finally:
        neo4j_server.empty()


def test_an_index_that_is_being_built_is_waited_for() -> None:
    index = Index("names", "FULLTEXT", ["City"], ["name"], unique=False, dimensions=0, state="POPULATING")
    catalogue = Catalogue(
        labels={"City": 1},
        types={},
        keys=frozenset({"name"}),
        nodes=1,
        relationships=0,
        indexes=(),
        indexes_known=True,
        samples={},
        unready=(index,),
    )
    assert "names is being built" in catalogue.wait_for(["FULLTEXT"], ["Town", "City"], ["name", "alias"])
    assert not catalogue.wait_for(["VECTOR"], ["City"], ["name"])
    assert not catalogue.wait_for(["FULLTEXT"], ["City"], ["alias"])


def with_index(database: Database) -> None:
    database.run("CREATE (:City {name: 'Ulm'})")
    database.run("CREATE FULLTEXT INDEX city_names FOR (n:City) ON EACH [n.name]")


def test_an_index_that_is_dropped_while_it_is_used(neo4j_server: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "SCANNED", 0)
    with neo4j_server.holding("an index", with_index), Neo4jGraphStore.open(neo4j_server.spec) as store:
        assert store.lookup(["Ulm"])[0]
        neo4j_server.run("DROP INDEX city_names")
        with pytest.raises(
            StoreError, match=r"no such fulltext schema index: city_names; open the knowledge base again"
        ):
            store.lookup(["Ulm"])
    neo4j_server.forget()
