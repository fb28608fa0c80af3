"""Relation paths from the starting entities: sequences of relations, each with the set of entities that it reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.paths.fit import fits
from thinkgraph.prompts.lines import arrow, safe_label
from thinkgraph.runtime import requests
from thinkgraph.state.knowledge import Relation, Step, Triple, other_end
from thinkgraph.state.tog2 import PathsSettings, Topic


@dataclass(frozen=True)
class Place:
    """An entity on a relation path, and the first way that led to it."""

    id: str
    label: str
    lead: tuple[Triple, ...]
    on_path: tuple[str, ...]
    """Ids of all entities on that way, this one included."""


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

    start: Topic
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
    def labels(self) -> list[str]:
        """The labels of its relations, as words."""
        return [part.relation["label"].replace("_", " ") for part in self.parts if part.relation]

    @property
    def shown(self) -> str:
        """It in the grammar of prompts, without what it reaches: `(Panama) -[borders]-> -[capital]->`."""
        ways = [part.relation for part in self.parts if part.relation]
        arrows = [arrow(way["label"], outgoing=way["direction"] == "out") for way in ways]
        return " ".join([f"({safe_label(self.start['label'])})", *arrows])


def walk(starts: Sequence[Topic], question: str, settings: PathsSettings) -> Flow[list[RelationPath]]:
    """All relation paths that were walked, the best first: at each hop those that fit the question best are walked on.

    Two round trips for each hop, however many paths there are.

    Args:
        starts: the starting entities.
        question: without the names of these.
        settings: the run's.

    Raises:
        KnowledgeError: the encoder cannot be loaded or reached.
    """
    found: list[RelationPath] = []
    frontier = [RelationPath(start=one, ends=(place_of(one),)) for one in starts]
    for number in range(settings.depth):
        ids = list(dict.fromkeys(end.id for path in frontier for end in path.ends))
        known = dict(zip(ids, (yield from requests.relations(ids)), strict=True))
        options = [option for path in frontier for option in _options(path, known)]
        words = list(dict.fromkeys(label for option in options for label in option.labels[-1:]))
        offered = set(words[: settings.relation_options])
        options = [option for option in options if option.labels[-1] in offered]
        scores = yield from fits(question, [option.labels for option in options])
        best = sorted(zip(scores, options, strict=True), key=lambda pair: -pair[0])[: settings.path_beam]
        # The first hop starts from few entities: their lists are read as ToG-2 reads them.
        limit = settings.fan if number else settings.tails
        frontier = yield from _walked([replace(path, score=score) for score, path in best], limit, settings)
        found += frontier
    return sorted(found, key=lambda path: -path.score)


def place_of(topic: Topic) -> Place:
    """A starting entity as a place that nothing led to."""
    return Place(topic["id"], topic["label"], (), (topic["id"],))


def _options(path: RelationPath, known: Mapping[str, Sequence[Relation]]) -> list[RelationPath]:
    """The paths with one relation more, not yet walked."""
    sources: dict[tuple[str, str], list[Place]] = {}
    relations: dict[tuple[str, str], Relation] = {}
    for end in path.ends:
        for relation in known[end.id]:
            key = relation["name"], relation["direction"]
            relations.setdefault(key, relation)
            sources.setdefault(key, []).append(end)
    return [
        RelationPath(start=path.start, before=path, relation=relation, sources=tuple(sources[key]))
        for key, relation in relations.items()
    ]


def _walked(paths: Sequence[RelationPath], limit: int, settings: PathsSettings) -> Flow[list[RelationPath]]:
    """The paths with what their last relation reaches, in one round trip; those that reach nothing are left out."""
    steps = [
        Step(entity=place.id, relation=path.relation["name"], direction=path.relation["direction"])
        for path in paths
        if path.relation
        for place in path.sources
    ]
    reached = iter((yield from requests.neighbours(steps, limit=limit, seed=settings.seed)))
    walked = []
    for path in paths:
        every = [
            Leg(place, found["triples"], found["total"]) for place, found in zip(path.sources, reached, strict=False)
        ]
        legs = [leg for leg in every if leg.leads_on or (leg.tails and not settings.avoid_cycles)]
        if legs:
            walked.append(replace(path, legs=tuple(legs), ends=_ends(legs, settings)))
    return walked


def _ends(legs: Sequence[Leg], settings: PathsSettings) -> tuple[Place, ...]:
    """The entities that legs reach, each once; a literal ends a path, and what the path has passed does with `avoid_cycles`."""
    ends: dict[str, Place] = {}
    for leg in legs:
        for triple in leg.tails:
            end = other_end(triple, leg.source.id)
            outgoing = triple["object"] == end
            passed = settings.avoid_cycles and end in leg.source.on_path
            if end not in ends and not passed and not (outgoing and triple["literal"]):
                label = triple["object_label"] if outgoing else triple["subject_label"]
                ends[end] = Place(end, label, (*leg.source.lead, triple), (*leg.source.on_path, end))
    return tuple(list(ends.values())[: settings.fan])
