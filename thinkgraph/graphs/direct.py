"""The baseline `direct`: no retrieval, one call."""

from __future__ import annotations

from typing import Any

from langgraph.graph import StateGraph

from thinkgraph.graphs.method import Method
from thinkgraph.graphs.wiring import straight
from thinkgraph.nodes.answer import answer
from thinkgraph.nodes.begin import begin
from thinkgraph.nodes.driver import NodeRunner
from thinkgraph.nodes.recall import DIRECT, recall
from thinkgraph.state.base import RunState
from thinkgraph.state.baselines import RecallSettings


def wire(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph."""
    fresh = begin("direct", lambda _: [DIRECT], dict, links=lambda _: False)
    return straight(
        RunState,
        RecallSettings,
        {
            "begin": run.node("begin", fresh, entry=True),
            "recall": run.node("recall", recall(DIRECT)),
            "answer": run.node("answer", answer(DIRECT)),
        },
    )


METHOD = Method(
    name="direct",
    title="Direct (IO)",
    summary="No retrieval: one call, from the model's memory.",
    settings=RecallSettings,
    wire=wire,
)
