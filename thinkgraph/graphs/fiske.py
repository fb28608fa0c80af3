"""FiSKE, wired as the paper's section 3 (fine-grained stateful knowledge exploration).

begin ── extract clues + starting points + open round ──┐
    ┌───────────────────────────────────────────────────┘
    │  clues and relations left to ask ── r_mapping × chunks ──┐
    └──────────────────────────────────────────────────────────┴─ reach (nodes in one round trip) ──┐
    ┌───────────────────────────────────────────────────────────────────────────────────────────────┘
    │  clues and nodes left to ask ── e_mapping × chunks ── advance (outcomes, ending flag) ──┐
    │  nothing left to ask: outcomes and ending flag in `reach` ──────────────────────────────┤
    └─ next round ◄───────────────────────────────────────────────────────────────────────────┴── conclude ── answer
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
from thinkgraph.nodes.common.memory import DIRECT
from thinkgraph.nodes.fiske.clue_table import trace
from thinkgraph.nodes.fiske.clues import last_calls
from thinkgraph.nodes.fiske.conclude import conclude
from thinkgraph.nodes.fiske.e_mapping import reach
from thinkgraph.nodes.fiske.extract_clues import extract_clues
from thinkgraph.nodes.fiske.mapping import mapping
from thinkgraph.nodes.fiske.outcomes import close_round, close_unasked
from thinkgraph.nodes.fiske.r_mapping import open_round
from thinkgraph.nodes.fiske.starting_points import starting_points
from thinkgraph.runtime.driver import NodeRunner, Update, chain
from thinkgraph.state.answer import Answer
from thinkgraph.state.base import AnswerOutput, QuestionInput
from thinkgraph.state.fiske import FiskeSettings, FiskeState, Mappable, MappingTask


def roles(settings: FiskeSettings) -> Sequence[str]:
    """The roles a run with these settings may call."""
    wanted = {
        "fiske.extract_clues": True,
        "fiske.r_mapping": True,
        "fiske.e_mapping": True,
        "fiske.answer": True,
        DIRECT: settings.own_knowledge,
    }
    return [role for role, used in wanted.items() if used]


def _fresh() -> Update:
    return {
        "clues": [],
        "matches": {},
        "branches": Overwrite({}),
        "phase": "closed",
        "offers": [],
        "calls_to_make": [],
        "mapped": Overwrite({}),
        "reached": [],
        "labels": {},
        "table": [],
        "notes": [],
    }


def _settings(state: FiskeState) -> FiskeSettings:
    return FiskeSettings.model_validate(state["manifest"]["settings"])


def _go_on(state: FiskeState) -> str | list[Send]:
    if state["phase"] not in {"relations", "nodes"} or state["stopped"]:
        return "conclude"
    calls = state["calls_to_make"]
    if not calls:
        return "reach"
    settings = _settings(state)
    kind: Mappable = "relations" if state["phase"] == "relations" else "nodes"
    node = "r_mapping" if kind == "relations" else "e_mapping"
    asked = ((f"{call['group']}/{call['chunk']}", call) for call in calls)
    # Calls for the end are kept back, whatever the fan-out uses.
    return [
        Send(node, MappingTask(**task, kind=kind, clues=state["clues"], asked=call))
        for task, call in tasks(state, settings, asked, keep=last_calls(settings))
    ]


def wire(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        FiskeState, context_schema=FiskeSettings, input_schema=QuestionInput, output_schema=AnswerOutput
    )
    graph.add_node("begin", run.node("begin", begin("fiske", roles, _fresh), entry=True))
    graph.add_node("extract", run.node("extract", chain(FiskeState, extract_clues, starting_points, open_round)))
    graph.add_node("r_mapping", run.node("r_mapping", mapping), input_schema=MappingTask)
    graph.add_node("reach", run.node("reach", chain(FiskeState, reach, close_unasked, open_round)))
    graph.add_node("e_mapping", run.node("e_mapping", mapping), input_schema=MappingTask)
    graph.add_node("advance", run.node("advance", chain(FiskeState, close_round, open_round)))
    graph.add_node("conclude", run.node("conclude", conclude))
    graph.add_node("answer", run.node("answer", answer("fiske.answer", trace)))
    graph.add_edge(START, "begin")
    graph.add_edge("begin", "extract")
    graph.add_conditional_edges("extract", _go_on, ["r_mapping", "reach", "conclude"])
    graph.add_edge("r_mapping", "reach")
    graph.add_conditional_edges("reach", _go_on, ["r_mapping", "e_mapping", "reach", "conclude"])
    graph.add_edge("e_mapping", "advance")
    graph.add_conditional_edges("advance", _go_on, ["r_mapping", "reach", "conclude"])
    graph.add_edge("conclude", "answer")
    graph.add_edge("answer", END)
    return graph


def bound(settings: FiskeSettings, _answer: Answer) -> int | None:
    """The ceiling: the paper gives no other bound, calls follow the number of relations and nodes that branches meet."""
    return settings.max_calls


METHOD = Method(
    name="fiske",
    title="FiSKE",
    summary="Map the question's clues one by one to relations and entities along branches, until one maps them all.",
    settings=FiskeSettings,
    wire=wire,
    bound=bound,
)
