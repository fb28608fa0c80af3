"""Reads one database as its plan says: identifiers to parameters of queries, and rows to entities, values and triples.

An entity is identified by the property that a constraint of the owner keeps unique ("Product:11", or just "11" where only
one label has such a property): it survives a dump, a re-import and another server, and may be the key of an outside text
store. Nodes without one have only their element id, which Neo4j may give to another node once they are deleted. The id of
a triple or a value carries a hash of the statement: after a change the old id finds nothing rather than something else.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import unquote

from thinkgraph.state.knowledge import Entity, Triple
from thinkgraph.tools.linking.names import relation_label, well_formed
from thinkgraph.tools.neo4j import cypher
from thinkgraph.tools.neo4j.connection import Connection, Row, TimedOutError
from thinkgraph.tools.neo4j.cypher import MOST_ELEMENTS, VALUE_CUT
from thinkgraph.tools.neo4j.plan import Neo4jPlan
from thinkgraph.tools.neo4j.roles import Roles
from thinkgraph.tools.sqlite.file import chunks
from thinkgraph.tools.values import DESCRIPTION_LENGTH, foreign_time, shortened, value_kind

_NODE, _ELEMENT, _LITERAL, _VALUE, _PLAIN = "node:", "element:", "literal:", "value:", "key:"
_RESERVED = (_NODE, _ELEMENT, _LITERAL, _VALUE, _PLAIN)
_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,18})")
_NEEDLESS = re.compile(r"(?:\.|(\.\d*?[1-9]))0+(?!\d)")
"""The end of a fraction of a second: the driver writes all nine digits."""
_LONGEST_ID = 20_000
_AT_ONCE = 5_000
"""Ids that one query looks up."""
_HASH_BYTES = 4
_FACTS = 3
_MOST_QUALIFIERS = 50
_LONGEST_LIST = 50
"""Elements of a list of numbers from which it is data (a vector, bytes) rather than facts."""


_log = logging.getLogger(__name__)


class Fact(NamedTuple):
    """A value of a node: one element of one of its properties."""

    node: str
    key: str
    place: int
    hash: str

    def id(self, kind: str) -> str:
        """The id of the value (`kind` "value"), or of the triple that leads to it ("fact")."""
        return f"{kind}:{escaped(self.node)}@{escaped(self.key)}@{self.place}@{self.hash}"


class Neo4jReader:
    """Queries one database as its plan says; writes and reads the identifiers of its nodes. Safe from several threads."""

    def __init__(self, connection: Connection, plan: Neo4jPlan, *, passages: bool = False, **parameters: Any) -> None:
        """Identify the entities and values of `plan`, or with `passages` its passages; `parameters` are those of all queries."""
        self.connection = connection
        self.plan = plan
        self._keys = plan.passage_keys if passages else plan.keys
        self._literal_keys = () if passages else plan.literal_keys
        constants = {"heads": plan.heads, "data": plan.data, "hidden": sorted(plan.hidden_types)}
        self._parameters = constants | parameters
        self._scan_seconds = connection.address.scan

    def node_id(self, element: str, labels: Sequence[str], values: Mapping[str, Any]) -> str:
        """The id of a node, from its element id, its labels and at least those of its properties that identify nodes."""
        for keys, prefix in ((self._literal_keys, _LITERAL), (self._keys, "")):
            for label, key in keys:
                if label in labels and (text := _text(values.get(key))):
                    plain = text if len(keys) == 1 else f"{label}:{text}"
                    return _PLAIN + plain if not prefix and plain.startswith(_RESERVED) else prefix + plain
        start = self.plan.node_prefix
        return _NODE + element.removeprefix(start) if start and element.startswith(start) else _ELEMENT + element

    def node(self, row: Sequence[Any]) -> Neo4jNode:
        """The node of a row [element id, labels, [[key, value], …]], which `cypher.head` gives."""
        element, labels, values = row
        return Neo4jNode(self, str(element), tuple(labels), {str(key): value for key, value in values})

    @property
    def find(self) -> str:
        """Cypher that binds `n` to the nodes of each of the targets, `a`."""
        # A target has an element id or the values of one key; the others are null, which finds nothing.
        parts = ["WITH a MATCH (n) WHERE elementId(n) = a.element RETURN n"]
        parts += [
            f"WITH a MATCH (n:{cypher.quoted(label)}) WHERE n.{cypher.quoted(key)} IN a.key{at} RETURN n"
            for at, (label, key) in enumerate((*self._keys, *self._literal_keys))
        ]
        return f"UNWIND $p.targets AS a CALL {{ {' UNION ALL '.join(parts)} }}"

    def targets(self, ids: Iterable[str], extras: Sequence[Mapping[str, Any]] = ()) -> list[dict[str, Any]]:
        """The parameter `$p.targets` of a query that begins with `find`: a row for each place where the node of an id may be.

        An id that cannot be one has no row. `extras` are more columns, one mapping an id.
        """
        return [
            {"i": number, **place, **(extras[number] if extras else {})}
            for number, id_ in enumerate(ids)
            for place in self._places(id_)
        ]

    def rows(
        self, query: str, targets: Sequence[Any] | None = None, *, seconds: float | None = None, **parameters: Any
    ) -> list[Row]:
        """The rows of one query, within `seconds` or else the address's `timeout`; a list of no targets costs no round trip.

        The query may use `$p.targets`, the parameters as `$p.NAME`, and `$heads`, `$data` and `$hidden`, which the functions of
        `cypher` need.
        """
        if targets is not None and not targets:
            return []
        # In a map: by itself a list ten times as long is another type of parameter, for which the query is planned anew.
        given = {**self._parameters, "p": {"targets": targets, **parameters}}
        return self.connection.rows(query, given, seconds=seconds)

    def scan(self, query: str, advice: Sequence[str], **parameters: Any) -> list[Row]:
        """As `rows`, for a query that reads names or texts through: in the address's `scan` seconds, else in its `timeout`.

        `advice` is what would make it fast, a line each.

        Raises:
            TimedOutError: it took longer. That nothing was found must not be concluded.
        """
        short, long = self._scan_seconds, max(self.connection.address.scan, self.connection.address.timeout)
        if short < long:
            try:
                return self.rows(query, seconds=short, **parameters)
            except TimedOutError:
                # The next ones have as much time at once: they may take as long.
                first, self._scan_seconds = self._scan_seconds == short, long
                if first:
                    _log.warning(
                        "Neo4j: a search took more than %g s; it is tried again, for %g s at most", short, long
                    )
        try:
            return self.rows(query, seconds=long, **parameters)
        except TimedOutError as error:
            raise TimedOutError("; ".join([str(error), *advice[:1]])) from error

    def found(
        self, ids: Sequence[str], query: str, extras: Sequence[Mapping[str, Any]] = (), **parameters: Any
    ) -> Iterator[Row]:
        """The rows that `query`, which goes on from `find`, has for the nodes of ids; a query for each 5,000 of them."""
        for part in chunks(self.targets(ids, extras), _AT_ONCE):
            yield from self.rows(f"{self.find} {query}", part, **parameters)

    def _places(self, id_: str) -> list[dict[str, Any]]:
        if not id_ or len(id_) > _LONGEST_ID or id_ != well_formed(id_) or id_.startswith(_VALUE):
            return []
        if id_.startswith(_NODE):
            return [{"element": self.plan.node_prefix + id_.removeprefix(_NODE)}]
        if id_.startswith(_ELEMENT):
            return [{"element": id_.removeprefix(_ELEMENT)}]
        literal = id_.startswith(_LITERAL)
        keys, first = (self._literal_keys, len(self._keys)) if literal else (self._keys, 0)
        text = id_.removeprefix(_LITERAL if literal else _PLAIN)
        starts = [""] if len(keys) == 1 else [f"{label}:" for label, _ in keys]
        return [
            {f"key{first + at}": _values(text.removeprefix(start))}
            for at, start in enumerate(starts)
            if text.startswith(start) and len(text) > len(start)
        ]


@dataclass(frozen=True)
class Neo4jNode:
    """A node as `cypher.head` reads it."""

    reader: Neo4jReader
    element: str
    labels: tuple[str, ...]
    values: dict[str, Any]

    @cached_property
    def id(self) -> str:
        """Its public id."""
        return self.reader.node_id(self.element, self.labels, self.values)

    @property
    def plan(self) -> Neo4jPlan:
        """How its database is read."""
        return self.reader.plan

    @cached_property
    def roles(self) -> Roles:
        """What its properties are."""
        return self.plan.node_roles(self.labels)

    @cached_property
    def literal(self) -> bool:
        """Whether it is a value rather than a thing."""
        return not self.plan.literal_labels.isdisjoint(self.labels)

    @cached_property
    def hidden(self) -> bool:
        """Whether it is no part of the graph."""
        return not self.plan.hidden_labels.isdisjoint(self.labels)

    @cached_property
    def names(self) -> list[str]:
        """What its naming properties say, best first; behind them the further elements of those that are lists."""
        texts = {key: elements(value) for key, value in self.values.items()}
        firsts = {key: values[0] for key, values in texts.items() if values}
        plain = [one.keys[0] for one in self.roles.names if one.is_plain]
        further = [text for key in plain for text in texts.get(key, ())[1:]]
        return list(dict.fromkeys([*filter(None, (one.render(firsts) for one in self.roles.names)), *further]))

    @cached_property
    def label(self) -> str:
        """Its name, or its kind and number where it has none."""
        if self.names:
            return self.names[0]
        return f"{self.plan.type_of(self.labels) or 'node'} {self.element.rpartition(':')[2]}"

    @cached_property
    def type(self) -> str:
        """What kind of thing it is."""
        if self.literal:
            return value_kind(self.label) or ""
        found = self.plan.type_of(self.labels)
        return found or render(self.values.get(self.roles.type_key))


@dataclass(frozen=True)
class PropertyValue:
    """A literal value of a node."""

    node: Neo4jNode
    key: str
    index: int
    text: str

    @cached_property
    def fact(self) -> Fact:
        """What identifies it."""
        return Fact(self.node.id, self.key, self.index, digest(self.text))

    @property
    def id(self) -> str:
        """Its public id."""
        return self.fact.id("value")

    def triple(self) -> Triple:
        """The statement that the node has this value."""
        return {
            "id": self.fact.id("fact"),
            "subject": self.node.id,
            "relation": self.node.plan.fact_relation(self.key),
            "object": self.id,
            "subject_label": self.node.label,
            "relation_label": relation_label(self.key),
            "object_label": self.text,
            "literal": True,
            "qualifiers": [],
        }

    def entity(self) -> Entity:
        """The value as the end of a path."""
        return Entity(id=self.id, label=self.text, type=value_kind(self.text) or "", description="", literal=True)


def facts(owner: Neo4jNode, rows: Sequence[Sequence[Any]]) -> Iterator[tuple[str, int, list[PropertyValue]]]:
    """Key, number of values and the values fetched of each property that is a fact, by key."""
    non_facts = owner.roles.non_facts
    for key, size, values in sorted(rows, key=lambda row: str(row[0])):
        is_data = size > _LONGEST_LIST and any(isinstance(value, int | float) for value in values[:1])
        # What has no text (a nested byte) is no value; a list of such is no fact.
        if key not in non_facts and not is_data and (texts := elements(list(values))):
            count = min(int(size), MOST_ELEMENTS)
            yield key, count, [PropertyValue(owner, key, at, text) for at, text in enumerate(texts[:MOST_ELEMENTS])]


def triple(subject: Neo4jNode, edge: Sequence[Any], end: Neo4jNode) -> Triple:
    """The statement of a relationship, from [element id, type, [[key, value], …]]."""
    element, kind, properties = edge
    plan = subject.plan
    pairs = [
        [str(key), text] for key, value in sorted(properties, key=lambda pair: str(pair[0])) for text in elements(value)
    ][:_MOST_QUALIFIERS]
    flat = [part for pair in pairs for part in pair]
    return {
        "id": edge_id(plan, str(element), digest(subject.id, str(kind), end.id, *flat)),
        "subject": subject.id,
        "relation": str(kind),
        "object": end.id,
        "subject_label": subject.label,
        "relation_label": plan.relation_label(str(kind)),
        "object_label": end.label,
        "literal": end.literal,
        "qualifiers": pairs,
    }


def entity(owner: Neo4jNode, details: Sequence[Sequence[Any]] = (), edges: Sequence[Sequence[Any]] = ()) -> Entity:
    """An entity with a line that tells it from its namesakes: its description, else at most three facts about it.

    They come from its properties, as `cypher.facts` gives them, and from [type, outgoing, head of the other end] of a few edges.
    """
    plan = owner.plan
    described = next((elements(list(values)) for key, _, values in details if key == owner.roles.description), [])
    if owner.literal:
        line = ""
    elif described:
        line = described[0]
    else:
        parts = [
            f"{relation_label(key)}: {values[0].text}" + (" …" if count > 1 else "")
            for key, count, values in facts(owner, details)
            if len(values[0].text) <= DESCRIPTION_LENGTH // 2
        ][: _FACTS - 1]
        for kind, outgoing, other in edges[: _FACTS - len(parts)]:
            end = owner.reader.node(other).label
            word = plan.relation_label(str(kind))
            parts.append(f"{word}: {end}" if outgoing else f"{word} of {end}")
        line = "; ".join(parts)
    line = shortened(" ".join(line.split()))
    return Entity(id=owner.id, label=owner.label, type=owner.type, description=line, literal=owner.literal)


def read_fact(id_: str) -> Fact | None:
    """The fact of a value's or a fact's id; None for what is neither."""
    head, colon, rest = id_.partition(":")
    parts = rest.split("@")
    if not colon or head not in {"value", "fact"} or len(parts) != 4 or not _INTEGER.fullmatch(parts[2]):  # noqa: PLR2004
        return None
    with contextlib.suppress(UnicodeDecodeError):
        return Fact(unquote(parts[0], errors="strict"), unquote(parts[1], errors="strict"), int(parts[2]), parts[3])
    return None


def edge_id(plan: Neo4jPlan, element: str, hash_: str) -> str:
    """The id of the triple of a relationship."""
    prefix = plan.edge_prefix
    number = element.removeprefix(prefix) if prefix and element.startswith(prefix) else f":{element}"
    return f"r{number}.{hash_}"


def read_edge(plan: Neo4jPlan, id_: str) -> str | None:
    """The element id of a triple's relationship; None for what is no such triple."""
    number, dot, _ = id_.removeprefix("r").rpartition(".")
    if not id_.startswith("r") or not dot or not number or len(id_) > _LONGEST_ID or id_ != well_formed(id_):
        return None
    return number[1:] if number.startswith(":") else plan.edge_prefix + number


