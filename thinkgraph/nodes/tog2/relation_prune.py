"""Relation discovery and relation prune (ToG-2 section 3.2.1, equations 1 to 3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thinkgraph.models.ops import Flow, Update
from thinkgraph.models.window import Rank
from thinkgraph.nodes.common.reports import pruned
from thinkgraph.nodes.doubt.judged import turned
from thinkgraph.prompts.forms import MAX_SCORE
from thinkgraph.prompts.kinds import SCORE, Shape
from thinkgraph.prompts.lines import described, numbered, relation_line, safe_block
from thinkgraph.runtime import requests
from thinkgraph.state.knowledge import Relation
from thinkgraph.state.tog2 import BeamSettings, BeamState, KeptRelation, RelationPruneTask, Topic, place, relation_key
from thinkgraph.tools.linking.lexical import overlap


@dataclass(frozen=True)
class Offer:
    """A relation as one option: of one topic entity, or of all that one relation led to."""

    place: str
    """Key of the place in the beam; see `place`."""
    edges: list[Relation]
    first: str
    """Label of the first of the entities."""

    @property
    def key(self) -> str:
        """What it is called in `BeamState.scored`."""
        return relation_key(self.place, self.edges[0]["direction"], self.edges[0]["name"])

    @property
    def label(self) -> str:
        """The entities in words."""
        more = len(self.edges) - 1
        return f"{self.first} and {more} more" if more else self.first

    @property
    def relation(self) -> Relation:
        """The relation at the first entity, with the count of all."""
        return {**self.edges[0], "count": sum(edge["count"] for edge in self.edges)}

    @property
    def shown(self) -> str:
        """The option in words, for people."""
        return f"{self.label}: {self.edges[0]['label']}" + " (inverse)" * (self.edges[0]["direction"] == "in")


def offered(topics: Sequence[Topic], walked: Sequence[str], turns: int, settings: BeamSettings) -> Flow[list[Offer]]:
    """The relations that a search can walk next, in one round trip.

    Args:
        topics: the current topic entities.
        walked: keys of relations that are not offered again.
        turns: how often the search has gone back.
        settings: the run's.

    Returns:
        The options. After the search has gone back they stand in another order.
    """
    discovered = yield from requests.relations([topic["id"] for topic in topics])
    gone = frozenset(walked)
    discovered = [[edge for edge in found if _key(edge) not in gone] for found in discovered]
    every = _offers(topics, discovered, settings.relation_options, together=settings.paths or turns > 0)
    return list(turned(every, turns))


def walked_before(state: BeamState) -> list[str]:
    """Keys of the relations that a search is not offered again: none until it goes back. As in the paper, a search that reaches an entity
    twice may walk the same relation twice.
    """
    return list(state["walked"]) if state["backtracked"] else []


def options_shown(topics: Sequence[Topic], offers: Sequence[Offer], settings: BeamSettings) -> dict[str, str]:
    """The places of a prompt that lists relations to be scored."""
    return {
        "entities": numbered(_entities(topics, offers)),
        "options": numbered(relation_line(offer.relation, offer.label) for offer in offers),
        "most": str(settings.relations),
    }


def most_of(offers: Sequence[Offer], settings: BeamSettings) -> int:
    """Most relations that may be kept: R of each place."""
    return settings.relations * len({offer.place for offer in offers})


def ranked(question: str, offers: Sequence[Offer]) -> dict[str, Rank]:
    """Which options to show where not all fit."""
    return {"options": lambda: [number for number, _ in _by_words(question, offers, len(offers))]}


def _said(offers: Sequence[Offer], scored: Mapping[str, float]) -> list[tuple[int, float]]:
    """What Reason's reply said of these options, in its order."""
    numbers = {offer.key: number for number, offer in enumerate(offers, start=1)}
    return [(numbers[key], value) for key, value in scored.items() if key in numbers]


def _by_words(question: str, offers: Sequence[Offer], most: int) -> list[tuple[int, float]]:
    """The fallback: relations that share words with the question."""
    likeness = [(number, overlap(offer.relation["label"], question)) for number, offer in enumerate(offers, start=1)]
    return [(number, 10 * value) for number, value in sorted(likeness, key=lambda pair: -pair[1])[:most]]


def relation_prune(state: RelationPruneTask, settings: BeamSettings) -> Flow[Update]:
    """Find every relation of the given topic entities and keep at most R scored ones per entity.

    Where Reason's reply has scored them (`steered`), or there is one alone (`skip_exact_topic`), no call is made.

    The state is the payload of one Send: all topic entities in combined mode, those of one place in the beam otherwise. Entities of one
    place are offered together (`beam=paths`, and once the search has gone back). One that has gone back is not offered what it walked.
    """
    topics = state["topics"]
    offers = yield from offered(topics, state["walked"], state["backtracked"], settings)
    if not offers:
        return {"kept": {}}
    scored = _said(offers, state["scored"])
    if not scored and settings.skip_exact_topic and len(offers) == 1:
        scored = [(1, float(MAX_SCORE))]
    elif not scored:
        scored = yield from requests.call(
            SCORE,
            "tog2.relation_prune",
            {"question": safe_block(state["question"]), **options_shown(topics, offers, settings)},
            shape=Shape(options=len(offers), most=most_of(offers, settings), explain=settings.explain),
            fallback=lambda: _by_words(state["question"], offers, settings.relations),
            key=state["part"],
            rank=ranked(state["question"], offers),
        )
    best: dict[str, list[tuple[float, Offer]]] = defaultdict(list)
    for number, value in scored:
        if value >= settings.min_relation_score:
            best[offers[number - 1].place].append((value, offers[number - 1]))
    # Ties keep the model's order.
    chosen = [
        pair for found in best.values() for pair in sorted(found, key=lambda pair: -pair[0])[: settings.relations]
    ]
    kept = {
        _key(edge): KeptRelation(
            entity=edge["entity"], relation=edge["name"], direction=edge["direction"], score=value, count=edge["count"]
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
) -> list[Offer]:
    """The options; where they are too many, of each topic entity the relations that are rarest there."""
    if sum(map(len, discovered)) > most and not together:
        share = max(1, most // len(topics))
        discovered = [sorted(found, key=lambda edge: edge["count"])[:share] for found in discovered]
    offers: dict[tuple[str, str, str], Offer] = {}
    for topic, found in zip(topics, discovered, strict=True):
        own = place(topic, together=together)
        for edge in found:
            offer = offers.setdefault((own, edge["direction"], edge["name"]), Offer(own, [], topic["label"]))
            offer.edges.append(edge)
    every = list(offers.values())
    return sorted(every, key=lambda offer: offer.relation["count"])[:most] if together and len(every) > most else every


def _entities(topics: Sequence[Topic], offers: Sequence[Offer]) -> list[str]:
    """The entities that options are shown at, with what is known of them."""
    shown = {offer.first for offer in offers}
    return list(dict.fromkeys(described(one["label"], one["description"]) for one in topics if one["label"] in shown))


def _key(edge: Relation) -> str:
    return relation_key(edge["entity"], edge["direction"], edge["name"])
