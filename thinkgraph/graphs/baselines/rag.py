"""The baselines that retrieve once: `rag` (passages by vector) and `kg_rag` (triples by vector).

begin ──┬─ link_entities ─┬─ passage_search or triple_search ── reason ── answer
        └─(whole corpus)──┘
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from langgraph.graph import StateGraph

from thinkgraph.graphs.wiring import Method, settings_in, state_graph, straight
from thinkgraph.models.ops import NodeFunction
from thinkgraph.nodes.baselines.passage_search import passage_search
from thinkgraph.nodes.baselines.reason import reason
from thinkgraph.nodes.baselines.triple_search import triple_search
from thinkgraph.nodes.common.answer import answer
from thinkgraph.nodes.common.begin import begin
from thinkgraph.nodes.common.link_entities import link_entities
from thinkgraph.nodes.common.ranking import ROLE as RANK_ROLE
from thinkgraph.runtime.driver import NodeRunner
from thinkgraph.state.baselines import KgRagSettings, RagSettings, RetrievalState

RAG_ROLE, KG_RAG_ROLE = "rag.reason", "kg_rag.reason"


def _roles(role: str, settings: RagSettings | KgRagSettings) -> Sequence[str]:
    return [role, RANK_ROLE] if settings.ranker == "llm" else [role]


def _rag(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    def after_begin(state: RetrievalState) -> str:
        return "passage_search" if settings_in(state, RagSettings).scope == "corpus" else "link_entities"

    nodes: dict[str, NodeFunction] = {
        "begin": begin(
            "rag", RetrievalState, partial(_roles, RAG_ROLE), links=lambda settings: settings.scope != "corpus"
        ),
        "link_entities": link_entities,
        "passage_search": passage_search,
        "reason": reason(RAG_ROLE),
        "answer": answer(RAG_ROLE),
    }
    graph = state_graph(run, RetrievalState, RagSettings, nodes)
    graph.add_conditional_edges("begin", after_begin, ["link_entities", "passage_search"])
    graph.add_edge("link_entities", "passage_search")
    graph.add_edge("passage_search", "reason")
    graph.add_edge("reason", "answer")
    return graph


def _kg_rag(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    nodes: dict[str, NodeFunction] = {
        "begin": begin("kg_rag", RetrievalState, partial(_roles, KG_RAG_ROLE)),
        "link_entities": link_entities,
        "triple_search": triple_search,
        "reason": reason(KG_RAG_ROLE),
        "answer": answer(KG_RAG_ROLE),
    }
    return straight(run, RetrievalState, KgRagSettings, nodes)


RAG_METHOD = Method(
    name="rag",
    title="RAG",
    summary="The nearest passages by vector, of the linked entities or of the whole corpus, and one call.",
    settings=RagSettings,
    wire=_rag,
)
KG_RAG_METHOD = Method(
    name="kg_rag",
    title="KG-RAG",
    summary="The nearest triples around the linked entities by vector, and one call.",
    settings=KgRagSettings,
    wire=_kg_rag,
)
