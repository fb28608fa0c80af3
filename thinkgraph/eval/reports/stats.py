"""Confidence intervals of means, and paired comparisons of two methods over the same questions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import TypedDict

RESAMPLES = 2_000
_BLOCK = 200
"""Resamples drawn at a time, so that a hundred thousand questions need no gigabytes."""
LEVEL = 0.95


class Paired(TypedDict):
    """Two methods on the same questions, the first minus the second."""

    n: int
    difference: float
    low: float
    high: float
    """Bootstrap interval of the difference of means."""
    wins: int
    """Questions that only the first got right (where it scored higher)."""
    losses: int
    p: float
    """Two-sided exact sign test over wins and losses (McNemar's exact test for right and wrong)."""


def interval(values: Sequence[float], *, seed: int = 0) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of a mean; the same seed gives the same interval.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("a mean needs at least one value")
    sample = np.asarray(values, dtype=float)
    draw = np.random.default_rng(seed)
    means = np.concatenate(
        [sample[draw.integers(0, len(sample), (_BLOCK, len(sample)))].mean(axis=1) for _ in range(RESAMPLES // _BLOCK)]
    )
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return round(float(low), 4), round(float(high), 4)


def sign_test(wins: int, losses: int) -> float:
    """The chance of a split at least this uneven between two that are alike: exact, two-sided."""
    tail = ways = 1
    for losers in range(min(wins, losses)):
        ways = ways * (wins + losses - losers) // (losers + 1)
        tail += ways
    return min(1.0, 2 * tail / (1 << (wins + losses)))


def paired(first: Sequence[float], second: Sequence[float], *, seed: int = 0) -> Paired:
    """Compare two methods question by question.

    Raises:
        ValueError: the two are not of one length, or empty.
    """
    if not first or len(first) != len(second):
        raise ValueError("a paired comparison needs the same questions from both")
    gaps = [a - b for a, b in zip(first, second, strict=True)]
    wins, losses = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
    low, high = interval(gaps, seed=seed)
    return Paired(
        n=len(gaps),
        difference=round(float(np.mean(gaps)), 4),
        low=low,
        high=high,
        wins=wins,
        losses=losses,
        p=round(sign_test(wins, losses), 6),
    )
