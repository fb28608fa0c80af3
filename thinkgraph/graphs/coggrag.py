"""CogGRAG, wired as the paper's figure 2 (Human Cognition Inspired RAG with Knowledge Graph).

begin ── mind_map ──┬─ decompose × open questions ── mind_map (a level down while a question is open)
                    └─ extract_keys (local, global) ── retrieve ──┐
    ┌─────────────────────────────────────────────────────────────┘
    └─ question × ready: reason ── verify ◄─► rethink (k times) ── conclude ──┬─ retrieve (the next questions; going back, those without an answer)
                                                                              ├─ mind_map (another one, going back)
                                                                              └─ answer (the root has one)

Not drawn: a spent ceiling leads from mind_map to retrieve. An answer that needs no verifying, or is verified, ends its question.
In doubt (`backtracks`, ours) a question without an answer goes from reason or rethink to rethink, without verify.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from thinkgraph.graphs.wiring import Method, RunGraph, settings_in, state_graph, tasks
from thinkgraph.nodes.coggrag.conclude import conclude, trace
from thinkgraph.nodes.coggrag.decompose import decompose
from thinkgraph.nodes.coggrag.extract_keys import extract_keys
from thinkgraph.nodes.coggrag.mind_map import mind_map
from thinkgraph.nodes.coggrag.prompt_context import inquiries
from thinkgraph.nodes.coggrag.reason import reason
from thinkgraph.nodes.coggrag.rethink import needs_rethink, rethink
from thinkgraph.nodes.coggrag.retrieve import retrieve
from thinkgraph.nodes.coggrag.tree import ROOT, listed, spelt_out, unfit, waiting
from thinkgraph.nodes.coggrag.verify import needs_verdict, verify
from thinkgraph.nodes.common.ranking import ROLE as RANK_ROLE
from thinkgraph.runtime.driver import NodeRunner
from thinkgraph.state.answer import Answer
from thinkgraph.state.coggrag import (
    CogGragSettings,
    CogGragState,
    DecomposeTask,
    KeyLevel,
    KeysTask,
    QuestionOutput,
    QuestionState,
    QuestionTask,
)


def roles(settings: CogGragSettings) -> Mapping[str, bool]:
    """For each role, whether a run with these settings may call it."""
    return {
        "coggrag.decompose": settings.decompose,
        "coggrag.extract_keys_local": True,
        "coggrag.extract_keys_global": settings.global_keys and not settings.joint_keys,
        "coggrag.extract_keys_joint": settings.global_keys and settings.joint_keys,
        "coggrag.reason": True,
        "coggrag.verify": settings.verify,
        "coggrag.rethink": settings.verify,
        RANK_ROLE: settings.ranker == "llm" and settings.passages > 0,
    }


def _last_calls(settings: CogGragSettings) -> int:
    """Calls kept back for the root: its answer, and its verification."""
    return 2 if settings.verify else 1


def _after_mind_map(state: CogGragState) -> str | list[Send]:
    """A decomposition of every open question, or the keys of the whole map."""
    settings, nodes = settings_in(state, CogGragSettings), state["mind_map"]
    if state["stopped"]:
        # The last calls are the root's; the questions' own words are keys enough.
        return "retrieve"
    keys = waiting(nodes)
    if not keys:
        return _extract(state, settings)
    most = max(1, settings.questions - len(nodes))
    # One more call is kept for the keys.
    return [
        Send("decompose", DecomposeTask(**task, id=key, asked=spelt_out(nodes, key), most=most, tried=state["tried"]))
        for task, key in tasks(state, settings, zip(keys, keys, strict=True), keep=_last_calls(settings) + 1)
    ]


def _extract(state: CogGragState, settings: CogGragSettings) -> list[Send]:
    ids, questions = listed(state["mind_map"])
    levels: list[KeyLevel] = ["local"]
    # Subgraphs link several questions: a lone one has none. On the way back the questions' own names stand in for them.
    if settings.global_keys and not state["backtracked"] and (len(ids) > 1 or not settings.skip_settled):
        levels = ["joint"] if settings.joint_keys else ["local", "global"]
    return [
        Send("extract_keys", KeysTask(**task, level=level, ids=ids, questions=questions))
        for task, level in tasks(state, settings, zip(levels, levels, strict=True), keep=_last_calls(settings))
    ]


def _next_wave(state: CogGragState) -> list[Send]:
    settings = settings_in(state, CogGragSettings)
    wave = inquiries(state, settings)
    if not wave:
        # A state that was edited after its wave had been answered; a way that no run takes by itself is not drawn.
        return [Send("conclude", state)]
    keep = 0 if wave[0]["id"] == ROOT else _last_calls(settings)
    parts = ((inquiry["id"], inquiry) for inquiry in wave)
    return [
        Send("question", QuestionTask(**task, **inquiry)) for task, inquiry in tasks(state, settings, parts, keep=keep)
    ]


def _after_conclude(state: CogGragState) -> str:
    if state.get("draft"):
        return "answer"
    return "retrieve" if state["mind_map"] else "mind_map"


def _next_step(state: QuestionState) -> str:
    settings = settings_in(state, CogGragSettings)
    if needs_verdict(state, settings):
        return "verify"
    return "rethink" if needs_rethink(state, settings) else END


def question(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The subgraph that answers one question of the mind map, so that no question of a wave waits for another."""
    graph = RunGraph(
        QuestionState, context_schema=CogGragSettings, input_schema=QuestionTask, output_schema=QuestionOutput
    )
    graph.add_node("reason", run.node("reason", reason))
    graph.add_node("verify", run.node("verify", verify))
    graph.add_node("rethink", run.node("rethink", rethink))
    graph.add_edge(START, "reason")
    graph.add_conditional_edges("reason", _next_step, ["verify", "rethink", END])
    graph.add_conditional_edges("verify", _next_step, ["rethink", END])
    graph.add_conditional_edges("rethink", _next_step, ["verify", "rethink", END])
    return graph


