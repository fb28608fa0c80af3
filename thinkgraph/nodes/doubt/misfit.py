"""Can an answer be what its question asks for? The entities on the way to it stand in the cited evidence too.

English questions only. Where words, statements and types leave it open, nothing is said.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.evidence_lines import Texts, sentences_of, triple_ids
from thinkgraph.nodes.doubt.asked_kind import (
    MADE,
    NUMBER_WORDS,
    SORTS,
    SQUARE,
    AskedKind,
    asked_for,
    asking_part,
    is_phrase,
    measure_of,
    noun_of,
    noun_stem,
    root_of,
    sort_of_objects,
    words_of,
)
from thinkgraph.prompts.lines import one_line
from thinkgraph.runtime import requests
from thinkgraph.state.evidence import EvidenceItem
from thinkgraph.state.knowledge import Entity, Relation, Triple, both_ends, other_end
from thinkgraph.tools.grounding import chooses, compared_by, compares, fold, numbers
from thinkgraph.tools.linking.lexical import content_tokens

MAX_LOOKED_UP = 20
"""Most entities that are looked up for one answer."""
ON_THE_WAY = "on the way to it"
_BARE = re.compile(r"\d+(?: \d+)*")
_UNITS = frozenset(["ft", "kg", "km", "m", "mi", "pct", "percent", "sq", "usd"])
_NAME = re.compile(r"(?<=\w )\W?([A-Z\d]\S+)")
"""A word that is written like a name, within a question."""


@dataclass
class _Surroundings:
    """What the cited statements say about the entities that an answer may be."""

    ids: set[str] = field(default_factory=set)
    literal: bool = False
    """Whether the answer is a value in one of them."""
    role: set[str] = field(default_factory=set)
    """Labels of relations that say what the answer is to another thing: those whose object it is."""
    own: set[str] = field(default_factory=set)
    """Labels of relations that say what another thing is to the answer."""
    names: set[str] = field(default_factory=set)
    """Names of the relations of both sorts."""

    def leading(self, asked: AskedKind) -> set[str]:
        """Labels of relations that may say that it is what is asked for. Who has something is not a person for it."""
        return self.role if asked.kind == "person" else self.role | self.own


def _surroundings(triples: Iterable[Triple]) -> defaultdict[str, _Surroundings]:
    """What the statements say about the things in them, by label (folded); nothing about any other."""
    found: defaultdict[str, _Surroundings] = defaultdict(_Surroundings)
    for triple in triples:
        for key, label, is_object in _ends(triple):
            about = found[fold(label)]
            about.ids.add(key)
            about.literal |= triple["literal"] and is_object
            about.names.add(triple["relation"])
            named = _names_object(triple["relation_label"]) == is_object
            (about.role if named else about.own).add(triple["relation_label"])
    return found


def _names_doer(relation: str) -> bool:
    """Whether a relation's label says that its object did something: "directed by", "starred actors"; not "wrote"."""
    return bool(re.search(r"(?:[ _]by|[eo]rs?)$", relation.casefold()))


def _names_object(relation: str) -> bool:
    """Whether the object is what a relation's label names: of "capital", but not of "capital of"."""
    return not re.search(r"[ _]of$", relation)


def misfit(question: str, answers: Sequence[str], items: Sequence[EvidenceItem], texts: Texts) -> Flow[str]:
    """Why one of the answers is not of the kind that the question asks for, in words; empty where none is known not to be.

    Args:
        question: the question.
        answers: the answers.
        items: the evidence that they stand on.
        texts: what the evidence refers to.
    """
    asked = asked_for(question)
    if asked is None and not compares(question):
        return ""
    walk = _Walk(question, items, texts)
    if answers and walk.compares and (against := walk.uncompared(answers)):
        return f"the question compares, and {against}"
    if asked is None:
        return ""
    left = []
    if answers and not walk.compares and all(walk.is_asked_about(fold(answer), asked) for answer in answers):
        return _words(asked, answers[0], "what it asks about")
    for answer in answers:
        fault = _by_statements(fold(answer), asked, walk)
        if fault:
            return _words(asked, answer, fault)
        left += [answer] if fault is None else []
    return (yield from _by_lookup(left[:MAX_LOOKED_UP], asked, walk, texts))


