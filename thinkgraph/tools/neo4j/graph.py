"""Any Neo4j property graph as a `GraphStore`.

A node is an entity, a relationship a triple whose properties are its qualifiers, a property a triple whose object is a
literal value (each element of a list one), unless it names or identifies its node or holds long text. Every method is one
query for each 5,000 entities; only steps from nodes with very many edges take a second one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

from thinkgraph.state.knowledge import Direction, Entity, GraphInfo, Match, Neighbours, Relation, Step, Triple, copied
from thinkgraph.tools.linking.names import relation_label
from thinkgraph.tools.neo4j import cypher, rows
from thinkgraph.tools.neo4j.connection import Connection, parse_address
from thinkgraph.tools.neo4j.describe import describe, graph_info
from thinkgraph.tools.neo4j.names import Neo4jNames
from thinkgraph.tools.neo4j.plan import Neo4jPlan, make_plan
from thinkgraph.tools.neo4j.rows import Fact, Neo4jNode, Neo4jReader, PropertyValue
from thinkgraph.tools.neo4j.search import TextFinder
from thinkgraph.tools.protocols import Closing, closed_on_error

HUB = 1_000
"""Edges from which on a node's are never all read to find those of one type."""
_TYPES_INLINE = 32
"""Types of relationships up to which a hub's edges are counted by the store, type by type; more are read and counted."""
_MODULUS, _STRIDE = 1_000_003, 7_919

_Step = tuple[str, str, str]
"""Entity, relation, direction."""
_NOTHING: Neighbours = {"triples": [], "total": 0}


