"""A chat model that chooses only what lies on the gold path: it shows the most that a method can reach, and serves its tests."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import PrivateAttr

from thinkgraph.eval.gold import Gold, GoldHop
from thinkgraph.eval.perfect import prompt_reading as reading
from thinkgraph.eval.perfect.errors import Erring, Near, Slip, Way, by_words, slips_at
from thinkgraph.eval.perfect.prompt_reading import Finding, PromptEvidence, fact_key, facts_of, key, passage_fits
from thinkgraph.eval.perfect.subquestions import Derived, derive, linking, look_ups, parts, recognise
from thinkgraph.models.offline.rule_based import Call, RuleBasedChatModel, judgement
from thinkgraph.prompts.kinds import ExtractedKey
from thinkgraph.prompts.lines import Item, one_line
from thinkgraph.tools.grounding import numbers

_UNKNOWN = Gold("more evidence", (), "none")
"""Stands for the gold of a question that is not known; its words are what is asked for."""
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
    count of a list shown whole or with its length, the largest shown value, the answer's span in a shown gold passage. Where something is
    missing it says so, with what is known so far, and gives likely answers only where it is asked for them. A question
    without gold, or one that cannot be answered, is never answered.

    It errs as `slips` say; a draw depends on the seed, the role and the prompt alone, so a run is reproducible whatever the
    order of its calls.
    """

    model: str = "perfect"
    seed: int = 0
    _slips: tuple[Slip, ...] = PrivateAttr()
    _near: Near = PrivateAttr()
    _golds: dict[str, Gold] = PrivateAttr()
    _parts: list[Derived] = PrivateAttr()

    def __init__(
        self,
        golds: Mapping[str, Gold],
        *,
        slips: Sequence[Slip] = (),
        seed: int = 0,
        near: Near = by_words,
        **kwargs: Any,
    ) -> None:
        """Bind the golds.

        Args:
            golds: by the text of the question.
            slips: where it errs, how and how often.
            seed: of the errors.
            near: tells which wrong choices are confusable with the right ones.
            kwargs: other fields of a LangChain chat model.
        """
        super().__init__(**{"seed": seed, **kwargs})
        self._slips, self._near = tuple(slips), near
        self._golds = {one_line(text): gold for text, gold in golds.items()}
        # Sub-questions are known from the start: a run that is resumed in a new process must find them too.
        self._parts = [part for gold in self._golds.values() for part in derive(gold)]

    def _gold(self, call: Call, question: str | None = None) -> Gold:
        """The gold of a question, by default of the one asked, or of the sub-question it is."""
        text = one_line(call.prompt.text("question")) if question is None else question
        return self._golds.get(text) or recognise(text, self._parts, call.text) or _UNKNOWN

    def reply_to(self, call: Call) -> dict[str, Any] | str:  # noqa: C901, PLR0911, PLR0912 - one return for each kind
        """The reply of one that knows the gold path, or a wrong one where the draw says so."""
        gold, erring = self._gold(call), self._erring(call)
        options = call.prompt.lines("options")
        told = {item.number: item.text for item in options}
        numbers = [item.number for item in options]
        match call.prompt.kind:
            case "pick":
                return {"numbers": erring.choices(_picked(gold, call, options), numbers, told.__getitem__)}
            case "score":
                return {"scores": _scored(gold, options, erring)}
            case "pairs":
                clues = _clue_lines(call)
                every = [(clue.number, number) for clue in clues for number in numbers]
                pairs = erring.choices(gold_pairs(gold, clues, options), every, lambda pair: told[pair[1]])
                return {"pairs": [list(pair) for pair in pairs]}
            case "judge":
                return self._judged(call, gold, erring)
            case "keywords":
                return {"keywords": keywords(gold)[erring.once() :]}
            case "names":
                return {"names": names(gold)[erring.once() :]}
            case "texts":
                return {"texts": [in_sentences(item) for item in options]}
            case "keys":
                return {"keys": self._keys(call, erring)}
            case "subquestions":
                return {"questions": self._subquestions(call, gold, erring)}
            case "triples":
                return {"triples": self._triples(call, erring), "types": []}
            case "verdict":
                right = gold is not _UNKNOWN and _follows(gold, call)
                return {"right": right != erring.once()}
            case _ if call.prompt.text("conversation"):
                # The question as it stands: its gold is found by its words.
                return one_line(call.prompt.text("question"))
            case _:
                return "nothing" if erring.once() else _query(gold, _finding(gold, call))

    def search_turn(self, call: Call, searched: Sequence[Mapping[str, Any]]) -> dict[str, Any] | str:
        """Search for the next gold statements whose source the question names or a line shows; answer when none is left."""
        gold, erring = self._gold(call), self._erring(call)
        made = {(key(str(one.get("entity"))), tuple(map(key, one.get("relations") or ()))) for one in searched}
        wanted = [one for one in _searches(gold, call) if (key(one["entity"]), (key(one["relations"][0]),)) not in made]
        if not wanted or _finding(gold, call).answers:
            return self._judged(call, gold, erring)
        astray = {"entity": wanted[0]["entity"], "direction": "both", "relations": []}
        return {"search": erring.choices(wanted[:_MOST_SEARCHES], [astray]) or [astray]}

    def _erring(self, call: Call, kind: str = "") -> Erring:
        """The errors of a call; of one that makes two decisions, those of the one that is of another kind."""
        digest = hashlib.sha256(f"{self.seed}\0{call.prompt.role}{kind}\0{call.text}".encode()).digest()
        rng = random.Random(digest)  # noqa: S311 - reproducible, not secret
        return Erring(slips_at(self._slips, call.prompt.role, kind or call.prompt.kind), rng, self._near)

    def _judged(self, call: Call, gold: Gold, erring: Erring) -> dict[str, Any]:
        finding = _finding(gold, call)
        scores = self._steering(call, gold) if call.steers else []
        for slip in erring.slips:
            if erring.draws(slip) and (wrong := _misjudged(call, gold, finding, slip.way, erring)):
                return {**wrong, "scores": scores} if call.steers and not wrong["sufficient"] else wrong
        answers = _labelled(finding.answers, call.labels)
        clues = ". ".join(" ".join(fact) for fact in finding.known)
        return judgement(
            call,
            answers,
            sorted(finding.lines),
            clues=f"{clues}." if clues else "",
            query=_query(gold, finding),
            likely=_labelled(finding.likely, call.labels),
            scores=scores,
        )

    def _steering(self, call: Call, gold: Gold) -> list[list[int]]:
        """The scores beside a judgement: of relations, or of the communities that it would pick."""
        options = call.prompt.lines("options")
        if any(item.step for item in options):
            return _scored(gold, options, self._erring(call, "score"))
        told = {item.number: item.text for item in options}
        picked = self._erring(call, "pick").choices(_picked(gold, call, options), list(told), told.__getitem__)
        # The best first.
        return [[number, max(_GOLD_SCORE - place, 1)] for place, number in enumerate(picked)]

    def _keys(self, call: Call, erring: Erring) -> list[ExtractedKey]:
        """The keys of the listed questions; where only triples are asked for, those that link several of them."""
        listed = [one_line(item.text) for item in call.prompt.lines("questions")]
        # "The capital of ?2" is a part of many questions: here of the one that stands above the list.
        asked = parts(self._gold(call))
        golds = [recognise(text, asked, call.text) or self._gold(call, text) for text in listed]
        found = look_ups(listed, golds)
        return [one for one in (linking(found) if call.triples else found) if not erring.once()]

    def _triples(self, call: Call, erring: Erring) -> list[list[str]]:
        """Gold facts of known questions whose both ends the shown passages name."""
        shown = key(" ".join(item.text for items in call.prompt.items.values() for item in items if item.passage))
        facts = dict.fromkeys(fact for gold in self._golds.values() for fact in gold.facts)
        named = [fact for fact in facts if key(fact[0]) in shown and key(fact[2]) in shown]
        return [list(fact) for fact in named if not erring.once()]

    def _subquestions(self, call: Call, gold: Gold, erring: Erring) -> list[dict[str, Any]]:
        found = derive(gold)
        if not found or erring.once():
            return [{"question": one_line(call.prompt.text("question")), "open": False, "refers": []}]
        return [dict(part.node) for part in found]


