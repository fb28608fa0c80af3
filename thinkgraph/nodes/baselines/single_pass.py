"""One look at the evidence, one call: how the retrieval baselines search and answer."""

from __future__ import annotations

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.evidence_lines import prompt_context
from thinkgraph.nodes.common.judging import cut_short, decide, judge, nothing_found
from thinkgraph.nodes.common.ranking import Rankable, cut, rank
from thinkgraph.nodes.common.reports import linked, reasoned, retrieved
from thinkgraph.prompts.kinds import Judgement
from thinkgraph.prompts.lines import numbered, path_line, safe_block, triple_sentence
from thinkgraph.prompts.tasks import TASK_WORDS, otherwise
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import NodeFunction, Update
from thinkgraph.state.base import RunState
from thinkgraph.state.baselines import KgRagSettings, RagSettings
from thinkgraph.state.evidence import Path, path_item
from thinkgraph.tools.linking.lexical import overlap

_SURE = frozenset({"exact", "alias"})


def _linked(question: str, limit: int) -> Flow[list[str]]:
    """Ids of the entities that the question names; where it names none, of the best matches."""
    links = (yield from requests.link([question], limit=limit))[0]
    yield from linked(links)
    named = [link for link in links if link["method"] in _SURE]
    return list(dict.fromkeys(link["entity"]["id"] for link in named or links))


def passage_search(state: RunState, settings: RagSettings) -> Flow[Update]:
    """The top K chunks for the question, of the linked entities' documents or of the whole corpus."""
    question = state["question"]
    if settings.scope == "corpus":
        hits = (yield from requests.search_passages([question], limit=settings.rank_texts))[0]
        ids: list[str] = []
    else:
        ids = yield from _linked(question, settings.link_candidates)
        hits = yield from requests.passages_of(ids, question, limit=settings.rank_texts)
    chunks = cut(hits, settings.chunk_size, settings.chunk_overlap)[: settings.rank_texts]
    texts = [chunk.rankable() for chunk in chunks]
    scores = yield from rank(texts, question, "", settings.ranker, settings, key="0")
    best = sorted(zip(scores, chunks, strict=True), key=lambda pair: -pair[0])[: settings.top_k]
    items = [chunk.item(next(iter(chunk.passage["entities"]), ""), score=score) for score, chunk in best]
    previews = [chunk.preview for _, chunk in best]
    yield from retrieved(0, previews, entities=len(ids), passages=len(hits), ranked=len(texts))
    return {"evidence": {item["id"]: item for item in items}}


def triple_search(state: RunState, settings: KgRagSettings) -> Flow[Update]:
    """The top K triples around the linked entities."""
    question = state["question"]
    ids = yield from _linked(question, settings.link_candidates)
    around = yield from requests.neighbourhood(ids, limit=settings.neighbours, seed=settings.seed)
    triples = {triple["id"]: triple for found in around for triple in found["triples"]}
    # Cheap words first where there are too many to encode.
    order = sorted(triples.values(), key=lambda triple: -overlap(triple_sentence(triple), question))
    order = order[: settings.rank_texts]
    texts = [Rankable(triple_sentence(triple), path_line(triple["subject"], [triple])) for triple in order]
    scores = yield from rank(texts, question, "", settings.ranker, settings, key="0")
    best = sorted(zip(scores, order, strict=True), key=lambda pair: -pair[0])[: settings.top_k]
    items = [
        path_item(f"t{triple['id']}", Path(start=triple["subject"], triples=[]), [triple["id"]], total=1, score=score)
        for score, triple in best
    ]
    sentences = [triple_sentence(triple) for _, triple in best]
    yield from retrieved(0, sentences, entities=len(ids), triples=len(triples), ranked=len(texts))
    return {"evidence": {item["id"]: item for item in items}}


def one_answer(role: str) -> NodeFunction:
    """One call over all evidence found; without any and without own_knowledge, none.

    Args:
        role: whose prompt is used.
    """

    def run(state: RunState, settings: RagSettings | KgRagSettings) -> Flow[Update]:
        items = list(state["evidence"].values())
        if not items and not settings.own_knowledge:
            return {"draft": nothing_found(state, settings)}
        context = yield from prompt_context(items, tokens=settings.evidence_tokens)
        likely = settings.partial and not settings.own_knowledge
        inputs = {
            "question": safe_block(state["question"]),
            "evidence": numbered(context.lines),
            "task": TASK_WORDS[settings.task],
            "else": otherwise(own=settings.own_knowledge, likely=likely),
        }
        try:
            judgement = yield from judge(
                role, inputs, settings, evidence=len(context.lines), likely=likely, steps=settings.cot
            )
        except BudgetSpentError as spent:
            return cut_short(state, settings, spent)
        yield from reasoned(0, sufficient=judgement["sufficient"], answers=judgement["answers"])
        given: Judgement = judgement if judgement["sufficient"] or likely else {**judgement, "answers": []}
        return {"draft": decide(given, context, state, settings, final=True)}

    return run
