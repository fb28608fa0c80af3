"""Gold paths of a question file, resolved against the knowledge: which facts and passages a question needs.

A gold path is a list of hops:

    [entity, relation]          walk the relation; "-relation" walks it backwards; "a|b" walks either
    [entity, relation, "max"]   of the values reached, the entity with the largest (or "min") is the answer
    [entity, relation, "new"]   what is reached never counts if the path started there ("other films of its actors")
    [entity, relation, other]   a statement: is `other` reached? (yes or no)
    [entity, "text:SECTION"]    the answer stands in a passage with this section about the entity
    [entity, "qualifier:NAME"]  the answer stands beside the statement that reached the entity ("in which role?")
    ["count"]                   how many things the hop before reached

An entity is an id, else an exact label. "*" is everything reached before (the union, where several branches precede it).
A named entity continues the path where the hop before reached it, and starts a branch of its own where not; in questions
of the types `intersection` and `comparison` it always starts one. Branches that are left open are intersected, or
compared where the answer is one of the entities compared.

A question that has gold passages and no gold path needs all of these passages: each is a hop into text, reached from an
entity that the question names or that a passage before it shares (`thinkgraph.eval.supporting`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from thinkgraph.errors import UsageError
from thinkgraph.eval.questions import Question
from thinkgraph.eval.supporting import in_order, lead_on
from thinkgraph.models.offline.words import number_in
from thinkgraph.prompts.lines import entity_line, one_line
from thinkgraph.state.knowledge import Entity, Link, Passage, Relation, step_along
from thinkgraph.tools.linking.linker import StandardLinker
from thinkgraph.tools.protocols import GraphStore, TextStore

Operation = Literal["chain", "intersection", "count", "max", "min", "yesno", "qualifier", "none"]
Fact = tuple[str, str, str]
"""(subject label, relation label, object label)."""

_MANY = 100_000
_TEXT, _QUALIFIER = "text:", "qualifier:"
_BRANCHED = frozenset({"intersection", "comparison"})
_LARGER = re.compile(
    r"\b(?:high|larg|great|bigg|long|more|most|old|tall|deep|wid|heav|lat|fast|rich)\w*\b", re.IGNORECASE
)
_SMALLER = re.compile(r"\b(?:low|small|few|less|least|short|young|narrow|light|earl|slow|poor)\w*\b", re.IGNORECASE)


@dataclass(frozen=True)
class GoldHop:
    """One hop of a gold path: the triples that lead on, or the passages that hold the answer."""

    facts: tuple[Fact, ...] = ()
    """The triples on the way to the answers; where the path singles out one end, only those that reach it."""
    relation: str = ""
    """Label of the relation, or of the section of a passage."""
    outgoing: bool = True
    sources: tuple[str, ...] = ()
    """Labels of the entities walked from."""
    ends: tuple[str, ...] = ()
    """Labels of the entities reached."""
    takes: tuple[int, ...] = ()
    """Places of the hops whose ends this one starts from; empty where it starts from named entities."""
    passages: tuple[str, ...] = ()
    """Texts of the gold passages, on one line; only for a hop into text."""
    section: str = ""
    """Section asked for, for a hop into text; empty otherwise."""
    every: tuple[Fact, ...] = ()
    """All triples of this relation at the sources, those included that lead elsewhere."""

    @property
    def is_text(self) -> bool:
        """Whether this hop is read in a passage."""
        return bool(self.section or self.passages)

    def source_of(self, fact: Fact) -> str:
        """The end of a fact that the hop starts from."""
        return fact[0] if self.outgoing else fact[2]

    def end_of(self, fact: Fact) -> str:
        """The end of a fact that the hop reaches."""
        return fact[2] if self.outgoing else fact[0]


@dataclass(frozen=True)
class Gold:
    """What a question needs, resolved."""

    question: str
    answers: tuple[str, ...]
    operation: Operation
    hops: tuple[GoldHop, ...] = ()
    finals: tuple[int, ...] = ()
    """Places of the hops whose ends the operation combines."""
    other: str = ""
    """yesno: the entity that the last hop must reach."""
    entities: dict[str, str] = field(default_factory=dict)
    """Id to label of every entity on the path, ends included."""
    lines: dict[str, str] = field(default_factory=dict)
    """Id to entity line (label and description), which tells namesakes apart."""
    starts: tuple[str, ...] = ()
    """Ids of the entities the path starts from."""
    passages: tuple[str, ...] = ()
    """Ids of the gold passages."""
    steps: frozenset[tuple[str, str, bool]] = frozenset()
    """(entity label, relation label, outgoing) of every step that leads to one more gold passage, where the passages are
    all that is given."""

    @property
    def is_answerable(self) -> bool:
        """Whether the question has answers and a way to them."""
        return bool(self.answers) and bool(self.hops)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts of all hops, in order."""
        return tuple(dict.fromkeys(fact for hop in self.hops for fact in hop.facts))


