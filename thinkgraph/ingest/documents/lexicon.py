"""The names that a collection of documents uses: titles, headings, names in the text, repeated phrases."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal

from thinkgraph.ingest.documents.names import CaseCounts, NameSpan, is_letters, spans
from thinkgraph.ingest.documents.words import GENERIC, Analysis, Token, analyse, key_of_name
from thinkgraph.tools.linking.lexical import STOP_WORDS
from thinkgraph.tools.values import value_kind

# ---- phrases --------------------------------------------------------------------------------------------------------

MOST_COUNTED = 2_000_000
"""Distinct phrases kept in memory; beyond it, those counted once are dropped."""
_PASSAGES = 2
"""Fewest passages that a phrase must stand in."""
_COHESION = 3.0
"""Least pointwise mutual information of its words (natural logarithm)."""
_MOST_COMMON = 0.1
"""Largest share of passages with a single word of a script without capitals; more frequent words are grammar."""
_FEW = 20
"""Passages in which such a word may stand in any case."""
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
        self._pairs.update(
            {
                (left.key, right.key)
                for place, (left, right) in enumerate(pairwise(words), 1)
                if _plain(left) and _plain(right) and analysis.joined(place)
            }
        )
        self._alone.update({word.key for word in words if _caseless(word) and len(word.key) >= _SHORT})
        self._runs.update({run for word in words if word.unspaced for run in _runs(word.text)})
        for counter in (self._pairs, self._alone, self._runs):
            _bound(counter)

    def found(self) -> Iterator[str]:
        """The phrases that are frequent enough, in no particular order."""
        for (left, right), count in self._pairs.items():
            apart = self._words[left] * self._words[right]
            if count >= _PASSAGES and math.log(count * self._passages / apart) >= _COHESION:
                yield f"{left} {right}"
        most = max(_FEW, _MOST_COMMON * self._passages)
        yield from (word for word, count in self._alone.items() if _PASSAGES <= count <= most)
        runs = {run: count for run, count in self._runs.items() if _PASSAGES <= count <= most}
        parts = {part for run, count in runs.items() for part in (run[:-1], run[1:]) if runs.get(part) == count}
        # A run that is only ever part of a longer one is no word.
        yield from (run for run in runs if run not in parts)


def _plain(word: Token) -> bool:
    """Whether a word may be part of a phrase in lower case."""
    name_or_grammar = word.upper or word.unspaced or len(word.key) < _SHORT or word.key in STOP_WORDS
    return not name_or_grammar and not any(c.isdigit() for c in word.key)


def _caseless(word: Token) -> bool:
    return not word.unspaced and word.text.lower() == word.text.upper() and not word.text.isdigit()


def _runs(text: str) -> Iterator[str]:
    """Possible words in a text without spaces: whole runs of Katakana, two to four Han characters."""
    for run in _HAN.findall(text):
        if run[0] < "\u3400":
            yield run
            continue
        parts = (run[at : at + size] for size in _GRAMS for at in range(len(run) - size + 1))
        yield from filter(_FUNCTION.isdisjoint, parts)


def _bound(counter: Counter[Any]) -> None:
    if len(counter) > MOST_COUNTED:
        for phrase in [phrase for phrase, count in counter.items() if count == 1]:
            del counter[phrase]


# ---- names ----------------------------------------------------------------------------------------------------------


Kind = Literal["title", "short", "given", "heading", "capitals", "quoted", "phrase", "extracted"]

_LONGEST_NAME = 200
_SMALL_WORD = 3


@dataclass(slots=True)
class Form:
    """One name in all its spellings."""

    key: str
    kinds: set[Kind] = field(default_factory=set)
    variants: Counter[str] = field(default_factory=Counter)
    """Its spellings, and how often each occurs."""
    given: Counter[str] = field(default_factory=Counter)
    """Its spellings in titles and lists of entities."""
    mentions: int = 0
    opening: int = 0
    """Mentions by a capital at the beginning of a sentence alone."""

    @property
    def sure(self) -> bool:
        """Whether it is a title, stands in a list of entities, or was extracted by a model."""
        return bool(self.kinds & {"title", "given", "extracted"})

    @property
    def label(self) -> str:
        """Its most frequent spelling, in titles if there are any; of equals, the first in the alphabet."""
        variants = self.given or self.variants
        return min(variants, key=lambda text: (-variants[text], text))


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage on its way into a knowledge base."""

    id: str
    document: str
    title: str
    section: str
    text: str
    given: tuple[str, ...] = ()
    """Names of entities that came with the document."""


