"""Context-based entity prune (ToG-2 section 3.2.2, equation 4) and the evidence of the round."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.reports import pruned
from thinkgraph.nodes.tog2.candidates import Hop, Reached, Scored
from thinkgraph.nodes.tog2.context_retrieval import chunk_item
from thinkgraph.runtime.driver import Update
from thinkgraph.state.evidence import EvidenceItem, Path
from thinkgraph.state.tog2 import Tog2Settings, Topic


def entity_scores(top: Sequence[Scored], alpha: float) -> dict[str, float]:
    """score(c) = sum over k = 1..K of s_k * exp(-alpha * k) * [the k-th ranked chunk belongs to c]."""
    scores: dict[str, float] = {}
    for k, chunk in enumerate(top, start=1):
        scores[chunk.entity] = scores.get(chunk.entity, 0.0) + chunk.score * math.exp(-alpha * k)
    return scores


def entity_prune(state: Mapping[str, Any], settings: Tog2Settings) -> Flow[Update]:
    """Keep the W best candidates as the next round's topic entities, and the paths and chunks of all top-K owners."""
    ranked: list[Scored] = state["_ranked"]
    candidates: dict[str, Reached] = {candidate.id: candidate for candidate in state["_candidates"]}
    hops: dict[str, Hop] = state["_hops"]
    top = ranked[: settings.top_k]
    if settings.ranker == "llm":
        # A model's 0 is its word that a text is useless; an encoder's or BM25's only says that it is far.
        top = [chunk for chunk in top if chunk.score > 0] or top
    scores = entity_scores(top, settings.alpha)
    order = sorted(scores, key=lambda key: -scores[key])
    # A literal ends a path: it is evidence, never a start.
    kept = [key for key in order if not candidates[key].literal][: settings.width]
    again: list[Scored] = state["_again"]
    items = _evidence([*top, *again], hops, {topic["id"]: topic for topic in state["topics"]}, state["round"])
    topics = [_topic(candidates[key], top, scores[key]) for key in kept]
    dropped = [candidate for key, candidate in candidates.items() if key not in kept and not candidate.literal]
    note = yield from pruned(
        "entities",
        state["round"],
        [(topic["label"], topic["score"]) for topic in topics],
        [(candidate.label, scores.get(candidate.id, 0.0)) for candidate in dropped],
        "their text and triples ranked lower",
    )
    return {"topics": topics, "evidence": items, "pruned": note}


def _topic(candidate: Reached, top: Sequence[Scored], score: float) -> Topic:
    best = next(chunk for chunk in top if chunk.entity == candidate.id)
    way = best.way
    if way is None:
        raise AssertionError("every candidate was reached by a triple")
    before = way.topic
    return Topic(
        id=candidate.id,
        label=candidate.label,
        description="",
        path=Path(start=before["path"]["start"], triples=[*before["path"]["triples"], way.triple["id"]]),
        on_path=[*before["on_path"], candidate.id],
        score=round(score, 6),
    )


def _evidence(
    top: Sequence[Scored], hops: Mapping[str, Hop], topics: Mapping[str, Topic], number: int
) -> dict[str, EvidenceItem]:
    items: dict[str, EvidenceItem] = {}
    for chunk in top:
        path = _path_item(chunk, hops, topics, number)
        if path is not None:
            items.setdefault(path["id"], path)
        if chunk.passage:
            item = chunk_item(chunk, topics, number)
            items[item["id"]] = item
    return items


def _path_item(chunk: Scored, hops: Mapping[str, Hop], topics: Mapping[str, Topic], number: int) -> EvidenceItem | None:
    """The full path of the entity that owns a chunk; all tails of its last hop in one item."""
    score = round(chunk.score, 4)
    if chunk.way is not None:
        hop = hops[chunk.way.group]
        return EvidenceItem(
            id=chunk.way.group,
            kind="path",
            score=score,
            round=number,
            path=hop.topic["path"],
            tails=hop.tails,
            total=hop.total,
        )
    walked = topics[chunk.entity]["path"]
    if not walked["triples"]:
        return None
    before = Path(start=walked["start"], triples=walked["triples"][:-1])
    last = walked["triples"][-1]
    key = f"t{'/'.join(walked['triples'])}"
    return EvidenceItem(id=key, kind="path", score=score, round=number, path=before, tails=[last], total=1)