def escaped(text: str) -> str:
    """A part of an id, without the character that joins the parts."""
    return text.replace("%", "%25").replace("@", "%40")


def _values(text: str) -> list[Any]:
    """What a property may hold that is written so: the string, or the number."""
    return [text, int(text)] if _INTEGER.fullmatch(text) and -(1 << 63) <= int(text) < 1 << 63 else [text]


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def render(value: Any) -> str:
    """A value as text; "" for what has none (nothing, bytes, lists).

    Numbers without a needless fraction, booleans as Cypher writes them, dates and times in ISO 8601, points by their
    coordinates, long strings cut.
    """
    if isinstance(value, str):
        return value if len(value) < VALUE_CUT else value[: VALUE_CUT - 1].rstrip() + "…"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)  # noqa: PLR2004 - then exact
    if value is None or isinstance(value, list | bytes | bytearray):
        return ""
    if hasattr(value, "srid"):
        # As people say it, not as the coordinates are stored.
        names = ("latitude", "longitude", "height", "x", "y", "z")
        found = [
            (name, getattr(value, name, None)) for name in (names[:3] if hasattr(value, "latitude") else names[3:])
        ]
        return ", ".join(f"{name} {render(float(number))}" for name, number in found if number is not None)
    iso = getattr(value, "iso_format", None)
    return _NEEDLESS.sub(r"\1", str(iso())) if callable(iso) else foreign_time(value) or well_formed(str(value))


def elements(value: Any) -> list[str]:
    """The texts of a value: several for a list, none for what has no text."""
    parts = value if isinstance(value, list) else [value]
    return [text for part in parts if (text := render(part))]


def digest(*parts: str) -> str:
    """A short hash that tells a changed statement from the one that was cited."""
    joined = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=_HASH_BYTES).hexdigest()
