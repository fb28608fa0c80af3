"""Reasoning over all chains (FastToG, section "Reasoning"): an answer, or unknown and the next round."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from langgraph.types import Overwrite

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.evidence_lines import PromptContext, Texts, fitting, totals_of
from thinkgraph.nodes.common.judging import (
    NEXT_FINAL,
    NEXT_NONE,
    cut_short,
    decide,
    judge,
    nothing_found,
    steering,
    unknown,
)
from thinkgraph.nodes.common.reports import reasoned
from thinkgraph.nodes.doubt.judged import Asks, judged, may_backtrack, rounds_since
from thinkgraph.nodes.fasttog.chains import evidence_of, fetch_triples, is_final, start_lines, triples_of, under_heads
from thinkgraph.nodes.fasttog.community_prune import Offers, offered
from thinkgraph.nodes.fasttog.community_text import in_prose, tally
from thinkgraph.nodes.fasttog.remember import may_remember
from thinkgraph.nodes.fasttog.whole_lists import whole_lists
from thinkgraph.prompts.communities import community_line
from thinkgraph.prompts.kinds import Judgement
from thinkgraph.prompts.lines import safe_block
from thinkgraph.prompts.tasks import task_words
from thinkgraph.runtime import requests
from thinkgraph.state.answer import Draft
from thinkgraph.state.evidence import MAX_EVIDENCE, EvidenceItem
from thinkgraph.state.fasttog import Chain, Community, FastTogSettings, FastTogState
from thinkgraph.state.knowledge import Triple, both_ends

STEER = "fasttog.steer"
"""The role that judges and scores in one call (`steered`)."""
_AMONG_STARTS = "Between the starts:"
_WHOLE_LISTS = "Lists of the chains, whole:"


@dataclass(frozen=True)
class _Line:
    """One community as Reason reads it."""

    head: str
    """The chain it belongs to, the starts, or the whole lists."""
    community: Community
    item: EvidenceItem
    text: str
    """As the prompt shows it."""
    rule: str
    """T2T: an answer is checked against it, whatever the prompt shows."""


def reason(state: FastTogState, settings: FastTogSettings) -> Flow[Update]:
    """Judge all chains, also those that were left: answer, go on, go back, or give up.

    Where no chain has grown, the same evidence is not judged again.
    """
    ends = is_final(state, settings)
    final = ends and not may_backtrack(state, settings)
    likely = ends and settings.partial
    nothing = no_answer(state, settings)
    every = [community for _, community in _communities(state["start"], state["chains"])]
    new = [community for community in every if _is_new(community, state["evidence"])]
    if not new and _is_judged(state, last=likely and final):
        return _without_answer(nothing, settings) if final else {}
    ahead = state["candidates"] if settings.steered and not ends else {}
    triples = yield from fetch_triples(every, itertools.chain.from_iterable(ahead.values()))
    chains = state["chains"]
    update: Update = {}
    if not settings.prose_candidates:
        grown = [community for community in new if community is not state["start"]]
        prose = yield from in_prose([triples_of(community, triples) for community in grown], settings)
        written = {community["id"]: text for community, text in zip(grown, prose, strict=True)}
        chains = [_in_prose(chain, written) for chain in chains]
        update = {"chains": chains, "texts": tally(state["texts"], prose, settings)}
    items = {**state["evidence"], **(yield from _evidence(new, triples))}
    lists = yield from whole_lists(state, every, triples, settings)
    known = {**{community["id"]: items[community["id"]] for community in every}, **lists.items}
    triples = {**triples, **lists.triples}
    update["evidence"] = Overwrite(known)
    if not every and settings.skip_empty_reason and not settings.own_knowledge:
        return {**update, **_without_answer(nothing, settings)} if final else update
    told = [*_communities(state["start"], chains), *((_WHOLE_LISTS, one) for one in lists.communities)]
    lines = _fitting(list(_lines(told, triples, known)), settings.evidence_tokens)
    context = PromptContext([line.item for line in lines], [line.rule for line in lines], Texts(triples, {}))
    offers = yield from offered(state["question"], ahead, triples, settings)
    asks = _asking(state, settings, lines, offers, likely=likely)
    draft_of = partial(decide, state=state, settings=settings, final=final, likely=likely)
    try:
        judgement, draft, fault, doubted = yield from judged(asks, draft_of, context, state, settings)
    except BudgetSpentError as spent:
        return {**update, **cut_short(state, settings, spent)}
    yield from reasoned(state["round"], sufficient=judgement["sufficient"], answers=judgement["answers"])
    update["doubted"] = doubted
    update["said"] = offers.by_chain(steering(judgement))
    if fault:
        draft = None
    if draft is None and not final:
        return update
    if draft is None or draft["status"] == "unknown":
        unfit = unknown(doubted[-1], settings, state["stopped"]) if doubted else None
        return {**update, **_without_answer(unfit or draft or nothing, settings)}
    cited = [key for key in _with_predecessors(draft["cited"], chains) if key in known]
    return {**update, "draft": {**draft, "cited": cited}}


def _asking(
    state: FastTogState, settings: FastTogSettings, lines: Sequence[_Line], offers: Offers, *, likely: bool
) -> Asks:
    """The function that makes the calls of one judgement. A call that shows all lines has the offered communities scored too."""
    inputs = {
        "question": safe_block(state["question"]),
        "entities": start_lines(state["subjects"]),
        "task": task_words(settings.task, state["question"]),
        "next": NEXT_FINAL if likely else NEXT_NONE,
    }

    def asks(shown: PromptContext, *, key: str, doubted: str) -> Flow[Judgement]:
        ids = {item["id"] for item in shown.items}
        told = [line for line in lines if line.item["id"] in ids]
        steers = len(offers.places) if len(told) == len(lines) else 0
        said = {**inputs, "evidence": under_heads((line.head, line.text) for line in told), "doubted": doubted}
        return judge(
            STEER if steers else "fasttog.reason",
            said | ({"options": offers.text} if steers else {}),
            settings,
            evidence=len(told),
            fields=("scores",) if steers else (),
            likely=likely,
            # The lines of the last round first.
            rank={"evidence": sorted(range(1, len(told) + 1), key=lambda at: -told[at - 1].community["round"])},
            key=key,
            options=steers,
            most=len(state["candidates"]) if steers else 0,
        )

    return asks


def _communities(start: Community | None, chains: Sequence[Chain]) -> list[tuple[str, Community]]:
    """Every community once, under the head of the last chain that holds it, with what joins it to any: the newest, as many as
    evidence holds.
    """
    found: dict[str, tuple[str, Community]] = {}
    for chain in chains:
        for community in chain["communities"]:
            _, before = found.pop(community["id"], ("", community))
            found[community["id"]] = (f"Chain {chain['number']}:", _together(before, community))
    newest = set(sorted(found, key=lambda key: found[key][1]["round"])[1 - MAX_EVIDENCE :])
    kept = [found[key] for key in found if key in newest]
    return kept if start is None else [(_AMONG_STARTS, start), *kept]


def _together(before: Community, again: Community) -> Community:
    """One community from two finds of it, by two chains: the later one, with the triples of both."""
    return {
        **again,
        "triples": list(dict.fromkeys([*before["triples"], *again["triples"]])),
        "joining": list(dict.fromkeys([*before["joining"], *again["joining"]])),
        "prose": again["prose"] or before["prose"],
    }


def _is_new(community: Community, items: Mapping[str, EvidenceItem]) -> bool:
    """Whether evidence lacks a community, or a triple that joins it to another chain."""
    item = items.get(community["id"])
    held = item["triples"] if item and item["kind"] == "community" else ()
    return item is None or not {*community["joining"], *community["triples"]}.issubset(held)


def _is_judged(state: FastTogState, *, last: bool) -> bool:
    """Whether this evidence was judged before in the same way. The last judgement differs: it asks for a likely answer too."""
    if not state["round"] and not state["backtracked"]:
        return False
    # The last round before going back asked for one if its chains grew.
    grew = any(item["round"] == state["round"] for item in state["evidence"].values())
    asked = state["backtracked"] > 0 and not rounds_since(state) and grew
    return asked or not (last and state["evidence"])


def no_answer(state: FastTogState, settings: FastTogSettings) -> Draft:
    """The draft of a run without an answer, with what spoke against one that was given before."""
    if state["doubted"]:
        return unknown(state["doubted"][-1], settings, state["stopped"])
    return nothing_found(state, settings)


def _in_prose(chain: Chain, written: Mapping[str, str]) -> Chain:
    """The chain with its new communities in prose."""

    def put(community: Community) -> Community:
        return {**community, "prose": written.get(community["id"], community["prose"])}

    return {**chain, "communities": list(map(put, chain["communities"]))}


def _evidence(communities: Sequence[Community], triples: Mapping[str, Triple]) -> Flow[dict[str, EvidenceItem]]:
    """Communities as evidence items by id. The lists in them are counted in one round trip."""
    every = [triple for community in communities for triple in triples_of(community, triples)]
    found = yield from requests.relations(list(dict.fromkeys(end for triple in every for end in both_ends(triple))))
    counts = {(edge["entity"], edge["name"], edge["direction"]): edge["count"] for edges in found for edge in edges}
    return {community["id"]: evidence_of(community, triples, counts) for community in communities}


def _without_answer(draft: Draft, settings: FastTogSettings) -> Update:
    """The end of a run that the chains do not answer, unless memory may be asked."""
    return {} if may_remember(settings) else {"draft": draft}


def _lines(
    told: Iterable[tuple[str, Community]], triples: Mapping[str, Triple], items: Mapping[str, EvidenceItem]
) -> Iterator[_Line]:
    for head, community in told:
        item = items[community["id"]]
        rule = community_line(triples_of(community, triples), totals_of(item))
        if rule:
            yield _Line(head, community, item, community["prose"] or rule, rule)


def _fitting(lines: Sequence[_Line], tokens: int) -> list[_Line]:
    """The lines that fit a bound on tokens, the newest taken first, in the order of the chains."""
    newest = sorted(lines, key=lambda line: -line.community["round"])
    kept = {key for key, _ in fitting([(line.community["id"], line.text) for line in newest], tokens)}
    return [line for line in lines if line.community["id"] in kept]


def _with_predecessors(cited: Sequence[str], chains: Sequence[Chain]) -> list[str]:
    """The cited communities with those that lead to them in the last chain that holds them, in the order of the chains."""
    left = set(cited)
    leading: list[str] = []
    for chain in reversed(chains):
        ids = [community["id"] for community in chain["communities"]]
        last = max((place for place, key in enumerate(ids) if key in left), default=-1)
        leading = [*ids[: last + 1], *leading]
        left -= set(ids)
    return [*(key for key in cited if key in left), *dict.fromkeys(leading)]
