"""Statements of a passage by rule: two names in one sentence, and the words between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from thinkgraph.models.offline.words import STOP, Similarity, tokens
from thinkgraph.prompts.lines import Item

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\"'\u201c(]?[^\W\d_a-z])|(?<=[。！？])")
_NAME = re.compile(
    r"[^\W\d_a-z][\w'\u2019&-]*(?:\.(?=\s?[^\W\d_a-z]))?"
    r"(?:\s?(?:(?:of|de|von|van|the|del|la|for)\s){0,2}[^\W\d_a-z][\w'\u2019&-]*(?:\.(?=\s?[^\W\d_a-z]))?)*"
    r"|\d{1,2} [A-Z][a-z]+ \d{4}|[A-Z][a-z]+ \d{1,2}, \d{4}|\b\d{4}\b"
)
_LEADING = re.compile(
    r"^(?:the|a|an|in|on|at|he|she|it|its|his|her|they|their|this|that|these|those)\s+", re.IGNORECASE
)
_POSSESSIVE = re.compile(r"['\u2019]s?$")
_PROPERTY = re.compile(r"(?:(?:the|a|an|its|his|her|their)\s+)?(?P<what>[\w -]+?)\s+of(?:\s+the)?\s*$", re.IGNORECASE)
_BEING = frozenset({"is", "was", "are", "were"})
_MOST_WORDS = 8
_ENOUGH = 0.5


def statements(items: Sequence[Item], relations: Sequence[str], similarity: Similarity) -> list[list[str]]:
    """Triples of passages: neighbouring names of a sentence with the words between them; a sentence that begins with
    none is about its passage's title.

    Args:
        items: the passages as the prompt shows them.
        relations: the only relations allowed; empty: any.
        similarity: finds the allowed relation that says what the words say.
    """
    found: list[list[str]] = []
    for item in items:
        for sentence in _SENTENCE.split(item.passage):
            found += _of_sentence(sentence.strip(), item.title)
    if relations:
        found = [[s, best, o] for s, words, o in found if (best := _allowed(words, relations, similarity))]
    return [list(triple) for triple in dict.fromkeys(map(tuple, found))]


def _of_sentence(sentence: str, title: str) -> list[list[str]]:
    names = [(m.start(), m.end(), m.group()) for m in _NAME.finditer(sentence)]
    names = [
        (start + len(text) - len(rest), start + len(text), rest) for start, _, text in names if (rest := _bare(text))
    ]
    if title and (not names or names[0][0] > 0):
        names.insert(0, (0, 0, title))
    found = []
    for (_, end, one), (start, _, other) in pairwise(names):
        words = " ".join(re.sub(r"[\"\u201c\u201d(),;:]", " ", sentence[end:start]).split())
        words = _LEADING.sub("", words) if end == 0 else words
        words = re.sub(r"\s+(?:the|a|an)$", "", words)
        if words in _BEING and (owned := _PROPERTY.match(sentence[: end - len(one)])):
            # "The president of Varn is Ines Calder."
            words = owned["what"]
        if 0 < len(tokens(words)) <= _MOST_WORDS and one.casefold() != other.casefold() and words.casefold() != "and":
            found.append([one, words, other])
    return found


def _bare(name: str) -> str:
    """A name without the little word that only begins its sentence, and without a possessive ending."""
    rest = _LEADING.sub("", _POSSESSIVE.sub("", name))
    return "" if tokens(rest) and set(tokens(rest)) <= STOP else rest


def _allowed(words: str, relations: Sequence[str], similarity: Similarity) -> str:
    similarity.warm([words, *relations])
    scored = [(max(similarity.cosine(words, relation), _share(words, relation)), relation) for relation in relations]
    best = max(scored, key=lambda pair: pair[0])
    return best[1] if best[0] >= _ENOUGH else ""


def _share(words: str, relation: str) -> float:
    wanted = [word for word in tokens(relation) if word not in STOP] or tokens(relation)
    return sum(word in tokens(words) for word in wanted) / len(wanted) if wanted else 0.0
