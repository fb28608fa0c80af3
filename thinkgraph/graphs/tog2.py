"""ToG-2, wired as the paper's algorithm 1 (Think-on-Graph 2.0, arXiv 2407.10805, appendix A).

begin ── link ──┬─(pre-check)─ precheck × n ─┐
                └────────────────────────────┴─ topic_prune + topic context ── reason ──┐
    ┌───────────────────────────────────────────────────────────────────────────────────┤
    │  sufficient, depth reached, nothing left, or a ceiling spent ──────── answer      │
    └─ (query_reform, split mode) ── relation_prune (one call, or one per topic) ── explore
                                     explore = entity discovery + context retrieval + entity prune ── reason
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.types import Overwrite, Send

from thinkgraph.graphs.method import Method
from thinkgraph.graphs.wiring import tasks
from thinkgraph.nodes.common.answer import answer
from thinkgraph.nodes.common.begin import begin
from thinkgraph.nodes.common.link_entities import link_entities
from thinkgraph.nodes.common.ranking import ROLE as RANK_ROLE
from thinkgraph.nodes.tog2.context_retrieval import context_retrieval, topic_context
from thinkgraph.nodes.tog2.entity_discovery import entity_discovery
from thinkgraph.nodes.tog2.entity_prune import entity_prune
from thinkgraph.nodes.tog2.precheck import majority, precheck
from thinkgraph.nodes.tog2.reason import query_reform, reason
from thinkgraph.nodes.tog2.relation_prune import relation_prune
from thinkgraph.nodes.tog2.topic_prune import topic_prune
from thinkgraph.runtime.driver import NodeRunner, Update, chain
from thinkgraph.state.answer import Answer
from thinkgraph.state.base import AnswerOutput, QuestionInput, SampleTask
from thinkgraph.state.tog2 import RelationPruneTask, Tog2Settings, Tog2State, Topic


def roles(settings: Tog2Settings) -> Sequence[str]:
    """The roles a run with these settings may call."""
    wanted = {
        "tog2.topic_prune": settings.topic_prune,
        "tog2.relation_prune": settings.depth > 0,
        "tog2.reason": True,
        "tog2.query_reform": settings.clues and not settings.fused,
        "tog2.precheck": settings.precheck,
        RANK_ROLE: settings.ranker == "llm",
    }
    return [role for role, used in wanted.items() if used]


def _fresh() -> Update:
    return {
        "candidates": [],
        "topics": [],
        "kept": Overwrite({}),
        "samples": Overwrite({}),
        "clues": "",
        "query": "",
    }


def _settings(state: Tog2State) -> Tog2Settings:
    return Tog2Settings.model_validate(state["manifest"]["settings"])


def _next_round(state: Any, _settings: Any) -> Any:
    yield from ()
    return {"round": state["round"] + 1}


def _after_begin(state: Tog2State) -> str | list[Send]:
    settings = _settings(state)
    if not settings.precheck:
        return "topic_prune"
    samples = ((str(number), number) for number in range(1, settings.precheck_samples + 1))
    return [
        Send("precheck", SampleTask(**task, sample=number)) for task, number in tasks(state, settings, samples, keep=1)
    ]


def _after_topic_prune(state: Tog2State) -> str:
    return "answer" if state.get("draft") else "reason"


def _after_reason(state: Tog2State) -> str | list[Send]:
    if state.get("draft"):
        return "answer"
    settings = _settings(state)
    if settings.clues and not settings.fused and state["clues"]:
        return "query_reform"
    return _prune_relations(state)


def _prune_relations(state: Tog2State) -> list[Send]:
    settings = _settings(state)
    topics = state["topics"]
    groups: list[tuple[str, list[Topic]]] = (
        [("all", topics)] if settings.combined else [(topic["id"], [topic]) for topic in topics]
    )
    # One call is kept back for Reason, whatever the fan-out uses.
    return [
        Send("relation_prune", RelationPruneTask(**task, topics=group))
        for task, group in tasks(state, settings, groups, keep=1, ahead=1)
    ]


def wire(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        Tog2State, context_schema=Tog2Settings, input_schema=QuestionInput, output_schema=AnswerOutput
    )
    graph.add_node(
        "begin", run.node("begin", chain(Tog2State, begin("tog2", roles, _fresh), link_entities), entry=True)
    )
    graph.add_node("precheck", run.node("precheck", precheck), input_schema=SampleTask)
    graph.add_node("topic_prune", run.node("topic_prune", chain(Tog2State, majority, topic_prune, topic_context)))
    graph.add_node("reason", run.node("reason", reason))
    graph.add_node("query_reform", run.node("query_reform", query_reform))
    graph.add_node("relation_prune", run.node("relation_prune", relation_prune), input_schema=RelationPruneTask)
    explore = chain(Tog2State, _next_round, entity_discovery, context_retrieval, entity_prune)
    graph.add_node("explore", run.node("explore", explore))
    graph.add_node("answer", run.node("answer", answer("tog2.reason")))
    graph.add_edge(START, "begin")
    graph.add_conditional_edges("begin", _after_begin, ["precheck", "topic_prune"])
    graph.add_edge("precheck", "topic_prune")
    graph.add_conditional_edges("topic_prune", _after_topic_prune, ["reason", "answer"])
    graph.add_conditional_edges("reason", _after_reason, ["answer", "query_reform", "relation_prune"])
    graph.add_conditional_edges("query_reform", _prune_relations, ["relation_prune"])
    graph.add_edge("relation_prune", "explore")
    graph.add_edge("explore", "reason")
    graph.add_edge("answer", END)
    return graph


def bound(settings: Tog2Settings, _answer: Answer) -> int:
    """2D + 1, or WD + D + 1 with a relation prune per entity; beside it topic prune, split reform and pre-check."""
    prunes = 1 if settings.combined else settings.width
    reforms = settings.depth if settings.clues and not settings.fused else 0
    samples = settings.precheck_samples if settings.precheck else 0
    return (prunes + 1) * settings.depth + 1 + settings.topic_prune + reforms + samples


METHOD = Method(
    name="tog2",
    title="ToG-2",
    summary="Alternate between graph and text: prune relations, retrieve the documents of what they reach, reason.",
    settings=Tog2Settings,
    wire=wire,
    bound=bound,
)
