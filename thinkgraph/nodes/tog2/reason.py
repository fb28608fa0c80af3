"""Reason (ToG-2 section 3.3, equation 7): is the evidence sufficient? The answer, or clues and in fused mode a new query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.evidence_lines import PromptContext, prompt_context
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
from thinkgraph.nodes.doubt.judged import Asks, judged
from thinkgraph.nodes.tog2.backtrack import can_return, exhausted
from thinkgraph.nodes.tog2.relation_prune import Offer, most_of, offered, options_shown, ranked, walked_before
from thinkgraph.prompts.kinds import Judgement
from thinkgraph.prompts.lines import numbered, safe_block
from thinkgraph.prompts.tasks import task_words
from thinkgraph.state.tog2 import BeamSettings, BeamState

STEER = "tog2.steer"
"""The role that judges and scores in one call (`steered`)."""
_NEXT: Mapping[tuple[str, ...], str] = {
    (): NEXT_NONE,
    ("clues",): (
        'If it is not sufficient, write under "clues" in one or two sentences what the evidence has brought to light {new}. '
        "Leave it empty if it is sufficient."
    ),
    ("clues", "query"): (
        'If it is not sufficient, write under "clues" in one or two sentences what the evidence has brought to light {new}, '
        'and under "query" a search query for what is still missing. Leave both empty if it is sufficient.'
    ),
}
"""What Reason is told to do if the evidence is not sufficient, by the fields of its reply."""
_NEW = {False: "so far that helps", True: "that helps and is not among the clues so far, which are kept"}
"""What new clues are, by `clue_history`."""


def reason(state: BeamState, settings: BeamSettings) -> Flow[Update]:
    """Judge the round's evidence; where the search ends or may go back, the bounded evidence of all rounds (`all_rounds`)."""
    ends = exhausted(state, settings) or bool(state["stopped"])
    final = ends and not can_return(state, settings)
    every = ends and settings.all_rounds
    items = [item for item in state["evidence"].values() if every or item["round"] == state["round"]]
    if not items and settings.skip_empty_reason and not settings.own_knowledge:
        # Nothing to stand on and memory not allowed: no reply could be an answer.
        return {"draft": nothing_found(state, settings)} if final else {}
    offers = (yield from _offers(state, settings)) if settings.steers and not ends else []
    context = yield from prompt_context(
        items, tokens=settings.evidence_tokens, leads=state["evidence"].values() if settings.paths else ()
    )
    asks = _asking(state, settings, context, offers, ends=ends)
    draft_of = partial(decide, state=state, settings=settings, final=final, likely=ends)
    try:
        judgement, draft, fault, doubted = yield from judged(asks, draft_of, context, state, settings)
    except BudgetSpentError as spent:
        return cut_short(state, settings, spent)
    clues = judgement["clues"]
    if settings.clues_stay:
        clues = "\n".join(dict.fromkeys(filter(None, [*state["clues"].splitlines(), clues])))
    carried = {"clues": clues, "query": judgement["query"]}
    yield from reasoned(state["round"], sufficient=judgement["sufficient"], answers=judgement["answers"], **carried)
    if fault:
        draft = unknown(fault, settings, state["stopped"]) if final else None
    if draft is not None:
        return {"draft": draft}
    scored = {offers[number - 1].key: value for number, value in steering(judgement)}
    update: Update = {**carried, "doubted": doubted, "scored": scored}
    nothing_to_walk = offers and not scored and not judgement["sufficient"]
    if nothing_to_walk and state["round"] and can_return(state, settings):
        # Relation prune is shown these relations on the way back, with those that were left aside.
        update["topics"] = []
    return update


def _asking(
    state: BeamState, settings: BeamSettings, context: PromptContext, offers: Sequence[Offer], *, ends: bool
) -> Asks:
    """The function that makes the calls of one judgement. A call that shows all the evidence has the offered relations scored too."""
    fields = () if ends else settings.carried
    inputs = {
        "question": safe_block(state["question"]),
        "clues": safe_block(state["clues"]) if settings.carried else "",
        "task": task_words(settings.task, state["question"], own=settings.own_knowledge),
        "next": NEXT_FINAL if ends else _NEXT[fields].format(new=_NEW[settings.clues_stay]),
    }
    known: dict[tuple[str, str], Judgement] = {}

    def asks(shown: PromptContext, *, key: str, doubted: str) -> Flow[Judgement]:
        said = {**inputs, "evidence": numbered(shown.lines), "doubted": doubted}
        asked = (said["evidence"], doubted)
        if asked in known and not settings.temperature_reason:
            # Equal evidence would be judged alike.
            return known[asked]
        steers = offers if len(shown.lines) == len(context.lines) else []
        known[asked] = yield from judge(
            STEER if steers else "tog2.reason",
            said | (options_shown(state["topics"], steers, settings) if steers else {}),
            settings,
            evidence=len(shown.lines),
            fields=(*fields, "scores") if steers else fields,
            likely=ends,
            key=key,
            rank=ranked(state["question"], steers) if steers else None,
            options=len(steers),
            most=most_of(steers, settings),
        )
        return known[asked]

    return asks


def _offers(state: BeamState, settings: BeamSettings) -> Flow[list[Offer]]:
    """The relations that the judging call scores too. A lone relation is offered only if the search can go back instead of walking it."""
    offers = yield from offered(state["topics"], walked_before(state), state["backtracked"], settings)
    return offers if len(offers) > 1 or can_return(state, settings) else []
