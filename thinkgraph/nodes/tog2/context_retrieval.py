"""Knowledge-guided context retrieval (ToG-2 section 3.2.2, equation 3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.ranking import Rankable, rank, round_query
from thinkgraph.nodes.tog2.candidates import Reached, Scored, Way
from thinkgraph.prompts.lines import passage_line, path_line
from thinkgraph.prompts.lines import triple_sentence as sentence
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state import evidence
from thinkgraph.state.events import Retrieved
from thinkgraph.state.evidence import EvidenceItem, Path
from thinkgraph.state.knowledge import PassageHit
from thinkgraph.state.tog2 import Tog2Settings, Topic
from thinkgraph.tools.chunks import chunk_offsets
from thinkgraph.tools.linking.lexical import overlap

WAYS_PER_CHUNK = 3
"""A chunk is scored behind at most so many of the triples that led to its entity."""


def topic_context(state: Mapping[str, Any], settings: Tog2Settings) -> Flow[Update]:
    """Round 0: the top K chunks of the topic entities' own documents."""
    topics: list[Topic] = state["topics"]
    question = state["question"]
    hits = yield from requests.passages_of([topic["id"] for topic in topics], question, limit=settings.rank_texts)
    place = {topic["id"]: topic for topic in topics}
    drafts: list[tuple[Scored, Rankable]] = []
    for hit in hits:
        owner = next((entity for entity in hit["passage"]["entities"] if entity in place), "")
        drafts.extend(_chunks(hit, owner, None, settings))
    drafts = drafts[: settings.rank_texts]
    scores = yield from rank([item for _, item in drafts], question, "", settings.ranker, settings, key="0")
    best = _best(drafts, scores)[: settings.top_k]
    items = [_chunk_item(chunk, Path(start=chunk.entity, triples=[]), 0) for chunk in best]
    yield from _report(0, len(topics), 0, len(hits), len(drafts), best)
    return {"evidence": {item["id"]: item for item in items}}


def _chunks(hit: PassageHit, entity: str, way: Way | None, settings: Tog2Settings) -> list[tuple[Scored, Rankable]]:
    passage = hit["passage"]
    found = []
    for start, end in chunk_offsets(passage["text"], settings.chunk_size, settings.chunk_overlap):
        text = passage["text"][start:end]
        lead = f"{sentence(way.triple)}: " if way else ""
        draft = Scored(way, entity, 0.0, passage["id"], start, end, f"{passage['title']}: {text[:80]}")
        found.append((draft, Rankable(lead + text, passage_line(passage["title"], passage["section"], text))))
    return found


def _sentences(candidates: Sequence[Reached], query: str, room: int) -> list[tuple[Scored, Rankable]]:
    """One pseudo-chunk per candidate and way, so that entities without text compete; fairly shared among hops if many."""
    groups: dict[str, list[tuple[float, Scored, Rankable]]] = defaultdict(list)
    for candidate in candidates:
        for way in candidate.ways:
            text = sentence(way.triple)
            line = path_line(way.relation["entity"], [way.triple])
            draft = Scored(way, candidate.id, 0.0, preview=text)
            groups[way.group].append((overlap(text, query), draft, Rankable(text, line)))
    total = sum(map(len, groups.values()))
    if total <= room:
        return [(draft, item) for group in groups.values() for _, draft, item in group]
    queues = [sorted(group, key=lambda entry: -entry[0]) for group in groups.values()]
    queues.sort(key=lambda queue: -(queue[0][1].way.relation["score"] if queue[0][1].way else 0.0))
    picked: list[tuple[Scored, Rankable]] = []
    depth = 0
    while len(picked) < room:
        layer = [queue[depth] for queue in queues if depth < len(queue)]
        picked += [(draft, item) for _, draft, item in layer[: room - len(picked)]]
        depth += 1
    return picked


