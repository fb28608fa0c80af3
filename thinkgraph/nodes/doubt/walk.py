"""The cited statements as a walk away from what the question names, and what they say of each thing on it."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property

from thinkgraph.nodes.common.evidence_lines import Texts, reached_by, title_and_sentences, triples_of
from thinkgraph.nodes.doubt.asked_kind import UNIT, AskedKind, root_of, words_of
from thinkgraph.state.evidence import EvidenceItem
from thinkgraph.state.knowledge import Triple, both_ends, ends_of
from thinkgraph.tools.grounding import compares, fold, names_in, naming
from thinkgraph.tools.linking.lexical import content_tokens
from thinkgraph.tools.linking.names import is_name

_NAME = re.compile(r"(?<=\w )\W?([A-Z\d]\S+)")
"""A word that is written like a name, within a question."""
_THE = "the "
_ASKS_BESIDE = re.compile(
    r"\b(?:same|share[sd]?|common|others?|another|else|also|besides?|alongside|together|fellow"
    r"|(?:sibling|brother|sister|cousin|neighbou?r|colleague|peer|rival|co-?star|\w+mate)s?)\b",
    re.IGNORECASE,
)
"""A word by which a question asks for what stands beside the thing that it names."""


@dataclass
class Surroundings:
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


def _surroundings(triples: Iterable[Triple]) -> defaultdict[str, Surroundings]:
    """What the statements say about the things in them, by label (folded); nothing about any other."""
    found: defaultdict[str, Surroundings] = defaultdict(Surroundings)
    for triple in triples:
        for key, label, is_object in ends_of(triple):
            about = found[fold(label)]
            about.ids.add(key)
            about.literal |= triple["literal"] and is_object
            about.names.add(triple["relation"])
            named = names_object(triple["relation_label"]) == is_object
            (about.role if named else about.own).add(triple["relation_label"])
    return found


def names_doer(relation: str) -> bool:
    """Whether a relation's label says that its object did something: "directed by", "starred actors"; not "wrote"."""
    return bool(re.search(r"(?:[ _]by|[eo]rs?)$", relation.casefold()))


def names_object(relation: str) -> bool:
    """Whether the object is what a relation's label names: of "capital", but not of "capital of"."""
    return not re.search(r"[ _]of$", relation)


