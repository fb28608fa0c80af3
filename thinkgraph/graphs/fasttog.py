"""FastToG, wired as the paper's algorithm 1 (Fast Think-on-Graph, arXiv 2501.14300, appendix A).

begin ── extract (subjects) ── headers (local community search, multiple choice) ── reason ──┐
    ┌─────────────────────────────────────────────────────────────────────────────────────────┤
    │  an answer, no chain left, depth reached, or a ceiling spent ── (remember × n ── majority) ── answer
    └─ search (local community search of every chain) ── prune × chains (single choice) ── grow + reason
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
from thinkgraph.nodes.common.memory import COT, DIRECT
from thinkgraph.nodes.fasttog.chains import chains_trace
from thinkgraph.nodes.fasttog.community_prune import community_prune, grow, header_choice, is_final
from thinkgraph.nodes.fasttog.community_search import community_search, search_starts
from thinkgraph.nodes.fasttog.extract_subjects import extract_subjects, link_subjects
from thinkgraph.nodes.fasttog.fallback import majority, may_remember, remember
from thinkgraph.nodes.fasttog.reason import chain_reason
from thinkgraph.runtime.driver import NodeRunner, Update, chain
from thinkgraph.state.answer import Answer
from thinkgraph.state.base import AnswerOutput, QuestionInput, SampleTask
from thinkgraph.state.fasttog import FastTogSettings, FastTogState, PruneTask


def roles(settings: FastTogSettings) -> Sequence[str]:
    """The roles a run with these settings may call."""
    wanted = {
        "fasttog.subjects": True,
        "fasttog.headers": True,
        "fasttog.reason": True,
        "fasttog.prune": settings.depth > 0,
        "fasttog.describe": settings.community_text == "llm",
        DIRECT: may_remember(settings) and settings.fallback == "io",
        COT: may_remember(settings) and settings.fallback != "io",
    }
    return [role for role, used in wanted.items() if used]


def _fresh() -> Update:
    return {
        "subjects": [],
        "start": None,
        "chains": [],
        "history": [],
        "offers": {},
        "choices": Overwrite({}),
        "samples": Overwrite({}),
        "texts": {},
    }


def _settings(state: FastTogState) -> FastTogSettings:
    return FastTogSettings.model_validate(state["manifest"]["settings"])


def _after_extract(state: FastTogState) -> str | list[Send]:
    return "headers" if state["subjects"] else _give_up(state)


def _after_reason(state: FastTogState) -> str | list[Send]:
    if state.get("draft") or is_final(state, _settings(state)):
        return _give_up(state)
    return "search"


def _give_up(state: FastTogState) -> str | list[Send]:
    """The end, by way of the model's memory where that is allowed and there is no answer yet."""
    settings = _settings(state)
    if state.get("draft") or state["stopped"] or not may_remember(settings):
        return "answer"
    count = settings.fallback_samples if settings.fallback == "cot_sc" else 1
    samples = ((str(number), number) for number in range(1, count + 1))
    return [
        Send("remember", SampleTask(**task, sample=number)) for task, number in tasks(state, settings, samples, keep=0)
    ]


def _after_search(state: FastTogState) -> str | list[Send]:
    if not state["offers"]:
        return "grow"
    asked = [(number, found) for found in state["chains"] if (number := str(found["number"])) in state["offers"]]
    # One call is kept back for Reason, whatever the fan-out uses.
    return [
        Send("prune", PruneTask(**task, subjects=state["subjects"], chain=found, offer=state["offers"][task["part"]]))
        for task, found in tasks(state, _settings(state), asked, keep=1, ahead=1)
    ]


def wire(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        FastTogState, context_schema=FastTogSettings, input_schema=QuestionInput, output_schema=AnswerOutput
    )
    graph.add_node("begin", run.node("begin", begin("fasttog", roles, _fresh), entry=True))
    graph.add_node("extract", run.node("extract", chain(FastTogState, extract_subjects, link_subjects)))
    graph.add_node("headers", run.node("headers", chain(FastTogState, search_starts, header_choice)))
    graph.add_node("reason", run.node("reason", chain_reason))
    graph.add_node("search", run.node("search", community_search))
    graph.add_node("prune", run.node("prune", community_prune), input_schema=PruneTask)
    graph.add_node("grow", run.node("grow", chain(FastTogState, grow, chain_reason)))
    graph.add_node("remember", run.node("remember", remember), input_schema=SampleTask)
    graph.add_node("majority", run.node("majority", majority))
    graph.add_node("answer", run.node("answer", answer("fasttog.reason", chains_trace)))
    graph.add_edge(START, "begin")
    graph.add_edge("begin", "extract")
    graph.add_conditional_edges("extract", _after_extract, ["headers", "remember", "answer"])
    graph.add_edge("headers", "reason")
    graph.add_conditional_edges("reason", _after_reason, ["search", "remember", "answer"])
    graph.add_conditional_edges("search", _after_search, ["prune", "grow"])
    graph.add_edge("prune", "grow")
    graph.add_conditional_edges("grow", _after_reason, ["search", "remember", "answer"])
    graph.add_edge("remember", "majority")
    graph.add_edge("majority", "answer")
    graph.add_edge("answer", END)
    return graph


def bound(settings: FastTogSettings, _answer: Answer) -> int:
    """Extraction, header choice, a first Reason and D · (W + 1); where memory counts, the fallback."""
    remembered = settings.fallback_samples if settings.fallback == "cot_sc" else 1
    return 3 + settings.depth * (settings.width + 1) + (remembered if may_remember(settings) else 0)


METHOD = Method(
    name="fasttog",
    title="FastToG",
    summary="Think community by community: find communities around the entities, chain them, reason over the chains.",
    settings=FastTogSettings,
    wire=wire,
    bound=bound,
)
