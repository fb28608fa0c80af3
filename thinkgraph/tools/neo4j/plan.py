"""How a database's graph is read: which nodes are entities, values or passages, and what names and identifies them."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from thinkgraph.errors import KnowledgeError
from thinkgraph.tools.linking.names import relation_label
from thinkgraph.tools.neo4j import cypher, roles
from thinkgraph.tools.neo4j.connection import Connection
from thinkgraph.tools.neo4j.roles import Roles, Template
from thinkgraph.tools.neo4j.schema import EXACT_KINDS, Catalogue, count_types, counted, look, merged_roles

EXACT_COUNTS = 20_000
"""Nodes up to which the literal values are counted; of larger databases the sample says about how many there are."""
UNINDEXED = 2_000
"""Nodes of a label up to which an identifying property needs no index."""
UNFINISHED = "_ThinkGraphExport"
"""The label of the node by which an export knows how far it is; it goes when the export is finished."""
_ROLES_CACHE = 4_096
_FEW_TYPES = 50
"""Types of relationships up to which each is checked for hidden ends; of more, only those found at hidden nodes."""
_LOOKED_AT = 200_000

NodeKey = tuple[str, str]
"""A label and the property that identifies its nodes."""


@dataclass(frozen=True, eq=False)
class Neo4jPlan:
    """The reading of one database. Made once, when it is opened."""

    catalogue: Catalogue
    mapping: Mapping[str, Sequence[str]]
    roles: dict[str, Roles]
    literal_labels: frozenset[str]
    passages: dict[str, Roles]
    """Labels whose nodes are passages."""
    hidden_labels: frozenset[str]
    """Labels whose nodes are no entities: passages, bookkeeping of tools, what the address hides."""
    hidden_types: frozenset[str]
    """Types of relationships that only touch hidden nodes, or that the owner hides."""
    mixed_types: frozenset[str]
    """Types of relationships some of which touch hidden nodes."""
    keys: tuple[NodeKey, ...]
    literal_keys: tuple[NodeKey, ...]
    passage_keys: tuple[NodeKey, ...]
    node_prefix: str
    """What all element ids of nodes begin with."""
    edge_prefix: str
    hidden_nodes: int
    """Nodes that are no entities: hidden ones and values."""
    touching: dict[str, int] = field(default_factory=dict)
    """About how many relationships of a type touch hidden nodes, or are hidden."""

    @property
    def exact(self) -> bool:
        """Whether values and texts are counted rather than estimated."""
        return self.catalogue.nodes <= EXACT_COUNTS

    @property
    def entities(self) -> int:
        """Nodes that are entities."""
        return max(self.catalogue.nodes - self.hidden_nodes, 0)

    @functools.cached_property
    def things(self) -> dict[str, Roles]:
        """The labels of entities; "" for nodes without a label."""
        unwanted = self.hidden_labels | self.literal_labels
        return {label: one for label, one in self.roles.items() if label not in unwanted}

    @functools.cached_property
    def heads(self) -> list[str]:
        """Every property that identifies, names or classes some node."""
        found = {key for one in self.roles.values() for template in one.names for key in template.keys}
        found |= {key for one in self.roles.values() for key in (one.type_key, one.section)}
        found |= {key for _, key in (*self.keys, *self.literal_keys, *self.passage_keys)}
        return sorted(found - {""})

    @functools.cached_property
    def data(self) -> list[str]:
        """Properties that hold data or long text wherever they occur: never fetched as facts."""
        unwanted: set[str] = set()
        wanted: set[str] = set()
        for label, one in self.roles.items():
            own = {*one.data, *one.texts, one.passage}
            unwanted |= own
            wanted |= set(self.catalogue.samples[label].properties) - own
        return sorted(unwanted - wanted - {""})

    @functools.cached_property
    def types(self) -> set[str]:
        """Types of relationships that are relations; a type that appears later is added when it is met."""
        return set(self.catalogue.types) - self.hidden_types

    @functools.cached_property
    def node_roles(self) -> Callable[[tuple[str, ...]], Roles]:
        """Gives the roles of a node with some labels."""
        return functools.lru_cache(_ROLES_CACHE)(self._merged)

    def _merged(self, labels: tuple[str, ...]) -> Roles:
        known = [self.roles[label] for label in self.rarest_first(labels) if label in self.roles]
        return merged_roles(known or [self.roles.get("", Roles("", names=_ANY_NAME))])

    def rarest_first(self, labels: Sequence[str]) -> list[str]:
        """Labels with the fewest nodes first: they say most about a node."""
        return sorted(labels, key=lambda label: (self.catalogue.labels.get(label, 0), label))

    def type_of(self, labels: Sequence[str]) -> str:
        """The type of a node by its labels, the most common first; "" where all labels are generic."""
        telling = [label for label in reversed(self.rarest_first(labels)) if label and not roles.is_generic(label)]
        return ", ".join(" ".join(label.replace("_", " ").split()) for label in telling[:3])

    def relation_label(self, kind: str) -> str:
        """A type of relationships as words: ACTED_IN is "acted in"."""
        return self.catalogue.relation_labels.get(kind) or in_words(kind)

    def fact_relation(self, key: str) -> str:
        """The relation of a property: its key, unless a type of relationships has that name."""
        return f"{key} (property)" if key in self.types else key

    def fact_key(self, relation: str) -> str:
        """The property of a relation."""
        base = relation.removesuffix(" (property)")
        return base if base in self.types else relation

    def fingerprint(self, store: str, facts: object) -> str:
        """A hash of the database's identity, its counts and its plan. It does not change when only a value changes."""
        parts = [
            [store, sorted(self.catalogue.labels.items()), sorted(self.catalogue.types.items()), self.catalogue.nodes],
            [self.catalogue.relationships, sorted(self.catalogue.keys), facts],
            [[label, *one.told] for label, one in sorted(self.roles.items())],
            [self.keys, sorted(self.hidden_labels), sorted(self.hidden_types), sorted(self.literal_labels)],
        ]
        text = json.dumps(parts, default=str, sort_keys=True)
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


