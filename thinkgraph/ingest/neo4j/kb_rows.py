"""Reads a knowledge base folder row by row, in an order that a stopped export can go on in."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from thinkgraph.tools import kb_files
from thinkgraph.tools.linking.names import key_label
from thinkgraph.tools.sqlite.file import ReadOnlyFile
from thinkgraph.tools.sqlite.graph_schema import ALIAS
from thinkgraph.tools.sqlite.text_schema import VECTOR_TYPE

# The limit, which is none, keeps SQLite from dropping the inner order.
_TRIPLES = """
SELECT t.relation, t.id, s.key, r.name, o.key, o.literal, q.pairs FROM (
    SELECT id FROM triple WHERE (relation, id) > (?, ?) ORDER BY relation, id LIMIT -1
) i CROSS JOIN triple t ON t.id = i.id
CROSS JOIN node s ON s.id = t.subject CROSS JOIN relation r ON r.id = t.relation CROSS JOIN node o ON o.id = t.object
LEFT JOIN qualifier q ON q.id = t.qualifiers
"""


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


class EncodedPassage(NamedTuple):
    """One passage, with its vector if it has exactly one."""

    number: int
    id: str
    title: str
    section: str
    text: str
    entities: list[str]
    vector: list[float] | None


class KbRows(AbstractContextManager["KbRows"]):
    """The rows of a knowledge base folder. Close it, or use it as a context manager.

    Raises:
        KnowledgeError: there is no knowledge base, or it is damaged.
    """

    def __init__(self, folder: Path) -> None:
        """Open the folder's files."""
        self.manifest = kb_files.read_manifest(folder)
        self._graph = ReadOnlyFile(folder / kb_files.GRAPH)
        self._text = ReadOnlyFile(folder / kb_files.TEXT) if kb_files.TEXT in self.manifest["files"] else None

    def __exit__(self, *_error: object) -> None:
        self.close()

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
            sql = (
                "SELECT coalesce(max(length(CAST(iif(label = '', key, label) AS BLOB))), 0) FROM node WHERE literal = 0"
            )
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
                yield NodeRow(number, key, shown, kind, description, aliases.get(number, []))

    def triples(self, *, after: tuple[int, int] = (0, 0)) -> Iterator[TripleRow]:
        """All triples, relation by relation."""
        with self._graph.connection() as db:
            for relation, number, subject, name, obj, literal, pairs in db.execute(_TRIPLES, after):
                qualifiers = json.loads(pairs) if pairs else []
                yield TripleRow((relation, number), subject, name, obj, bool(literal), qualifiers)

    def passages(self, *, after: int = 0) -> Iterator[EncodedPassage]:
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
                yield EncodedPassage(no, id_, title, section, text, json.loads(entities), vector)

    def dimensions(self) -> int:
        """Length of the passages' vectors; 0 where there are none."""
        if self._text is None:
            return 0
        with self._text.connection() as db:
            return int(_meta(db).get("dimensions", 0))


def _meta(db: sqlite3.Connection) -> dict[str, str]:
    return dict(db.execute("SELECT key, value FROM meta"))