class Neo4jGraphStore(Closing):
    """A database's graph, read only. Safe to use from several threads. Close it, or use it as a context manager."""

    def __init__(self, connection: Connection, plan: Neo4jPlan) -> None:
        """Read a database as `plan` says; `open` makes both. Closing the store closes the connection."""
        self.connection = connection
        self.plan = plan
        self.reader = Neo4jReader(connection, plan)
        self.finder = Neo4jNames(self.reader)
        self._info = graph_info(connection, plan)

    @classmethod
    def open(cls, address: str) -> Self:
        """Connect to `neo4j://…` and look at the schema.

        Raises:
            KnowledgeError: the address cannot be read, the database not be reached, or the mapping names what is not there.
        """
        connection = Connection(parse_address(address))
        with closed_on_error(connection.close):
            return cls(connection, make_plan(connection, connection.address.mapping))

    def close(self) -> None:
        """Close all connections; using the store afterwards raises `StoreError`."""
        self.connection.close()

    def info(self) -> GraphInfo:
        """See `GraphStore.info`. Looked at when the store was opened.

        The fingerprint covers the database's identity, its labels, types and property keys, how many nodes and
        relationships each has (and, up to 20,000 nodes, how many values each property has), and the reading of it. What
        Neo4j cannot tell cheaply, it cannot see: a value that was changed into another, or as much deleted as added.
        """
        return self._info.copy()

    def describe(self, text: object = None) -> dict[str, Any]:
        """What was recognised, as plain JSON: labels, relations, indexes, and under `missing` what an owner could do."""
        texts = getattr(text, "finder", None)
        return describe(self.connection, self.plan, self.finder.ways, texts if isinstance(texts, TextFinder) else None)

    def lookup(self, names: Sequence[str], *, limit: int = 10) -> list[list[Match]]:
        """See `GraphStore.lookup`."""
        return self.finder.lookup(names, limit)

    def search(self, texts: Sequence[str], *, limit: int = 10, fuzzy: bool = False) -> list[list[Match]]:
        """See `GraphStore.search`."""
        return self.finder.spelt_like(texts, limit) if fuzzy else self.finder.search(texts, limit)

    def entities(self, ids: Sequence[str]) -> list[Entity | None]:
        """See `GraphStore.entities`."""
        facts, others = _split(ids)
        found: dict[str, Entity] = {value.id: value.entity() for value in self._values(facts)}
        query = f"WITH DISTINCT n RETURN {cypher.described(self.plan.hidden_labels)}"
        for head, details, edges in self.reader.found(others, query):
            node = self.reader.node(head)
            if not node.hidden:
                found.setdefault(node.id, rows.entity(node, details, edges))
        return [None if (entity := found.get(one)) is None else entity.copy() for one in ids]

    def triples(self, ids: Sequence[str]) -> list[Triple | None]:
        """See `GraphStore.triples`. A statement that was changed since its id was given out is not found."""
        facts, others = _split(ids, "fact:")
        query = (
            "UNWIND $p.targets AS a MATCH (n)-[r]->(m) WHERE elementId(r) = a "
            f"RETURN {cypher.head('n')}, {cypher.edge()}, {cypher.head('m')}"
        )
        made = [value.triple() for value in self._values(facts)]
        elements = sorted({element for one in others if (element := rows.read_edge(self.plan, one))})
        for head, edge, end in self.reader.rows(query, elements):
            made.append(rows.triple(self.reader.node(head), edge, self.reader.node(end)))
        found = {triple["id"]: triple for triple in made}
        return [None if (triple := found.get(one)) is None else copied(triple) for one in ids]

    def relations(self, ids: Sequence[str]) -> list[list[Relation]]:
        """See `GraphStore.relations`. A hub's edges are counted by type without being read, where there are few types."""
        plan = self.plan
        facts, others = _split(ids)
        found: dict[str, list[Relation]] = {}
        for value in self._values(facts):
            relation = _relation(value.id, plan.fact_relation(value.key), "in", 1, relation_label(value.key))
            found[value.id] = [relation]
        query = (
            f"WITH DISTINCT n WITH n, {cypher.degree(sorted(plan.hidden_types))} AS degree "
            f"{self._spread()} RETURN {cypher.head('n')}, {cypher.facts(most='1', cut='1')}, spread"
        )
        for head, details, spread in self.reader.found(others, query, kinds=sorted(plan.types)):
            node = self.reader.node(head)
            if not node.hidden and node.id not in found:
                found[node.id] = self._edges(node, details, spread)
        return [[edge.copy() for edge in found.get(one, ())] for one in ids]

    def neighbours(self, steps: Sequence[Step], *, limit: int = 100, seed: int = 0) -> list[Neighbours]:
        """See `GraphStore.neighbours`. In the database's order; a cut result takes one triple from each equal stretch."""
        limit = max(limit, 0)
        keys = [(step["entity"], step["relation"], step["direction"]) for step in steps]
        of_values: list[_Step] = []
        of_edges: list[_Step] = []
        for step in dict.fromkeys(keys):
            to_value = step[1] not in self.plan.types or _split([step[0]])[0]
            (of_values if to_value else of_edges).append(step)
        found = self._fact_steps(of_values, limit, seed) | self._edge_steps(of_edges, limit, seed)
        return [_own(found.get(step, _NOTHING)) for step in keys]

    def neighbourhood(self, ids: Sequence[str], *, limit: int = 100, seed: int = 0) -> list[Neighbours]:
        """See `GraphStore.neighbourhood`. Values first, then edges; a loop counts once."""
        facts, others = _split(ids)
        limit = max(limit, 0)
        found = {value.id: _only(value, limit) for value in self._values(facts)}
        query = (
            f"WITH DISTINCT a, n WITH a, n, {cypher.facts(most=str(cypher.MOST_ELEMENTS))} AS details, "
            f"[(n)-[r]-(m) WHERE {self._seen()} | r] AS edges "
            "WITH a, n, details, edges, size(edges) AS total "
            f"RETURN {cypher.head('n')}, details, total, [r IN {_DRAWN} | {_EDGE}]"
        )
        draws = [{"h": _draw(seed, limit, one)} for one in others]
        for head, details, total, edges in self.reader.found(others, query, draws, limit=limit):
            node = self.reader.node(head)
            if not node.hidden and node.id not in found:
                found[node.id] = self._surroundings(node, details, total, edges, limit, seed)
        return [_own(found.get(one, _NOTHING)) for one in ids]

    def edges_among(self, ids: Sequence[str], *, limit: int = 10_000) -> list[Triple]:
        """See `GraphStore.edges_among`. Of a hub's edges only those to the other entities are looked for."""
        facts, others = _split(ids)
        known = set(others)
        made = [value.triple() for value in self._values(fact for fact in facts if fact.node in known)]
        seen = self._seen()
        query = (
            f"{self.reader.find} WITH collect(DISTINCT n) AS every "
            f"WITH every, [n IN every WHERE {cypher.degree()} > {HUB}] AS hubs "
            "CALL { WITH every, hubs UNWIND every AS n WITH every, hubs, n WHERE NOT n IN hubs "
            f"MATCH (n)-[r]-(m) WHERE m IN every AND {seen} RETURN r "
            "UNION WITH every, hubs UNWIND hubs AS n UNWIND hubs AS m WITH n, m "
            f"MATCH (n)-[r]->(m) WHERE {seen} RETURN r }} "
            "WITH DISTINCT r ORDER BY elementId(r) LIMIT toInteger($p.limit) "
            f"RETURN {cypher.head('startNode(r)')}, {cypher.edge()}, {cypher.head('endNode(r)')}"
        )
        for head, edge, end in self.reader.rows(query, self.reader.targets(others), limit=max(limit, 0)):
            subject, object_ = self.reader.node(head), self.reader.node(end)
            if {subject.id, object_.id} <= known and not subject.hidden and not object_.hidden:
                made.append(rows.triple(subject, edge, object_))
        return list({triple["id"]: triple for triple in made}.values())[: max(limit, 0)]

    # Queries and rows

    def _seen(self) -> str:
        """A predicate: the relationship `r` is part of the graph; `m` is its other end."""
        hidden_end = f" AND NOT {cypher.any_label('m', self.plan.hidden_labels)}" if self.plan.mixed_types else ""
        return f"NOT type(r) IN $hidden{hidden_end}"

    def _properties(self, keys: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, int, list[PropertyValue]]]:
        """Key, number of values and values of some properties of nodes, as `rows.facts` gives them."""
        query = f"RETURN {cypher.head('n')}, {cypher.facts(most=str(cypher.MOST_ELEMENTS), where='k IN a.keys')}"
        extras = [{"keys": list(wanted)} for wanted in keys.values()]
        for head, details in self.reader.found(list(keys), query, extras):
            yield from rows.facts(self.reader.node(head), details)

    def _values(self, facts: Iterable[Fact]) -> list[PropertyValue]:
        """The values that facts name, as far as they are still what they were."""
        wanted = list(dict.fromkeys(facts))
        keys: dict[str, list[str]] = {}
        for fact in wanted:
            keys.setdefault(fact.node, []).append(fact.key)
        found = {value.fact: value for _, _, values in self._properties(keys) for value in values}
        return [found[fact] for fact in wanted if fact in found]

    def _triples(self, node: Neo4jNode, edges: Sequence[Sequence[Any]]) -> list[Triple]:
        """The statements of relationships at a node: [element id, type, qualifiers, outgoing, head of the other end]."""
        found = []
        for *edge, outgoing, other in edges:
            end = self.reader.node(other)
            found.append(rows.triple(node, edge, end) if outgoing else rows.triple(end, edge, node))
        return found

    # Relations

    def _spread(self) -> str:
        """Cypher that binds `spread` to a node's numbers of edges, [[type, outgoing, number], …]."""
        plan = self.plan
        kinds = sorted(plan.types)
        counted = 0 < len(kinds) <= _TYPES_INLINE
        small = f"degree <= {HUB}" if counted else "true"
        sides = {"true": "(n)-[r{}]->(m)", "false": "(n)<-[r{}]-(m)"}
        read = " UNION ALL ".join(
            f"WITH n MATCH {side.format('')} WHERE {self._seen()} RETURN type(r) AS t, {out} AS o, count(*) AS c"
            for out, side in sides.items()
        )
        reading = (
            f"CALL {{ WITH n, degree WITH n, degree WHERE {small} CALL {{ {read} }} RETURN collect([t, o, c]) AS few }}"
        )
        hidden_end = f" WHERE NOT {cypher.any_label('m', plan.hidden_labels)}"
        counts = ", ".join(
            f"[$p.kinds[{at}], {out}, COUNT {{ {side.format(cypher.one_of([kind]))}{hidden_end * (kind in plan.mixed_types)} }}]"
            for at, kind in enumerate(kinds if counted else ())
            for out, side in sides.items()
        )
        return f"{reading} WITH n, CASE WHEN {small} THEN few ELSE [x IN [{counts}] WHERE x[2] > 0] END AS spread"

    def _edges(self, node: Neo4jNode, details: Sequence[Any], spread: Sequence[Any]) -> list[Relation]:
        plan = self.plan
        edges = [
            _relation(node.id, plan.fact_relation(key), "out", count, relation_label(key))
            for key, count, _ in rows.facts(node, details)
        ]
        for kind, outgoing, count in spread:
            if kind not in plan.types:
                # A type that came after the store was opened: known from now on.
                plan.types.add(kind)
            edges.append(_relation(node.id, kind, "out" if outgoing else "in", count, plan.relation_label(kind)))
        edges.sort(key=lambda edge: (edge["count"], edge["name"], edge["direction"]))
        return edges

    # Steps

    def _edge_steps(self, steps: Sequence[_Step], limit: int, seed: int) -> dict[_Step, Neighbours]:
        """Walk along types of relationships: along any edge, and from nodes with very many edges along typed patterns."""
        seen = self._seen()
        sides = {"out": "(n)-[r{}]->(m)", "in": "(n)<-[r{}]-(m)"}
        near = " ".join(
            f"WHEN '{direction}' THEN [{side.format('')} WHERE type(r) = a.r AND {seen} | r]"
            for direction, side in sides.items()
        )
        few = f"CASE WHEN {cypher.degree()} > {HUB} THEN null ELSE CASE a.o {near} END END"
        found, hubs = self._walk(steps, few, limit, seed)
        if hubs:
            # The text of the query varies only here: it has to be planned for each choice of types.
            kinds = sorted({step[1:] for step in hubs})
            far = " ".join(
                f"WHEN $p.kinds[{at}] THEN [{sides[direction].format(cypher.one_of([kind]))} WHERE {seen} | r]"
                for at, (kind, direction) in enumerate(kinds)
            )
            typed = f"CASE [a.r, a.o] {far} END"
            found |= self._walk(hubs, typed, limit, seed, kinds=[list(kind) for kind in kinds])[0]
        return found

    def _walk(
        self, steps: Sequence[_Step], edges: str, limit: int, seed: int, **parameters: Any
    ) -> tuple[dict[_Step, Neighbours], list[_Step]]:
        """What is reached by steps along `edges`, and the steps for which that is null."""
        query = (
            f"WITH a, n, {edges} AS edges WITH a, n, edges, size(edges) AS total "
            f"RETURN a.i, {cypher.head('n')}, total, [r IN {_DRAWN} | {_EDGE}]"
        )
        extras = [{"r": step[1], "o": step[2], "h": _draw(seed, limit, *step)} for step in steps]
        starts = [entity for entity, _, _ in steps]
        found: dict[_Step, Neighbours] = {}
        missing: list[_Step] = []
        for at, head, total, reached in self.reader.found(starts, query, extras, limit=limit, **parameters):
            node, step = self.reader.node(head), steps[at]
            if node.hidden or node.id != step[0]:
                continue
            if total is None:
                missing.append(step)
            else:
                found[step] = {"triples": self._triples(node, reached), "total": int(total)}
        return found, missing

    def _fact_steps(self, steps: Sequence[_Step], limit: int, seed: int) -> dict[_Step, Neighbours]:
        """Walk to values, and from values back to what has them."""
        found: dict[_Step, Neighbours] = {}
        back = {step: fact for step in steps if step[2] == "in" and (fact := rows.read_fact(step[0]))}
        for value in self._values(back.values()):
            step = (value.id, self.plan.fact_relation(value.key), "in")
            if step in back:
                found[step] = _only(value, limit)
        wanted: dict[str, list[str]] = {}
        for entity, relation, direction in steps:
            if direction == "out":
                wanted.setdefault(entity, []).append(self.plan.fact_key(relation))
        for key, total, values in self._properties(wanted):
            node = values[0].node
            if not node.hidden:
                step = (node.id, self.plan.fact_relation(key), "out")
                chosen = [values[at] for at in _places(len(values), limit, _draw(seed, limit, *step))]
                found[step] = {"triples": [value.triple() for value in chosen], "total": total}
        return found

    def _surroundings(
        self, node: Neo4jNode, details: Sequence[Any], total: int, edges: Sequence[Any], limit: int, seed: int
    ) -> Neighbours:
        values = [value for _, _, several in rows.facts(node, details) for value in several]
        every = len(values) + int(total)
        triples = self._triples(node, edges)
        if every > limit:
            # As many of the values as they are of the whole; the rest of the places go to edges, which were drawn apart.
            share = min(len(values), max(limit - len(triples), limit * len(values) // every))
            values = [values[at] for at in _places(len(values), share, _draw(seed, limit, node.id, "values"))]
            places = _places(len(triples), limit - share, _draw(seed, limit, node.id, "edges"))
            triples = [triples[at] for at in places]
        return {"triples": [*(value.triple() for value in values), *triples], "total": every}


def _split(ids: Iterable[str], kind: str = "value:") -> tuple[list[Fact], list[str]]:
    """The facts of those ids that are a value's (or, with "fact:", a value's triple's), and the other ids."""
    found = {one: rows.read_fact(one) if one.startswith(kind) else None for one in ids}
    return [fact for fact in found.values() if fact], [one for one, fact in found.items() if not fact]


def _relation(entity: str, name: str, direction: Direction, count: int, label: str) -> Relation:
    return {"entity": entity, "name": name, "label": label, "direction": direction, "count": int(count)}


_EDGE = cypher.edge(
    "startNode(r) = n",
    f"head([x IN [CASE WHEN startNode(r) = n THEN endNode(r) ELSE startNode(r) END] | {cypher.head('x')}])",
)
"""The relationship `r` as [element id, type, qualifiers, outgoing, head of the other end]; `n` is where it was met."""
_LOW, _HIGH = "j * total / toInteger($p.limit)", "(j + 1) * total / toInteger($p.limit)"
_DRAWN = (
    "CASE WHEN total <= toInteger($p.limit) THEN edges ELSE [j IN range(0, toInteger($p.limit) - 1) | "
    f"edges[{_LOW} + ((a.h + j * {_STRIDE}) % {_MODULUS}) * ({_HIGH} - {_LOW}) / {_MODULUS}]] END"
)
"""All `edges`, or `$p.limit` of them: one from each of as many equal stretches, at a place that `a.h` decides."""


def _places(total: int, limit: int, draw: int) -> Sequence[int]:
    """The same places in Python."""
    if total <= limit:
        return range(total)
    ends = [(j * total // limit, (j + 1) * total // limit) for j in range(limit)]
    return [low + ((draw + j * _STRIDE) % _MODULUS) * (high - low) // _MODULUS for j, (low, high) in enumerate(ends)]


def _draw(seed: int, limit: int, *key: str) -> int:
    text = "\0".join((str(seed), str(limit), *key)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()) % _MODULUS


def _only(value: PropertyValue, limit: int) -> Neighbours:
    """The one statement that leads to a value."""
    return {"triples": [value.triple()][:limit], "total": 1}


def _own(found: Neighbours) -> Neighbours:
    return {"triples": [copied(triple) for triple in found["triples"]], "total": found["total"]}
