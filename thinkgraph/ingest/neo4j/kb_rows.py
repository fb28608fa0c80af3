"""Reads a knowledge base folder row by row, in an order that a stopped export can go on in."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thinkgraph.closing import Closing
from thinkgraph.tools import kb_files
from thinkgraph.tools.linking.names import key_label
from thinkgraph.tools.sqlite.file import ReadOnlyFile
from thinkgraph.tools.sqlite.graph_schema import ALIAS, ARRAYS
from thinkgraph.tools.sqlite.pages import PagedArray
from thinkgraph.tools.sqlite.text_schema import VECTOR_TYPE


class NodeRow(NamedTuple):
    """An entity or a literal."""

    number: int
    key: str
    """The entity's id, or the literal's value."""
    label: str
    type: str
    description: str
    aliases: list[str]


class TripleRow(NamedTuple):
    """One statement; the relation is the same for a long stretch of rows."""

    place: tuple[int, int]
    """Where to go on after it."""
    subject: str
    relation: str
    object: str
    literal: bool
    qualifiers: list[list[str]]


class PassageRow(NamedTuple):
    """One passage, with its vector if it has exactly one."""

    number: int
    id: str
    title: str
    section: str
    text: str
    entities: list[str]
    vector: list[float] | None


class KbRows(Closing):
    """The rows of a knowledge base folder. Close it, or use it as a context manager.

    Raises:
        KnowledgeError: there is no knowledge base, or it is damaged.
    """

    def __init__(self, folder: Path) -> None:
        """Open the folder's files."""
        self.manifest = kb_files.read_manifest(folder)
        self._graph = ReadOnlyFile(folder / kb_files.GRAPH)
        self._text = ReadOnlyFile(folder / kb_files.TEXT) if kb_files.TEXT in self.manifest["files"] else None

    def close(self) -> None:
        """Close the files."""
        self._graph.close()
        if self._text:
            self._text.close()

    @property
    def passages_count(self) -> int:
        """How many passages there are."""
        return self.manifest["text"]["passages"] if self.manifest["text"] else 0

    def relations(self) -> list[tuple[str, str]]:
        """Name and label of every relation that has triples, by name."""
        with self._graph.connection() as db:
            return db.execute("SELECT name, label FROM relation WHERE triples > 0 ORDER BY name").fetchall()

    def longest_name(self) -> int:
        """Length of the longest label of an entity, in bytes."""
        with self._graph.connection() as db:
            sql = "SELECT coalesce(max(length(CAST(coalesce(label, key) AS BLOB))), 0) FROM node WHERE literal = 0"
            ((length,),) = db.execute(sql).fetchall()
        return int(length)

    def nodes(self, *, literal: bool, after: int = 0) -> Iterator[NodeRow]:
        """Entities, or literals, in the order of their numbers."""
        aliases: dict[int, list[str]] = {}
        with self._graph.connection() as db:
            if not literal:
                for node, text in db.execute("SELECT node, text FROM name WHERE kind = ? ORDER BY id", (ALIAS,)):
                    aliases.setdefault(node, []).append(text)
            sql = "SELECT id, key, label, type, description FROM node WHERE literal = ? AND id > ? ORDER BY id"
            for number, key, label, kind, description in db.execute(sql, (int(literal), after)):
                shown = label or (key if literal else key_label(key))
                yield NodeRow(number, key, shown, kind or "", description or "", aliases.get(number, []))

    def triples(self, *, after: tuple[int, int] = (0, 0)) -> Iterator[TripleRow]:
        """All triples, relation by relation. Their numbers are held in memory, 12 bytes a triple."""
        with self._graph.connection() as db:
            rows = _array(db, "triple")
            relations = dict(db.execute("SELECT id, name FROM relation").fetchall())
            order = np.argsort(rows[:, 1], kind="stable")
            # A triple's number is its place, counted from 1.
            later = (rows[order, 1] > after[0]) | ((rows[order, 1] == after[0]) & (order + 1 > after[1]))
            order = order[later]
            for at in range(0, len(order), _BATCH):
                places = order[at : at + _BATCH]
                ends = rows[places]
                nodes = _nodes(db, np.unique(ends[:, (0, 2)]).tolist())
                qualifiers = _qualifiers(db, places.tolist())
                for place, (s, r, o) in zip(places.tolist(), ends.tolist(), strict=True):
                    key, literal = nodes[o]
                    pairs = qualifiers.get(place, [])
                    yield TripleRow((r, place + 1), nodes[s][0], relations[r], key, bool(literal), pairs)

    def passages(self, *, after: int = 0) -> Iterator[PassageRow]:
        """All passages, in the order of their numbers."""
        if self._text is None:
            return
        with self._text.connection() as db:
            size = int(_meta(db).get("dimensions", 0)) * np.dtype(VECTOR_TYPE).itemsize
            sql = (
                "SELECT p.no, p.id, p.title, p.section, p.text, p.entities, v.vector "
                "FROM passages p LEFT JOIN vectors v ON v.passage = p.no WHERE p.no > ? ORDER BY p.no"
            )
            for no, id_, title, section, text, entities, blob in db.execute(sql, (after,)):
                single = blob is not None and len(blob) == size
                vector = np.frombuffer(blob, VECTOR_TYPE).astype(np.float32).tolist() if single else None
                yield PassageRow(no, id_, title, section, text, json.loads(entities), vector)

    def dimensions(self) -> int:
        """Length of the passages' vectors; 0 where there are none."""
        if self._text is None:
            return 0
        with self._text.connection() as db:
            return int(_meta(db).get("dimensions", 0))


_BATCH = 20_000


def _array(db: sqlite3.Connection, name: str) -> npt.NDArray[np.int32]:
    """A whole array of `graph.sqlite`, shape (entries, integers of one entry)."""
    data = b"".join(page for (page,) in db.execute(f"SELECT data FROM {name} ORDER BY id"))
    return np.frombuffer(data, "<i4").reshape(-1, ARRAYS[name])


def _nodes(db: sqlite3.Connection, numbers: list[int]) -> dict[int, tuple[str, int]]:
    sql = "SELECT n.id, n.key, n.literal FROM json_each(?) j CROSS JOIN node n ON n.id = j.value"
    return {number: (key, literal) for number, key, literal in db.execute(sql, (json.dumps(numbers),))}


def _qualifiers(db: sqlite3.Connection, places: list[int]) -> dict[int, list[list[str]]]:
    """Qualifiers by place, of the triples that have any."""
    sets = {
        place: number
        for place, (number,) in PagedArray("qualified", sparse=True).at(db, sorted(places)).items()
        if number
    }
    sql = "SELECT q.id, q.pairs FROM json_each(?) j CROSS JOIN qualifier q ON q.id = j.value"
    pairs = dict(db.execute(sql, (json.dumps(sorted(set(sets.values()))),)).fetchall())
    return {place: json.loads(pairs[number]) for place, number in sets.items()}


def _meta(db: sqlite3.Connection) -> dict[str, str]:
    return dict(db.execute("SELECT key, value FROM meta"))
