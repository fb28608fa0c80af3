"""The baseline `search_agent` (Search-on-Graph): one tool-calling model, one search tool, nothing else."""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, StateGraph

from thinkgraph.graphs.method import Method
from thinkgraph.nodes.answer import answer
from thinkgraph.nodes.begin import begin
from thinkgraph.nodes.driver import NodeRunner
from thinkgraph.nodes.search_agent import ROLE, conclude, search_agent
from thinkgraph.state.answer import Answer
from thinkgraph.state.base import AnswerOutput, QuestionInput
from thinkgraph.state.baselines import SearchAgentSettings, SearchAgentState


def wire(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        SearchAgentState, context_schema=SearchAgentSettings, input_schema=QuestionInput, output_schema=AnswerOutput
    )
    fresh = begin("search_agent", lambda _: [ROLE], lambda: {"given": None}, links=lambda _: False)
    graph.add_node("begin", run.node("begin", fresh, entry=True))
    graph.add_node("search", run.node("search", search_agent))
    graph.add_node("conclude", run.node("conclude", conclude))
    graph.add_node("answer", run.node("answer", answer(ROLE)))
    graph.add_edge(START, "begin")
    graph.add_edge("begin", "search")
    graph.add_edge("search", "conclude")
    graph.add_edge("conclude", "answer")
    graph.add_edge("answer", END)
    return graph


def bound(settings: SearchAgentSettings, _answer: Answer) -> int:
    """One call a turn."""
    return settings.turns


METHOD = Method(
    name="search_agent",
    title="Search agent (Search-on-Graph)",
    summary="One tool-calling model with one tool, search(entity, direction, relations), in LangChain's create_agent.",
    settings=SearchAgentSettings,
    wire=wire,
    bound=bound,
)
