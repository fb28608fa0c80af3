"""Many rows at once: into tables, and sorted in files that need not fit into memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from thinkgraph.tools.sqlite.file import chunks

Numbers: TypeAlias = npt.NDArray[np.integer[Any]]

RUN_ROWS = 500_000
"""Rows sorted at a time."""
_CHUNK_ROWS = 50_000
_STATEMENT_VALUES = 10_000
"""Many values in a statement take a quarter of the time, and Python's lock changes hands only once for each statement."""


def fast_database(path: Path) -> sqlite3.Connection:
    """A new database that is thrown away if its making fails, so that nothing in it needs to be safe before."""
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=8)
    for pragma in ("journal_mode=OFF", "synchronous=OFF", "cache_size=-32000"):
        db.execute(f"PRAGMA {pragma}")
    return db


def insert_rows(db: sqlite3.Connection, table: str, rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows. No value should be None, which is slow to bind."""
    if rows:
        _insert(db, table, len(rows[0]), list(chain.from_iterable(rows)))


def insert_numbers(db: sqlite3.Connection, table: str, *columns: npt.ArrayLike) -> None:
    """Insert rows of numbers, given column by column."""
    full = np.broadcast_arrays(*columns)
    for at in range(0, len(full[0]), _CHUNK_ROWS):
        rows = np.column_stack([column[at : at + _CHUNK_ROWS] for column in full])
        _insert(db, table, len(full), rows.ravel().tolist())


def _insert(db: sqlite3.Connection, table: str, width: int, values: list[Any]) -> None:
    """Insert values that are given row after row."""
    row = f"({','.join('?' * width)})"
    for some in chunks(values, width * (_STATEMENT_VALUES // width)):
        db.execute(f"INSERT INTO {table} VALUES {','.join([row] * (len(some) // width))}", some)


def sorted_runs(path: Path, width: int) -> Iterator[Numbers]:
    """The distinct rows of a file of `width` 32-bit numbers, sorted; as runs that never part rows of one first number.

    The file is read once for each run.
    """
    counts = np.zeros(1, np.int64)
    for chunk in _chunks(path, width):
        found = np.bincount(chunk[:, 0], minlength=len(counts))
        found[: len(counts)] += counts
        counts = found
    ends, low = np.cumsum(counts), 0
    while low < len(ends):
        before = int(ends[low - 1]) if low else 0
        high = max(low + 1, int(np.searchsorted(ends, before + RUN_ROWS, side="right")))
        parts = [chunk[(chunk[:, 0] >= low) & (chunk[:, 0] < high)] for chunk in _chunks(path, width)]
        if parts:
            rows = np.concatenate(parts)
            rows = rows[np.lexsort([_pair(rows[:, at : at + 2]) for at in range(0, width, 2)][::-1])]
            new = np.ones(len(rows), np.bool_)
            new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
            yield rows[new]
        low = high


def _pair(columns: Numbers) -> Numbers:
    """One or two columns of numbers as one: fewer columns are sorted faster."""
    return columns[:, 0].astype(np.int64) << 32 | columns[:, -1]


def _chunks(path: Path, width: int) -> Iterator[npt.NDArray[np.int32]]:
    with path.open("rb") as stream:
        while len(rows := np.fromfile(stream, np.int32, width * 10 * _CHUNK_ROWS)):
            yield rows.reshape(-1, width)
