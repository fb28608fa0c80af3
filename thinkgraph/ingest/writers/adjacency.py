"""Sorts a graph's rows both ways into the flat arrays that the store reads (see `tools.graph_schema`)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thinkgraph.ingest.writers.intern import Ints
from thinkgraph.ingest.writers.loader import part
from thinkgraph.ingest.writers.runs import RowFile
from thinkgraph.tools.sqlite.graph_schema import ARRAYS

_SLICE = 1_000_000

Changed = Callable[[Ints, int], Ints]


class Adjacency(NamedTuple):
    """What sorting found out; the arrays lie in files beside the graph, one for each of `ARRAYS`."""

    triples: int
    duplicates: int
    degree: Ints
    """Triples that touch each node, a loop counted once."""
    uses: npt.NDArray[np.int64]
    """Triples of each relation."""
    loops: npt.NDArray[np.int64]
    """Node and place in `inverse` of each loop, shape (loops, 2), ordered."""


def sort_rows(
    path: Path,
    rows: RowFile,
    *,
    top: int,
    relations: int,
    changed: Changed | None,
    told: Callable[[int], None],
) -> Adjacency:
    """Sort rows (subject, relation, object, qualifiers) into the arrays of the graph `path`.

    Args:
        path: the graph.
        rows: the rows as they were read.
        top: the highest number of a node, and so of a subject and object.
        relations: the highest number of a relation.
        changed: see `RowFile.sorted_runs`.
        told: called now and then with the number of rows that are done, of twice those that there are; what it raises
            ends the work.
    """
    with ExitStack() as stack:
        files = {name: stack.enter_context(part(path, name).open("wb")) for name in ARRAYS}
        inverse = stack.enter_context(RowFile(part(path, "back"), 3))
        degree = np.zeros(top + 1, np.int32)
        uses = np.zeros(relations + 1, np.int64)
        edges = _Edges(files["edge_out"], top)
        looped: list[Ints] = []
        done = 0
        for run in rows.sorted_runs(top, changed=changed):
            told(done)
            s, r, o, q = (run[:, column] for column in range(4))
            numbers = np.arange(done, done + len(run), dtype=np.int32)
            _lay(files["triple"], run[:, :3])
            if q.any():
                # What is passed over reads as zeros.
                files["qualified"].seek(4 * done)
                _lay(files["qualified"], q)
            edges.add(s, r, done)
            inverse.append(o, r, numbers)
            uses += np.bincount(r, minlength=len(uses))
            _count(degree, s)
            looped.append(numbers[s == o])
            done += len(run)
        out = edges.finish(done)
        loops = np.concatenate(looped) if looped else np.empty(0, np.int32)
        edges = _Edges(files["edge_in"], top)
        found: list[npt.NDArray[np.int64]] = []
        placed = 0
        for run in inverse.sorted_runs(top):
            told(rows.rows + placed)
            _lay(files["inverse"], run[:, 2])
            edges.add(run[:, 0], run[:, 1], placed)
            _count(degree, run[:, 0])
            if len(loops):
                at = np.flatnonzero(np.isin(run[:, 2], loops))
                found.append(np.column_stack((run[at, 0], at + placed)).astype(np.int64))
                np.subtract.at(degree, run[at, 0], 1)
            placed += len(run)
        back = edges.finish(done)
        for start in range(0, top + 2, _SLICE):
            _lay(files["span"], np.column_stack((out[start : start + _SLICE], back[start : start + _SLICE])))
    empty = np.empty((0, 2), np.int64)
    return Adjacency(done, rows.rows - done, degree, uses, np.concatenate(found) if found else empty)


class _Edges:
    """Writes where the triples of each (node, relation) begin, and counts such edges by node."""

    def __init__(self, out: IO[bytes], top: int) -> None:
        self._out = out
        self._counts = np.zeros(top + 2, np.int32)

    def add(self, node: Ints, relation: Ints, base: int) -> None:
        if not len(node):
            return
        change = (node[1:] != node[:-1]) | (relation[1:] != relation[:-1])
        starts = np.concatenate(([0], np.flatnonzero(change) + 1))
        _lay(self._out, np.column_stack((relation[starts], starts + base)))
        _count(self._counts, node[starts] + 1)

    def finish(self, triples: int) -> Ints:
        """End the last edge; gives the place of each node's first edge, and one more for the end."""
        _lay(self._out, np.array([0, triples]))
        return np.cumsum(self._counts, dtype=np.int32)


def _lay(out: IO[bytes], numbers: npt.NDArray[np.integer[Any]]) -> None:
    out.write(np.ascontiguousarray(numbers, "<i4").data)


def _count(counts: Ints, values: Ints) -> None:
    """Add up how often each value occurs; the values lie close together."""
    if len(values):
        low = int(values.min())
        found = np.bincount(values - low)
        counts[low : low + len(found)] += found.astype(np.int32)