def is_named(question: str, answers: Sequence[str], items: Sequence[EvidenceItem], texts: Texts) -> Flow[bool | None]:
    """Whether the question names, for every answer, a relation of the cited statements that leads to it: by a word of its label, or
    because the encoder finds no other one nearer to the question. An answer that the question itself names is not looked for, and
    statements that share no name with the question lead nowhere from it.

    Args: as of `misfit`.

    Returns:
        None where only texts hold an answer, or the question's words do not tell what it asks for and do not spell out the
        relation that leads to the answers.
    """
    asked = asked_for(question)
    if asked is not None and asked.kind == "number":
        return None
    walk = _Walk(question, items, texts)
    stated = [answer for answer in map(fold, answers) if walk.about[answer].ids]
    if asked is None:
        return True if walk.spells_out(stated) else None
    if not stated:
        return None
    if not walk.is_rooted or (not walk.compares and any(map(walk.named, stated))):
        return False
    about = [walk.about[answer] for answer in stated]
    left = [one.role for one in about if not any(map(walk.says, one.leading(asked)))]
    if not all(left):
        return False
    return not left or (yield from _nearest(question, set().union(*left), walk)) in set.intersection(*left)


def _nearest(question: str, labels: AbstractSet[str], walk: _Walk) -> Flow[str]:
    """The label nearest to the question, by the encoder: one of these, or of another relation of the things that they lead on from.

    Those that the question names by words are for other steps.
    """
    origins = {end for one in walk.triples if one["relation_label"] in labels for end in both_ends(one)}
    found = yield from requests.relations(sorted(origins)[:MAX_LOOKED_UP])
    others = {edge["label"] for edges in found for edge in edges}
    options = sorted(labels | {label for label in others if not walk.says(label)})
    (row,) = yield from requests.cosines([asking_part(question)], [label.replace("_", " ") for label in options])
    return max(zip(row, options, strict=True))[1]


def fits_better(
    question: str,
    answers: Sequence[str],
    items: Sequence[EvidenceItem],
    others: Sequence[EvidenceItem],
    texts: Texts,
) -> Flow[bool]:
    """Whether what holds answers fits the question better than what the model cited for them: by two of three, the question as a whole,
    its part that asks (both as the encoder sees them), and its words. Never where another relation is nearer to it, see `is_named`.

    Args:
        question: the question.
        answers: the answers.
        items: what holds them.
        others: what the model cited.
        texts: what both refer to.
    """
    if (yield from is_named(question, answers, items, texts)) is False:
        return False
    holding, cited = _told(items, texts, set(map(fold, answers))), _told(others, texts)
    asked, roots = [question, asking_part(question)], set(map(root_of, content_tokens(question)))
    rows: list[list[float]] = yield from requests.cosines(asked, [*holding, *cited])
    rows.append([len(roots.intersection(map(root_of, content_tokens(one)))) for one in (*holding, *cited)])
    at = len(holding)
    return sum(max(row[:at], default=-1.0) > max(row[at:], default=-1.0) for row in rows) > len(rows) / 2


def _told(items: Sequence[EvidenceItem], texts: Texts, ends: AbstractSet[str] = frozenset()) -> list[str]:
    """What items say beside their ends: a path's start and relations, a chunk's sentences, a community's statements; of a chunk and a
    community what speaks of `ends`, where something does.
    """
    told: list[str] = []
    for item in items:
        triples = [texts.triples[key] for key in triple_ids(item) if key in texts.triples]
        if item["kind"] == "chunk":
            said = sentences_of(item, texts)
            told += [one for one in said if any(f" {end} " in f" {fold(one)} " for end in ends)] or [" ".join(said)]
        elif item["kind"] == "community":
            about = [one for one in triples if not ends.isdisjoint(fold(label) for _, label, _ in _ends(one))]
            told += [f"{one['subject_label']} {one['relation_label']}" for one in about or triples]
        elif triples:
            start = [label for key, label, _ in _ends(triples[0]) if key == item["path"]["start"]]
            told.append(" ".join([*start, *dict.fromkeys(one["relation_label"] for one in triples)]))
    return [one.replace("_", " ") for one in told]


