"""Answers from the model's memory."""

from __future__ import annotations

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.judging import judge
from thinkgraph.prompts.kinds import Judgement
from thinkgraph.prompts.lines import safe_block
from thinkgraph.prompts.tasks import TASK_WORDS
from thinkgraph.state.settings import RunSettings

DIRECT, COT = "recall.direct", "recall.cot"


def recalled(
    question: str,
    role: str,
    settings: RunSettings,
    *,
    key: str = "",
    sample: int = 0,
    temperature: float | None = None,
) -> Flow[Judgement]:
    """What the model answers from memory, in one call.

    Args:
        question: what is asked.
        role: whose prompt is used: `recall.direct` (IO), `recall.cot` (chain of thought) or a method's own.
        settings: the run's.
        key: tells calls of one node execution apart.
        sample: tells samples apart.
        temperature: overrides the stage's.
    """
    inputs = {"question": safe_block(question), "task": TASK_WORDS[settings.task]}
    return (
        yield from judge(role, inputs, settings, steps=role == COT, key=key, sample=sample, temperature=temperature)
    )