Need = tuple[str, list[Any]]
_Resolver = Generator[Need, Any, Gold]


def resolve_golds(questions: Sequence[Question], graph: GraphStore, texts: TextStore | None = None) -> list[Gold]:
    """Resolve gold paths. The store is asked for one hop of all questions at once.

    Raises:
        UsageError: a path names an entity, relation or passage that the knowledge does not have; the message names the
            question and the hop.
    """
    resolvers = [_resolve(question) for question in questions]
    done: dict[int, Gold] = {}
    replies: dict[int, Any] = dict.fromkeys(range(len(questions)))
    while replies:
        waiting: dict[int, Need] = {}
        for place, reply in replies.items():
            try:
                waiting[place] = resolvers[place].send(reply)
            except StopIteration as finished:
                done[place] = finished.value
        replies = {}
        for sort in dict.fromkeys(sort for sort, _ in waiting.values()):
            group = {place: wanted for place, (kind, wanted) in waiting.items() if kind == sort}
            found = iter(_fetch(sort, [item for wanted in group.values() for item in wanted], graph, texts))
            replies |= {place: [next(found) for _ in wanted] for place, wanted in group.items()}
    return [done[place] for place in range(len(questions))]


def _fetch(sort: str, wanted: list[Any], graph: GraphStore, texts: TextStore | None) -> Sequence[Any]:
    """What the questions wait for, by one store call for each sort of need."""
    found: Sequence[Any]
    match sort:
        case "entities":
            found = graph.entities(wanted)
        case "relations":
            found = graph.relations(wanted)
        case "steps":
            found = graph.neighbours(wanted, limit=_MANY)
        case "linked":
            found = StandardLinker(graph).link(wanted)
        case "named":
            # An id wins over a label: two entities may share the label.
            by_id, by_label = graph.entities(wanted), graph.lookup(wanted, limit=50)
            found = [
                [entity]
                if entity and not entity["literal"]
                else [m["entity"] for m in matches if m["method"] == "exact"] or [m["entity"] for m in matches]
                for entity, matches in zip(by_id, by_label, strict=True)
            ]
        case "passages":
            found = texts.passages(wanted) if texts else [None] * len(wanted)
        case _:  # passages of one entity near a question: one call each, the protocol takes one query
            found = [
                [hit["passage"] for hit in texts.passages_of([entity], query, limit=200)] if texts else []
                for entity, query in wanted
            ]
    return found


@dataclass
class _Walk:
    question: Question
    branched: bool
    hops: list[GoldHop] = field(default_factory=list)
    facts: list[dict[str, list[Fact]]] = field(default_factory=list)
    """For each hop its facts, by the id of the end they reach."""
    open: dict[int, dict[str, str]] = field(default_factory=dict)
    """The branches: places of the hops that nothing continues yet, each with its ends (id to label)."""
    entities: dict[str, str] = field(default_factory=dict)
    starts: list[str] = field(default_factory=list)
    passages: list[str] = field(default_factory=list)
    operation: Operation = "chain"
    other: str = ""

    def fail(self, number: int, fault: str) -> UsageError:
        return UsageError(f'question "{self.question.id}", gold_path, hop {number}: {fault}')

    def add(self, hop: GoldHop, facts: dict[str, list[Fact]], ends: dict[str, str]) -> None:
        self.open[len(self.hops)] = ends
        self.hops.append(hop)
        self.facts.append(facts)
        self.entities.update(ends)

    def single_out(self, place: int, kept: set[str]) -> None:
        """Cut an open hop to some of its ends, and its facts to those that reach them."""
        facts = [fact for end, group in self.facts[place].items() if end in kept for fact in group]
        ends = tuple(label for key, label in self.open[place].items() if key in kept)
        self.hops[place] = replace(self.hops[place], facts=tuple(dict.fromkeys(facts)), ends=ends)


