"""A chat model that chooses what lies on the gold path, and nothing else: the ceiling of a method, and its test double."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import PrivateAttr

from thinkgraph.eval.gold import Gold
from thinkgraph.models.played import Call, PlayedChatModel, judgement
from thinkgraph.prompts.lines import Item, one_line, triple_sentence
from thinkgraph.state.knowledge import Triple
from thinkgraph.testing import shown as reading
from thinkgraph.testing.shown import Finding, Shown, fact_key, key, passage_fits
from thinkgraph.testing.subquestions import Derived, derive, recognise

GoldSource = Mapping[str, Gold] | Callable[[str], Gold | None]
"""Golds by question text, or a function that finds one."""

_YES = ("yes", "true", "supports")
_NO = ("no", "false", "refutes")
_GOLD_SCORE = 10


class PerfectChooser(PlayedChatModel):
    """Plays every kind from the gold path of the question that stands under `## Question`.

    It knows which options are gold, but answers only from what the prompt shows: the ends of shown gold triples, the
    count of a list shown whole, the largest shown value, the answer's span in a shown gold passage. Where something is
    missing it says so, with what is known so far. A question without gold, or one that cannot be answered, is never
    answered.

    With `wrong` > 0 every choice is replaced by a wrong one with that probability; the draw depends on the seed, the role
    and the prompt alone, so a run is reproducible whatever the order of its calls.
    """

    model: str = "perfect"
    wrong: float = 0.0
    seed: int = 0
    _find: Callable[[str], Gold | None] = PrivateAttr()
    _known: tuple[Gold, ...] = PrivateAttr(default=())
    _derived: dict[str, list[Derived]] = PrivateAttr(default_factory=dict)

    def __init__(self, golds: GoldSource, *, wrong: float = 0.0, seed: int = 0, **kwargs: Any) -> None:
        super().__init__(**{"wrong": wrong, "seed": seed, **kwargs})
        if isinstance(golds, Mapping):
            by_text = {one_line(text): gold for text, gold in golds.items()}
            self._find = by_text.get
            self._known = tuple(by_text.values())
            # Sub-questions are known from the start: a run that is resumed in a new process must find them too.
            self._derived = {text: derive(gold) for text, gold in by_text.items() if gold.is_answerable}
        else:
            self._find = golds

    def gold_for(self, call: Call) -> Gold | None:
        """The gold of the question asked, or of the sub-question it is; None where there is none."""
        question = one_line(call.prompt.text("question"))
        gold = self._find(question)
        if gold is not None:
            return gold
        every = [entry for entries in list(self._derived.values()) for entry in entries]
        return recognise(question, every, call.text)

    def play(self, call: Call) -> dict[str, Any] | str:  # noqa: PLR0911 - one return for each kind
        """The reply of one that knows the gold path, or a wrong one where the draw says so."""
        gold = self.gold_for(call)
        rng = self._rng(call)
        options = call.prompt.lines("options")
        match call.prompt.kind:
            case "pick":
                chosen = _picked(gold, call, options) if gold else []
                return {"numbers": self._spoilt(chosen, [item.number for item in options], rng)}
            case "score":
                chosen = [item.number for item in options if gold and is_gold(gold, item)]
                kept = self._spoilt(chosen, [item.number for item in options], rng)
                return {"scores": [[number, _GOLD_SCORE] for number in kept]}
            case "pairs":
                clues = _clue_lines(call)
                pairs = gold_pairs(gold, clues, options) if gold else []
                every = [(clue.number, item.number) for clue in clues for item in options]
                return {"pairs": [list(pair) for pair in self._spoilt(pairs, every, rng)]}
            case "judge":
                return self._judged(call, gold, rng)
            case "keywords":
                words = keywords(gold) if gold else []
                return {"keywords": words[1:] if words and rng.random() < self.wrong else words}
            case "subquestions":
                return {"questions": self._subquestions(call, gold, rng)}
            case "triples":
                return {"triples": self._triples(call, rng), "types": []}
            case "verdict":
                right = _follows(gold, call) if gold else False
                return {"right": right != (rng.random() < self.wrong)}
            case _:
                return "nothing" if rng.random() < self.wrong else _query(gold, _finding(gold, call))

    def _rng(self, call: Call) -> random.Random:
        digest = hashlib.sha256(f"{self.seed}\0{call.prompt.role}\0{call.text}".encode()).digest()
        return random.Random(digest)  # noqa: S311 - reproducible, not secret

    def _spoilt(self, chosen: Sequence[Any], every: Sequence[Any], rng: random.Random) -> list[Any]:
        """The choices, each replaced by one that is not gold with probability `wrong`."""
        bad = [choice for choice in every if choice not in chosen]
        kept: list[Any] = []
        for choice in chosen:
            if rng.random() >= self.wrong:
                kept.append(choice)
            elif bad:
                kept.append(bad.pop(rng.randrange(len(bad))))
        return kept

    def _judged(self, call: Call, gold: Gold | None, rng: random.Random) -> dict[str, Any]:
        finding = _finding(gold, call)
        if rng.random() < self.wrong:
            return _misjudged(call, finding, rng)
        answers = _labelled(finding.answers, call.labels)
        clues = ". ".join(" ".join(fact) for fact in finding.known)
        return judgement(
            call, answers, sorted(finding.lines), clues=f"{clues}." if clues else "", query=_query(gold, finding)
        )

    def _triples(self, call: Call, rng: random.Random) -> list[list[str]]:
        """Gold facts of known questions whose both ends the shown passages name."""
        shown = key(" ".join(item.text for items in call.prompt.items.values() for item in items if item.passage))
        facts = dict.fromkeys(fact for gold in self._known for fact in gold.facts)
        named = [fact for fact in facts if key(fact[0]) in shown and key(fact[2]) in shown]
        return [list(fact) for fact in named if rng.random() >= self.wrong]

    def _subquestions(self, call: Call, gold: Gold | None, rng: random.Random) -> list[dict[str, Any]]:
        question = one_line(call.prompt.text("question"))
        if gold is None or not gold.is_answerable or rng.random() < self.wrong:
            return [{"question": question, "open": False, "refers": []}]
        entries = derive(gold)
        if len(entries) > 1:
            self._derived.setdefault(question, entries)
        return [dict(entry.node) for entry in entries]


def _finding(gold: Gold | None, call: Call) -> Finding:
    return reading.judge(gold, Shown.of(call.prompt)) if gold else Finding()


def _picked(gold: Gold, call: Call, options: Sequence[Item]) -> list[int]:
    """The gold starts where the options hold any and nothing has been found yet; else everything gold."""
    if not gold.is_answerable:
        return []
    if not Shown.of(call.prompt).facts:
        named = {key(gold.other), *(key(gold.entities[start]) for start in gold.starts)} - {""}
        starts = {key(gold.lines[start]) for start in gold.starts if start in gold.lines}
        fitting = [item for item in options if item.label and key(item.label) in named]
        # Among namesakes, the one whose whole line (label and description) is the gold entity's.
        exact = {key(item.label) for item in fitting if key(item.text) in starts}
        chosen = [item.number for item in fitting if key(item.text) in starts or key(item.label) not in exact]
        if chosen:
            return chosen
    return [item.number for item in options if is_gold(gold, item)]


def is_gold(gold: Gold, item: Item) -> bool:
    """Whether an option lies on the gold path: a step of it, one of its triples, passages or entities."""
    if not gold.is_answerable:
        return False
    if item.step:
        return _is_gold_step(gold, *item.step)
    if item.passage:
        return any(passage_fits(item.passage, text, gold.answers) for hop in gold.hops for text in hop.passages)
    if item.hops:
        facts = {fact_key(fact) for fact in gold.facts}
        return any(fact_key((triple.subject, triple.relation, triple.object)) in facts for triple in item.triples)
    named = [line for start, line in gold.lines.items() if key(gold.entities[start]) == key(item.label)]
    if named:
        return not item.about or key(item.text) in map(key, named)
    sentences = (triple_sentence(_as_triple(fact)) for fact in gold.facts)
    return any(key(sentence) in key(item.text) for sentence in sentences)


def _is_gold_step(gold: Gold, entity: str, relation: str, outgoing: bool) -> bool:  # noqa: FBT001 - as items hold it
    if gold.steps:
        return (key(entity), key(relation), outgoing) in {(key(e), key(r), out) for e, r, out in gold.steps}
    return any(
        not hop.is_text
        and hop.outgoing == outgoing
        and key(entity) in map(key, hop.sources)
        and key(relation) in _relation_keys(gold, place)
        for place, hop in enumerate(gold.hops)
    )


def _relation_keys(gold: Gold, place: int) -> set[str]:
    hop = gold.hops[place]
    return {key(hop.relation), *(key(fact[1]) for fact in hop.facts)}


def _as_triple(fact: tuple[str, str, str]) -> Triple:
    return Triple(
        id="",
        subject="",
        relation="",
        object="",
        subject_label=fact[0],
        relation_label=fact[1],
        object_label=fact[2],
        literal=False,
        qualifiers=[],
    )


def keywords(gold: Gold) -> list[str]:
    """The clues of a question: each named entity, and the relation of each hop as often as it occurs."""
    if not gold.is_answerable:
        return []
    words = [gold.entities[start] for start in gold.starts]
    words += [hop.relation for hop in gold.hops]
    return [*words, gold.other] if gold.other else words


def _clue_lines(call: Call) -> tuple[Item, ...]:
    names = [name for name in call.prompt.items if "clue" in name and call.prompt.lines(name)]
    return call.prompt.lines(names[0]) if names else ()


def gold_pairs(gold: Gold, clues: Sequence[Item], options: Sequence[Item]) -> list[tuple[int, int]]:
    """Pairs of a clue and an option that the gold path supports: a relation's or an entity's name, or what a step reaches.

    Of several clues with the same words the first one listed is mapped.
    """
    first: dict[str, int] = {}
    for clue in clues:
        first.setdefault(key(clue.text), clue.number)
    pairs: list[tuple[int, int]] = []
    for item in options:
        if not is_gold(gold, item):
            continue
        words = [key(item.label), *_led_by(gold, item)] if not item.step else [key(item.step[1]), *_led_by(gold, item)]
        number = next((first[word] for word in words if word in first), None)
        if number is not None:
            pairs.append((number, item.number))
    return pairs


def _led_by(gold: Gold, item: Item) -> Iterator[str]:
    """Words of the relations that the gold path walks at, or to, an option."""
    for hop in gold.hops:
        if (item.step and key(item.step[0]) in map(key, hop.sources) and item.step[2] == hop.outgoing) or (
            not item.step and key(item.label) in map(key, hop.ends)
        ):
            yield key(hop.relation)


def _labelled(answers: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Answers in the words of the only labels allowed."""
    if not labels:
        return list(answers)
    known = {label.casefold(): label for label in labels}
    found: list[str] = []
    for answer in answers:
        words = next((group for group in (_YES, _NO) if answer.casefold() in group), (answer.casefold(),))
        found += [known[word] for word in words if word in known][:1]
    return found


