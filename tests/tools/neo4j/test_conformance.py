"""The suites that every store passes, over Neo4j. The tests of a suite share a store, which is read only and costs several queries to open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from tools.neo4j import contents
from tools.neo4j.conftest import Database

from thinkgraph.ingest.neo4j.export import export_neo4j
from thinkgraph.testing.conformance import graph_data
from thinkgraph.testing.conformance.graph import GraphStoreConformance
from thinkgraph.testing.conformance.linker import LinkerConformance
from thinkgraph.testing.conformance.text import TextStoreConformance, sample_passages
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.linking.linker import StandardLinker
from thinkgraph.tools.neo4j import names
from thinkgraph.tools.neo4j.graph import Neo4jGraphStore
from thinkgraph.tools.neo4j.search import Neo4jEntityIndex, vector_indexes
from thinkgraph.tools.neo4j.text import Neo4jTextStore


@pytest.fixture(scope="module")
def suite_kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return contents.suite_kb(tmp_path_factory.mktemp("suite"))


class Written:
    """What writing would change."""

    database: ClassVar[Database]

    def snapshot(self) -> object:
        nodes = self.database.run("MATCH (n) RETURN count(n), sum(size(keys(n)))")
        edges = self.database.run("MATCH ()-[r]->() RETURN count(r), sum(size(keys(r)))")
        schema = self.database.run("SHOW INDEXES YIELD name"), self.database.run("CALL db.labels()")
        return nodes, edges, schema


class TestExported(Written, GraphStoreConformance):
    """A knowledge base loaded by `kb export`."""

    @pytest.fixture(scope="class")
    @classmethod
    def store(cls, neo4j_server: Database, suite_kb: Path) -> Iterator[Neo4jGraphStore]:
        cls.database = neo4j_server
        with (
            neo4j_server.holding("suite exported", lambda there: export_neo4j(suite_kb, there.spec) and None),
            Neo4jGraphStore.open(neo4j_server.spec) as store,
        ):
            yield store


class TestIndexed(TestExported):
    """The same, with names found by its full-text index instead of being read."""

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def by_index(cls) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(names, "SCANNED", 0)
            yield

    def test_uses_the_index(self, store: Neo4jGraphStore) -> None:
        assert [*store.finder.ways.fulltext] == ["thinkgraph_names"]
        assert not store.finder.ways.scanned
        assert not store.finder.ways.notes


class TestNative(Written, GraphStoreConformance):
    """A graph without any key or index, with values in properties and in nodes."""

    keys: ClassVar[dict[str, str]]

    @pytest.fixture(scope="class")
    @classmethod
    def store(cls, neo4j_server: Database) -> Iterator[Neo4jGraphStore]:
        cls.database = neo4j_server
        with (
            neo4j_server.holding("suite native", contents.native_suite),
            Neo4jGraphStore.open(neo4j_server.spec) as store,
        ):
            every = neo4j_server.run("MATCH (n:Place) RETURN elementId(n), n.name")
            keys = {name: store.reader.node_id(element, ["Place"], {}) for element, name in every}
            # Of the two Springfields one is in Illinois.
            for element, place in neo4j_server.run(
                "MATCH (n:Place {name: 'Springfield'})-[:part_of]->(m) RETURN elementId(n), m.name"
            ):
                number = 1 if place == "Illinois" else 2
                keys[f"springfield-{number}"] = store.reader.node_id(element, ["Place"], {})
            keys["ada"] = keys["Ada Lovelace"]
            cls.keys = keys
            yield store

    def key(self, entity: str) -> str:
        return self.keys.get(entity, entity)


class TestText(TextStoreConformance):
    """Passages without vectors: encoded when they are asked for."""

    @pytest.fixture(scope="class")
    @classmethod
    def store(cls, neo4j_server: Database) -> Iterator[Neo4jTextStore]:
        with neo4j_server.holding("passages", contents.passage_nodes), Neo4jGraphStore.open(neo4j_server.spec) as graph:
            yield Neo4jTextStore(graph, HashEmbedder())


class TestTextWithVectors(TextStoreConformance):
    """Passages with the owner's vectors, one for each."""

    long_passages = False

    @pytest.fixture(scope="class")
    @classmethod
    def store(cls, neo4j_server: Database) -> Iterator[Neo4jTextStore]:
        embedder = HashEmbedder()
        texts = {passage["id"]: f"{passage['title']}: {passage['text']}" for passage in sample_passages()}
        vectors = dict(zip(texts, embedder.embed(list(texts.values())), strict=True))
        with (
            neo4j_server.holding("passages and vectors", lambda there: contents.passage_nodes(there, vectors)),
            Neo4jGraphStore.open(neo4j_server.spec) as graph,
        ):
            store = Neo4jTextStore(graph, embedder)
            assert [(one.index.name, one.fits) for one in store.vectors] == [("by_meaning", True)]
            yield store


