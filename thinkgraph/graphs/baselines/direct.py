"""The baseline `direct`: no retrieval, one call."""

from __future__ import annotations

from typing import Any

from langgraph.graph import StateGraph

from thinkgraph.graphs.method import Method
from thinkgraph.graphs.wiring import straight
from thinkgraph.nodes.baselines.recall import recall
from thinkgraph.nodes.common.answer import answer
from thinkgraph.nodes.common.begin import begin
from thinkgraph.nodes.common.memory import DIRECT
from thinkgraph.runtime.driver import NodeRunner
from thinkgraph.state.base import RunState
from thinkgraph.state.baselines import RecallSettings


def one_recall(run: NodeRunner, name: str, role: str) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph of a method that asks the model's memory once.

    Args:
        run: makes the nodes.
        name: the method's name.
        role: whose prompt is used.
    """
    fresh = begin(name, lambda _: [role], dict, links=lambda _: False)
    return straight(
        RunState,
        RecallSettings,
        {
            "begin": run.node("begin", fresh, entry=True),
            "recall": run.node("recall", recall(role)),
            "answer": run.node("answer", answer(role)),
        },
    )


def wire(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph."""
    return one_recall(run, "direct", DIRECT)


METHOD = Method(
    name="direct",
    title="Direct (IO)",
    summary="No retrieval: one call, from the model's memory.",
    settings=RecallSettings,
    wire=wire,
)
