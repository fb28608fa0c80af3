"""Reason and query reform (ToG-2 section 3.3): is the evidence sufficient? The answer, or clues and a new query."""

from __future__ import annotations

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.evidence_lines import prompt_context
from thinkgraph.nodes.common.judging import NEXT_FINAL, NEXT_NONE, cut_short, decide, judge, nothing_found
from thinkgraph.nodes.common.reports import reasoned
from thinkgraph.prompts.kinds import TEXT, Shape
from thinkgraph.prompts.lines import numbered, safe_block
from thinkgraph.prompts.tasks import task_words
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.tog2 import Tog2Settings, Tog2State

_NEXT_FUSED = (
    'If it is not sufficient, write under "clues" in one or two sentences what the evidence has brought to light so far '
    'that helps, and under "query" a search query for what is still missing. Leave both empty if it is sufficient.'
)
_NEXT_CLUES = (
    'If it is not sufficient, write under "clues" in one or two sentences what the evidence has brought to light so far '
    "that helps. Leave it empty if it is sufficient."
)


def next_words(settings: Tog2Settings, *, final: bool) -> tuple[str, tuple[str, ...]]:
    """What Reason is told to do where the evidence falls short, and the reply's fields for it."""
    if final:
        return NEXT_FINAL, ()
    if not settings.clues:
        return NEXT_NONE, ()
    return (_NEXT_FUSED, ("clues", "query")) if settings.fused else (_NEXT_CLUES, ("clues",))


def is_final(state: Tog2State, settings: Tog2Settings) -> bool:
    """No round follows: the depth is reached, there is nowhere left to go, or a ceiling stopped the run."""
    return bool(state["round"] >= settings.depth or not state["topics"] or state["stopped"])


def reason(state: Tog2State, settings: Tog2Settings) -> Flow[Update]:
    """Judge the round's evidence; in the last round the bounded evidence of all rounds."""
    final = is_final(state, settings)
    items = [item for item in state["evidence"].values() if final or item["round"] == state["round"]]
    if not items and settings.skip_empty_reason and not settings.own_knowledge:
        # Nothing to stand on and memory not allowed: no reply could be an answer.
        return (
            {"draft": nothing_found(state, settings)} if final else {"clues": state["clues"], "query": state["query"]}
        )
    context = yield from prompt_context(items, tokens=settings.evidence_tokens)
    words, fields = next_words(settings, final=final)
    inputs = {
        "question": safe_block(state["question"]),
        "evidence": numbered(context.lines),
        "clues": safe_block(state["clues"]) if settings.clues else "",
        "task": task_words(settings.task, own=settings.own_knowledge),
        "next": words,
    }
    try:
        # The form of the reply asks for a likely answer, so that played models know it too.
        judgement = yield from judge(
            "tog2.reason", inputs, settings, evidence=len(context.lines), fields=fields, likely=final
        )
    except BudgetSpentError as spent:
        return cut_short(state, settings, spent)
    yield from reasoned(
        state["round"],
        sufficient=judgement["sufficient"],
        answers=judgement["answers"],
        clues=judgement["clues"],
        query=judgement["query"],
    )
    draft = decide(judgement, context, state, settings, final=final)
    if draft is not None:
        return {"draft": draft}
    return {"clues": judgement["clues"], "query": judgement["query"]}


def query_reform(state: Tog2State, settings: Tog2Settings) -> Flow[Update]:
    """The split mode's own call: from clues to the next round's search query."""
    query = yield from requests.call(
        TEXT,
        "tog2.query_reform",
        {"question": safe_block(state["question"]), "clues": safe_block(state["clues"])},
        shape=Shape(explain=settings.explain),
        fallback="",
        spare=1,
    )
    return {"query": query[:500]}
