"""Relation discovery and relation prune (ToG-2 section 3.2.1, equations 1 to 3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.doubt import turned
from thinkgraph.nodes.common.reports import pruned
from thinkgraph.prompts.kinds import SCORE, Shape
from thinkgraph.prompts.lines import described, numbered, relation_line, safe_block
from thinkgraph.runtime import requests
from thinkgraph.state.knowledge import Relation
from thinkgraph.state.tog2 import BeamSettings, KeptRelation, RelationPruneTask, Topic, place, relation_key
from thinkgraph.tools.linking.lexical import overlap


@dataclass(frozen=True)
class _Offer:
    """A relation as one option: of one topic entity, or of all that one relation led to."""

    place: str
    """Where the entities stand; see `place`."""
    edges: list[Relation]
    first: str
    """Label of the first of the entities."""

    @property
    def label(self) -> str:
        more = len(self.edges) - 1
        return f"{self.first} and {more} more" if more else self.first

    @property
    def relation(self) -> Relation:
        """The relation at the first entity, with the count of all."""
        return {**self.edges[0], "count": sum(edge["count"] for edge in self.edges)}

    @property
    def shown(self) -> str:
        return f"{self.label}: {self.edges[0]['label']}" + " (inverse)" * (self.edges[0]["direction"] == "in")


def _by_words(question: str, offers: Sequence[_Offer], most: int) -> list[tuple[int, float]]:
    """The fallback: relations that share words with the question."""
    likeness = [(number, overlap(offer.relation["label"], question)) for number, offer in enumerate(offers, start=1)]
    return [(number, 10 * value) for number, value in sorted(likeness, key=lambda pair: -pair[1])[:most]]


def relation_prune(state: RelationPruneTask, settings: BeamSettings) -> Flow[Update]:
    """Find every relation of the given topic entities and keep at most R scored ones per entity.

    The state is the payload of one Send: all topic entities in combined mode, those of one place in the beam otherwise. Entities of one
    place are offered together (`beam=paths`, and once the search has gone back). One that has gone back is not offered what it walked.
    """
    topics = state["topics"]
    discovered = yield from requests.relations([topic["id"] for topic in topics])
    walked = frozenset(state["walked"])
    discovered = [[edge for edge in found if _key(edge) not in walked] for found in discovered]
    together = settings.paths or state["backtracked"] > 0
    every = _offers(topics, discovered, settings.relation_options, together=together)
    offers = list(turned(every, state["backtracked"]))
    if not offers:
        return {"kept": {}}
    most = settings.relations * len({offer.place for offer in offers})
    scored = yield from requests.call(
        SCORE,
        "tog2.relation_prune",
        {
            "question": safe_block(state["question"]),
            "entities": numbered(_entities(topics, offers)),
            "options": numbered(relation_line(offer.relation, offer.label) for offer in offers),
            "most": str(settings.relations),
        },
        shape=Shape(options=len(offers), most=most, explain=settings.explain),
        fallback=lambda: _by_words(state["question"], offers, settings.relations),
        key=state["part"],
        rank={"options": lambda: [number for number, _ in _by_words(state["question"], offers, len(offers))]},
    )
    best: dict[str, list[tuple[float, _Offer]]] = defaultdict(list)
    for number, value in scored:
        if value >= settings.min_relation_score:
            best[offers[number - 1].place].append((value, offers[number - 1]))
    # Ties keep the model's order.
    chosen = [
        pair for found in best.values() for pair in sorted(found, key=lambda pair: -pair[0])[: settings.relations]
    ]
    kept = {
        _key(edge): KeptRelation(
            entity=edge["entity"],
            relation=edge["name"],
            direction=edge["direction"],
            score=value,
            count=edge["count"],
        )
        for value, offer in chosen
        for edge in offer.edges
    }
    dropped = [(offer.shown, 0.0) for offer in offers if _key(offer.edges[0]) not in kept]
    names = [(offer.shown, value) for value, offer in chosen]
    note = yield from pruned("relations", state["round"], names, dropped, "scored too low for the question")
    return {"kept": kept, "pruned": note}


def _offers(
    topics: Sequence[Topic], discovered: Sequence[Sequence[Relation]], most: int, *, together: bool
) -> list[_Offer]:
    """The options; where they are too many, of each topic entity the relations that are rarest there."""
    if sum(map(len, discovered)) > most and not together:
        share = max(1, most // len(topics))
        discovered = [sorted(found, key=lambda edge: edge["count"])[:share] for found in discovered]
    offers: dict[tuple[str, str, str], _Offer] = {}
    for topic, found in zip(topics, discovered, strict=True):
        own = place(topic, together=together)
        for edge in found:
            offer = offers.setdefault((own, edge["direction"], edge["name"]), _Offer(own, [], topic["label"]))
            offer.edges.append(edge)
    every = list(offers.values())
    return sorted(every, key=lambda offer: offer.relation["count"])[:most] if together and len(every) > most else every


def _entities(topics: Sequence[Topic], offers: Sequence[_Offer]) -> list[str]:
    """The entities that options are shown at, with what is known of them."""
    shown = {offer.first for offer in offers}
    return list(dict.fromkeys(described(one["label"], one["description"]) for one in topics if one["label"] in shown))


def _key(edge: Relation) -> str:
    return relation_key(edge["entity"], edge["direction"], edge["name"])
