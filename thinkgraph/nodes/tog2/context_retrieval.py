"""Knowledge-guided context retrieval (ToG-2 section 3.2.2, equation 5)."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.ranking import Rankable, TextChunk, cut, rank, round_query
from thinkgraph.nodes.common.reports import retrieved
from thinkgraph.prompts.lines import path_line, triple_sentence
from thinkgraph.runtime import requests
from thinkgraph.state.evidence import EvidenceItem, Path, path_item
from thinkgraph.state.knowledge import Triple, far_end
from thinkgraph.state.tog2 import Hop, RankedChunk, Reached, Tog2Settings, Tog2State, Topic, ranked_item, route_of
from thinkgraph.tools.linking.lexical import overlap

LISTED = 20
"""Most triples of a hop that a model reads beside the one that stands for it."""


@dataclass(frozen=True)
class Tail:
    """One triple of a hop, which leads to a candidate."""

    number: int
    """The hop's place in `hops`."""
    hop: Hop
    route: str
    """Key of the relation path that it is a step of; empty with `beam=entities`."""
    triple: Triple

    @property
    def reached(self) -> Reached:
        """The candidate that it leads to."""
        end, label, literal = far_end(self.triple, self.hop["entity"])
        return Reached(id=end, label=label, literal=literal, hop=self.number, triple=self.triple["id"])


@dataclass(frozen=True)
class ChunkDraft:
    """A chunk, or a triple's sentence, before it is ranked and after."""

    chunk: RankedChunk
    rankable: Rankable
    preview: str


