"""Indexes the names of a graph's entities: for equality, by words and by spelling.

The tables are made in a file beside the graph and moved over. `python -m` this module makes those of one graph, so that a large one can be
sorted at the same time.
"""

from __future__ import annotations

import gc
import json
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from thinkgraph.ingest.writers.loader import load_file
from thinkgraph.ingest.writers.rows import attach, fast_database, insert
from thinkgraph.tools.linking.names import key_label, normal_name, without_accents
from thinkgraph.tools.progress import Progress, no_progress
from thinkgraph.tools.sqlite import graph_schema as schema

_BATCH = 10_000
_INDEX_MEMORY = 32 << 20
"""Bytes of new entries that a full-text index keeps before it writes them out."""
_INDEXES = ("name_word", "name_gram")


def aliases_file(graph: Path) -> Path:
    """The file that holds the further names given for a graph's entities."""
    return graph.with_suffix(".aliases")


def names_file(graph: Path) -> Path:
    """The file in which the name tables of a graph are made."""
    return graph.with_suffix(".names")


def note_aliases(graph: Path, aliases: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Write the further names of a graph's entities, given by an id, or by a label that one entity has.

    Returns:
        The keys of `aliases` that name no entity, or several.
    """
    missing: dict[str, list[tuple[str, Sequence[str]]]] = defaultdict(list)
    owners: dict[str, list[int]] = defaultdict(list)
    with closing(fast_database(aliases_file(graph))) as db:
        db.execute("CREATE TABLE given (node INTEGER, name TEXT)")
        attach(db, "load", load_file(graph))
        db.execute("BEGIN")
        for number, (key, texts) in enumerate(aliases):
            if not number:
                db.execute("CREATE INDEX IF NOT EXISTS load.node_key ON node (key)")
            row = db.execute("SELECT id FROM load.node WHERE key = ? AND literal = 0", (key,)).fetchone()
            if row:
                db.executemany("INSERT INTO given VALUES (?, ?)", [(row[0], text) for text in texts])
            else:
                missing[normal_name(key)].append((key, texts))
        for batch in _entities(db) if missing else ():
            for node, _, label in batch:
                if (norm := normal_name(label)) in missing:
                    owners[norm].append(node)
        for norm, named in owners.items():
            if len(named) == 1:
                given = [(named[0], text) for _, texts in missing.pop(norm) for text in texts]
                db.executemany("INSERT INTO given VALUES (?, ?)", given)
        db.execute("CREATE INDEX given_node ON given (node)")
        db.execute("COMMIT")
    return [key for keys in missing.values() for key, _ in keys]


def write_names(graph: Path, progress: Progress = no_progress) -> None:
    """Make the tables, of what a `TripleLoader` and `note_aliases` wrote."""
    with closing(fast_database(names_file(graph))) as db:
        db.executescript(schema.NAME_TABLES)
        attach(db, "load", load_file(graph))
        attach(db, "aliases", aliases_file(graph))
        db.execute("BEGIN")
        done = 0
        for batch in _entities(db):
            done += len(batch)
            _add(db, batch)
            progress("names", done, None)
        for table in _INDEXES:
            # Written out in few large pieces, and put together once at the end.
            for option, value in (("hashsize", _INDEX_MEMORY), ("automerge", 0)):
                db.execute(f"INSERT INTO {table} ({table}, rank) VALUES (?, ?)", (option, value))
            for command in ("rebuild", "optimize"):
                db.execute(f"INSERT INTO {table} ({table}) VALUES (?)", (command,))
            db.execute(f"CREATE VIRTUAL TABLE temp.{table}_count USING fts5vocab(main, '{table}', 'row')")
            common = f"SELECT ?, term, doc FROM temp.{table}_count WHERE doc >= ?"
            db.execute(f"INSERT INTO common {common}", (table, schema.COMMON_NAMES))
        db.execute(schema.NAME_INDEX)
        db.execute("COMMIT")


def move_names(db: sqlite3.Connection, graph: Path) -> None:
    """Take the tables over into the open graph, which stays in a transaction."""
    db.executescript(schema.NAME_TABLES + schema.NAME_INDEX)
    attach(db, "names", names_file(graph))
    db.execute("BEGIN")
    # What a full-text index holds is in its shadow tables.
    for table in ("name", "common", *(f"{index}_{shadow}" for index in _INDEXES for shadow in ("data", "idx"))):
        db.execute(f"DELETE FROM main.{table}")
        db.execute(f"INSERT INTO main.{table} SELECT * FROM names.{table}")


def _entities(db: sqlite3.Connection) -> Iterator[list[tuple[int, str, str]]]:
    """Number, key and label of the entities, some at a time: as JSON they come out of SQLite in one piece."""
    (top,) = db.execute("SELECT max(id) FROM load.node").fetchone()
    columns = ", ".join(f"json_group_array({column})" for column in ("id", "key", "label"))
    rows = f"SELECT {columns} FROM load.node WHERE id > ? AND id <= ? AND NOT literal"
    for first in range(0, top or 0, _BATCH):
        found = map(json.loads, db.execute(rows, (first, first + _BATCH)).fetchone())
        yield [(number, key, label or key_label(key)) for number, key, label in zip(*found, strict=True)]


def _add(db: sqlite3.Connection, entities: Sequence[tuple[int, str, str]]) -> None:
    if not entities:
        return
    given: dict[int, list[str]] = defaultdict(list)
    wanted = "SELECT node, name FROM aliases.given WHERE node BETWEEN ? AND ? ORDER BY rowid"
    for node, name in db.execute(wanted, (entities[0][0], entities[-1][0])):
        given[node].append(name)
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
        for text in given.get(node, ()):
            if (alias := normal_name(text)) not in seen:
                seen.add(alias)
                rows.append((node, schema.ALIAS, alias, _bare(alias), text))
    if rows:
        insert(db, "name (node, kind, norm, bare, text)", *zip(*rows, strict=True))


def _bare(norm: str) -> str:
    """A normal name without its accents; empty where that is the name itself."""
    return "" if norm.isascii() or (bare := without_accents(norm)) == norm else bare


if __name__ == "__main__":
    gc.disable()  # millions of tuples and no circle: a tenth of the time went to looking for one
    write_names(Path(sys.argv[1]))
