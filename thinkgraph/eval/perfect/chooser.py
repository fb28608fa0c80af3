"""A chat model that chooses what lies on the gold path, and nothing else: the ceiling of a method, and its test double."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import PrivateAttr

from thinkgraph.eval.gold import Gold, GoldHop
from thinkgraph.eval.perfect import prompt_reading as reading
from thinkgraph.eval.perfect.prompt_reading import Finding, PromptEvidence, fact_key, key, passage_fits
from thinkgraph.eval.perfect.subquestions import Derived, derive, linking, look_ups, recognise
from thinkgraph.models.offline.rule_based import Call, RuleBasedChatModel, judgement
from thinkgraph.prompts.kinds import ExtractedKey
from thinkgraph.prompts.lines import Item, one_line, triple_sentence
from thinkgraph.state.knowledge import Triple

GoldSource = Mapping[str, Gold] | Callable[[str], Gold | None]
"""Golds by question text, or a function that finds one."""

_YES = ("yes", "true", "supports")
_NO = ("no", "false", "refutes")
_GOLD_SCORE = 10
_SHARED = re.compile(r" and \d+ more$")
"""How a relation option names its entities where there are several."""
_MOST_SEARCHES = 20
"""Searches asked for in one turn."""


class PerfectChooser(RuleBasedChatModel):
    """Replies to every kind from the gold path of the question that stands under `## Question`.

    It knows which options are gold, but answers only from what the prompt shows: the ends of shown gold triples, the
    count of a list shown whole, the largest shown value, the answer's span in a shown gold passage. Where something is
    missing it says so, with what is known so far, and gives likely answers only where it is asked for them. A question without gold, or one that cannot be answered, is never
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
        return self._gold_of(one_line(call.prompt.text("question")), call)

    def _gold_of(self, question: str, call: Call) -> Gold | None:
        gold = self._find(question)
        if gold is not None:
            return gold
        every = [entry for entries in list(self._derived.values()) for entry in entries]
        return recognise(question, every, call.text)

    def reply_to(self, call: Call) -> dict[str, Any] | str:  # noqa: C901, PLR0911, PLR0912 - one return for each kind
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
            case "names":
                named = names(gold) if gold else []
                return {"names": named[1:] if named and rng.random() < self.wrong else named}
            case "texts":
                return {"texts": [in_sentences(item) for item in options]}
            case "keys":
                return {"keys": self._keys(call, rng)}
            case "subquestions":
                return {"questions": self._subquestions(call, gold, rng)}
            case "triples":
                return {"triples": self._triples(call, rng), "types": []}
            case "verdict":
                right = _follows(gold, call) if gold else False
                return {"right": right != (rng.random() < self.wrong)}
            case _ if call.prompt.text("conversation"):
                # It is told what is asked by the question's own words: those it can find again.
                return one_line(call.prompt.text("question"))
            case _:
                return "nothing" if rng.random() < self.wrong else _query(gold, _finding(gold, call))

    def search_turn(self, call: Call, searched: Sequence[Mapping[str, Any]]) -> dict[str, Any] | str:
        """Search for the next gold statements whose source the question names or a line shows; answer when none is left."""
        gold, rng = self.gold_for(call), self._rng(call)
        if gold is None or _finding(gold, call).answers:
            return self._judged(call, gold, rng)
        made = {(key(str(one.get("entity"))), tuple(map(key, one.get("relations") or ()))) for one in searched}
        wanted = [one for one in _searches(gold, call) if (key(one["entity"]), (key(one["relations"][0]),)) not in made]
        if not wanted:
            return self._judged(call, gold, rng)
        astray = {"entity": wanted[0]["entity"], "direction": "both", "relations": []}
        return {"search": self._spoilt(wanted[:_MOST_SEARCHES], [astray], rng) or [astray]}

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
            call,
            answers,
            sorted(finding.lines),
            clues=f"{clues}." if clues else "",
            query=_query(gold, finding),
            likely=_labelled(finding.likely, call.labels),
        )

    def _keys(self, call: Call, rng: random.Random) -> list[ExtractedKey]:
        """The keys of the listed questions; where only triples are asked for, those that link several of them."""
        listed = [one_line(item.text) for item in call.prompt.lines("questions")]
        whole = self.gold_for(call)
        # "The capital of ?2" is a part of many questions: here of the one that stands above the list.
        parts = derive(whole) if whole and whole.is_answerable and len(whole.hops) > 1 else []
        golds = [recognise(text, parts, call.text) or self._gold_of(text, call) for text in listed]
        found = look_ups(listed, golds)
        return [one for one in (linking(found) if call.triples else found) if rng.random() >= self.wrong]

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
    if gold is None:
        return Finding()
    shown = PromptEvidence.of(call.prompt)
    parts = derive(gold) if shown.answered and len(gold.hops) > 1 else []
    told = {
        place: (line, answers)
        for place, part in enumerate(parts)
        for line, question, answers in shown.answered
        if part.fits(question)
    }
    return reading.judge(gold, shown, told)


