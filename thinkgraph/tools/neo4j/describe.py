"""How much a database holds, what was recognised in it, and what its owner could do to make it faster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from thinkgraph.state.knowledge import GraphInfo
from thinkgraph.tools.neo4j import cypher, roles
from thinkgraph.tools.neo4j.connection import NONE, Connection
from thinkgraph.tools.neo4j.names import Ways
from thinkgraph.tools.neo4j.plan import Neo4jPlan
from thinkgraph.tools.neo4j.search import TextFinder


def graph_info(connection: Connection, plan: Neo4jPlan) -> GraphInfo:
    """What a database holds: counted where that is cheap, else estimated from the samples (`plan.exact`)."""
    catalogue = plan.catalogue
    edges = catalogue.relationships - sum(plan.touching.values())
    literal_nodes = sum(catalogue.labels[label] for label in plan.literal_labels - plan.hidden_labels)
    values = _counted_values(connection, plan) if plan.exact else _estimated_values(plan)
    facts = sum(values.values())
    counts = sorted([*pair, number] for pair, number in values.items()) if plan.exact else None
    return {
        "name": connection.database or "",
        "fingerprint": plan.fingerprint(connection.store_id, counts),
        "entities": plan.entities,
        "literals": literal_nodes + facts,
        "triples": max(edges, 0) + facts,
        "relations": len(plan.types) + len({key for _, key in values}),
    }


def _counted_values(connection: Connection, plan: Neo4jPlan) -> Mapping[tuple[str, str], int]:
    """Values by labels and property, counted."""
    query = (
        f"MATCH (n) WHERE NOT {cypher.any_label('n', plan.hidden_labels)} "
        f"WITH labels(n) AS labels, {cypher.facts(most='1', cut='1')} AS facts UNWIND facts AS f "
        "WITH labels, f[0] AS key, CASE WHEN f[1] > $most THEN $most ELSE f[1] END AS size, f[1] AS all, f[2][0] AS first "
        "WHERE all > 0 AND NOT (all > 50 AND coalesce(first <> toStringOrNull(first), true)) RETURN labels, key, sum(size)"
    )
    found: Counter[tuple[str, str]] = Counter()
    for labels, key, size in connection.rows(query, {"data": plan.data, "most": cypher.MOST_ELEMENTS}):
        if key not in plan.node_roles(tuple(labels)).non_facts:
            found["\0".join(sorted(labels)), str(key)] += int(size)
    return found


def _estimated_values(plan: Neo4jPlan) -> Mapping[tuple[str, str], int]:
    """Values by label and property, estimated from the samples."""
    shown = {label: one for label, one in plan.catalogue.samples.items() if label not in plan.hidden_labels}
    labelled = sum(one.count for one in shown.values())
    scale = min(1.0, plan.entities / labelled) if labelled else 0.0
    return {
        (label, key): round(one.count * scale * facts.present / one.sampled)
        for label, one in shown.items()
        for key, facts in one.properties.items()
        if key not in plan.node_roles((label,)).non_facts
    }


def describe(connection: Connection, plan: Neo4jPlan, ways: Ways, texts: TextFinder | None) -> dict[str, Any]:
    """What was recognised in a database, as plain JSON."""
    keys = dict((*plan.keys, *plan.literal_keys, *plan.passage_keys))
    kinds = dict.fromkeys(plan.literal_labels, "values") | dict.fromkeys(plan.hidden_labels, "hidden")
    kinds |= dict.fromkeys(plan.passages, "passages")
    labels = []
    for label, count in sorted(plan.catalogue.labels.items(), key=lambda pair: (-pair[1], pair[0])):
        one = plan.roles.get(label) or roles.Roles(label)
        facts = plan.catalogue.samples.get(label)
        non_facts = plan.node_roles((label,)).non_facts
        labels.append(
            {
                "label": label,
                "nodes": count,
                "kind": kinds.get(label, "entities"),
                "id": keys.get(label, ""),
                "names": [str(name) for name in one.names],
                "aliases": list(one.aliases),
                "description": one.description,
                "text": [one.passage] if one.passage else list(one.texts),
                "values": sorted(key for key in (facts.properties if facts else ()) if key not in non_facts),
            }
        )
    waiting = (index.wait for index in plan.catalogue.unready)
    missing = list(dict.fromkeys([*plan.catalogue.notes, *waiting, *ways.notes, *(texts.notes if texts else ())]))
    if not plan.catalogue.indexes_known:
        missing.append("this user may not see the indexes, so that none is used: GRANT SHOW INDEX ON DATABASE … TO …")
    if not plan.catalogue.nodes:
        missing.append("the database is empty: load a graph into it, or name another one behind the address (…/NAME)")
    vectors = [index.name for index in plan.catalogue.indexes if index.kind == "VECTOR"]
    return {
        "address": str(connection.address),
        "server": f"Neo4j {'.'.join(map(str, connection.version))} {connection.edition}",
        "exact": plan.exact,
        "labels": labels,
        "relations": [
            {"name": kind, "label": plan.relation_label(kind), "triples": count, "hidden": kind in plan.hidden_types}
            for kind, count in sorted(plan.catalogue.types.items(), key=lambda pair: (-pair[1], pair[0]))
        ],
        "indexes": {
            "fulltext": list(ways.fulltext),
            "exact": [f"{label}.{key}" for label, key in ways.exact],
            "vector": vectors if connection.address.vectors != NONE else [],
            "scanned": [[label or "(no label)" for label in group.labels] for group in ways.scanned],
            "text": sorted(texts.indexes) if texts else [],
        },
        "missing": missing,
    }