def _words(asked: AskedKind, answer: str, fault: str) -> str:
    return f"the question asks for {asked.said}, and {one_line(answer)} is {fault}"


class _Walk:
    """The cited statements as steps away from what the question names."""

    def __init__(self, question: str, items: Sequence[EvidenceItem], texts: Texts) -> None:
        keys = dict.fromkeys(key for item in items for key in triple_ids(item))
        self.triples = triples = [texts.triples[key] for key in keys if key in texts.triples]
        self.about = _surroundings(triples)
        self.relations = {triple["relation"] for triple in triples}
        self.things = [key for one in triples for key, _, is_object in _ends(one) if not (one["literal"] and is_object)]
        self._question, self._items, self._texts = question, items, texts
        self.asked = f" {fold(question)} "
        self._said = [f" {label} " for label in self.about if f" {label} " in self.asked]
        self.words = set(content_tokens(question))
        self.roots = set(map(root_of, self.words))
        self.compares = compares(question)
        self.communities = any(item["kind"] == "community" for item in items)
        self.starts = {item["path"]["start"] for item in items if item["kind"] == "path"}
        self.ends = self._ended(items)
        self.arrivals = self._ended([item for item in items if item["kind"] == "path" and item["path"]["triples"]])
        self._far = self._distances()

    def named(self, label: str) -> bool:
        """Whether the question names a thing, and not only a longer name that holds its own ("New York" in "New York City")."""
        name, asked = f" {fold(label)} ", self.asked
        for longer in self._said:
            if name != longer and name in longer:
                asked = asked.replace(longer, " | ")
        return name in asked

    @property
    def is_rooted(self) -> bool:
        """Whether a thing in the statements shares a word with the question's names; True where it has none, and of a cited community,
        whose chain is not cited as a whole.
        """
        names = set(fold(" ".join(_NAME.findall(self._question))).split())
        return self.communities or not names or any(not names.isdisjoint(label.split()) for label in self.about)

    def says(self, relation: str) -> bool:
        """Whether the question has a word of a relation's label, in some form."""
        return not self.roots.isdisjoint(map(root_of, words_of(relation)))

    def spells_out(self, answers: Sequence[str]) -> bool:
        """Whether relations whose whole labels the question has lead to all answers, to one at least from a thing that it names.

        A question with many answers put in may not name them all.
        """
        spelt = [
            (fold(label), other)
            for triple in self.triples
            if self.named(triple["relation_label"])
            for (_, label, _), (_, other, _) in itertools.permutations(_ends(triple), 2)
        ]
        return set(answers) <= {end for end, _ in spelt} and any(
            end in answers and self.named(other) for end, other in spelt
        )

    def calls_doer(self, relation: str) -> bool:
        """Whether the question has a word for who did what a relation says: "director" for "directed by"."""
        roots = {root_of(word) for word in self.words if root_of(word) != word}
        return _names_doer(relation) and not roots.isdisjoint(map(root_of, words_of(relation)))

    def is_asked_about(self, answer: str, asked: AskedKind) -> bool:
        """Whether an answer is a thing that the question names, and no statement calls it what is asked for of another thing named."""
        return (
            bool(self.about[answer].ids)
            and self.named(answer)
            and not any(
                asked.named_by(triple["relation_label"]) and self.named(other)
                for triple in self.triples
                for (_, label, is_object), (_, other, _) in itertools.permutations(_ends(triple), 2)
                if fold(label) == answer and _names_object(triple["relation_label"]) == is_object
            )
        )

    def uncompared(self, answers: Sequence[str]) -> str:
        """Why answers to a question that compares are not what it compares, or compared by nothing cited; empty where they may be."""
        if len(answers) > 1 and (chooses(self._question) or all(map(self.named, answers))):
            return "only one of the things that it names is the answer"
        if described := [
            one
            for one in answers
            if re.search(rf"\b(?:from|by|with|in|at|on) (?:the )?{re.escape(fold(one))} ", self.asked)
        ]:
            return f"{one_line(described[0])} only tells which things it compares"
        word = compared_by(self._question)
        if not word or any(word in fold(one["relation_label"]) for one in self.triples) or self._tells_which(word):
            return ""
        if self._values() > 1 or (self.communities and not self._is_measured(answers)):
            return ""
        return "the lines cited do not have two values"

    def _is_measured(self, answers: Sequence[str]) -> bool:
        """Whether a value that the question names is said of an answer. A community that only leads on from what was compared is cited
        without the others.
        """
        own = {
            one["relation_label"]
            for one in self.triples
            if one["literal"] and fold(one["subject_label"]) in map(fold, answers)
        }
        return any(map(self.says, own))

    def _tells_which(self, word: str) -> bool:
        """Whether a word that compares stands before a cited relation to things ("largest export partner"), whose values are not told."""
        following = map(root_of, self.asked.partition(f" {word} ")[2].split()[:2])
        labels = {one["relation_label"] for one in self.triples if not one["literal"]}
        return not {root for label in labels for root in map(root_of, words_of(label))}.isdisjoint(following)

    def _values(self) -> int:
        """How many numbers the lines have, in literals, qualifiers that the question names, and sentences."""
        told = [one["object_label"] for one in self.triples if one["literal"]]
        told += [value for one in self.triples for name, value in one["qualifiers"] if self.says(name)]
        told += [said for item in self._items if item["kind"] == "chunk" for said in sentences_of(item, self._texts)]
        return sum(len(numbers(text)) for text in told)

    def _ended(self, items: Sequence[EvidenceItem]) -> set[str]:
        """Where the cited lines end; a community's every entity."""
        by_id = {triple["id"]: triple for triple in self.triples}
        ends: set[str] = set()
        for item in items:
            if item["kind"] == "community":
                ends.update(end for key in item["triples"] if key in by_id for end in both_ends(by_id[key]))
            elif item["kind"] == "path":
                here = item["path"]["start"]
                for key in item["path"]["triples"]:
                    here = other_end(by_id[key], here) if key in by_id else here
                ends.update(other_end(by_id[key], here) for key in item["tails"] if key in by_id)
        return ends

    def _distances(self) -> dict[str, int]:
        labels = {key: label for triple in self.triples for key, label, _ in _ends(triple)}
        near = {key for key, label in labels.items() if self.named(label)} or self.starts & labels.keys()
        far: dict[str, int] = {}
        steps = 0
        while near:
            far.update(dict.fromkeys(near, steps))
            steps += 1
            near = {end for one in self.triples if near & set(both_ends(one)) for end in both_ends(one)} - far.keys()
        return {**dict.fromkeys(labels, 0), **far}

    def steps(self, ids: set[str], way: int) -> list[Triple]:
        """The statements that lead from these entities to others, further from what the question names (`way` 1) or nearer (-1).

        Those to values, and further ones to what the question names too, lead nowhere.
        """
        return [
            triple
            for triple in self.triples
            for (here, _, _), (end, label, is_object) in itertools.permutations(_ends(triple), 2)
            if here in ids
            and way * (self._far.get(end, 0) - self._far.get(here, 0)) > 0
            and not (triple["literal"] and is_object)
            and (way < 0 or not self.named(label))
        ]

    def passes(self, ids: set[str]) -> bool:
        """Whether the cited paths lead through these entities and none ends there."""
        return ids.isdisjoint(self.ends | self.starts) and bool(self.steps(ids, 1))


