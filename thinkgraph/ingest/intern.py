"""Numbers strings in the order they first appear, in 12 bytes of memory each rather than a hundred."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]


class Interner:
    """Gives each distinct string a number from 1.

    Only 64-bit keyed hashes are kept: two of ten million strings share one with a chance of 1 in 400,000, which is the
    price of loading graphs far larger than the memory.
    """

    def __init__(self) -> None:
        self._hashes = np.empty(0, dtype=np.int64)
        self._numbers = np.empty(0, dtype=np.int32)

    def __len__(self) -> int:
        return len(self._hashes)

    def intern(self, texts: Sequence[str]) -> tuple[Ints, list[str]]:
        """The numbers of the texts, and those texts that are new, in the order of their (consecutive) numbers."""
        if not texts:
            return np.empty(0, dtype=np.int32), []
        hashes = np.fromiter(map(hash, texts), dtype=np.int64, count=len(texts))
        unique, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        places = np.searchsorted(self._hashes, unique)
        known = np.zeros(len(unique), dtype=bool)
        inside = places < len(self._hashes)
        known[inside] = self._hashes[places[inside]] == unique[inside]
        numbers = np.empty(len(unique), dtype=np.int32)
        numbers[known] = self._numbers[places[known]]
        # Numbered by first appearance, since the hashes differ from process to process and the result must not.
        new = np.flatnonzero(~known)
        order = new[np.argsort(first[new])]
        numbers[order] = np.arange(len(self._hashes) + 1, len(self._hashes) + 1 + len(new), dtype=np.int32)
        self._numbers = np.insert(self._numbers, places[new], numbers[new])
        self._hashes = np.insert(self._hashes, places[new], unique[new])
        return numbers[inverse.reshape(-1)], [texts[i] for i in first[order].tolist()]
