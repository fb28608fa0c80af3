"""Decomposition (CogGRAG section 4.1): top-down, one call for every open question of a level, side by side."""

from __future__ import annotations

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.coggrag.tree import task_of
from thinkgraph.nodes.common.reports import stopped
from thinkgraph.prompts.kinds import SUBQUESTIONS, Shape
from thinkgraph.prompts.lines import numbered, safe_block, safe_label
from thinkgraph.runtime import requests
from thinkgraph.state.coggrag import CogGragSettings, DecomposeTask


def decompose(state: DecomposeTask, settings: CogGragSettings) -> Flow[Update]:
    """Break one question down."""
    try:
        found = yield from requests.call(
            SUBQUESTIONS,
            "coggrag.decompose",
            {
                "question": safe_block(state["asked"]),
                "tried": numbered(map(safe_label, state["tried"])),
                "most": str(state["most"]),
            },
            shape=Shape(most=state["most"], explain=settings.explain, compares=settings.comparisons),
            fallback=[],
            key=state["id"],
            task=task_of(state["id"], settings),
        )
    except BudgetSpentError as spent:
        # The mind map as it stands can still be answered.
        return {"splits": {state["id"]: []}, **(yield from stopped(spent))}
    return {"splits": {state["id"]: found}}
