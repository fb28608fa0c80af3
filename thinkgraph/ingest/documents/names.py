"""Finds the names in a passage by capitals and quotation marks, without a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass, field

from thinkgraph.ingest.documents.words import CONNECTORS, DATES, HYPHENED, OPENERS, PARTS, Analysis, Token
from thinkgraph.tools.linking.lexical import STOP_WORDS
from thinkgraph.tools.values import value_kind

LONGEST = 10
"""Most words of a name."""

_HYPHENS = frozenset("-\u2010\u2011")
_SHOUTED = 0.8
_MOST_DIGITS = 3
_FEW, _MANY = 4, 7


@dataclass(slots=True)
class CaseCounts:
    """How often each word of a collection is in lower case, and has a capital inside a sentence."""

    lower: Counter[str] = field(default_factory=Counter)
    """A key with a hyphen before it counts the word after a hyphen and a capital."""
    upper: Counter[str] = field(default_factory=Counter)

    def add(self, analysis: Analysis) -> None:
        """Count one passage."""
        for sentence in analysis.sentences:
            before = None
            for word in () if _shouted(sentence) else sentence:
                if not word.upper:
                    self.lower[word.key] += 1
                    if before is not None and before.upper and analysis.text[before.end : word.start] in _HYPHENS:
                        self.lower[f"-{word.key}"] += 1
                elif not word.opens:
                    self.upper[word.key] += 1
                before = word

    def is_common(self, key: str) -> bool:
        """Whether the word is mostly in lower case, so that a capital at the beginning of a sentence means nothing."""
        return self.lower[key] > self.upper[key]

    def is_proper(self, key: str) -> bool:
        """Whether the word is hardly ever in lower case."""
        return self.lower[key] * 10 <= self.upper[key]


@dataclass(frozen=True, slots=True)
class NameSpan:
    """Words `first` to `last` (included) of a passage, written as a name."""

    first: int
    last: int
    quoted: bool
    opens: bool
    """Whether it is taken for a name only by a capital at the beginning of a sentence."""


def _shouted(group: list[Token]) -> bool:
    """Whether a sentence is a headline, whose capitals do not mark names."""
    letters = [word for word in group if word.text[0].isalpha() and not word.unspaced]
    loud, raised = sum(word.text.isupper() for word in letters), sum(word.upper for word in letters)
    return (len(letters) > _FEW and loud > _SHOUTED * len(letters)) or (
        len(letters) > _MANY and raised > _SHOUTED * len(letters)
    )


def spans(analysis: Analysis, case: CaseCounts) -> Iterator[NameSpan]:
    """The names of a passage. None overlaps another."""
    quoted = list(_quoted(analysis))
    yield from quoted
    inside = {place for span in quoted for place in range(span.first, span.last + 1)}
    at = 0
    for sentence in analysis.sentences:
        if not _shouted(sentence):
            yield from _capitals(analysis, range(at, at + len(sentence)), case, inside)
        at += len(sentence)


def _quoted(analysis: Analysis) -> Iterator[NameSpan]:
    words = analysis.words
    at = 0
    for start, end in analysis.quotes:
        while at < len(words) and words[at].start < start:
            at += 1
        last = at
        while last < len(words) and words[last].end <= end:
            last += 1
        text = analysis.text[start:end].rstrip(" ,")
        if at < last <= at + LONGEST and text[-1:] not in {".", "!", "?", ";", ":"} and _may_quote(words[at:last]):
            yield NameSpan(at, last - 1, quoted=True, opens=False)


def _may_quote(group: list[Token]) -> bool:
    """Whether a quotation is a title or a name: its first word has a capital, or its script has no capitals."""
    first = group[0]
    return (first.upper or first.unspaced or first.text.lower() == first.text.upper()) and any(
        not word.text.isdigit() for word in group
    )


def _capitals(analysis: Analysis, sentence: range, case: CaseCounts, taken: Container[int]) -> Iterator[NameSpan]:
    words = analysis.words
    groups: list[list[int]] = [[]]
    for place in sentence:
        group = groups[-1]
        if group and (place in taken or not analysis.joined(place)):
            groups.append(group := [])
        if place in taken:
            continue
        if _belongs(words[place], words[group[-1]] if group else None) or (group and _hyphened(analysis, place, case)):
            group.append(place)
        elif group:
            groups.append([])
    for group in filter(None, groups):
        yield from _closed(words, group[0], group[-1], case)


def _belongs(word: Token, before: Token | None) -> bool:
    if word.unspaced:
        return False
    if before is None:
        return word.upper and (word.key not in STOP_WORDS or is_letters(word.text))
    if word.upper:
        return True
    if word.text.isdigit():
        return len(word.text) <= _MOST_DIGITS and before.upper and before.key not in DATES
    return word.key in CONNECTORS and (word.key != "the" or before.key in CONNECTORS)


def is_letters(text: str) -> bool:
    """Whether a word is all capitals: "US" and "IT" are not pronouns."""
    return len(text) > 1 and text.isupper()


def _hyphened(analysis: Analysis, place: int, case: CaseCounts) -> bool:
    """Whether a word in lower case continues a name: "Kim Il-sung" and "Don't", but not "London-based"."""
    before, word = analysis.words[place - 1], analysis.words[place]
    between = analysis.text[before.end : word.start]
    if word.key == "t" and between in {"'", "\u2019"}:
        return True
    hyphened = word.key not in HYPHENED and between in _HYPHENS and before.upper
    return hyphened and case.lower[word.key] <= case.lower[f"-{word.key}"]


def _closed(words: list[Token], start: int, last: int, case: CaseCounts) -> Iterator[NameSpan]:
    """The name in a run of words, without what begins or ends no name."""
    first = start
    while first <= last and not _may_begin(words[first], case, lone=first == last):
        first += 1
        while first <= last and not words[first].upper:
            first += 1
    while last >= first and not _may_end(words[last], words[last - 1] if last > first else None):
        last -= 1
    if first > last or last - first >= LONGEST:
        return
    kept = words[first : last + 1]
    text = " ".join(word.text for word in kept)
    if value_kind(text) or (len(text) == 1 and text.isascii()):
        return
    if kept[0].key in PARTS and len(kept) > 1 and kept[1].text.isdigit():
        return
    if first == last and kept[0].key in OPENERS and not is_letters(text):
        return
    yield NameSpan(first, last, quoted=False, opens=first == last == start and words[start].opens)


def _may_begin(word: Token, case: CaseCounts, *, lone: bool) -> bool:
    if word.key in DATES or word.text.isdigit():
        return False
    if not word.opens:
        return True
    return word.key not in OPENERS and not case.is_common(word.key) and not (lone and len(word.text) == 1)


def _may_end(word: Token, before: Token | None) -> bool:
    if word.text.isdigit():
        return before is not None
    return (word.upper or word.key not in CONNECTORS) and word.key not in DATES
