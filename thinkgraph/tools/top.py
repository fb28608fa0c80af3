"""The best of many scores, kept while they stream by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Top:
    """The `limit` best scored numbers and all that tie with the last of them, so that the caller can order ties.

    Scores are rounded to six decimals: the last bits depend on how a product was cut into blocks.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._numbers = np.empty(0, np.int64)
        self._scores = np.empty(0, np.float64)

    def add(self, numbers: NDArray[np.int64], scores: NDArray[np.float32]) -> None:
        """Take in a chunk; no number may come twice in all chunks together."""
        self._numbers = np.concatenate([self._numbers, numbers])
        self._scores = np.concatenate([self._scores, np.round(scores.astype(np.float64), 6)])
        if len(self._scores) > self._limit:
            cut = np.partition(self._scores, -self._limit)[-self._limit]
            keep = self._scores >= cut
            self._numbers, self._scores = self._numbers[keep], self._scores[keep]

    def best(self) -> dict[int, float]:
        """Number to score, in no order; more than `limit` only where scores tie."""
        return dict(zip(self._numbers.tolist(), self._scores.tolist(), strict=True))
