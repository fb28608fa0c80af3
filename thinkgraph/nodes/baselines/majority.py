"""Self-consistency (CoT-SC, Wang et al. 2023): the answer that most chains of thought give."""

from __future__ import annotations

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.baselines.recall import NO_MEMORY, NOT_KNOWN
from thinkgraph.nodes.common.judging import UNDECIDED, from_memory, unknown
from thinkgraph.nodes.common.memory import vote
from thinkgraph.state.baselines.single_pass import CotScSettings, RecallState


def majority(state: RecallState, settings: CotScSettings) -> Flow[Update]:
    """The answer that most samples gave; of equals the one given first."""
    yield from ()
    if not settings.own_knowledge:
        return {"draft": unknown(NO_MEMORY, settings)}
    answers, count = vote(state["samples"])
    if answers in ([], [UNDECIDED]):
        return {"draft": unknown(state["stopped"] or NOT_KNOWN, settings)}
    why = f"{count} of {len(state['samples'])} chains of thought agree; no evidence was looked at"
    return {"draft": from_memory(answers, why)}
