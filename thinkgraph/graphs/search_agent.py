"""The search agent (Search-on-Graph): one tool-calling model with one search tool.

begin ── search_agent ── conclude ── answer
"""

from __future__ import annotations

from typing import Any

from langgraph.graph import StateGraph

from thinkgraph.graphs.wiring import Method, state_graph, straight
from thinkgraph.nodes.search_agent.conclude import conclude
from thinkgraph.nodes.search_agent.search_agent import ROLE, search_agent
from thinkgraph.runtime.driver import NodeRunner
from thinkgraph.state.search_agent import SearchAgentSettings, SearchAgentState


def wire(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph."""
    steps = [search_agent, conclude]
    return straight(state_graph(run, "search_agent", SearchAgentState, steps, decides=ROLE, links=lambda _: False))


METHOD = Method(
    name="search_agent",
    title="Search agent (Search-on-Graph)",
    summary="One tool-calling model with one tool, search(entity, direction, relations), in LangChain's create_agent.",
    settings=SearchAgentSettings,
    wire=wire,
    bound=lambda settings, _: settings.turns,
)