def _scored(gold: Gold, options: Sequence[Item], erring: Erring) -> list[list[int]]:
    """The options on the gold path, each with its score."""
    told = {item.number: item.text for item in options}
    chosen = [item.number for item in options if is_gold(gold, item)]
    return [[number, _GOLD_SCORE] for number in erring.choices(chosen, list(told), told.__getitem__)]


def _finding(gold: Gold, call: Call) -> Finding:
    shown = PromptEvidence.of(call.prompt)
    told = {
        place: (line, answers)
        for place, part in enumerate(parts(gold) if shown.answered else [])
        for line, question, answers in shown.answered
        if part.fits(question)
    }
    return reading.judge(gold, shown, told)


def _picked(gold: Gold, call: Call, options: Sequence[Item]) -> list[int]:
    """The gold starts where the options hold any and nothing has been found yet; else everything gold."""
    shown = PromptEvidence.of(call.prompt)
    if not shown.facts:
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
        return _best_first(gold, shown, fitting)
    return [item.number for item in fitting]


def _best_first(gold: Gold, shown: PromptEvidence, options: Sequence[Item]) -> list[int]:
    """Options with gold facts that the evidence does not show, ordered by how near the end of the path these are, then by
    their number.
    """
    places = {fact_key(fact): place for place, hop in enumerate(gold.hops) for fact in hop.facts}
    known = {fact_key(fact) for hop in gold.hops for fact in hop.facts if shown.line_of(fact) is not None}
    ranked: list[tuple[int, int, int]] = []
    for item in options:
        new = facts_of(item) & places.keys() - known
        if new:
            ranked.append((-max(places[fact] for fact in new), -len(new), item.number))
    return [number for *_, number in sorted(ranked)]


