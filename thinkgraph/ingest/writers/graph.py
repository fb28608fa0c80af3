"""Writes `graph.sqlite` from what was loaded."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from subprocess import DEVNULL, Popen

import numpy as np

from thinkgraph.ingest.readers.files import EntityRow
from thinkgraph.ingest.writers.adjacency import write_triples
from thinkgraph.ingest.writers.loader import LoadState, TripleLoader, load_file, remove_load, rows_file
from thinkgraph.ingest.writers.names import aliases_file, move_names, names_file, note_aliases, write_names
from thinkgraph.ingest.writers.rows import attach, fast_database, insert
from thinkgraph.tools.kb_files import StatementCounts
from thinkgraph.tools.linking.names import relation_label
from thinkgraph.tools.progress import Progress, no_progress
from thinkgraph.tools.sqlite import graph_schema as schema

LARGE = 1_000_000
"""Triples from which on the names are indexed while the triples are sorted."""


class GraphCounts(StatementCounts):
    """What a finished graph holds and what was left out while it was made."""

    literal_relations: list[str]
    """Relations whose values were found to be literals."""


def write_names_only(path: Path, labels: Mapping[str, str], aliases: Mapping[str, Sequence[str]]) -> None:
    """Write a graph without triples, in which `SqliteGraphStore` finds entities of a graph that lies elsewhere by name.

    Labels and further names are by the entities' ids.
    """
    try:
        with TripleLoader(path) as loader:
            loader.describe(EntityRow(id_, label, "", "") for id_, label in labels.items())
            state = loader.finish(detect_literals=False)
        write_graph(path, state, meta={"name": "names", "fingerprint": "names"}, aliases=aliases.items())
    finally:
        remove_load(path)


def write_graph(
    path: Path,
    state: LoadState,
    *,
    meta: Mapping[str, str],
    aliases: Iterable[tuple[str, Sequence[str]]],
    progress: Progress = no_progress,
) -> tuple[GraphCounts, list[str]]:
    """Make the graph `path` from what a `TripleLoader` wrote for it, whose files stay: a failure can be mended.

    Args:
        path: the new file. Nothing in it is durable until this returns.
        state: what the load left.
        meta: name and fingerprint of the graph, kept in it.
        aliases: each entity (its id, or its label where only one entity has it) with its further names.
        progress: told how far the work is.

    Returns:
        The counts, and the keys of `aliases` that name no entity.
    """
    try:
        unknown = note_aliases(path, aliases)
        with closing(fast_database(path)) as db, _beside(path, large=state["rows"] >= LARGE) as finished:
            db.executescript(schema.TABLES)
            attach(db, "load", load_file(path))
            _write_tables(db, path, lambda done: progress("sorting", done, 2 * state["rows"]))
            if not finished():
                write_names(path, progress)
            move_names(db, path)
            counts = _counts(db, state)
            progress("nodes", counts["entities"] + counts["literals"], None)
            db.executemany("INSERT INTO meta VALUES (?, ?)", _meta(db, meta, counts).items())
            db.execute("COMMIT")
    finally:
        for file in (aliases_file(path), names_file(path)):
            file.unlink(missing_ok=True)
    return counts, unknown


@contextmanager
def _beside(graph: Path, *, large: bool) -> Iterator[Callable[[], bool]]:
    """Index the names of a large graph in a process of its own; the function given waits for it, and says whether it did it."""
    if not (large and sys.executable) or getattr(sys, "frozen", False):
        yield lambda: False
        return
    # -P: nothing in the working folder is imported.
    command = [sys.executable, "-P", "-m", write_names.__module__, str(graph)]
    with Popen(command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL) as process:  # noqa: S603 (ourselves)
        try:
            yield lambda: process.wait() == 0
        finally:
            process.kill()


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
