"""The evidence lines of relation paths, within a bound on tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from thinkgraph.nodes.common.evidence_lines import line_cost
from thinkgraph.nodes.common.relation_paths import Leg, Place, RelationPath
from thinkgraph.prompts.lines import path_line
from thinkgraph.state.evidence import EvidenceItem, Path, path_item, path_key
from thinkgraph.state.knowledge import Direction, Triple
from thinkgraph.state.tog2 import relation_key

_BEHIND = 1e-4
"""How far a line scores behind those of the hop before, so that it stands below them."""
_LONGEST = 4
"""A line takes at most this part of the room (1/4): of a longer list the first ends are shown, and the number of the others."""


def way_to(place: Place) -> Path:
    """The path that led to an entity."""
    return Path(start=place.on_path[0], triples=[triple["id"] for triple in place.lead])


def lines_of(paths: Iterable[RelationPath], room: int) -> tuple[list[EvidenceItem], int]:
    """An item for every list of triples along the paths. What several paths tell has one, that of the best of them.

    The lists that one relation path reads share a line, which has a path's first steps once. No path takes more than half of the room
    that is left; what then remains is for those that were cut, the best first.

    Args:
        paths: the best first.
        room: tokens that the lines may take.

    Returns:
        The evidence, and how many lists were left out.
    """
    longest = room // _LONGEST
    every: dict[tuple[str, ...], tuple[EvidenceItem, int]] = {}
    kept: dict[tuple[str, ...], EvidenceItem] = {}
    for path in paths:
        most = room - room // 2
        route = path.start.id
        for depth, part in enumerate(path.parts):
            name, direction = part.step
            route = relation_key(route, direction, name)
            for leg in part.legs:
                key: tuple[str, ...] = (leg.source.id, *part.step)
                if key in every:
                    continue
                every[key] = item, cost = _line(leg, part.step, route, path.score - depth * _BEHIND, longest)
                if cost <= most:
                    kept[key] = item
                    most, room = most - cost, room - cost
    for key, (item, cost) in every.items():
        if key not in kept and cost <= room:
            kept[key] = item
            room -= cost
    return list(kept.values()), len(every) - len(kept)


def _line(leg: Leg, step: tuple[str, Direction], route: str, score: float, longest: int) -> tuple[EvidenceItem, int]:
    """A hop from one entity as evidence, and the tokens that it adds to the line of its relation path."""
    way, tails = way_to(leg.source), leg.tails
    cost = _cost(leg, tails)
    if cost > longest:
        tails = tails[: max(1, len(tails) * longest // cost)]
        cost = _cost(leg, tails)
    key = path_key(way["start"], *way["triples"], leg.source.id, *step)
    return path_item(key, way, [one["id"] for one in tails], total=leg.total, score=score, route=route), cost


def _cost(leg: Leg, tails: Sequence[Triple]) -> int:
    """Of the list alone: how its entity was reached stands in the line of the hop before."""
    return line_cost(path_line(leg.source.id, [], tails, total=leg.total))
