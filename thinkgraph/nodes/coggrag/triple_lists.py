"""Candidate triples around entities as lists, and which of them are near enough to the keys (CogGRAG section 4.2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from thinkgraph.models.ops import Flow
from thinkgraph.prompts.lines import one_line, path_line
from thinkgraph.runtime import requests
from thinkgraph.state.coggrag import CogGragSettings
from thinkgraph.state.evidence import EvidenceItem, Path, path_item, path_key
from thinkgraph.state.knowledge import Relation, Step, Triple
from thinkgraph.tools.linking.lexical import content_tokens, tokens

MOST_RELATIONS = 200
"""Relations read at a hub."""


@dataclass
class TripleList:
    """The triples of one entity that share relation and direction."""

    entity: str
    label: str
    relation: str
    outgoing: bool
    triples: list[Triple]
    total: int
    """How many there are in the graph."""

    @property
    def id(self) -> str:
        """Id of its evidence item."""
        return path_key(self.entity, self.triples[0]["relation"], "out" if self.outgoing else "in")

    @property
    def open_sentence(self) -> str:
        """Entity and relation in the triples' order, without the other end ("Panama capital")."""
        parts = (self.label, self.relation) if self.outgoing else (self.relation, self.label)
        return one_line(" ".join(parts))


@dataclass
class CandidateTriples:
    """The triples around some entities."""

    lists: list[TripleList] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What was not read, in words."""
    triples: int = 0
    """Triples read."""

    def add(self, entity: str, triples: list[Triple], *, outgoing: bool, total: int, most: int) -> None:
        """Add the triples of one entity, relation and direction.

        Args:
            entity: its id.
            triples: those that were read, at least one.
            outgoing: whether the entity is their subject.
            total: how many there are in the graph.
            most: how many are compared with the keys.
        """
        label = triples[0]["subject_label" if outgoing else "object_label"]
        relation = triples[0]["relation_label"]
        self.lists.append(TripleList(entity, label, relation, outgoing, triples[:most], total))
        self.triples += len(triples)


def sentence(triple: Triple) -> str:
    """A triple in words. Qualifiers are left out: no key has them, and they lower the cosine of triples that match."""
    return one_line(f"{triple['subject_label']} {triple['relation_label']} {triple['object_label']}")


def expand(entities: Sequence[str], keys: Sequence[str], settings: CogGragSettings) -> Flow[CandidateTriples]:
    """Every entity's triples, one hop, in one round trip.

    That round trip samples the triples of a hub and can miss a relation with few triples. Hubs are therefore read again,
    relation by relation, in two more round trips for all of them together.

    Args:
        entities: ids.
        keys: in words; they choose the relations of a hub that has too many.
        settings: the run's.
    """
    found = CandidateTriples()
    near = yield from requests.neighbourhood(list(entities), limit=settings.hub, seed=settings.seed)
    hubs = []
    for entity, around in zip(entities, near, strict=True):
        if around["total"] > len(around["triples"]):
            hubs.append(entity)
            continue
        groups: dict[tuple[str, bool], list[Triple]] = defaultdict(list)
        for triple in around["triples"]:
            groups[triple["relation"], triple["subject"] == entity].append(triple)
        for (_, outgoing), group in groups.items():
            found.add(entity, group, outgoing=outgoing, total=len(group), most=settings.tails)
    if hubs:
        yield from _read_hubs(hubs, keys, settings, found)
    return found


def _read_hubs(
    hubs: Sequence[str], keys: Sequence[str], settings: CogGragSettings, found: CandidateTriples
) -> Flow[None]:
    every = yield from requests.relations(hubs)
    chosen: list[Relation] = []
    for relations in every:
        best = _by_words([relation["label"] for relation in relations], keys, MOST_RELATIONS)
        chosen += [relations[at] for at in best]
        if len(best) < len(relations):
            found.notes.append(f"{len(relations) - len(best)} of {len(relations)} relations of a hub were not read")
    steps = [Step(entity=one["entity"], relation=one["name"], direction=one["direction"]) for one in chosen]
    near = yield from requests.neighbours(steps, limit=settings.tails, seed=settings.seed)
    for step, ends in zip(steps, near, strict=True):
        if ends["triples"]:
            outgoing = step["direction"] == "out"
            found.add(step["entity"], ends["triples"], outgoing=outgoing, total=ends["total"], most=settings.tails)


def _words(text: str) -> frozenset[str]:
    return frozenset(content_tokens(text) or tokens(text))


def _by_words(texts: Sequence[str], keys: Sequence[str], most: int) -> list[int]:
    """Places of the `most` texts that share most words with a key, in their order (Dice over sets of words)."""
    if len(texts) <= most:
        return list(range(len(texts)))
    wanted = [_words(key) for key in keys]
    bags = [_words(text) for text in texts]
    likeness = [max((2 * len(b & w) / (len(b) + len(w)) for w in wanted if b or w), default=0.0) for b in bags]
    return sorted(sorted(range(len(texts)), key=lambda at: (-likeness[at], at))[:most])


@dataclass
class KeptList:
    """The kept triples of a list, with the cosine of its best sentence."""

    of: TripleList
    triples: list[Triple]
    score: float

    def item(self, number: int) -> EvidenceItem:
        """Its evidence item, found in round `number`."""
        path = Path(start=self.of.entity, triples=[])
        tails = [triple["id"] for triple in self.triples]
        return path_item(self.of.id, path, tails, total=self.of.total, score=self.score, number=number)

    @property
    def line(self) -> str:
        """It as prompts show it."""
        return path_line(self.of.entity, [], self.triples, total=self.of.total)


@dataclass
class Pruning:
    """What similarity kept and dropped of the candidates."""

    kept: list[KeptList] = field(default_factory=list)
    """Best first."""
    dropped: list[tuple[str, float]] = field(default_factory=list)
    """Open sentence and best cosine of the lists that were not kept, best first."""
    compared: int = 0
    """Sentences compared with the keys."""


def prune(found: CandidateTriples, keys: Sequence[str], settings: CogGragSettings) -> Flow[Pruning]:
    """Keep what has a cosine above epsilon with some key, and the `least` best of every key whatever their cosine.

    Sentences and keys are encoded in one batch. A comparison of words bounds its size first. With `whole_lists` a list is
    compared as one open sentence ("Panama capital" against the key "Panama capital ?"). Measured with the bundled encoder over
    the 242 gold hops of 120 generated factbook questions (benchmarks/coggrag.py --epsilon), at the paper's epsilon of 0.7:
    open sentences keep 100 % of the gold lists where keys use the graph's words and 97.0 % where they paraphrase them (98.7 %
    with least = 3), beside 5 others a key, from 33 texts an entity. Single triples keep 99.1 % and 78.9 %, from 139 texts.

    Args:
        found: the candidates. What is not compared is added to their notes.
        keys: in words.
        settings: the run's.
    """
    lists, whole = found.lists, settings.whole_lists
    places = [(at, -1) for at in range(len(lists))]
    if not whole:
        places = [(at, tail) for at, one in enumerate(lists) for tail in range(len(one.triples))]
    texts = [lists[at].open_sentence if tail < 0 else sentence(lists[at].triples[tail]) for at, tail in places]
    chosen = _by_words(texts, keys, settings.encode_texts)
    if len(chosen) < len(texts):
        found.notes.append(f"{len(texts) - len(chosen)} of {len(texts)} sentences were not compared (encode_texts)")
    rows = yield from requests.cosines([texts[at] for at in chosen], list(keys))
    score = {at: max(row) for at, row in zip(chosen, rows, strict=True) if row}
    taken = {at for at, value in score.items() if value > settings.epsilon}
    for column in range(len(keys)):
        best = sorted(zip(chosen, rows, strict=True), key=lambda pair: (-pair[1][column], pair[0]))
        taken |= {at for at, _ in best[: settings.least]}
    return _pruning(lists, places, score, taken)


def _pruning(
    lists: Sequence[TripleList], places: Sequence[tuple[int, int]], score: Mapping[int, float], taken: Iterable[int]
) -> Pruning:
    near: dict[int, float] = {}
    for at, value in score.items():
        near[places[at][0]] = max(near.get(places[at][0], -1.0), value)
    tails: dict[int, list[Triple]] = defaultdict(list)
    best: dict[int, float] = {}
    for at in sorted(taken):
        owner, tail = places[at]
        tails[owner] += lists[owner].triples if tail < 0 else [lists[owner].triples[tail]]
        best[owner] = max(best.get(owner, -1.0), score[at])
    kept: list[KeptList] = []
    shown: list[set[str]] = []
    for owner in sorted(tails, key=lambda owner: (-best[owner], -len(tails[owner]), owner)):
        ids = {triple["id"] for triple in tails[owner]}
        # The same triples may be another list's, read from their other end.
        if not any(ids <= other for other in shown):
            shown.append(ids)
            kept.append(KeptList(lists[owner], tails[owner], best[owner]))
    dropped = [(lists[owner].open_sentence, value) for owner, value in near.items() if owner not in tails]
    return Pruning(kept, sorted(dropped, key=lambda pair: -pair[1]), len(score))
