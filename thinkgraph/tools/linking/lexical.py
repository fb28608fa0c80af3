"""Words of any language, for lexical scores: one tokeniser that BM25, the linker and the offline model share."""

from __future__ import annotations

import functools
import re
from collections import Counter

import regex

from thinkgraph.tools.linking.names import normal_name, word_set

# Scripts written without spaces: Han, kana, and the South-East Asian ones. Hangul has spaces but agglutinates.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HANGUL = "\uac00-\ud7af"
_ASCII_RUN = re.compile(r"\w+(?:'s\b)?")
# Marks within words are vowel signs of Indic scripts and accents.
_RUN = regex.compile(rf"[{_UNSPACED}{_HANGUL}]+|(?:(?![{_UNSPACED}{_HANGUL}])[\w\p{{M}}])+(?:['\u2019]s\b)?")
UNSPACED = re.compile(rf"[{_UNSPACED}]")
"""One character of a script that puts no spaces between words."""
PAIRED = re.compile(rf"[{_UNSPACED}{_HANGUL}]")
"""One character of a script whose words are compared by pairs of characters: as above, and Korean with its particles."""
_POSSESSIVE = re.compile(r"['\u2019]s$")
_VOWEL = re.compile("[aeiouy]")

STOP_WORDS = word_set(
    "a about after all also am an and any are as at be because been before being between both but by can "
    "could did do does during each for from had has have having he her here hers him his how i if in into "
    "is it its itself just many may me might more most much must my no nor not of off on one only or "
    "other our out over own same shall she should so some such than that the their them then there these "
    "they this those through to too under until up us very was we were what when where which while who "
    "whom whose why will with would you your"
)
"""English function words: never a mention by themselves, and no evidence that two texts are about the same."""

_MIN_STEM = 4


def tokens(text: str) -> list[str]:
    """The words of `text` in order, casefolded (NFKC), English plural and verb endings cut.

    Runs of Chinese, Japanese, Korean and South-East Asian script give overlapping pairs of characters, a lone
    character itself. Punctuation and symbols give nothing.
    """
    out: list[str] = []
    for match in (_ASCII_RUN if text.isascii() else _RUN).finditer(normal_name(text)):
        run = match.group()
        if not PAIRED.match(run):
            word = _POSSESSIVE.sub("", run).strip("_") if run[-1] == "s" else run.strip("_")
            if word:
                out.append(stem(word))
        elif len(run) == 1:
            out.append(run)
        else:
            out.extend(run[i : i + 2] for i in range(len(run) - 1))
    return out


def content_tokens(text: str) -> list[str]:
    """As `tokens`, without English function words."""
    return [token for token in tokens(text) if token not in _STOP_STEMS]


def query_tokens(text: str) -> list[str]:
    """The words that a text is looked for by: its content words; all of them where it has no others."""
    return content_tokens(text) or tokens(text)


@functools.lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A casefolded English word without its plural, -ing or -ed ending; other words are left alone.

    Light on purpose: it joins "countries" and "country", "bordering" and "borders", and never cuts below four letters.
    """
    if not word.isascii() or not word.isalpha() or len(word) <= _MIN_STEM:
        # "cities" and the like are longer; "news", "bus" and "is" must stay.
        return word[:-1] if len(word) == _MIN_STEM and is_plural(word) else word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if is_plural(word):
        word = word[:-1]
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) >= _MIN_STEM and _VOWEL.search(root):
            # "running" to "run", but "telling" keeps its l's and "passing" its s's.
            doubled = root[-1] == root[-2] and root[-1] not in "lsz"
            return root[:-1] if doubled else root.removesuffix("e")
    return word.removesuffix("e") if len(word) > _MIN_STEM else word


def overlap(a: str, b: str) -> float:
    """How many words two texts share, 0 to 1 (Dice over bags of content words; all words where there are no others)."""
    left, right = bag(a), bag(b)
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 0.0


@functools.lru_cache(maxsize=32)
def bag(text: str) -> Counter[str]:
    """How often each word stands in a text that it is looked for by; not to be changed."""
    # Many texts are compared with one question.
    return Counter(query_tokens(text))


def article(noun: str) -> str:
    """What stands before one of many: "an" before a vowel's letter, else "a"."""
    return "an" if noun.startswith(tuple("aeiouAEIOU")) else "a"


def is_plural(word: str) -> bool:
    """Whether a word has the plain plural's "s"."""
    return word.isascii() and word.isalpha() and word.endswith("s") and not word.endswith(("ss", "us", "is", "news"))


_STOP_STEMS = frozenset(token for word in STOP_WORDS for token in tokens(word)) | STOP_WORDS