def context_retrieval(state: Mapping[str, Any], settings: Tog2Settings) -> Flow[Update]:
    """Score the chunks of all candidates' documents, and every triple itself, against question and round query.

    A cheap prefilter (the text store's own vectors; shared words for triples) bounds what is scored exactly.
    """
    candidates: list[Reached] = state["_candidates"]
    question, query = state["question"], state["query"]
    if state["stopped"] or (not candidates and not (query and settings.revisit_topics)):
        return {"_ranked": [], "_again": []}
    looked_for = round_query(question, query)
    by_id = {candidate.id: candidate for candidate in candidates}
    sources = [candidate.id for candidate in candidates if not candidate.literal]
    hits = yield from requests.passages_of(sources, looked_for, limit=settings.rank_texts)
    again = yield from _again(state, by_id, looked_for, settings)
    texts: list[tuple[Scored, Rankable]] = []
    for hit in hits:
        for owner in hit["passage"]["entities"]:
            for way in by_id[owner].ways[:WAYS_PER_CHUNK] if owner in by_id else ():
                texts.extend(_chunks(hit, owner, way, settings))
    statements = sum(len(candidate.ways) for candidate in candidates)
    room = settings.rank_texts - len(again)
    drafts = _sentences(candidates, looked_for, min(max(room // 2, room - len(texts)), statements))
    drafts += texts[: room - len(drafts)]
    scores = yield from rank(
        [item for _, item in (*drafts, *again)],
        question,
        query,
        settings.ranker,
        settings,
        key=str(state["round"]),
    )
    ranked = _best(drafts, scores[: len(drafts)])
    looked_up = _best(again, scores[len(drafts) :])[: settings.top_k // 2]
    best = sorted([*ranked[: settings.top_k], *looked_up], key=lambda chunk: -chunk.score)
    yield from _report(state["round"], len(candidates), statements, len(hits), len(drafts) + len(again), best)
    return {"_ranked": ranked, "_again": looked_up}


def _again(
    state: Mapping[str, Any], reached: Mapping[str, Reached], looked_for: str, settings: Tog2Settings
) -> Flow[list[tuple[Scored, Rankable]]]:
    """Chunks of the documents of the entities this round starts from, where there is a new query to read them with.

    The paper reads a topic's documents once, before it knows what to look for. These are evidence beside the top K and take
    no part in entity prune, which stays the paper's.
    """
    topics = sorted({topic["id"] for topic in state["topics"]} - reached.keys())
    if not state["query"] or not settings.revisit_topics or not topics:
        return []
    hits = yield from requests.passages_of(topics, looked_for, limit=settings.top_k)
    found = []
    for hit in hits:
        owner = next(entity for entity in hit["passage"]["entities"] if entity in topics)
        found.extend(_chunks(hit, owner, None, settings))
    return found[: min(settings.top_k, settings.rank_texts // 4)]


def _best(drafts: Sequence[tuple[Scored, Rankable]], scores: Sequence[float]) -> list[Scored]:
    """Best first; a chunk counts once, with the way that served it best."""
    best: dict[tuple[str, ...], Scored] = {}
    for (draft, _), value in zip(drafts, scores, strict=True):
        key = (draft.passage, str(draft.start)) if draft.passage else ("", draft.way.triple["id"] if draft.way else "")
        known = best.get(key)
        if known is None or value > known.score:
            best[key] = Scored(draft.way, draft.entity, value, draft.passage, draft.start, draft.end, draft.preview)
    return sorted(best.values(), key=lambda chunk: -chunk.score)


def _chunk_item(chunk: Scored, path: Path, number: int) -> EvidenceItem:
    return evidence.chunk_item(
        chunk.passage, chunk.start, chunk.end, entity=chunk.entity, path=path, score=chunk.score, number=number
    )


def chunk_item(chunk: Scored, topics: Mapping[str, Topic], number: int) -> EvidenceItem:
    """The evidence item of a chunk: of an entity that a triple led to, or of one the round started from."""
    way = chunk.way
    if way is None:
        return _chunk_item(chunk, topics[chunk.entity]["path"], number)
    before = way.topic["path"]
    path = Path(start=before["start"], triples=[*before["triples"], way.triple["id"]])
    return _chunk_item(chunk, path, number)


def _report(number: int, entities: int, triples: int, passages: int, ranked: int, best: Sequence[Scored]) -> Flow[None]:
    yield from requests.emit(
        Retrieved(
            type="retrieved",
            round=number,
            entities=entities,
            triples=triples,
            passages=passages,
            ranked=ranked,
            best=[chunk.preview for chunk in best[:5]],
        )
    )
