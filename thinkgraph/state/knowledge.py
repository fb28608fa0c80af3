"""What the knowledge stores hand over: entities, relations, triples, passages, links.

Identifiers are the store's own and opaque; labels are for people, and two entities may share one.
"""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

Direction = Literal["out", "in"]
"""`out`: the entity is the triple's subject; `in`: it is the object, so the edge is walked backwards."""

LinkMethod = Literal["exact", "alias", "fulltext", "fuzzy", "vector"]
"""How a mention was matched to an entity, from the surest to the least sure."""


class Entity(TypedDict):
    """A node of the graph: a thing, or a literal value (a date, a number) that ends a path."""

    id: str
    label: str
    type: str
    """Class or label of the node ("country"), empty where the store has none."""
    description: str
    """One line that tells it from its namesakes, empty where the store has none."""
    literal: bool


class Relation(TypedDict):
    """One kind of edge at one entity: Edge(e) of ToG-2 section 3.2.1, equation 1, with the number of triples behind it."""

    entity: str
    name: str
    """The store's name of the relation, used to walk it."""
    label: str
    """The name for people ("shares border with")."""
    direction: Direction
    count: int


class Step(TypedDict):
    """One hop to walk: from an entity along a relation in a direction."""

    entity: str
    relation: str
    direction: Direction


class Triple(TypedDict):
    """One statement (subject, relation, object) with its qualifiers and the labels needed to show it."""

    id: str
    subject: str
    relation: str
    object: str
    subject_label: str
    relation_label: str
    object_label: str
    literal: bool
    qualifiers: list[list[str]]
    """Pairs [name, value], in the store's order; a name may repeat."""


class Neighbours(TypedDict):
    """What one hop, or one entity's whole surrounding, reaches."""

    triples: list[Triple]
    total: int
    """How many triples there are in all; larger than len(triples) where the limit cut (a seeded sample then)."""


class Passage(TypedDict):
    """A stretch of text about one or more entities."""

    id: str
    entities: list[str]
    title: str
    section: str
    text: str


class PassageHit(TypedDict):
    """A passage found for a query, with the store's own similarity (higher is nearer; not comparable across stores)."""

    passage: Passage
    score: float


class Match(TypedDict):
    """An entity found for one mention by the graph store."""

    entity: Entity
    name: str
    """The name of the entity that matched (its label or one of its aliases)."""
    method: LinkMethod
    score: float
    """0 to 1; exact and alias matches score 1."""


class Link(TypedDict):
    """A scored candidate of the linker: an entity for a stretch of the linked text."""

    entity: Entity
    mention: str
    start: int
    """Offset of the mention in the linked text, in characters; -1 where the match is to the text as a whole."""
    method: LinkMethod
    score: float
    """0 to 1."""


class Candidate(TypedDict):
    """A linked entity that a run may start from."""

    id: str
    label: str
    description: str
    """Its type where it has none."""
    method: LinkMethod
    mention: str
    score: float


class GraphInfo(TypedDict):
    """What a graph store says about itself; -1 for a count that it cannot tell cheaply."""

    name: str
    fingerprint: str
    """Changes whenever the content does; part of the run manifest."""
    entities: int
    literals: int
    triples: int
    relations: int


class TextInfo(TypedDict):
    """What a text store says about itself; -1 for a count that it cannot tell."""

    name: str
    fingerprint: str
    passages: int
    entities: int
    """How many entities have at least one passage."""


def both_ends(triple: Triple) -> tuple[str, str]:
    """The ids of subject and object."""
    return triple["subject"], triple["object"]


def ends_of(triple: Triple) -> list[tuple[str, str, bool]]:
    """Id and label of both ends, and whether it is the object."""
    return [(triple["subject"], triple["subject_label"], False), (triple["object"], triple["object_label"], True)]


def other_end(triple: Triple, entity: str) -> str:
    """The id of the triple's end that is not `entity` (the same id for a self-loop)."""
    return triple["object"] if triple["subject"] == entity else triple["subject"]


def far_end(triple: Triple, entity: str) -> tuple[str, str, bool]:
    """Id and label of the triple's end that is not `entity`, and whether it is a literal (of a self-loop, the object)."""
    if triple["subject"] == entity:
        return triple["object"], triple["object_label"], triple["literal"]
    return triple["subject"], triple["subject_label"], False


def step_along(relation: Relation) -> Step:
    """The hop from an entity along one of its relations."""
    return Step(entity=relation["entity"], relation=relation["name"], direction=relation["direction"])


def copied(triple: Triple) -> Triple:
    """A triple for whoever may change it, with qualifiers of its own."""
    return {**triple, "qualifiers": [list(pair) for pair in triple["qualifiers"]]}


class Prose(TypedDict):
    """A community in the words of a sequence-to-sequence model."""

    text: str
    """Empty where nothing was written."""
    ok: bool
    """Whether the text may stand for the triples; where not, T2T has to."""
    problems: list[str]
    """Why not, the kind first: "invented: Texas", "joined: A and B", "left out: s, r, o", "too long: …", "unfinished: …"."""
