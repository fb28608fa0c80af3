"""Self-consistency pre-check (ToG-2 sections 4.2 and 4.6): answer from memory where samples agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thinkgraph.models.ops import Flow
from thinkgraph.prompts.kinds import JUDGE, NOT_SUFFICIENT, Shape
from thinkgraph.prompts.lines import safe_block
from thinkgraph.prompts.tasks import TASK_LABELS, TASK_WORDS
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.answer import Draft
from thinkgraph.state.base import Sample
from thinkgraph.state.tog2 import Tog2Settings
from thinkgraph.tools.grounding import most_given


def precheck(state: Mapping[str, Any], settings: Tog2Settings) -> Flow[Update]:
    """One sample: the model answers from what it knows. The state is the payload of one Send."""
    judgement = yield from requests.call(
        JUDGE,
        "tog2.precheck",
        {"question": safe_block(state["question"]), "task": TASK_WORDS[settings.task]},
        shape=Shape(labels=TASK_LABELS[settings.task], explain=settings.explain),
        sample=state["sample"],
        key=state["part"],
        temperature=settings.precheck_temperature,
        fallback=NOT_SUFFICIENT,
    )
    answers = judgement["answers"] if judgement["sufficient"] else []
    return {"samples": {state["part"]: Sample(answers=answers)}}


def tally(state: Mapping[str, Any], settings: Tog2Settings) -> Flow[Update]:
    """If one answer's share of all samples reaches the threshold, it is the answer, from memory."""
    samples: Mapping[str, Sample] = state["samples"]
    if not samples:
        return {}
    yield from ()
    answers, count = most_given(sample["answers"] for sample in samples.values())
    if not count or count / settings.precheck_samples < settings.precheck_threshold:
        return {}
    why = f"{count} of {settings.precheck_samples} samples agree; no evidence was looked at"
    return {"draft": Draft(answers=list(answers), status="memory", reason=why, cited=[])}
