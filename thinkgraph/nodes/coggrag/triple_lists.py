"""Candidate triples around entities as lists, and which of them are near enough to the keys (CogGRAG section 4.2)."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from thinkgraph.models.ops import Flow
from thinkgraph.prompts.lines import one_line, path_line
from thinkgraph.runtime import requests
from thinkgraph.state.coggrag import CogGragSettings
from thinkgraph.state.evidence import EvidenceItem, Path
from thinkgraph.state.knowledge import Neighbours, Relation, Step, Triple
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
        text = "\n".join([self.entity, self.triples[0]["relation"], "out" if self.outgoing else "in"])
        return "p" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]

    @property
    def open_sentence(self) -> str:
        """The triple with its far end left open ("Panama capital")."""
        parts = (self.label, self.relation) if self.outgoing else (self.relation, self.label)
        return one_line(" ".join(parts))


@dataclass
class Found:
    """Lists around some entities, and what was not read."""

    lists: list[TripleList]
    notes: list[str] = field(default_factory=list)
    triples: int = 0
    """Triples read."""


def sentence(triple: Triple) -> str:
    """A triple in words. Qualifiers are left out: no key has them, and they make the near ones seem far."""
    return one_line(f"{triple['subject_label']} {triple['relation_label']} {triple['object_label']}")


def expand(entities: Sequence[str], keys: Sequence[str], settings: CogGragSettings) -> Flow[Found]:
    """Every entity's triples, one hop, in one round trip.

    A hub is sampled there, which loses what it has only once; hubs are therefore read again, relation by relation (two more
    round trips, for all of them together).
    """
    near = yield from requests.neighbourhood(list(entities), limit=settings.hub, seed=settings.seed)
    around = dict(zip(entities, near, strict=True))
    hubs = [entity for entity, found in around.items() if found["total"] > len(found["triples"])]
    found = Found([])
    for entity in entities:
        if entity not in hubs:
            found.lists += _lists(entity, around[entity]["triples"], settings.tails)
            found.triples += len(around[entity]["triples"])
    if hubs:
        yield from _read_hubs(hubs, keys, settings, found)
    return found


def _read_hubs(hubs: Sequence[str], keys: Sequence[str], settings: CogGragSettings, found: Found) -> Flow[None]:
    every = yield from requests.relations(hubs)
    steps: list[Relation] = []
    for edges in every:
        best = _by_words([edge["label"] for edge in edges], keys, MOST_RELATIONS)
        steps += [edges[at] for at in best]
        if len(best) < len(edges):
            found.notes.append(f"{len(edges) - len(best)} of {len(edges)} relations of a hub were not read")
    wanted = [Step(entity=edge["entity"], relation=edge["name"], direction=edge["direction"]) for edge in steps]
    near: list[Neighbours] = yield from requests.neighbours(wanted, limit=settings.tails, seed=settings.seed)
    for edge, ends in zip(steps, near, strict=True):
        if ends["triples"]:
            outgoing = edge["direction"] == "out"
            found.lists.append(_list(edge["entity"], ends["triples"], outgoing=outgoing, total=ends["total"]))
            found.triples += len(ends["triples"])


def _lists(entity: str, triples: Sequence[Triple], most: int) -> list[TripleList]:
    groups: dict[tuple[str, bool], list[Triple]] = defaultdict(list)
    for triple in triples:
        groups[triple["relation"], triple["subject"] == entity].append(triple)
    return [_list(entity, group[:most], outgoing=outgoing, total=len(group)) for (_, outgoing), group in groups.items()]


def _list(entity: str, triples: list[Triple], *, outgoing: bool, total: int) -> TripleList:
    lead = triples[0]
    label = lead["subject_label"] if outgoing else lead["object_label"]
    return TripleList(entity, label, lead["relation_label"], outgoing, triples, total)


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
class Kept:
    """A list, or what is kept of it, with the cosine of its best sentence."""

    of: TripleList
    triples: list[Triple]
    score: float

    def item(self, number: int) -> EvidenceItem:
        """Its evidence item, found in round `number`."""
        return EvidenceItem(
            id=self.of.id,
            kind="path",
            score=round(self.score, 4),
            round=number,
            path=Path(start=self.of.entity, triples=[]),
            tails=[triple["id"] for triple in self.triples],
            total=self.of.total,
        )

    @property
    def line(self) -> str:
        """It as prompts show it."""
        return path_line(self.of.entity, [], self.triples, total=self.of.total)


@dataclass
class Pruning:
    """What similarity left of the candidates."""

    kept: list[Kept]
    """Best first."""
    dropped: list[tuple[str, float]]
    """Open sentence and best cosine of the lists that were not kept, best first."""
    compared: int
    notes: list[str]


def prune(lists: Sequence[TripleList], keys: Sequence[str], settings: CogGragSettings) -> Flow[Pruning]:
    """Keep what has a cosine above epsilon with some key; the `least` best of every key whatever their cosine.

    Sentences and keys are encoded in one batch, whose size is bounded: a cheap comparison of words comes before it. With
    `whole_lists` a list is compared as one open sentence ("Panama capital" against the key "Panama capital ?"). Measured with
    the bundled encoder over the 242 gold hops of 120 generated factbook questions (benchmarks/coggrag.py --epsilon), at the
    paper's epsilon of 0.7: such sentences keep 100 % of the gold lists where keys use the graph's words and 97.0 % where they
    paraphrase them (98.7 % with least = 3), beside 5 others a key, from 33 texts an entity; single triples 99.1 % and 78.9 %,
    from 139 texts.
    """
    notes: list[str] = []
    whole = settings.whole_lists
    places = [(at, -1) for at in range(len(lists))]
    if not whole:
        places = [(at, tail) for at, found in enumerate(lists) for tail in range(len(found.triples))]
    texts = [lists[at].open_sentence if tail < 0 else sentence(lists[at].triples[tail]) for at, tail in places]
    chosen = _by_words(texts, keys, settings.encode_texts)
    if len(chosen) < len(texts):
        notes.append(f"{len(texts) - len(chosen)} of {len(texts)} sentences were not compared (encode_texts)")
    rows = yield from requests.cosines([texts[at] for at in chosen], list(keys))
    score = {at: max(row) for at, row in zip(chosen, rows, strict=True) if row}
    taken = {at for at, value in score.items() if value > settings.epsilon}
    for column in range(len(keys)):
        best = sorted(zip(chosen, rows, strict=True), key=lambda pair: (-pair[1][column], pair[0]))
        taken |= {at for at, _ in best[: settings.least]}
    return _sorted_out(lists, places, score, taken, notes)


def _sorted_out(
    lists: Sequence[TripleList],
    places: Sequence[tuple[int, int]],
    score: Mapping[int, float],
    taken: Iterable[int],
    notes: list[str],
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
    kept: list[Kept] = []
    shown: list[set[str]] = []
    for owner in sorted(tails, key=lambda owner: (-best[owner], -len(tails[owner]), owner)):
        ids = {triple["id"] for triple in tails[owner]}
        # The same statements read from their other end tell nothing new.
        if not any(ids <= other for other in shown):
            shown.append(ids)
            kept.append(Kept(lists[owner], tails[owner], best[owner]))
    dropped = [(lists[owner].open_sentence, value) for owner, value in near.items() if owner not in tails]
    return Pruning(kept, sorted(dropped, key=lambda pair: -pair[1]), len(score), notes)