def _ends(triple: Triple) -> list[tuple[str, str, bool]]:
    """Id and label of both ends, and whether it is the object."""
    return [(triple["subject"], triple["subject_label"], False), (triple["object"], triple["object_label"], True)]


def _by_statements(answer: str, asked: AskedKind, walk: _Walk) -> str | None:
    """What an answer is by the cited statements, where it is not what is asked for; empty where it is; None: open."""
    about = walk.about[answer]
    thing = bool(about.ids) and not about.literal
    # "Taxi 4" is a name, "12 May 1968" a date.
    numeric = bool(re.search(r"\d", answer) if about.literal else re.search(r"^\d|\d{4}", answer))
    # Folded, "20.65" reads "20 65".
    bare = r"\d\d?(?: \d+)?|\d{5,7}|\d{9,}" if asked.kind == "time" else r"[\d ]+"
    if asked.kind != "number" and asked.sort and about.literal and re.fullmatch(bare, answer):
        return "a number"
    if asked.kind in {"number", "time"}:
        named = thing and not numeric and not set(answer.split()) <= NUMBER_WORDS
        return "a name" if named else _other_measure(answer, about, asked, walk)
    if any(map(asked.named_by, about.role)):
        return _narrower(answer, about, walk) if asked.kind == "thing" and about.literal else ""
    return _by_role(answer, asked, about, walk) if all(map(is_phrase, about.role | about.own)) else None