_ANY_NAME = tuple(Template((key,)) for key in ("name", "title", "label"))


def in_words(kind: str) -> str:
    """A name written in capitals, with underscores, in camel case or with a namespace, as words."""
    bare = kind.partition("__")[2] if kind.partition("__")[0].isalnum() and kind.partition("__")[2] else kind
    label = relation_label(bare)
    shouted = bare.upper() == bare and any(len(part) > 1 and part.isalpha() for part in bare.split("_"))
    return label.lower() if shouted else label


def make_plan(connection: Connection, mapping: Mapping[str, Sequence[str]]) -> Neo4jPlan:
    """Look at the database and decide how to read it.

    Raises:
        KnowledgeError: the mapping names what is not there.
        StoreError: the database cannot be read.
    """
    catalogue = look(connection)
    if UNFINISHED in catalogue.labels:
        raise KnowledgeError(
            f"the database '{connection.database}' at {connection.address.place} holds an unfinished export: run the same "
            "`thinkgraph kb export` again"
        )
    _check(mapping, catalogue)
    hide = set(mapping.get("hide", ()))
    found = _roles(connection, catalogue, mapping, hide)
    values = [label for label, facts in catalogue.samples.items() if "value" in facts.properties]
    literal = set(mapping.get("literal", [label for label in values if roles.plain_words(label) == ["literal"]]))
    for label in literal & set(found):
        # A value is shown as it is; without a property for it, as what seems to name the node.
        bare = [Template(("value",))] * ("value" in catalogue.samples[label].properties)
        names = [Template(name.keys) for name in found[label].names]
        found[label] = replace(found[label], names=tuple(dict.fromkeys([*bare, *names])), texts=(), passage="")
    passages = {label: one for label, one in found.items() if one.passage and label not in literal}
    hidden = {label for label in catalogue.labels if _left_out([label], hide)}
    hidden |= set(passages) | ({roles.RELATION_LABEL} & set(catalogue.labels) if catalogue.relation_labels else set())
    only, touching = _types(connection, catalogue, hidden)
    unwanted = hide & set(catalogue.types)
    hidden_nodes = f"COUNT {{ ({cypher.one_of(sorted(hidden))}) }}" if hidden else "0"
    ((node, edge, hidden_count),) = connection.rows(
        "RETURN COLLECT { MATCH (n) RETURN elementId(n) LIMIT 1 }, COLLECT { MATCH ()-[r]->() RETURN elementId(r) LIMIT 1 }, "
        + hidden_nodes
    )
    keys = _keys(catalogue, [label for label in found if label and label not in hidden | literal], mapping.get("id"))
    if "id" in mapping:
        _check_apart(connection, keys)
    literal_keys = _keys(catalogue, sorted(literal), None)
    for label, key in (*keys, *literal_keys):
        if label in found:
            found[label] = replace(found[label], keys=found[label].keys | {key})
    return Neo4jPlan(
        catalogue=catalogue,
        mapping=mapping,
        roles=found,
        literal_labels=frozenset(literal),
        passages=passages,
        hidden_labels=frozenset(hidden),
        hidden_types=frozenset(only | unwanted),
        mixed_types=frozenset(touching.keys() - only - unwanted),
        keys=keys,
        literal_keys=literal_keys,
        passage_keys=_keys(catalogue, sorted(passages), None),
        node_prefix=_prefix(node),
        edge_prefix=_prefix(edge),
        hidden_nodes=hidden_count + sum(catalogue.labels[label] for label in literal - hidden),
        touching=touching | count_types(connection, unwanted),
    )