def is_gold(gold: Gold, item: Item) -> bool:
    """Whether an option lies on the gold path: a step of it, one of its triples, passages or entities."""
    if item.step:
        steps = {(key(entity), key(relation), outgoing) for entity, relation, outgoing in gold.steps}
        entity, relation, outgoing = item.step
        return (key(entity), key(relation), outgoing) in steps if steps else bool(_walks(gold, *item.step))
    if item.passage:
        return any(passage_fits(item.passage, text, gold.answers) for hop in gold.hops for text in hop.passages)
    if item.hops:
        return bool(facts_of(item) & set(map(fact_key, gold.facts)))
    named = [line for start, line in gold.lines.items() if key(gold.entities[start]) == key(item.label)]
    if named:
        return not item.about or key(item.text) in map(key, named)
    return any(key(" ".join(fact)) in key(item.text) for fact in gold.facts)


def _walks(gold: Gold, entity: str, relation: str, outgoing: bool, *, shared: bool = False) -> list[GoldHop]:  # noqa: FBT001 - as items hold it
    """The hops that walk a relation from an entity, or from several that an earlier hop reached; with `shared` from any several."""
    return [
        hop
        for hop in gold.hops
        if not hop.is_text
        and hop.outgoing == outgoing
        and (key(entity) in map(key, hop.sources) or ((shared or hop.takes) and _is_shared(hop, entity)))
        and key(relation) in _names_of(hop)
    ]


def _is_shared(hop: GoldHop, entity: str) -> bool:
    """Whether an option names several entities, of which some may be sources of a hop: those that the hop reaches are not."""
    first = key(_SHARED.sub("", entity))
    sources, ends = set(map(key, hop.sources)), set(map(key, hop.ends))
    return bool(_SHARED.search(entity)) and (first in sources or first not in ends)


