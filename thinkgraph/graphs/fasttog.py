"""FastToG, wired as the paper's algorithm 1 (Fast Think-on-Graph, arXiv 2501.14300, appendix A).

begin ── extract_subjects ── community_search (of the subjects) ── header_choice (multiple choice) ── reason ──┐
    ┌───────────────────────────────────────────────────────────────────────────────────────────────────────────┤
    ├─ an answer, or a ceiling spent ── (remember × n ── majority) ── answer                                    │
    ├─ no chain grows, or depth reached: backtrack ── community_search (of the subjects) ── header_choice ──────┤
    └─ community_search (of every chain) ── community_prune × chains (single choice) ── grow ── reason ─────────┘

The first reason is that of the section "Reasoning", whose initial phase judges too; algorithm 1 has none there. `backtrack` is ours.

With `steered` (ours) community_search stands before reason, whose reply chooses too; community_prune then asks only about what it left open.
Not drawn: after `backtracks` returns, what leads to backtrack leads to the answer instead. Without a subject, extract_subjects leads
to remember or answer; with nothing to ask, community_search leads to grow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.graph import StateGraph
from langgraph.types import Send

from thinkgraph.graphs.wiring import Method, samples, settings_in, state_graph, tasks
from thinkgraph.nodes.common.memory import COT, DIRECT
from thinkgraph.nodes.doubt.judged import MOST_LOOKS, may_backtrack
from thinkgraph.nodes.fasttog.backtrack import backtrack
from thinkgraph.nodes.fasttog.chains import chains_trace, is_final
from thinkgraph.nodes.fasttog.community_prune import community_prune
from thinkgraph.nodes.fasttog.community_search import community_search
from thinkgraph.nodes.fasttog.extract_subjects import extract_subjects
from thinkgraph.nodes.fasttog.grow import grow
from thinkgraph.nodes.fasttog.header_choice import header_choice
from thinkgraph.nodes.fasttog.majority import majority
from thinkgraph.nodes.fasttog.reason import STEER, reason
from thinkgraph.nodes.fasttog.remember import may_remember, remember, sample_count
from thinkgraph.runtime.driver import NodeRunner
from thinkgraph.state.answer import Answer
from thinkgraph.state.base import SampleTask
from thinkgraph.state.fasttog import HEADERS, FastTogSettings, FastTogState, PruneTask


def roles(settings: FastTogSettings) -> Mapping[str, bool]:
    """For each role, whether a run with these settings may call it."""
    return {
        "fasttog.extract_subjects": True,
        "fasttog.header_choice": True,
        "fasttog.reason": True,
        STEER: settings.steered and settings.depth > 0,
        "fasttog.community_prune": settings.depth > 0,
        "fasttog.community_text": settings.community_text == "llm",
        DIRECT: may_remember(settings) and settings.fallback == "io",
        COT: may_remember(settings) and settings.fallback != "io",
    }


def _after_subjects(state: FastTogState) -> str | list[Send]:
    return "community_search" if state["subjects"] else _give_up(state)


def _after_search(state: FastTogState) -> str | list[Send]:
    if HEADERS in state["candidates"]:
        return "header_choice"
    return "reason" if settings_in(state, FastTogSettings).steered else _prunes(state)


def _prunes(state: FastTogState) -> str | list[Send]:
    asked = [(key, chain) for chain in state["chains"] if (key := str(chain["number"])) in state["candidates"]]
    if not asked:
        return "grow"
    # One call is kept back for Reason, whatever the fan-out uses.
    return [
        Send(
            "community_prune",
            PruneTask(
                **task,
                subjects=state["subjects"],
                chain=chain,
                candidates=state["candidates"][task["part"]],
                said=state["said"].get(task["part"]),
            ),
        )
        for task, chain in tasks(state, settings_in(state, FastTogSettings), asked, keep=1, ahead=1)
    ]


def _to_reason(state: FastTogState) -> str:
    """By way of what the chains may go to next, where Reason is asked about that too."""
    settings = settings_in(state, FastTogSettings)
    return "community_search" if settings.steered and not is_final(state, settings) else "reason"


def _after_reason(state: FastTogState) -> str | list[Send]:
    settings = settings_in(state, FastTogSettings)
    if state.get("draft"):
        return _give_up(state)
    if not is_final(state, settings):
        return _prunes(state) if settings.steered else "community_search"
    return "backtrack" if may_backtrack(state, settings) else _give_up(state)


def _give_up(state: FastTogState) -> str | list[Send]:
    """The end, by way of the model's memory where that is allowed and there is no answer yet."""
    settings = settings_in(state, FastTogSettings)
    if state.get("draft") or state["stopped"] or not may_remember(settings):
        return "answer"
    return samples("remember", sample_count(settings), state, settings, keep=0)


def wire(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph."""
    steps = [
        extract_subjects,
        community_search,
        header_choice,
        community_prune,
        grow,
        reason,
        backtrack,
        remember,
        majority,
    ]
    payloads = {"community_prune": PruneTask, "remember": SampleTask}
    graph = state_graph(
        run,
        "fasttog",
        FastTogState,
        steps,
        roles=roles,
        decides="fasttog.reason",
        trace=chains_trace,
        payloads=payloads,
    )
    graph.add_edge("begin", "extract_subjects")
    graph.add_conditional_edges("extract_subjects", _after_subjects, ["community_search", "remember", "answer"])
    graph.add_conditional_edges(
        "community_search", _after_search, ["header_choice", "reason", "community_prune", "grow"]
    )
    graph.add_conditional_edges("header_choice", _to_reason, ["community_search", "reason"])
    graph.add_edge("community_prune", "grow")
    graph.add_conditional_edges("grow", _to_reason, ["community_search", "reason"])
    ways = ["community_search", "community_prune", "grow", "backtrack", "remember", "answer"]
    graph.add_conditional_edges("reason", _after_reason, ways)
    graph.add_edge("backtrack", "community_search")
    graph.add_edge("remember", "majority")
    graph.add_edge("majority", "answer")
    return graph


def bound(settings: FastTogSettings, _answer: Answer) -> int:
    """Extraction, header choice, a first Reason and D · (W + 1); where memory counts, the fallback.

    A way back takes as many calls as the first way, but no extraction. Any Reason may be asked MOST_LOOKS times in doubt.
    """
    remembered = sample_count(settings) if may_remember(settings) else 0
    reasons = (settings.depth + 1) * (MOST_LOOKS if settings.backtracks else 1)
    walk = 1 + settings.depth * settings.width + reasons
    return 1 + walk * (1 + settings.backtracks) + remembered


METHOD = Method(
    name="fasttog",
    title="FastToG",
    summary="Think community by community: find communities around the entities, chain them, reason over the chains.",
    settings=FastTogSettings,
    wire=wire,
    bound=bound,
)
