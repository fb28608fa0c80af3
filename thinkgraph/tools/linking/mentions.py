"""Stretches of a text that may name an entity, found without a model and in any alphabet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import regex

from thinkgraph.tools.linking.lexical import STOP_WORDS, UNSPACED
from thinkgraph.tools.linking.names import normal_name, word_set

MAX_CHARACTERS = 8000
"""Characters of a text that are read."""
MAX_WORDS = 16
"""Words of the longest mention: titles of films and papers are long."""
_HARDLY_A_SENTENCE = 4
"""Words of a text whose first one may be a name, though it begins a sentence."""

_MAX_UNSPACED = 12
_MAX_QUOTE = 200
_UNSPACED_RUN = UNSPACED.pattern
# Marks within words are vowel signs of Indic scripts and accents.
_SPACED_RUN = rf"(?:(?!{_UNSPACED_RUN})[\p{{L}}\p{{N}}\p{{M}}_])+"
_WORD = regex.compile(rf"{_UNSPACED_RUN}+|(?!\p{{M}}){_SPACED_RUN}(?:['\u2019]{_SPACED_RUN})*")
_QUOTED = re.compile(
    r"\"([^\"\n]+)\"|\u201c([^\u201d\n]+)\u201d|\u00ab([^\u00bb\n]+)\u00bb|\u300c([^\u300d\n]+)\u300d"
    r"|\u300e([^\u300f\n]+)\u300f|\u201e([^\u201c\n]+)\u201c|(?:(?<=\s)|^)['\u2018]([^'\u2019\n]+)['\u2019](?=\W|$)"
)
# What may stand between two words of one name: "Guinea-Bissau", "St. Lucia", "Congo, Republic of the", "AT&T", "Oh, God! You Devil",
# "Europe '51", "Mo' Money".
_JOINT = re.compile(
    r"['\u2019]?[ \t\u00a0]*(?:\.\.\.|[-.,&/(:!?%\u2010-\u2015\u2026\u00b7])?[ \t\u00a0]*[('\u2018\u2019]?"
)
_END = re.compile(r"\.\.\.|\+\+|[.!?%+#\u2026]")
"""What may belong to a name behind its last word: "U.S.", "Yahoo!", "In a World...", "C++"."""
# The dots of "L.A." end no sentence: nothing stands between them and the next word. Nor does that of "Mt. Kenya".
_NOT_SHORT = r"(?<!\b[A-Z])(?<!\b(?:Dr|Ft|Jr|Mr|Ms|Mt|Sr|St))(?<!\bMrs)"
_SENTENCE_END = re.compile(
    rf"(?:^|(?:{_NOT_SHORT}\.|[?!:;])(?=[\s\"'\u201c\u2018(])|[\n\u3002\uff1f\uff01])[\s\"'\u201c\u2018(]*$"
)
_POSSESSIVE = re.compile(r"['\u2019][sS]?$")
_ELISION = re.compile(r"^[A-Za-z]{1,4}['\u2019](?=\w{2})")
_HANGUL = re.compile(r"[\uac00-\ud7af]")
_CONNECTORS = word_set("of the and de da do dos del der den di du la le les van von y e al el bin ibn for in on")
"""Small words within names."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the text that may be a mention."""

    start: int
    end: int
    words: int
    quoted: bool = False
    capitals: bool = False
    """Whether a capital marks it as a name; one that only begins a sentence does not."""


@dataclass(slots=True)
class Word:
    """A word with its place and how it is written."""

    start: int
    end: int
    text: str
    upper: bool
    opens: bool
    """Whether it begins a sentence, where a capital says nothing."""
    stop: bool
    unspaced: bool