def _by_role(answer: str, asked: AskedKind, about: _Surroundings, walk: _Walk) -> str | None:
    """As `_by_statements`, by what relations call the answer, or its place among them where they tell nothing."""
    thing = bool(about.ids) and not about.literal
    if thing and any(map(asked.named_by, about.own)):
        return "what has it"
    if about.role and not about.own and asked.excludes({sort_of_objects(label) for label in about.role}):
        # Of a thing that is a subject too, what one statement calls it is not all.
        return f"a {noun_of(min(about.role))}"
    return _by_place(answer, asked, about, walk) if thing and not walk.compares else None


def _narrower(answer: str, about: _Surroundings, walk: _Walk) -> str:
    """What a number is by relations that all say more than the question does: "its median age" where an age is asked for; else empty."""
    more = [label for label in about.role if not walk.roots.issuperset(map(root_of, _unitless(label)))]
    return f"its {min(more).replace('_', ' ')}" if _BARE.fullmatch(answer) and len(more) == len(about.role) else ""


def _unitless(relation: str) -> list[str]:
    return [word for word in words_of(relation) if word not in _UNITS]


def _other_measure(answer: str, about: _Surroundings, asked: AskedKind, walk: _Walk) -> str:
    """What a number measures by its unit or by every statement whose value it is, where something else is asked for; else empty."""
    if asked.measure not in {"", "area"} and SQUARE.search(answer):
        return "an area"
    labels = about.role if about.literal and asked.measure else set()
    measures = {asked.measure if walk.says(label) else measure_of(label) for label in labels}
    return f"its {min(measures)}" if measures and measures.isdisjoint({"", asked.measure}) else ""


def _by_place(answer: str, asked: AskedKind, about: _Surroundings, walk: _Walk) -> str | None:
    """What an entity is by its place among the cited statements, where it is not at their end."""
    if walk.named(answer) and about.ids <= walk.starts - walk.ends:
        return "what it asks about"
    if asked.sort in MADE and not about.own and any(map(walk.calls_doer, about.role)):
        return ON_THE_WAY
    if not about.ids.isdisjoint(walk.arrivals):
        # A path of several steps ends there, whatever other lines say of it.
        return None
    back = {triple["relation"] for triple in walk.steps(about.ids, -1)}
    # "The country whose capital is Vientiane" asks for no other capital.
    back |= {one["relation"] for one in walk.triples if any(walk.named(label) for _, label, _ in _ends(one))}
    further = {
        noun_stem(triple["relation_label"]) for triple in walk.steps(about.ids, 1) if triple["relation"] not in back
    }
    return ON_THE_WAY if further & walk.words else None


