"""Candidate triples around entities as lists, and which of them are near enough to the keys (CogGRAG section 4.2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from thinkgraph.models.ops import Flow
from thinkgraph.prompts.lines import one_line, path_line
from thinkgraph.runtime import requests
from thinkgraph.state.coggrag import CogGragSettings
from thinkgraph.state.evidence import EvidenceItem, Path, path_item, path_key
from thinkgraph.state.knowledge import Relation, Triple, step_along
from thinkgraph.tools.linking.lexical import query_tokens


@dataclass
class TripleList:
    """The triples of one entity that share relation and direction."""

    entity: str
    outgoing: bool
    triples: list[Triple]
    total: int
    """How many there are in the graph."""

    @property
    def open_sentence(self) -> str:
        """Entity and relation in the triples' order, without the other end ("Panama capital")."""
        first = self.triples[0]
        parts = [first["subject_label"], first["relation_label"]]
        if not self.outgoing:
            parts = [first["relation_label"], first["object_label"]]
        return one_line(" ".join(parts))

    @property
    def line(self) -> str:
        """It as prompts show it."""
        return path_line(self.entity, [], self.triples, total=self.total)

    def item(self, score: float, number: int) -> EvidenceItem:
        """Its evidence item, found in round `number`."""
        key = path_key(self.entity, self.triples[0]["relation"], "out" if self.outgoing else "in")
        tails = [triple["id"] for triple in self.triples]
        return path_item(key, Path(start=self.entity, triples=[]), tails, total=self.total, score=score, number=number)


@dataclass
class CandidateTriples:
    """The triples around some entities."""

    lists: list[TripleList] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What was not read, in words."""
    triples: int = 0
    """Triples read."""


def left_out(every: int, most: int, what: str) -> str:
    """A note that only so many things of all could be looked at; `what` says what was not done with the others."""
    return f"{every - most} of {every} {what}"


def sentence(triple: Triple) -> str:
    """A triple in words. Qualifiers are left out: no key has them, and they lower the cosine of triples that match."""
    return one_line(f"{triple['subject_label']} {triple['relation_label']} {triple['object_label']}")


def expand(entities: Sequence[str], keys: Sequence[str], settings: CogGragSettings) -> Flow[CandidateTriples]:
    """Every entity's triples, one hop, in one round trip.

    That round trip samples the triples of a hub and can miss a relation with few triples. Hubs are therefore read again,
    relation by relation, in two more round trips for all of them together. Where a hub has too many relations, the keys in
    words choose among them.
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
        found.triples += len(around["triples"])
        for (_, outgoing), group in groups.items():
            found.lists.append(TripleList(entity, outgoing, group[: settings.tails], len(group)))
    if hubs:
        yield from _read_hubs(hubs, keys, settings, found)
    return found


def _read_hubs(
    hubs: Sequence[str], keys: Sequence[str], settings: CogGragSettings, found: CandidateTriples
) -> Flow[None]:
    every = yield from requests.relations(hubs)
    chosen: list[Relation] = []
    for relations in every:
        labels = [relation["label"] for relation in relations]
        best = _by_words(
            labels, keys, settings.hub_relations, found.notes, "relations of a hub were not read (hub_relations)"
        )
        chosen += [relations[at] for at in best]
    steps = list(map(step_along, chosen))
    near = yield from requests.neighbours(steps, limit=settings.tails, seed=settings.seed)
    for step, ends in zip(steps, near, strict=True):
        if ends["triples"]:
            found.triples += len(ends["triples"])
            found.lists.append(TripleList(step["entity"], step["direction"] == "out", ends["triples"], ends["total"]))


def _words(text: str) -> frozenset[str]:
    return frozenset(query_tokens(text))


