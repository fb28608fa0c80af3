"""Re-thinking (CogGRAG section 4.3): another answer in place of one that was judged wrong, without being shown it."""

from __future__ import annotations

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.coggrag.prompt_context import same_context
from thinkgraph.nodes.coggrag.reason import cut_short, think
from thinkgraph.state.coggrag import CogGragSettings, QuestionState


def rethink(state: QuestionState, settings: CogGragSettings) -> Flow[Update]:
    """Answer the question again."""
    key = state["id"]
    attempts = state["solved"][key]["attempts"]
    context = yield from same_context(state, settings)
    try:
        solution = yield from think("coggrag.rethink", state, context, settings, attempts)
    except BudgetSpentError as spent:
        # Better no answer than one that was judged wrong.
        return (yield from cut_short(state, spent, attempts))
    # The next verification and re-think are other places in the graph.
    return {"solved": {key: solution}, "part": f"{key}/{len(attempts)}"}