def _roles(
    connection: Connection, catalogue: Catalogue, mapping: Mapping[str, Sequence[str]], hide: Collection[str]
) -> dict[str, Roles]:
    """The roles of each label's properties, as the mapping says, else as they are guessed."""
    vectors = [index for index in catalogue.indexes if index.kind == "VECTOR"]

    def guessed(label: str, *, things: bool = False) -> Roles:
        facts = catalogue.samples[label]
        covered = frozenset(index.properties[0] for index in vectors if label in index.labels)
        return _overridden(roles.guess(facts, covered, things=things), mapping, set(facts.properties))

    found = {label: guessed(label) for label in catalogue.samples}
    if "passage" in mapping:
        return found
    things = {label: guessed(label, things=True) for label in _things(connection, found, hide)}
    rest = {label: one for label, one in found.items() if label not in things}
    return found | _speaking(connection, catalogue, rest) | things


def _things(connection: Connection, found: Mapping[str, Roles], hide: Collection[str]) -> set[str]:
    """Labels guessed to be passages whose nodes are things with a text.

    These are the documents that are joined to things, and by no relationship that speaks of them (WRITTEN_BY), and all that are
    joined to nothing but one another (LINKS_TO). Pieces of text, and what is joined to nothing at all, are passages.
    """
    guessed = {label for label, one in found.items() if one.passage}
    unsure = {label for label in guessed if label and not roles.is_piece(label)}
    passages = guessed - unsure
    joined: dict[str, set[str]] = {}
    for label in sorted(unsure):
        query = (
            f"MATCH (:{cypher.quoted(label)})-[r]-(e) WITH type(r) AS kind, e LIMIT {_LOOKED_AT} "
            "WITH DISTINCT kind, labels(e) AS ends RETURN kind, ends"
        )
        ways = [(kind, ends) for kind, ends in connection.rows(query) if not _left_out([kind, *ends], hide)]
        kinds = [kind for kind, ends in ways if guessed.isdisjoint(ends)]
        if not ways or any(map(roles.speaks, kinds)) or (kinds and not roles.is_document(label)):
            passages.add(label)
        elif not kinds:
            joined[label] = {end for _, ends in ways for end in guessed.intersection(ends)}
    # What is joined to passages only is a passage too.
    while more := {label for label, ends in joined.items() if label not in passages and ends & passages}:
        passages |= more
    return unsure - passages


