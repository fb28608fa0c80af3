"""Writes `graph.sqlite` from what was loaded: triples are sorted both ways while the names are indexed."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
from typing_extensions import TypedDict

from thinkgraph.ingest.readers.files import EntityRow
from thinkgraph.ingest.writers.adjacency import write_triples
from thinkgraph.ingest.writers.loader import LoadState, TripleLoader, load_file, remove_load, rows_file
from thinkgraph.ingest.writers.names import NameWriter
from thinkgraph.ingest.writers.rows import fast_database, insert
from thinkgraph.tools.linking.names import relation_label
from thinkgraph.tools.progress import Progress, no_progress
from thinkgraph.tools.sqlite import graph_schema as schema

_TOLD_SECONDS = 0.2


class GraphCounts(TypedDict):
    """What a finished graph holds and what was left out while it was made."""

    entities: int
    literals: int
    triples: int
    relations: int
    duplicates: int
    """Rows equal to another one in subject, relation, object and qualifiers."""
    literal_relations: list[str]
    """Relations whose values were found to be literals."""
    entities_without_triples: int


def write_names_only(path: Path, labels: Mapping[str, str], aliases: Mapping[str, Sequence[str]]) -> None:
    """Write a graph without triples, in which `SqliteGraphStore` finds entities of a graph that lies elsewhere by name.

    Args:
        path: the new file.
        labels: the label of each entity, by its id.
        aliases: further names, by id.
    """
    try:
        with TripleLoader(path) as loader:
            loader.describe(EntityRow(0, id_, label, "", "") for id_, label in labels.items())
            state = loader.finish(detect_literals=False)
        write_graph(path, state, meta={"name": "names", "fingerprint": "names"}, aliases=aliases)
    finally:
        remove_load(path)


def write_graph(
    path: Path,
    state: LoadState,
    *,
    meta: Mapping[str, str],
    aliases: Mapping[str, Sequence[str]],
    progress: Progress = no_progress,
) -> tuple[GraphCounts, list[str]]:
    """Make the graph `path` from what a `TripleLoader` wrote for it, whose files stay: a failure can be mended.

    Args:
        path: the new file. Nothing in it is durable until this returns.
        state: what the load left.
        meta: name and fingerprint of the graph, kept in it.
        aliases: further names by entity (its id, or its label where only one entity has it).
        progress: told how far the work is.

    Returns:
        The counts, and the keys of `aliases` that name no entity.
    """
    with ExitStack() as stack:
        db = stack.enter_context(closing(fast_database(path)))
        db.executescript(schema.TABLES)
        db.execute("ATTACH ? AS load", (str(load_file(path)),))
        names = stack.enter_context(NameWriter(path, load_file(path), aliases=aliases, progress=progress))
        worker = stack.enter_context(ThreadPoolExecutor(1))
        work = _Work()
        stack.callback(work.stop.set)
        # Both threads spend most of their time in NumPy and SQLite, which run side by side.
        sorting = worker.submit(_write_tables, db, path, work.told)
        progress("sorting", 0, 2 * state["rows"])
        names.write()
        while not wait([sorting], _TOLD_SECONDS).done:
            progress("sorting", work.done, 2 * state["rows"])
        sorting.result()
        names.move(db)
        counts = _counts(db, state)
        progress("nodes", counts["entities"] + counts["literals"], None)
        db.executemany("INSERT INTO meta VALUES (?, ?)", _meta(db, meta, counts).items())
        db.execute("COMMIT")
    return counts, names.unknown


class _Stopped(Exception):  # noqa: N818 (no error: the other thread has failed)
    """Raised in the sorting thread when its result is not wanted any more."""


class _Work:
    """How far the sorting thread is, and whether it should go on."""

    def __init__(self) -> None:
        self.done = 0
        self.stop = threading.Event()

    def told(self, done: int) -> None:
        self.done = done
        if self.stop.is_set():
            raise _Stopped


def _write_tables(db: sqlite3.Connection, path: Path, told: Callable[[int], None]) -> None:
    """Write all that is no index of names."""
    (top,) = db.execute("SELECT coalesce(max(id), 0) FROM load.node").fetchone()
    relations = db.execute("SELECT id, name, label FROM load.relation ORDER BY id").fetchall()
    db.execute("BEGIN")
    degree, uses = write_triples(db, rows_file(path), nodes=top, relations=len(relations), told=told)
    db.execute("CREATE TEMP TABLE degree (node INTEGER PRIMARY KEY, triples INTEGER)")
    insert(db, "temp.degree", np.arange(top + 1), degree)
    db.execute(
        "INSERT INTO node SELECT id, key, literal, label, type, description, triples "
        "FROM load.node CROSS JOIN temp.degree ON node = id"
    )
    db.execute(schema.NODE_INDEX)
    rows = []
    for number, name, given in relations:
        label = given or relation_label(name)
        known = {name.lower(), label.lower()}
        typing = 1 if known & schema.TYPING_RELATIONS else -1 if known & schema.SAMENESS_RELATIONS else 0
        rows.append((number, name, label, int(uses[number]), typing))
    if rows:
        insert(db, "relation", *zip(*rows, strict=True))
    db.execute(schema.RELATION_INDEX)
    db.execute("INSERT INTO qualifier SELECT id, pairs FROM load.qualifier")
    db.execute("COMMIT")


def _counts(db: sqlite3.Connection, state: LoadState) -> GraphCounts:
    def count(what: str) -> int:
        return int(db.execute(f"SELECT count(*) FROM {what}").fetchone()[0])

    literals, triples = count("node WHERE literal"), count("triple")
    return {
        "entities": count("node") - literals,
        "literals": literals,
        "triples": triples,
        "relations": count("relation WHERE triples > 0"),
        "duplicates": state["rows"] - triples,
        "literal_relations": state["literal_relations"],
        "entities_without_triples": count("node WHERE triples = 0"),
    }


def _meta(db: sqlite3.Connection, meta: Mapping[str, str], counts: GraphCounts) -> dict[str, str]:
    prefix = schema.LITERAL_PREFIX
    taken = "SELECT 1 FROM node WHERE literal = 0 AND key >= ? AND key < ? LIMIT 1"
    while db.execute(taken, (prefix, prefix + "\U0010ffff")).fetchone():
        prefix = schema.LITERAL_PREFIX + prefix
    kept = {key: str(counts[key]) for key in ("entities", "literals", "triples", "relations")}
    return {**meta, "format": str(schema.GRAPH_FORMAT), "literal_prefix": prefix, **kept}
