"""Answers from the model's own knowledge (FastToG, section "Reasoning": IO, CoT, CoT-SC): the end of a run that the graph
does not answer, where `own_knowledge` allows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.memory import COT, DIRECT, recalled
from thinkgraph.nodes.tog2.reason import UNDECIDED, nothing_found
from thinkgraph.runtime.driver import Update
from thinkgraph.state.answer import Draft
from thinkgraph.state.base import Sample
from thinkgraph.state.fasttog import FallbackTask, FastTogSettings
from thinkgraph.tools.grounding import most_given


def may_remember(settings: FastTogSettings) -> bool:
    """Whether a run may end with an answer from memory."""
    return settings.own_knowledge and settings.fallback != "off"


def remember(state: FallbackTask, settings: FastTogSettings) -> Flow[Update]:
    """One answer from memory. The state is the payload of one Send."""
    try:
        answers = yield from recalled(
            state["question"],
            DIRECT if settings.fallback == "io" else COT,
            settings,
            sample=state["sample"],
            key=state["part"],
            temperature=settings.fallback_temperature if settings.fallback == "cot_sc" else None,
        )
    except BudgetSpentError as spent:
        return {"samples": {}, "stopped": spent.reason}
    return {"samples": {state["part"]: Sample(answers=answers)}}


def vote(state: Mapping[str, Any], settings: FastTogSettings) -> Flow[Update]:
    """The answer that most samples gave; the one given first among equals."""
    yield from ()
    samples: Mapping[str, Sample] = state["samples"]
    given = [sample["answers"] for _, sample in sorted(samples.items(), key=lambda pair: int(pair[0]))]
    answers, count = most_given(given)
    if not count or list(answers) == [UNDECIDED]:
        return {"draft": nothing_found(state, settings)}
    agree = f" ({count} of {len(given)} samples agree)" if len(given) > 1 else ""
    why = f"the graph does not hold the answer: it comes from the model's own knowledge{agree}"
    return {"draft": Draft(answers=list(answers), status="memory", reason=why, cited=[])}
