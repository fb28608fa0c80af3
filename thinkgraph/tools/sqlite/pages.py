"""Reads the flat arrays of `graph.sqlite` (see `graph_schema`) by place: single entries, and stretches of them."""

from __future__ import annotations

import json
import sqlite3
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from thinkgraph.errors import StoreError
from thinkgraph.tools.sqlite.file import chunks
from thinkgraph.tools.sqlite.graph_schema import ARRAYS, PAGE_BYTES

_T = TypeVar("_T")

_HELD = 1_000
"""Pages held at a time: 4 MB."""
_FEW = 8
"""Entries of a page from which on it is read whole."""


class PagedArray:
    """One of the arrays. A call costs one query, or one for every thousand pages it needs."""

    def __init__(self, name: str, *, sparse: bool = False) -> None:
        """Read the array `name`; with `sparse`, pages that are not there are zeros, otherwise they are damage."""
        self._name = name
        self._width = ARRAYS[name]
        self._entries = PAGE_BYTES // (4 * self._width)
        self._sparse = sparse
        self._query = f"SELECT p.id, p.data FROM json_each(?) j CROSS JOIN {name} p ON p.id = j.value"
        size = 4 * self._width
        self._single = (
            f"SELECT j.value, substr(p.data, j.value % {self._entries} * {size} + 1, {size}) "
            f"FROM json_each(?) j CROSS JOIN {name} p ON p.id = j.value / {self._entries}"
        )

    def at(self, db: sqlite3.Connection, places: Iterable[int]) -> dict[int, tuple[int, ...]]:
        """The entries at these places.

        Raises:
            StoreError: the array is shorter than that.
        """
        found: dict[int, tuple[int, ...]] = {}
        wanted = sorted(set(places))
        for part in chunks(wanted, _HELD):
            pages = {place // self._entries for place in part}
            # Pages that are needed for little are not handed over whole.
            found.update(self._singly(db, part) if len(part) < _FEW * len(pages) else self._by_page(db, part))
        return found

    def _singly(self, db: sqlite3.Connection, places: Sequence[int]) -> dict[int, tuple[int, ...]]:
        rows = db.execute(self._single, (json.dumps(places),)).fetchall()
        if not all(isinstance(entry, bytes) and len(entry) == 4 * self._width for _, entry in rows):
            raise self._damaged()
        numbers = iter(_integers(b"".join(entry for _, entry in rows)))
        found = dict(zip((place for place, _ in rows), zip(*[numbers] * self._width, strict=True), strict=True))
        if len(found) < len(places):
            if not self._sparse:
                raise self._damaged()
            found.update((place, (0,) * self._width) for place in places if place not in found)
        return found

    def _by_page(self, db: sqlite3.Connection, places: Sequence[int]) -> dict[int, tuple[int, ...]]:
        found: dict[int, tuple[int, ...]] = {}
        pages = self._pages(db, sorted({place // self._entries for place in places}))
        for place in places:
            page, entry = divmod(place, self._entries)
            found[place] = tuple(pages[page][entry * self._width : (entry + 1) * self._width])
            if len(found[place]) < self._width:
                raise self._damaged()
        return found

    def stretches(self, db: sqlite3.Connection, wanted: Sequence[range]) -> Iterator[tuple[int, int, memoryview[int]]]:
        """The entries in each range, in order and in pieces: which range it is of, its first place, its integers.

        Raises:
            StoreError: the array is shorter than that.
        """
        width, entries = self._width, self._entries
        needed = (
            (number, page)
            for number, one in enumerate(wanted)
            if one
            for page in range(one.start // entries, (one.stop - 1) // entries + 1)
        )
        for part in _batches(needed):
            pages = self._pages(db, sorted({page for _, page in part}))
            for number, page in part:
                base = page * entries
                first, last = max(wanted[number].start, base), min(wanted[number].stop, base + entries)
                numbers = pages[page][(first - base) * width : (last - base) * width]
                if len(numbers) < (last - first) * width:
                    raise self._damaged()
                yield number, first, numbers

    def _pages(self, db: sqlite3.Connection, wanted: Sequence[int]) -> dict[int, memoryview[int]]:
        try:
            found = {page: _integers(data) for page, data in db.execute(self._query, (json.dumps(wanted),))}
        except (TypeError, ValueError):
            raise self._damaged() from None
        if len(found) < len(wanted):
            if not self._sparse:
                raise self._damaged()
            nothing = _integers(bytes(PAGE_BYTES))
            found.update((page, nothing) for page in wanted if page not in found)
        return found

    def _damaged(self) -> StoreError:
        return StoreError(
            f"the graph is damaged (its {self._name} array has holes); build or copy the knowledge base again"
        )


def _batches(values: Iterable[_T]) -> Iterator[list[_T]]:
    stream = iter(values)
    while batch := list(islice(stream, _HELD)):
        yield batch


def _integers(data: bytes) -> memoryview[int]:
    if sys.byteorder == "little":
        return memoryview(data).cast("i")
    numbers = array("i", data)
    numbers.byteswap()
    return memoryview(numbers)
