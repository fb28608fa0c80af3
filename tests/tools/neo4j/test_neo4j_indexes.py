"""Indexes: those that would help, and those that are there and cannot be used."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from tools.neo4j.conftest import Database

from thinkgraph.errors import KnowledgeError, StoreError
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.neo4j import names, search
from thinkgraph.tools.neo4j.graph import Neo4jGraphStore
from thinkgraph.tools.neo4j.schema import Catalogue, Index
from thinkgraph.tools.neo4j.text import Neo4jTextStore


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


def with_advice(database: Database) -> None:
    database.run("CREATE INDEX FOR (n:City) ON (n.name)")
    database.run(
        "UNWIND range(1, 50) AS i CREATE (:City {name: 'City ' + i, alias: ['Town ' + i]}), (:River {name: 'River ' + i})"
    )


def _a_slow_scan_is_tried_again_with_more_time(
    store: Neo4jGraphStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    query, limits = store.connection.rows, []
    enough = 30.0

    def slow(text: str, *rest: Any, seconds: float | None = None) -> Any:
        limits.append(seconds)
        if seconds is None or seconds >= enough:
            return query(text, *rest, seconds=seconds)
        return query(f"CALL {{ UNWIND range(1, 100000000) AS i RETURN sum(i) AS slept }} {text}", *rest, seconds=0.2)

    monkeypatch.setattr(store.connection, "rows", slow)
    everything = ["City 7", "city 8", "town 9", "river 7"]
    assert [len(row) for row in store.lookup(everything)] == [1, 1, 1, 1]
    assert limits == [5.0, 30.0]
    (said,) = caplog.records
    assert said.getMessage() == "Neo4j: a search took more than 5 s; it is tried again, for 30 s at most"
    assert [len(row) for row in store.lookup(["town 7"])] == [1]
    assert limits == [5.0, 30.0, 30.0], "the next one has as much time at once"
    # Where no time is enough, nobody has looked: that is not the same as finding nothing.
    enough = 1000.0
    for _ in range(2):
        with pytest.raises(StoreError, match=r"allow more with .timeout=SECONDS; finding one of the 50 City by name"):
            store.lookup(everything)
    enough = 30.0
    assert [len(row) for row in store.lookup(everything)] == [1, 1, 1, 1], "once it answers, it is asked"
    monkeypatch.undo()


def test_says_which_index_would_help_and_uses_what_there_is(
    neo4j_server: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(names, "SCANNED", 0)
    with neo4j_server.holding("advice", with_advice), Neo4jGraphStore.open(neo4j_server.spec) as store:
        assert store.finder.ways.exact == [("City", "name")]
        missing = store.describe()["missing"]
        assert len(missing) == 2
        assert "finding one of the 50 City by name reads them all" in missing[0]
        statements = [note.partition("can run: ")[2] for note in missing]
        assert statements[0] == "CREATE FULLTEXT INDEX names_of_city FOR (n:`City`) ON EACH [n.`alias`, n.`name`]"
        assert [len(row) for row in store.lookup(["city 7", "town 7", "river 7"])] == [1, 1, 1]
        _a_slow_scan_is_tried_again_with_more_time(store, monkeypatch, caplog)
        monkeypatch.setattr(names, "SCANNED", 0)
        for statement in statements:
            neo4j_server.run(statement)
        neo4j_server.settled()
    monkeypatch.setattr(names, "SCANNED", 0)
    with Neo4jGraphStore.open(neo4j_server.spec) as store:
        assert store.describe()["missing"] == []
        assert len(store.finder.ways.fulltext) == 2
        found = store.lookup(["cITY 7", "town 7", "river 7", "RIVER 8"])
        assert [row[0]["entity"]["label"] for row in found] == ["City 7", "City 7", "River 7", "River 8"]
        assert store.search(["the 7th river"])[0][0]["entity"]["type"] == "River"
        assert store.search(["Rivr 12"], fuzzy=True)[0][0]["entity"]["label"] == "River 12"
    neo4j_server.forget()


def case_sensitive(database: Database) -> None:
    database.run(
        "UNWIND range(1, 50) AS i CREATE (:City {name: 'City ' + i, story: $story + i})", story="Told at length. " * 20
    )
    config = "OPTIONS {indexConfig: {`fulltext.analyzer`: 'keyword'}}"
    for key in ("name", "story"):
        database.run(f"CREATE FULLTEXT INDEX their_{key} FOR (n:City) ON EACH [n.{key}] {config}")


def test_an_index_that_tells_capitals_from_small_letters_is_as_none(
    neo4j_server: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "SCANNED", 0)
    monkeypatch.setattr(search, "SCANNED", 0)
    with neo4j_server.holding("case sensitive", case_sensitive):
        with Neo4jGraphStore.open(neo4j_server.spec) as store:
            text = Neo4jTextStore(store, HashEmbedder())
            assert [len(row) for row in store.lookup(["City 7", "city 8"])] == [1, 1]
            assert text.search(["told at length"])[0]
            missing = store.describe(text)["missing"]
        assert [note.partition(" tells ")[0] for note in missing] == [
            "finding one of the 50 City by name reads them all; their owner can run, in place of their_name, which",
            "searching the story of 50 City reads them all; their owner can run, in place of their_story, which",
        ]
        for index, note in zip(("their_name", "their_story"), missing, strict=True):
            neo4j_server.run(f"DROP INDEX {index}")
            neo4j_server.run("CREATE " + note.partition(": CREATE ")[2])
        neo4j_server.settled()
        with Neo4jGraphStore.open(neo4j_server.spec) as store:
            assert store.describe(Neo4jTextStore(store, HashEmbedder()))["missing"] == []
            assert [len(row) for row in store.lookup(["City 7", "city 8"])] == [1, 1]
    neo4j_server.forget()


def other_vectors(database: Database) -> None:
    """Vectors as long as ours that some other model made."""
    texts = [f"A text number {at} about rivers and mountains that is long enough." for at in range(8)]
    vectors = [[1.0 if (at * 31 + place) % 7 == 0 else -0.2 for place in range(256)] for at in range(8)]
    rows = [{"text": text, "embedding": vector} for text, vector in zip(texts, vectors, strict=True)]
    database.run(
        "UNWIND $rows AS row CREATE (c:Chunk) SET c = row CREATE (c)-[:MENTIONS]->(:City {name: 'City'})", rows=rows
    )
    database.run(
        "CREATE VECTOR INDEX theirs FOR (n:Chunk) ON (n.embedding) OPTIONS "
        "{indexConfig: {`vector.dimensions`: 256, `vector.similarity_function`: 'cosine'}}"
    )


def used(text: Neo4jTextStore) -> list[tuple[str, bool]]:
    return [(one.index.name, one.fits) for one in text.vectors]


def test_vectors_of_another_model_are_left_alone(neo4j_server: Database) -> None:
    with neo4j_server.holding("other vectors", other_vectors):
        with Neo4jGraphStore.open(neo4j_server.spec) as store:
            text = Neo4jTextStore(store, HashEmbedder())
            assert used(text) == [("theirs", False)]
            assert text.search(["text number 5"])[0][0]["passage"]["text"].startswith("A text number 5")
            assert store.info()["relations"] == 0, "chunks and what links them are no part of the graph"
        with Neo4jGraphStore.open(f"{neo4j_server.spec}?vectors=theirs") as store:
            assert used(Neo4jTextStore(store, HashEmbedder())) == [("theirs", True)]
            assert used(Neo4jTextStore(store, HashEmbedder(64))) == [("theirs", False)]
        with Neo4jGraphStore.open(f"{neo4j_server.spec}?vectors=none") as store:
            assert used(Neo4jTextStore(store, HashEmbedder())) == []
