"""Answering from memory: directly, by a chain of thought, or by the majority of several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow
from thinkgraph.nodes.tog2.reason import UNDECIDED, no_answer
from thinkgraph.prompts.kinds import JUDGE, NOT_SUFFICIENT, Shape
from thinkgraph.prompts.lines import safe_block
from thinkgraph.prompts.tasks import TASK_LABELS, TASK_WORDS
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import NodeFunction, Update
from thinkgraph.state.answer import Draft
from thinkgraph.state.base import Sample
from thinkgraph.state.baselines import CotScSettings, RecallSettings
from thinkgraph.state.settings import RunSettings
from thinkgraph.tools.grounding import most_given

DIRECT, COT = "recall.direct", "recall.cot"
_OFF = "this method has no evidence, and own_knowledge is off"


def _unknown(reason: str, settings: RunSettings) -> Update:
    return {"draft": Draft(answers=no_answer(settings), status="unknown", reason=reason, cited=[])}


def recalled(question: str, role: str, settings: RunSettings, **options: Any) -> Flow[list[str]]:
    """The answers that the model gives from memory in one call; empty where it does not know."""
    labels = TASK_LABELS[settings.task]
    judgement = yield from requests.call(
        JUDGE,
        role,
        {"question": safe_block(question), "task": TASK_WORDS[settings.task]},
        shape=Shape(labels=labels, explain=settings.explain, steps=role == COT),
        **options,
        fallback=NOT_SUFFICIENT,
    )
    return judgement["answers"] if judgement["sufficient"] else []


def recall(role: str) -> NodeFunction:
    """One call, one answer.

    Args:
        role: `recall.direct` (IO) or `recall.cot` (chain of thought).
    """

    def run(state: Mapping[str, Any], settings: RecallSettings) -> Flow[Update]:
        if not settings.own_knowledge:
            return _unknown(_OFF, settings)
        try:
            answers = yield from recalled(state["question"], role, settings)
        except BudgetSpentError as spent:
            return {**_unknown(spent.reason, settings), "stopped": spent.reason}
        if answers in ([], [UNDECIDED]):
            return _unknown("the model does not know the answer", settings)
        why = "from the model's own knowledge; no evidence was looked at"
        return {"draft": Draft(answers=answers, status="memory", reason=why, cited=[])}

    return run


def sample(state: Mapping[str, Any], settings: CotScSettings) -> Flow[Update]:
    """One chain of thought of several. The state is the payload of one Send."""
    answers = yield from recalled(
        state["question"],
        COT,
        settings,
        sample=state["sample"],
        key=state["part"],
        temperature=settings.sample_temperature,
    )
    return {"samples": {state["part"]: Sample(answers=answers)}}


def majority(state: Mapping[str, Any], settings: CotScSettings) -> Flow[Update]:
    """The answer that most samples gave; of equals the one given first."""
    yield from ()
    if not settings.own_knowledge:
        return _unknown(_OFF, settings)
    samples: list[Sample] = [state["samples"][part] for part in sorted(state["samples"], key=int)]
    answers, count = most_given(found["answers"] for found in samples)
    if not count or list(answers) == [UNDECIDED]:
        return _unknown(state["stopped"] or "the model does not know the answer", settings)
    why = f"{count} of {len(samples)} chains of thought agree; no evidence was looked at"
    return {"draft": Draft(answers=list(answers), status="memory", reason=why, cited=[])}
