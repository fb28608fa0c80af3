"""Sorts rows of integers that need not fit into memory: a flat file, dealt out by ranges and read back in sorted runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from thinkgraph.ingest.writers.intern import Ints

RUN_ROWS = 1_000_000
"""Rows sorted at a time: about 50 MB with the sort's own copies."""
_CHUNK_ROWS = 500_000
_KEY_BITS = 64


class RowFile:
    """A file of rows of `width` 32-bit integers."""

    def __init__(self, path: Path, width: int, *, rows: int | None = None) -> None:
        """A new file to be filled, or one that is there already and has so many rows."""
        self._path = path
        self._width = width
        self._out = path.open("wb" if rows is None else "rb")
        self.rows = rows or 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file and leave it where it is."""
        self._out.close()

    def append(self, *columns: Ints) -> None:
        """Add rows, given column by column."""
        self._out.write(np.column_stack(columns).astype(np.int32, copy=False).data)
        self.rows += len(columns[0])

    def chunks(self, start: int = 0, stop: int | None = None) -> Iterator[Ints]:
        """The rows from `start` to `stop` in the order they were added, some at a time."""
        if self._out.writable():
            self._out.flush()
        stop = self.rows if stop is None else stop
        while start < stop:
            count = min(_CHUNK_ROWS, stop - start)
            offset = 4 * self._width * start
            yield np.fromfile(self._path, np.int32, count * self._width, offset=offset).reshape(count, self._width)
            start += count

    def sorted_runs(
        self,
        highest: int,
        *,
        run_rows: int | None = None,
        changed: Callable[[Ints, int], Ints] | None = None,
    ) -> Iterator[Ints]:
        """All distinct rows in the order of their columns, as runs that never part rows of one leading value.

        The file is read three times, however many runs there are.

        Args:
            highest: the highest value in the first column.
            run_rows: rows of a run (`RUN_ROWS`); only one leading value with more makes a longer one.
            changed: gives the rows to sort instead of those at a place in the file (its first column must stay).
        """
        counts = np.zeros(highest + 1, np.int64)
        for chunk in self.chunks():
            low = int(chunk[:, 0].min())
            part = np.bincount(chunk[:, 0] - low)
            counts[low : low + len(part)] += part
        bounds = _bounds(counts, run_rows or RUN_ROWS)
        if len(bounds) == 2:  # noqa: PLR2004 (a first and a last bound)
            parts = list(self._changed(changed))
            if parts:
                yield _sorted(np.concatenate(parts))
            return
        sizes = np.add.reduceat(counts, bounds[:-1])
        del counts
        dealt = self._path.with_name(f"{self._path.name}.dealt")
        try:
            self._deal(dealt, bounds, sizes, changed)
            start = 0
            for size in sizes.tolist():
                if size:
                    flat = np.fromfile(dealt, np.int32, size * self._width, offset=4 * self._width * start)
                    yield _sorted(flat.reshape(size, self._width))
                start += size
        finally:
            dealt.unlink(missing_ok=True)

    def _changed(self, changed: Callable[[Ints, int], Ints] | None) -> Iterator[Ints]:
        at = 0
        for chunk in self.chunks():
            yield chunk if changed is None else changed(chunk, at)
            at += len(chunk)

    def _deal(
        self,
        path: Path,
        bounds: npt.NDArray[np.int64],
        sizes: npt.NDArray[np.int64],
        changed: Callable[[Ints, int], Ints] | None,
    ) -> None:
        """Write the rows of each range of leading values together."""
        ends = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            for chunk in self._changed(changed):
                run = np.searchsorted(bounds, chunk[:, 0], side="right") - 1
                order = np.argsort(run, kind="stable")
                rows, run = chunk[order], run[order]
                firsts = np.flatnonzero(np.concatenate(([True], run[1:] != run[:-1])))
                for first, last in zip(firsts.tolist(), [*firsts[1:].tolist(), len(run)], strict=True):
                    at = run[first]
                    _write(descriptor, rows[first:last], 4 * self._width * int(ends[at]))
                    ends[at] += last - first
        finally:
            os.close(descriptor)


def _bounds(counts: npt.NDArray[np.int64], run_rows: int) -> npt.NDArray[np.int64]:
    """First leading value of each run, and one more than the last value."""
    ends = np.cumsum(counts)
    bounds = [0]
    while bounds[-1] < len(counts):
        low = bounds[-1]
        before = int(ends[low - 1]) if low else 0
        bounds.append(max(low + 1, int(np.searchsorted(ends, before + run_rows, side="right"))))
    return np.array(bounds, np.int64)


def _write(descriptor: int, rows: Ints, offset: int) -> None:
    data = np.ascontiguousarray(rows).data.cast("B")
    while data:
        done = os.pwrite(descriptor, data, offset)
        data, offset = data[done:], offset + done


def _sorted(rows: Ints) -> Ints:
    """The distinct rows in the order of their columns; each column lies together in memory."""
    lows = [int(low) for low in rows.min(axis=0)]
    bits = [int(high - low).bit_length() for high, low in zip(rows.max(axis=0).tolist(), lows, strict=True)]
    if sum(bits) > _KEY_BITS:
        rows = np.asfortranarray(rows[np.lexsort(rows.T[::-1])])
        return rows[_differing(*(rows[:, column] for column in range(rows.shape[1])))]
    # All columns as one number: sorting bare numbers is many times faster than sorting by several columns.
    key = np.zeros(len(rows), np.uint64)
    for column, (low, width) in enumerate(zip(lows, bits, strict=True)):
        key <<= np.uint64(width)
        key |= (rows[:, column] - low).astype(np.uint64)
    key.sort()
    return _unpacked(key[_differing(key)], lows, bits)


def _differing(*columns: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
    """Which rows are not equal to the one before."""
    differs = np.ones(len(columns[0]), np.bool_)
    differs[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return differs


def _unpacked(key: npt.NDArray[np.uint64], lows: Sequence[int], bits: Sequence[int]) -> Ints:
    rows = np.empty((len(key), len(lows)), np.int32, order="F")
    for column in reversed(range(len(lows))):
        if bits[column]:
            rows[:, column] = (key & np.uint64((1 << bits[column]) - 1)).astype(np.int32)
            rows[:, column] += np.int32(lows[column])
            key >>= np.uint64(bits[column])
        else:
            rows[:, column] = lows[column]
    return rows
