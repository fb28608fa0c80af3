"""The baselines that retrieve once: `rag` (passages by vector) and `kg_rag` (triples by vector).

begin ──┬─ link_entities ─┬─ passage_search or triple_search ── reason ── answer
        └─(whole corpus)──┘

Only `rag` searches the whole corpus.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from langgraph.graph import StateGraph

from thinkgraph.graphs.wiring import Method, settings_in, state_graph, straight
from thinkgraph.nodes.baselines.passage_search import passage_search
from thinkgraph.nodes.baselines.reason import reason
from thinkgraph.nodes.baselines.triple_search import triple_search
from thinkgraph.nodes.common.link_entities import link_entities
from thinkgraph.nodes.common.ranking import ROLE as RANK_ROLE
from thinkgraph.runtime.driver import NodeRunner
from thinkgraph.state.baselines.single_pass import KgRagSettings, RagSettings, RetrievalState

RAG_ROLE, KG_RAG_ROLE = "rag.reason", "kg_rag.reason"


def _roles(role: str, settings: RagSettings | KgRagSettings) -> Mapping[str, bool]:
    return {role: True, RANK_ROLE: settings.ranker == "llm"}


def _links(settings: RagSettings) -> bool:
    return settings.scope != "corpus"


def _after_begin(state: RetrievalState) -> str:
    return "link_entities" if _links(settings_in(state, RagSettings)) else "passage_search"


def _rag(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    steps = [link_entities, passage_search, reason]
    roles = partial(_roles, RAG_ROLE)
    graph = state_graph(run, "rag", RetrievalState, steps, roles=roles, decides=RAG_ROLE, links=_links)
    graph.add_conditional_edges("begin", _after_begin, ["link_entities", "passage_search"])
    graph.add_edge("link_entities", "passage_search")
    graph.add_edge("passage_search", "reason")
    graph.add_edge("reason", "answer")
    return graph


def _kg_rag(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    steps = [link_entities, triple_search, reason]
    roles = partial(_roles, KG_RAG_ROLE)
    return straight(state_graph(run, "kg_rag", RetrievalState, steps, roles=roles, decides=KG_RAG_ROLE))


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
