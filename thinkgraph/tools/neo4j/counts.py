"""How much a database holds, as a graph store counts it: counted where that is cheap, estimated where it is not."""

from __future__ import annotations

from dataclasses import dataclass

from thinkgraph.tools.neo4j import cypher
from thinkgraph.tools.neo4j.connection import Connection
from thinkgraph.tools.neo4j.plan import EXACT_COUNTS, Plan


@dataclass(frozen=True)
class Counts:
    """Numbers of a graph."""

    entities: int
    literals: int
    triples: int
    relations: int
    exact: bool
    """Whether literals, triples and relations were counted rather than estimated."""


def count(connection: Connection, plan: Plan) -> tuple[Counts, str]:
    """Counts and fingerprint of a database.

    Raises:
        StoreError: it cannot be read.
    """
    catalogue = plan.catalogue
    edges = catalogue.relationships - sum(plan.touching.values())
    literal_nodes = sum(catalogue.labels[label] for label in plan.literal_labels - plan.hidden_labels)
    exact = catalogue.nodes <= EXACT_COUNTS
    values = _counted_values(connection, plan) if exact else _estimated_values(plan)
    facts = sum(values.values())
    counts = Counts(
        entities=max(catalogue.nodes - plan.hidden_nodes, 0),
        literals=literal_nodes + facts,
        triples=max(edges, 0) + facts,
        relations=len(plan.types) + len({key for _, key in values}),
        exact=exact,
    )
    seen = sorted([*pair, number] for pair, number in values.items()) if exact else None
    return counts, plan.fingerprint(connection.store_id, seen)


def _counted_values(connection: Connection, plan: Plan) -> dict[tuple[str, str], int]:
    """Values by labels and property, counted."""
    query = (
        f"MATCH (n) WHERE NOT {cypher.any_label('n', plan.hidden_labels)} "
        f"WITH labels(n) AS labels, {cypher.facts('n', most='1', cut='1')} AS facts UNWIND facts AS f "
        "WITH labels, f[0] AS key, CASE WHEN f[1] > $most THEN $most ELSE f[1] END AS size, f[1] AS all, f[2][0] AS first "
        "WHERE all > 0 AND NOT (all > 50 AND coalesce(first <> toStringOrNull(first), true)) RETURN labels, key, sum(size)"
    )
    found: dict[tuple[str, str], int] = {}
    for labels, key, size in connection.rows(query, {"data": plan.data, "most": cypher.MOST_ELEMENTS}):
        if key not in plan.silent(labels):
            pair = ("\0".join(sorted(labels)), str(key))
            found[pair] = found.get(pair, 0) + int(size)
    return found


def _estimated_values(plan: Plan) -> dict[tuple[str, str], int]:
    """Values by label and property, as the samples let expect."""
    shown = {label: one for label, one in plan.catalogue.samples.items() if label not in plan.hidden_labels}
    labelled = sum(one.count for one in shown.values())
    scale = min(1.0, (plan.catalogue.nodes - plan.hidden_nodes) / labelled) if labelled else 0.0
    found: dict[tuple[str, str], int] = {}
    for label, one in shown.items():
        silent = plan.silent([label])
        for key, facts in one.properties.items():
            if key not in silent and one.sampled:
                found[label, key] = round(one.count * scale * facts.present / one.sampled)
    return found
