"""The baseline `rag`: passages by vector, one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.graph import END, START, StateGraph

from thinkgraph.graphs.method import Method
from thinkgraph.nodes.answer import answer
from thinkgraph.nodes.begin import begin
from thinkgraph.nodes.driver import NodeRunner, chain
from thinkgraph.nodes.one_look import one_answer, passage_search
from thinkgraph.nodes.ranking import ROLE as RANK_ROLE
from thinkgraph.state.base import AnswerOutput, QuestionInput, RunState
from thinkgraph.state.baselines import RagSettings

ROLE = "rag.answer"


def roles(settings: RagSettings) -> Sequence[str]:
    """The roles a run with these settings may call."""
    return [ROLE, RANK_ROLE] if settings.ranker == "llm" else [ROLE]


def wire(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        RunState, context_schema=RagSettings, input_schema=QuestionInput, output_schema=AnswerOutput
    )
    graph.add_node(
        "begin",
        run.node(
            "begin",
            chain(
                RunState, begin("rag", roles, dict, links=lambda settings: settings.scope != "corpus"), passage_search
            ),
            entry=True,
        ),
    )
    graph.add_node("reason", run.node("reason", one_answer(ROLE)))
    graph.add_node("answer", run.node("answer", answer(ROLE)))
    graph.add_edge(START, "begin")
    graph.add_edge("begin", "reason")
    graph.add_edge("reason", "answer")
    graph.add_edge("answer", END)
    return graph


METHOD = Method(
    name="rag",
    title="RAG",
    summary="The nearest passages by vector, of the linked entities or of the whole corpus, and one call.",
    settings=RagSettings,
    wire=wire,
)
