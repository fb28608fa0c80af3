"""The answer that most samples of the model's memory give (FastToG, section "Overview": CoT-SC)."""

from __future__ import annotations

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.judging import UNDECIDED, from_memory
from thinkgraph.nodes.common.memory import vote
from thinkgraph.nodes.fasttog.reason import no_answer
from thinkgraph.state.fasttog import FastTogSettings, FastTogState


def majority(state: FastTogState, settings: FastTogSettings) -> Flow[Update]:
    """Take the answer that most samples gave, or the first one given among equals."""
    yield from ()
    answers, count = vote(state["samples"])
    if answers in ([], [UNDECIDED]):
        return {"draft": no_answer(state, settings)}
    every = len(state["samples"])
    agree = f" ({count} of {every} samples agree)" if every > 1 else ""
    why = f"the graph does not hold the answer: it comes from the model's own knowledge{agree}"
    return {"draft": from_memory(answers, why)}
