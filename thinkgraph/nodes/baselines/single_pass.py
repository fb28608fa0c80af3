"""One look at the evidence, one call: how the retrieval baselines search and answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.evidence_lines import show
from thinkgraph.nodes.common.ranking import Rankable, rank
from thinkgraph.nodes.tog2.reason import decide, nothing_found
from thinkgraph.prompts.kinds import JUDGE, NOT_SUFFICIENT, Shape
from thinkgraph.prompts.lines import numbered, passage_line, path_line, safe_block, triple_sentence
from thinkgraph.prompts.tasks import TASK_LABELS, TASK_WORDS, otherwise
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import NodeFunction, Update
from thinkgraph.state.baselines import KgRagSettings, RagSettings
from thinkgraph.state.events import Linked, Reasoned, Retrieved, Scored
from thinkgraph.state.evidence import EvidenceItem, Path
from thinkgraph.tools.chunks import chunk_offsets
from thinkgraph.tools.linking.lexical import overlap

_SURE = frozenset({"exact", "alias"})


def _linked(question: str, limit: int) -> Flow[list[str]]:
    """Ids of the entities that the question names; where it names none, of the best matches."""
    links = (yield from requests.link([question], limit=limit))[0]
    found = [Scored(label=link["entity"]["label"], score=round(link["score"], 4)) for link in links]
    yield from requests.emit(Linked(type="linked", candidates=found))
    named = [link for link in links if link["method"] in _SURE]
    return list(dict.fromkeys(link["entity"]["id"] for link in named or links))


def passage_search(state: Mapping[str, Any], settings: RagSettings) -> Flow[Update]:
    """The top K chunks for the question, of the linked entities' documents or of the whole corpus."""
    question = state["question"]
    if settings.scope == "corpus":
        hits = (yield from requests.search_passages([question], limit=settings.rank_texts))[0]
        ids: list[str] = []
    else:
        ids = yield from _linked(question, settings.link_candidates)
        hits = yield from requests.passages_of(ids, question, limit=settings.rank_texts)
    spans = [
        (hit["passage"], start, end)
        for hit in hits
        for start, end in chunk_offsets(hit["passage"]["text"], settings.chunk_size, settings.chunk_overlap)
    ][: settings.rank_texts]
    texts = [
        Rankable(text := passage["text"][start:end], passage_line(passage["title"], passage["section"], text))
        for passage, start, end in spans
    ]
    scores = yield from rank(texts, question, "", settings.ranker, settings, key="0")
    best = sorted(zip(scores, spans, strict=True), key=lambda pair: -pair[0])[: settings.top_k]
    items = {
        f"c{passage['id']}:{start}-{end}": EvidenceItem(
            id=f"c{passage['id']}:{start}-{end}",
            kind="chunk",
            score=round(score, 4),
            round=0,
            passage=passage["id"],
            start=start,
            end=end,
            entity=passage["entities"][0] if passage["entities"] else "",
        )
        for score, (passage, start, end) in best
    }
    shown = [f"{passage['title']}: {passage['text'][start : start + 80]}" for _, (passage, start, _) in best[:5]]
    yield from _report(len(ids), 0, len(hits), len(texts), shown)
    return {"evidence": items}


def triple_search(state: Mapping[str, Any], settings: KgRagSettings) -> Flow[Update]:
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
    items = {
        f"t{triple['id']}": EvidenceItem(
            id=f"t{triple['id']}",
            kind="path",
            score=round(score, 4),
            round=0,
            path=Path(start=triple["subject"], triples=[]),
            tails=[triple["id"]],
            total=1,
        )
        for score, triple in best
    }
    yield from _report(len(ids), len(triples), 0, len(texts), [triple_sentence(triple) for _, triple in best[:5]])
    return {"evidence": items}


def _report(entities: int, triples: int, passages: int, ranked: int, best: list[str]) -> Flow[None]:
    yield from requests.emit(
        Retrieved(
            type="retrieved",
            round=0,
            entities=entities,
            triples=triples,
            passages=passages,
            ranked=ranked,
            best=best,
        )
    )


def one_answer(role: str) -> NodeFunction:
    """One call over all evidence found; without any and without own_knowledge, none.

    Args:
        role: whose prompt is used.
    """

    def run(state: Mapping[str, Any], settings: Any) -> Flow[Update]:
        items = list(state["evidence"].values())
        if not items and not settings.own_knowledge:
            return {"draft": nothing_found(state, settings)}
        shown = yield from show(items, tokens=settings.evidence_tokens)
        likely = settings.partial and not settings.own_knowledge
        try:
            judgement = yield from requests.call(
                JUDGE,
                role,
                {
                    "question": safe_block(state["question"]),
                    "evidence": numbered(shown.lines),
                    "task": TASK_WORDS[settings.task],
                    "else": otherwise(own=settings.own_knowledge, likely=likely),
                },
                shape=Shape(
                    evidence=len(shown.lines),
                    labels=TASK_LABELS[settings.task],
                    likely=likely,
                    explain=settings.explain,
                    steps=settings.cot,
                ),
                fallback=NOT_SUFFICIENT,
            )
        except BudgetSpentError as spent:
            return {"draft": nothing_found({**state, "stopped": spent.reason}, settings), "stopped": spent.reason}
        yield from requests.emit(
            Reasoned(
                type="reasoned",
                round=0,
                sufficient=judgement["sufficient"],
                answers=judgement["answers"],
                clues="",
                query="",
            )
        )
        given = judgement if judgement["sufficient"] or likely else {**judgement, "answers": []}
        return {"draft": decide(given, shown, state, settings, final=True)}

    return run
