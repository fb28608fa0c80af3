"""Decomposition (CogGRAG section 4.1): top-down, one call for every open question of a level, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow
from thinkgraph.nodes.coggrag.mind_map import ROOT, draw, grow, plant, waiting
from thinkgraph.prompts.kinds import SUBQUESTIONS, Shape
from thinkgraph.prompts.lines import safe_block
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.answer import PrunedNote
from thinkgraph.state.coggrag import CogGragSettings, Part
from thinkgraph.state.events import Pruned, Scored, Stopped, Traced

_NAMED = 5
"""Examples that a note in state carries."""


def plant_root(state: Mapping[str, Any], settings: CogGragSettings) -> Flow[Update]:
    """The mind map at the start: the question alone."""
    yield from ()
    return {"mind_map": {ROOT: plant(state["question"], settings)}}


def decompose(state: Mapping[str, Any], settings: CogGragSettings) -> Flow[Update]:
    """Break one question down. The state is the payload of one Send."""
    key = state["node"]["id"]
    try:
        parts = yield from requests.call(
            SUBQUESTIONS,
            "coggrag.decompose",
            {"question": safe_block(state["asked"]), "most": str(state["most"])},
            shape=Shape(explain=settings.explain),
            fallback=[],
            key=key,
        )
    except BudgetSpentError as spent:
        # What is there already can still be answered.
        yield from requests.emit(Stopped(type="stopped", reason=spent.reason))
        return {"splits": {key: []}, "stopped": spent.reason}
    return {
        "splits": {key: [Part(question=part["question"], open=part["open"], refers=part["refers"]) for part in parts]}
    }


def grow_map(state: Mapping[str, Any], settings: CogGragSettings) -> Flow[Update]:
    """Put what the level's open questions were broken down into on the mind map."""
    growth = grow(state["mind_map"], state["splits"], settings)
    lines = draw(growth.nodes, {}, {})["lines"]
    yield from requests.emit(Traced(type="traced", round=state["round"], title="mind map", lines=lines))
    # Rounds count again from 0 once the map stands: then they are waves of answers.
    done = state["stopped"] or not waiting(growth.nodes)
    update: Update = {"mind_map": growth.nodes, "round": 0 if done else state["round"] + 1}
    if growth.notes:
        added = [node["question"] for key, node in growth.nodes.items() if key not in state["mind_map"]]
        yield from requests.emit(
            Pruned(
                type="pruned",
                what="questions",
                round=state["round"],
                kept=[Scored(label=text, score=1.0) for text in added],
                dropped=[Scored(label=note, score=0.0) for note in growth.notes],
                reason="; ".join(["left out or changed", *growth.notes]),
            )
        )
        note = PrunedNote(
            round=state["round"],
            what="questions",
            kept=len(added),
            dropped=len(growth.notes),
            examples=growth.notes[:_NAMED],
        )
        update["pruned"] = [note]
    return update
