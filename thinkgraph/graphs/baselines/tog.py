"""The baseline `tog`: Think-on-Graph (Sun et al. 2024), ToG-2's predecessor, with ToG-2's nodes where both do the same.

begin ── link_entities ── topic_prune ── relation_prune × W ── entity_discovery ── entity_prune × W ── beam ── reason ──┐
                                              ▲                                                                        │
                                              └──────────────── not sufficient, rounds remain ─────────────────────────┤
                                                                                                            answer ────┘

`entity_prune` only with `beam=entities`: a relation path is kept with all that it reaches, as ToG-R keeps it with some.

Not drawn: where nothing is left to ask, topic_prune and entity_discovery lead to beam or reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.graph import StateGraph
from langgraph.types import Send

from thinkgraph.graphs.tog2 import relation_prunes
from thinkgraph.graphs.wiring import Method, settings_in, state_graph, tasks
from thinkgraph.nodes.baselines.beam import beam
from thinkgraph.nodes.baselines.entity_prune import ROLE as ENTITY_PRUNE
from thinkgraph.nodes.baselines.entity_prune import entity_prune
from thinkgraph.nodes.common.link_entities import link_entities
from thinkgraph.nodes.tog2.entity_discovery import entity_discovery, unfit
from thinkgraph.nodes.tog2.reason import STEER, reason
from thinkgraph.nodes.tog2.relation_prune import relation_prune
from thinkgraph.nodes.tog2.topic_prune import topic_prune
from thinkgraph.runtime.driver import NodeRunner
from thinkgraph.state.answer import Answer
from thinkgraph.state.baselines.tog import EntityPruneTask, TogSettings, TogState
from thinkgraph.state.tog2 import RelationPruneTask


def roles(settings: TogSettings) -> Mapping[str, bool]:
    """For each role, whether a run with these settings may call it."""
    return {
        "tog2.topic_prune": settings.topic_prune,
        "tog2.relation_prune": True,
        ENTITY_PRUNE: not settings.paths,
        "tog2.reason": True,
        STEER: settings.steers and settings.depth > 1,
    }


def _relation_prunes(state: TogState) -> str | list[Send]:
    if not state["topics"] or state["stopped"]:
        return "reason"
    settings = settings_in(state, TogSettings)
    return relation_prunes(state, settings, combined=settings.steers, together=settings.paths)


def _after_reason(state: TogState) -> str | list[Send]:
    if state.get("draft"):
        return "answer"
    # It has answered where nothing is left to ask, unless its state was edited: a way that no run takes by itself is not drawn.
    return [Send("reason", state)] if (ways := _relation_prunes(state)) == "reason" else ways


def _entity_prunes(state: TogState) -> str | list[Send]:
    if state["stopped"]:
        return "reason"
    settings = settings_in(state, TogSettings)
    if not state["hops"] or settings.paths:
        return "beam"
    hops = ((str(number), (number, hop)) for number, hop in enumerate(state["hops"]))
    return [
        Send("entity_prune", EntityPruneTask(**task, number=number, hop=hop))
        for task, (number, hop) in tasks(state, settings, hops, keep=1)
    ]


def wire(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph."""
    steps = [link_entities, topic_prune, relation_prune, entity_discovery, entity_prune, beam, reason]
    payloads = {"relation_prune": RelationPruneTask, "entity_prune": EntityPruneTask}
    graph = state_graph(run, "tog", TogState, steps, roles=roles, decides="tog2.reason", payloads=payloads)
    graph.unfit = unfit
    graph.add_edge("begin", "link_entities")
    graph.add_edge("link_entities", "topic_prune")
    graph.add_conditional_edges("topic_prune", _relation_prunes, ["relation_prune", "reason"])
    graph.add_edge("relation_prune", "entity_discovery")
    graph.add_conditional_edges("entity_discovery", _entity_prunes, ["entity_prune", "beam", "reason"])
    graph.add_edge("entity_prune", "beam")
    graph.add_edge("beam", "reason")
    graph.add_conditional_edges("reason", _after_reason, ["relation_prune", "answer"])
    return graph


def bound(settings: TogSettings, _answer: Answer) -> int:
    """2WD + D + 1, and the topic prune."""
    return 2 * settings.width * settings.depth + settings.depth + 1 + settings.topic_prune


METHOD = Method(
    name="tog",
    title="ToG (Think-on-Graph)",
    summary="Beam search: the model prunes relations, then entities, one call each; at most 2WD + D + 1 calls.",
    settings=TogSettings,
    wire=wire,
    bound=bound,
)
