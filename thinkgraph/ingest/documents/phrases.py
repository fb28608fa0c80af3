"""Phrases that come back in several passages and hold together: names where no capital marks one."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator

from thinkgraph.ingest.documents.words import JOINT, Analysis, Word
from thinkgraph.tools.linking.lexical import STOP_WORDS

MOST_COUNTED = 2_000_000
"""Distinct phrases kept in memory; beyond it, those seen once so far are forgotten."""
_PASSAGES = 2
"""Passages that a phrase must come back in."""
_COHESION = 3.0
"""Times (as a logarithm to base e) that its parts stand together more often than by chance."""
_MOST_COMMON = 0.1
"""Share of passages in which a lone word of a script without capitals may stand; a commoner one is grammar."""
_FEW = 20
"""Passages below which that share says nothing."""
_SHORT = 3

_HAN = re.compile(r"[\u4e00-\u9fff\u3400-\u4dbf]{2,}|[\u30a0-\u30ff]{2,}")
_GRAMS = range(2, 5)
_FUNCTION = frozenset(
    "的了在是和有不为與与及或也就都而其之于於以被把从從到对對上下中年月日個个这這那我你他她它们們者等将將并並"
)


class Phrases:
    """Counts phrases of two and three words, and in scripts without capitals also single words and runs of characters."""

    def __init__(self) -> None:
        self._passages = 0
        self._words: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._alone: Counter[str] = Counter()
        self._runs: Counter[str] = Counter()

    def add(self, analysis: Analysis) -> None:
        """Count one passage: each phrase once, however often it stands there."""
        self._passages += 1
        words = analysis.words
        self._words.update({word.key for word in words})
        pairs = set()
        for place in range(len(words) - 1):
            left, right = words[place], words[place + 1]
            if _plain(left) and _plain(right) and JOINT.fullmatch(analysis.text, left.end, right.start):
                pairs.add((left.key, right.key))
        self._pairs.update(pairs)
        self._alone.update({word.key for word in words if _caseless(word) and len(word.key) >= _SHORT})
        self._runs.update({run for word in words if word.unspaced for run in _runs(word.text)})
        for counter in (self._pairs, self._alone, self._runs):
            _bound(counter)

    def found(self) -> Iterator[str]:
        """The phrases that came back often enough, in no order that matters."""
        for (left, right), count in self._pairs.items():
            if count >= _PASSAGES and self._holds(count, self._words[left], self._words[right]):
                yield f"{left} {right}"
        most = max(_FEW, _MOST_COMMON * self._passages)
        yield from (word for word, count in self._alone.items() if _PASSAGES <= count <= most)
        yield from self._whole_runs(most)

    def _holds(self, both: int, one: int, other: int) -> bool:
        return math.log(both * self._passages / (one * other)) >= _COHESION

    def _whole_runs(self, most: float) -> Iterator[str]:
        """Runs of characters that are no mere part of a longer one."""
        kept = {run: count for run, count in self._runs.items() if _PASSAGES <= count <= most}
        parts = {part for run, count in kept.items() for part in (run[:-1], run[1:]) if kept.get(part) == count}
        yield from (run for run in kept if run not in parts)


def _plain(word: Word) -> bool:
    """Whether a word may be part of a phrase written small."""
    return (
        not word.upper
        and not word.unspaced
        and len(word.key) >= _SHORT
        and not any(c.isdigit() for c in word.key)
        and word.key not in STOP_WORDS
    )


def _caseless(word: Word) -> bool:
    return not word.unspaced and word.text.lower() == word.text.upper() and not word.text.isdigit()


def _runs(text: str) -> Iterator[str]:
    """Stretches of a text without spaces that may be a word: Katakana whole, Han characters by two to four."""
    for found in _HAN.finditer(text):
        run = found.group()
        if run[0] >= "\u3400":
            for size in _GRAMS:
                for at in range(len(run) - size + 1):
                    part = run[at : at + size]
                    if not _FUNCTION.intersection(part):
                        yield part
        else:
            yield run


def _bound(counter: Counter[str] | Counter[tuple[str, str]]) -> None:
    if len(counter) > MOST_COUNTED:
        for phrase in [phrase for phrase, count in counter.items() if count == 1]:
            del counter[phrase]
