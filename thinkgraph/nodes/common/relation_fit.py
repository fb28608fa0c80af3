"""How well relation paths fit a question, by the encoder, without encoding a path: only relations and words are encoded."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from thinkgraph.models.ops import Flow
from thinkgraph.runtime import requests

MAX_WORDS = 60
"""Words of a question that relations are compared with one by one; of a longer one the first."""
_SPANS = (1, 3)
"""Lengths of the stretches of a question, in words."""
_WORD = re.compile(r"[\w'\u2019-]+")


def unnamed(question: str, names: Iterable[str]) -> str:
    """The question without the names of the entities that it starts from: they say nothing about relations."""
    for name in sorted(filter(None, names), key=len, reverse=True):
        question = re.sub(re.escape(name), " ", question, flags=re.IGNORECASE)
    return " ".join(question.split())


def stretches(question: str) -> list[str]:
    """Every word of a question, and every three words that stand side by side."""
    words = _WORD.findall(question)[:MAX_WORDS]
    return list(
        dict.fromkeys(" ".join(words[at : at + span]) for span in _SPANS for at in range(len(words) - span + 1))
    )


def fits(question: str, paths: Sequence[Sequence[str]]) -> Flow[list[float]]:
    """A score from 0 to 1 for each path.

    It is the weighted mean of three cosines: of the sum of the relations' vectors and the whole question; of each relation and the stretch
    of the question nearest to it; and, with twice the weight, of each stretch and the relation nearest to it. The last one is higher
    for a path that covers the whole question than for one that covers a part.

    Args:
        question: without the names of entities (`unnamed`).
        paths: each as the labels of its relations.

    Raises:
        KnowledgeError: the encoder cannot be loaded or reached.
    """
    labels = list(dict.fromkeys(label for path in paths for label in path))
    asked = stretches(question)
    if not labels or not asked:
        return [0.0] * len(paths)
    rows = yield from requests.cosines(labels, [*labels, question, *asked])
    place = {label: number for number, label in enumerate(labels)}
    called = [max(row[len(labels) + 1 :]) for row in rows]
    distinct = set(map(tuple, paths))
    fit = {path: _fit([place[label] for label in path], rows, called, len(labels)) for path in distinct}
    return [fit[tuple(path)] for path in paths]


def _fit(path: Sequence[int], rows: Sequence[Sequence[float]], called: Sequence[float], count: int) -> float:
    length = math.sqrt(max(sum(rows[one][other] for one in path for other in path), 1e-9))
    whole = sum(rows[one][count] for one in path) / length
    by_words = sum(called[one] for one in path) / len(path)
    best = [max(column) for column in zip(*(rows[one][count + 1 :] for one in path), strict=True)]
    fit: float = (whole + by_words + 2 * sum(best) / len(best)) / 4
    return min(max(fit, 0.0), 1.0)
