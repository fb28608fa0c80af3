"""Reasoning over all chains (FastToG, section "Reasoning"): an answer, or unknown and the next round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.evidence_lines import PromptContext, fitting, totals_of
from thinkgraph.nodes.common.judging import NEXT_FINAL, NEXT_NONE, cut_short, decide, judge, nothing_found
from thinkgraph.nodes.common.reports import reasoned
from thinkgraph.nodes.fasttog.chains import evidence_of, fetch_triples, in_words, is_final, start_lines, triples_of
from thinkgraph.nodes.fasttog.community_text import in_prose, tally
from thinkgraph.nodes.fasttog.remember import may_remember
from thinkgraph.prompts.communities import community_line
from thinkgraph.prompts.lines import one_line, safe_block
from thinkgraph.prompts.tasks import TASK_WORDS
from thinkgraph.runtime import requests
from thinkgraph.state.answer import Draft
from thinkgraph.state.evidence import EvidenceItem
from thinkgraph.state.fasttog import Chain, Community, FastTogSettings, FastTogState
from thinkgraph.state.knowledge import Triple

_AMONG_STARTS = "Between the starts:"


@dataclass(frozen=True)
class _Line:
    """One community as Reason reads it."""

    head: str
    """The chain it belongs to, or the starts."""
    community: Community
    item: EvidenceItem
    text: str
    """As the prompt shows it."""
    rule: str
    """T2T: an answer is checked against it, whatever the prompt shows."""


def reason(state: FastTogState, settings: FastTogSettings) -> Flow[Update]:
    """Judge what the chains hold: answer, go on, or give up."""
    final = is_final(state, settings)
    every = [community for _, community in _communities(state["start"], state["chains"])]
    new = [community for community in every if community["id"] not in state["evidence"]]
    if state["round"] and not new and not (settings.partial and state["evidence"]):
        # The same evidence was judged a round ago, and only a sure answer counts.
        return _without_answer(nothing_found(state, settings), settings)
    triples = yield from fetch_triples(every)
    chains = state["chains"]
    update: Update = {}
    if not settings.prose_candidates:
        grown = [community for community in new if community is not state["start"]]
        prose = yield from in_prose([triples_of(community, triples) for community in grown], settings)
        written = {community["id"]: text for community, text in zip(grown, prose, strict=True)}
        chains = [_in_prose(chain, written) for chain in chains]
        update = {"chains": chains, "texts": tally(state["texts"], prose, settings)}
    update["evidence"] = yield from _evidence(new, triples)
    if not every and settings.skip_empty_reason and not settings.own_knowledge:
        return {**update, **_without_answer(nothing_found(state, settings), settings)} if final else update
    known = {**state["evidence"], **update["evidence"]}
    lines = _fitting(list(_lines(state["start"], chains, triples, known)), settings.evidence_tokens)
    likely = final and settings.partial
    inputs = {
        "question": safe_block(state["question"]),
        "entities": start_lines(state["subjects"]),
        "evidence": _under_heads(lines),
        "task": TASK_WORDS[settings.task],
        "next": NEXT_FINAL if likely else NEXT_NONE,
    }
    try:
        judgement = yield from judge(
            "fasttog.reason", inputs, settings, evidence=len(lines), likely=likely, rank=_newest_first(lines)
        )
    except BudgetSpentError as spent:
        return {**update, **cut_short(state, settings, spent)}
    yield from reasoned(state["round"], sufficient=judgement["sufficient"], answers=judgement["answers"])
    context = PromptContext([line.item for line in lines], [line.rule for line in lines])
    draft = decide(judgement, context, state, settings, final=final, likely=settings.partial)
    if draft is None:
        return update
    if draft["status"] == "unknown":
        return {**update, **_without_answer(draft, settings)}
    return {**update, "draft": {**draft, "cited": _with_predecessors(draft["cited"], chains)}}


def _communities(start: Community | None, chains: Sequence[Chain]) -> Iterator[tuple[str, Community]]:
    """Every community once, under the head of its chain."""
    if start is not None:
        yield _AMONG_STARTS, start
    for chain in chains:
        for community in chain["communities"]:
            yield f"Chain {chain['number']}:", community


def _in_prose(chain: Chain, written: Mapping[str, str]) -> Chain:
    """The chain with its new communities in prose."""

    def put(community: Community) -> Community:
        return {**community, "prose": written.get(community["id"], community["prose"])}

    return {**chain, "communities": list(map(put, chain["communities"]))}


def _evidence(communities: Sequence[Community], triples: Mapping[str, Triple]) -> Flow[dict[str, EvidenceItem]]:
    """Communities as evidence items by id. The lists in them are counted in one round trip."""
    every = [triple for community in communities for triple in triples_of(community, triples)]
    found = yield from requests.relations(
        list(dict.fromkeys(end for triple in every for end in (triple["subject"], triple["object"])))
    )
    counts = {(edge["entity"], edge["name"], edge["direction"]): edge["count"] for edges in found for edge in edges}
    return {community["id"]: evidence_of(community, triples, counts) for community in communities}


def _without_answer(draft: Draft, settings: FastTogSettings) -> Update:
    """The end of a run that the chains do not answer, unless memory may be asked."""
    return {} if may_remember(settings) else {"draft": draft}


def _lines(
    start: Community | None, chains: Sequence[Chain], triples: Mapping[str, Triple], items: Mapping[str, EvidenceItem]
) -> Iterator[_Line]:
    for head, community in _communities(start, chains):
        item = items[community["id"]]
        totals = totals_of(item)
        rule = community_line(triples_of(community, triples), totals)
        if rule:
            yield _Line(head, community, item, in_words(community, triples, totals), rule)


def _newest_first(lines: Sequence[_Line]) -> list[int]:
    """Numbers of the lines, those of the last round first."""
    return sorted(range(1, len(lines) + 1), key=lambda number: -lines[number - 1].community["round"])


def _fitting(lines: Sequence[_Line], tokens: int) -> list[_Line]:
    """The lines that fit a bound on tokens, the newest taken first, in the order of the chains."""
    newest = sorted(lines, key=lambda line: -line.community["round"])
    kept = {key for key, _ in fitting([(line.community["id"], line.text) for line in newest], tokens)}
    return [line for line in lines if line.community["id"] in kept]


def _under_heads(lines: Sequence[_Line]) -> str:
    """The numbered lines, each chain under its head."""
    out: list[str] = []
    head = ""
    for number, line in enumerate(lines, start=1):
        if line.head != head:
            head = line.head
            out.append(head)
        out.append(f"[{number}] {one_line(line.text)}")
    return "\n".join(out)


def _with_predecessors(cited: Sequence[str], chains: Sequence[Chain]) -> list[str]:
    """The cited communities with those that lead to them, in the order of the chains."""
    wanted: dict[str, None] = {}
    for chain in chains:
        ids = [community["id"] for community in chain["communities"]]
        last = max((place for place, key in enumerate(ids) if key in cited), default=-1)
        wanted.update(dict.fromkeys(ids[: last + 1]))
    return [*(key for key in cited if key not in wanted), *wanted]