@dataclass(slots=True)
class Mentions:
    """One text taken apart."""

    text: str
    words: list[Word]
    quotes: list[tuple[int, int]]
    spans: list[Span] = field(default_factory=list)

    def said(self, span: Span) -> str:
        """The words of a span."""
        return self.text[span.start : span.end]

    @property
    def has_capitals(self) -> bool:
        """Whether the writer uses capitals at all within sentences."""
        return any(word.upper and not word.opens for word in self.words)


def free(place: Span | Word, taken: Iterable[Span]) -> bool:
    """Whether a place overlaps no taken span."""
    return all(place.end <= other.start or place.start >= other.end for other in taken)


def analyse(text: str, budget: int) -> Mentions:
    """Words, quotations and at most `budget` candidate spans of the first 8,000 characters of `text`."""
    text = text[:MAX_CHARACTERS]
    quotes = [match.span(match.lastindex or 0) for match in _QUOTED.finditer(text) if len(match.group()) <= _MAX_QUOTE]
    words = [
        Word(
            start=match.start(),
            end=match.end(),
            text=match[0],
            upper=match[0][0].isupper(),
            opens=bool(_SENTENCE_END.search(text[max(0, match.start() - 40) : match.start()])),
            stop=normal_name(_POSSESSIVE.sub("", match[0])) in STOP_WORDS,
            unspaced=bool(UNSPACED.match(match[0])),
        )
        for match in _WORD.finditer(text)
    ]
    mentions = Mentions(text, words, quotes)
    spans: dict[tuple[int, int], Span] = {}
    for span in _candidates(mentions):
        if len(spans) >= budget:
            break
        if mentions.said(span).strip():
            spans.setdefault((span.start, span.end), span)
    mentions.spans = list(spans.values())
    return mentions


def _candidates(mentions: Mentions) -> Iterator[Span]:
    """Quotations, a short text as a whole, and runs of words; some twice."""
    text, words = mentions.text, mentions.words
    for start, end in mentions.quotes:
        inside = text[start:end].rstrip(" .,;")
        yield Span(start, start + len(inside), inside.count(" ") + 1, quoted=True)
        yield Span(start, end, inside.count(" ") + 1, quoted=True)
    bare = text.strip()
    if bare and len(bare) <= _MAX_QUOTE and len(words) <= 2 * MAX_WORDS:
        start = text.index(bare)
        yield Span(start, start + len(bare), max(len(words), 1), capitals=any(word.upper for word in words))
    for first, last, start, end in _stretches_of_words(text, words):
        # A capital that begins a sentence says nothing, unless all letters are capitals.
        capitals = any(
            word.upper and (not word.opens or (len(word.text) > 1 and word.text.isupper()))
            for word in words[first : last + 1]
        )
        yield Span(start, end, last - first + 1, capitals=capitals)


def _stretches_of_words(text: str, words: list[Word]) -> Iterator[tuple[int, int, int, int]]:
    """First and last word, start and end of every run of words that may be a name, and of its variants."""
    joined = [bool(_JOINT.fullmatch(text, left.end, right.start)) for left, right in pairwise(words)]
    # Short ones first, so that the budget of a long text cuts off the long ones.
    for count in range(1, MAX_WORDS + 1):
        for first in range(len(words) - count + 1):
            last = first + count - 1
            if count == 1 and words[first].unspaced:
                places = _unspaced(words[first])
            elif all(joined[first:last]) and _may_be_name(words[first : last + 1]):
                places = _variants(text, words[first : last + 1])
            else:
                continue
            for start, end in places:
                yield first, last, start, end


def _may_be_name(stretch: list[Word]) -> bool:
    """Whether a run of words neither begins nor ends with a function word, or with one that is written as part of a name."""
    first, last = stretch[0], stretch[-1]
    if len(stretch) == 1:
        return True
    if last.stop and not (last.upper and not last.opens):
        # "Congo, Republic of the" and the like are inverted names; nothing else ends so.
        return last.text == "the" and any("," in word.text for word in stretch)
    return not first.stop or first.upper or normal_name(first.text) in {"the", "a", "an"}


