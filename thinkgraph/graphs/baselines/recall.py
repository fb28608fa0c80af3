"""The baselines without retrieval: `direct` and `cot` (begin ── recall ── answer), `cot_sc` (begin ── sample × n ── majority ── answer)."""

from __future__ import annotations

from functools import partial
from typing import Any

from langgraph.graph import StateGraph
from langgraph.types import Send

from thinkgraph.graphs.wiring import Method, samples, settings_in, state_graph, straight
from thinkgraph.nodes.baselines.majority import majority
from thinkgraph.nodes.baselines.recall import recall
from thinkgraph.nodes.baselines.sample import sample
from thinkgraph.nodes.common.memory import COT, DIRECT
from thinkgraph.runtime.driver import NodeRunner
from thinkgraph.state.base import RunState, SampleTask
from thinkgraph.state.baselines.single_pass import CotScSettings, RecallSettings, RecallState


def _recall(name: str, role: str, run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    return straight(state_graph(run, name, RunState, [recall], decides=role, links=lambda _: False))


def _samples(state: RecallState) -> str | list[Send]:
    settings = settings_in(state, CotScSettings)
    return samples("sample", settings.samples, state, settings, keep=0) if settings.own_knowledge else "majority"


def _self_consistency(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    steps, payloads = [sample, majority], {"sample": SampleTask}
    graph = state_graph(run, "cot_sc", RecallState, steps, decides=COT, links=lambda _: False, payloads=payloads)
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
