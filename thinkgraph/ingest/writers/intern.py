"""Numbers strings in the order they first appear, in some 20 bytes of memory each rather than 150."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from thinkgraph.errors import KnowledgeError
from thinkgraph.ingest.readers.spans import Hashes

Ints: TypeAlias = npt.NDArray[np.int32]

_HIGHEST = 2**31 - 2
_SHIFT = np.uint64(32)


class Interner:
    """Gives each distinct string a number from 1, by its hash (see `spans.hashes`).

    Only the hashes are kept: two of ten million strings share one with a chance of 1 in 400,000, which is the price of
    loading graphs far larger than the memory. A table with open addressing, at most two thirds full, looked up and
    filled for whole arrays.
    """

    def __init__(self, places: int = 1024) -> None:
        self._places = max(places, 2)
        self._hashes = np.zeros(self._places, np.uint64)
        self._numbers = np.zeros(self._places, np.int32)
        self._known = 0

    def __len__(self) -> int:
        return self._known

    def intern(self, hashes: Hashes) -> tuple[Ints, npt.NDArray[np.int64]]:
        """The numbers of the strings, and where those that are new first stand, in the order of their numbers."""
        numbers = self.find(hashes)
        missing = np.flatnonzero(numbers == 0)
        if not len(missing):
            return numbers, missing
        unique, first, inverse = np.unique(hashes[missing], return_index=True, return_inverse=True)
        if self._known + len(unique) > _HIGHEST:
            raise KnowledgeError(f"more than {_HIGHEST:,} different entities and values; split the graph")
        # Numbered by first appearance, since the hashes differ from process to process and the result must not.
        order = np.argsort(first)
        fresh = np.empty(len(unique), np.int32)
        fresh[order] = np.arange(self._known + 1, self._known + 1 + len(unique), dtype=np.int32)
        numbers[missing] = fresh[inverse.reshape(-1)]
        self._add(unique, fresh)
        return numbers, missing[first[order]]

    def find(self, hashes: Hashes) -> Ints:
        """The numbers of the strings, 0 for those that have none."""
        place = self._place(hashes)
        met = self._hashes[place]
        numbers = np.where(met == hashes, self._numbers[place], np.int32(0))
        open_ = np.flatnonzero((met != hashes) & (met != 0))
        place = place[open_]
        while len(open_):
            place = self._next(place)
            sought = hashes[open_]
            met = self._hashes[place]
            hit = met == sought
            numbers[open_[hit]] = self._numbers[place[hit]]
            on = ~hit & (met != 0)
            open_, place = open_[on], place[on]
        return numbers

    def _add(self, hashes: Hashes, numbers: Ints) -> None:
        self._known += len(hashes)
        if 3 * self._known > 2 * self._places:
            kept = self._hashes != 0
            hashes = np.concatenate((self._hashes[kept], hashes))
            numbers = np.concatenate((self._numbers[kept], numbers))
            while 3 * self._known > 2 * self._places:
                self._places = self._places * 3 // 2
            self._hashes = np.zeros(self._places, np.uint64)
            self._numbers = np.zeros(self._places, np.int32)
        place = self._place(hashes)
        while len(hashes):
            free = np.flatnonzero(self._hashes[place] == 0)
            self._hashes[place[free]] = hashes[free]
            # Of several that want one place, the last got it; the others look on.
            got = self._hashes[place] == hashes
            self._numbers[place[got]] = numbers[got]
            hashes, numbers, place = hashes[~got], numbers[~got], self._next(place[~got])

    def _place(self, hashes: Hashes) -> npt.NDArray[np.int64]:
        return (((hashes >> _SHIFT) * np.uint64(self._places)) >> _SHIFT).astype(np.int64)

    def _next(self, place: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        following = place + 1
        following[following == self._places] = 0
        return following
