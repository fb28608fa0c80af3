"""Fine prune (FastToG, section "LLMs-based Fine-Pruning"): which candidates begin chains, and which one each chain takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thinkgraph.models.budget import CHARACTERS_PER_TOKEN, estimate_tokens
from thinkgraph.models.ops import Flow
from thinkgraph.nodes.fasttog.chains import community_of, fetch_triples, growing, in_words, start_lines, traced
from thinkgraph.prompts.communities import community_line
from thinkgraph.prompts.kinds import PICK, Shape
from thinkgraph.prompts.lines import numbered, safe_block
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.answer import PrunedNote
from thinkgraph.state.events import Pruned, Scored
from thinkgraph.state.fasttog import Chain, Choice, Community, FastTogSettings, Offer, PruneTask
from thinkgraph.state.knowledge import Triple
from thinkgraph.tools.linking.lexical import overlap

NONE_FITS = "none of the communities next to it fits the question"


def _options(offer: Sequence[Offer], triples: Mapping[str, Triple], tokens: int) -> list[str]:
    """The candidates as lines, the first ones that fit the bound (one at least): a prefix of the offer."""
    lines: list[str] = []
    room = tokens
    for candidate in offer:
        line = candidate["prose"] or community_line(_triples(candidate, triples))
        room -= estimate_tokens(len(line)) + 2
        if lines and room < 0:
            break
        lines.append(line[: tokens * CHARACTERS_PER_TOKEN])
    return lines


def _likest(question: str, lines: Sequence[str], most: int) -> list[int]:
    """The fallback: the communities that share most words with the question, the best modularity first among equals.

    An unreadable reply says nothing about the candidates: it must not end a chain, as "none of these" does.
    """
    likeness = [(-overlap(line, question), number) for number, line in enumerate(lines, start=1)]
    return [number for _, number in sorted(likeness)[:most]]


def _triples(candidate: Offer, triples: Mapping[str, Triple]) -> list[Triple]:
    return [triples[key] for key in candidate["triples"] if key in triples]


def _chosen(
    numbers: Sequence[int], offer: Sequence[Offer], triples: Mapping[str, Triple], number: int
) -> list[Community]:
    """The communities behind option numbers."""
    return [community_of(o["nodes"], _triples(o, triples), number, o["prose"]) for o in (offer[n - 1] for n in numbers)]


def header_choice(state: Mapping[str, Any], settings: FastTogSettings) -> Flow[Update]:
    """Choose up to W header communities, each of which begins a chain; there may be none."""
    offer: list[Offer] = state["_offer"]
    lines = _options(offer, state["_triples"], settings.option_tokens)
    if len(lines) <= 1:
        numbers = [1][: len(lines)]
    else:
        numbers = yield from requests.call(
            PICK,
            "fasttog.headers",
            {
                "question": safe_block(state["question"]),
                "entities": start_lines(state["subjects"]),
                "options": numbered(lines),
                "most": str(settings.width),
            },
            shape=Shape(options=len(lines), explain=settings.explain),
            fallback=lambda: _likest(state["question"], lines, settings.width),
            spare=1,
        )
    chosen = _chosen(numbers[: settings.width], offer, state["_triples"], 0)
    chains = [
        Chain(number=number, starts=state["_starts"][community["id"]], communities=[community], ended="")
        for number, community in enumerate(chosen, start=1)
    ]
    note = yield from _told(chosen, offer[: len(lines)], len(offer) - len(lines), state["_triples"], 0)
    update: Update = {
        "chains": chains,
        "pruned": note,
        "history": [*state["history"], *(community["id"] for community in chosen)],
    }
    yield from traced({**state, **update})
    return update


def community_prune(state: PruneTask, settings: FastTogSettings) -> Flow[Update]:
    """Choose the best next community of one chain, or none, which ends it. The state is the payload of one Send."""
    chain, offer = state["chain"], state["offer"]
    triples = yield from fetch_triples(chain["communities"], offer)
    lines = _options(offer, triples, settings.option_tokens)
    numbers = yield from requests.call(
        PICK,
        "fasttog.prune",
        {
            "question": safe_block(state["question"]),
            "entities": start_lines(state["subjects"]),
            "evidence": numbered(in_words(community, triples) for community in chain["communities"]),
            "options": numbered(lines),
        },
        shape=Shape(options=len(lines), explain=settings.explain),
        fallback=lambda: _likest(state["question"], lines, 1),
        key=state["part"],
    )
    # Asked for one; of several the first is the one named first.
    chosen = _chosen(numbers[:1], offer, triples, state["round"])
    note = yield from _told(chosen, offer[: len(lines)], len(offer) - len(lines), triples, state["round"])
    choice = Choice(
        round=state["round"],
        chain=chain["number"],
        community=chosen[0] if chosen else None,
        ended="" if chosen else NONE_FITS,
    )
    return {"choices": {state["part"]: choice}, "pruned": note}


def grow(state: Mapping[str, Any], _settings: FastTogSettings) -> Flow[Update]:
    """Append what each chain chose. Of two that chose the same the lower-numbered keeps it, the other stands still."""
    number = state["round"] + 1
    choices: Mapping[str, Choice] = state["choices"]
    taken: dict[str, Community] = {}
    before: Sequence[Chain] = state["chains"]
    chains: list[Chain] = []
    for chain in before:
        choice = choices.get(str(chain["number"]))
        if chain["ended"] or choice is None or choice["round"] != number:
            chains.append(chain)
            continue
        community = choice["community"]
        if community is None:
            chains.append({**chain, "ended": choice["ended"]})
        elif community["id"] in taken:
            chains.append(chain)
        else:
            taken[community["id"]] = community
            chains.append({**chain, "communities": [*chain["communities"], community]})
    update: Update = {
        "round": number,
        "chains": chains,
        "history": [*state["history"], *taken],
        "offers": {},
    }
    yield from traced({**state, **update})
    return {**update, "_grown": bool(taken)}


def is_final(state: Mapping[str, Any], settings: FastTogSettings) -> bool:
    """No round follows: the depth is reached, no chain grows, or a ceiling stopped the run."""
    return bool(state["round"] >= settings.depth or not growing(state["chains"]) or state["stopped"])


def _told(
    chosen: Sequence[Community], shown: Sequence[Offer], unseen: int, triples: Mapping[str, Triple], number: int
) -> Flow[list[PrunedNote]]:
    """Tell what was chosen of the shown candidates, and how many the bound on tokens kept from being shown; note it."""
    kept = {community["id"] for community in chosen}
    every = _chosen(range(1, len(shown) + 1), shown, triples, number)
    left = [", ".join(community["labels"]) for community in every if community["id"] not in kept]
    yield from requests.emit(
        Pruned(
            type="pruned",
            what="communities",
            round=number,
            kept=[Scored(label=", ".join(community["labels"]), score=1.0) for community in chosen],
            dropped=[Scored(label=label, score=0.0) for label in left],
            reason="not chosen for the question" + (f"; {unseen} more did not fit the prompt" if unseen else ""),
        )
    )
    return [PrunedNote(round=number, what="communities", kept=len(kept), dropped=len(left) + unseen, examples=left[:5])]
