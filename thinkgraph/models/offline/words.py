"""Words of questions and labels: tokens, stems, weights, numbers, how near two words are, and what a question asks for."""

from __future__ import annotations

import math
import re
import threading
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, TypeVar

import yaml

from thinkgraph.prompts.tasks import in_other_language

T = TypeVar("T")
Embed = Callable[[Sequence[str]], list[list[float]]]
"""Unit vectors for texts."""

_WORD = re.compile(r"[^\W_]+(?:['\u2019.][^\W_]+)*")
_CACHE = 50_000
_NUMBER = re.compile(r"[-\u2212]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[-\u2212]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_DATE = re.compile(r"^(-?\d{1,4})-(\d{1,2})(?:-(\d{1,2}))?(?:T.*)?$")
_SCALE = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SCALED = re.compile(r"\s*(thousand|million|billion|trillion)\b", re.IGNORECASE)

_TABLE: dict[str, Any] = yaml.safe_load(
    resources.files("thinkgraph.models").joinpath("offline/words.yaml").read_text("utf-8")
)
_AUXILIARY, _ASKING, _DENYING, _MORE, _LESS = (
    frozenset(_TABLE[name].split()) for name in ("auxiliary", "asking", "denying", "more", "less")
)
STOP = frozenset(_TABLE["stop"].split())
"""Words without a meaning that evidence could explain."""
WEAK = frozenset(_TABLE["weak"].split())
"""Words that name the sort of a thing. They weigh little."""
COMPARING = _MORE | _LESS
"""Superlatives and comparatives."""
_COUNT = re.compile(r"\bhow many\b|\bnumber of\b", re.IGNORECASE)
_QUANTITY = re.compile(
    r"\bhow (?:much|old|high|long|tall|large|big|deep|far|wide|heavy)\b|\bwhat age\b|\bpercent", re.IGNORECASE
)
_QUESTION_MARK = re.compile(r"[?\uff1f\u061f\u037e]|;\s*$")
"""Greek writes a semicolon."""
_TIME = re.compile(r"\bwhen\b|\b(?:what|which) (?:year|date|day|month)\b", re.IGNORECASE)


def tokens(text: str) -> list[str]:
    """Lower-case words without accents; a possessive 's is dropped."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text.replace("_", " ")) if not unicodedata.combining(c))
    found = [word.replace("\u2019", "'").casefold() for word in _WORD.findall(plain)]
    return [word.removesuffix("'s") for word in found]


@lru_cache(maxsize=_CACHE)
def stem(word: str) -> str:
    """A rough English stem: enough to bring `borders`, `bordering` and `border` together."""
    for ending, cut in (("ies", "y"), ("sses", "ss")):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)] + cut
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2 and not word.endswith(("ss", "us", "is", "eed")):
            word = word[: -len(ending)]
            break
    return word.rstrip("e") if len(word) > 3 else word  # noqa: PLR2004


_SYNONYMS: dict[str, set[int]] = {}
for _number, _group in enumerate(_TABLE["synonyms"]):
    for _word in _group.split():
        _SYNONYMS.setdefault(stem(_word), set()).add(_number)


def _is_known(word: str) -> bool:
    return word in STOP or word in WEAK or word in COMPARING or stem(word) in _SYNONYMS


def content(words: Iterable[str]) -> list[str]:
    """The words that carry meaning; all of them where none would be left."""
    every = list(words)
    return [word for word in every if word not in STOP] or every


def weight(word: str) -> float:
    """How much it matters that a question's word is explained by the evidence."""
    if word in STOP:
        return 0.0
    return 0.25 if word in WEAK else 1.0


def nearness(one: str, other: str) -> float:
    """1 for the same stem, 0.8 for words of one group of synonyms, else 0."""
    first, second = stem(one), stem(other)
    return 1.0 if first == second else 0.8 * bool(_SYNONYMS.get(first, set()) & _SYNONYMS.get(second, set()))


def number_in(text: str) -> float | None:
    """The first number of a label, scale words applied; a date as years. None where there is no number.

    >>> number_in("2,381,740 sq km"), number_in("about 4.2 million"), number_in("Panama")
    (2381740.0, 4200000.0, None)
    """
    date = _DATE.match(text.strip())
    if date:
        return int(date[1]) + (int(date[2]) - 1) / 12 + (int(date[3] or 1) - 1) / 372
    found = _NUMBER.search(text)
    if not found:
        return None
    value = float(found.group().replace(",", "").replace("\u2212", "-"))
    scaled = _SCALED.match(text, found.end())
    return value * _SCALE[scaled[1].casefold()] if scaled else value


def is_literal(text: str) -> bool:
    """Whether a label looks like a value rather than a name: a number with at most a unit behind it, or a date."""
    return bool(
        _DATE.match(text.strip()) or re.match(r"^[-\u2212$]?\d[\d,.]*(?:[eE][-+]?\d+)?\s*[^\d]{0,20}$", text.strip())
    )


class Similarity:
    """Nearness of words and phrases, by letters alone or with the help of a sentence encoder. Safe for threads."""

    def __init__(self, embed: Embed | None) -> None:
        self._embed = embed
        self.has_vectors = embed is not None
        """Whether there is an encoder."""
        # Arrays: as lists they are four times as large, and a long batch keeps very many.
        self._vectors: dict[str, array[float]] = {}
        self._lock = threading.Lock()

    def warm(self, texts: Iterable[str]) -> None:
        """Encode many texts in one batch."""
        if self._embed is None:
            return
        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
            if not new:
                return
            if len(self._vectors) + len(new) > _CACHE:
                self._vectors.clear()
            self._vectors.update((text, array("d", row)) for text, row in zip(new, self._embed(new), strict=True))

    def cosine(self, one: str, other: str) -> float:
        """Cosine of two texts' vectors; without an encoder the share of common stems."""
        if self._embed is None:
            first, second = ({stem(w) for w in content(tokens(text))} for text in (one, other))
            return float(len(first & second) / max(1.0, math.sqrt(len(first) * len(second))))
        while True:
            self.warm([one, other])
            first_vector, second_vector = self._vectors.get(one), self._vectors.get(other)
            if first_vector is not None and second_vector is not None:  # another thread may have emptied the cache
                return float(sum(a * b for a, b in zip(first_vector, second_vector, strict=True)))

    def word(self, word: str, phrase: str) -> float:
        """How well a question's word is explained by a relation's name: 0 to 1."""
        best = max((nearness(word, part) for part in tokens(phrase) if part not in STOP), default=0.0)
        if best or self._embed is None or word.isdigit():
            return best
        # MiniLM gives unrelated short texts about 0.2 to 0.35 and near synonyms 0.5 and more.
        near: float = self.cosine(word, phrase)
        return min(max((near - 0.33) / 0.35, 0.0), 0.9)


@dataclass(frozen=True)
class QuestionMention:
    """A thing of the evidence that the question names."""

    label: str
    places: frozenset[int]
    """Positions of its words in the question."""


class QuestionWords:
    """A question taken apart."""

    def __init__(self, text: str, *, verdict: bool = False) -> None:
        """Args: the question; whether only a verdict on it is allowed, whatever its words."""
        self.text = text
        self.words = tokens(text)
        self.wants = "yesno" if verdict else self._wants()
        """What sort of answer: yesno, time, count, number, who or thing."""
        self.extremes = frozenset(place for place, word in enumerate(self.words) if word in COMPARING)
        """Positions of superlatives and comparatives."""
        self.denials = frozenset(n for n, word in enumerate(self.words) if word in _DENYING or word.endswith("n't"))
        """Positions of "not" and the like."""
        self._choose = max if any(self.words[place] in _MORE for place in sorted(self.extremes)[:1]) else min

    def _wants(self) -> str:
        # In a language that is not known here what has no question mark may ask all the same.
        claims = not (_QUESTION_MARK.search(self.text) or _ASKING & set(self.words)) and any(map(_is_known, self.words))
        if claims or (self.words[:1] and self.words[0] in _AUXILIARY and not in_other_language(self.text)):
            return "yesno"
        found = (("time", _TIME), ("count", _COUNT), ("number", _QUANTITY))
        by_pattern = next((name for name, pattern in found if pattern.search(self.text)), "")
        return by_pattern or ("who" if {"who", "whom"} & set(self.words) else "thing")

    def choose(self, options: Iterable[T], key: Callable[[T], float]) -> T:
        """The option with the largest value, or the smallest, as the question's superlative says."""
        return self._choose(options, key=key)

    def places(self, label: str) -> frozenset[int]:
        """Positions at which the whole label stands first; empty where it does not."""
        wanted = tokens(label)
        size = len(wanted)
        if not wanted or (size == 1 and wanted[0] in STOP):
            return frozenset()
        starts = (at for at in range(len(self.words) - size + 1) if self.words[at : at + size] == wanted)
        return frozenset(place for at in list(starts)[:1] for place in range(at, at + size))

    def mentions(self, labels: Iterable[str]) -> list[QuestionMention]:
        """The labels that the question names, longest first, without those inside a longer one."""
        found = [QuestionMention(label, places) for label in dict.fromkeys(labels) if (places := self.places(label))]
        found.sort(key=lambda mention: (-len(mention.places), mention.label))
        return [one for n, one in enumerate(found) if not any(one.places < other.places for other in found[:n])]
