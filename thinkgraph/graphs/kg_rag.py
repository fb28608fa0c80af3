"""The baseline `kg_rag`: triples by vector, one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.graph import END, START, StateGraph

from thinkgraph.graphs.method import Method
from thinkgraph.nodes.answer import answer
from thinkgraph.nodes.begin import begin
from thinkgraph.nodes.driver import NodeRunner, chain
from thinkgraph.nodes.one_look import one_answer, triple_search
from thinkgraph.nodes.ranking import ROLE as RANK_ROLE
from thinkgraph.state.base import AnswerOutput, QuestionInput, RunState
from thinkgraph.state.baselines import KgRagSettings

ROLE = "kg_rag.answer"


def roles(settings: KgRagSettings) -> Sequence[str]:
    """The roles a run with these settings may call."""
    return [ROLE, RANK_ROLE] if settings.ranker == "llm" else [ROLE]


def wire(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        RunState, context_schema=KgRagSettings, input_schema=QuestionInput, output_schema=AnswerOutput
    )
    graph.add_node("begin", run.node("begin", chain(RunState, begin("kg_rag", roles, dict), triple_search), entry=True))
    graph.add_node("reason", run.node("reason", one_answer(ROLE)))
    graph.add_node("answer", run.node("answer", answer(ROLE)))
    graph.add_edge(START, "begin")
    graph.add_edge("begin", "reason")
    graph.add_edge("reason", "answer")
    graph.add_edge("answer", END)
    return graph


METHOD = Method(
    name="kg_rag",
    title="KG-RAG",
    summary="The nearest triples around the linked entities by vector, and one call.",
    settings=KgRagSettings,
    wire=wire,
)
