"""The order of a question's supporting passages where no gold path gives it: which passage leads to which, by which entities."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from thinkgraph.state.knowledge import Neighbours, Passage, Step, other_end

Supporting = tuple[Passage, Sequence[str], tuple[int, ...]]
"""A passage; the ids of the entities that lead to it, which the question names or an earlier passage shares; and the places of the
earlier passages that share them (none where the question names one)."""


def in_order(passages: Sequence[Passage], named: Sequence[str], degree: Mapping[str, int]) -> list[Supporting]:
    """Passages in reading order: first those about an entity that the question names, then those that share an entity with
    an earlier one. A passage that shares none comes last, with no source.

    Args:
        passages: the supporting passages.
        named: ids of the entities that the question names, the surest first.
        degree: relations by entity; of several shared entities the rarest is the most telling.
    """
    found: list[Supporting] = []
    left: list[Passage] = []
    for passage in passages:
        if sources := [entity for entity in named if entity in passage["entities"]]:
            found.append((passage, sources, ()))
        else:
            left.append(passage)
    while left:
        known = {entity for passage, *_ in found for entity in passage["entities"]}
        best = next((passage for passage in left if known & set(passage["entities"])), left[0])
        shared = sorted(
            known & set(best["entities"]),
            key=lambda entity: (best["entities"].index(entity) > 0, degree.get(entity, 0), entity),
        )
        takes = tuple(place for place, (other, *_) in enumerate(found) if set(shared) & set(other["entities"]))
        found.append((best, shared, takes))
        left.remove(best)
    return found


def lead_on(steps: Sequence[Step], reached: Sequence[Neighbours], passages: Sequence[Passage]) -> list[bool]:
    """Whether each step leads to one more supporting passage. It does if it reaches an entity with a passage that its start does
    not have, or an entity one step before such a one where no step leads there directly.
    """
    owned: dict[str, set[str]] = defaultdict(set)
    for passage in passages:
        for entity in passage["entities"]:
            owned[entity].add(passage["id"])
    ends = [{other_end(t, step["entity"]) for t in r["triples"]} for step, r in zip(steps, reached, strict=True)]
    near: dict[str, set[str]] = defaultdict(set)
    for step, found in zip(steps, ends, strict=True):
        near[step["entity"]].update(*(owned.get(end, ()) for end in found))
    leading = []
    for step, found in zip(steps, ends, strict=True):
        start = step["entity"]
        known = owned.get(start, set())
        at_once = any(owned.get(end, set()) - known for end in found)
        then = any(near.get(end, set()) - known - near[start] for end in found if end != start)
        leading.append(at_once or then)
    return leading
