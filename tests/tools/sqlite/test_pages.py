"""Flat arrays in pages, and what is said when they are damaged."""

from __future__ import annotations

import random
import sqlite3
import struct

import numpy as np
import pytest

from thinkgraph.errors import StoreError
from thinkgraph.ingest.writers.graph import GraphWriter
from thinkgraph.tools.sqlite import graph_schema, pages
from thinkgraph.tools.sqlite.graph import SqliteGraphStore
from thinkgraph.tools.sqlite.pages import PagedArray


@pytest.fixture
def db():
    db = sqlite3.connect(":memory:")
    db.executescript(graph_schema.PAGES)
    yield db
    db.close()


def fill(db: sqlite3.Connection, name: str, entries: int) -> list[tuple[int, ...]]:
    width = graph_schema.ARRAYS[name]
    numbers = np.arange(entries * width, dtype="<i4").reshape(entries, width)
    data = numbers.tobytes()
    for at in range(0, len(data), graph_schema.PAGE_BYTES):
        db.execute(f"INSERT INTO {name} VALUES (?, ?)", (at // 4056, data[at : at + graph_schema.PAGE_BYTES]))
    return [tuple(row) for row in numbers.tolist()]


@pytest.mark.parametrize("name", ["triple", "span", "inverse"])
def test_entries_and_stretches(db, monkeypatch, name):
    monkeypatch.setattr(pages, "_HELD", 3)
    rows = fill(db, name, 9_000)
    array, width = PagedArray(name), graph_schema.ARRAYS[name]
    drawn = random.Random(3)
    places = [drawn.randrange(len(rows)) for _ in range(500)]
    assert array.at(db, places) == {place: rows[place] for place in places}
    assert array.at(db, range(400, 460)) == {place: rows[place] for place in range(400, 460)}
    assert array.at(db, []) == {}
    wanted = [range(0), range(1), range(5, 9_000), range(700, 700), range(8_999, 9_000), range(1, 3_000)]
    found: dict[int, list[int]] = {}
    for number, first, numbers in array.stretches(db, wanted):
        assert first == wanted[number].start + len(found.setdefault(number, [])) // width
        found[number] += numbers.tolist()
    assert found == {n: [x for row in rows[one.start : one.stop] for x in row] for n, one in enumerate(wanted) if one}


def test_a_full_page_fills_one_leaf(db):
    fill(db, "triple", 338 * 50)
    kinds = db.execute(
        "SELECT pagetype, count(*), max(payload) FROM dbstat WHERE name = 'triple' GROUP BY 1"
    ).fetchall()
    assert dict(row[:2] for row in kinds) == {"leaf": 50, "internal": 1}


def test_left_out_pages_are_zeros_only_where_they_may_be(db):
    fill(db, "qualified", 3_000)
    db.execute("DELETE FROM qualified WHERE id = 1")
    array = PagedArray("qualified", sparse=True)
    assert array.at(db, [0, 1_500, 2_500]) == {0: (0,), 1_500: (0,), 2_500: (2_500,)}
    assert array.at(db, range(1_000, 2_100)) == {n: (0 if 1_014 <= n < 2_028 else n,) for n in range(1_000, 2_100)}
    with pytest.raises(StoreError, match="damaged"):
        PagedArray("qualified").at(db, [1_500])


@pytest.mark.parametrize("data", [b"", b"abc", b"abcd" * 3, "text", "text" * 99, None])
def test_damaged_pages(db, data):
    db.execute("CREATE TABLE other (id INTEGER PRIMARY KEY, data)")
    db.execute("INSERT INTO other VALUES (0, ?)", (data,))
    db.execute("DROP TABLE edge_out")
    db.execute("ALTER TABLE other RENAME TO edge_out")
    for places in ([5], range(20)):
        with pytest.raises(StoreError, match="damaged"):
            PagedArray("edge_out").at(db, places)
    with pytest.raises(StoreError, match="damaged"):
        list(PagedArray("edge_out").stretches(db, [range(2, 7)]))


def test_the_other_order_of_bytes(monkeypatch):
    monkeypatch.setattr(pages.sys, "byteorder", "big")
    assert pages._integers(struct.pack(">3i", 1, -2, 70_000)).tolist() == [1, -2, 70_000]


@pytest.mark.parametrize("damage", ["DELETE FROM triple", "DELETE FROM span", "DELETE FROM edge_out", "DELETE FROM inverse",
    "DELETE FROM node WHERE key = 'b'", "DELETE FROM relation", "UPDATE triple SET data = substr(data, 1, 9)"])  # fmt: skip
def test_a_damaged_graph_says_so(tmp_path, damage):
    path = tmp_path / "graph.sqlite"
    with GraphWriter(path) as writer:
        writer.add([("a", "r", "b", (), None), ("b", "r", "a", (), None), ("a", "s", "a", (), None)])
        writer.finish(meta={"name": "t", "fingerprint": "f"})
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
