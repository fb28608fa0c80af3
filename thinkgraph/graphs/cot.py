"""The baseline `cot`: no retrieval, one call."""

from __future__ import annotations

from typing import Any

from langgraph.graph import StateGraph

from thinkgraph.graphs.method import Method
from thinkgraph.graphs.wiring import straight
from thinkgraph.nodes.answer import answer
from thinkgraph.nodes.begin import begin
from thinkgraph.nodes.driver import NodeRunner
from thinkgraph.nodes.recall import COT, recall
from thinkgraph.state.base import RunState
from thinkgraph.state.baselines import RecallSettings


def wire(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph."""
    fresh = begin("cot", lambda _: [COT], dict, links=lambda _: False)
    return straight(
        RunState,
        RecallSettings,
        {
            "begin": run.node("begin", fresh, entry=True),
            "recall": run.node("recall", recall(COT)),
            "answer": run.node("answer", answer(COT)),
        },
    )


METHOD = Method(
    name="cot",
    title="Chain of thought",
    summary="No retrieval: one call that reasons step by step from the model's memory.",
    settings=RecallSettings,
    wire=wire,
)
