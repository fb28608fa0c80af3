"""How an answer is scored against gold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from typing_extensions import TypedDict

from thinkgraph.tools.support import fold

_NUMBER = re.compile(r"[-+]?\d[\d,\u202f\u00a0 ]*(?:\.\d+)?")
_ARTICLE = re.compile(r"^(?:the|a|an) ")


class Scores(TypedDict):
    """Each 0.0 or 1.0."""

    hits1: float
    """The first answer given is a gold answer."""
    em: float
    """The answers given are exactly the gold answers: none missing, none beside."""
    complete: float
    """Every gold answer is among those given."""
    unknown: float
    """No answer was given."""
    wrong: float
    """Answers were given and none of them is gold."""


Outcome = Literal["correct", "missing", "hallucinated"]


def outcome(scores: Scores) -> Outcome:
    """What became of a question, as CogGRAG's table 5 counts it; the three shares of a set of questions add up to 1.

    Correct: the first answer given is gold, or none was given where there is none. Missing: "I don't know". Hallucinated: any
    other answer.
    """
    if scores["hits1"]:
        return "correct"
    return "missing" if scores["unknown"] else "hallucinated"


def normalise(text: str) -> str:
    """An answer for comparison: numbers by value, everything else without case, accents, punctuation, leading article."""
    bare = text.strip()
    if _NUMBER.fullmatch(bare):
        value = float(re.sub(r"[,\s\u202f\u00a0]", "", bare))
        return f"{value:.12g}"
    return _ARTICLE.sub("", fold(bare))


def score(given: Sequence[str], gold: Sequence[str]) -> Scores:
    """Score one question. Where there is no gold answer, giving none is what is right."""
    have = [normalise(answer) for answer in given]
    want = {normalise(answer) for answer in gold}
    if not want:
        right = 0.0 if have else 1.0
        return Scores(hits1=right, em=right, complete=right, unknown=right, wrong=1.0 - right)
    return Scores(
        hits1=float(bool(have) and have[0] in want),
        em=float(set(have) == want),
        complete=float(want <= set(have)),
        unknown=float(not have),
        wrong=float(bool(have) and not want & set(have)),
    )
