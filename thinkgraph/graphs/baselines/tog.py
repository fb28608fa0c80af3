"""The baseline `tog`: Think-on-Graph (Sun et al. 2024), ToG-2's predecessor, with ToG-2's prompts where both ask the same.

begin + link ── topic_prune ── relation_prune × W ── walk ── entity_prune × W ── keep ── reason ──┐
                     ▲                                                                            │
                     └──────────── not sufficient, rounds remain ─────────────────────────────────┘
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.types import Overwrite, Send

from thinkgraph.graphs.method import Method
from thinkgraph.graphs.wiring import tasks
from thinkgraph.nodes.baselines.beam import ENTITY_PRUNE, entity_prune, keep_best, next_round, walk
from thinkgraph.nodes.common.answer import answer
from thinkgraph.nodes.common.begin import begin
from thinkgraph.nodes.common.link_entities import link_entities
from thinkgraph.nodes.tog2.reason import reason
from thinkgraph.nodes.tog2.relation_prune import relation_prune
from thinkgraph.nodes.tog2.topic_prune import topic_prune
from thinkgraph.runtime.driver import NodeRunner, Update, chain
from thinkgraph.state.answer import Answer
from thinkgraph.state.base import AnswerOutput, QuestionInput
from thinkgraph.state.baselines import EntityPruneTask, TogSettings, TogState
from thinkgraph.state.tog2 import RelationPruneTask


def roles(settings: TogSettings) -> Sequence[str]:
    """The roles a run with these settings may call."""
    return [*(["tog2.topic_prune"] * settings.topic_prune), "tog2.relation_prune", ENTITY_PRUNE, "tog2.reason"]


def _fresh() -> Update:
    return {
        "candidates": [],
        "topics": [],
        "kept": Overwrite({}),
        "beams": {},
        "scores": Overwrite({}),
        "clues": "",
        "query": "",
    }


def _settings(state: TogState) -> TogSettings:
    return TogSettings.model_validate(state["manifest"]["settings"])


def _prune_relations(state: TogState) -> str | list[Send]:
    if state.get("draft"):
        return "answer"
    if not state["topics"] or state["stopped"]:
        return "reason"
    topics = ((topic["id"], topic) for topic in state["topics"])
    # One call is kept back for Reason.
    return [
        Send("relation_prune", RelationPruneTask(**task, topics=[topic]))
        for task, topic in tasks(state, _settings(state), topics, keep=1, ahead=1)
    ]


def _prune_entities(state: TogState) -> str | list[Send]:
    if not state["beams"] or state["stopped"]:
        return "keep_best"
    return [
        Send("entity_prune", EntityPruneTask(**task, name=task["part"], beam=beam))
        for task, beam in tasks(state, _settings(state), state["beams"].items(), keep=1)
    ]


def wire(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        TogState, context_schema=TogSettings, input_schema=QuestionInput, output_schema=AnswerOutput
    )
    graph.add_node("begin", run.node("begin", chain(TogState, begin("tog", roles, _fresh), link_entities), entry=True))
    graph.add_node("topic_prune", run.node("topic_prune", topic_prune))
    graph.add_node("relation_prune", run.node("relation_prune", relation_prune), input_schema=RelationPruneTask)
    graph.add_node("walk", run.node("walk", chain(TogState, next_round, walk)))
    graph.add_node("entity_prune", run.node("entity_prune", entity_prune), input_schema=EntityPruneTask)
    graph.add_node("keep_best", run.node("keep_best", keep_best))
    graph.add_node("reason", run.node("reason", reason))
    graph.add_node("answer", run.node("answer", answer("tog2.reason")))
    graph.add_edge(START, "begin")
    graph.add_edge("begin", "topic_prune")
    graph.add_conditional_edges("topic_prune", _prune_relations, ["relation_prune", "reason", "answer"])
    graph.add_edge("relation_prune", "walk")
    graph.add_conditional_edges("walk", _prune_entities, ["entity_prune", "keep_best"])
    graph.add_edge("entity_prune", "keep_best")
    graph.add_edge("keep_best", "reason")
    graph.add_conditional_edges("reason", _prune_relations, ["relation_prune", "reason", "answer"])
    graph.add_edge("answer", END)
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