def _names_of(hop: GoldHop) -> set[str]:
    return {key(hop.relation), *(key(fact[1]) for fact in hop.facts)}


def keywords(gold: Gold) -> list[str]:
    """The clues of a question: each named entity, and the relation of each hop as often as it occurs; once where it is walked both ways."""
    words = [gold.entities[start] for start in gold.starts]
    words += [relation for relation, *_ in dict.fromkeys((hop.relation, hop.takes, hop.sources) for hop in gold.hops)]
    return [*words, gold.other] if gold.other else words


def names(gold: Gold) -> list[str]:
    """The entities that a question names."""
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
        for hop in _walks(gold, *item.step, shared=True):
            yield from (key(item.step[1]), key(hop.relation))
        return
    label, told, chosen = key(item.label), key(item.about), is_gold(gold, item)
    led = [
        hop
        for hop in gold.hops
        if label in map(key, hop.ends) and (chosen or any(_tells(told, hop, name, label) for name in _names_of(hop)))
    ]
    if led or chosen or label == key(gold.other):
        yield label
    yield from (key(hop.relation) for hop in led)


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


def _misjudged(call: Call, gold: Gold, finding: Finding, way: Way, erring: Erring) -> dict[str, Any] | None:
    """A wrong judgement (see `Slip`); None where this one cannot be wrong in that way."""
    withheld = judgement(call, clues="Nothing is known.", query="something else")
    right, rng = _labelled(finding.answers, call.labels), erring.rng
    lines = [item.number for item in call.prompt.lines("evidence")]
    if way == "never":
        return withheld if right else None
    if way == "citation":
        others = [number for number in lines if number not in finding.lines]
        return judgement(call, right, [rng.choice(others)]) if right and others else None
    if bool(right) == (way == "early") and way not in {"random", "confusable"}:
        return None
    if call.labels:
        pool = [label for label in call.labels if label not in right]
        return judgement(call, [rng.choice(pool)] if pool else [])
    pairs = _others(call, gold, finding, way)
    if not pairs:
        return withheld if way == "random" else None
    at = rng.randrange(len(pairs))
    if way == "confusable":
        at = erring.nearest(right[0] if right else gold.question, [name for name, _ in pairs])
    name, number = pairs[at]
    return judgement(call, [name], sorted(finding.lines) if way == "elsewhere" else [number])


def _others(call: Call, gold: Gold, finding: Finding, way: Way) -> list[tuple[str, int]]:
    """What may be given in the place of the right answer, each with the line where it stands."""
    items = call.prompt.lines("evidence")
    if way == "number":
        right = {number for answer in finding.answers for number in numbers(answer)}
        return [(number, item.number) for item in items if right for number in sorted(numbers(item.text) - right)]
    pairs = [(name, item.number) for item in items for t in item.triples for name in (t.subject, t.object)]
    left_out = set(map(key, finding.answers))
    if way == "elsewhere":
        left_out |= {key(name) for name, number in pairs if number in finding.lines}
    walked = {key(end) for hop in gold.hops for end in (*hop.sources, *hop.ends)}
    return [pair for pair in pairs if key(pair[0]) not in left_out and (way != "bridge" or key(pair[0]) in walked)]


def _searches(gold: Gold, call: Call) -> Iterator[dict[str, Any]]:
    """Gold statements that can be looked for now: from named starts, or from what a line shows."""
    shown = {name for fact in PromptEvidence.of(call.prompt).facts for name in (fact[0], fact[2])}
    for hop in gold.hops:
        for source in hop.sources if not hop.is_text else ():
            if not hop.takes or key(source) in shown:
                relation = next((fact[1] for fact in hop.facts if hop.source_of(fact) == source), hop.relation)
                yield {"entity": source, "direction": "out" if hop.outgoing else "in", "relations": [relation]}


def _query(gold: Gold, finding: Finding) -> str:
    """The words of the first hop that is not shown, and the entity it starts from."""
    if finding.missing is None:
        return gold.question
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
