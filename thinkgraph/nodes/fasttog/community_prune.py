"""Fine prune, single choice (FastToG, section "LLMs-based Fine-Pruning"): the next community of a chain."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.fasttog.chains import (
    alike,
    candidate_lines,
    chosen,
    fetch_triples,
    report,
    start_lines,
    triples_of,
    under_heads,
)
from thinkgraph.prompts.communities import community_line
from thinkgraph.prompts.kinds import PICK, Shape
from thinkgraph.prompts.lines import numbered, safe_block
from thinkgraph.runtime import requests
from thinkgraph.state.fasttog import CandidateCommunity, Choice, FastTogSettings, PruneTask
from thinkgraph.state.knowledge import Triple

NONE_FITS = "none of the communities next to it fits the question"


@dataclass(frozen=True)
class Offers:
    """The communities next to all chains, as one prompt shows them."""

    places: Sequence[tuple[str, int]] = ()
    """Of each option the chain and the number of its candidate."""
    text: str = ""
    whole: Collection[str] = ()
    """The chains all of whose candidates are shown."""

    def by_chain(self, scores: Sequence[tuple[int, float]]) -> dict[str, list[int]]:
        """The candidates that have a score, for each chain the best first. A chain without one has an empty list, if all its candidates
        were shown, and no list otherwise. Nothing if no candidate has a score.
        """
        best = sorted((pair for pair in scores if pair[1] > 0), key=lambda pair: -pair[1])
        said: dict[str, list[int]] = {chain: [] for chain in self.whole if best}
        for option, _ in best:
            chain, number = self.places[option - 1]
            said.setdefault(chain, []).append(number)
        return said


def offered(
    question: str,
    groups: Mapping[str, Sequence[CandidateCommunity]],
    triples: Mapping[str, Triple],
    settings: FastTogSettings,
) -> Flow[Offers]:
    """The options of the call that judges and chooses (`steered`): of each chain's candidates, those whose relations fit the question best.

    Args:
        question: the question.
        groups: the candidates of each chain, by its number.
        triples: theirs, by id.
        settings: the run's. `steer_tokens` is shared out among the chains.

    Raises:
        KnowledgeError: the encoder cannot be loaded or reached.
    """
    if not groups:
        return Offers()
    every = {key for near in groups.values() for one in near for key in one["triples"] if key in triples}
    labels = sorted({triples[key]["relation_label"] for key in every})
    (row,) = yield from requests.cosines([question], labels)
    fit = dict(zip(labels, row, strict=True))
    room = min(settings.option_tokens, settings.steer_tokens) // len(groups)
    places: list[tuple[str, int]] = []
    rows: list[tuple[str, str]] = []
    whole: set[str] = set()
    for chain, near in groups.items():
        worth = [
            max((fit[triples[key]["relation_label"]] for key in one["triples"] if key in triples), default=-1.0)
            for one in near
        ]
        order = sorted(range(len(near)), key=lambda place: -worth[place])
        lines = candidate_lines([near[place] for place in order], triples, room)
        places += [(chain, place + 1) for place in order[: len(lines)]]
        rows += [(f"Chain {chain}:", line) for line in lines]
        whole |= {chain} if len(lines) == len(near) else set()
    return Offers(places, under_heads(rows), whole)


def community_prune(state: PruneTask, settings: FastTogSettings) -> Flow[Update]:
    """Choose the best next community of one chain, or none, which ends it. The state is the payload of one Send.

    If Reason's reply has chosen already (`steered`), no call is made.
    """
    chain, candidates = state["chain"], state["candidates"]
    triples = yield from fetch_triples(chain["communities"], candidates)
    lines = candidate_lines(candidates, triples, settings.option_tokens)
    numbers = state["said"]
    if numbers is None:
        numbers = yield from requests.call(
            PICK,
            "fasttog.community_prune",
            {
                "question": safe_block(state["question"]),
                "entities": start_lines(state["subjects"]),
                "evidence": numbered(
                    one["prose"] or community_line(triples_of(one, triples)) for one in chain["communities"]
                ),
                "options": numbered(lines),
            },
            shape=Shape(options=len(lines), most=1, explain=settings.explain),
            fallback=lambda: alike(state["question"], lines, 1),
            key=state["part"],
        )
    # The prompt asks for one number. Of several the first counts.
    best = chosen(numbers[:1], candidates, triples, state["round"])
    community, ended = (best[0], "") if best else (None, NONE_FITS)
    choice = Choice(round=state["round"], community=community, ended=ended)
    note = yield from report(best, candidates, len(lines), triples, state["round"])
    return {"choices": {state["part"]: choice}, "pruned": note}
