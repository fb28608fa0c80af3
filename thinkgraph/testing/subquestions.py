"""Sub-questions of a gold path, worded so that they can be recognised again with answers put in for `#k`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from thinkgraph.eval.gold import Gold, GoldHop
from thinkgraph.prompts.kinds import SubQuestion
from thinkgraph.prompts.lines import one_line
from thinkgraph.testing.shown import key

_REFERENCE = re.compile(r"#\d+")
_WORDS = {"max": "largest", "min": "smallest"}


@dataclass(frozen=True)
class Derived:
    """One sub-question of a question, with the gold that answers it."""

    node: SubQuestion
    gold: Gold
    pattern: re.Pattern[str]
    """Matches the text with anything in the place of each reference."""

    def fits(self, question: str) -> bool:
        """Whether a question is this one, as it is or with answers of its siblings put in for the references."""
        found = self.pattern.fullmatch(question)
        if not found:
            return False
        known = [key(name) for hop in self.gold.hops for name in (*hop.sources, *hop.ends)]
        for part in found.groups():
            rest = key(part)
            for name in sorted(known, key=len, reverse=True):
                rest = rest.replace(name, " ")
            if _REFERENCE.fullmatch(part) is None and set(re.findall(r"\w+", rest)) - {"and", "or"}:
                return False
        return True


def derive(gold: Gold) -> list[Derived]:
    """One sub-question per hop with references to earlier ones, and one that combines branches."""
    if len(gold.hops) == 1:
        node = SubQuestion(question=gold.question, open=False, refers=[])
        return [Derived(node, gold, re.compile(re.escape(one_line(gold.question))))]
    found: list[Derived] = []
    for place, hop in enumerate(gold.hops):
        refers = [before + 1 for before in hop.takes]
        about = " and ".join(f"#{n}" for n in refers) if refers else " and ".join(hop.sources)
        alone = gold.finals == (place,)
        operation = gold.operation if alone else "chain"
        text = _wording(hop, about, operation, gold.other)
        part = replace(
            gold,
            question=text,
            answers=gold.answers if alone or hop.is_text else hop.ends,
            operation=operation,
            hops=(replace(hop, takes=()),),
            finals=(0,),
        )
        found.append(_derived(text, refers, part))
    if len(gold.finals) > 1:
        refers = [place + 1 for place in gold.finals]
        listed = ", ".join(f"#{n}" for n in refers)
        if gold.operation in _WORDS:
            text = f"Which one has the {_WORDS[gold.operation]} {gold.hops[gold.finals[0]].relation}, given {listed}?"
        else:
            text = f"What do {listed} have in common?"
        found.append(_derived(text, refers, gold))
    return found


def _wording(hop: GoldHop, about: str, operation: str, other: str) -> str:
    if hop.is_text:
        return f"What do texts on {hop.section} of {about} tell?"
    if operation == "count":
        return f"How many things does {hop.relation} lead to from {about}?"
    if operation == "yesno":
        return f"Does {hop.relation} lead from {about} to {other}?"
    if operation in _WORDS:
        return f"Which of {about} has the {_WORDS[operation]} {hop.relation}?"
    return f"What is the {hop.relation} of {about}?" if hop.outgoing else f"What has {about} as its {hop.relation}?"


def _derived(text: str, refers: list[int], gold: Gold) -> Derived:
    text = one_line(text)
    pieces = [re.escape(piece) for piece in _REFERENCE.split(text)] if refers else [re.escape(text)]
    return Derived(SubQuestion(question=text, open=False, refers=refers), gold, re.compile("(.+?)".join(pieces)))


def recognise(question: str, derived: Iterable[Derived], prompt_text: str) -> Gold | None:
    """The gold of a sub-question; where several questions have such a one, the one whose names the prompt shows most."""
    fitting = [entry for entry in derived if entry.fits(question)]
    if not fitting:
        return None
    text = key(prompt_text)
    names = [(sum(key(n) in text for hop in e.gold.hops for n in (*hop.sources, *hop.ends)), e) for e in fitting]
    most = max(count for count, _ in names)
    return next(entry.gold for count, entry in names if count == most)
