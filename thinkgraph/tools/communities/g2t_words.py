"""The words, numbers, quotations and sentences of a generated text, each with its place: what the check of graph-to-text reads."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from thinkgraph.tools.linking.lexical import STOP_WORDS, UNSPACED, stem
from thinkgraph.tools.linking.names import folded

_NUMBER = re.compile(
    r"\d{1,3}(?:[,'\u2019\u00a0\u2009\u202f]\d{3})+(?:\.\d+)?(?![\d,])|\d+(?:[.,]\d+)?(?:[eE][+-]?\d{1,3}\b)?|(?<![\w.])\.\d+"
)
_AFTER_NUMBER = re.compile(r"(?:st|nd|rd|th|s)\b", re.IGNORECASE)
_UNIT_POWER = re.compile(r"[23\u00b2\u00b3](?!\w)")
_ISO_DATE = re.compile(r"(?<!\d)\d{4}-(\d{2})-\d{2}(?!\d)")
_SPAN_OF_YEARS = re.compile(r"(?<!\d)(\d{2})(\d{2})[-/\u2013](\d{2})(?![\d-])")
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_](?!\w)\.?")
_POSSESSIVE = re.compile(r"['\u2019][sS](?![\w'\u2019])")
_QUOTED = re.compile(
    '"([^"]+)"|\u201c([^\u201d"]+)[\u201d"]|\u201e([^\u201c\u201d]+)[\u201c\u201d]|\u00ab([^\u00bb]+)\u00bb'
    "|\u300c([^\u300d]+)\u300d|\u300e([^\u300f]+)\u300f|\u300a([^\u300b]+)\u300b|\u3008([^\u3009]+)\u3009"
)
_END = re.compile(r"[.!?\u061f\u0964\u0965\u06d4]+[\"'\u201d\u2019)\]\u00bb]*(?=\s|$)|[\u3002\uff01\uff1f]+|\n+")
_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st mt ft jr sr no vs inc ltd co corp gen lt col sgt capt rev hon gov sen rep ca approx".split()  # noqa: SIM905
)
_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905
_KATAKANA_NAME = re.compile("[\u30a1-\u30fa\u30fc]+(?:[\u30fb\uff1d=][\u30a1-\u30fa\u30fc]+)+")
_INFLECTED = frozenset(
    ("", "s", "n", "an", "ns", "ans", "ian", "ians", "ean", "ese", "ish", "ic", "i", "er", "ers", "ing", "ed")
)
_BARE = frozenset(("", "a", "o", "y", "e", "ia", "s", "es", "ly", "al"))
_LEAST_STEM = 4
_MOST_ENDING = 3
_MOST_CASE = 2


@dataclass(frozen=True)
class Word:
    """One word or number of a text, at `text[start:end]`."""

    form: str
    """Folded and, where English, without its ending; the digits of a number as written."""
    start: int
    end: int
    number: float | None = None
    decimals: int = 0
    """Digits after a number's point: how far it was rounded."""
    month: int = 0
    """1 to 12 for the name of a month, and for the month of an ISO date."""
    capital: bool = False
    """It starts with a capital letter."""
    acronym: bool = False
    """Several letters, all of them capitals."""
    unspaced: bool = False
    """One character of a script without spaces between words."""

    @property
    def stop(self) -> bool:
        """An English function word, which names nothing."""
        return self.form in STOP_WORDS and not self.acronym


@lru_cache(maxsize=4096)
def words_in(text: str) -> tuple[Word, ...]:
    """The words and numbers of a text, in order. Punctuation gives nothing; an apostrophe with s belongs to its word."""
    iso = {match.start(1): int(match[1]) for match in _ISO_DATE.finditer(text)}
    # 2014–15 ends in 2015.
    ends = {m.start(3): float(m[1] + m[3]) for m in _SPAN_OF_YEARS.finditer(text) if m[3] > m[2]}
    return tuple(_scan(text, iso, ends))


def _scan(text: str, iso: dict[int, int], ends: dict[int, float]) -> Iterator[Word]:
    at = 0
    while at < len(text):
        if (found := _NUMBER.match(text, at)) is not None:
            value, decimals = _value(found[0])
            value = ends.get(at, value)
            month = iso.get(at, 0)
            at = found.end()
            tail = _AFTER_NUMBER.match(text, at)
            end = tail.end() if tail else at
            yield Word(found[0], found.start(), end, number=value, decimals=decimals, month=month)
            at = end
        elif (found := _DOTTED.match(text, at)) is not None:
            letters = found[0].replace(".", "")
            capital = letters[0].isupper()
            yield Word(folded(letters), at, found.end(), capital=capital, acronym=letters.isupper())
            at = found.end()
        elif UNSPACED.match(text, at):
            yield Word(folded(text[at]), at, at + 1, unspaced=True)
            at += 1
        elif _letter(text[at]):
            end = at + 1
            while end < len(text) and _letter(text[end]) and not UNSPACED.match(text, end):
                end += 1
            yield _word(text, at, end)
            if text[end - 1].islower() and (unit := _UNIT_POWER.match(text, end)):
                # km2 is no number.
                end = unit.end()
            tail = _POSSESSIVE.match(text, end)
            at = tail.end() if tail else end
        else:
            at += 1


