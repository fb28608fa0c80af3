"""The best of many scores, kept while they stream by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SLACK = 1e-5
"""How far two float32 products of the same vectors may lie apart, several times over."""


class Top:
    """The numbers with the `limit` best scores, and all that are too near to the last of them to be told apart.

    Single precision depends on how a product was cut into blocks, so that the caller scores these few again.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._numbers = np.empty(0, np.int64)
        self._scores = np.empty(0, np.float32)

    def add(self, numbers: NDArray[np.int64], scores: NDArray[np.float32]) -> None:
        """Take in a chunk; no number may come twice in all chunks together."""
        self._numbers = np.concatenate([self._numbers, numbers])
        self._scores = np.concatenate([self._scores, scores])
        if len(self._scores) > self._limit:
            cut = np.partition(self._scores, -self._limit)[-self._limit]
            keep = self._scores >= cut - _SLACK
            self._numbers, self._scores = self._numbers[keep], self._scores[keep]

    def numbers(self) -> list[int]:
        """The numbers kept, in the order they came."""
        kept: list[int] = self._numbers.tolist()
        return kept
