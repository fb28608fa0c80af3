"""Indexes the names of a graph's entities: for equality, by words and by spelling."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from thinkgraph.ingest.writers.rows import fast_database, insert
from thinkgraph.tools.linking.names import key_label, normal_name, without_accents
from thinkgraph.tools.progress import Progress
from thinkgraph.tools.sqlite import graph_schema as schema

_BATCH = 10_000
_INDEX_MEMORY = 32 << 20
"""Bytes of new entries that a full-text index keeps before it writes them out."""
_INDEXES = ("name_word", "name_gram")


class NameWriter(AbstractContextManager["NameWriter"]):
    """Makes the name tables of a graph in a file of their own, and moves them over. Use as a context manager."""

    def __init__(self, graph: Path, load: Path, *, aliases: Mapping[str, Sequence[str]], progress: Progress) -> None:
        """Index the entities in the file `load` (see `TripleLoader`)."""
        self._path = graph.with_suffix(".names")
        self._progress = progress
        self._db = fast_database(self._path)
        self._db.execute("ATTACH ? AS load", (str(load),))
        self._aliases: dict[int, list[str]] = {}
        self.unknown: list[str] = []
        """The keys of `aliases` that name no entity, or several."""
        if aliases:
            self._db.execute("CREATE INDEX IF NOT EXISTS load.node_key ON node (key)")
            self._resolve(aliases)

    def __exit__(self, *_: object) -> None:
        self._db.close()
        self._path.unlink(missing_ok=True)

    def write(self) -> None:
        """Make the tables."""
        self._db.executescript(schema.NAME_TABLES)
        self._db.execute("BEGIN")
        done = 0
        for batch in self._entities():
            done += len(batch)
            self._add(batch)
            self._progress("names", done, None)
        for table in _INDEXES:
            # Written out in few large pieces, and put together once at the end.
            for option, value in (("hashsize", _INDEX_MEMORY), ("automerge", 0)):
                self._db.execute(f"INSERT INTO {table} ({table}, rank) VALUES (?, ?)", (option, value))
            for command in ("rebuild", "optimize"):
                self._db.execute(f"INSERT INTO {table} ({table}) VALUES (?)", (command,))
            self._db.execute(f"CREATE VIRTUAL TABLE temp.{table}_count USING fts5vocab(main, '{table}', 'row')")
            common = f"SELECT ?, term, doc FROM temp.{table}_count WHERE doc >= ?"
            self._db.execute(f"INSERT INTO common {common}", (table, schema.COMMON_NAMES))
        self._db.execute(schema.NAME_INDEX)
        self._db.execute("COMMIT")

    def move(self, graph: sqlite3.Connection) -> None:
        """Take the tables over into the graph."""
        self._db.close()
        graph.executescript(schema.NAME_TABLES + schema.NAME_INDEX)
        graph.execute("ATTACH ? AS names", (str(self._path),))
        graph.execute("BEGIN")
        # What a full-text index holds is in its shadow tables.
        for table in ("name", "common", *(f"{index}_{shadow}" for index in _INDEXES for shadow in ("data", "idx"))):
            graph.execute(f"DELETE FROM main.{table}")
            graph.execute(f"INSERT INTO main.{table} SELECT * FROM names.{table}")

    def _entities(self) -> Iterator[list[tuple[int, str, str]]]:
        """Number, key and label of the entities, some at a time: SQLite gives up Python's lock once for each batch."""
        (top,) = self._db.execute("SELECT max(id) FROM load.node").fetchone()
        columns = ", ".join(f"json_group_array({column})" for column in ("id", "key", "label"))
        rows = f"SELECT {columns} FROM load.node WHERE id > ? AND id <= ? AND NOT literal"
        for first in range(0, top or 0, _BATCH):
            found = map(json.loads, self._db.execute(rows, (first, first + _BATCH)).fetchone())
            yield [(number, key, label or key_label(key)) for number, key, label in zip(*found, strict=True)]

    def _add(self, entities: Sequence[tuple[int, str, str]]) -> None:
        rows: list[tuple[int, int, str, str, str]] = []
        for node, key, label in entities:
            norm = normal_name(label)
            own = norm if key == label else normal_name(key)
            if norm:
                rows.append((node, schema.LABEL, norm, _bare(norm), ""))
            # An opaque key ("Q64") is found by equality only; a readable one shares its words with the label.
            if own and own != norm:
                rows.append((node, schema.KEY, own, "", ""))
            seen = {"", norm, own}
            for text in self._aliases.get(node, ()):
                if (alias := normal_name(text)) not in seen:
                    seen.add(alias)
                    rows.append((node, schema.ALIAS, alias, _bare(alias), text))
        if rows:
            insert(self._db, "name (node, kind, norm, bare, text)", *zip(*rows, strict=True))

    def _resolve(self, aliases: Mapping[str, Sequence[str]]) -> None:
        """Find whose the aliases are. A key is an id, or a label that one entity has."""
        missing: dict[str, str] = {}
        for key, texts in aliases.items():
            row = self._db.execute("SELECT id FROM load.node WHERE key = ? AND literal = 0", (key,)).fetchone()
            if row is None:
                missing[normal_name(key)] = key
            else:
                self._aliases.setdefault(row[0], []).extend(texts)
        owners: dict[str, list[int]] = {}
        for batch in self._entities() if missing else ():
            for number, _, label in batch:
                if (norm := normal_name(label)) in missing:
                    owners.setdefault(norm, []).append(number)
        for norm, named in owners.items():
            if len(named) == 1:
                self._aliases.setdefault(named[0], []).extend(aliases[missing.pop(norm)])
        self.unknown = list(missing.values())


def _bare(norm: str) -> str:
    """A normal name without its accents; empty where that is the name itself."""
    return "" if norm.isascii() or (bare := without_accents(norm)) == norm else bare
