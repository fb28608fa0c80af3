"""Fine prune, multiple choice (FastToG, section "LLMs-based Fine-Pruning"): the header communities, one for each chain."""

from __future__ import annotations

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.doubt.judged import turned
from thinkgraph.nodes.fasttog.chains import alike, candidate_lines, chosen, fetch_triples, report, start_lines, traced
from thinkgraph.prompts.kinds import PICK, Shape
from thinkgraph.prompts.lines import numbered, safe_block
from thinkgraph.runtime import requests
from thinkgraph.state.fasttog import HEADERS, Chain, Community, FastTogSettings, FastTogState
from thinkgraph.state.knowledge import Triple, both_ends

_NEEDED = "Choose several only if the question needs several or you are not sure."
_TOP = "Choose fewer only where fewer have to do with the question."


def header_choice(state: FastTogState, settings: FastTogSettings) -> Flow[Update]:
    """Choose up to W header communities. Each begins a chain. There may be none. With `top_headers`, the prompt asks for W.

    After going back, the candidates stand in another order, and the new chains are added to those that were left.
    """
    candidates = state["candidates"][HEADERS]
    triples = yield from fetch_triples([], candidates)
    every = candidate_lines(candidates, triples, settings.option_tokens)
    order = turned(range(len(every)), state["backtracked"])
    lines = [every[place] for place in order]
    numbers = [1][: len(lines)]
    if len(lines) > 1 or (lines and settings.ask_lone):
        numbers = yield from requests.call(
            PICK,
            "fasttog.header_choice",
            {
                "question": safe_block(state["question"]),
                "entities": start_lines(state["subjects"]),
                "options": numbered(lines),
                "most": str(settings.width),
                "several": _TOP if settings.top_headers else _NEEDED,
            },
            shape=Shape(options=len(lines), most=settings.width, explain=settings.explain),
            fallback=lambda: alike(state["question"], lines, settings.width),
            spare=1,
        )
    picked = [order[number - 1] + 1 for number in numbers[: settings.width]]
    headers = chosen(picked, candidates, triples, state["round"])
    subjects = [subject["id"] for subject in state["subjects"]]
    new = [
        Chain(number=number, starts=_next_to(header, subjects, triples), communities=[header], ended="")
        for number, header in enumerate(headers, start=len(state["chains"]) + 1)
    ]
    update: Update = {
        "chains": [*state["chains"], *new],
        "candidates": {},
        "pruned": (yield from report(headers, candidates, len(lines), triples, state["round"])),
        "history": [*state["history"], *(header["id"] for header in headers)],
    }
    yield from traced(state, update)
    return update


def _next_to(header: Community, subjects: list[str], triples: dict[str, Triple]) -> list[str]:
    """The subjects that a header community lies next to."""
    ends = {end for key in header["joining"] for end in both_ends(triples[key])}
    return [subject for subject in subjects if subject in ends and subject not in header["nodes"]]
