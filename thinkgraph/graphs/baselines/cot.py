"""The baseline `cot`: no retrieval, one call."""

from __future__ import annotations

from typing import Any

from langgraph.graph import StateGraph

from thinkgraph.graphs.baselines.direct import one_recall
from thinkgraph.graphs.method import Method
from thinkgraph.nodes.common.memory import COT
from thinkgraph.runtime.driver import NodeRunner
from thinkgraph.state.baselines import RecallSettings


def wire(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph."""
    return one_recall(run, "cot", COT)


METHOD = Method(
    name="cot",
    title="Chain of thought",
    summary="No retrieval: one call that reasons step by step from the model's memory.",
    settings=RecallSettings,
    wire=wire,
)
