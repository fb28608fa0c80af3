"""Opens `neo4j://…` as a knowledge base."""

from __future__ import annotations

from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.neo4j.graph import Neo4jGraphStore
from thinkgraph.tools.neo4j.search import Neo4jEntityIndex, vector_indexes
from thinkgraph.tools.neo4j.text import Neo4jTextStore
from thinkgraph.tools.protocols import Embedder, closed_on_error


def open_neo4j(spec: str, *, embedder: Embedder | None = None) -> Knowledge:
    """The graph of a Neo4j database, with its texts where it has any.

    Args:
        spec: `neo4j://user:password@host:7687/database?…`, as the README describes it.
        embedder: encodes texts; by default the bundled one, loaded when something is to be encoded.

    Raises:
        KnowledgeError: the address cannot be read, the database not be reached, or the mapping names what is not there.
    """
    from thinkgraph.tools.encoders.words import embedder_for_questions
    from thinkgraph.tools.linking.linker import StandardLinker

    chosen: Embedder = embedder if embedder is not None else embedder_for_questions(None)
    graph = Neo4jGraphStore.open(spec)
    with closed_on_error(graph.close):
        text = Neo4jTextStore(graph, chosen) if Neo4jTextStore.recognised(graph) else None
        indexes = vector_indexes(graph.reader, [*graph.plan.things])
        linker = StandardLinker(
            graph,
            embedder=chosen if text is not None else None,
            entity_index=Neo4jEntityIndex(graph.reader, chosen, indexes) if indexes else None,
        )
        return Knowledge(graph=graph, text=text, linker=linker, embedder=chosen, close_stores=True)
