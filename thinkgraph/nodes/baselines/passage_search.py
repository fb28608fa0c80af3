"""The retrieval of `rag`: passages by vector (ToG-2's vanilla RAG)."""

from __future__ import annotations

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.baselines.triple_search import named
from thinkgraph.nodes.common.ranking import cut, rank
from thinkgraph.nodes.common.reports import retrieved
from thinkgraph.runtime import requests
from thinkgraph.state.baselines.single_pass import RagSettings, RetrievalState


def passage_search(state: RetrievalState, settings: RagSettings) -> Flow[Update]:
    """The top K chunks for the question, of the linked entities' documents or of the whole corpus."""
    question = state["question"]
    if settings.scope == "corpus":
        # A store may take its candidates by words: a passage calls an entity by one name, the question by another.
        links = (yield from requests.link_names([question], limit=settings.link_candidates))[0]
        ids = list(dict.fromkeys(link["entity"]["id"] for link in links))
        everywhere = (yield from requests.search_passages([question], limit=settings.rank_texts))[0]
    else:
        ids, everywhere = named(state), []
    about = yield from requests.passages_of(ids, question, limit=settings.rank_texts)
    found = {hit["passage"]["id"]: hit for hit in (*everywhere, *about)}
    hits = sorted(found.values(), key=lambda hit: (-hit["score"], hit["passage"]["id"]))[: settings.rank_texts]
    chunks = cut([hit["passage"] for hit in hits], settings)[: settings.rank_texts]
    scores = yield from rank([chunk.rankable() for chunk in chunks], question, "", settings, key="0")
    best = sorted(zip(scores, chunks, strict=True), key=lambda pair: -pair[0])[: settings.top_k]
    items = [chunk.item(next(iter(chunk.passage["entities"]), ""), score=score) for score, chunk in best]
    previews = [chunk.preview for _, chunk in best]
    yield from retrieved(0, previews, entities=len(ids), passages=len(hits), ranked=len(chunks))
    return {"evidence": {item["id"]: item for item in items}}