class TestLinker(LinkerConformance):
    @pytest.fixture(scope="class")
    @classmethod
    def linker(cls, neo4j_server: Database) -> Iterator[StandardLinker]:
        with neo4j_server.holding("entities", contents.entity_nodes), Neo4jGraphStore.open(neo4j_server.spec) as graph:
            yield StandardLinker(graph, embedder=HashEmbedder())


def entities_and_vectors(database: Database) -> None:
    contents.entity_nodes(database)
    rows = database.run("MATCH (n:Entity) RETURN n.id, n.name + ': ' + n.description")
    vectors = HashEmbedder().embed([text for _, text in rows])
    database.run(
        "UNWIND $rows AS row MATCH (n:Entity {id: row[0]}) SET n.embedding = row[1]",
        rows=[[id_, vector] for (id_, _), vector in zip(rows, vectors, strict=True)],
    )
    # Of another encoder, and the first by name.
    database.run("MATCH (n:Entity) SET n.another = [x IN range(1, 256) | x % 3 - 0.5]")
    for name, key in (("entities_by_meaning", "embedding"), ("another_encoders", "another")):
        database.run(
            f"CREATE VECTOR INDEX {name} FOR (n:Entity) ON (n.{key}) OPTIONS "
            "{indexConfig: {`vector.dimensions`: 256, `vector.similarity_function`: 'cosine'}}"
        )


def test_entities_by_meaning(neo4j_server: Database) -> None:
    with (
        neo4j_server.holding("entities and vectors", entities_and_vectors),
        Neo4jGraphStore.open(neo4j_server.spec) as graph,
    ):
        indexes = vector_indexes(graph.reader, [*graph.plan.things])
        assert [index.name for index in indexes] == ["another_encoders", "entities_by_meaning"]
        one = LinkerConformance.entities[0][0]
        text = f"{one['label']}: {one['description']}"
        (hits,) = Neo4jEntityIndex(graph.reader, HashEmbedder(), indexes).nearest([text], limit=2)
        assert [entity["id"] for entity, _ in hits] == ["austria", "switzerland"]
        assert hits[0] == (one, pytest.approx(1, abs=1e-2))
        assert Neo4jEntityIndex(graph.reader, HashEmbedder(64), indexes).nearest([text]) == [[]], "another encoder's"


def test_suite_data_is_not_trivial() -> None:
    assert graph_data.HUB_EDGES > 1_000, "the hub must be one for the store, too"


def namesakes(database: Database) -> None:
    database.run("CREATE (:Town {name: 'Reed'})-[:NEAR]->(:Town {name: 'Silent Harbour'})")
    database.run(
        "UNWIND range(1, 3100) AS at CREATE (:Ruling {name: 'District Court of Appeal'})-[:ON]->(:Day {day: at})"
    )


def test_a_name_of_very_many_pushes_no_other_out(neo4j_server: Database) -> None:
    with neo4j_server.holding("namesakes", namesakes), Neo4jGraphStore.open(neo4j_server.spec) as store:
        many, one = store.lookup(["District Court of Appeal", "Reed"])
        assert [len(many), [match["name"] for match in one]] == [10, ["Reed"]]
        many, one = store.search(["court of appeal, district", "the Silent"])
        assert [len(many), [match["name"] for match in one]] == [10, ["Silent Harbour"]]
        many, one = store.search(["Distrct Court of Apeal", "Silnt Harbr"], fuzzy=True)
        assert [len(many), [match["name"] for match in one]] == [10, ["Silent Harbour"]]
