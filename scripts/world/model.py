"""The knowledge base under construction: entities, triples, literals and the naming of entities."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

# among entities that share a label, the first type here keeps the bare label as its id
TYPE_ORDER = (
    "country", "territory", "city", "region", "continent", "sea", "lake", "river", "mountain", "language", "religion",
    "currency", "organization", "person", "commodity", "people", "anthem", "symbol", "government form", "former state", "place",
)  # fmt: skip


@dataclass(eq=False)
class Entity:
    """One entity; `tag` tells apart entities of one type that share a label."""

    label: str
    type: str
    tag: str = ""
    description: str = ""
    aliases: list[str] = field(default_factory=list)
    id: str = ""


class World:
    """Entities by label, type and tag, and the facts between them."""

    def __init__(self) -> None:
        self.entities: dict[tuple[str, str, str], Entity] = {}
        self.triples: dict[tuple[Entity, str, Entity], dict[str, str]] = {}
        self.literals: dict[tuple[Entity, str, str], dict[str, str]] = {}

    def entity(self, label: str, type_: str, tag: str = "") -> Entity:
        """The entity with this label, type and tag, made if it is new."""
        key = (label, type_, tag)
        if key not in self.entities:
            self.entities[key] = Entity(label, type_, tag)
        return self.entities[key]

    def get(self, label: str, type_: str, tag: str = "") -> Entity | None:
        """The entity with this label, type and tag, if there is one."""
        return self.entities.get((label, type_, tag))

    def triple(self, subject: Entity, relation: str, obj: Entity, **quals: str) -> None:
        """Adds a fact; a repeated fact keeps its first qualifiers."""
        self.triples.setdefault((subject, relation, obj), {k: v for k, v in quals.items() if v})

    def literal(self, subject: Entity, relation: str, value: str, **quals: str) -> None:
        """Adds a number, date or quantity."""
        if value:
            self.literals.setdefault((subject, relation, value), {k: v for k, v in quals.items() if v})

    def objects(self, subject: Entity, relation: str) -> list[Entity]:
        """What a relation leads to."""
        return [o for (s, r, o) in self.triples if s is subject and r == relation]

    def subjects(self, relation: str, obj: Entity) -> list[Entity]:
        """Where a relation comes from."""
        return [s for (s, r, o) in self.triples if o is obj and r == relation]

    def prune(self) -> None:
        """Drops entities without any fact."""
        used = {e for s, _, o in self.triples for e in (s, o)} | {s for s, _, _ in self.literals}
        self.entities = {k: e for k, e in self.entities.items() if e in used}

    def name(self) -> None:
        """Gives every entity its id."""
        by_label: dict[str, list[Entity]] = defaultdict(list)
        for entity in self.entities.values():
            by_label[entity.label].append(entity)
        for label, group in by_label.items():
            group.sort(key=lambda e: TYPE_ORDER.index(e.type))
            for position, entity in enumerate(group):
                twins = sum(e.type == entity.type for e in group)
                if twins > 1:
                    entity.id = f"{label} ({entity.tag})"
                else:
                    entity.id = label if position == 0 else f"{label} ({entity.type})"
        ids = [e.id for e in self.entities.values()]
        if len(ids) != len(set(ids)):
            raise ValueError(f"two entities with one id: {sorted(i for i in ids if ids.count(i) > 1)}")
