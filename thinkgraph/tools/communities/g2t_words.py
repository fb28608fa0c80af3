"""The words, numbers, quotations and sentences of a generated text, each with its place: what the check of graph-to-text reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex
from rapidfuzz.distance import Prefix

from thinkgraph.tools.linking.lexical import STOP_WORDS, UNSPACED, stem
from thinkgraph.tools.linking.names import folded

# A possessive belongs to its word, and km2 is no number.
_TOKEN = regex.compile(
    rf"""
    (?P<number> \d{{1,3}} (?:[,'\u2019\u00a0\u2009\u202f]\d{{3}})+ (?:\.\d+)? (?![\d,])
              | \d+ (?:[.,]\d+)? (?:[eE][+-]?\d{{1,3}}\b)?
              | (?<![\w.])\.\d+ )  (?: (?i:st|nd|rd|th|s)\b )?
    | (?P<dotted> (?:\p{{L}}\.)+\p{{L}}(?!\w)\.? )
    | (?P<unspaced> {UNSPACED.pattern} )
    | (?P<word> (?: (?!{UNSPACED.pattern}) [\p{{L}}\p{{M}}\u200c\u200d] )+ )
      (?: (?<=\p{{Ll}})[23\u00b2\u00b3](?!\w) )?  (?: ['\u2019][sS](?![\w'\u2019]) )?
    """,
    regex.VERBOSE,
)
_ISO_DATE = regex.compile(r"(?<!\d)\d{4}-(\d{2})-\d{2}(?!\d)")
_THOUSANDS = regex.compile(r"[,'\u2019\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_QUOTED = regex.compile(
    '["\u201c\u201e\u00ab\u300c\u300e\u300a\u3008]'
    '([^"\u201c\u201d\u201e\u00ab\u00bb\u300d\u300f\u300b\u3009]+)'
    '["\u201c\u201d\u00bb\u300d\u300f\u300b\u3009]'
    # A foreign name in Japanese, which is written with a middle dot.
    "|([\u30a1-\u30fa\u30fc]+(?:[\u30fb\uff1d=][\u30a1-\u30fa\u30fc]+)+)"
)
# No sentence ends after "Mr." or "J.", nor before a small letter.
_END = regex.compile(
    r"(?:(?<!\b\p{Lu}\p{L}?)\.|[!?\u061f\u0964\u0965\u06d4])+[\"'\u201d\u2019)\]\u00bb]*(?=\s+[^\s\p{Ll}]|\s*$)"
    r"|[\u3002\uff01\uff1f]+|\n+"
)
_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905
_LEAST_STEM = 4
_MOST_ENDING = 3


@dataclass(frozen=True)
class TextWord:
    """One word or number of a text, at `text[start:end]`."""

    form: str
    """Folded and, where English, without its ending; of a number its digits, with a point before decimals."""
    raw: str
    """As the text has it."""
    start: int
    end: int
    number: float | None = None
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
def words_in(text: str) -> tuple[TextWord, ...]:
    """The words and numbers of a text, in order. Punctuation gives nothing; an apostrophe with s belongs to its word."""
    months = {match.start(1): int(match[1]) for match in _ISO_DATE.finditer(text)}
    found = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        raw, (start, end) = match[kind], match.span(kind)
        if kind == "number":
            plain = _THOUSANDS.sub("", raw).replace(",", ".")
            found.append(TextWord(plain, raw, start, end, number=float(plain), month=months.get(start, 0)))
            continue
        letters = raw.replace(".", "")
        name, capital = folded(letters), letters[0].isupper()
        month = next((n for n, month in enumerate(_MONTHS, start=1) if capital and name in {month, month[:3]}), 0)
        acronym = len(letters) > 1 and letters.isupper()
        found.append(TextWord(stem(name), raw, start, end, None, month, capital, acronym, kind == "unspaced"))
    return tuple(found)


def same_word(held: TextWord, said: TextWord) -> bool:
    """Whether a word of a text stands for a word of a label: equal, inflected, or the same number, rounded perhaps."""
    if said.number is not None and held.number is not None:
        decimals = len(said.form.partition(".")[2])
        return held.number == said.number or round(held.number, decimals) == said.number
    if said.number is not None:
        return held.month == said.number
    if held.number is not None:
        return bool(held.month) and held.month == said.month
    if held.unspaced or said.unspaced or held.acronym or said.acronym:
        return held.form == said.form
    return held.form == said.form or _inflected(held.form, said.form)


@lru_cache(maxsize=65536)
def _inflected(held: str, said: str) -> bool:
    """Whether two words differ in their endings alone: Tex-as, Tex-an. Other alphabets have prefixes and short stems too."""
    if not held.isascii() and len(held) > 1 and held in said:
        return len(said) - len(held) <= _MOST_ENDING
    shared = Prefix.similarity(held, said)
    short, long = sorted((len(held) - shared, len(said) - shared))
    return shared >= _LEAST_STEM and short <= 1 + (not held.isascii()) and long <= _MOST_ENDING


def spelt_out(word: TextWord, variant: Sequence[TextWord]) -> tuple[int, int] | None:
    """Which words of a name an acronym stands for, as a half-open range: US for the first two of United States Army.

    One letter more than the whole name has words is allowed: USA for United States.
    """
    if not word.acronym or word.form in {held.form for held in variant}:
        return None
    for first in range(len(variant)):
        letters = ""
        for end, held in enumerate(variant[first:], start=first + 1):
            letters += held.form if held.acronym else held.form[:1]
            whole = first == 0 and end == len(variant) and letters == word.form[:-1]
            if end - first > 1 and (letters == word.form or whole):
                return first, end
            if not word.form.startswith(letters):
                break
    return None


def quotations(text: str) -> list[tuple[int, int]]:
    """Where quoted stretches stand, without their marks, of any of the usual pairs."""
    return [match.span(match.lastindex) for match in _QUOTED.finditer(text)]


def sentences(text: str) -> list[tuple[int, int]]:
    """The spans of a text's sentences."""
    ends = [match.end() for match in _END.finditer(text)]
    spans = zip([0, *ends], [*ends, len(text)], strict=True)
    return [(start, end) for start, end in spans if text[start:end].strip()]
