from __future__ import annotations

import json
import os
import shutil
import sqlite3
import threading
from pathlib import Path

import pytest
from built_graph import built_graph

from thinkgraph.errors import KnowledgeError, StoreError
from thinkgraph.ingest.readers.files import EntityRow, in_batches, read_triples
from thinkgraph.ingest.readers.rejects import Rejects
from thinkgraph.testing.conformance import graph_data
from thinkgraph.testing.conformance.graph import GraphStoreConformance
from thinkgraph.tools.sqlite import graph_schema as schema
from thinkgraph.tools.sqlite.graph import SqliteGraphStore


def build(path: Path, rows, **options) -> Path:
    full = [(*row[:3], row[3] if len(row) > 3 else (), row[4] if len(row) > 4 else None) for row in rows]
    built_graph(path, in_batches(full), **options)
    return path


@pytest.fixture(scope="module")
def suite_graph(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("suite")
    source = folder / "triples.jsonl"
    with source.open("w") as out:
        for s in graph_data.STATEMENTS:
            row = {"s": s.subject, "p": s.relation, "o": s.object, "qualifiers": s.qualifiers, "literal": s.literal}
            out.write(json.dumps(row) + "\n")
    rejects = Rejects()
    _, unknown = built_graph(
        folder / "graph.sqlite",
        read_triples(source, rejects),
        detect_literals=False,
        entities=[EntityRow(key, label, "", "") for key, label in graph_data.LABELS.items()],
        aliases=graph_data.ALIASES,
    )
    assert not rejects.counts
    assert not unknown
    return folder / "graph.sqlite"


class TestConformance(GraphStoreConformance):
    @pytest.fixture
    def store(self, suite_graph):
        self.path = suite_graph
        with SqliteGraphStore(suite_graph) as store:
            yield store

    def snapshot(self) -> object:
        content = {path.name: path.read_bytes() for path in self.path.parent.iterdir()}
        return content, self.path.stat().st_mtime_ns


def test_read_only_folder_and_copy(suite_graph, tmp_path):
    folder = tmp_path / "a folder with % and ? and #"
    folder.mkdir()
    shutil.copy(suite_graph, folder / "graph.sqlite")
    (folder / "graph.sqlite").chmod(0o400)
    folder.chmod(0o500)
    try:
        with SqliteGraphStore(folder / "graph.sqlite") as store:
            assert store.lookup(["Paris"])[0][0]["entity"]["id"] == "Paris"
        assert [path.name for path in folder.iterdir()] == ["graph.sqlite"]
    finally:
        folder.chmod(0o700)


def test_closed_store_refuses(suite_graph):
    store = SqliteGraphStore(suite_graph)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.entities(["Paris"])


def test_unclosed_store_gives_no_warning(suite_graph):
    SqliteGraphStore(suite_graph).entities(["Paris"])


def test_connections_are_shared_by_threads_that_come_and_go(suite_graph):
    with SqliteGraphStore(suite_graph) as store:
        for _ in range(50):
            thread = threading.Thread(target=store.relations, args=(["Paris"],))
            thread.start()
            thread.join()
        assert len(store._file._idle) == 1


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_gets_its_own_connection(suite_graph):
    with SqliteGraphStore(suite_graph) as store:
        store.entities(["Paris"])
        child = os.fork()
        if child == 0:
            os._exit(0 if store.entities(["Paris"])[0] else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert store.entities(["Paris"])[0]


@pytest.mark.parametrize("content", [b"", b"not a database at all, but long enough " * 50])
def test_no_graph(tmp_path, content):
    path = tmp_path / "graph.sqlite"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="graph\\.sqlite"):
        SqliteGraphStore(path)


def test_missing_and_truncated(suite_graph, tmp_path):
    with pytest.raises(KnowledgeError, match="no file"):
        SqliteGraphStore(tmp_path / "graph.sqlite")
    short = tmp_path / "short.sqlite"
    short.write_bytes(suite_graph.read_bytes()[: 3 * 4096])

    def read() -> None:
        with SqliteGraphStore(short) as store:
            store.neighbourhood(["Paris", graph_data.HUB])
            store.lookup(["Paris"])

    with pytest.raises(StoreError, match="again"):
        read()


@pytest.mark.parametrize(
    ("version", "advice"),
    [("0", "build it again"), ("1", "build it again with `thinkgraph kb build`"), ("99", "update thinkgraph")],
)
def test_other_format(tmp_path, version, advice):
    path = build(tmp_path / "g.sqlite", [("a", "r", "b")])
    db = sqlite3.connect(path)
    with db:
        db.execute("UPDATE meta SET value = ? WHERE name = 'format'", (version,))
    db.close()
    with pytest.raises(KnowledgeError, match=advice):
        SqliteGraphStore(path)


def test_large_files_are_not_mapped(suite_graph, monkeypatch):
    with SqliteGraphStore(suite_graph) as store:
        mapped = store.neighbourhood(["Paris", graph_data.HUB]), store.relations(["Paris"]), store.search(["Paris"])
    monkeypatch.setattr(schema, "MAPPED_BYTES", 1_000)
    with SqliteGraphStore(suite_graph) as store:
        found = store.neighbourhood(["Paris", graph_data.HUB]), store.relations(["Paris"]), store.search(["Paris"])
        with store._file.connection() as db:
            assert db.execute("PRAGMA mmap_size").fetchone() == (0,)
    assert found == mapped


def test_datatypes_of_literals(tmp_path):
    rows = [
        ("a", "r", "5", (), ""),
        ("b", "r", "5", (), "integer"),
        ("c", "r", "5", (), "float"),
        ("d", "r", "x", (), "en"),
    ]
    with SqliteGraphStore(build(tmp_path / "g.sqlite", rows)) as store:
        ends = [one["triples"][0]["object"] for one in store.neighbourhood(["a", "d"])]
        assert [one["type"] for one in store.entities(ends)] == ["integer", "en"]


@pytest.mark.parametrize("entities", [[], [EntityRow("a", "Ay", "kind", ""), EntityRow("c", "", "", "text")]])
def test_a_graph_without_triples(tmp_path, entities):
    with SqliteGraphStore(build(tmp_path / "g.sqlite", [], entities=entities)) as store:
        assert store.info()["triples"] == 0
        assert [one and one["label"] for one in store.entities(["a", "c"])] == (["Ay", "c"] if entities else [None] * 2)
        assert store.relations(["a"]) == [[]]
        assert store.neighbourhood(["a", "c"]) == [{"triples": [], "total": 0}] * 2
        assert store.edges_among(["a", "c"]) == []
        assert store.triples(["t0", "t1"]) == [None, None]
        assert len(store.lookup(["ay"])[0]) == len(store.search(["ay"])[0]) == bool(entities)
        assert store.most_linked(5) == ["a", "c"] * bool(entities)


def test_literal_ids_never_collide(tmp_path):
    rows = [("x", "r", "5", (), ""), ("literal:5", "r", "literal:literal:5"), ("5", "is", "five")]
    with SqliteGraphStore(build(tmp_path / "g.sqlite", rows)) as store:
        five, entity, other = store.neighbourhood(["x", "literal:5", "5"])
        literal = five["triples"][0]["object"]
        assert literal not in {"5", "literal:5", "literal:literal:5"}
        assert five["triples"][0]["literal"]
        assert not entity["triples"][0]["literal"]
        assert other["total"] == 1
        found = store.entities([literal, "literal:5", "5"])
        assert [one["literal"] for one in found] == [True, False, False]
        assert [one["label"] for one in found] == ["5", "literal:5", "5"]


def test_descriptions_tell_namesakes_apart(tmp_path):
    rows = [
        ("j1", "instance_of", "city"), ("j1", "country", "Russia"), ("j2", "country", "USA"), ("j2", "instance_of", "moon"),
        ("j1", "same as", "j2"), ("film", "directed_by", "bo"), ("film two", "directed_by", "bo"),
    ]  # fmt: skip
    path = build(
        tmp_path / "g.sqlite", rows, entities=[EntityRow("j1", "J", "", "given"), EntityRow("j2", "J", "", "")]
    )
    with SqliteGraphStore(path) as store:
        one, two, bo = store.entities(["j1", "j2", "bo"])
        assert (one["type"], one["description"]) == ("city", "given")
        assert (two["type"], two["description"]) == ("moon", "moon; country: USA")
        assert bo["description"] == "directed by of film …"


def test_many_loops_and_parallel_edges(tmp_path):
    rows = [("a", f"r{i}", "a", (("k", str(j)),)) for i in range(20) for j in range(5)]
    rows += [("a", "x", "b"), ("b", "x", "a"), ("c", "x", "a")]
    with SqliteGraphStore(build(tmp_path / "g.sqlite", rows)) as store:
        (found,) = store.neighbourhood(["a"], limit=1000)
        assert found["total"] == len(found["triples"]) == len({t["id"] for t in found["triples"]}) == 103
        sizes = [len({t["id"] for t in store.neighbourhood(["a"], limit=n)[0]["triples"]}) for n in range(104)]
        assert sizes == list(range(104))


def test_hub_pairs_in_edges_among(tmp_path):
    rows = [("hub", "r", f"n{i}") for i in range(2_500)] + [("hub", "r", "hub2"), ("hub2", "r", "hub")]
    with SqliteGraphStore(build(tmp_path / "g.sqlite", rows)) as store:
        assert len(store.edges_among(["hub", "hub2"])) == 2
        assert len(store.edges_among(["hub", "n7", "n8"])) == 2
        assert len(store.edges_among(["hub", *(f"n{i}" for i in range(2_500))], limit=100)) == 100


@pytest.mark.parametrize("damage", ["DELETE FROM triple", "DELETE FROM edge", "DELETE FROM inverse", "DELETE FROM relation",
    "DELETE FROM node WHERE key = 'b'", "DELETE FROM triple WHERE id = 2"])  # fmt: skip
def test_a_damaged_graph_says_so(tmp_path, damage):
    path = tmp_path / "graph.sqlite"
    build(path, [("a", "r", "b"), ("b", "r", "a"), ("a", "s", "a")])
    db = sqlite3.connect(path)
    with db:
        db.execute(damage)
    db.close()

    def read() -> None:
        with SqliteGraphStore(path) as store:
            store.relations(["a"])
            store.neighbourhood(["a"])

    with pytest.raises(StoreError, match="damaged") as caught:
        read()
    assert "\n" not in str(caught.value)
