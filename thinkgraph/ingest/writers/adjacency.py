"""Sorts a graph's triples both ways and writes them with their edges (see `tools.sqlite.graph_schema`)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np

from thinkgraph.ingest.writers.rows import Numbers, insert, sorted_runs
from thinkgraph.tools.sqlite.graph_schema import IN, OUT


def write_triples(
    db: sqlite3.Connection, rows: Path, *, nodes: int, relations: int, told: Callable[[int], None]
) -> tuple[Numbers, Numbers]:
    """Write the tables `triple`, `inverse`, `edge` and `loop`.

    Args:
        db: the graph, in a transaction.
        rows: file of 32-bit numbers: subject, relation, object, qualifiers.
        nodes: the highest number of a node.
        relations: the highest number of a relation.
        told: called with the number of triples that are done, of twice those that there are.

    Returns:
        By node, the triples that touch it (a loop counts once), and by relation, its triples.
    """
    degree, uses = np.zeros(nodes + 1, np.int64), np.zeros(relations + 1, np.int64)
    loops = [np.empty(0, np.int64)]
    back = rows.with_suffix(".back")
    try:
        triples = 0
        with back.open("wb") as out:
            for run in sorted_runs(rows, 4):
                told(triples)
                subject, relation, obj, qualifiers = run.T
                numbers = np.arange(triples + 1, triples + 1 + len(run))
                insert(db, "triple (subject, relation, object, qualifiers)", subject, relation, obj, qualifiers)
                _write_edges(db, OUT, subject, relation, triples + 1)
                out.write(np.column_stack((obj, relation, numbers)).astype(np.int32).data)
                loops.append(numbers[subject == obj])
                degree += np.bincount(subject, minlength=len(degree))
                uses += np.bincount(relation, minlength=len(uses))
                triples += len(run)
        looped, placed = np.concatenate(loops), 0
        for run in sorted_runs(back, 3):
            told(triples + placed)
            node, relation, numbers = run.T
            places = np.arange(placed + 1, placed + 1 + len(run))
            insert(db, "inverse (triple)", numbers)
            _write_edges(db, IN, node, relation, placed + 1)
            is_loop = np.isin(numbers, looped)
            insert(db, "loop", node[is_loop], places[is_loop])
            degree += np.bincount(node[~is_loop], minlength=len(degree))
            placed += len(run)
    finally:
        back.unlink(missing_ok=True)
    return degree, uses


def _write_edges(db: sqlite3.Connection, direction: int, node: Numbers, relation: Numbers, first: int) -> None:
    """Write the edges of a run, whose first triple has the number `first`."""
    starts = np.flatnonzero(np.diff(node, prepend=0) | np.diff(relation, prepend=0))
    counts = np.diff(starts, append=len(node))
    insert(db, "edge", direction, node[starts], relation[starts], starts + first, counts)