def _misjudged(call: Call, finding: Finding, rng: random.Random) -> dict[str, Any]:
    """A wrong judgement: another shown thing as the answer; where there is none, an answer withheld."""
    if call.labels:
        pool = [label for label in call.labels if label not in _labelled(finding.answers, call.labels)]
        return judgement(call, [rng.choice(pool)] if pool else [])
    items = call.prompt.lines("evidence")
    pairs = [(name, item.number) for item in items for t in item.triples for name in (t.subject, t.object)]
    pairs = [(name, number) for name, number in pairs if key(name) not in map(key, finding.answers)]
    if not pairs:
        return judgement(call, clues="Nothing is known.", query="something else")
    name, number = rng.choice(pairs)
    return judgement(call, [name], [number])


def _query(gold: Gold | None, finding: Finding) -> str:
    """The words of the first hop that is not shown, and the entity it starts from."""
    if gold is None or finding.missing is None:
        return gold.question if gold else "more evidence"
    hop = gold.hops[finding.missing]
    return f"{', '.join(hop.sources[:3])} {hop.relation}".strip()


def _follows(gold: Gold, call: Call) -> bool:
    """Whether the answer under `## Answer` is the one that follows from the evidence, no more and no less."""
    finding = _finding(gold, call)
    name = next((name for name in call.prompt.sections if name.endswith("answer")), "")
    rest = key(call.prompt.text(name))
    wanted = _labelled(finding.answers, call.labels)
    if not wanted or any(key(answer) not in rest for answer in wanted):
        return False
    for answer in sorted(wanted, key=len, reverse=True):
        rest = rest.replace(key(answer), " ")
    return not set(re.findall(r"\w+", rest)) - {"and", "the"}
