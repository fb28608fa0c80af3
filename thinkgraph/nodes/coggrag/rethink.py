"""Re-thinking (CogGRAG section 4.3): another answer in place of one that was judged wrong, without being shown it."""

from __future__ import annotations

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.coggrag.prompt_context import same_context
from thinkgraph.nodes.coggrag.reason import cut_short, think
from thinkgraph.nodes.coggrag.tree import ROOT
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
    # Part of journal keys: the next verification and re-think are calls of their own.
    return {"solved": {key: solution}, "part": f"{key}/{len(attempts)}"}


def needs_rethink(state: QuestionState, settings: CogGragSettings) -> bool:
    """Whether the question is to be answered again: its answer was judged wrong, or, with `backtracks`, it has none.

    One without an answer is not asked again while an answer below it is missing. A root that was not broken down gets another mind
    map first.
    """
    attempts = state["solved"][state["id"]]["attempts"]
    if not settings.verify or state["stopped"] or not attempts or len(attempts) > settings.rethinks:
        return False
    if attempts[-1]["right"] is not None:
        return not attempts[-1]["right"]
    whole = state["id"] == ROOT and state["leaf"] and settings.decompose and state["backtracked"] < settings.backtracks
    return settings.backtracks > 0 and not (attempts[-1]["answers"] or state["lacks"] or whole)
