"""Any Neo4j property graph as a `GraphStore`.

A node is an entity, a relationship a triple whose properties are its qualifiers, a property a triple whose object is a
literal value (each element of a list one), unless it names or identifies its node or holds long text. Every method is one
query, whatever the length of its list; only a step along one of many types from a node with very many edges, whose
degree no earlier answer told, takes a second one.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from thinkgraph.closing import Closing
from thinkgraph.state.knowledge import Direction, Entity, GraphInfo, Match, Neighbours, Relation, Step, Triple
from thinkgraph.tools.linking.names import relation_label
from thinkgraph.tools.neo4j import cypher, rows
from thinkgraph.tools.neo4j.address import Address, parse_address
from thinkgraph.tools.neo4j.connection import Connection
from thinkgraph.tools.neo4j.counts import count as count_all
from thinkgraph.tools.neo4j.ids import Fact, Ids, read_edge, read_fact
from thinkgraph.tools.neo4j.names import NameFinder
from thinkgraph.tools.neo4j.plan import Plan, make_plan
from thinkgraph.tools.neo4j.rows import Node, Value
from thinkgraph.tools.sqlite.file import chunks

HUB = 1_000
"""Edges from which on a node's are never all read to find those of one type."""
_TYPES_INLINE = 32
"""Types of relationships up to which a hub's edges are counted by the store, type by type; more are read and counted."""
_CHUNK = 5_000
_HUBS_KEPT = 10_000
_MODULUS, _STRIDE = 1_000_003, 7_919

_Spread = Mapping[tuple[str, str], int]


