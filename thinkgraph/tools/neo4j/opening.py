"""Opens `neo4j://…` as a knowledge base, and says what was recognised in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.neo4j import roles
from thinkgraph.tools.neo4j.address import NONE, Address, parse_address
from thinkgraph.tools.neo4j.graph import Neo4jGraphStore
from thinkgraph.tools.neo4j.text import Neo4jTextStore
from thinkgraph.tools.neo4j.vectors import Neo4jEntityIndex, vector_indexes

if TYPE_CHECKING:
    from thinkgraph.tools.neo4j.plan import Plan
    from thinkgraph.tools.protocols import Embedder


def open_neo4j(spec: Address | str, *, embedder: Embedder | None = None) -> Knowledge:
    """The graph of a Neo4j database, with its texts where it has any.

    Args:
        spec: `neo4j://user:password@host:7687/database?…`, as the README describes it.
        embedder: encodes texts; by default the bundled one, loaded when something is to be encoded.

    Raises:
        KnowledgeError: the address cannot be read, the database not be reached, or the mapping names what is not there.
    """
    from thinkgraph.tools.embeddings import load_embedder
    from thinkgraph.tools.linking import StandardLinker

    address = parse_address(spec) if isinstance(spec, str) else spec
    chosen: Embedder = embedder if embedder is not None else load_embedder(None)
    graph = Neo4jGraphStore.open(address)
    try:
        text = Neo4jTextStore(graph, chosen) if Neo4jTextStore.recognised(graph) else None
        plan = graph.plan
        things = [label for label in plan.catalogue.labels if label not in plan.hidden_labels | plan.literal_labels]
        indexes = vector_indexes(graph, things)
        linker = StandardLinker(
            graph,
            embedder=chosen if text is not None else None,
            entity_index=Neo4jEntityIndex(graph, chosen, indexes[0]) if indexes else None,
        )
        return Knowledge(graph=graph, text=text, linker=linker, embedder=chosen, close_stores=True)
    except BaseException:
        graph.close()
        raise


def describe(graph: Neo4jGraphStore, text: Neo4jTextStore | None) -> dict[str, Any]:
    """What was recognised in a database, as plain JSON."""
    plan, counts = graph.plan, graph.counts
    ways = graph.finder.ways
    keys = {key.label: key.key for key in (*plan.keys, *plan.literal_keys, *plan.passage_keys)}
    labels = []
    for label, count in sorted(plan.catalogue.labels.items(), key=lambda pair: (-pair[1], pair[0])):
        one = plan.roles.get(label) or roles.Roles(label)
        facts = plan.catalogue.samples.get(label)
        silent = plan.silent([label])
        labels.append(
            {
                "label": label,
                "nodes": count,
                "kind": _kind(plan, label),
                "id": keys.get(label, ""),
                "names": [str(name) for name in one.names],
                "aliases": list(one.aliases),
                "description": one.description,
                "text": [one.passage] if one.passage else list(one.texts),
                "values": sorted(key for key in (facts.properties if facts else ()) if key not in silent),
            }
        )
    missing = [*ways.notes, *(text.finder.notes if text else ())]
    if not plan.catalogue.indexes_known:
        missing.append("this user may not see the indexes, so that none is used: GRANT SHOW INDEX ON DATABASE … TO …")
    return {
        "name": graph.info()["name"],
        "address": str(graph.connection.address),
        "server": f"Neo4j {'.'.join(map(str, graph.connection.version))} {graph.connection.edition}",
        "fingerprint": graph.info()["fingerprint"],
        "entities": counts.entities,
        "literals": counts.literals,
        "triples": counts.triples,
        "exact": counts.exact,
        "passages": text.info()["passages"] if text else 0,
        "with_text": text.info()["entities"] if text else 0,
        "labels": labels,
        "relations": [
            {"name": kind, "label": plan.relation_label(kind), "triples": count, "hidden": kind in plan.hidden_types}
            for kind, count in sorted(plan.catalogue.types.items(), key=lambda pair: (-pair[1], pair[0]))
        ],
        "indexes": {
            "fulltext": [index.name for index in ways.fulltext] + sorted(text.finder.indexes if text else ()),
            "exact": [f"{label}.{key}" for label, key in ways.exact],
            "vector": [index.name for index in plan.catalogue.indexes if index.kind == "VECTOR"]
            if graph.connection.address.vectors != NONE
            else [],
            "scanned": [list(group.labels) for group in ways.scanned],
        },
        "missing": missing,
    }


def _kind(plan: Plan, label: str) -> str:
    if label in plan.passages:
        return "passages"
    if label in plan.hidden_labels:
        return "hidden"
    return "values" if label in plan.literal_labels else "entities"
