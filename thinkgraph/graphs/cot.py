"""The baseline `cot`: no retrieval, one call."""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, StateGraph

from thinkgraph.graphs.method import Method
from thinkgraph.nodes.answer import answer
from thinkgraph.nodes.begin import begin
from thinkgraph.nodes.driver import NodeRunner
from thinkgraph.nodes.recall import COT, recall
from thinkgraph.state.base import AnswerOutput, QuestionInput, RunState
from thinkgraph.state.baselines import RecallSettings


def wire(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        RunState, context_schema=RecallSettings, input_schema=QuestionInput, output_schema=AnswerOutput
    )
    graph.add_node("begin", run.node("begin", begin("cot", lambda _: [COT], dict, links=lambda _: False), entry=True))
    graph.add_node("recall", run.node("recall", recall(COT)))
    graph.add_node("answer", run.node("answer", answer(COT)))
    graph.add_edge(START, "begin")
    graph.add_edge("begin", "recall")
    graph.add_edge("recall", "answer")
    graph.add_edge("answer", END)
    return graph


METHOD = Method(
    name="cot",
    title="Chain of thought",
    summary="No retrieval: one call that reasons step by step from the model's memory.",
    settings=RecallSettings,
    wire=wire,
)