_known_key = lru_cache(maxsize=200_000)(key_of_name)
"""Few names make up most of a collection."""


class Lexicon:
    """All names of a collection, by key."""

    def __init__(self) -> None:
        self.forms: dict[str, Form] = {}
        self.case = CaseCounts()
        self.acronyms: dict[str, set[str]] = {}
        """Key of an acronym to the keys of the names it is spelt out as."""

    def add(self, text: str, kind: Kind, *, opens: bool = False) -> None:
        """Count one occurrence of a name, if the text can be one."""
        text = " ".join(text.split())
        if len(text) > _LONGEST_NAME or not (key := _known_key(text)) or value_kind(text):
            return
        if key in STOP_WORDS and kind != "title" and not is_letters(text):
            return
        if (form := self.forms.get(key)) is None:
            form = self.forms[key] = Form(key)
        form.kinds.add(kind)
        form.variants[text] += 1
        if kind in {"title", "given"}:
            form.given[text] += 1
        if kind not in {"title", "given", "heading", "phrase"}:
            form.mentions += 1
            form.opening += opens


def _written(analysis: Analysis, span: NameSpan) -> str:
    """A name's text, with the full stop of its last initial ("U.S.")."""
    start, last = analysis.words[span.first].start, analysis.words[span.last]
    text = analysis.text[start : last.end]
    return text + "." if len(last.text) == 1 and "." in text and analysis.text[last.end :][:1] == "." else text


_ACRONYM = re.compile(r"\(\s*([A-Z][A-Z.&]{1,9})\s*\)")
_BEFORE = re.compile(r"((?:[^\W\d_][\w'\u2019&-]*\s+){1,9}?[^\W\d_][\w'\u2019&-]*)\s*$")
_LONGEST_BEFORE = 600
"""Characters before an acronym in which its name is looked for."""


def spelt_out(text: str) -> Iterator[tuple[str, str]]:
    """Keys of an acronym and its name, where a text has "Long Name (LN)" and the letters agree."""
    for short in _ACRONYM.finditer(text):
        before = _BEFORE.search(text[max(0, short.start() - _LONGEST_BEFORE) : short.start()])
        if before is None:
            continue
        letters = [c for c in short[1] if c.isalpha()]
        words = before[1].split()
        for size in range(len(letters), min(len(words), len(letters) + 3) + 1):
            name = words[-size:]
            if name[0][:1].isupper() and initials_fit(letters, name):
                yield key_of_name(short[1]), key_of_name(" ".join(name))
                break


def initials_fit(letters: Sequence[str], name: Sequence[str]) -> bool:
    """Whether the letters are the first letters of the name's words. Short words in lower case may be left out."""
    at = 0
    for word in name:
        if at < len(letters) and word[:1].casefold() == letters[at].casefold():
            at += 1
        elif word[:1].isupper() or len(word) > _SMALL_WORD:
            return False
    return at == len(letters)


def collect(chunks: Iterable[Chunk], lexicon: Lexicon) -> None:
    """First pass: count how words are written."""
    for chunk in chunks:
        lexicon.case.add(analyse(chunk.text))


def read_names(chunks: Iterable[Chunk], lexicon: Lexicon) -> None:
    """Second pass: add every name."""
    phrases = Phrases()
    for chunk in chunks:
        if chunk.title and key_of_name(chunk.title) not in GENERIC:
            lexicon.add(chunk.title, "title")
        for heading in chunk.section.split(" / "):
            if heading and key_of_name(heading) not in GENERIC:
                lexicon.add(heading, "heading")
        for name in chunk.given:
            lexicon.add(name, "given")
        analysis = analyse(chunk.text)
        for span in spans(analysis, lexicon.case):
            lexicon.add(_written(analysis, span), "quoted" if span.quoted else "capitals", opens=span.opens)
        phrases.add(analysis)
        for short, spelt in spelt_out(chunk.text):
            lexicon.acronyms.setdefault(short, set()).add(spelt)
    for phrase in phrases.found():
        lexicon.add(phrase, "phrase")
