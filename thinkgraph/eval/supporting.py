"""The way to a question's supporting passages, where no gold path says it: which passage leads to which, and by what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thinkgraph.state.knowledge import Passage, Step, Triple, other_end


@dataclass(frozen=True)
class Supporting:
    """One supporting passage in its place on the way."""

    passage: Passage
    sources: tuple[str, ...]
    """Ids of the entities that lead to it: named in the question, or shared with a passage before it."""
    takes: tuple[int, ...]
    """Places of the passages that it shares them with; empty where the question itself names one."""


def in_order(passages: Sequence[Passage], named: Sequence[str], degree: Mapping[str, int]) -> list[Supporting]:
    """Passages in the order in which a reader comes by them: first those about something the question names, then those
    that share an entity with one read before. A passage that shares none comes last, with no source.

    Args:
        passages: the supporting passages.
        named: ids of the entities that the question names, the surest first.
        degree: relations by entity; of several shared entities the rarest is the most telling.
    """
    found: list[Supporting] = []
    left = list(passages)
    for passage in passages:
        if sources := tuple(entity for entity in named if entity in passage["entities"]):
            found.append(Supporting(passage, sources, ()))
            left.remove(passage)
    while left:
        best = max(left, key=lambda passage: (len(_shared(passage, found)) > 0, -left.index(passage)))
        shared = sorted(
            _shared(best, found), key=lambda entity: (best["entities"].index(entity) > 0, degree.get(entity, 0), entity)
        )
        takes = [place for place, other in enumerate(found) if set(shared) & set(other.passage["entities"])]
        found.append(Supporting(best, tuple(shared), tuple(takes)))
        left.remove(best)
    return found


def _shared(passage: Passage, found: Sequence[Supporting]) -> set[str]:
    return set(passage["entities"]) & {entity for other in found for entity in other.passage["entities"]}


def lead_on(steps: Sequence[Step], reached: Sequence[Sequence[Triple]], passages: Sequence[Passage]) -> list[bool]:
    """Which of some steps lead to one more supporting passage: to an owner of one that the entity they start from does not
    own, or to an entity that is one step before such an owner where no step leads there at once.
    """
    owned: dict[str, set[str]] = {}
    for passage in passages:
        for entity in passage["entities"]:
            owned.setdefault(entity, set()).add(passage["id"])
    ends = [{other_end(t, step["entity"]) for t in triples} for step, triples in zip(steps, reached, strict=True)]
    near: dict[str, set[str]] = defaultdict(set)
    for step, found in zip(steps, ends, strict=True):
        near[step["entity"]].update(*(owned[end] for end in found if end in owned))
    leading = []
    for step, found in zip(steps, ends, strict=True):
        start = step["entity"]
        known = owned.get(start, set())
        at_once = any(owned[end] - known for end in found if end in owned)
        then = any(near[end] - known - near[start] for end in found if end in near and end != start)
        leading.append(at_once or then)
    return leading
