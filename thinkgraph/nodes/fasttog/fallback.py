"""Answers from the model's own knowledge (FastToG, section "Reasoning": IO, CoT, CoT-SC): the end of a run that the graph
does not answer, where `own_knowledge` allows it.
"""

from __future__ import annotations

from typing import Any

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.judging import from_memory, nothing_found
from thinkgraph.nodes.common.memory import COT, DIRECT
from thinkgraph.nodes.common.sampling import sampled, vote
from thinkgraph.runtime.driver import Update
from thinkgraph.state.base import SampleTask
from thinkgraph.state.fasttog import FastTogSettings


def may_remember(settings: FastTogSettings) -> bool:
    """Whether a run may end with an answer from memory."""
    return settings.own_knowledge and settings.fallback != "off"


def remember(state: SampleTask, settings: FastTogSettings) -> Flow[Update]:
    """One answer from memory. The state is the payload of one Send."""
    temperature = settings.fallback_temperature if settings.fallback == "cot_sc" else None
    return (yield from sampled(state, DIRECT if settings.fallback == "io" else COT, settings, temperature))


def majority(state: Any, settings: FastTogSettings) -> Flow[Update]:
    """The answer that most samples gave; the one given first among equals."""
    yield from ()
    found = vote(state["samples"])
    if not found.decided:
        return {"draft": nothing_found(state, settings)}
    agree = f" ({found.count} of {found.samples} samples agree)" if found.samples > 1 else ""
    why = f"the graph does not hold the answer: it comes from the model's own knowledge{agree}"
    return {"draft": from_memory(found.answers, why)}