def wire(run: NodeRunner) -> RunGraph:
    """The uncompiled graph."""
    steps = [mind_map, decompose, extract_keys, retrieve, conclude]
    payloads = {"decompose": DecomposeTask, "extract_keys": KeysTask}
    graph = state_graph(
        run, "coggrag", CogGragState, steps, roles=roles, decides="coggrag.reason", trace=trace, payloads=payloads
    )
    graph.unfit = unfit
    graph.add_node("question", run.branch(question(run)), input_schema=QuestionTask)
    graph.add_edge("begin", "mind_map")
    graph.add_conditional_edges("mind_map", _after_mind_map, ["decompose", "extract_keys", "retrieve"])
    graph.add_edge("decompose", "mind_map")
    graph.add_edge("extract_keys", "retrieve")
    graph.add_conditional_edges("retrieve", _next_wave, ["question"])
    graph.add_edge("question", "conclude")
    graph.add_conditional_edges("conclude", _after_conclude, ["retrieve", "mind_map", "answer"])
    return graph


def bound(settings: CogGragSettings, answer: Answer) -> int:
    """C decompositions, two extractions and 1 + 2k calls for every question of the mind map.

    In doubt the last answer is verified too. Mind maps that were given up are not in the answer: each counts as `questions`, the
    most that one may have.
    """
    split = answer["usage"]["roles"].get("coggrag.decompose")
    asked = 1 + 2 * settings.rethinks + (settings.backtracks > 0) if settings.verify else 1
    questions = len(answer["trace"]["data"]["nodes"]) + settings.backtracks * settings.questions
    extractions = 1 + (settings.global_keys and not settings.joint_keys) + settings.backtracks
    return (split["calls"] if split else 0) + extractions + asked * questions


METHOD = Method(
    name="coggrag",
    title="CogGRAG",
    summary="Break the question down into a mind map, retrieve triples for all of it, answer bottom-up, verify, re-think.",
    settings=CogGragSettings,
    wire=wire,
    bound=bound,
)
