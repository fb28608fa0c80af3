"""Whole lists (`whole_lists`): everything that the relation paths along the chains reach, where the chains hold only a part.

A departure from the paper: a community of M nodes holds M members of a list at most, and what answers a question may be a longer one.
"""

from __future__ import annotations

import bisect
import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.evidence_lines import line_cost
from thinkgraph.nodes.common.relation_fit import fits, unnamed
from thinkgraph.nodes.common.relation_paths import Place, RelationPath, walked
from thinkgraph.nodes.fasttog.chains import community_of, evidence_of, triples_of
from thinkgraph.prompts.communities import community_line
from thinkgraph.state.evidence import MAX_EVIDENCE, EvidenceItem, path_key
from thinkgraph.state.fasttog import Community, FastTogSettings, FastTogState
from thinkgraph.state.knowledge import Candidate, Direction, Relation, Triple, other_end

_FAN = 200
"""Most entities from which a path goes on, and most triples read at each."""
_NEAR = 0.9
"""A path whose fit is below this part of the best one's is left out."""
_ROUTES = 1000
"""Relation paths from which on longer ones are not looked for."""
_LEAST_COST = 4
"""Tokens that a triple takes in a line at least."""

Step = tuple[str, Direction]
"""A relation, and the direction in which it is walked."""
Route = tuple[str, tuple[Step, ...]]
"""The id of a subject, and the steps from there."""


class Lists(NamedTuple):
    """Whole lists as communities, with their triples and their evidence by id."""

    communities: Sequence[Community] = ()
    triples: Mapping[str, Triple] = {}
    items: Mapping[str, EvidenceItem] = {}


def whole_lists(
    state: FastTogState, communities: Sequence[Community], triples: Mapping[str, Triple], settings: FastTogSettings
) -> Flow[Lists]:
    """The lists along the relation paths that fit the question best, as far as the chains do not hold them whole.

    One round trip for each hop. The lists take the room for evidence that the chains leave, each half of what is left.

    Args:
        state: the run's.
        communities: those of its chains.
        triples: theirs, by id.
        settings: the run's.

    Raises:
        KnowledgeError: the encoder cannot be loaded or reached.
    """
    if not settings.whole_lists:
        return Lists()
    own = {triple["id"]: triple for community in communities for triple in triples_of(community, triples)}
    labels = {triple["relation"]: triple["relation_label"] for triple in own.values()}
    routes = _routes([subject["id"] for subject in state["subjects"]], own.values(), settings.depth + 1)
    question = unnamed(state["question"], [subject["mention"] for subject in state["subjects"]])
    scores = yield from fits(question, [[labels[name].replace("_", " ") for name, _ in steps] for _, steps in routes])
    least = _NEAR * max(scores, default=0.0)
    best = sorted(zip(scores, routes, strict=True), key=lambda pair: -pair[0])
    most = min(settings.whole_lists, MAX_EVIDENCE - len(communities))
    routes = [route for score, route in best[:most] if score >= least]
    paths = yield from _walk(routes, state["subjects"], labels, settings.seed)
    taken = sum(line_cost(community_line(triples_of(community, triples))) for community in communities)
    room = max(settings.evidence_tokens - taken, settings.evidence_tokens // 2)
    held: dict[str, Triple] = {}
    found: list[tuple[Community, EvidenceItem]] = []
    for route in routes:
        shown = _fitting(_told(paths[route]), room // 2) if route in paths else []
        if all(one["id"] in own or one["id"] in held for one in shown):
            continue
        held.update((one["id"], one) for one in shown)
        room -= line_cost(community_line(shown))
        counts = {(leg.source.id, *part.step): leg.total for part in paths[route].parts for leg in part.legs}
        start, steps = route
        key = path_key(start, *itertools.chain.from_iterable(steps))
        community: Community = {**community_of([], shown, state["round"]), "id": key}
        found.append((community, evidence_of(community, held, counts)))
    return Lists([community for community, _ in found], held, {item["id"]: item for _, item in found})


def _routes(starts: Iterable[str], triples: Iterable[Triple], most: int) -> list[Route]:
    """The relation paths, of at most so many hops, from the starts to what the triples name; none returns to where it was."""
    at: defaultdict[str, list[Triple]] = defaultdict(list)
    for triple in triples:
        at[triple["subject"]].append(triple)
        at[triple["object"]].append(triple)
    routes: dict[Route, None] = {}
    # By node and way there, what some path of that way has passed.
    layer: dict[tuple[str, Route], frozenset[str]] = {(start, (start, ())): frozenset([start]) for start in starts}
    for _ in range(most):
        ahead: dict[tuple[str, Route], frozenset[str]] = {}
        for (node, (start, way)), passed in layer.items():
            for triple in at[node]:
                if (end := other_end(triple, node)) not in passed:
                    step: Step = (triple["relation"], "out" if triple["subject"] == node else "in")
                    if (place := (end, (start, (*way, step)))) not in ahead:
                        ahead[place] = passed | {end}
        routes.update(dict.fromkeys(route for _, route in ahead))
        layer = ahead if len(routes) < _ROUTES else {}
    return list(routes)


def _walk(
    routes: Sequence[Route], subjects: Sequence[Candidate], labels: Mapping[str, str], seed: int
) -> Flow[dict[Route, RelationPath]]:
    """The relation paths, walked from their subjects over the graph; those that reach nothing are left out."""
    starts = [Place.start(one["id"], one["label"]) for one in subjects]
    paths: dict[Route, RelationPath] = {(one.id, ()): RelationPath(start=one, ends=(one,)) for one in starts}
    for hop in range(max((len(steps) for _, steps in routes), default=0)):
        asked = dict.fromkeys((start, steps[: hop + 1]) for start, steps in routes if len(steps) > hop)
        ahead = [
            _further(before, steps[-1], labels) for start, steps in asked if (before := paths.get((start, steps[:-1])))
        ]
        for path in (yield from walked(ahead, limit=_FAN, fan=_FAN, seed=seed)):
            paths[path.start.id, tuple(part.step for part in path.parts)] = path
    return paths


def _further(before: RelationPath, step: Step, labels: Mapping[str, str]) -> RelationPath:
    """A relation path with one relation more, not yet walked."""
    name, direction = step
    relation = Relation(entity=before.start.id, name=name, label=labels[name], direction=direction, count=-1)
    return RelationPath(start=before.start, before=before, relation=relation, sources=before.ends)


def _told(path: RelationPath) -> list[Triple]:
    """The triples of a path, each once: the lists of its last hop, each behind what led there, then what leads nowhere."""
    last = [triple for leg in path.legs for triple in (*leg.source.lead, *leg.tails)]
    others = [triple for part in path.parts[:-1] for leg in part.legs for triple in leg.tails]
    return list({triple["id"]: triple for triple in (*last, *others)}.values())


def _fitting(triples: Sequence[Triple], room: int) -> list[Triple]:
    """As many of the first triples as their line may hold."""
    most = range(1, min(len(triples), room // _LEAST_COST) + 1)
    return list(
        triples[: bisect.bisect_right(most, room, key=lambda count: line_cost(community_line(triples[:count])))]
    )
