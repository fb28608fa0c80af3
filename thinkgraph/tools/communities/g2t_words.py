"""The words, numbers, quotations and sentences of a generated text, each with its place: what the check of graph-to-text reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

import regex

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
_SPAN_OF_YEARS = regex.compile(r"(?<!\d)(\d{2})(\d{2})[-/\u2013](\d{2})(?![\d-])")
_THOUSANDS = regex.compile(r"[,'\u2019\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_QUOTED = regex.compile(
    '"([^"]+)"|\u201c([^\u201d"]+)[\u201d"]|\u201e([^\u201c\u201d]+)[\u201c\u201d]|\u00ab([^\u00bb]+)\u00bb'
    "|\u300c([^\u300d]+)\u300d|\u300e([^\u300f]+)\u300f|\u300a([^\u300b]+)\u300b|\u3008([^\u3009]+)\u3009"
    # A foreign name in Japanese, which is written with a middle dot.
    "|([\u30a1-\u30fa\u30fc]+(?:[\u30fb\uff1d=][\u30a1-\u30fa\u30fc]+)+)"
)
_END = regex.compile(r"[.!?\u061f\u0964\u0965\u06d4]+[\"'\u201d\u2019)\]\u00bb]*(?=\s|$)|[\u3002\uff01\uff1f]+|\n+")
_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st mt ft jr sr no vs inc ltd co corp gen lt col sgt capt rev hon gov sen rep ca approx".split()  # noqa: SIM905
)
_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905
_INFLECTED = frozenset(
    ("", "s", "n", "an", "ns", "ans", "ian", "ians", "ean", "ese", "ish", "ic", "i", "er", "ers", "ing", "ed")
)
_BARE = frozenset(("", "a", "o", "y", "e", "ia", "s", "es", "ly", "al"))
_HANGUL = regex.compile("[\uac00-\ud7af]{2,}")
"""Takes endings; Korean names have two syllables."""
_SEMITIC = regex.compile("[\u0590-\u06ff]{3,}")
"""Takes prefixes."""
_LEAST_STEM = 4
_MOST_ENDING = 3
_MOST_CASE = 2


@dataclass(frozen=True)
class TextWord:
    """One word or number of a text, at `text[start:end]`."""

    form: str
    """Folded and, where English, without its ending; the digits of a number as written."""
    raw: str
    """As the text has it."""
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
def words_in(text: str) -> tuple[TextWord, ...]:
    """The words and numbers of a text, in order. Punctuation gives nothing; an apostrophe with s belongs to its word."""
    months = {match.start(1): int(match[1]) for match in _ISO_DATE.finditer(text)}
    # 2014–15 ends in 2015.
    years = {m.start(3): float(m[1] + m[3]) for m in _SPAN_OF_YEARS.finditer(text) if m[3] > m[2]}
    return tuple(_word(match, months, years) for match in _TOKEN.finditer(text))


def _word(match: regex.Match[str], months: Mapping[int, int], years: Mapping[int, float]) -> TextWord:
    raw = match[match.lastgroup]
    start, end = match.span(match.lastgroup)
    if match.lastgroup == "number":
        plain = _THOUSANDS.sub("", raw).replace(",", ".")
        fraction = plain.partition(".")[2]
        decimals = len(fraction) if fraction.isdigit() else 0
        value = years.get(start, float(plain))
        return TextWord(raw, raw, start, match.end(), number=value, decimals=decimals, month=months.get(start, 0))
    letters = raw.replace(".", "")
    name, capital = folded(letters), letters[0].isupper()
    month = next((n for n, month in enumerate(_MONTHS, start=1) if name in {month, month[:3]}), 0) if capital else 0
    return TextWord(
        stem(name),
        raw,
        start,
        end,
        month=month,
        capital=capital,
        acronym=len(letters) > 1 and letters.isupper(),
        unspaced=match.lastgroup == "unspaced",
    )


def same_word(held: TextWord, said: TextWord) -> bool:
    """Whether a word of a text stands for a word of a label: equal, inflected, or the same number, rounded perhaps."""
    if said.number is not None and held.number is not None:
        return round(held.number, said.decimals) == round(said.number, said.decimals) or held.number == said.number
    if said.number is not None:
        return held.month == said.number
    if held.number is not None:
        return bool(held.month) and held.month == said.month
    if held.unspaced or said.unspaced or held.acronym or said.acronym:
        return held.form == said.form
    return held.form == said.form or _inflected(held.form, said.form)


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


@lru_cache(maxsize=65536)
def _inflected(held: str, said: str) -> bool:
    longer = len(said) - len(held)
    if said.startswith(held) and _HANGUL.fullmatch(held):
        return longer <= _MOST_ENDING
    if said.endswith(held) and _SEMITIC.fullmatch(held):
        return longer <= _MOST_ENDING
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(held, said, strict=False)))
    # Languages that decline their names: Китай, Китая; Helsinki, Helsingin would be too far apart.
    if (
        not (held.isascii() and said.isascii())
        and shared >= _LEAST_STEM
        and (max(len(held), len(said)) - shared <= _MOST_CASE or (shared == len(held) and longer <= _MOST_ENDING + 1))
    ):
        return True
    # The stem may end a letter before the forms part: Tex-as, Tex-an.
    return any(
        (held[cut:] in _BARE and said[cut:] in _INFLECTED) or (held[cut:] in _INFLECTED and said[cut:] in _BARE)
        for cut in range(_LEAST_STEM, shared + 1)
    )


def quotations(text: str) -> list[tuple[int, int]]:
    """Where quoted stretches stand, without their marks, of any of the usual pairs."""
    return [match.span(match.lastindex) for match in _QUOTED.finditer(text)]


def sentences(text: str, words: Sequence[TextWord], whole: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans of a text's sentences. No sentence ends inside a span of `whole` (a name such as "Washington, D.C.")."""
    ends = [
        match.end()
        for match in _END.finditer(text)
        if not any(first <= match.start() < last - 1 for first, last in whole) and not _abbreviates(text, words, match)
    ]
    starts = [0, *ends]
    return [span for span in zip(starts, [*ends, len(text)], strict=True) if text[slice(*span)].strip()]


def _abbreviates(text: str, words: Sequence[TextWord], end: regex.Match[str]) -> bool:
    if end[0][0] != "." or end.end() == len(text):
        return False
    following = text[end.end() :].lstrip()
    if following and following[0].islower():
        return True
    last = next((word for word in reversed(words) if word.start < end.end()), None)
    if last is None or last.number is not None:
        return False
    return last.form in _ABBREVIATIONS or (last.capital and len(last.form) == 1)
