"""The baseline `kg_rag`: triples by vector, one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.graph import StateGraph

from thinkgraph.graphs.method import Method
from thinkgraph.graphs.wiring import straight
from thinkgraph.nodes.baselines.single_pass import one_answer, triple_search
from thinkgraph.nodes.common.answer import answer
from thinkgraph.nodes.common.begin import begin
from thinkgraph.nodes.common.ranking import ROLE as RANK_ROLE
from thinkgraph.runtime.driver import NodeRunner, chain
from thinkgraph.state.base import RunState
from thinkgraph.state.baselines import KgRagSettings

ROLE = "kg_rag.answer"


def roles(settings: KgRagSettings) -> Sequence[str]:
    """The roles a run with these settings may call."""
    return [ROLE, RANK_ROLE] if settings.ranker == "llm" else [ROLE]


def wire(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph."""
    fresh = chain(RunState, begin("kg_rag", roles, dict), triple_search)
    return straight(
        RunState,
        KgRagSettings,
        {
            "begin": run.node("begin", fresh, entry=True),
            "reason": run.node("reason", one_answer(ROLE)),
            "answer": run.node("answer", answer(ROLE)),
        },
    )


METHOD = Method(
    name="kg_rag",
    title="KG-RAG",
    summary="The nearest triples around the linked entities by vector, and one call.",
    settings=KgRagSettings,
    wire=wire,
)
