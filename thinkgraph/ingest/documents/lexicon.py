"""The names that a collection of documents uses: titles, headings, names in the text, phrases that come back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from thinkgraph.ingest.documents.lists import GENERIC
from thinkgraph.ingest.documents.names import CaseCounts, Span, is_letters, spans
from thinkgraph.ingest.documents.phrases import Phrases
from thinkgraph.ingest.documents.words import Analysis, analyse, key_of_name
from thinkgraph.tools.linking.lexical import STOP_WORDS
from thinkgraph.tools.values import value_kind

Kind = Literal["title", "short", "given", "heading", "capitals", "quoted", "phrase", "extracted"]

_LONGEST_NAME = 200
_SMALL_WORD = 3


@dataclass(slots=True)
class Form:
    """One name as it is written, whatever its capitals and accents."""

    key: str
    kinds: set[Kind] = field(default_factory=set)
    variants: Counter[str] = field(default_factory=Counter)
    """How it is written, and how often."""
    given: Counter[str] = field(default_factory=Counter)
    """How those write it who named it: titles, lists of entities."""
    mentions: int = 0
    opening: int = 0
    """Mentions whose only sign is the head of a sentence."""

    @property
    def sure(self) -> bool:
        """Whether somebody named it: a title, or a list of entities."""
        return bool(self.kinds & {"title", "given", "extracted"})

    @property
    def label(self) -> str:
        """The most frequent way of writing it, a title's where there is one; of equals, the first in the alphabet."""
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


class Lexicon:
    """All names of a collection, by key."""

    def __init__(self) -> None:
        self.forms: dict[str, Form] = {}
        self.case = CaseCounts()
        self.acronyms: dict[str, set[str]] = {}
        """Key of an acronym to the names that some text spells it out as."""

    def add(self, text: str, kind: Kind, *, opens: bool = False) -> Form | None:
        """Take in one occurrence of a name; None if it can be none."""
        text = " ".join(text.split())
        key = key_of_name(text)
        if not key or len(text) > _LONGEST_NAME or value_kind(text):
            return None
        if key in STOP_WORDS and kind != "title" and not is_letters(text):
            return None
        form = self.forms.get(key)
        if form is None:
            form = self.forms[key] = Form(key)
        form.kinds.add(kind)
        form.variants[text] += 1
        if kind in {"title", "given"}:
            form.given[text] += 1
        if kind not in {"title", "given", "heading", "phrase"}:
            form.mentions += 1
            form.opening += opens
        return form


def _written(analysis: Analysis, span: Span) -> str:
    """A name's text, with the point of its last initial ("U.S.")."""
    start, last = analysis.words[span.first].start, analysis.words[span.last]
    text = analysis.text[start : last.end]
    return text + "." if len(last.text) == 1 and "." in text and analysis.text[last.end :][:1] == "." else text


_SPELT_OUT = re.compile(r"((?:[^\W\d_][\w'\u2019&-]*\s+){1,9}?[^\W\d_][\w'\u2019&-]*)\s*\(\s*([A-Z][A-Z.&]{1,9})\s*\)")


def spelt_out(text: str) -> Iterator[tuple[str, str]]:
    """Keys of an acronym and of the name before it, wherever a text has "Long Name (LN)" and the letters agree."""
    for found in _SPELT_OUT.finditer(text):
        letters = [c for c in found[2] if c.isalpha()]
        words = found[1].split()
        for size in range(len(letters), min(len(words), len(letters) + 3) + 1):
            name = words[-size:]
            if name[0][:1].isupper() and initials_fit(letters, name):
                yield key_of_name(found[2]), key_of_name(" ".join(name))
                break


def initials_fit(letters: Sequence[str], name: Sequence[str]) -> bool:
    """Whether the letters are the first letters of the name's words; small words may go without one."""
    at = 0
    for word in name:
        if at < len(letters) and word[:1].casefold() == letters[at].casefold():
            at += 1
        elif word[:1].isupper() or len(word) > _SMALL_WORD:
            return False
    return at == len(letters)


def collect(chunks: Iterable[Chunk], lexicon: Lexicon) -> None:
    """First look: how words are written."""
    for chunk in chunks:
        lexicon.case.add(analyse(chunk.text))


def read_names(chunks: Iterable[Chunk], lexicon: Lexicon) -> None:
    """Second look: every name that a passage writes as one."""
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
