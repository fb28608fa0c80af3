"""Turns rows of our queries into entities, relations and triples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from thinkgraph.state.knowledge import Entity, Triple
from thinkgraph.tools.linking.names import relation_label
from thinkgraph.tools.neo4j.cypher import MOST_ELEMENTS
from thinkgraph.tools.neo4j.ids import Fact, Ids, edge_id, fact_id, value_id
from thinkgraph.tools.neo4j.plan import Plan
from thinkgraph.tools.neo4j.roles import Roles
from thinkgraph.tools.neo4j.values import digest, elements, render
from thinkgraph.tools.values import value_kind

_FACTS = 3
_DESCRIPTION_LENGTH = 160
_MOST_QUALIFIERS = 50


@dataclass(frozen=True)
class Node:
    """A node as `cypher.head` reads it."""

    plan: Plan
    ids: Ids
    element: str
    labels: tuple[str, ...]
    values: dict[str, Any]

    @cached_property
    def id(self) -> str:
        """Its public id."""
        return self.ids.node(self.element, self.labels, self.values)

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
        """What its naming properties say, best first."""
        texts = {key: render(value) for key, value in self.values.items()}
        return list(dict.fromkeys(name for one in self.roles.names if (name := one.render(texts))))

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
class Value:
    """A literal value of a node."""

    node: Node
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
        return value_id(self.fact)

    def triple(self) -> Triple:
        """The statement that the node has this value."""
        return {
            "id": fact_id(self.fact),
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
        return {
            "id": self.id,
            "label": self.text,
            "type": value_kind(self.text) or "",
            "description": "",
            "literal": True,
        }


def node(plan: Plan, ids: Ids, row: Sequence[Any]) -> Node:
    """A node of a row [element id, labels, [[key, value], …]]."""
    element, labels, values = row
    return Node(plan, ids, str(element), tuple(labels), {str(key): value for key, value in values})


def facts(owner: Node, rows: Sequence[Sequence[Any]]) -> Iterator[tuple[str, int, list[Value]]]:
    """Key, number of values and the values fetched of each property that is a fact, by key."""
    silent = owner.plan.silent(owner.labels)
    for key, size, values in sorted(rows, key=lambda row: str(row[0])):
        if key in silent or not size or is_data(size, values):
            continue
        texts = elements(list(values))
        # What has no text (a nested byte) is no value; a list of such is no fact.
        if texts:
            count = min(int(size), MOST_ELEMENTS)
            yield key, count, [Value(owner, key, at, text) for at, text in enumerate(texts[:MOST_ELEMENTS])]


def is_data(size: int, values: Sequence[Any]) -> bool:
    """Whether a list of so many elements is data (a vector, bytes) rather than facts."""
    many = 50
    return size > many and any(isinstance(value, int | float) for value in values[:1])


def triple(plan: Plan, subject: Node, edge: Sequence[Any], end: Node) -> Triple:
    """The statement of a relationship, from [element id, type, [[key, value], …]]."""
    element, kind, properties = edge
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


def entity(owner: Node, details: Sequence[Sequence[Any]] = (), edges: Sequence[Sequence[Any]] = ()) -> Entity:
    """An entity with a line that tells it from its namesakes: its description, else at most three facts about it.

    Args:
        owner: the node.
        details: its properties, as `cypher.facts` gives them.
        edges: [type, outgoing, head of the other end] of a few of its relationships.
    """
    plan = owner.plan
    described = next((elements(list(values)) for key, _, values in details if key == owner.roles.description), [])
    if owner.literal:
        line = ""
    elif described:
        line = described[0]
    else:
        said = [
            f"{relation_label(key)}: {values[0].text}" + (" …" if count > 1 else "")
            for key, count, values in facts(owner, details)
            if len(values[0].text) <= _DESCRIPTION_LENGTH // 2
        ][: _FACTS - 1]
        for kind, outgoing, other in edges[: _FACTS - len(said)]:
            end = node(plan, owner.ids, other).label
            word = plan.relation_label(str(kind))
            said.append(f"{word}: {end}" if outgoing else f"{word} of {end}")
        line = "; ".join(said)
    return {
        "id": owner.id,
        "label": owner.label,
        "type": owner.type,
        "description": shortened(line),
        "literal": owner.literal,
    }


def shortened(text: str) -> str:
    """One line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= _DESCRIPTION_LENGTH else line[: _DESCRIPTION_LENGTH - 1].rstrip() + "…"
