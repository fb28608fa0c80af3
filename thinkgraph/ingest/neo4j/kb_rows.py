"""Reads a knowledge base folder row by row, in the form that `form` describes and always in the same order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from thinkgraph.ingest.neo4j import form
from thinkgraph.tools import kb_files
from thinkgraph.tools.linking.names import key_label
from thinkgraph.tools.sqlite.encodings import stored_vectors
from thinkgraph.tools.sqlite.file import ReadOnlyFile
from thinkgraph.tools.sqlite.graph_schema import ALIAS

# The limit, which is none, keeps SQLite from dropping the inner order.
_TRIPLES = """
SELECT s.key, r.name, o.key, o.literal, q.pairs FROM (
    SELECT id FROM triple ORDER BY relation, id LIMIT -1
) i CROSS JOIN triple t ON t.id = i.id
CROSS JOIN node s ON s.id = t.subject CROSS JOIN relation r ON r.id = t.relation CROSS JOIN node o ON o.id = t.object
LEFT JOIN qualifier q ON q.id = t.qualifiers
"""
_LONGEST_NAME = "SELECT coalesce(max(length(CAST(iif(label = '', key, label) AS BLOB))), 0) FROM node WHERE literal = 0"
_PASSAGES = "SELECT no, id, title, section, text, entities FROM passages ORDER BY no"
_BATCH = 500

Properties = dict[str, Any]
"""Of a node; those without a value are left out."""


class TripleRow(NamedTuple):
    """One statement; its ends are `id`s of nodes."""

    subject: str
    relation: str
    object: str
    literal: bool
    qualifiers: dict[str, str | list[str]]


class KbRows(AbstractContextManager["KbRows"]):
    """The rows of a knowledge base folder: a context manager.

    Raises:
        KnowledgeError: there is no knowledge base, it is damaged, or Neo4j cannot have its relations as types.
    """

    def __init__(self, folder: Path) -> None:
        """Open the folder's files."""
        self.manifest = kb_files.read_manifest(folder)
        self._graph = ReadOnlyFile(folder / kb_files.GRAPH)
        self._text = ReadOnlyFile(folder / kb_files.TEXT) if kb_files.TEXT in self.manifest["files"] else None
        self.passages_count = self.manifest["text"]["passages"] if self.manifest["text"] else 0
        self.dimensions = 0
        """Length of the passages' vectors; 0 where not all are made: an index over some would hide the others."""
        if self._text:
            with stored_vectors(self._text.path) as (db, vectors):
                first = vectors.read(db, [1]) if vectors.whole else {}
                self.dimensions = first[1].shape[1] if first else 0
        with self._graph.connection() as db:
            ((longest,),) = db.execute(_LONGEST_NAME).fetchall()
            relations = db.execute("SELECT name, label FROM relation WHERE triples > 0 ORDER BY name").fetchall()
        self.indexes = form.indexes(self.dimensions, int(longest))
        form.check_relations([name for name, _ in relations])
        self.about = form.about_type(name for name, _ in relations)
        """The type that leads from passages to entities."""
        self.relation_types = form.relation_types(relations)

    def __exit__(self, *_error: object) -> None:
        self._graph.close()
        if self._text:
            self._text.close()

    def nodes(self, *, literal: bool) -> Iterator[Properties]:
        """Entities, or literals, in the order of their numbers."""
        aliases: dict[int, list[str]] = {}
        with self._graph.connection() as db:
            if not literal:
                for node, text in db.execute("SELECT node, text FROM name WHERE kind = ? ORDER BY id", (ALIAS,)):
                    aliases.setdefault(node, []).append(text)
            sql = "SELECT id, key, label, type, description FROM node WHERE literal = ? ORDER BY id"
            for number, key, label, kind, description in db.execute(sql, (int(literal),)):
                own: Properties = {"value": key}
                if not literal:
                    own = {"name": label or key_label(key), "type": kind, "description": description}
                    own["aliases"] = aliases.get(number)
                yield {"id": form.stored_id(key), **{name: value for name, value in own.items() if value}}

    def triples(self) -> Iterator[TripleRow]:
        """All triples, relation by relation."""
        with self._graph.connection() as db:
            for subject, name, obj, literal, pairs in db.execute(_TRIPLES):
                qualifiers = form.qualifier_values(json.loads(pairs) if pairs else [])
                yield TripleRow(form.stored_id(subject), name, form.stored_id(obj), bool(literal), qualifiers)

    def passages(self) -> Iterator[tuple[Properties, list[str]]]:
        """All passages, each with its vector if it has exactly one, and with the ids of its entities."""
        if self._text is None:
            return
        with stored_vectors(self._text.path) as (db, vectors):
            rows = db.execute(_PASSAGES)
            while some := rows.fetchmany(_BATCH):
                made = vectors.read(db, [number for number, *_ in some]) if self.dimensions else {}
                for number, id_, title, section, text, entities in some:
                    own: Properties = {"title": title, "section": section, "text": text}
                    if number in made and len(made[number]) == 1:
                        own[form.VECTOR] = made[number][0].astype(np.float32).tolist()
                    kept = {name: value for name, value in own.items() if value}
                    yield {"id": id_, **kept}, [form.stored_id(entity) for entity in json.loads(entities)]
