"""Answers from the model's memory: one, or several samples and what most of them say (self-consistency)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.judging import judge
from thinkgraph.prompts.kinds import Judgement
from thinkgraph.prompts.lines import safe_block
from thinkgraph.prompts.tasks import recall_words
from thinkgraph.state.base import Sample, SampleTask
from thinkgraph.state.settings import RunSettings
from thinkgraph.tools.grounding import fold

DIRECT, COT = "recall.direct", "recall.cot"


def recalled(
    question: str,
    role: str,
    settings: RunSettings,
    *,
    steps: bool = False,
    key: str = "",
    sample: int = 0,
    temperature: float | None = None,
) -> Flow[Judgement]:
    """What the model answers from memory, in one call; for the last three arguments see `requests.call`.

    The role's prompt is `recall.direct` (IO), `recall.cot` (chain of thought, always in `steps`) or a method's own.
    """
    inputs = {"question": safe_block(question), "task": recall_words(settings.task, question)}
    judgement = yield from judge(
        role,
        inputs,
        settings,
        likely=not settings.abstain,
        steps=steps or role == COT,
        key=key,
        sample=sample,
        temperature=temperature,
    )
    # One that may not abstain has said what it has to say.
    return {**judgement, "sufficient": judgement["sufficient"] or (bool(judgement["answers"]) and not settings.abstain)}


def sampled(
    state: SampleTask, role: str, settings: RunSettings, temperature: float | None, *, steps: bool = False
) -> Flow[Update]:
    """One sample, for the channel `samples`. Without a temperature it has that of calls that reason."""
    part = state["part"]
    judgement = yield from recalled(
        state["question"], role, settings, steps=steps, key=part, sample=state["sample"], temperature=temperature
    )
    return {"samples": {part: Sample(answers=judgement["answers"] if judgement["sufficient"] else [])}}


def vote(samples: Mapping[str, Sample]) -> tuple[list[str], int]:
    """The answers that most samples gave, of equals those given first, and how many gave them; empty where none gave any.

    Order, case and width of a sample's answers do not matter.
    """
    given = [answers for part in sorted(samples, key=int) if (answers := samples[part]["answers"])]
    names = [" | ".join(sorted(map(fold, answers))) for answers in given]
    if not names:
        return [], 0
    winner, count = Counter(names).most_common(1)[0]
    return given[names.index(winner)], count