def _resolve(question: Question) -> _Resolver:
    if question.answers and question.gold_passages and not question.gold_path:
        return (yield from _supported(question))
    if not question.answers or not question.gold_path:
        return Gold(question.question, question.answers, "none")
    branched = question.type in _BRANCHED
    gold = yield from _walk(question, branched=branched)
    if agrees(gold):
        return gold
    if gold.operation in {"count", "max", "min"}:
        # A symmetric relation may be written down in one direction only: Poland borders Russia, but not Russia Poland.
        with suppress(UsageError):  # nothing is written down backwards
            both = yield from _walk(replace(question, gold_path=_both_ways(question.gold_path)), branched=branched)
            if agrees(both):
                return both
    named = sum(hop[0] not in {"*", "count"} for hop in question.gold_path)
    if not branched and gold.operation == "chain" and named > 1:
        # A file without types: "borders both Germany and France" reads as a chain where France borders Germany.
        other = yield from _walk(question, branched=True)
        if other.operation == "intersection" and agrees(other):
            return other
    return gold


def _both_ways(path: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """The path with every plain hop from a named entity walked backwards too."""
    ways: list[tuple[str, ...]] = []
    for hop in path:
        ways.append(hop)
        if len(hop) == 2 and hop[0] != "*" and not hop[1].startswith(("-", _TEXT)):  # noqa: PLR2004 - no third part
            ways.append((hop[0], f"-{hop[1]}"))
    return tuple(ways)


def _supported(question: Question) -> _Resolver:
    """The gold of a question that says only which passages it needs."""
    fetched: list[Passage | None] = yield "passages", list(question.gold_passages)
    if None in fetched:
        missing = question.gold_passages[fetched.index(None)]
        raise UsageError(f'question "{question.id}", gold_passages: there is no passage "{missing}"')
    passages = [passage for passage in fetched if passage]
    links: list[list[Link]] = yield "linked", [question.question]
    ids = list(dict.fromkeys(entity for passage in passages for entity in passage["entities"]))
    known: list[Entity | None] = yield "entities", ids
    entities = {entity["id"]: entity for entity in known if entity}
    found: list[list[Relation]] = yield "relations", list(entities)
    edges = [edge for group in found for edge in group]
    steps = list(map(step_along, edges))
    leading = lead_on(steps, (yield "steps", steps), passages)
    named = [link["entity"]["id"] for link in links[0] if link["entity"]["id"] in entities]
    degree = {key: sum(edge["count"] for edge in group) for key, group in zip(entities, found, strict=True)}
    order = in_order(passages, named, degree)
    holding = [place for place, (passage, *_) in enumerate(order) if _holds_one(passage, question.answers)]
    return Gold(
        question=question.question,
        answers=question.answers,
        operation="chain",
        hops=tuple(
            GoldHop(
                sources=tuple(entities[key]["label"] for key in sources),
                takes=takes,
                passages=(one_line(passage["text"]),),
            )
            for passage, sources, takes in order
        ),
        finals=tuple(holding[-1:]) or (len(order) - 1,),
        entities={key: entity["label"] for key, entity in entities.items()},
        lines={key: entity_line(entity) for key, entity in entities.items()},
        starts=tuple(dict.fromkeys(named)),
        passages=tuple(question.gold_passages),
        steps=frozenset(
            (entities[edge["entity"]]["label"], edge["label"], edge["direction"] == "out")
            for edge, leads in zip(edges, leading, strict=True)
            if leads
        ),
    )


def _holds_one(passage: Passage, answers: Sequence[str]) -> bool:
    return any(answer.casefold() in passage["text"].casefold() for answer in answers)


def agrees(gold: Gold) -> bool:
    """Whether the facts of a resolved path lead to the question's answers, those and no others."""
    hops = [gold.hops[place] for place in gold.finals]
    reached = {end.casefold() for hop in hops for end in hop.ends}
    answers = {answer.casefold() for answer in gold.answers}
    if gold.operation == "count":
        return answers == {str(len(reached))}
    if gold.operation in {"max", "min"}:
        found = extreme(((hop.source_of(fact), hop.end_of(fact)) for hop in hops for fact in hop.facts), gold.operation)
        return bool(answers & set(map(str.casefold, found)))
    return gold.operation == "qualifier" or all(hop.is_text for hop in hops) or answers == reached


def extreme(pairs: Iterable[tuple[str, str]], operation: str) -> list[str]:
    """Of pairs of an entity and its value, the entities with the largest ("max") or the smallest value."""
    values = [(number, source) for source, value in pairs if (number := number_in(value)) is not None]
    best = (max if operation == "max" else min)((number for number, _ in values), default=None)
    return list(dict.fromkeys(source for number, source in values if number == best))


def _walk(question: Question, *, branched: bool) -> _Resolver:
    walk = _Walk(question, branched)
    for number, hop in enumerate(question.gold_path, start=1):
        if hop == ("count",):
            walk.operation = "count"
            continue
        extra = hop[2] if len(hop) > 2 else ""  # noqa: PLR2004 - the third part
        if extra in {"max", "min"}:
            walk.operation = "max" if extra == "max" else "min"
        elif extra and extra != "new":
            walk.operation, walk.other = "yesno", extra
        sources, takes = yield from _sources(walk, number, hop)
        walk.entities.update(sources)
        if hop[1].startswith(_QUALIFIER):
            if not takes:
                raise walk.fail(number, f'no hop before reaches "{hop[0]}"')
            walk.operation, walk.open = "qualifier", dict.fromkeys(takes, sources)
        elif hop[1].startswith(_TEXT):
            yield from _text_hop(walk, number, sources, takes, hop[1].removeprefix(_TEXT))
        else:
            yield from _graph_hop(walk, number, sources, takes, hop[1], new=extra == "new")
    if walk.other:
        named = yield "named", [walk.other]
        walk.other = named[0][0]["label"] if named[0] else walk.other
        walk.entities.update({entity["id"]: entity["label"] for entity in named[0][:1]})
    return (yield from _finish(walk))


def _sources(walk: _Walk, number: int, hop: tuple[str, ...]) -> Generator[Need, Any, tuple[dict[str, str], list[int]]]:
    """The entities a hop starts from, and the hops they come from."""
    if hop[0] == "*":
        if not walk.open:
            raise walk.fail(number, '"*" has nothing before it')
        before, walk.open = walk.open, {}
        return {key: label for ends in before.values() for key, label in ends.items()}, list(before)
    found: list[list[Entity]] = yield "named", [hop[0]]
    candidates = {entity["id"]: entity["label"] for entity in found[0]}
    if not candidates:
        raise walk.fail(number, f'the graph has no entity "{hop[0]}"')
    if walk.open and not walk.branched:
        last = max(walk.open)
        reached = candidates.keys() & walk.open[last].keys()
        if reached or walk.hops[last].is_text:
            # Branches that all reach the named entity join there.
            kept = reached or set(list(candidates)[:1])
            joined = [place for place, ends in walk.open.items() if place == last or candidates.keys() & ends.keys()]
            for place in joined:
                walk.single_out(place, kept)
                del walk.open[place]
            return {key: label for key, label in candidates.items() if key in kept}, joined
    if len(candidates) > 1 and not hop[1].startswith(_TEXT):
        relations: list[list[Relation]] = yield "relations", list(candidates)
        fitting = {
            key: candidates[key]
            for key, edges in zip(candidates, relations, strict=True)
            if any(_fits(edge, hop[1]) for edge in edges)
        }
        candidates = fitting or candidates
    first = dict(list(candidates.items())[:1])
    walk.starts += first.keys() - set(walk.starts)
    return first, []


def _plain(name: str) -> str:
    return name.casefold().replace("_", " ").strip()


def _fits(edge: Relation, relation: str) -> bool:
    direction = "in" if relation.startswith("-") else "out"
    names = {_plain(part) for part in relation.removeprefix("-").split("|")}
    return edge["direction"] == direction and bool(names & {_plain(edge["name"]), _plain(edge["label"])})


def _graph_hop(
    walk: _Walk, number: int, sources: dict[str, str], takes: list[int], relation: str, *, new: bool = False
) -> Generator[Need, Any, None]:
    edges: list[list[Relation]] = yield "relations", list(sources)
    steps = [step_along(edge) for found in edges for edge in found if _fits(edge, relation)]
    if not steps and walk.operation != "yesno":
        raise walk.fail(number, f'no relation "{relation}" at {", ".join(sources.values())}')
    found = yield "steps", steps
    outgoing = not relation.startswith("-")
    facts: dict[str, list[Fact]] = defaultdict(list)
    ends: dict[str, str] = {}
    every: dict[Fact, None] = {}
    for triple in (triple for neighbours in found for triple in neighbours["triples"]):
        end, label = ("object", "object_label") if outgoing else ("subject", "subject_label")
        if not (new and triple[end] in walk.starts):
            fact = triple["subject_label"], triple["relation_label"], triple["object_label"]
            facts[triple[end]].append(fact)
            ends[triple[end]] = triple[label]
            every[fact] = None
    hop = GoldHop(
        facts=tuple(every),
        every=tuple(every),
        relation=next(iter(every))[1] if every else _plain(relation.removeprefix("-").split("|")[0]),
        outgoing=outgoing,
        sources=tuple(sources.values()),
        ends=tuple(dict.fromkeys(ends.values())),
        takes=tuple(takes),
    )
    walk.add(hop, facts, ends)


def _text_hop(
    walk: _Walk, number: int, sources: dict[str, str], takes: list[int], section: str
) -> Generator[Need, Any, None]:
    question = walk.question
    found: list[Passage | None] = yield "passages", list(question.gold_passages)
    passages = [passage for passage in found if passage]
    if not passages:
        near: list[list[Passage]] = yield "passages_of", [(key, question.question) for key in sources]
        every = [passage for group in near for passage in group]
        holding = [passage for passage in every if _holds_one(passage, question.answers)]
        same = [p for p in holding if p["section"].casefold().endswith(section.casefold())]
        passages = (same or holding)[:1]
    if not passages:
        raise walk.fail(number, f'no passage "{section}" of {", ".join(sources.values())} holds the answer')
    walk.passages += [passage["id"] for passage in passages]
    hop = GoldHop(
        relation=_plain(section),
        sources=tuple(sources.values()),
        takes=tuple(takes),
        passages=tuple(one_line(passage["text"]) for passage in passages),
        section=section,
    )
    walk.add(hop, {}, {})


def _finish(walk: _Walk) -> _Resolver:
    question, finals = walk.question, list(walk.open)
    if walk.operation == "chain":
        walk.operation = _open_operation(walk, finals)
    if walk.operation == "intersection":
        common = set.intersection(*map(set, walk.open.values()))
        for place in finals:
            walk.single_out(place, common)
    _cut_dead_ends(walk)
    ids = list(walk.entities)
    known: list[Entity | None] = yield "entities", ids
    lines = {key: entity_line(entity) for key, entity in zip(ids, known, strict=True) if entity}
    return Gold(
        question=question.question,
        answers=question.answers,
        operation=walk.operation,
        hops=tuple(walk.hops),
        finals=tuple(finals),
        other=walk.other,
        entities=walk.entities,
        lines=lines,
        starts=tuple(walk.starts),
        passages=tuple(walk.passages),
    )


def _open_operation(walk: _Walk, finals: Sequence[int]) -> Operation:
    """What a path means that ends without saying: a chain, an intersection, or a comparison in the question's words."""
    hops = [walk.hops[place] for place in finals]
    compared = {source.casefold() for hop in hops for source in hop.sources}
    values = [end for hop in hops for end in hop.ends]
    asked = {answer.casefold() for answer in walk.question.answers}
    if len(compared) > 1 and asked <= compared and values and all(number_in(value) is not None for value in values):
        smaller, larger = (pattern.search(walk.question.question) for pattern in (_SMALLER, _LARGER))
        return "min" if smaller and not (larger and larger.start() < smaller.start()) else "max"
    return "intersection" if len(finals) > 1 else "chain"


def _cut_dead_ends(walk: _Walk) -> None:
    """Drop facts that lead to no answer: ends at which the next hop found nothing (not where all are counted)."""
    if walk.operation in {"count", "yesno", "max", "min"}:
        return
    for place in range(len(walk.hops) - 1, -1, -1):
        hop = walk.hops[place]
        if hop.is_text or not hop.takes:
            continue
        used = {hop.source_of(fact) for fact in hop.facts}
        walk.hops[place] = replace(hop, sources=tuple(s for s in hop.sources if s in used))
        for before in hop.takes:
            earlier = walk.hops[before]
            kept = tuple(fact for fact in earlier.facts if earlier.end_of(fact) in used)
            ends = tuple(end for end in earlier.ends if end in used)
            walk.hops[before] = replace(earlier, facts=kept, ends=ends)
