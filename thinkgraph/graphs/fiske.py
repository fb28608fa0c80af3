"""FiSKE, wired as the paper's section 3 (fine-grained stateful knowledge exploration).

begin ── extract_clues ── starting_points ──┐
    ┌───────────────────────────────────────┘
    ├─ a live branch: relation_discovery ── r_mapping × chunks ── entity_discovery ── e_mapping × chunks ── outcomes ──┐
    │◄─────────────────────────────────────────────── next round ◄─────────────────────────────────────────────────────┘
    └─ no live branch, or a spent ceiling: conclude ─┬─ an answer, or none after `backtracks` returns: answer
                                                     └─ going back: extract_clues

Going back, extract_clues makes branches live again and leads to relation_discovery, or asks for other clues and leads to
starting_points. A discovery that leaves nothing to ask skips its mapping. A spent ceiling leads from extract_clues and
entity_discovery to conclude. The fan-out is per chunk, not per branch: branches with the same remaining clues share their mapping
calls, which a subgraph for each branch would make again for each. Going back is ours: with `backtracks=0`, as in `preset="paper"`, no run does.
"""

from __future__ import annotations

from collections.abc import Mapping

from langgraph.types import Send

from thinkgraph.graphs.wiring import Method, RunGraph, settings_in, state_graph, tasks
from thinkgraph.nodes.common.memory import DIRECT
from thinkgraph.nodes.fiske.clue_table import trace, unfit
from thinkgraph.nodes.fiske.conclude import conclude
from thinkgraph.nodes.fiske.e_mapping import e_mapping
from thinkgraph.nodes.fiske.entity_discovery import entity_discovery
from thinkgraph.nodes.fiske.extract_clues import extract_clues
from thinkgraph.nodes.fiske.mapping import last_calls, live
from thinkgraph.nodes.fiske.outcomes import outcomes
from thinkgraph.nodes.fiske.r_mapping import r_mapping
from thinkgraph.nodes.fiske.relation_discovery import relation_discovery
from thinkgraph.nodes.fiske.starting_points import starting_points
from thinkgraph.runtime.driver import NodeRunner
from thinkgraph.state.fiske import FiskeSettings, FiskeState, MappingTask


def roles(settings: FiskeSettings) -> Mapping[str, bool]:
    """For each role, whether a run with these settings may call it."""
    return {
        "fiske.extract_clues": True,
        "fiske.r_mapping": True,
        "fiske.e_mapping": True,
        "fiske.conclude": True,
        DIRECT: settings.own_knowledge,
    }


def _start(state: FiskeState) -> str:
    if state["branches"] or state["stopped"]:
        return _next_round(state)
    return "starting_points"


def _next_round(state: FiskeState) -> str:
    return "relation_discovery" if live(state) and not state["stopped"] else "conclude"


def _after_conclude(state: FiskeState) -> str:
    return "answer" if state.get("draft") else "extract_clues"


def _r_mapping(state: FiskeState) -> str | list[Send]:
    return _mapping("r_mapping", state) or "entity_discovery"


def _e_mapping(state: FiskeState) -> str | list[Send]:
    return "conclude" if state["stopped"] else _mapping("e_mapping", state) or "outcomes"


def _mapping(node: str, state: FiskeState) -> list[Send]:
    """One task for each mapping call. Calls for the end are kept back, whatever the fan-out uses."""
    if not state["calls_to_make"]:
        return []
    settings = settings_in(state, FiskeSettings)
    parts = ((f"{call['group']}/{call['chunk']}", call) for call in state["calls_to_make"])
    return [
        Send(node, MappingTask(**task, clues=state["clues"], call=call))
        for task, call in tasks(state, settings, parts, keep=last_calls(settings))
    ]


def wire(run: NodeRunner) -> RunGraph:
    """The uncompiled graph."""
    every_round = [relation_discovery, r_mapping, entity_discovery, e_mapping, outcomes]
    steps = [extract_clues, starting_points, *every_round, conclude]
    payloads = {"r_mapping": MappingTask, "e_mapping": MappingTask}
    graph = state_graph(
        run, "fiske", FiskeState, steps, roles=roles, decides="fiske.conclude", trace=trace, payloads=payloads
    )
    graph.unfit = unfit
    graph.add_edge("begin", "extract_clues")
    graph.add_conditional_edges("extract_clues", _start, ["starting_points", "relation_discovery", "conclude"])
    graph.add_conditional_edges("starting_points", _next_round, ["relation_discovery", "conclude"])
    graph.add_conditional_edges("relation_discovery", _r_mapping, ["r_mapping", "entity_discovery"])
    graph.add_edge("r_mapping", "entity_discovery")
    graph.add_conditional_edges("entity_discovery", _e_mapping, ["e_mapping", "outcomes", "conclude"])
    graph.add_edge("e_mapping", "outcomes")
    graph.add_conditional_edges("outcomes", _next_round, ["relation_discovery", "conclude"])
    graph.add_conditional_edges("conclude", _after_conclude, ["answer", "extract_clues"])
    return graph


METHOD = Method(
    name="fiske",
    title="FiSKE",
    summary="Map the question's clues one by one to relations and entities along branches, until one maps them all.",
    settings=FiskeSettings,
    wire=wire,
    # The paper gives no bound but the ceiling: calls follow the number of relations and nodes that branches meet.
    bound=lambda settings, _: settings.max_calls,
)