def _letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LM" or character in "\u200c\u200d"


def _word(text: str, start: int, end: int) -> Word:
    raw = text[start:end]
    name = folded(raw)
    month = next((n for n, month in enumerate(_MONTHS, start=1) if name in {month, month[:3]}), 0)
    return Word(
        stem(name),
        start,
        end,
        month=month if raw[0].isupper() else 0,
        capital=raw[0].isupper(),
        acronym=len(raw) > 1 and raw.isupper(),
    )


def _value(digits: str) -> tuple[float, int]:
    plain = re.sub(r"[,'\u2019\u00a0\u2009\u202f](?=\d{3}(?!\d))", "", digits).replace(",", ".")
    _, _, decimals = plain.partition(".")
    return float(plain), len(decimals) if decimals.isdigit() else 0


def same_word(held: Word, said: Word) -> bool:
    """Whether a word of a text stands for a word of a label: equal, inflected, or the same number, rounded perhaps."""
    if said.number is not None:
        if held.number is None:
            return held.month == said.number
        return round(held.number, said.decimals) == round(said.number, said.decimals) or held.number == said.number
    if held.number is not None:
        return bool(held.month) and held.month == said.month
    if held.form == said.form:
        return True
    if held.unspaced or said.unspaced or held.acronym or said.acronym:
        return False
    return _inflected(held.form, said.form)


def spelt_out(word: Word, variant: Sequence[Word]) -> tuple[int, int] | None:
    """Which words of a name an acronym stands for, as a half-open range: US for the first two of United States Army.

    One letter more than the whole name has words is allowed: USA for United States.
    """
    if not word.acronym or word.form in {held.form for held in variant}:
        return None
    for first in range(len(variant)):
        letters = ""
        for last in range(first, len(variant)):
            held = variant[last]
            letters += held.form if held.acronym else held.form[:1]
            if last > first and letters == word.form:
                return first, last + 1
            if last > first == 0 and last + 1 == len(variant) and letters == word.form[:-1]:
                return 0, last + 1
            if not word.form.startswith(letters):
                break
    return None


@lru_cache(maxsize=65536)
def _inflected(held: str, said: str) -> bool:
    if len(held) >= 2 and said.startswith(held) and _agglutinates(held):  # noqa: PLR2004 - Korean names have two syllables
        return len(said) - len(held) <= _MOST_ENDING
    if len(held) >= _MOST_ENDING and said.endswith(held) and _prefixes(held):
        return len(said) - len(held) <= _MOST_ENDING
    shared = 0
    for one, other in zip(held, said, strict=False):
        if one != other:
            break
        shared += 1
    if not (held.isascii() and said.isascii()) and shared >= _LEAST_STEM:
        # Languages that decline their names: Китай, Китая; Helsinki, Helsingin would be too far apart.
        if max(len(held), len(said)) - shared <= _MOST_CASE:
            return True
        if shared == len(held):
            return len(said) - shared <= _MOST_ENDING + 1
    # The stem may end a letter before the forms part: Tex-as, Tex-an.
    return any(
        (held[cut:] in _BARE and said[cut:] in _INFLECTED) or (held[cut:] in _INFLECTED and said[cut:] in _BARE)
        for cut in range(_LEAST_STEM, shared + 1)
    )


def _agglutinates(word: str) -> bool:
    return all("\uac00" <= character <= "\ud7af" for character in word)


def _prefixes(word: str) -> bool:
    return all("\u0590" <= character <= "\u06ff" for character in word)


def quotations(text: str) -> list[tuple[int, int]]:
    """Where quoted stretches stand, without their marks, of any of the usual pairs."""
    found = []
    for match in _QUOTED.finditer(text):
        group = next(number for number, inside in enumerate(match.groups(), start=1) if inside is not None)
        found.append(match.span(group))
    return found + [match.span() for match in _KATAKANA_NAME.finditer(text)]


def sentences(text: str, words: Sequence[Word], whole: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans of a text's sentences. No sentence ends inside a span of `whole` (a name such as "Washington, D.C.")."""
    found = []
    start = 0
    for match in _END.finditer(text):
        at = match.start()
        if any(first <= at < last - 1 for first, last in whole) or _abbreviates(text, words, match):
            continue
        found.append((start, match.end()))
        start = match.end()
    if text[start:].strip():
        found.append((start, len(text)))
    return found


def _abbreviates(text: str, words: Sequence[Word], end: re.Match[str]) -> bool:
    if end[0][0] != "." or end.end() == len(text):
        return False
    following = text[end.end() :].lstrip()
    if following and following[0].islower():
        return True
    last = next((word for word in reversed(words) if word.start < end.end()), None)
    if last is None or last.number is not None:
        return False
    return last.form in _ABBREVIATIONS or (last.capital and len(last.form) == 1)
