"""Many rows at once: into tables, and sorted in files that need not fit into memory."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = npt.NDArray[np.integer[Any]]
Column: TypeAlias = Numbers | Sequence[Any] | int

RUN_ROWS = 500_000
"""Rows sorted at a time."""
_CHUNK_ROWS = 500_000
_STATEMENT_VALUES = 10_000
"""Many values in a statement take a quarter of the time, and Python's lock changes hands only once for each statement."""


def fast_database(path: Path) -> sqlite3.Connection:
    """A new database that is thrown away if its making fails, so that nothing in it needs to be safe before."""
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path, isolation_level=None, cached_statements=8)
    for pragma in ("journal_mode=OFF", "synchronous=OFF", "cache_size=-8000"):
        db.execute(f"PRAGMA {pragma}")
    return db


def attach(db: sqlite3.Connection, name: str, file: Path) -> None:
    """Have another database beside this one, under a name. The file's own name need not be UTF-8."""
    db.execute(f"ATTACH ? AS {name}", (os.fsencode(file),))


def insert(db: sqlite3.Connection, table: str, *columns: Column) -> None:
    """Insert rows, given column by column; a number stands for a column of it. No value should be None: it binds slowly."""
    rows = next(len(column) for column in columns if not isinstance(column, int))
    width = len(columns)
    row = f"({','.join('?' * width)})"
    step = _STATEMENT_VALUES // width
    for at in range(0, rows, step):
        count = min(step, rows - at)
        values: list[Any] = [0] * (count * width)
        for place, column in enumerate(columns):
            part = [column] * count if isinstance(column, int) else column[at : at + count]
            values[place::width] = part.tolist() if isinstance(part, np.ndarray) else part
        db.execute(f"INSERT INTO {table} VALUES {','.join([row] * count)}", values)


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
        while len(rows := np.fromfile(stream, np.int32, width * _CHUNK_ROWS)):
            yield rows.reshape(-1, width)
