"""Self-consistency pre-check (ToG-2 sections 4.2 and 4.6): answer from memory where samples agree."""

from __future__ import annotations

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.judging import from_memory
from thinkgraph.nodes.common.sampling import sampled, vote
from thinkgraph.runtime.driver import Update
from thinkgraph.state.base import SampleTask
from thinkgraph.state.tog2 import Tog2Settings, Tog2State


def precheck(state: SampleTask, settings: Tog2Settings) -> Flow[Update]:
    """One sample: the model answers from what it knows. The state is the payload of one Send."""
    return (yield from sampled(state, "tog2.precheck", settings, settings.precheck_temperature))


def majority(state: Tog2State, settings: Tog2Settings) -> Flow[Update]:
    """If one answer's share of all samples reaches the threshold, it is the answer, from memory."""
    yield from ()
    found = vote(state["samples"])
    if not found.answers or found.count / settings.precheck_samples < settings.precheck_threshold:
        return {}
    why = f"{found.count} of {settings.precheck_samples} samples agree; no evidence was looked at"
    return {"draft": from_memory(found.answers, why)}
