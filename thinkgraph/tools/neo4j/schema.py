"""Looks at a database once: its labels, types and properties, a sample of each label's nodes, and its indexes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thinkgraph.errors import StoreError
from thinkgraph.tools.neo4j import cypher, roles
from thinkgraph.tools.neo4j.connection import Connection, TimedOutError
from thinkgraph.tools.neo4j.roles import LabelFacts, PropertyFacts, Roles
from thinkgraph.tools.sqlite.file import chunks

_SAMPLE = 100
"""Nodes of a label that are looked at: so many of the first, and as many from the middle."""
_WITH_ALIASES, _LOOKED_THROUGH = 20, 10_000
"""Nodes with further names that are looked at besides, of so many of a label's first: few things have one."""
_SAMPLED_LABELS = 300
"""Labels, the most common first, each of which is looked at for itself: a query has to be planned for each."""
_RARE_LABELS, _TOGETHER = 3_000, 100
"""So many of the others are looked at, as many at a time as if they were one."""
_LABELS_AT_ONCE, _UNITS_AT_ONCE = 20, 5
_COUNTS_AT_ONCE = 50
_SKIPPED = 2_000_000
"""Nodes that are skipped at most to reach the middle of a label."""
_RELATION_LABELS = 20_000
COUNTED_TYPES = 200
"""Types of relationships up to which each is counted when a database is opened: a query has to be planned for each."""
UNCOUNTED = -1

EXACT_KINDS = frozenset({"RANGE", "TEXT", "BTREE"})
_CASE_SENSITIVE = frozenset({"keyword", "whitespace", "unicode_whitespace"})
"""Analyzers of full-text indexes that tell capitals from small letters: what is asked for in small letters is not found there."""


@dataclass(frozen=True)
class Index:
    """An index over nodes."""

    name: str
    kind: str
    """`RANGE`, `TEXT`, `FULLTEXT` or `VECTOR`."""
    labels: list[str]
    properties: list[str]
    unique: bool
    """Whether a constraint keeps the values of its one property apart."""
    dimensions: int
    """Of a vector index."""
    analyzer: str = ""
    """Of a full-text index."""
    state: str = "ONLINE"

    @property
    def wait(self) -> str:
        """Why it is not used, and what to do."""
        if self.state == "FAILED":
            return (
                f"the index {self.name} has failed and is not used: see SHOW INDEXES YIELD name, failureMessage; its owner can "
                "drop it and make it again"
            )
        return f"the index {self.name} is being built and not used yet: open the knowledge base again when it is online"


@dataclass(frozen=True)
class Catalogue:
    """Labels, types, properties, indexes and samples of a database."""

    labels: Mapping[str, int]
    """Nodes by label."""
    types: Mapping[str, int]
    """Relationships by type; `UNCOUNTED` each where there are very many types."""
    keys: frozenset[str]
    nodes: int
    relationships: int
    indexes: tuple[Index, ...]
    indexes_known: bool
    """Whether the user may see them."""
    samples: Mapping[str, LabelFacts]
    unready: tuple[Index, ...] = ()
    """Indexes that are not online; all others are."""
    relation_labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that the database itself gives to types of relationships."""
    notes: tuple[str, ...] = ()
    """What was not looked at, one line each."""

    def exact_index(self, label: str, key: str) -> bool:
        """Whether nodes of the label are found by an equal value of the property without a scan."""
        return any(
            index.kind in EXACT_KINDS and label in index.labels and index.properties == [key] for index in self.indexes
        )

    def full_text(self, label: str, keys: Collection[str]) -> dict[str, set[str]]:
        """The full-text indexes over some properties of a label that know no case, with those that each covers."""
        indexes = (index for index in self.indexes if index.kind == "FULLTEXT" and label in index.labels)
        fit = (index for index in indexes if index.analyzer not in _CASE_SENSITIVE)
        return {index.name: covered for index in fit if (covered := set(keys) & set(index.properties))}

    def case_sensitive(self, labels: Collection[str], keys: Collection[str]) -> list[str]:
        """The full-text indexes over some properties of some labels that `full_text` leaves out."""
        unfit = (index for index in self.indexes if index.kind == "FULLTEXT" and index.analyzer in _CASE_SENSITIVE)
        return [index.name for index in unfit if set(labels) & set(index.labels) and set(keys) & set(index.properties)]

    def wait_for(self, kinds: Collection[str], labels: Collection[str], keys: Collection[str]) -> str:
        """Why an index of some kinds over some properties of some labels is not used; "" where there is none to wait for."""
        found = (index for index in self.unready if index.kind in kinds and index.analyzer not in _CASE_SENSITIVE)
        over = (index for index in found if set(labels) & set(index.labels) and set(keys) & set(index.properties))
        return next((index.wait for index in over), "")

    def unique_key(self, label: str) -> str:
        """A property that identifies the label's nodes by a constraint of the owner; "" where there is none."""
        found = [index.properties[0] for index in self.indexes if index.unique and index.labels == [label]]
        # Of several, the one that sounds most like an identifier, for names change more often.
        return min(
            found, key=lambda key: (roles.plain_words(key)[-1:] != ["id"], "id" not in key.lower(), key), default=""
        )


