"""Self-consistency: several samples of what the model answers from memory, and the answer that most of them give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.judging import UNDECIDED
from thinkgraph.nodes.common.memory import recalled
from thinkgraph.runtime.driver import Update
from thinkgraph.state.base import Sample, SampleTask
from thinkgraph.state.settings import RunSettings
from thinkgraph.tools.grounding import most_given


def sampled(state: SampleTask, role: str, settings: RunSettings, temperature: float | None) -> Flow[Update]:
    """One sample, for the channel `samples`.

    Args:
        state: the payload of one Send.
        role: whose prompt is used.
        settings: the run's.
        temperature: the samples'; None: that of calls that reason.
    """
    judgement = yield from recalled(
        state["question"], role, settings, key=state["part"], sample=state["sample"], temperature=temperature
    )
    answers = judgement["answers"] if judgement["sufficient"] else []
    return {"samples": {state["part"]: Sample(answers=answers)}}


@dataclass(frozen=True)
class Vote:
    """What samples agree on."""

    answers: list[str]
    """Those that most samples gave, of equals those given first; empty where none gave any."""
    count: int
    """How many samples gave them."""
    samples: int
    """How many there are."""

    @property
    def decided(self) -> bool:
        """Whether there is an answer, and it is not that the claim is undecided."""
        return bool(self.answers) and self.answers != [UNDECIDED]


def vote(samples: Mapping[str, Sample]) -> Vote:
    """Count the answers of samples, in the order of their numbers."""
    given = [samples[part]["answers"] for part in sorted(samples, key=int)]
    answers, count = most_given(given)
    return Vote(list(answers), count, len(given))
