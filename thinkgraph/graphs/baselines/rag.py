"""The baseline `rag`: passages by vector, one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.graph import StateGraph

from thinkgraph.graphs.method import Method
from thinkgraph.graphs.wiring import straight
from thinkgraph.nodes.baselines.single_pass import one_answer, passage_search
from thinkgraph.nodes.common.answer import answer
from thinkgraph.nodes.common.begin import begin
from thinkgraph.nodes.common.ranking import ROLE as RANK_ROLE
from thinkgraph.runtime.driver import NodeRunner, chain
from thinkgraph.state.base import RunState
from thinkgraph.state.baselines import RagSettings

ROLE = "rag.answer"


def roles(settings: RagSettings) -> Sequence[str]:
    """The roles a run with these settings may call."""
    return [ROLE, RANK_ROLE] if settings.ranker == "llm" else [ROLE]


def wire(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph."""
    fresh = begin("rag", roles, dict, links=lambda settings: settings.scope != "corpus")
    return straight(
        RunState,
        RagSettings,
        {
            "begin": run.node("begin", chain(RunState, fresh, passage_search), entry=True),
            "reason": run.node("reason", one_answer(ROLE)),
            "answer": run.node("answer", answer(ROLE)),
        },
    )


METHOD = Method(
    name="rag",
    title="RAG",
    summary="The nearest passages by vector, of the linked entities or of the whole corpus, and one call.",
    settings=RagSettings,
    wire=wire,
)
