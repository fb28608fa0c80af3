"""The baseline `search_agent` (Search-on-Graph): one tool-calling model, one search tool, nothing else."""

from __future__ import annotations

from typing import Any

from langgraph.graph import StateGraph

from thinkgraph.graphs.wiring import Method, straight
from thinkgraph.models.ops import NodeFunction
from thinkgraph.nodes.baselines.conclude import conclude
from thinkgraph.nodes.baselines.search_agent import ROLE, search_agent
from thinkgraph.nodes.common.answer import answer
from thinkgraph.nodes.common.begin import begin
from thinkgraph.runtime.driver import NodeRunner
from thinkgraph.state.baselines import SearchAgentSettings, SearchAgentState


def wire(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph."""
    nodes: dict[str, NodeFunction] = {
        "begin": begin("search_agent", SearchAgentState, lambda _: [ROLE], links=lambda _: False),
        "search_agent": search_agent,
        "conclude": conclude,
        "answer": answer(ROLE),
    }
    return straight(run, SearchAgentState, SearchAgentSettings, nodes)


METHOD = Method(
    name="search_agent",
    title="Search agent (Search-on-Graph)",
    summary="One tool-calling model with one tool, search(entity, direction, relations), in LangChain's create_agent.",
    settings=SearchAgentSettings,
    wire=wire,
    bound=lambda settings, _: settings.turns,
)
