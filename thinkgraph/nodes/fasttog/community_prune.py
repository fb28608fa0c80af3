"""Fine prune, single choice (FastToG, section "LLMs-based Fine-Pruning"): the next community of a chain."""

from __future__ import annotations

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.fasttog.chains import alike, candidate_lines, chosen, fetch_triples, in_words, report, start_lines
from thinkgraph.prompts.kinds import PICK, Shape
from thinkgraph.prompts.lines import numbered, safe_block
from thinkgraph.runtime import requests
from thinkgraph.state.fasttog import Choice, FastTogSettings, PruneTask

NONE_FITS = "none of the communities next to it fits the question"


def community_prune(state: PruneTask, settings: FastTogSettings) -> Flow[Update]:
    """Choose the best next community of one chain, or none, which ends it. The state is the payload of one Send."""
    chain, candidates = state["chain"], state["candidates"]
    triples = yield from fetch_triples(chain["communities"], candidates)
    lines = candidate_lines(candidates, triples, settings.option_tokens)
    numbers = yield from requests.call(
        PICK,
        "fasttog.community_prune",
        {
            "question": safe_block(state["question"]),
            "entities": start_lines(state["subjects"]),
            "evidence": numbered(in_words(community, triples) for community in chain["communities"]),
            "options": numbered(lines),
        },
        shape=Shape(options=len(lines), most=1, explain=settings.explain),
        fallback=lambda: alike(state["question"], lines, 1),
        key=state["part"],
    )
    # The prompt asks for one number. Of several the first counts.
    best = chosen(numbers[:1], candidates, triples, state["round"])
    community, ended = (best[0], "") if best else (None, NONE_FITS)
    choice = Choice(round=state["round"], chain=chain["number"], community=community, ended=ended)
    note = yield from report(best, candidates, len(lines), triples, state["round"])
    return {"choices": {state["part"]: choice}, "pruned": note}
