"""Relation paths: sequences of relations from an entity, each with the set of entities that it reaches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from thinkgraph.models.ops import Flow
from thinkgraph.prompts.lines import arrow, safe_label
from thinkgraph.runtime import requests
from thinkgraph.state.knowledge import Direction, Relation, Step, Triple, far_end, other_end


@dataclass(frozen=True)
class Place:
    """An entity on a relation path, and the first way that led to it."""

    id: str
    label: str
    lead: tuple[Triple, ...]
    on_path: tuple[str, ...]
    """Ids of all entities on that way, this one included."""

    @classmethod
    def start(cls, key: str, label: str) -> Place:
        """An entity that nothing led to."""
        return cls(key, label, (), (key,))


@dataclass(frozen=True)
class Leg:
    """The last hop of a relation path at one of the entities that it starts from."""

    source: Place
    tails: Sequence[Triple]
    total: int
    """How many such triples the graph holds."""

    @property
    def leads_on(self) -> bool:
        """Whether it reaches anything that the path has not passed."""
        return any(other_end(triple, self.source.id) not in self.source.on_path for triple in self.tails)


@dataclass(frozen=True)
class RelationPath:
    """A sequence of relations from a starting entity."""

    start: Place
    before: RelationPath | None = None
    """The path without its last relation; None for one of no relations."""
    relation: Relation | None = None
    sources: tuple[Place, ...] = ()
    """Where the last relation is walked from."""
    score: float = 0.0
    legs: tuple[Leg, ...] = field(default=(), repr=False)
    ends: tuple[Place, ...] = ()
    """What it reaches, as far as a next hop goes on from there."""

    @property
    def parts(self) -> list[RelationPath]:
        """The paths of one relation, of two … up to this one."""
        return [*(self.before.parts if self.before else ()), self] if self.relation else []

    @property
    def step(self) -> tuple[str, Direction]:
        """The name of its last relation, and the direction. Raises ValueError for a path of no relations."""
        if self.relation is None:
            raise ValueError("a path of no relations has no step")
        return self.relation["name"], self.relation["direction"]

    @property
    def labels(self) -> list[str]:
        """The labels of its relations, as words."""
        return [part.relation["label"].replace("_", " ") for part in self.parts if part.relation]

    @property
    def shown(self) -> str:
        """It in the grammar of prompts, without what it reaches: `(Panama) -[borders]-> -[capital]->`."""
        ways = [part.relation for part in self.parts if part.relation]
        arrows = [arrow(way["label"], outgoing=way["direction"] == "out") for way in ways]
        return " ".join([f"({safe_label(self.start.label)})", *arrows])


def walked(
    paths: Sequence[RelationPath], *, limit: int, fan: int, seed: int, avoid_cycles: bool = True
) -> Flow[list[RelationPath]]:
    """The paths with what their last relation reaches, in one round trip; those that reach nothing are left out.

    Args:
        paths: with sources, and not yet walked.
        limit: most triples read of one entity.
        fan: most entities from which a next hop goes on.
        seed: of the sample where there are more triples.
        avoid_cycles: a next hop does not go on from what the path has passed.
    """
    steps = [
        Step(entity=place.id, relation=name, direction=direction)
        for path in paths
        for name, direction in [path.step]
        for place in path.sources
    ]
    reached = iter((yield from requests.neighbours(steps, limit=limit, seed=seed)))
    every = []
    for path in paths:
        read = [
            Leg(place, found["triples"], found["total"]) for place, found in zip(path.sources, reached, strict=False)
        ]
        legs = [leg for leg in read if leg.leads_on or (leg.tails and not avoid_cycles)]
        if legs:
            every.append(replace(path, legs=tuple(legs), ends=_ends(legs, avoid_cycles=avoid_cycles)[:fan]))
    return every


def _ends(legs: Sequence[Leg], *, avoid_cycles: bool) -> tuple[Place, ...]:
    """The entities that legs reach, each once; a literal ends a path, and what the path has passed does with `avoid_cycles`."""
    ends: dict[str, Place] = {}
    for leg in legs:
        for triple in leg.tails:
            end, label, literal = far_end(triple, leg.source.id)
            passed = avoid_cycles and end in leg.source.on_path
            if end not in ends and not passed and not literal:
                ends[end] = Place(end, label, (*leg.source.lead, triple), (*leg.source.on_path, end))
    return tuple(ends.values())