def context_retrieval(state: Tog2State, settings: Tog2Settings) -> Flow[Update]:
    """Score the chunks of all candidates' documents, and every triple itself, against question and round query.

    A cheap prefilter (the text store's own vectors or shared words; shared words for triples) bounds what is scored exactly. Chunks of the
    topic entities' own documents are evidence at once: in round 0 there are no others. Once a ceiling is spent, nothing is read.
    """
    number, query = state["round"], state["query"]
    tails = yield from _tails(state, settings)
    if state["stopped"] or (number and not tails and not (query and settings.revisit_topics)):
        return {}
    looked_for = round_query(state["question"], query)
    ways: dict[str, list[Tail]] = defaultdict(list)
    reached: dict[tuple[str, str], Reached] = {}
    for tail in tails:
        found = tail.reached
        reached.setdefault((found["id"], tail.route), found)
        ways[found["id"]].append(tail)
    sources = list(dict.fromkeys(end["id"] for end in reached.values() if not end["literal"]))
    passages = yield from requests.candidates_of(sources, looked_for, limit=settings.rank_texts)
    own = yield from _topic_chunks(state, ways, looked_for, settings)
    room = settings.rank_texts - len(own)
    texts = [
        _draft(chunk, owner, tail)
        for passage in passages
        for owner in passage["entities"]
        for tail in ways.get(owner, [])[: settings.chunk_triples]
        for chunk in cut([passage], settings)
    ]
    # The paper assumes that every entity has documents. Where none has, triples compete alone.
    share = max(room // 2, room - len(texts)) if settings.rank_triples or not texts else 0
    drafts = _sentences(ways, looked_for, min(share, len(tails)))
    drafts += texts[: room - len(drafts)]
    rankables = [draft.rankable for draft in (*drafts, *own)]
    scores = yield from rank(rankables, state["question"], query, settings, key=str(number))
    ranked = _top(_best(drafts, scores[: len(drafts)]), settings)
    beside = _best(own, scores[len(drafts) :])[: settings.top_k // 2 if number else settings.top_k]
    best = sorted([*ranked, *beside], key=lambda draft: -draft.chunk["score"])
    yield from retrieved(
        number,
        [draft.preview for draft in best],
        entities=len(ways) if number else len(state["topics"]),
        triples=len(tails),
        passages=len({draft.chunk["passage"] for draft in (*texts, *own)}),
        ranked=len(rankables),
    )
    topics = {topic["id"]: topic for topic in state["topics"]}
    return {
        "evidence": {item["id"]: item for draft in beside for item in _evidence(draft.chunk, topics, number)},
        "reached": list(reached.values()),
        "ranked": [draft.chunk for draft in ranked],
    }


def _tails(state: Tog2State, settings: Tog2Settings) -> Flow[list[Tail]]:
    """The triples of the round's hops, read again: state holds their ids."""
    hops, topics = state["hops"], {topic["id"]: topic for topic in state["topics"]}
    triples = yield from requests.triples([key for hop in hops for key in hop["triples"]])
    routes = [route_of(topics[hop["entity"]], hop) if settings.paths else "" for hop in hops]
    return [
        Tail(number, hop, routes[number], triples[key])
        for number, hop in enumerate(hops)
        for key in hop["triples"]
        if key in triples
    ]


def _topic_chunks(
    state: Tog2State, reached: Collection[str], looked_for: str, settings: Tog2Settings
) -> Flow[list[ChunkDraft]]:
    """Chunks of the documents of the entities that this round starts from.

    The paper reads them once, in round 0, before it knows what to look for. Later they are searched again where there is a
    new query (`revisit_topics`): evidence beside the top K, which takes no part in entity prune, so that this stays the
    paper's.
    """
    topics = [topic["id"] for topic in state["topics"]]
    most = settings.rank_texts
    if state["round"]:
        topics = sorted(set(topics) - set(reached)) if state["query"] and settings.revisit_topics else []
        most = min(settings.top_k, settings.rank_texts // 4)
        hits = yield from requests.passages_of(topics, looked_for, limit=settings.top_k)
        passages = [hit["passage"] for hit in hits]
    else:
        passages = yield from requests.candidates_of(topics, looked_for, limit=most)
    chunks = cut(passages, settings)[:most]
    return [_draft(chunk, next(one for one in chunk.passage["entities"] if one in topics)) for chunk in chunks]


def _draft(chunk: TextChunk, owner: str, tail: Tail | None = None) -> ChunkDraft:
    """A chunk of an entity's document, behind the triple that led there if one did."""
    found = RankedChunk(
        entity=owner,
        score=0.0,
        hop=tail.number if tail else 0,
        triple=tail.triple["id"] if tail else "",
        passage=chunk.passage["id"],
        start=chunk.start,
        end=chunk.end,
    )
    told = triple_sentence(tail.triple) if tail else ""
    return ChunkDraft(found, chunk.rankable(f"{told}: " if told else "", told), chunk.preview)


def _sentences(ways: Mapping[str, Sequence[Tail]], query: str, room: int) -> list[ChunkDraft]:
    """One pseudo-chunk per candidate and triple, so that entities without text compete. If there are more than `room`, hops take turns.

    A relation path gives only the sentence that shares most words with the query: its statements differ in names only. A model
    that ranks also reads what else the hop reaches.
    """
    groups: dict[int | str, list[tuple[float, float, Tail]]] = defaultdict(list)
    beside: dict[int, list[Triple]] = defaultdict(list)
    for tail in itertools.chain.from_iterable(ways.values()):
        groups[tail.route or tail.number].append(
            (tail.hop["score"], overlap(triple_sentence(tail.triple), query), tail)
        )
        if tail.route:
            groups[tail.route] = [max(groups[tail.route], key=lambda entry: entry[1])]
            beside[tail.number].append(tail.triple)
    if sum(map(len, groups.values())) <= room:
        return [_sentence(tail, beside[tail.number]) for group in groups.values() for *_, tail in group]
    queues = [sorted(group, key=lambda entry: -entry[1]) for group in groups.values()]
    queues.sort(key=lambda queue: -queue[0][0])
    layers = itertools.zip_longest(*queues)
    kept = [entry[-1] for layer in layers for entry in layer if entry][:room]
    return [_sentence(tail, beside[tail.number]) for tail in kept]


def _sentence(tail: Tail, beside: Sequence[Triple]) -> ChunkDraft:
    """A triple's sentence in place of a chunk. A model that ranks also reads the other triples of its hop."""
    triple, text = tail.triple, triple_sentence(tail.triple)
    listed = [triple, *(other for other in beside[:LISTED] if other is not triple)]
    chunk = RankedChunk(
        entity=tail.reached["id"], score=0.0, hop=tail.number, triple=triple["id"], passage="", start=0, end=0
    )
    return ChunkDraft(chunk, Rankable(text, path_line(tail.hop["entity"], [], listed, total=len(beside))), text)


def _best(drafts: Sequence[ChunkDraft], scores: Sequence[float]) -> list[ChunkDraft]:
    """Best first; a chunk counts once, with the triple that served it best."""
    best: dict[tuple[str, str | int], tuple[float, ChunkDraft]] = {}
    for draft, value in zip(drafts, scores, strict=True):
        chunk = draft.chunk
        key = (chunk["passage"], chunk["start"]) if chunk["passage"] else ("", chunk["triple"])
        if key not in best or value > best[key][0]:
            best[key] = value, draft
    return [
        ChunkDraft({**draft.chunk, "score": value}, draft.rankable, draft.preview)
        for value, draft in sorted(best.values(), key=lambda pair: -pair[0])
    ]


def _top(best: Sequence[ChunkDraft], settings: Tog2Settings) -> list[ChunkDraft]:
    """The K best. With `beam=paths` only chunks count towards K: the sentences that stand for relation paths are all kept."""
    if not settings.paths:
        return list(best[: settings.top_k])
    places = {id(draft) for draft in [one for one in best if one.chunk["passage"]][: settings.top_k]}
    return [draft for draft in best if id(draft) in places or not draft.chunk["passage"]]


def _evidence(chunk: RankedChunk, topics: Mapping[str, Topic], number: int) -> Iterable[EvidenceItem]:
    """A chunk of a topic entity's document, and the path that led to that entity."""
    path = topics[chunk["entity"]]["path"]
    if path["triples"]:
        *before, last = path["triples"]
        lead = Path(start=path["start"], triples=before)
        yield path_item(f"t{'/'.join(path['triples'])}", lead, [last], total=1, score=chunk["score"], number=number)
    yield ranked_item(chunk, path, number)