def look(connection: Connection) -> Catalogue:
    """Read the catalogue of a database, in a bounded number of bounded queries."""

    def column(query: str) -> list[str]:
        return [str(row[0]) for row in connection.rows(query)]

    ((nodes, relationships),) = connection.rows("RETURN COUNT { () } AS nodes, COUNT { ()-->() } AS relationships")
    kinds = column("CALL db.relationshipTypes() YIELD relationshipType AS t RETURN t ORDER BY t")
    types = count_types(connection, kinds) if len(kinds) <= COUNTED_TYPES else dict.fromkeys(kinds, UNCOUNTED)
    labels = counted(connection, column("CALL db.labels() YIELD label RETURN label ORDER BY label"), "(:", ")")
    indexes, known = _indexes(connection)
    unlabelled, notes = _unlabelled(connection, int(nodes), labels)
    ranked = sorted(labels.items(), key=lambda pair: (-pair[1], pair[0]))
    sampled = ({"": unlabelled} if unlabelled else {}) | dict(ranked[: _SAMPLED_LABELS + _RARE_LABELS])
    notes += _unseen(len(labels))
    named = _relation_names(connection) if roles.RELATION_LABEL in labels else {}
    keys = column("CALL db.propertyKeys() YIELD propertyKey RETURN propertyKey ORDER BY propertyKey")
    return Catalogue(
        labels=labels,
        types=types,
        keys=frozenset(keys),
        nodes=int(nodes),
        relationships=int(relationships),
        indexes=tuple(index for index in indexes if index.state == "ONLINE"),
        indexes_known=known,
        unready=tuple(index for index in indexes if index.state != "ONLINE"),
        samples=_samples(connection, sampled, [key for key in keys if roles.is_alias(key)]),
        relation_labels=named,
        notes=tuple(notes),
    )


def _unlabelled(connection: Connection, nodes: int, labels: Mapping[str, int]) -> tuple[int, list[str]]:
    """How many nodes have no label, and a note where they could not be counted."""
    # Nodes with several labels count several times: the sum tells only how many have none at least.
    least, seconds = max(nodes - sum(labels.values()), 0), connection.address.scan
    if nodes <= max(labels.values(), default=0):
        return 0, []
    try:
        ((count,),) = connection.rows("RETURN COUNT { (:!%) }", seconds=seconds)
    except TimedOutError:
        note = (
            f"counting the nodes without a label took more than {seconds:g} seconds, so that some may not be found: "
            "allow more with ?scan=SECONDS"
        )
        return least, [note]
    return int(count), []


def _unseen(labels: int) -> list[str]:
    """What of so many labels is not looked at, or not well, one line each."""
    together = min(max(labels - _SAMPLED_LABELS, 0), _RARE_LABELS)
    unseen = max(labels - _SAMPLED_LABELS - _RARE_LABELS, 0)
    notes = {
        f"{together:,} rare ones of {labels:,} labels were looked at together, so that a name of one alone may be missed: give it "
        "with ?name=Label.property": together,
        f"the {unseen:,} rarest of {labels:,} labels were not looked at: their nodes are not found by name": unseen,
    }
    return [note for note, number in notes.items() if number]


def count_types(connection: Connection, kinds: Iterable[str]) -> dict[str, int]:
    """How many relationships of each type there are."""
    return counted(connection, kinds, "()-[:", "]->()")


def counted(connection: Connection, names: Iterable[str], before: str, after: str) -> dict[str, int]:
    """How many of each label or type there are, from the store's own counts; those without any are left out.

    A name stands between `before` and `after` in the pattern that is counted.
    """
    found: dict[str, int] = {}
    for part in chunks(list(names), _COUNTS_AT_ONCE):
        patterns = ", ".join(f"COUNT {{ {before}{cypher.quoted(name)}{after} }}" for name in part)
        ((counts,),) = connection.rows(f"RETURN [{patterns}]")
        found.update((name, int(count)) for name, count in zip(part, counts, strict=True) if count)
    return found


