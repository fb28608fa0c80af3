"""Questions that compare things or ask what they share, held against the cited statements."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import NamedTuple

from thinkgraph.nodes.common.evidence_lines import sentences_of
from thinkgraph.nodes.doubt.asked_kind import measure_of, measured_by, words_of
from thinkgraph.nodes.doubt.superlative import ORDERS, YEARS, Superlative, has_where, ranks_others
from thinkgraph.nodes.doubt.walk import Walk
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.evidence import EvidenceItem
from thinkgraph.state.knowledge import both_ends
from thinkgraph.tools.grounding import (
    asks_shared,
    chooses,
    chooses_smaller,
    compared_by,
    fold,
    may_name_answer,
    names_in,
    numbers,
    says_most,
    stands_in,
    value_of,
)


class Weighed(NamedTuple):
    """Two things compared: the answer's and the best of the others, with their values, the greater the better."""

    own: str
    mine: float
    best: str
    others: float


class Comparison:
    """What the cited statements say of things that a question compares or names together ("both")."""

    def __init__(self, walk: Walk, shown: Sequence[EvidenceItem] = ()) -> None:
        """Args: the question, and the statements that its answers stand on; all the evidence that they were found in."""
        self.walk, self.superlative = walk, Superlative(walk, shown)

    def fault(self, answers: Sequence[str]) -> str:
        """What speaks against answers; empty where nothing does."""
        faults = (self.uncompared, self.outdone, self.superlative.outranked, self.apart)
        return next(filter(None, (fault(answers) for fault in faults)), "")

    def uncompared(self, answers: Sequence[str]) -> str:
        """Why answers to a question that compares are not what it compares, or compared by nothing cited; empty where they may be."""
        question = self.walk.question
        names = may_name_answer(question) and all(map(self.walk.named, answers))
        if len(answers) > 1 and (chooses(question) or names):
            won = next((one for one in map(self.weighed, zip(answers)) if one and one.mine > one.others), None)
            which = f", and {has_where(won.own, won.mine, won.best, won.others)}" if won else ""
            return f"only one of the things that it names is the answer{which}"
        if described := [
            one
            for one in answers
            if re.search(rf"\b(?:from|by|with|in|at|on) (?:the )?{re.escape(fold(one))} ", self.walk.asked)
        ]:
            return f"{one_line(described[0])} only tells which things it compares"
        # A text may say itself which one is the largest.
        ranked = self.superlative.ranking(self.walk.triples)
        if self.is_told or ranked or any(map(compared_by, self._sentences)):
            return ""
        if self._values() > 1 or (self.walk.communities and not self._is_measured(answers)):
            return ""
        return "the lines cited do not have two values"

    @property
    def is_told(self) -> bool:
        """Whether the question compares no values, or a relation says itself which thing is the largest."""
        word = compared_by(self.walk.question)
        labels = [fold(one["relation_label"]) for one in self.walk.triples]
        return not (word and self.walk.asks_with(word)) or any(word in label or says_most(label) for label in labels)

    def outdone(self, answers: Sequence[str]) -> str:
        """Which value makes another thing the answer, see `weighed`; empty where none does."""
        weighed = self.weighed(answers)
        if weighed is None or weighed.mine >= weighed.others:
            return ""
        return has_where(weighed.best, weighed.others, weighed.own, weighed.mine)

    def weighed(self, answers: Sequence[str]) -> Weighed | None:
        """The values by which a question chooses between things ("higher, A or B"; "the longest river of A"), where the statements have
        them for the answer and another one; None where they leave it open. Of things named, the answer may be next to one of them alone.
        """
        if chooses(self.walk.question):
            values = self._compared_values()
            compared = set().union(*(self._having(thing, values) for thing in self.walk.things_named))
            about = (thing for answer in answers for thing in self.walk.about(answer).ids)
            own = set().union(*(self._having(thing, values) for thing in about))
        else:
            values = self._ranked_values()
            own = self.walk.ids(answers) & values.keys()
            compared = self._beside(own) & values.keys()
        if not (len(own) == 1 and own < compared):
            return None
        (mine,) = own
        sign = -1 if chooses_smaller(self.walk.question) else 1
        best = max(compared - own, key=lambda key: (sign * values[key], key))
        return Weighed(self.walk.things[mine], sign * values[mine], self.walk.things[best], sign * values[best])

    @cached_property
    def together(self) -> set[str]:
        """Ids of the things that the question names together ("both A and B"), of all that it names where it does not say which; none
        where it does not ask for what they share.
        """
        if not asks_shared(self.walk.question):
            return set()
        things = {key: fold(self.walk.things[key]).removeprefix("the ") for key in self.walk.things_named}
        asked = self.walk.asked.replace(" the ", " ")
        pairs = [
            {one, other}
            for one, other in itertools.permutations(things, 2)
            if f" both {things[one]} and {things[other]} " in asked
        ]
        return set().union(*pairs) or set(things)

    @cached_property
    def shared(self) -> Mapping[tuple[str, bool], set[str]]:
        """What things named together have in common, by relation and direction."""
        together, lists = self.together, self.walk.lists
        if len(together) < 2:  # noqa: PLR2004 - one has nothing in common
            return {}
        ways = {(label, is_object) for _, label, is_object in lists}
        shared = {way: set.intersection(*(lists.get((one, *way), set()) for one in together)) for way in ways}
        return {way: ends for way, ends in shared.items() if ends}

    def apart(self, answers: Sequence[str]) -> str:
        """Which answer only some of the things have that a question names together, where all have another one by the same relation, or to
        which the statements do not lead from one of them; empty where none.
        """
        for answer in answers:
            ids = self.walk.about(fold(answer)).ids
            ways = {
                (label, is_object)
                for (_, label, is_object), ends in self.walk.lists.items()
                if not ids.isdisjoint(ends)
            }
            if (known := ways & self.shared.keys()) and not any(ids & self.shared[way] for way in known):
                return f"only some of the things that it names have {one_line(answer)}"
            if ids and self.walk.is_whole:
                for one in sorted(self.together):
                    if ids.isdisjoint(self.walk.reached({one})):
                        return (
                            f"the lines cited do not lead from {one_line(self.walk.things[one])} to {one_line(answer)}"
                        )
        return ""

    def _compared_values(self, measure: str = "") -> dict[str, float]:
        """The numbers of the one relation by which things are compared, by whose they are; none where several may be meant. Ranks are
        not compared (1 is higher than 2), nor are numbers that may be years, unless the relation says that it measures something. With
        a measure, only relations that say that they measure it count.
        """
        found: defaultdict[str, dict[str, float]] = defaultdict(dict)
        for one in self.walk.triples:
            # Neither below zero, nor of a unit ("1.2 billion").
            bare = one["literal"] and re.fullmatch(r"[\d\s.,']+", one["object_label"])
            if bare and (value := value_of(one["object_label"])) is not None:
                found[one["relation_label"]][one["subject"]] = value
        measured = [
            label
            for label, values in found.items()
            if len(values) > 1
            and measure in {"", measure_of(label)}
            and ORDERS.isdisjoint(words_of(label))
            and (measure_of(label) or not any(YEARS[0] <= one <= YEARS[1] for one in values.values()))
        ]
        said = [label for label in measured if self.walk.says(label)] or measured
        return found[said[0]] if len(said) == 1 else {}

    def _ranked_values(self) -> dict[str, float]:
        """The numbers of what a superlative measures, by whose they are ("the longest" by a length); none where it is not known."""
        measure = measured_by(compared_by(self.walk.question))
        if not measure or self.is_told or ranks_others(self.walk.question):
            return {}
        return self._compared_values(measure)

    def _beside(self, own: AbstractSet[str]) -> set[str]:
        """What all lists share that lead from names in the question to these things: "river" may be a thing too, but is no name."""
        named = {key for key in self.walk.things_named if self.walk.writes_as_name(self.walk.things[key])}
        lists = [ends for (here, _, _), ends in self.walk.lists.items() if here in named and own <= ends]
        return set.intersection(*lists) if own and lists else set()

    def _having(self, thing: str, values: Mapping[str, float]) -> set[str]:
        """The thing itself if it has a value, else the only thing next to it that has one; nothing where several do."""
        if thing in values:
            return {thing}
        near = {end for one in self.walk.triples if thing in both_ends(one) for end in both_ends(one)} & values.keys()
        return near if len(near) == 1 else set()

    def _is_measured(self, answers: Sequence[str]) -> bool:
        """Whether a value that the question names is said of an answer. A community that only leads on from what was compared is cited
        without the others.
        """
        own = {
            one["relation_label"]
            for one in self.walk.triples
            if one["literal"] and fold(one["subject_label"]) in map(fold, answers)
        }
        return any(map(self.walk.says, own))

    def _values(self) -> int:
        """How many numbers the lines have, in literals, qualifiers that the question names, and sentences. Where it chooses between things,
        those of a sentence that names no two of them are one thing's, and count as one.
        """
        told = [one["object_label"] for one in self.walk.triples if one["literal"]]
        told += [value for one in self.walk.triples for name, value in one["qualifiers"] if self.walk.says(name)]
        names = set(names_in(self.walk.question)) if chooses(self.walk.question) else ()
        found = 0
        for text in [*told, *self._sentences]:
            shown = fold(text)
            of_one = names and sum(stands_in(name, shown) for name in names) < 2  # noqa: PLR2004 - the things chosen between
            found += min(len(numbers(text)), 1) if of_one else len(numbers(text))
        return found

    @cached_property
    def _sentences(self) -> list[str]:
        chunks = [item for item in self.walk.items if item["kind"] == "chunk"]
        return [said for item in chunks for said in sentences_of(item, self.walk.texts)]
