"""The form in which a knowledge base lies in Neo4j, for both ways of exporting it.

Entities are nodes `Entity` (id, name, type, description, aliases); values are nodes `Literal` (id, value) rather than
properties, because in a knowledge base values have qualifiers too and entities that share one meet there; passages are nodes
`Passage` (id, title, section, text, embedding) that are ABOUT their entities; every relation is a type of relationships of
that name, its qualifiers properties of the relationship. `RelationType` nodes keep labels that cannot be made from the type's name.
Our own Neo4j store reads this form like any other graph, with nothing to be set.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from thinkgraph.errors import KnowledgeError
from thinkgraph.tools.neo4j import roles
from thinkgraph.tools.neo4j.plan import in_words

ENTITY, LITERAL, PASSAGE, ABOUT = "Entity", "Literal", "Passage", "ABOUT"
RELATION_TYPE = roles.RELATION_LABEL
VECTOR = "embedding"

_LONGEST_ID = 8_000
"""Bytes of an id; a Neo4j index takes little more."""
MOST_TYPES = 60_000
"""Relations, at most: a Neo4j database has no more than 65,535 types of relationships."""


def stored_id(key: str) -> str:
    """The `id` property of an entity or a value: its key, a hash of one that no index would take."""
    if len(key.encode()) <= _LONGEST_ID:
        return key
    return "long:" + hashlib.blake2b(key.encode(), digest_size=16).hexdigest()


def qualifier_values(pairs: Iterable[Iterable[str]]) -> dict[str, str | list[str]]:
    """The properties of a relationship; a name that repeats has a list."""
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def about_type(relations: Iterable[str]) -> str:
    """The type that leads from passages to entities: one that no relation has."""
    taken = set(relations)
    name = ABOUT
    while name in taken:
        name = f"{ABOUT}_{PASSAGE.upper()}{'_' * (len(name) - len(ABOUT))}"
    return name


def relation_types(relations: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Nodes for the relations whose label cannot be made from the name."""
    return [{"type": name, "name": label} for name, label in relations if in_words(name) != label]


def check_relations(names: Sequence[str]) -> None:
    """Refuse relations that Neo4j cannot have as types: too many, or one without a name that Neo4j takes."""
    if len(names) > MOST_TYPES:
        raise KnowledgeError(
            f"Neo4j has at most {MOST_TYPES:,} types of relationships; there are {len(names):,} relations"
        )
    bad = next((name for name in names if not name or "\0" in name), None)
    if bad is not None:
        raise KnowledgeError(f"Neo4j takes no type of relationships called {bad[:80]!r}")


CONSTRAINTS = [
    f"CREATE CONSTRAINT thinkgraph_{label.lower()} IF NOT EXISTS FOR (n:{label}) REQUIRE n.id IS UNIQUE"
    for label in (ENTITY, LITERAL, PASSAGE)
]
"""What identifies nodes; before loading, because it finds the ends of relationships as well."""


def indexes(dimensions: int, longest_name: int) -> list[str]:
    """What finds names and passages; after loading, which is faster.

    Passages have vectors of so many dimensions, or none. A name of too many bytes would make all of its index fail.
    """
    made = [
        f"CREATE FULLTEXT INDEX thinkgraph_names IF NOT EXISTS FOR (n:{ENTITY}) ON EACH [n.name, n.aliases]",
        f"CREATE FULLTEXT INDEX thinkgraph_texts IF NOT EXISTS FOR (n:{PASSAGE}) ON EACH [n.title, n.text]",
    ]
    if longest_name <= _LONGEST_ID:
        made.append(f"CREATE INDEX thinkgraph_name IF NOT EXISTS FOR (n:{ENTITY}) ON (n.name)")
    if dimensions:
        made.append(
            f"CREATE VECTOR INDEX thinkgraph_vectors IF NOT EXISTS FOR (n:{PASSAGE}) ON (n.{VECTOR}) OPTIONS "
            f"{{indexConfig: {{`vector.dimensions`: {dimensions}, `vector.similarity_function`: 'cosine'}}}}"
        )
    return made