def _left_out(names: Iterable[str], hide: Collection[str]) -> bool:
    """Whether one of some labels and types of relationships is a tool's, or hidden by the owner."""
    return any(name in hide or roles.BOOKKEEPING.match(name) for name in names)


def _speaking(connection: Connection, catalogue: Catalogue, found: Mapping[str, Roles]) -> dict[str, Roles]:
    """The labels of short texts from which relationships such as MENTIONS lead to things: their nodes are passages."""
    kinds = [kind for kind in catalogue.types if roles.speaks(kind)]
    texts = {label: roles.short_text(catalogue.samples[label], one) for label, one in found.items() if label and kinds}
    return {
        label: replace(found[label], passage=key, texts=())
        for label, key in texts.items()
        if key and any(_counted_at(label, connection, kinds))
    }


def _counted_at(label: str, connection: Connection, kinds: Iterable[str]) -> Iterator[dict[str, int]]:
    """How many relationships of each type start at nodes of a label, then how many end there."""
    node = f"(:{cypher.quoted(label)})"
    yield counted(connection, kinds, f"{node}-[:", "]->()")
    yield counted(connection, kinds, "()-[:", f"]->{node}")


def _prefix(ids: Sequence[str]) -> str:
    return str(ids[0]).rpartition(":")[0] + ":" if ids and ":" in str(ids[0]) else ""


def _types(connection: Connection, catalogue: Catalogue, hidden: set[str]) -> tuple[set[str], dict[str, int]]:
    """Types of relationships that only touch hidden nodes, and about how many of each type do."""
    only: set[str] = set()
    touching: dict[str, int] = {}
    totals = dict(catalogue.types)
    if hidden and len(totals) > _FEW_TYPES:
        either = cypher.one_of(sorted(hidden))
        query = f"MATCH (c{either})-[r]-() WITH type(r) AS t LIMIT {_LOOKED_AT} RETURN DISTINCT t"
        totals = count_types(connection, sorted(str(row[0]) for row in connection.rows(query)))
    ends = [counts for label in sorted(hidden) for counts in _counted_at(label, connection, totals)]
    for kind, total in totals.items():
        counts = [end.get(kind, 0) for end in ends]
        if any(counts):
            # All start at, or all end at, a node of one hidden label.
            whole = max(counts) >= total
            touching[kind] = total if whole else min(total, sum(counts))
            only |= {kind} if whole else set()
    return only, touching


def _keys(catalogue: Catalogue, labels: Sequence[str], wanted: Sequence[str] | None) -> tuple[NodeKey, ...]:
    """The properties that identify nodes: those of the address, else those with a uniqueness constraint."""
    if wanted is None:
        return tuple((label, key) for label in sorted(labels) if (key := catalogue.unique_key(label)))
    found = []
    for entry in wanted:
        for label, key in _resolved(entry, catalogue):
            if label not in labels:
                continue
            count = catalogue.labels.get(label, 0)
            if count > UNINDEXED and not catalogue.exact_index(label, key):
                make = f"CREATE INDEX FOR (n:{cypher.quoted(label)}) ON (n.{cypher.quoted(key)})"
                advice = catalogue.wait_for(EXACT_KINDS, [label], [key]) or f"its owner can run {make}"
                raise KnowledgeError(
                    f"id={label}.{key}: every step would read all {count:,} nodes of {label}; {advice}"
                )
            found.append((label, key))
    return tuple(sorted(set(found)))


