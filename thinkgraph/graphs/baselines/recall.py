"""The baselines without retrieval: `direct` and `cot` (begin ── recall ── answer), `cot_sc` (sample × n ── majority)."""

from __future__ import annotations

from functools import partial
from typing import Any

from langgraph.graph import StateGraph
from langgraph.types import Send

from thinkgraph.graphs.wiring import Method, samples, settings_in, state_graph, straight
from thinkgraph.models.ops import NodeFunction
from thinkgraph.nodes.baselines.majority import majority
from thinkgraph.nodes.baselines.recall import recall
from thinkgraph.nodes.baselines.sample import sample
from thinkgraph.nodes.common.answer import answer
from thinkgraph.nodes.common.begin import begin
from thinkgraph.nodes.common.memory import COT, DIRECT
from thinkgraph.runtime.driver import NodeRunner
from thinkgraph.state.base import RunState, SampleTask
from thinkgraph.state.baselines import CotScSettings, RecallSettings, RecallState


def _recall(name: str, role: str, run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    nodes: dict[str, NodeFunction] = {
        "begin": begin(name, RunState, lambda _: [role], links=lambda _: False),
        "recall": recall(role),
        "answer": answer(role),
    }
    return straight(run, RunState, RecallSettings, nodes)


def _samples(state: RecallState) -> str | list[Send]:
    settings = settings_in(state, CotScSettings)
    return samples("sample", settings.samples, state, settings, keep=0) if settings.own_knowledge else "majority"


def _self_consistency(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    nodes: dict[str, NodeFunction] = {
        "begin": begin("cot_sc", RecallState, lambda _: [COT], links=lambda _: False),
        "sample": sample,
        "majority": majority,
        "answer": answer(COT),
    }
    graph = state_graph(run, RecallState, CotScSettings, nodes, {"sample": SampleTask})
    graph.add_conditional_edges("begin", _samples, ["sample", "majority"])
    graph.add_edge("sample", "majority")
    graph.add_edge("majority", "answer")
    return graph


DIRECT_METHOD = Method(
    name="direct",
    title="Direct (IO)",
    summary="No retrieval: one call, from the model's memory.",
    settings=RecallSettings,
    wire=partial(_recall, "direct", DIRECT),
)
COT_METHOD = Method(
    name="cot",
    title="Chain of thought",
    summary="No retrieval: one call that reasons step by step from the model's memory.",
    settings=RecallSettings,
    wire=partial(_recall, "cot", COT),
)
COT_SC_METHOD = Method(
    name="cot_sc",
    title="Self-consistency (CoT-SC)",
    summary="No retrieval: several chains of thought, the majority answers.",
    settings=CotScSettings,
    wire=_self_consistency,
    bound=lambda settings, _: settings.samples,
)
