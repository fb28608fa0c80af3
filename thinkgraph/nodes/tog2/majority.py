"""The end of ToG-2's self-consistency pre-check (section 4.3, appendix B.4): answer from memory where samples agree."""

from __future__ import annotations

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.judging import from_memory
from thinkgraph.nodes.common.memory import vote
from thinkgraph.state.tog2 import Tog2Settings, Tog2State


def majority(state: Tog2State, settings: Tog2Settings) -> Flow[Update]:
    """If one answer's share of all samples reaches the threshold, it is the answer, from memory."""
    yield from ()
    answers, count = vote(state["samples"])
    if not answers or count / settings.precheck_samples < settings.precheck_threshold:
        return {}
    why = f"{count} of {settings.precheck_samples} samples agree; no evidence was looked at"
    return {"draft": from_memory(answers, why)}
