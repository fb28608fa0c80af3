"""The retrieval of `kg_rag`: triples by vector (KAPING; FastToG's 1-d 1-w)."""

from __future__ import annotations

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.link_entities import BY_NAME
from thinkgraph.nodes.common.ranking import Rankable, rank
from thinkgraph.nodes.common.reports import retrieved
from thinkgraph.prompts.lines import path_line, triple_sentence
from thinkgraph.runtime import requests
from thinkgraph.state.baselines.single_pass import KgRagSettings, RetrievalState
from thinkgraph.state.evidence import Path, path_item
from thinkgraph.tools.linking.lexical import overlap


def named(state: RetrievalState) -> list[str]:
    """Ids of the entities that the question names; where it names none, of the best matches."""
    candidates = state["candidates"]
    by_name = [candidate for candidate in candidates if candidate["method"] in BY_NAME]
    return list(dict.fromkeys(candidate["id"] for candidate in by_name or candidates))


def triple_search(state: RetrievalState, settings: KgRagSettings) -> Flow[Update]:
    """The top K triples around the linked entities."""
    question = state["question"]
    ids = named(state)
    around = yield from requests.neighbourhood(ids, limit=settings.neighbours, seed=settings.seed)
    triples = {triple["id"]: triple for found in around for triple in found["triples"]}
    # Cheap words first where there are too many to encode.
    order = sorted(triples.values(), key=lambda triple: -overlap(triple_sentence(triple), question))
    order = order[: settings.rank_texts]
    texts = [Rankable(triple_sentence(triple), path_line(triple["subject"], [triple])) for triple in order]
    scores = yield from rank(texts, question, "", settings, key="0")
    best = sorted(zip(scores, order, strict=True), key=lambda pair: -pair[0])[: settings.top_k]
    items = [
        path_item(f"t{triple['id']}", Path(start=triple["subject"], triples=[]), [triple["id"]], total=1, score=score)
        for score, triple in best
    ]
    sentences = [triple_sentence(triple) for _, triple in best]
    yield from retrieved(0, sentences, entities=len(ids), triples=len(triples), ranked=len(texts))
    return {"evidence": {item["id"]: item for item in items}}
