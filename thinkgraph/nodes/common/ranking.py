"""Ranking texts against a query with any ranker, the model included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thinkgraph.models.ops import Flow
from thinkgraph.prompts.kinds import MAX_SCORE, SCORE, Shape
from thinkgraph.prompts.lines import numbered, safe_block
from thinkgraph.runtime import requests
from thinkgraph.state.settings import RunSettings

LLM_BATCH = 40
"""Texts per call of the LLM ranker."""
ROLE = "rank.texts"


@dataclass(frozen=True)
class Rankable:
    """A text to be ranked: as encoders see it, and as a model sees it in a numbered list."""

    text: str
    line: str


def round_query(question: str, query: str) -> str:
    """What a ranker sees in a round: the question, and the re-formed query after it where there is one.

    ToG-2 section 3.3 leaves open how the two combine. One concatenated text is one rule for all rankers and costs no
    second encoding.
    """
    return f"{question} {query}" if query else question


def rank(
    items: Sequence[Rankable], question: str, query: str, ranker: str, settings: RunSettings, *, key: str
) -> Flow[list[float]]:
    """A score >= 0 for every item. The LLM ranker asks in batches, side by side; its calls are of role `rank.texts`."""
    if ranker != "llm":
        return (yield from requests.rank_texts(ranker, round_query(question, query), [item.text for item in items]))
    batches = [items[at : at + LLM_BATCH] for at in range(0, len(items), LLM_BATCH)]
    parts = [
        _ask(batch, question, query, settings, key=f"{key}/{number}") for number, batch in enumerate(batches, start=1)
    ]
    return [value for part in (yield from requests.together(parts)) for value in part]


def _ask(batch: Sequence[Rankable], question: str, query: str, settings: RunSettings, *, key: str) -> Flow[list[float]]:
    scores = [0.0] * len(batch)
    scored = yield from requests.call(
        SCORE,
        ROLE,
        {
            "question": safe_block(question),
            "query": safe_block(query),
            "options": numbered(item.line for item in batch),
        },
        shape=Shape(options=len(batch), explain=settings.explain),
        # Unreadable: keep the prefilter's order.
        fallback=[(number, MAX_SCORE / number) for number in range(1, len(batch) + 1)],
        key=key,
        spare=1,
    )
    for number, value in scored:
        scores[number - 1] = value / MAX_SCORE
    return scores
