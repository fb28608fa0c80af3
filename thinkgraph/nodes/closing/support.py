"""How does an answer stand in what it cites, and where? Structure comes first: shared words alone make no answer grounded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from thinkgraph.nodes.common.evidence_lines import SENTENCE_END
from thinkgraph.nodes.doubt.asked_kind import SQUARE, UNIT, asked_for, measure_of, root_of, words_of
from thinkgraph.nodes.doubt.counted import lengths_said, roots_asked
from thinkgraph.prompts.lines import Item, ShownHop, parse_item
from thinkgraph.state.answer import CitedPassage, Evidence, Support, SupportKind
from thinkgraph.tools.grounding import DERIVED, compares, counts, fold, holds, is_day_in, numbers, rounds, stands_in
from thinkgraph.tools.linking.lexical import is_plural
from thinkgraph.tools.values import days_in, is_day

_NOT_NUMERIC = re.compile(r"[^\d\s.,'_%-]")
_REFERS = re.compile(r"(?:it|its|he|she|they|their|this|these|that|those)\b", re.IGNORECASE)
_VALUE = re.compile(r"\W*\d")
_YEAR = re.compile(r"\d{4}")


def support_of(question: str, answers: Sequence[str], evidence: Evidence) -> list[Support]:
    """How and where each answer stands in the evidence: the best of all places, of equals the first.

    Args:
        question: the question.
        answers: its answers.
        evidence: what they stand on.

    Returns:
        One for each answer, in their order.
    """
    held = _Held(question, evidence)
    return [held.support(answer) for answer in answers]


class _Held:
    """The evidence, read once for all answers, beside the question's words."""

    def __init__(self, text: str, evidence: Evidence) -> None:
        self._question = text
        self._folded = fold(text)
        self._compares = compares(text)
        self._asked = asked_for(text)
        self._foreign = self._asked is None and not text.isascii()
        """Whether its words are of a language whose forms are not known here."""
        self._asks_how_many = self._asked is None or self._asked.kind == "number"
        """Or the words do not tell."""
        self._square = bool(SQUARE.search(fold(text)))
        self._roots = set(roots_asked(text))
        self._literals = {fold(one["object_label"]) for one in evidence["triples"] if one["literal"]}
        self._passages = evidence["passages"]
        self._items = [parse_item(0, path["text"]) for path in evidence["paths"]]
        self._ends = [[_End(label, fold(label), is_day(label)) for label in self._led_to(item)] for item in self._items]

    def support(self, answer: str) -> Support:
        """The answer's."""
        wanted = fold(answer)
        for number, (item, ends) in enumerate(zip(self._items, self._ends, strict=True)):
            line = item.text
            if found := next((end.label for end in ends if _is(answer, wanted, end, line)), ""):
                start = max(line.rfind(f"({found})") + 1, 0) or max(line.rfind(found), 0)
                kind: SupportKind = "value" if fold(found) in self._literals else "path"
                return Support(
                    answer=answer, kind=kind, within="paths", line=number, start=start, end=start + len(found)
                )
        for number, passage in enumerate(self._passages):
            if span := self._in_passage(answer, passage):
                return Support(
                    answer=answer, kind="sentence", within="passages", line=number, start=span[0], end=span[1]
                )
        return self._as_a_whole(answer)

    def _as_a_whole(self, answer: str) -> Support:
        lines = [*(item.text for item in self._items), *(passage["text"] for passage in self._passages)]
        kind: SupportKind = "words"
        if fold(answer) in DERIVED:
            kind = "conclusion"
        elif (
            self._asks_how_many
            and re.fullmatch(r"\d{1,4}", fold(answer))
            # How many things are listed, by relations that the question says where there are any.
            and int(fold(answer)) in (lengths_said(self._question, self._items) or counts(lines))
        ):
            kind = "count"
        elif not holds(answer, lines):
            kind = "none"
        return Support(answer=answer, kind=kind, within="", line=-1, start=0, end=0)

    def _named(self, label: str) -> bool:
        return stands_in(fold(label), self._folded)

    def _says(self, text: str) -> bool:
        """Whether the question has a word of a text, in some form."""
        return not self._roots.isdisjoint(map(root_of, words_of(text)))

    def _says_so(self, number: str, sentence: str, before: str) -> bool:
        """Whether a number in a sentence may be the one asked for: the question has a word of the sentence, or of what it refers back
        to for a year. A number of two digits is no date.
        """
        if self._foreign:
            return True
        dated = self._asked is not None and self._asked.kind == "time"
        if self._square and not SQUARE.search(fold(sentence)):
            return False
        if dated and not _YEAR.search(number):
            return False
        return self._says(sentence) or (dated and bool(_REFERS.match(sentence)) and self._says(before))

    def _led_to(self, item: Item) -> Iterator[str]:
        """What a line leads to: the end of a path, everything in a community, and what the question asks by the name of a qualifier,
        or by what it measures ("how long" and `length_km`).

        What stands before the end counts in a comparison, and where the question names the end.
        """
        *lead, last = item.hops or ((),)
        shown = [hop for step in item.hops for hop in step]
        yield from (hop.target for hop in last if self._may_be(hop))
        if not lead:
            yield from (hop.source for hop in last if not self._named(hop.source))
        if item.community or self._compares or any(self._named(hop.target) for hop in last):
            yield from (end for hop in shown for end in (hop.source, hop.target))
        measure = self._asked.measure if self._asked else ""
        yield from (
            value
            for hop in shown
            for name, value in hop.qualifiers
            if self._says(name) or (measure and measure_of(name) == measure)
        )

    def _may_be(self, hop: ShownHop) -> bool:
        """Whether a hop's relation may lead to what is asked for: to a number where the question names it, or what it measures, or a count
        of what it calls by a plural ("employees").
        """
        measure = self._asked.measure if self._asked else ""
        if not measure or self._says(hop.relation):
            return True
        told, noun = measure_of(hop.relation), hop.relation.replace("_", " ").rpartition(" ")[2]
        counts_things = not told and is_plural(noun) and not UNIT.fullmatch(f" {noun}")
        return told == measure or (measure == "count" and counts_things)

    def _in_passage(self, answer: str, passage: CitedPassage) -> tuple[int, int] | None:
        """Where the answer, unless the question names it, stands in a sentence; a number, in one that says what is asked."""
        at = 0
        text = passage["text"]
        numeric = not _NOT_NUMERIC.search(answer)
        if self._named(answer) and not self._compares:
            return None
        for sentence in SENTENCE_END.split(text):
            at = text.index(sentence, at)
            held = numbers(answer) <= numbers(sentence) if numeric else stands_in(fold(answer), fold(sentence))
            rounded = rounds(answer, sentence)
            held = held or rounded or is_day_in(answer, sentence)
            if sentence and held and (not (numeric or rounded) or self._says_so(answer, sentence, text[:at])):
                start = sentence.casefold().find(answer.casefold())
                whole = start < 0 or len(sentence.casefold()) != len(sentence)
                return (at, at + len(sentence)) if whole else (at + start, at + start + len(answer))
            at += len(sentence)
        return None


class _End(NamedTuple):
    """What a line leads to, read once for all answers."""

    label: str
    folded: str
    is_day: bool


def _is(answer: str, wanted: str, end: _End, line: str) -> bool:
    """Whether an answer, `wanted` when folded, is the thing at this end: the same but for signs, its number, its day in another form or
    the year of that, or named among words of its line.
    """
    label, known = end.label, end.folded
    if not wanted or not known or wanted == known:
        return bool(wanted) and wanted == known
    if end.is_day:
        return wanted in {day[:4] for day in days_in(label)} or is_day_in(answer, label)
    if _VALUE.match(label):
        return len(numbers(label)) == 1 and (numbers(answer) == numbers(label) or rounds(answer, label))
    return f" {known} " in f" {wanted} " and holds(answer, [line])
