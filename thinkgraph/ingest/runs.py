"""Sorts rows of integers that need not fit into memory: a flat file, read back in sorted runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from thinkgraph.ingest.intern import Ints

RUN_ROWS = 1_000_000
"""Rows sorted at a time: about 50 MB with the sort's own copies."""
_CHUNK_ROWS = 500_000


class RowFile:
    """A temporary file of rows of `width` 32-bit integers."""

    def __init__(self, path: Path, width: int) -> None:
        self._path = path
        self._width = width
        self._out = path.open("wb")
        self.rows = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._out.close()
        self._path.unlink(missing_ok=True)

    def append(self, *columns: Ints) -> None:
        """Add rows, given column by column."""
        np.column_stack(columns).astype(np.int32, copy=False).tofile(self._out)
        self.rows += len(columns[0])

    def chunks(self, start: int = 0, stop: int | None = None) -> Iterator[Ints]:
        """The rows from `start` to `stop` in the order they were added, some at a time."""
        self._out.flush()
        stop = self.rows if stop is None else stop
        while start < stop:
            count = min(_CHUNK_ROWS, stop - start)
            offset = 4 * self._width * start
            yield np.fromfile(self._path, np.int32, count * self._width, offset=offset).reshape(count, self._width)
            start += count

    def sorted_runs(self, columns: list[int], highest: int, *, run_rows: int = RUN_ROWS) -> Iterator[Ints]:
        """All rows in the order of `columns` (the first names the leading one, with values up to `highest`), as runs
        that never part rows of one leading value. Ties keep the order in which rows were added.
        """
        counts = np.zeros(highest + 2, dtype=np.int64)
        for chunk in self.chunks():
            counts += np.bincount(chunk[:, columns[0]], minlength=len(counts))
        ends = np.cumsum(counts)
        low = 0
        while low <= highest:
            before = int(ends[low - 1]) if low else 0
            high = max(low + 1, int(np.searchsorted(ends, before + run_rows, side="right")))
            high = min(high, highest + 1)
            parts = []
            for chunk in self.chunks():
                lead = chunk[:, columns[0]]
                parts.append(chunk[(lead >= low) & (lead < high)])
            rows = np.concatenate(parts) if parts else np.empty((0, self._width), dtype=np.int32)
            del parts
            if len(rows):
                yield rows[np.lexsort([rows[:, column] for column in reversed(columns)])]
            low = high