def _indexes(connection: Connection) -> tuple[tuple[Index, ...], bool]:
    query = (
        "SHOW INDEXES YIELD name, type, state, entityType, labelsOrTypes, properties, owningConstraint, options "
        "WHERE entityType = 'NODE' AND type <> 'LOOKUP' "
        "RETURN name, type, labelsOrTypes, properties, owningConstraint IS NOT NULL AND size(properties) = 1, "
        "toInteger(coalesce(options.indexConfig['vector.dimensions'], 0)), "
        "coalesce(options.indexConfig['fulltext.analyzer'], ''), state ORDER BY name"
    )
    try:
        return tuple(Index(*row) for row in connection.rows(query)), True
    except StoreError as error:
        # Some users may read and not see indexes: then there are none to be used.
        if "forbids" not in str(error):
            raise
        return (), False


def _samples(connection: Connection, counts: Mapping[str, int], aliases: Sequence[str]) -> dict[str, LabelFacts]:
    """What samples say about labels: the first are looked at one by one, the others many together."""
    labels = list(counts)
    alone = _SAMPLED_LABELS + ("" in counts)
    units = [*([label] for label in labels[:alone]), *chunks(labels[alone:], _TOGETHER)]
    sizes = [sum(counts[label] for label in unit) for unit in units]
    found: list[dict[str, PropertyFacts]] = [{} for _ in units]
    numbered = list(enumerate(units))
    for part in (*chunks(numbered[:alone], _LABELS_AT_ONCE), *chunks(numbered[alone:], _UNITS_AT_ONCE)):
        parameters: dict[str, Any] = {"cut": 100}
        parameters |= {f"skip{at}": min(sizes[at] // 2, _SKIPPED) for at, _ in part}
        query = " UNION ALL ".join(
            # Of a small label every node is looked at anyway.
            _sample_query(unit, at, aliases if sizes[at] > 2 * _SAMPLE else ())
            for at, unit in part
        )
        for at, key, *facts in connection.rows(query, parameters):
            found[at][key] = PropertyFacts(key, *facts)
    return {
        label: LabelFacts(label, counts[label], min(size, 2 * _SAMPLE), properties)
        for unit, size, properties in zip(units, sizes, found, strict=True)
        for label in unit
    }


def _sample_query(labels: Sequence[str], at: int, aliases: Sequence[str]) -> str:
    """Cypher for the columns of `PropertyFacts` of the nodes of some labels, behind the number `at`."""
    match = cypher.match(labels)
    has_alias = " OR ".join(f"n.{cypher.quoted(key)} IS NOT NULL" for key in aliases)
    also = f"UNION {match} WITH n LIMIT {_LOOKED_THROUGH} WHERE {has_alias} RETURN n LIMIT {_WITH_ALIASES} "
    length = "coalesce(percentileDisc(CASE WHEN v = s THEN size(s) END, {}), 0)"
    return (
        f"CALL {{ {match} RETURN n LIMIT {_SAMPLE} UNION {match} RETURN n SKIP toInteger($skip{at}) LIMIT {_SAMPLE} "
        f"{also if aliases else ''}}} "
        "UNWIND keys(n) AS k WITH k, n[k] AS v WITH k, v, toStringOrNull(v) AS s "
        f"RETURN {at} AS unit, k, count(*) AS present, "
        "count(DISTINCT CASE WHEN s IS NOT NULL THEN left(s, $cut) END) AS distinct, "
        f"{length.format(0.5)} AS middle, {length.format(0.9)} AS high, "
        f"coalesce(max(CASE WHEN s IS NULL THEN size(v) END), -1) AS size, "
        f"collect({cypher.short('v', most='2')})[..20] AS samples"
    )


def _relation_names(connection: Connection) -> dict[str, str]:
    query = (
        f"MATCH (n:{roles.RELATION_LABEL}) WHERE n.type = toStringOrNull(n.type) AND n.name = toStringOrNull(n.name) "
        f"RETURN left(n.type, {cypher.CUT}), left(n.name, {cypher.VALUE_CUT}) LIMIT {_RELATION_LABELS}"
    )
    return {str(kind): str(name) for kind, name in connection.rows(query)}


def merged_roles(found: Sequence[Roles]) -> Roles:
    """The roles of a node with several labels: for each role, the first label that has one; most special labels first."""

    def first(name: str) -> Any:
        return next((value for one in found if (value := getattr(one, name))), () if name == "names" else "")

    # A generic label beside a telling one keeps nothing secret: type and description are then facts like others.
    telling = [one for one in found if not roles.is_generic(one.label)]
    return Roles(
        label=(telling or found)[0].label,
        names=first("names"),
        aliases=tuple(dict.fromkeys(key for one in found for key in one.aliases)),
        description=first("description"),
        texts=tuple(dict.fromkeys(key for one in found for key in one.texts)),
        type_key=first("type_key") if not telling else "",
        passage=first("passage"),
        section=first("section"),
        data=frozenset(key for one in found for key in one.data),
        keys=frozenset(key for one in found for key in one.keys),
    )