def _picked(gold: Gold, call: Call, options: Sequence[Item]) -> list[int]:
    """The gold starts where the options hold any and nothing has been found yet; else everything gold."""
    if not gold.is_answerable:
        return []
    if not PromptEvidence.of(call.prompt).facts:
        named = {key(gold.other), *(key(gold.entities[start]) for start in gold.starts)} - {""}
        starts = {key(gold.lines[start]) for start in gold.starts if start in gold.lines}
        fitting = [item for item in options if item.label and key(item.label) in named]
        # Among namesakes, the one whose whole line (label and description) is the gold entity's.
        exact = {key(item.label) for item in fitting if key(item.text) in starts}
        chosen = [item.number for item in fitting if key(item.text) in starts or key(item.label) not in exact]
        if chosen:
            return chosen
    fitting = [item for item in options if is_gold(gold, item)]
    if all(item.hops for item in fitting):
        return _best_first(gold, PromptEvidence.of(call.prompt), fitting)
    return [item.number for item in fitting]


def _best_first(gold: Gold, shown: PromptEvidence, options: Sequence[Item]) -> list[int]:
    """Options that show gold facts which the evidence does not: those nearest the end first, then those with most of them.

    Where none shows anything new, there is nothing to choose.
    """
    places = {fact_key(fact): place for place, hop in enumerate(gold.hops) for fact in hop.facts}
    known = {fact_key(fact) for hop in gold.hops for fact in hop.facts if shown.line_of(fact) is not None}
    ranked: list[tuple[int, int, int]] = []
    for item in options:
        new = {fact_key((t.subject, t.relation, t.object)) for t in item.triples} & places.keys() - known
        if new:
            ranked.append((-max(places[fact] for fact in new), -len(new), item.number))
    return [number for *_, number in sorted(ranked)]


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


def names(gold: Gold) -> list[str]:
    """The entities that a question names."""
    if not gold.is_answerable:
        return []
    named = [gold.entities[start] for start in gold.starts]
    return list(dict.fromkeys([*named, gold.other] if gold.other else named))


def in_sentences(item: Item) -> str:
    """An option's triples as plain sentences; an option without any as it stands."""
    return " ".join(f"{hop.subject} {hop.relation} {hop.object}." for hop in item.triples) or item.text


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
        number = next((first[word] for word in _meant(gold, item) if word in first), None)
        if number is not None:
            pairs.append((number, item.number))
    return pairs


def _meant(gold: Gold, item: Item) -> Iterator[str]:
    """What a question may call an option that lies on its gold path: its name, and the relation that walks at or to it.

    The option is a relation, at one entity or "at this one and N more", or a thing, described or with the statements that
    led to it.
    """
    if item.step:
        entity, relation, outgoing = item.step
        for place, hop in enumerate(gold.hops):
            here = key(entity) in map(key, hop.sources) or _SHARED.search(entity)
            if here and not hop.is_text and hop.outgoing == outgoing and key(relation) in _relation_keys(gold, place):
                yield from (key(relation), key(hop.relation))
        return
    label, told = key(item.label), key(item.about)
    ends = [place for place, hop in enumerate(gold.hops) if label in map(key, hop.ends)]
    if is_gold(gold, item):
        led = ends
    else:
        led = [
            place
            for place in ends
            if any(_tells(told, gold.hops[place], r, label) for r in _relation_keys(gold, place))
        ]
    yield from [label] if led or is_gold(gold, item) or label == key(gold.other) else []
    yield from (key(gold.hops[place].relation) for place in led)


def _tells(told: str, hop: GoldHop, relation: str, label: str) -> bool:
    """Whether statements say that a hop's relation leads to a thing."""
    return f" {relation} {label}" in told if hop.outgoing else f"{label} {relation} " in told


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


def _searches(gold: Gold, call: Call) -> Iterator[dict[str, Any]]:
    """Gold statements that can be looked for now: from named starts, or from what a line shows."""
    if not gold.is_answerable:
        return
    shown = {name for fact in PromptEvidence.of(call.prompt).facts for name in (fact[0], fact[2])}
    for hop in gold.hops:
        for source in hop.sources if not hop.is_text else ():
            if not hop.takes or key(source) in shown:
                relation = next((fact[1] for fact in hop.facts if hop.source_of(fact) == source), hop.relation)
                yield {"entity": source, "direction": "out" if hop.outgoing else "in", "relations": [relation]}


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
    if rest.startswith("i don't know"):
        return not wanted
    for same in (_YES, _NO):
        if len(wanted) == 1 and wanted[0].casefold() in same:
            return rest in same
    if not wanted or any(key(answer) not in rest for answer in wanted):
        return False
    for answer in sorted(wanted, key=len, reverse=True):
        rest = rest.replace(key(answer), " ")
    return not set(re.findall(r"\w+", rest)) - {"and", "the"}
