"""Says what was recognised in a database, and what its owner could do to make it faster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thinkgraph.tools.neo4j import roles
from thinkgraph.tools.neo4j.address import NONE
from thinkgraph.tools.neo4j.text import Neo4jTextStore

if TYPE_CHECKING:
    from thinkgraph.tools.neo4j.graph import Neo4jGraphStore
    from thinkgraph.tools.neo4j.plan import Plan


def describe(graph: Neo4jGraphStore, text: object = None) -> dict[str, Any]:
    """What was recognised in a database, as plain JSON; `text` is its text store, where that is ours."""
    text = text if isinstance(text, Neo4jTextStore) else None
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
            "fulltext": [index.name for index in ways.fulltext],
            "exact": [f"{label}.{key}" for label, key in ways.exact],
            "vector": [index.name for index in plan.catalogue.indexes if index.kind == "VECTOR"]
            if graph.connection.address.vectors != NONE
            else [],
            "scanned": [[label or "(no label)" for label in group.labels] for group in ways.scanned],
            "text": sorted(text.finder.indexes) if text else [],
        },
        "missing": advice(graph, text),
    }


def _kind(plan: Plan, label: str) -> str:
    if label in plan.passages:
        return "passages"
    if label in plan.hidden_labels:
        return "hidden"
    return "values" if label in plan.literal_labels else "entities"


def advice(graph: Neo4jGraphStore, text: Neo4jTextStore | None) -> list[str]:
    """What is slow for want of an index, one line each with the statement that would help; we never run it."""
    notes = [*graph.finder.ways.notes, *(text.finder.notes if text else ())]
    if not graph.plan.catalogue.indexes_known:
        notes.append("this user may not see the indexes, so that none is used: GRANT SHOW INDEX ON DATABASE … TO …")
    return notes
