"""The answer that most samples of the model's memory give (FastToG, section "Reasoning": CoT-SC)."""

from __future__ import annotations

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.judging import from_memory, nothing_found
from thinkgraph.nodes.common.memory import vote
from thinkgraph.runtime.driver import Update
from thinkgraph.state.fasttog import FastTogSettings, FastTogState


def majority(state: FastTogState, settings: FastTogSettings) -> Flow[Update]:
    """Take the answer that most samples gave, or the first one given among equals."""
    yield from ()
    found = vote(state["samples"])
    if not found.decided:
        return {"draft": nothing_found(state, settings)}
    agree = f" ({found.count} of {found.samples} samples agree)" if found.samples > 1 else ""
    why = f"the graph does not hold the answer: it comes from the model's own knowledge{agree}"
    return {"draft": from_memory(found.answers, why)}