def _by_words(texts: Sequence[str], keys: Sequence[str], most: int, notes: list[str], left: str) -> list[int]:
    """Places of the `most` texts that share most words with a key, in their order (Dice over sets of words).

    A note says how many others are `left` out.
    """
    if len(texts) <= most:
        return list(range(len(texts)))
    notes.append(left_out(len(texts), most, left))
    wanted = [_words(key) for key in keys]
    bags = [_words(text) for text in texts]
    likeness = [max((2 * len(b & w) / (len(b) + len(w)) for w in wanted if b or w), default=0.0) for b in bags]
    return sorted(sorted(range(len(texts)), key=lambda at: (-likeness[at], at))[:most])


@dataclass
class Pruning:
    """What similarity kept and dropped of the candidates."""

    kept: list[tuple[TripleList, float]] = field(default_factory=list)
    """Lists of kept triples with the cosine of their best sentence, best first."""
    dropped: list[tuple[str, float]] = field(default_factory=list)
    """Open sentence and best cosine of the lists that were not kept, best first."""
    compared: int = 0
    """Sentences compared with the keys."""


def prune(found: CandidateTriples, keys: Sequence[str], settings: CogGragSettings, *, least: int) -> Flow[Pruning]:
    """Keep what has a cosine above epsilon with some key, and the `least` best of every key whatever their cosine.

    Sentences and keys are encoded in one batch. A comparison of words bounds its size first. With `whole_lists` a list is
    compared as one open sentence ("Panama capital" against the key "Panama capital ?"). Measured with the bundled encoder over
    the 242 gold hops of 120 generated factbook questions (benchmarks/coggrag.py --epsilon), at the paper's epsilon of 0.7:
    open sentences keep 100 % of the gold lists where keys use the graph's words and 97.0 % where they paraphrase them (98.7 %
    with least = 3), beside 5 others a key, from 33 texts an entity. Single triples keep 99.1 % and 78.9 %, from 139 texts.

    What is not compared is added to the candidates' notes. Keys are in words.
    """
    lists = found.lists
    # Each sentence stands for the triples of one list, or for one of them.
    said = [(at, one.open_sentence, one.triples) for at, one in enumerate(lists)]
    if not settings.whole_lists:
        said = [(at, sentence(triple), [triple]) for at, _, triples in said for triple in triples]
    texts = [text for _, text, _ in said]
    chosen = _by_words(texts, keys, settings.encode_texts, found.notes, "sentences were not compared (encode_texts)")
    rows = yield from requests.cosines([said[place][1] for place in chosen], list(keys))
    score = {place: max(row) for place, row in zip(chosen, rows, strict=True) if row}
    taken = {place for place, value in score.items() if value > settings.epsilon}
    for column in range(len(keys)):
        nearest = sorted(zip(chosen, rows, strict=True), key=lambda pair: (-pair[1][column], pair[0]))
        taken |= {place for place, _ in nearest[:least]}
    kept: dict[int, list[Triple]] = defaultdict(list)
    best: dict[int, float] = {}
    near: dict[int, float] = {}
    for place, value in score.items():
        at, _, triples = said[place]
        near[at] = max(near.get(at, -1.0), value)
        if place in taken:
            kept[at] += triples
            best[at] = max(best.get(at, -1.0), value)
    dropped = [(lists[at].open_sentence, value) for at, value in near.items() if at not in kept]
    ranked = [
        (replace(lists[at], triples=kept[at]), best[at])
        for at in sorted(kept, key=lambda at: (-best[at], -len(kept[at]), at))
    ]
    return Pruning(_distinct(ranked), sorted(dropped, key=lambda pair: -pair[1]), len(score))


def _distinct(lists: Iterable[tuple[TripleList, float]]) -> list[tuple[TripleList, float]]:
    """The lists without those whose triples a better one has: it may have been read from their other end."""
    kept: list[tuple[TripleList, float]] = []
    shown: list[set[str]] = []
    for one, score in lists:
        ids = {triple["id"] for triple in one.triples}
        if not any(ids <= other for other in shown):
            shown.append(ids)
            kept.append((one, score))
    return kept