class Walk:
    """The cited statements as steps away from what the question names."""

    def __init__(self, question: str, items: Sequence[EvidenceItem], texts: Texts) -> None:
        """Args: the question; the evidence that answers to it stand on; what the evidence refers to."""
        self.triples = triples = list(triples_of(items, texts).values())
        self._about = _surroundings(triples)
        self.relations = {triple["relation"] for triple in triples}
        self.things = {
            key: label
            for one in triples
            for key, label, is_object in ends_of(one)
            if not (one["literal"] and is_object)
        }
        self.question, self.items, self.texts = question, items, texts
        self.asked = f" {fold(question)} "
        self._said = [f" {label} " for label in self._about if f" {label} " in self.asked]
        self.words = set(content_tokens(question))
        self.roots = set(map(root_of, self.words))
        self.compares = compares(question)
        self.round = max((item["round"] for item in items), default=0)
        self.communities = any(item["kind"] == "community" for item in items)
        self.starts = {item["path"]["start"] for item in items if item["kind"] == "path"}
        self.ends = reached_by(items, texts)
        long = [item for item in items if item["kind"] == "path" and item["path"]["triples"]]
        self.arrivals = reached_by(long, texts)
        self._far = self._distances()

    def about(self, answer: str) -> Surroundings:
        """What the statements say about an answer: about 386, where it is "386 km" and they have no such name."""
        whole, bare = fold(answer), fold(UNIT.sub("", answer))
        return self._about.get(whole) or self._about.get(bare) or Surroundings()

    def ids(self, answers: Iterable[str]) -> set[str]:
        """Ids of the things in the statements that answers may be."""
        return set().union(*(self.about(answer).ids for answer in answers))

    def named(self, label: str) -> bool:
        """Whether the question names the thing itself, and not only a longer name that contains it ("New York" in "New York City"). A name may
        leave out its article ("Gambia").
        """
        name = fold(label)
        bare = label[len(_THE) :] if name.startswith(_THE) and f" {name} " not in self.asked else ""
        if content_tokens(bare) and self.writes_as_name(bare):
            name = fold(bare)
        name = f" {name} "
        return name in self._asked_without(longer for longer in self._said if name != longer and name in longer)

    def writes_as_name(self, label: str) -> bool:
        """Whether the question has a label, written as a name is."""
        found = re.search(rf"\b{re.escape(label)}\b", self.question, re.IGNORECASE)
        return found is not None and is_name(found[0])

    def asks_with(self, word: str) -> bool:
        """Whether the question has a word, folded, beside the names in the statements: "longest", but not of "the longest day"."""
        return f" {word} " in self._asked_without(self._said)

    def _asked_without(self, names: Iterable[str]) -> str:
        asked = self.asked
        for name in names:
            asked = asked.replace(name, " | ")
        return asked

    @cached_property
    def things_named(self) -> set[str]:
        """Ids of the things that the question names."""
        return {key for key, label in self.things.items() if self.named(label)}

    @property
    def is_whole(self) -> bool:
        """Whether all that is cited are paths: a text says more than its statements, and of a chain of communities only some are cited."""
        return all(item["kind"] == "path" for item in self.items)

    @property
    def is_rooted(self) -> bool:
        """Whether a thing in the statements shares a word with the question's names; True where it has none, and of a cited community,
        whose chain is not cited as a whole.
        """
        names = set(fold(" ".join(_NAME.findall(self.question))).split())
        return self.communities or not names or any(not names.isdisjoint(label.split()) for label in self._about)

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
            for (_, label, _), (_, other, _) in itertools.permutations(ends_of(triple), 2)
        ]
        return set(answers) <= {end for end, _ in spelt} and any(
            end in answers and self.named(other) for end, other in spelt
        )

    def passed(self, answers: Sequence[str]) -> int | None:
        """How many things lie between what the question names and the answers.

        Counted are the things of the statements, of communities only those on a way to the answers. Where the statements lead to no answer
        from what the question names, the names in sentences that hold an answer count too. None if it is not known: the cited paths start
        elsewhere, or texts are cited that hold no answer.
        """
        named = {key for key, label in self.things.items() if self._names_whole(label)}
        # A chunk has the path that led to it.
        starts = {item["path"]["start"] for item in self.items if "path" in item}
        told = self._names_beside(set(map(fold, answers)))
        if told is None or not (self.communities or not named.isdisjoint(starts)):
            return None
        ends = self.ids(answers)
        ways = self._between(named, ends) - named - ends
        passed = {key: fold(label) for key, label in self.things.items() if key in ways}
        led_to = self.reached(named)
        if all(not self.about(answer).ids.isdisjoint(led_to) for answer in answers):
            return len(passed)
        return len(passed) + len(told.difference(passed.values()))

    def _between(self, named: AbstractSet[str], ended: AbstractSet[str]) -> AbstractSet[str]:
        """What lies on ways between things named and answers that pass nothing twice, both with it. All things where no community is cited,
        and where the statements lack one of both.
        """
        if not (self.communities and named and ended):
            return self.things.keys()
        near: defaultdict[str, set[str]] = defaultdict(set)
        for one in self.triples:
            if not one["literal"] or one["object"] in ended:
                for here, end in itertools.permutations(both_ends(one)):
                    near[here].add(end)
        ends = named | ended
        while dead := {key for key in near if len(near[key]) <= 1} - ends:
            for key in dead:
                for other in near.pop(key):
                    near[other].discard(key)
        between = set(near)
        for cut in near:
            # What only this thing joins to the ends is a way aside.
            edge = reached = ends - {cut}
            while edge := set().union(*(near.get(key, ()) for key in edge)) - reached - {cut}:
                reached = reached | edge
            between &= reached | {cut}
        return between

    def _names_beside(self, answers: AbstractSet[str]) -> set[str] | None:
        """What the sentences that hold an answer, and the titles of their passages, name beside the answers and what the question names.
        None where texts are cited that hold none.
        """
        chunks = [item for item in self.items if item["kind"] == "chunk"]
        told: list[str] = []
        for chunk in chunks:
            title, sentences = title_and_sentences(chunk, self.texts)
            if holding := naming(sentences, answers):
                told += [title, *holding]
        # "The" and "It" begin a sentence and name nothing.
        names = {name for part in told for name in names_in(part) if content_tokens(name)}
        return {name for name in names - answers if not self.named(name)} if told or not chunks else None

    def is_aside(self, answer: str) -> bool:
        """Whether each way to an answer enters a list by one of its things and leaves it by another: two countries are "member of" the same.

        False if the question says that relation or asks for what is beside, and if a text tells a part of the way.
        """
        ids = self.about(answer).ids
        return bool(ids) and ids <= self._aside

    @cached_property
    def _aside(self) -> set[str]:
        if self.compares or _ASKS_BESIDE.search(self.question) or any(one["kind"] == "chunk" for one in self.items):
            return set()
        return self.reached(self.things_named) - self.reached(self.things_named, straight=True)

    def reached(self, start: AbstractSet[str], *, straight: bool = False) -> set[str]:
        """What the statements lead to from there, with it; `straight`: without a way into a list and out again, as of `is_aside`."""
        reached: set[str] = set()
        edge = set(start)
        while edge:
            reached |= edge
            found: set[str] = set()
            # A value leads nowhere.
            leading = edge & self.things.keys()
            for (here, relation, _), ends in self.lists.items():
                if here in leading:
                    nearer = {end for end in ends if self._far[end] < max(self._far[here], 1)}
                    found |= nearer if straight and nearer and not self.says(relation) else ends
            edge = found - reached
        return reached

    @cached_property
    def lists(self) -> Mapping[tuple[str, str, bool], set[str]]:
        """What each relation leads to from each thing, outwards and backwards."""
        lists: defaultdict[tuple[str, str, bool], set[str]] = defaultdict(set)
        for one in self.triples:
            for (here, _, _), (end, _, is_object) in itertools.permutations(ends_of(one), 2):
                lists[here, one["relation_label"], is_object].add(end)
        return lists

    def _names_whole(self, label: str) -> bool:
        """Whether the question names a thing, and not as a part of a longer name that nothing here bears: "Flicka" of "My Friend Flicka"."""
        if not self.named(label):
            return False
        found = re.search(
            rf"(?:(?P<before>\S+) )?\b{re.escape(label)}\b(?: (?P<after>\S+))?", self.question, re.IGNORECASE
        )
        # The first word of a question is always written like a name.
        around = [found["after"], found["before"] if found.start() else None] if found else []
        return not any(word and word[0].isupper() for word in around)

    def calls_doer(self, relation: str) -> bool:
        """Whether the question has a word for who did what a relation says: "director" for "directed by"."""
        roots = {root_of(word) for word in self.words if root_of(word) != word}
        return names_doer(relation) and not roots.isdisjoint(map(root_of, words_of(relation)))

    def is_asked_about(self, answer: str, asked: AskedKind | None) -> bool:
        """Whether an answer is a thing that the question only asks about: the question names it, and no statement leads from it to itself
        or makes it what is asked for of another thing named. If it is not known what is asked for, any statement about both of them counts.
        """
        ids = self.about(answer).ids
        return (
            bool(ids)
            and self.named(answer)
            and not any(one["subject"] == one["object"] and one["object"] in ids for one in self.triples)
            and not any(
                (asked is None or asked.named_by(triple["relation_label"])) and self.named(other)
                for triple in self.triples
                for (_, label, is_object), (_, other, _) in itertools.permutations(ends_of(triple), 2)
                if fold(label) == answer and names_object(triple["relation_label"]) == is_object
            )
        )

    def _distances(self) -> dict[str, int]:
        labels = {key: label for triple in self.triples for key, label, _ in ends_of(triple)}
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
            for (here, _, _), (end, label, is_object) in itertools.permutations(ends_of(triple), 2)
            if here in ids
            and way * (self._far.get(end, 0) - self._far.get(here, 0)) > 0
            and not (triple["literal"] and is_object)
            and (way < 0 or not self.named(label))
        ]

    def passes(self, ids: set[str]) -> bool:
        """Whether the cited paths lead through these entities and none ends there."""
        return ids.isdisjoint(self.ends | self.starts) and bool(self.steps(ids, 1))
