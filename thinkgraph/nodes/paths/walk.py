"""The relation paths from the starting entities, walked on where they fit the question best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.relation_fit import fits
from thinkgraph.nodes.common.relation_paths import Place, RelationPath, walked
from thinkgraph.runtime import requests
from thinkgraph.state.knowledge import Relation
from thinkgraph.state.tog2 import PathsSettings, Topic


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
    frontier = [
        RelationPath(start=one, ends=(one,)) for one in (Place.start(topic["id"], topic["label"]) for topic in starts)
    ]
    for number in range(settings.depth):
        ids = list(dict.fromkeys(end.id for path in frontier for end in path.ends))
        known = dict(zip(ids, (yield from requests.relations(ids)), strict=True))
        options = [option for path in frontier for option in _options(path, known)]
        offered = set(list(dict.fromkeys(option.labels[-1] for option in options))[: settings.relation_options])
        options = [option for option in options if option.labels[-1] in offered]
        scores = yield from fits(question, [option.labels for option in options])
        best = sorted(zip(scores, options, strict=True), key=lambda pair: -pair[0])[: settings.path_beam]
        # The first hop starts from few entities: their lists are read as ToG-2 reads them.
        limit = settings.fan if number else settings.tails
        scored = [replace(path, score=score) for score, path in best]
        frontier = yield from walked(
            scored, limit=limit, fan=settings.fan, seed=settings.seed, avoid_cycles=settings.avoid_cycles
        )
        found += frontier
    return sorted(found, key=lambda path: -path.score)


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