def _by_lookup(answers: Sequence[str], asked: AskedKind, walk: _Walk, texts: Texts) -> Flow[str]:
    """As `misfit`, by the types and then the relations that the graph has for the answers: at most two round trips."""
    ids = [key for answer in answers for key in sorted(walk.about[fold(answer)].ids)]
    if unstated := [answer for answer in answers if not walk.about[fold(answer)].ids]:
        links = yield from requests.link_names(unstated, limit=1)
        ids += [link["entity"]["id"] for found in links for link in found]
    nearby = [key for passage in texts.passages.values() for key in passage["entities"]]
    wanted = list(dict.fromkeys([*ids, *nearby])) if answers else []
    found = yield from requests.entities(wanted[:MAX_LOOKED_UP])
    left: dict[str, str] = {}
    for answer in answers:
        known = [one for one in found if one is not None and fold(one["label"]) == fold(answer)]
        fault = _by_type(known, asked, walk)
        if fault:
            return _words(asked, answer, fault)
        left.update(dict.fromkeys((one["id"] for one in known), answer) if fault is None else ())
    values = [answer for answer in answers if walk.about[fold(answer)].literal]
    ids = list(dict.fromkeys([*left, *walk.things]))[:MAX_LOOKED_UP] if left or values else []
    edges = [edge for near in (yield from requests.relations(ids)) for edge in near if is_phrase(edge["label"])]
    if fault := _by_naming_relation(left, values, edges, asked, walk):
        return fault
    for edge in (edge for edge in edges if edge["entity"] in left):
        answer = left[edge["entity"]]
        names_other = _names_object(edge["label"]) == (edge["direction"] == "out")
        if not names_other or edge["name"] in walk.about[fold(answer)].names:
            continue
        if asked.named_by(edge["label"]):
            return _words(asked, answer, "what has it")
        if (
            noun_stem(edge["label"]) in walk.words
            and edge["name"] not in walk.relations
            and not (walk.compares or walk.communities)
        ):
            return _words(asked, answer, ON_THE_WAY)
    return ""


def _by_naming_relation(
    left: Mapping[str, str], values: Sequence[str], edges: Sequence[Relation], asked: AskedKind, walk: _Walk
) -> str:
    """As `misfit`: where the graph has a relation that is called as what is asked for, it leads to the answer."""
    naming = {edge["name"]: edge["label"] for edge in edges if asked.called(edge["label"], walk.words)}
    if not naming:
        return ""
    led_to = {
        edge["entity"]
        for edge in edges
        if edge["name"] in naming
        and (
            (asked.verb and not _names_doer(edge["label"]))
            or _names_object(edge["label"]) == (edge["direction"] == "in")
        )
    }
    reached = {left[key] for key in led_to & left.keys()}
    reached |= {one for one in values if any(asked.called(label, walk.words) for label in walk.about[fold(one)].role)}
    other = next((answer for answer in (*left.values(), *values) if answer not in reached), "")
    return _words(asked, other, f"nothing that {one_line(min(naming.values()))} leads to") if other else ""


def _by_type(known: Sequence[Entity], asked: AskedKind, walk: _Walk) -> str | None:
    """What entities of one name are by their types, where none is what is asked for; empty where one is; None: open."""
    if not known or any(one["literal"] for one in known):
        return ""
    sorts = {SORTS.get(noun_stem(one["type"]), "") for one in known}
    if asked.sort and asked.sort in sorts:
        return ""
    if asked.excludes(sorts):
        return f"a {one_line(known[0]['type'])}"
    ids = {one["id"] for one in known}
    led_on = asked.kind == "person" and "" not in sorts and not walk.communities and walk.steps(ids, 1)
    return ON_THE_WAY if asked.sort and not walk.compares and (led_on or walk.passes(ids)) else None
