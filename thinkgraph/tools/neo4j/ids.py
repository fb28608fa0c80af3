"""Identifiers of entities, values, triples and passages, and the Cypher that finds what they name.

An entity is identified by the property that a constraint of the owner keeps unique ("Product:11", or just "11" where only
one label has such a property): it survives a dump, a re-import and another server, and may be the key of an outside text
store. Nodes without one have only their element id, which Neo4j may give to another node once they are deleted. What is
made of a statement (a triple, a value) carries a hash of it: after a change the old id finds nothing rather than
something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from thinkgraph.tools.neo4j import cypher
from thinkgraph.tools.neo4j.plan import Key, Plan

_NODE, _ELEMENT, _LITERAL, _VALUE, _PLAIN = "node:", "element:", "literal:", "value:", "key:"
_RESERVED = (_NODE, _ELEMENT, _LITERAL, _VALUE, _PLAIN)
_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_LONGEST = 20_000
_ELEMENT_BRANCH = -1


class Where(NamedTuple):
    """Where a node may be found: by its element id, or by the values that one of the keys may have."""

    branch: int
    value: Any


class Fact(NamedTuple):
    """A value of a node: one element of one of its properties."""

    node: str
    key: str
    place: int
    hash: str


class Ids:
    """Writes and reads the identifiers of one database."""

    def __init__(self, plan: Plan, *, passages: bool = False) -> None:
        """Identify the entities and values of `plan`, or with `passages` its passages."""
        self._plan = plan
        self._keys = plan.passage_keys if passages else plan.keys
        self._literal_keys = () if passages else plan.literal_keys
        self._branches: tuple[Key, ...] = (*self._keys, *self._literal_keys)

    def node(self, element: str, labels: Sequence[str], values: Mapping[str, Any]) -> str:
        """The id of a node."""
        for key in self._literal_keys:
            if key.label in labels and (text := _text(values.get(key.key))):
                return _LITERAL + (text if len(self._literal_keys) == 1 else f"{key.label}:{text}")
        for key in self._keys:
            if key.label in labels and (text := _text(values.get(key.key))):
                plain = text if len(self._keys) == 1 else f"{key.label}:{text}"
                return _PLAIN + plain if plain.startswith(_RESERVED) else plain
        prefix = self._plan.node_prefix
        return _NODE + element.removeprefix(prefix) if prefix and element.startswith(prefix) else _ELEMENT + element

    def where(self, id_: str) -> list[Where]:
        """Where the node of an id may be; nothing for what cannot be one."""
        if not id_ or len(id_) > _LONGEST or not _encodable(id_):
            return []
        if id_.startswith(_NODE):
            return [Where(_ELEMENT_BRANCH, self._plan.node_prefix + id_.removeprefix(_NODE))]
        if id_.startswith(_ELEMENT):
            return [Where(_ELEMENT_BRANCH, id_.removeprefix(_ELEMENT))]
        if id_.startswith(_LITERAL):
            return _places(id_.removeprefix(_LITERAL), self._literal_keys, len(self._keys))
        if id_.startswith(_VALUE):
            return []
        return _places(id_.removeprefix(_PLAIN), self._keys, 0)

    @property
    def find(self) -> str:
        """Cypher that binds `n` to the nodes that a row `a` asks for; what a row does not have is null and finds nothing."""
        parts = ["WITH a MATCH (n) WHERE elementId(n) = a.element RETURN n"]
        parts += [
            f"WITH a MATCH (n:{cypher.quoted(label)}) WHERE n.{cypher.quoted(key)} IN a.key{at} RETURN n"
            for at, (label, key) in enumerate(self._branches)
        ]
        return f"CALL {{ {' UNION ALL '.join(parts)} }}"

    def asked(self, ids: Iterable[str], **more: Any) -> list[dict[str, Any]]:
        """The parameter of a finding query: a row for each place where each id may be, `i` its number."""
        return [
            {"i": number, "element" if place.branch == _ELEMENT_BRANCH else f"key{place.branch}": place.value, **more}
            for number, id_ in enumerate(ids)
            for place in self.where(id_)
        ]


def value_id(fact: Fact) -> str:
    """The id of a literal value."""
    return _VALUE + _joined(fact)


def fact_id(fact: Fact) -> str:
    """The id of the triple that leads to a literal value."""
    return "fact:" + _joined(fact)


def read_fact(id_: str) -> Fact | None:
    """The fact of a value's or a fact's id; None for what is neither."""
    head, colon, rest = id_.partition(":")
    parts = rest.split("@")
    if not colon or head not in {"value", "fact"} or len(parts) != 4 or not _INTEGER.fullmatch(parts[2]):  # noqa: PLR2004
        return None
    try:
        return Fact(unquote(parts[0], errors="strict"), unquote(parts[1], errors="strict"), int(parts[2]), parts[3])
    except UnicodeDecodeError:
        return None


def edge_id(plan: Plan, element: str, hash_: str) -> str:
    """The id of the triple of a relationship."""
    prefix = plan.edge_prefix
    number = element.removeprefix(prefix) if prefix and element.startswith(prefix) else f":{element}"
    return f"r{number}.{hash_}"


def read_edge(plan: Plan, id_: str) -> str | None:
    """The element id of a triple's relationship; None for what is no such triple."""
    number, dot, _ = id_.removeprefix("r").rpartition(".")
    if not id_.startswith("r") or not dot or not number or len(id_) > _LONGEST or not _encodable(id_):
        return None
    return number[1:] if number.startswith(":") else plan.edge_prefix + number


def _joined(fact: Fact) -> str:
    return "@".join((escaped(fact.node), escaped(fact.key), str(fact.place), fact.hash))


def escaped(text: str) -> str:
    """A part of an id, without the character that joins the parts."""
    return text.replace("%", "%25").replace("@", "%40")


def _places(text: str, keys: Sequence[Key], first: int) -> list[Where]:
    if len(keys) == 1:
        return [Where(first, _values(text))] if text else []
    return [
        Where(first + at, _values(text[len(label) + 1 :]))
        for at, (label, _) in enumerate(keys)
        if text.startswith(f"{label}:") and len(text) > len(label) + 1
    ]


def _values(text: str) -> list[Any]:
    """What a property may hold that is written so: the string, or the number."""
    return [text, int(text)] if _INTEGER.fullmatch(text) and abs(int(text)) < 1 << 63 else [text]


def _text(value: Any) -> str:
    return (
        value
        if isinstance(value, str)
        else str(value)
        if isinstance(value, int) and not isinstance(value, bool)
        else ""
    )


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
