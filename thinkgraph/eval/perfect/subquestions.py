"""Sub-questions of a gold path, worded so that they are recognised when answers stand in the place of `#k`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from thinkgraph.eval.gold import Gold, GoldHop
from thinkgraph.eval.perfect.prompt_reading import key
from thinkgraph.prompts.kinds import ExtractedKey
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.coggrag import SubQuestion

_REFERENCE = re.compile(r"[#?]\d+")


@dataclass(frozen=True)
class Derived:
    """One sub-question of a question, with the gold that answers it."""

    node: SubQuestion
    gold: Gold
    pattern: re.Pattern[str]
    """Matches the text with anything in the place of each reference."""

    def fits(self, question: str) -> bool:
        """Whether a question is this one, as it is or with answers of its siblings put in for the references."""
        found = self.pattern.fullmatch(one_line(question))
        if not found:
            return False
        known = [key(name) for hop in self.gold.hops for name in hop.sources]
        for part in found.groups():
            # A long list of answers is put in cut: "A, B and 12 more".
            rest = re.sub(r"\band \d+ more$", " ", key(part))
            for name in sorted(known, key=len, reverse=True):
                rest = rest.replace(name, " ")
            if _REFERENCE.fullmatch(part) is None and set(re.findall(r"\w+", rest)) - {"and", "or"}:
                return False
        return True


def derive(gold: Gold) -> list[Derived]:
    """The sub-questions of a question: its `parts`, or itself where it has one hop."""
    if len(gold.hops) != 1:
        return parts(gold)
    node = SubQuestion(question=gold.question, open=False, refers=[])
    return [Derived(node, gold, re.compile(re.escape(one_line(gold.question))))]


def parts(gold: Gold) -> list[Derived]:
    """One sub-question per hop, in the order of hops, with references to earlier ones; none where there is one hop.

    What combines the hops (counting, comparing, intersecting, yes or no) is left to the question itself.
    """
    found: list[Derived] = []
    for place, hop in enumerate(_asked(gold) if len(gold.hops) > 1 else ()):
        refers = [before + 1 for before in hop.takes]
        text = one_line(_wording(gold, hop, " and ".join(f"#{n}" for n in refers) or " and ".join(hop.sources)))
        whole = gold.finals == (place,) and gold.operation == "chain"
        part = replace(
            gold,
            question=text,
            answers=gold.answers if whole or hop.is_text else hop.ends,
            operation="chain",
            hops=(replace(hop, takes=()),),
            finals=(0,),
        )
        pieces = _REFERENCE.split(text) if refers else [text]
        pattern = re.compile("(.+?)".join(map(re.escape, pieces)))
        found.append(Derived(SubQuestion(question=text, open=False, refers=refers), part, pattern))
    return found


def _asked(gold: Gold) -> list[GoldHop]:
    """The hops as sub-questions ask for them: a branch of an intersection for all it reaches, not for what is common."""
    branches = gold.finals if gold.operation == "intersection" else ()
    return [
        replace(hop, facts=hop.every, ends=tuple(dict.fromkeys(map(hop.end_of, hop.every))))
        if place in branches and hop.every
        else hop
        for place, hop in enumerate(gold.hops)
    ]


def _wording(gold: Gold, hop: GoldHop, about: str) -> str:
    if hop.is_text:
        # A section is no question: what it is searched for are the words of the question itself.
        return f"What do texts on {hop.section} of {about} tell of this: {gold.question}"
    if not hop.outgoing:
        return f"What has {about} as its {hop.relation}?"
    return (
        f"{about} is the {hop.relation} what?"
        if hop.relation.endswith(" of")
        else f"What is the {hop.relation} of {about}?"
    )


def look_ups(questions: Sequence[str], golds: Sequence[Gold]) -> list[ExtractedKey]:
    """The keys of listed questions: for every hop the triple that it walks, with `?n` for the answer to question n.

    A hop into text has the entity alone. What a hop of a question that is not broken down reaches on the way is `?stepN`.
    """
    found: dict[tuple[str, ...], list[int]] = {}
    for number, (text, gold) in enumerate(zip(questions, golds, strict=True), start=1):
        given = _REFERENCE.findall(text)
        own = _numbers(gold, questions)
        ends = [f"?{own.get(place, f'step{place + 1}')}" for place in range(len(gold.hops))]
        if len(gold.finals) == 1 and gold.operation == "chain":
            ends[gold.finals[0]] = f"?{own.get(gold.finals[0], number)}"
        for place, hop in enumerate(gold.hops):
            starts = [ends[before] for before in hop.takes] or given or list(hop.sources)
            end = gold.other if gold.operation == "yesno" and place in gold.finals else ends[place]
            for start in starts:
                whole = (start, hop.relation, end) if hop.outgoing else (end, hop.relation, start)
                parts = (start,) if hop.is_text else whole
                if parts != (start,) or not start.startswith("?"):
                    found.setdefault(parts, []).append(own.get(place, number))
    return [ExtractedKey(key=list(parts), of=sorted(set(of))) for parts, of in found.items()]


def _numbers(gold: Gold, questions: Sequence[str]) -> dict[int, int]:
    """By hop, the number of the listed question that asks for it."""
    return {
        place: number
        for place, entry in enumerate(parts(gold))
        for number, text in enumerate(questions, start=1)
        if entry.fits(text)
    }


def linking(keys: Sequence[ExtractedKey]) -> list[ExtractedKey]:
    """The triples that share an entity or an unknown with another: subgraphs over several questions."""
    whole = [key for key in keys if len(key["key"]) > 2]  # noqa: PLR2004 - triples
    ends = Counter(part for key in whole for part in {key["key"][0], key["key"][2]})
    return [key for key in whole if any(ends[key["key"][at]] > 1 for at in (0, 2))]


def recognise(question: str, derived: Iterable[Derived], prompt_text: str) -> Gold | None:
    """The gold of a sub-question.

    Where several fit, those count whose sources the question names (or all, where it names none); of these the one whose
    names the prompt shows most often.
    """
    fitting = [entry for entry in derived if entry.fits(question)]
    named = key(question)
    whole = [e for e in fitting if all(key(source) in named for hop in e.gold.hops for source in hop.sources)]
    text = key(prompt_text)
    names = [
        (sum(key(n) in text for hop in e.gold.hops for n in (*hop.sources, *hop.ends)), e) for e in whole or fitting
    ]
    most = max((count for count, _ in names), default=0)
    return next((entry.gold for count, entry in names if count == most), None)
