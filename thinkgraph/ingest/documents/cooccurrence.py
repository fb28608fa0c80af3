"""Edges between entities that stand together: which titles mention what, and what is mentioned with what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from thinkgraph.ingest.documents.mentions import Read

MENTIONS, WITH = "mentions", "mentioned with"

_PENDING = 1_000_000
"""Pairs gathered before they are counted: 8 MB."""
_NEAR = 8
"""Entities after it, in one passage, that an entity is paired with at most: a list of a hundred names is no clique."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How many edges are kept."""

    with_others: int = 20
    """Entities that each entity is joined to by `mentioned with`, those of most weight."""
    mentions: int = 50
    """Entities that each title is joined to by `mentions`, those of most weight."""


@dataclass
class Counts:
    """Counts of pairs of numbers, in memory as two arrays."""

    keys: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    times: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    _pending: list[int] = field(default_factory=list)

    def add(self, one: int, other: int) -> None:
        """Count a pair once."""
        self._pending.append(one << 32 | other)
        if len(self._pending) >= _PENDING:
            self.settle()

    def settle(self) -> None:
        """Count what is pending."""
        if self._pending:
            keys, times = np.unique(np.array(self._pending, np.uint64), return_counts=True)
            every, where = np.unique(np.concatenate((self.keys, keys)), return_inverse=True)
            total = np.zeros(len(every), np.int64)
            np.add.at(total, where, np.concatenate((self.times, times)))
            self.keys, self.times = every, total
            self._pending.clear()

    def columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Both numbers and the count of every pair, in order."""
        self.settle()
        return (
            (self.keys >> np.uint64(32)).astype(np.int64),
            (self.keys & np.uint64(0xFFFFFFFF)).astype(np.int64),
            self.times,
        )


class Cooccurrence:
    """Gathers what passages mention together and says which edges come of it."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._passages = 0
        self._in: Counts = Counts()
        self._pairs = Counts()
        self._about = Counts()
        self._uses: list[int] = []

    def add(self, read: Read) -> None:
        """Count one passage: two entities once, where they stand near each other in it."""
        self._passages += 1
        order = list(dict.fromkeys(self._number(mention.entity) for mention in read.mentions))
        about = self._number(read.about) if read.about else -1
        for number in {*order, about} - {-1}:
            self._uses[number] += 1
        for place, one in enumerate(order):
            if about not in {-1, one}:
                self._about.add(about, one)
            for other in order[place + 1 : place + 1 + _NEAR]:
                self._pairs.add(min(one, other), max(one, other))

    def _number(self, key: str) -> int:
        number = self._numbers.setdefault(key, len(self._numbers))
        if number == len(self._uses):
            self._uses.append(0)
        return number

    def edges(self, limits: Limits) -> Iterator[tuple[str, str, str, int]]:
        """(entity, relation, entity, passages that say so), in an order that the order of documents does not change."""
        names = list(self._numbers)
        uses = np.array(self._uses, np.float64)
        rank = np.empty(len(names), np.int64)
        rank[np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)] = np.arange(len(names))
        subject, thing, times = self._about.columns()
        titled = set(zip(subject.tolist(), thing.tolist(), strict=True))
        keep = _best([subject], rank[thing], self._weights(subject, thing, times, uses), limits.mentions)
        yield from sorted((names[subject[i]], MENTIONS, names[thing[i]], int(times[i])) for i in np.flatnonzero(keep))
        one, other, times = self._pairs.columns()
        low, high = np.minimum(rank[one], rank[other]), np.maximum(rank[one], rank[other])
        order = low * len(names) + high
        keep = _best([one, other], order, self._weights(one, other, times, uses), limits.with_others)
        pairs = (
            (*sorted((names[one[i]], names[other[i]])), int(times[i]))
            for i in np.flatnonzero(keep)
            if (one[i], other[i]) not in titled and (other[i], one[i]) not in titled
        )
        yield from sorted((left, WITH, right, count) for left, right, count in pairs)

    def _weights(
        self, one: NDArray[np.int64], other: NDArray[np.int64], times: NDArray[np.int64], uses: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Count times pointwise mutual information: often together, and more often than by chance."""
        if not len(one):
            return np.empty(0)
        pmi = np.log(times * self._passages / (uses[one] * uses[other]))
        return np.round(times * np.maximum(pmi, 0.01), 9)


def _best(
    ends: Sequence[NDArray[np.int64]], order: NDArray[np.int64], weight: NDArray[np.float64], most: int
) -> NDArray[np.bool_]:
    """Which edges are among the `most` of greatest weight of one of their ends; of equal ones, those first in `order`."""
    keep = np.zeros(len(weight), bool)
    if not len(weight):
        return keep
    of = np.concatenate(ends)
    edge = np.tile(np.arange(len(weight)), len(ends))
    by = np.lexsort((order[edge], -weight[edge], of))
    heads = np.flatnonzero(np.concatenate(([True], of[by][1:] != of[by][:-1])))
    place = np.arange(len(of)) - np.repeat(heads, np.diff(np.append(heads, len(of))))
    keep[edge[by][place < most]] = True
    return keep