class Neo4jGraphStore(Closing):
    """A database's graph, read only. Safe to use from several threads. Close it, or use it as a context manager."""

    def __init__(self, connection: Connection, plan: Plan, *, name: str | None = None) -> None:
        """Read a database as `plan` says; `open` makes both. Closing the store closes the connection."""
        self.connection = connection
        self.plan = plan
        self.ids = Ids(plan)
        self.finder = NameFinder(connection, plan, self.ids)
        self._name = name or connection.database or "neo4j"
        self._hubs: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()
        self.counts, fingerprint = count_all(connection, plan)
        self._info: GraphInfo = {
            "name": self._name,
            "fingerprint": fingerprint,
            "entities": self.counts.entities,
            "literals": self.counts.literals,
            "triples": self.counts.triples,
            "relations": self.counts.relations,
        }

    @classmethod
    def open(cls, address: Address | str, *, name: str | None = None) -> Self:
        """Connect to `neo4j://…` and look at the schema.

        Raises:
            KnowledgeError: the address cannot be read, the database not be reached, or the mapping names what is not there.
        """
        connection = Connection(parse_address(address) if isinstance(address, str) else address)
        try:
            return cls(connection, make_plan(connection, connection.address.mapping), name=name)
        except BaseException:
            connection.close()
            raise

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
        from thinkgraph.tools.neo4j.describe import describe

        return describe(self, text)

    def lookup(self, names: Sequence[str], *, limit: int = 10) -> list[list[Match]]:
        """See `GraphStore.lookup`."""
        return self.finder.lookup(names, limit)

    def search(self, texts: Sequence[str], *, limit: int = 10, fuzzy: bool = False) -> list[list[Match]]:
        """See `GraphStore.search`."""
        return self.finder.spelt_like(texts, limit) if fuzzy else self.finder.search(texts, limit)

    def entities(self, ids: Sequence[str]) -> list[Entity | None]:
        """See `GraphStore.entities`."""
        found: dict[str, Entity] = {}
        facts = {one: fact for one in dict.fromkeys(ids) if (fact := read_fact(one)) and one.startswith("value:")}
        if facts:
            found.update((value.id, value.entity()) for value in self._values(facts.values()))
        hidden = cypher.any_label("m", self.plan.hidden_labels)
        query = (
            f"UNWIND $asked AS a {self.ids.find} WITH DISTINCT n "
            f"RETURN {cypher.head('n')}, {cypher.facts('n', most='1')}, {cypher.edges('n', hidden=hidden)}"
        )
        for part in chunks([one for one in dict.fromkeys(ids) if one not in facts], _CHUNK):
            asked = self.ids.asked(part)
            for head, details, edges in self._rows(query, asked):
                node = self._node(head)
                if not node.hidden:
                    found.setdefault(node.id, rows.entity(node, details, edges))
        return [None if (entity := found.get(one)) is None else entity.copy() for one in ids]

    def triples(self, ids: Sequence[str]) -> list[Triple | None]:
        """See `GraphStore.triples`. A statement that was changed since its id was given out is not found."""
        wanted = list(dict.fromkeys(ids))
        facts = {one: fact for one in wanted if (fact := read_fact(one)) and one.startswith("fact:")}
        found: dict[str, Triple] = {}
        if facts:
            found.update((made["id"], made) for value in self._values(facts.values()) for made in [value.triple()])
        query = (
            "UNWIND $asked AS a MATCH (n)-[r]->(m) WHERE elementId(r) = a "
            f"RETURN {cypher.head('n')}, [elementId(r), type(r), {cypher.qualifiers('r')}], {cypher.head('m')}"
        )
        elements = sorted({element for one in wanted if one not in facts and (element := read_edge(self.plan, one))})
        for part in chunks(elements, _CHUNK):
            for head, edge, end in self._rows(query, part):
                read = rows.triple(self.plan, self._node(head), edge, self._node(end))
                found[read["id"]] = read
        return [None if (triple := found.get(one)) is None else _copied(triple) for one in ids]

    def relations(self, ids: Sequence[str]) -> list[list[Relation]]:
        """See `GraphStore.relations`. A hub's edges are counted by type without being read, where there are few types."""
        plan = self.plan
        found: dict[str, list[Relation]] = {}
        wanted = list(dict.fromkeys(ids))
        facts = {one: fact for one in wanted if (fact := read_fact(one)) and one.startswith("value:")}
        if facts:
            for value in self._values(facts.values()):
                found[value.id] = [
                    self._relation(value.id, plan.fact_relation(value.key), "in", 1, relation_label(value.key))
                ]
        degree = cypher.degree("n", sorted(plan.hidden_types))
        query = (
            f"UNWIND $asked AS a {self.ids.find} WITH DISTINCT n WITH n, {degree} AS degree "
            f"{self._spread()} RETURN {cypher.head('n')}, {cypher.facts('n', most='1', cut='1')}, degree, spread"
        )
        for part in chunks([one for one in wanted if one not in facts], _CHUNK):
            for head, details, degree_, spread in self._rows(query, self.ids.asked(part), kinds=sorted(plan.types)):
                node = self._node(head)
                if node.hidden or node.id in found:
                    continue
                if degree_ > HUB:
                    self._remember(node.id)
                found[node.id] = self._edges(node, details, spread)
        return [[edge.copy() for edge in found.get(one, ())] for one in ids]

    def neighbours(self, steps: Sequence[Step], *, limit: int = 100, seed: int = 0) -> list[Neighbours]:
        """See `GraphStore.neighbours`. In the database's order; a cut result takes one triple from each equal stretch."""
        wanted = list(dict.fromkeys((step["entity"], step["relation"], step["direction"]) for step in steps))
        found: dict[tuple[str, str, str], Neighbours] = {}
        facts: list[tuple[str, str, str]] = []
        edges: list[tuple[str, str, str]] = []
        for step in wanted:
            is_value = read_fact(step[0]) is not None and step[0].startswith("value:")
            (facts if is_value or step[1] not in self.plan.types else edges).append(step)
        if facts:
            found |= self._fact_steps(facts, limit, seed)
        for part in chunks(edges, _CHUNK):
            found |= self._edge_steps(part, limit, seed)
        nothing: Neighbours = {"triples": [], "total": 0}
        results = [found.get((step["entity"], step["relation"], step["direction"]), nothing) for step in steps]
        return [_own(result) for result in results]

    def neighbourhood(self, ids: Sequence[str], *, limit: int = 100, seed: int = 0) -> list[Neighbours]:
        """See `GraphStore.neighbourhood`. Values first, then edges; a loop counts once."""
        found: dict[str, Neighbours] = {}
        wanted = list(dict.fromkeys(ids))
        facts = {one: fact for one in wanted if (fact := read_fact(one)) and one.startswith("value:")}
        if facts:
            found |= {value.id: _neighbours([value.triple()], 1, limit) for value in self._values(facts.values())}
        rest = [one for one in wanted if one not in facts]
        query = (
            f"UNWIND $asked AS a {self.ids.find} WITH DISTINCT a, n "
            f"WITH a, n, {cypher.facts('n', most=str(cypher.MOST_ELEMENTS))} AS details, "
            f"[(n)-[r]-(m) WHERE {self._seen('r', 'm')} | r] AS edges "
            f"WITH a, n, details, size(edges) AS total, {_drawn('edges', 'a.h', 'toInteger($limit)')} AS edges "
            f"RETURN {cypher.head('n')}, details, total, [r IN edges | {_edge('r')}]"
        )
        for part in chunks(rest, _CHUNK):
            asked = [{**row, "h": _draw(seed, limit, part[row["i"]])} for row in self.ids.asked(part)]
            for head, details, total, edges in self._rows(query, asked, limit=max(limit, 0)):
                node = self._node(head)
                if not node.hidden and node.id not in found:
                    found[node.id] = self._surroundings(node, details, total, edges, limit, seed)
        nothing: Neighbours = {"triples": [], "total": 0}
        return [_own(found.get(one, nothing)) for one in ids]

    def edges_among(self, ids: Sequence[str], *, limit: int = 10_000) -> list[Triple]:
        """See `GraphStore.edges_among`. Of a hub's edges only those to the other entities are looked for."""
        wanted = [one for one in dict.fromkeys(ids) if not one.startswith("value:")]
        values = [one for one in dict.fromkeys(ids) if one.startswith("value:")]
        known = set(wanted)
        found: dict[str, Triple] = {}
        facts = [fact for one in values if (fact := read_fact(one)) and fact.node in known]
        if facts:
            found |= {triple["id"]: triple for value in self._values(facts) for triple in [value.triple()]}
        seen = self._seen("r", "m")
        query = (
            f"UNWIND $asked AS a {self.ids.find} WITH collect(DISTINCT n) AS every "
            f"WITH every, [n IN every WHERE {_degree('n')} > {HUB}] AS hubs "
            "CALL { WITH every, hubs UNWIND every AS n WITH every, hubs, n WHERE NOT n IN hubs "
            f"MATCH (n)-[r]-(m) WHERE m IN every AND {seen} RETURN r "
            "UNION WITH every, hubs UNWIND hubs AS n UNWIND hubs AS m WITH n, m "
            f"MATCH (n)-[r]->(m) WHERE {seen} RETURN r }} "
            "WITH DISTINCT r ORDER BY elementId(r) LIMIT toInteger($limit) "
            f"RETURN {cypher.head('startNode(r)')}, [elementId(r), type(r), {cypher.qualifiers('r')}], {cypher.head('endNode(r)')}"
        )
        asked = self.ids.asked(wanted)
        for head, edge, end in self._rows(query, asked, limit=max(limit, 0)):
            subject, object_ = self._node(head), self._node(end)
            if {subject.id, object_.id} <= known and not subject.hidden and not object_.hidden:
                triple = rows.triple(self.plan, subject, edge, object_)
                found[triple["id"]] = triple
        return list(found.values())[: max(limit, 0)]

    # Rows and parameters

    def _rows(self, query: str, asked: Sequence[Any], **more: Any) -> list[list[Any]]:
        if not asked:
            return []
        plan = self.plan
        constants = {"heads": plan.heads, "data": plan.data, "hidden": sorted(plan.hidden_types)}
        return self.connection.rows(query, {"asked": list(asked), **constants, **more})

    def _node(self, row: Sequence[Any]) -> Node:
        return rows.node(self.plan, self.ids, row)

    def _seen(self, edge: str, end: str) -> str:
        """A predicate: the edge is part of the graph."""
        visible = f"NOT type({edge}) IN $hidden"
        return (
            f"{visible} AND NOT {cypher.any_label(end, self.plan.hidden_labels)}" if self.plan.mixed_types else visible
        )

    def _values(self, facts: Iterable[Fact]) -> list[Value]:
        """The values that facts name, as far as they are still what they were."""
        wanted = list(dict.fromkeys(facts))
        nodes = list(dict.fromkeys(fact.node for fact in wanted))
        keys: dict[str, list[str]] = {}
        for fact in wanted:
            keys.setdefault(fact.node, []).append(fact.key)
        details = cypher.facts("n", most=str(cypher.MOST_ELEMENTS), where="k IN a.keys")
        query = f"UNWIND $asked AS a {self.ids.find} RETURN {cypher.head('n')}, {details}"
        found: dict[Fact, Value] = {}
        for part in chunks(nodes, _CHUNK):
            asked = [{**row, "keys": keys[part[row["i"]]]} for row in self.ids.asked(part)]
            for head, values in self._rows(query, asked):
                for _, _, several in rows.facts(self._node(head), values):
                    found.update((value.fact, value) for value in several)
        return [found[fact] for fact in wanted if fact in found]

    # Relations

    def _spread(self) -> str:
        """Cypher that binds `spread` to a node's numbers of edges, [[type, outgoing, number], …]."""
        plan = self.plan
        kinds = sorted(plan.types)
        if len(kinds) > _TYPES_INLINE or not kinds:
            return self._reading("true", "spread")

        def number(kind: str, pattern: str) -> str:
            end = f" WHERE NOT {cypher.any_label('m', plan.hidden_labels)}" if kind in plan.mixed_types else ""
            return f"COUNT {{ {pattern.format(cypher.quoted(kind))}{end} }}"

        counts = ", ".join(
            f"[$kinds[{at}], {out}, {number(kind, pattern)}]"
            for at, kind in enumerate(kinds)
            for out, pattern in (("true", "(n)-[:{}]->(m)"), ("false", "(n)<-[:{}]-(m)"))
        )
        return (
            f"{self._reading(f'degree <= {HUB}', 'few')} WITH n, degree, "
            f"CASE WHEN degree <= {HUB} THEN few ELSE [x IN [{counts}] WHERE x[2] > 0] END AS spread"
        )

    def _reading(self, condition: str, name: str) -> str:
        """Cypher that reads a node's edges, where the condition holds, and binds their numbers."""
        sides = " UNION ALL ".join(
            f"WITH n MATCH {pattern} WHERE {self._seen('r', 'm')} RETURN type(r) AS t, {out} AS o, count(*) AS c"
            for out, pattern in (("true", "(n)-[r]->(m)"), ("false", "(n)<-[r]-(m)"))
        )
        return (
            f"CALL {{ WITH n, degree WITH n, degree WHERE {condition} CALL {{ {sides} }} "
            f"RETURN collect([t, o, c]) AS {name} }}"
        )

    def _edges(self, node: Node, details: Sequence[Any], spread: Sequence[Any]) -> list[Relation]:
        plan = self.plan
        edges = [
            self._relation(node.id, plan.fact_relation(key), "out", count, relation_label(key))
            for key, count, _ in rows.facts(node, details)
        ]
        for kind, outgoing, count in spread:
            if kind not in plan.types:
                # A type that came after the store was opened: known from now on.
                plan.types.add(kind)
            edges.append(self._relation(node.id, kind, "out" if outgoing else "in", count, plan.relation_label(kind)))
        edges.sort(key=lambda edge: (edge["count"], edge["name"], edge["direction"]))
        return edges

    @staticmethod
    def _relation(entity: str, name: str, direction: Direction, count: int, label: str) -> Relation:
        return {"entity": entity, "name": name, "label": label, "direction": direction, "count": int(count)}

    # Steps

    def _edge_steps(
        self, steps: Sequence[tuple[str, str, str]], limit: int, seed: int
    ) -> dict[tuple[str, str, str], Neighbours]:
        """Walk along types of relationships; nodes with very many edges along typed patterns, the others along any."""
        hubs = {step[0] for step in steps} & self._known_hubs()
        found, missing = self._walk(steps, hubs, limit, seed)
        if missing:
            for step in missing:
                self._remember(step[0])
            found |= self._walk(missing, {step[0] for step in missing}, limit, seed)[0]
        return found

    def _walk(
        self, steps: Sequence[tuple[str, str, str]], hubs: set[str], limit: int, seed: int
    ) -> tuple[dict[tuple[str, str, str], Neighbours], list[tuple[str, str, str]]]:
        kinds = sorted({(relation, direction) for entity, relation, direction in steps if entity in hubs})
        number = {kind: at for at, kind in enumerate(kinds)}
        asked = []
        for at, (entity, relation, direction) in enumerate(steps):
            more = {
                "r": relation,
                "o": direction == "out",
                "t": number[relation, direction] if entity in hubs else -1,
                "h": _draw(seed, limit, entity, relation, direction),
            }
            asked += [{**row, "i": at} for row in self.ids.asked([entity], **more)]
        found: dict[tuple[str, str, str], Neighbours] = {}
        missing: list[tuple[str, str, str]] = []
        for at, head, total, edges in self._rows(self._walking(kinds), asked, limit=max(limit, 0)):
            node, step = self._node(head), steps[at]
            if node.hidden or node.id != step[0]:
                continue
            if total is None:
                missing.append(step)
                continue
            outgoing = step[2] == "out"
            triples = [
                rows.triple(self.plan, *((node, edge, end) if outgoing else (end, edge, node)))
                for *edge, _, other in edges
                for end in [self._node(other)]
            ]
            found[step] = {"triples": triples, "total": int(total)}
        return found, missing

    def _walking(self, kinds: Sequence[tuple[str, str]]) -> str:
        """The query of a walk, whose text varies only with the types that are walked from hubs."""
        patterns = {True: "(n)-[r{}]->(m)", False: "(n)<-[r{}]-(m)"}
        seen = self._seen("r", "m")
        near = " ".join(
            f"WHEN {str(out).lower()} THEN [{patterns[out].format('')} WHERE type(r) = a.r AND {seen} | r]"
            for out in patterns
        )
        far = " ".join(
            f"WHEN {at} THEN [{patterns[direction == 'out'].format(cypher.types([kind]))} WHERE {seen} | r]"
            for at, (kind, direction) in enumerate(kinds)
        )
        typed = f"WHEN a.t >= 0 THEN CASE a.t {far} END " if kinds else ""
        return (
            f"UNWIND $asked AS a {self.ids.find} "
            f"WITH a, n, CASE {typed}WHEN {_degree('n')} > {HUB} THEN null ELSE CASE a.o {near} END END AS edges "
            f"WITH a, n, size(edges) AS total, {_drawn('edges', 'a.h', 'toInteger($limit)')} AS edges "
            f"RETURN a.i, {cypher.head('n')}, total, [r IN edges | {_edge('r', 'CASE WHEN a.o THEN endNode(r) ELSE startNode(r) END')}]"
        )

    def _fact_steps(
        self, steps: Sequence[tuple[str, str, str]], limit: int, seed: int
    ) -> dict[tuple[str, str, str], Neighbours]:
        """Walk to values, and from values back to what has them."""
        found: dict[tuple[str, str, str], Neighbours] = {}
        back = {step: fact for step in steps if step[2] == "in" and (fact := read_fact(step[0]))}
        for value in self._values(back.values()) if back else ():
            step = (value.id, self.plan.fact_relation(value.key), "in")
            if step in back:
                found[step] = _neighbours([value.triple()], 1, limit)
        wanted: dict[str, list[str]] = {}
        for entity, relation, direction in steps:
            if direction == "out":
                wanted.setdefault(entity, []).append(self.plan.fact_key(relation))
        details = cypher.facts("n", most=str(cypher.MOST_ELEMENTS), where="k IN a.keys")
        query = f"UNWIND $asked AS a {self.ids.find} RETURN {cypher.head('n')}, {details}"
        for part in chunks(list(wanted), _CHUNK):
            asked = [{**row, "keys": wanted[part[row["i"]]]} for row in self.ids.asked(part)]
            for head, several in self._rows(query, asked):
                node = self._node(head)
                for key, count, values in () if node.hidden else rows.facts(node, several):
                    step = (node.id, self.plan.fact_relation(key), "out")
                    chosen = [values[at] for at in _places(len(values), limit, _draw(seed, limit, *step))]
                    found[step] = {"triples": [value.triple() for value in chosen], "total": count}
        return found

    def _surroundings(
        self, node: Node, details: Sequence[Any], total: int, edges: Sequence[Any], limit: int, seed: int
    ) -> Neighbours:
        values = [value for _, _, several in rows.facts(node, details) for value in several]
        every = len(values) + int(total)
        triples = []
        for *edge, outgoing, other in edges:
            end = self._node(other)
            triples.append(rows.triple(self.plan, *((node, edge, end) if outgoing else (end, edge, node))))
        if every > max(limit, 0):
            # As many of the values as they are of the whole; the rest of the places go to edges, which were drawn apart.
            share = min(len(values), max(max(limit, 0) - len(triples), max(limit, 0) * len(values) // every))
            values = [values[at] for at in _places(len(values), share, _draw(seed, limit, node.id, "values"))]
            kept = max(limit, 0) - len(values)
            triples = [triples[at] for at in _places(len(triples), kept, _draw(seed, limit, node.id, "edges"))]
        return {"triples": [*(value.triple() for value in values), *triples], "total": every}

    # Hubs

    def _remember(self, id_: str) -> None:
        with self._lock:
            self._hubs[id_] = None
            self._hubs.move_to_end(id_)
            while len(self._hubs) > _HUBS_KEPT:
                self._hubs.popitem(last=False)

    def _known_hubs(self) -> set[str]:
        with self._lock:
            return set(self._hubs)


def _degree(node: str) -> str:
    return f"COUNT {{ ({node})--() }}"


def _edge(edge: str, end: str | None = None) -> str:
    """A relationship as [element id, type, qualifiers, outgoing, head of the other end]; `n` is where it was met."""
    out = f"startNode({edge}) = n"
    other = end or f"CASE WHEN {out} THEN endNode({edge}) ELSE startNode({edge}) END"
    return f"[elementId({edge}), type({edge}), {cypher.qualifiers(edge)}, {out}, head([x IN [{other}] | {cypher.head('x')}])]"


def _drawn(edges: str, draw: str, limit: str) -> str:
    """Cypher for all of a list, or `limit` of it: one from each of as many equal stretches, at a place that `draw` decides."""
    low, high = f"j * size({edges}) / {limit}", f"(j + 1) * size({edges}) / {limit}"
    place = f"{low} + (({draw} + j * {_STRIDE}) % {_MODULUS}) * ({high} - {low}) / {_MODULUS}"
    return f"CASE WHEN size({edges}) <= {limit} THEN {edges} ELSE [j IN range(0, {limit} - 1) | {edges}[{place}]] END"


def _places(total: int, limit: int, draw: int) -> Sequence[int]:
    """The same places in Python."""
    if total <= limit:
        return range(total)
    ends = [(j * total // limit, (j + 1) * total // limit) for j in range(max(limit, 0))]
    return [low + ((draw + j * _STRIDE) % _MODULUS) * (high - low) // _MODULUS for j, (low, high) in enumerate(ends)]


def _draw(seed: int, limit: int, *key: str) -> int:
    text = "\0".join((str(seed), str(limit), *key)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()) % _MODULUS


def _neighbours(triples: Sequence[Triple], total: int, limit: int) -> Neighbours:
    return {"triples": list(triples[: max(limit, 0)]), "total": total}


def _own(found: Neighbours) -> Neighbours:
    return {"triples": [_copied(triple) for triple in found["triples"]], "total": found["total"]}


def _copied(triple: Triple) -> Triple:
    return {**triple, "qualifiers": [list(pair) for pair in triple["qualifiers"]]}
