"""Reading a question: its words, what sort of answer it wants, and where it names the things of the evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from thinkgraph.models.offline.words import STOP, nearness, tokens, weight

_AUXILIARY = frozenset(
    ["do", "does", "did", "is", "are", "was", "were", "has", "have", "had", "can", "could", "will", "would"]
)
_WH = frozenset(["what", "which", "who", "whom", "whose", "when", "where", "why", "how"])
_ORDERS = (["name"], ["list"], ["give"], ["tell"], ["find"], ["show"], ["take"], ["say"])
_MORE = frozenset(
    [
        "largest",
        "highest",
        "biggest",
        "greatest",
        "longest",
        "oldest",
        "most",
        "more",
        "larger",
        "higher",
        "bigger",
        "longer",
        "older",
        "taller",
        "greater",
        "deepest",
        "tallest",
        "richest",
        "heaviest",
        "widest",
        "richer",
        "deeper",
        "maximum",
    ]
)
_LESS = frozenset(
    [
        "smallest",
        "lowest",
        "shortest",
        "least",
        "fewest",
        "fewer",
        "less",
        "smaller",
        "lower",
        "shorter",
        "younger",
        "youngest",
        "narrowest",
        "lightest",
        "earliest",
        "poorest",
        "minimum",
    ]
)
COMPARING = _MORE | _LESS
"""Superlatives and comparatives."""
_QUANTITY = re.compile(
    r"\bhow (?:many|much|old|high|long|tall|large|big|deep|far|wide|heavy)\b|\bwhat age\b|\bpercent|\bnumber of\b",
    re.IGNORECASE,
)
_TIME = re.compile(r"\bwhen\b|\b(?:what|which) (?:year|date|day|month)\b|\bsince when\b", re.IGNORECASE)


@dataclass(frozen=True)
class Mention:
    """A thing of the evidence that the question names."""

    label: str
    places: frozenset[int]
    """Positions of its words in the question."""


@dataclass
class QuestionWords:
    """A question taken apart."""

    text: str
    words: list[str] = field(init=False)
    wants: str = field(init=False)
    """number | time | who | yesno | thing."""
    extreme: str = field(init=False)
    """max, min or nothing."""

    def __post_init__(self) -> None:
        self.words = tokens(self.text)
        first = self.words[0] if self.words else ""
        if first in _AUXILIARY:
            self.wants = "yesno"
        elif _TIME.search(self.text):
            self.wants = "time"
        elif _QUANTITY.search(self.text):
            self.wants = "number"
        elif {"who", "whom"} & set(self.words):
            self.wants = "who"
        else:
            self.wants = "thing"
        found = [word for word in self.words if word in _MORE or word in _LESS]
        self.extreme = "" if not found else ("max" if found[0] in _MORE else "min")

    @property
    def is_claim(self) -> bool:
        """Whether the text states rather than asks."""
        asks = set(self.words) & _WH or self.text.rstrip().endswith("?") or self.words[:1] in _ORDERS
        return not asks

    @property
    def is_count(self) -> bool:
        """Whether it asks how many."""
        return "how many" in self.text.casefold() or "number of" in self.text.casefold()

    def extreme_places(self) -> frozenset[int]:
        """Positions of superlatives and comparatives."""
        return frozenset(n for n, word in enumerate(self.words) if word in _MORE or word in _LESS)

    def places(self, label: str) -> frozenset[int]:
        """Positions at which the whole label stands (first occurrence); empty where it does not."""
        wanted = tokens(label)
        size = len(wanted)
        for at in range(len(self.words) - size + 1):
            if size and self.words[at : at + size] == wanted and not (size == 1 and wanted[0] in STOP):
                return frozenset(range(at, at + size))
        return frozenset()

    def mentions(self, labels: Iterable[str]) -> list[Mention]:
        """The labels that the question names, longest first; none inside a longer one."""
        found = [Mention(label, places) for label in dict.fromkeys(labels) if (places := self.places(label))]
        found.sort(key=lambda mention: (-len(mention.places), mention.label))
        kept: list[Mention] = []
        for mention in found:
            if not any(mention.places < other.places for other in kept):
                kept.append(mention)
        return kept

    def loose_places(self, label: str) -> frozenset[int]:
        """Positions of words that look like parts of a label that is not named whole (Egyptian, Egypt)."""
        parts = [part for part in tokens(label) if part not in STOP]
        return frozenset(
            n
            for n, word in enumerate(self.words)
            if weight(word) == 1.0 and any(nearness(word, part) for part in parts)
        )

    def weights(self) -> dict[int, float]:
        """Position to weight of the words that must be explained."""
        return {n: value for n, word in enumerate(self.words) if (value := weight(word))}