def _variants(text: str, stretch: list[Word]) -> list[tuple[int, int]]:
    start, end = stretch[0].start, stretch[-1].end
    out = [(start, end)]
    last = stretch[-1].text
    possessive = _POSSESSIVE.search(last)
    if possessive and possessive.start() > 0:
        out.append((start, end - len(possessive.group())))
    if (elision := _ELISION.match(stretch[0].text)) is not None:
        out.append((start + elision.end(), end))
    if found := _END.match(text, end):
        out.append((start, found.end()))
    elif text[end : end + 1] == ")" and "(" in text[start:end]:
        # "Congo (Kinshasa)"
        out.append((start, end + 1))
    if _HANGUL.match(last[-1]):
        # Korean particles stick to the noun.
        out.extend((start, end - cut) for cut in (1, 2) if len(last) - cut > 1)
    return out


def _unspaced(word: Word) -> list[tuple[int, int]]:
    length = word.end - word.start
    if length == 1:
        return [(word.start, word.end)]
    return [
        (start, start + size)
        for size in range(2, min(length, _MAX_UNSPACED) + 1)
        for start in range(word.start, word.end - size + 1)
    ]


def negligible(span: Span, mentions: Mentions) -> bool:
    """Whether a matched span is too short or too common to be a mention, as it is written."""
    text = mentions.said(span)
    if span.quoted or len(mentions.text.strip()) == len(text) or UNSPACED.match(text):
        return False
    name = normal_name(text)
    if name == "i":
        return True
    common = name in STOP_WORDS or not any(letter.isalnum() for letter in name)
    if len(name) <= 2 and name.isascii():  # noqa: PLR2004 - two letters
        # In a text without capitals these may be names: "the us", "uk".
        before = mentions.text[: span.start].rstrip().casefold()
        common = mentions.has_capitals or (common and not before.endswith((" the", "\nthe")) and before != "the")
    return common and not span.capitals


def stretches(mentions: Mentions, taken: list[Span], limit: int) -> list[Span]:
    """Quoted and capitalised stretches, longest possible, that overlap no taken span; at most `limit`."""
    quoted = [Span(start, end, 1, quoted=True) for start, end in mentions.quotes]
    out = [span for span in quoted if free(span, taken)]
    for group in _named_groups(mentions, taken):
        while group and not group[-1].upper and not group[-1].text.isdigit():
            group.pop()
        # A lone capital at the head of a sentence is grammar, unless there is hardly a sentence.
        if group and not (len(group) == 1 and group[0].opens and len(mentions.words) > _HARDLY_A_SENTENCE):
            possessive = _POSSESSIVE.search(group[-1].text)
            end = group[-1].end - (len(possessive[0]) if possessive else 0)
            span = Span(group[0].start, end, len(group), capitals=True)
            if free(span, out):
                out.append(span)
    return out[:limit]


def _named_groups(mentions: Mentions, taken: list[Span]) -> Iterator[list[Word]]:
    """Runs of words outside the taken spans that begin with a capital and may be one name."""
    group: list[Word] = []
    for word in mentions.words:
        between = mentions.text[group[-1].end : word.start] if group else ""
        if group and (not _JOINT.fullmatch(between) or not set("!?").isdisjoint(between)):
            yield group
            group = []
        if free(word, taken) and _continues_name(word, begun=bool(group)):
            group.append(word)
        elif group:
            yield group
            group = []
    if group:
        yield group


def _continues_name(word: Word, *, begun: bool) -> bool:
    if begun and (word.text.isdigit() or word.text in _CONNECTORS):
        return True
    return word.upper and not (word.stop and (word.opens or word.text == "I"))


def left_over(mentions: Mentions, taken: list[Span], limit: int) -> list[Word]:
    """The content words outside the taken spans, in order; at most `limit`."""
    return [word for word in mentions.words if not word.stop and free(word, taken)][:limit]
