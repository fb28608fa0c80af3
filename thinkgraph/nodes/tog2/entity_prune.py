"""Context-based entity prune (ToG-2 section 3.2.2, equation 6) and the evidence of the round."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.reports import labelled, pruned
from thinkgraph.state.evidence import EvidenceItem, Path, path_item, path_key
from thinkgraph.state.tog2 import (
    MAX_DROPPED,
    RankedChunk,
    Tog2Settings,
    Tog2State,
    Topic,
    further,
    ranked_item,
    relation_key,
    route_of,
)


def entity_scores(top: Sequence[RankedChunk], alpha: float, places: Sequence[str] = ()) -> dict[str, float]:
    """score(c) = sum over k = 1..K of s_k * exp(-alpha * k) * [the k-th ranked chunk belongs to c].

    c is an entity; where `places` has the relation path of each hop, a relation path.
    """
    scores: dict[str, float] = {}
    for k, chunk in enumerate(top, start=1):
        owner = _place(chunk["entity"], chunk["hop"], places)
        scores[owner] = scores.get(owner, 0.0) + chunk["score"] * math.exp(-alpha * k)
    return scores


def entity_prune(state: Tog2State, settings: Tog2Settings) -> Flow[Update]:
    """Keep the W best candidates as the next round's topic entities, and the paths and chunks of all top-K owners.

    With `beam=paths` a candidate is a relation path with all entities that it reaches.
    """
    top, hops = state["ranked"], state["hops"]
    if settings.ranker == "llm":
        # A model scores a text 0 if it is useless. An encoder or BM25 scores it 0 if it is merely not similar.
        top = [chunk for chunk in top if chunk["score"] > 0] or top
    starts = {topic["id"]: topic for topic in state["topics"]}
    places = [route_of(starts[hop["entity"]], hop) for hop in hops] if settings.paths else []
    scores = entity_scores(top, settings.alpha, places)
    candidates = _candidates(state, starts, top, places, scores, settings)
    # The best first; of those without a score, the order in which they were reached.
    order = sorted(candidates, key=lambda key: -scores.get(key, -1.0))
    chosen = [key for key in order if key in scores][: settings.width]
    topics = _distinct(candidates[key] for key in chosen)
    kept = {topic["id"] for topic in topics}
    dropped = [topic for topic in _distinct(candidates[key] for key in order) if topic["id"] not in kept]
    most = settings.members if settings.paths else MAX_DROPPED
    back = dropped[:most] if settings.backtracks else []
    evidence: dict[str, EvidenceItem] = {}
    for chunk in top:
        for item in _evidence(chunk, state, starts, places):
            evidence.setdefault(item["id"], item)
    note = yield from pruned(
        "entities", state["round"], labelled(topics), labelled(dropped), "their text and triples ranked lower"
    )
    return {
        "topics": topics,
        "visited": {topic["id"]: topic for topic in (*back, *topics) if topic["id"] not in state["visited"]},
        "evidence": evidence,
        "pruned": note,
        "hops": [],
        "reached": [],
        "ranked": [],
    }


def _place(entity: str, hop: int, places: Sequence[str]) -> str:
    """Key of the candidate that an entity reached by a hop belongs to: the relation path with `beam=paths`, else the entity."""
    return places[hop] if places else entity


def _distinct(several: Iterable[Sequence[Topic]]) -> list[Topic]:
    """The entities, each as it comes first."""
    found: dict[str, Topic] = {}
    for topic in chain.from_iterable(several):
        found.setdefault(topic["id"], topic)
    return list(found.values())


def _candidates(
    state: Tog2State,
    starts: Mapping[str, Topic],
    top: Sequence[RankedChunk],
    places: Sequence[str],
    scores: Mapping[str, float],
    settings: Tog2Settings,
) -> dict[str, list[Topic]]:
    """The candidates by key (`_place`), each with its entities. The path to an entity is that of its best chunk, else the first found.

    A literal is evidence, but no topic entity. Neither is an entity that the path has passed, with `avoid_cycles`.
    """
    best: dict[tuple[str, str], RankedChunk] = {}
    for chunk in top:
        best.setdefault((_place(chunk["entity"], chunk["hop"], places), chunk["entity"]), chunk)
    found: dict[str, list[Topic]] = {}
    for end in state["reached"]:
        own = _place(end["id"], end["hop"], places)
        way = best.get((own, end["id"]), end)
        hop = state["hops"][way["hop"]]
        before = starts[hop["entity"]]
        if not end["literal"] and not (settings.avoid_cycles and end["id"] in before["on_path"]):
            came_by = places[way["hop"]] if places else relation_key(hop["entity"], hop["direction"], hop["relation"])
            score = scores.get(own, 0.0)
            found.setdefault(own, []).append(further(before, end["id"], end["label"], way["triple"], score, came_by))
    return found


def _evidence(
    chunk: RankedChunk, state: Tog2State, starts: Mapping[str, Topic], places: Sequence[str]
) -> Iterable[EvidenceItem]:
    """The full path of the entity that owns a chunk, with all tails of its last hop in one item, and the chunk itself. With `beam=paths`
    all paths of its relation path.
    """
    own = places[chunk["hop"]] if places else ""
    for number, hop in enumerate(state["hops"]):
        if number == chunk["hop"] or (places and places[number] == own):
            path = starts[hop["entity"]]["path"]
            key = path_key(path["start"], *path["triples"], hop["entity"], hop["relation"], hop["direction"])
            yield path_item(
                key, path, hop["triples"], total=hop["total"], score=chunk["score"], number=state["round"], route=own
            )
    if chunk["passage"]:
        path = starts[state["hops"][chunk["hop"]]["entity"]]["path"]
        whole = Path(start=path["start"], triples=[*path["triples"], chunk["triple"]])
        yield ranked_item(chunk, whole, state["round"])