def _check_apart(connection: Connection, keys: Iterable[NodeKey]) -> None:
    """Refuse a property as an id that identifies none, or that several nodes share: what one of them says would be told of the other."""
    for label, key in keys:
        value = f"n.{cypher.quoted(key)}"
        query = f"MATCH (n:{cypher.quoted(label)}) WHERE {value} IS NOT NULL RETURN {cypher.short(value)} LIMIT 20"
        values = [found for (found,) in connection.rows(query, {"cut": 40})]
        if not any(isinstance(one, str | int) and not isinstance(one, bool) for one in values):
            example = f", but values such as {str(values[0])[:40]}" if values else ""
            raise KnowledgeError(
                f"id={label}.{key}: no node of {label} has a text or a whole number there{example}; "
                "name another property, or none"
            )
        query = (
            f"MATCH (n:{cypher.quoted(label)}) WITH toStringOrNull(n.{cypher.quoted(key)}) AS value LIMIT {_LOOKED_AT} "
            "WITH value, count(*) AS nodes WHERE value <> '' AND nodes > 1 "
            "RETURN left(value, 80), nodes ORDER BY nodes DESC, value LIMIT 1"
        )
        for value, nodes in connection.rows(query):
            raise KnowledgeError(
                f"id={label}.{key}: {nodes:,} nodes have the value {value!r}; name a property that tells them apart, or none"
            )


def _overridden(one: Roles, mapping: Mapping[str, Sequence[str]], present: set[str]) -> Roles:
    """The roles of a label as the owner wants them."""

    def own(role: str) -> list[str]:
        return [entry.removeprefix(f"{one.label}.") for entry in mapping[role] if entry.startswith(f"{one.label}.")]

    def chosen(role: str) -> list[str]:
        return own(role) or [entry for entry in mapping[role] if entry in present or "+" in entry]

    changes: dict[str, Any] = {}
    if "name" in mapping and (names := chosen("name")):
        templates = [Template((name,)) if name in present else Template(tuple(name.split("+"))) for name in names]
        changes["names"] = (*templates, *(old for old in one.names if old not in templates))
    if "alias" in mapping:
        changes["aliases"] = tuple(chosen("alias"))
    if "description" in mapping:
        changes["description"] = next(iter(chosen("description")), "")
    if "passage" in mapping:
        changes["passage"] = next(iter(own("passage")), "")
        if one.passage and not changes["passage"]:
            changes["texts"] = tuple(dict.fromkeys((*one.texts, one.passage)))
    if "text" in mapping and not changes.get("passage", one.passage):
        changes["texts"] = tuple(chosen("text"))
    return replace(one, **changes)


def _resolved(entry: str, catalogue: Catalogue) -> list[tuple[str, str]]:
    """Label and property of an entry `Label.property` or `property`; names may have dots of their own."""
    found = [(label, entry[len(label) + 1 :]) for label in catalogue.labels if entry.startswith(f"{label}.")]
    found = [(label, key) for label, key in found if _known(key, catalogue)]
    if not found and _known(entry, catalogue):
        parts = entry.split("+")
        found = [
            (label, entry) for label, facts in catalogue.samples.items() if {entry, *parts} & set(facts.properties)
        ]
    return found


def _known(key: str, catalogue: Catalogue) -> bool:
    return key in catalogue.keys or all(part in catalogue.keys for part in key.split("+"))


def _check(mapping: Mapping[str, Sequence[str]], catalogue: Catalogue) -> None:
    """Refuse a mapping that names labels, types or properties that the database does not have."""
    for role in ("id", "name", "alias", "description", "text", "passage"):
        for entry in mapping.get(role, ()):
            if not _resolved(entry, catalogue) or (role == "passage" and entry in catalogue.keys):
                form = "Label.property" if role == "passage" else "property or Label.property"
                raise KnowledgeError(f"{role}={entry[:80]}: the database has no such property ({form})")
    for role, known in {"literal": set(catalogue.labels), "hide": {*catalogue.labels, *catalogue.types}}.items():
        for entry in mapping.get(role, ()):
            if entry not in known:
                raise KnowledgeError(f"{role}={entry[:80]}: the database has no such label or type")
