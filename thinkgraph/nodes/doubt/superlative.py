"""Questions that rank what a relation leads to by a qualifier of it: "the largest export partner" by each partner's share."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from thinkgraph.nodes.common.evidence_lines import triple_ids, triples_of
from thinkgraph.nodes.doubt.asked_kind import measure_of, root_of, words_of
from thinkgraph.nodes.doubt.walk import Walk, names_object
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.evidence import EvidenceItem
from thinkgraph.state.knowledge import Triple, both_ends, ends_of
from thinkgraph.tools.grounding import chooses_smaller, compared_by, value_of
from thinkgraph.tools.linking.lexical import stem

YEARS = (1000, 2100)
"""The first and the last number that may be a year."""
ORDERS = frozenset(map(stem, ["rank", "order", "position", "place", "year", "date"]))
"""Words for numbers that tell a place in an order: the first is no smaller thing than the second."""
_MOST_OF = "most of"
_NO_MEASURES = ORDERS | {"number", "index"}
_RANKS_OTHERS = re.compile(
    r"\b(?:second|third|fourth|fifth|\d+(?:st|nd|rd|th)|next|one of|among|two|three|four|five|six|seven|eight|nine|ten|\d+)\b",
    re.IGNORECASE,
)


class _Place(NamedTuple):
    """Where a statement stands among those of one relation of one thing."""

    value: float
    """The greater, the nearer to the first."""
    label: str
    """What it is the value of."""
    triple: str


def ranks_others(question: str) -> bool:
    """Whether a question asks for another one than the first of an order, or for several."""
    return _RANKS_OTHERS.search(question) is not None


def has_where(best: str, more: float, own: str, less: float) -> str:
    """In words, which of two things has more."""
    return f"{one_line(best)} has {abs(more):.10g} where {one_line(own)} has {abs(less):.10g}"


class Superlative:
    """The statements that a question ranks."""

    def __init__(self, walk: Walk, shown: Sequence[EvidenceItem] = ()) -> None:
        """Args: the question, and the statements that its answers stand on; all the evidence that they were found in."""
        self.walk, self.shown = walk, shown
        self._word = compared_by(walk.question) or (_MOST_OF if f" {_MOST_OF} " in walk.asked else "")

    def ranking(self, triples: Iterable[Triple]) -> list[Triple]:
        """The statements before whose relation the question has a word that compares ("largest export partner")."""
        near = 4 if self._word == _MOST_OF else 2  # "most of its exports", "most of Kenya's exports"
        words = self.walk.asked.partition(f" {self._word} ")[2].split()[:near] if self._word else []
        following = set(map(root_of, map(stem, words)))
        return [
            one
            for one in triples
            if not one["literal"] and not following.isdisjoint(map(root_of, words_of(one["relation_label"])))
        ]

    def outranked(self, answers: Sequence[str]) -> str:
        """Which thing of the evidence comes before those cited, in words; empty where none does. Of statements that rank an answer itself
        those alone count, and of these those among what the question names.
        """
        ranked, ids = self.ranking(self.walk.triples), self.walk.ids(answers)
        own = [one for one in ranked if both_ends(one)[1 - self._holder(one)] in ids]
        asked = [one for one in own if self.walk.named(ends_of(one)[self._holder(one)][1])]
        told = [self._behind.get(one["id"], "") for one in asked or own or ranked]
        return told[0] if told and all(told) else ""

    def without_those_behind(self) -> list[str]:
        """Ids of the shown items but those that only lead to what comes after another one."""
        behind = self._behind.keys()
        firsts = {one["id"] for one in self.ranking(self._all)} - behind
        told = {item["id"]: set(triple_ids(item)) for item in self.shown}
        return [key for key, ids in told.items() if ids.isdisjoint(behind) or ids & firsts]

    @cached_property
    def _all(self) -> Sequence[Triple]:
        return list(triples_of(self.shown, self.walk.texts).values())

    @cached_property
    def _behind(self) -> dict[str, str]:
        """The ranked statements of the evidence that come after another one of the same relation of the same thing, by id, and why."""
        if not self._word or ranks_others(self.walk.question):
            return {}
        sign = -1 if chooses_smaller(self.walk.question) else 1
        lists: defaultdict[tuple[str, str, str], list[_Place]] = defaultdict(list)
        for one in self.ranking(self._all):
            at = self._holder(one)
            for name, value in self._measure(one):
                place = _Place(sign * value, ends_of(one)[1 - at][1], one["id"])
                lists[one["relation"], both_ends(one)[at], name].append(place)
        firsts = {key: max(places) for key, places in lists.items()}
        return {
            place.triple: has_where(firsts[key].label, firsts[key].value, place.label, place.value)
            for key, places in lists.items()
            for place in places
            if place.value < firsts[key].value
        }

    def _holder(self, triple: Triple) -> int:
        """The end, 0 or 1, whose list a statement belongs to: of a relation that holds both ways the one that the question names."""
        if triple["relation"] in self._mutual:
            named = [self.walk.named(label) for _, label, _ in ends_of(triple)]
            if named[0] != named[1]:
                return named.index(True)
        return 0 if names_object(triple["relation_label"]) else 1

    @cached_property
    def _mutual(self) -> set[str]:
        """The relations that the evidence has in both directions between two things."""
        ways = {(one["relation"], *both_ends(one)) for one in self._all}
        return {relation for relation, one, other in ways if one != other and (relation, other, one) in ways}

    def _measure(self, triple: Triple) -> Sequence[tuple[str, float]]:
        """The only qualifier that measures, of several the one that the question says; else none."""
        found = list(_measures(triple))
        said = [one for one in found if self.walk.says(one[0])] or found
        return said if len(said) == 1 else ()


def _measures(triple: Triple) -> Iterator[tuple[str, float]]:
    """The qualifiers that may measure something, by their numbers: neither a year nor a place in an order."""
    for name, value in triple["qualifiers"]:
        number = value_of(value)
        if number is None or not _NO_MEASURES.isdisjoint(words_of(name)):
            continue
        if measure_of(name) or not YEARS[0] <= number <= YEARS[1]:
            yield name, number
