"""Context-based entity prune (ToG-2 section 3.2.2, equation 6) and the evidence of the round."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.reports import labelled, pruned
from thinkgraph.state.evidence import EvidenceItem, Path, path_item, path_key
from thinkgraph.state.tog2 import (
    MAX_DROPPED,
    Hop,
    RankedChunk,
    Reached,
    Tog2Settings,
    Tog2State,
    Topic,
    further,
    ranked_item,
    relation_key,
)


def entity_scores(top: Sequence[RankedChunk], alpha: float) -> dict[str, float]:
    """score(c) = sum over k = 1..K of s_k * exp(-alpha * k) * [the k-th ranked chunk belongs to c]."""
    scores: dict[str, float] = {}
    for k, chunk in enumerate(top, start=1):
        scores[chunk["entity"]] = scores.get(chunk["entity"], 0.0) + chunk["score"] * math.exp(-alpha * k)
    return scores


def entity_prune(state: Tog2State, settings: Tog2Settings) -> Flow[Update]:
    """Keep the W best candidates as the next round's topic entities, and the paths and chunks of all top-K owners."""
    top, hops = state["ranked"], state["hops"]
    if settings.ranker == "llm":
        # A model's 0 is its word that a text is useless; an encoder's or BM25's only says that it is far.
        top = [chunk for chunk in top if chunk["score"] > 0] or top
    starts = {topic["id"]: topic for topic in state["topics"]}
    # A literal ends a path: it is evidence, never a start.
    entities = {one["id"]: one for one in state["reached"] if not one["literal"]}
    scores = entity_scores(top, settings.alpha)
    order = [key for key in sorted(scores, key=lambda key: -scores[key]) if key in entities]
    topics = []
    for key in order[: settings.width]:
        best = next(chunk for chunk in top if chunk["entity"] == key)
        topics.append(_led_to(entities[key], best["hop"], best["triple"], scores[key], state))
    evidence: dict[str, EvidenceItem] = {}
    for chunk in top:
        hop = hops[chunk["hop"]]
        for item in _evidence(chunk, hop, starts[hop["entity"]]["path"], state["round"]):
            evidence.setdefault(item["id"], item)
    chosen = {topic["id"] for topic in topics}
    dropped = [(one["label"], scores.get(key, 0.0)) for key, one in entities.items() if key not in chosen]
    # The best first; of those without a score, the order in which they were reached.
    aside = [key for key in (*order, *entities) if key not in chosen] if settings.backtracks else []
    back = [
        _led_to(entities[key], entities[key]["hop"], entities[key]["triple"], scores.get(key, 0.0), state)
        for key in list(dict.fromkeys(aside))[:MAX_DROPPED]
    ]
    note = yield from pruned(
        "entities", state["round"], labelled(topics), dropped, "their text and triples ranked lower"
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


def _led_to(end: Reached, hop: int, triple: str, score: float, state: Tog2State) -> Topic:
    """A candidate as a topic entity, by a triple of a hop of this round."""
    walked = state["hops"][hop]
    before = next(topic for topic in state["topics"] if topic["id"] == walked["entity"])
    came_by = relation_key(walked["entity"], walked["direction"], walked["relation"])
    return further(before, end["id"], end["label"], triple, score, came_by)


def _evidence(chunk: RankedChunk, hop: Hop, path: Path, number: int) -> Iterable[EvidenceItem]:
    """The full path of the entity that owns a chunk, all tails of its last hop in one item, and the chunk itself."""
    key = path_key(path["start"], *path["triples"], hop["entity"], hop["relation"], hop["direction"])
    yield path_item(key, path, hop["triples"], total=hop["total"], score=chunk["score"], number=number)
    if chunk["passage"]:
        whole = Path(start=path["start"], triples=[*path["triples"], chunk["triple"]])
        yield ranked_item(chunk, whole, number)
