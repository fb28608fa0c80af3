"""Reason and query reform (ToG-2 section 3.3): is the evidence sufficient? The answer, or clues and a new query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.evidence_lines import Shown, show
from thinkgraph.prompts.kinds import JUDGE, NOT_SUFFICIENT, TEXT, Judgement, Shape
from thinkgraph.prompts.lines import numbered, safe_block
from thinkgraph.prompts.tasks import TASK_LABELS, task_words
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.answer import Draft
from thinkgraph.state.events import Reasoned
from thinkgraph.state.settings import RunSettings
from thinkgraph.state.tog2 import Tog2Settings
from thinkgraph.tools.grounding import all_hold, beside_the_point, holds

UNDECIDED = "NOT ENOUGH INFO"

_NEXT_FUSED = (
    'If it is not sufficient, write under "clues" in one or two sentences what the evidence has brought to light so far '
    'that helps, and under "query" a search query for what is still missing. Leave both empty if it is sufficient.'
)
_NEXT_CLUES = (
    'If it is not sufficient, write under "clues" in one or two sentences what the evidence has brought to light so far '
    "that helps. Leave it empty if it is sufficient."
)
NEXT_NONE = "If it is not sufficient, give no answer."
NEXT_FINAL = "There will be no further search."


def next_words(settings: Tog2Settings, *, final: bool) -> tuple[str, tuple[str, ...]]:
    """What Reason is told to do where the evidence falls short, and the reply's fields for it."""
    if final:
        return NEXT_FINAL, ()
    if not settings.clues:
        return NEXT_NONE, ()
    return (_NEXT_FUSED, ("clues", "query")) if settings.fused else (_NEXT_CLUES, ("clues",))


def is_final(state: Mapping[str, Any], settings: Tog2Settings) -> bool:
    """No round follows: the depth is reached, there is nowhere left to go, or a ceiling stopped the run."""
    return bool(state["round"] >= settings.depth or not state["topics"] or state["stopped"])


def reason(state: Mapping[str, Any], settings: Tog2Settings) -> Flow[Update]:
    """Judge the round's evidence; in the last round the bounded evidence of all rounds."""
    final = is_final(state, settings)
    items = [item for item in state["evidence"].values() if final or item["round"] == state["round"]]
    if not items and settings.skip_empty_reason and not settings.own_knowledge:
        # Nothing to stand on and memory not allowed: no reply could be an answer.
        return (
            {"draft": nothing_found(state, settings)} if final else {"clues": state["clues"], "query": state["query"]}
        )
    shown = yield from show(items, tokens=settings.evidence_tokens)
    words, fields = next_words(settings, final=final)
    task = task_words(settings.task, own=settings.own_knowledge)
    try:
        judgement = yield from requests.call(
            JUDGE,
            "tog2.reason",
            {
                "question": safe_block(state["question"]),
                "evidence": numbered(shown.lines),
                "clues": safe_block(state["clues"]) if settings.clues else "",
                "task": task,
                "next": words,
            },
            shape=Shape(
                evidence=len(shown.lines),
                fields=fields,
                labels=TASK_LABELS[settings.task],
                # The form of the reply asks for it, so that played models know it too.
                likely=final,
                explain=settings.explain,
            ),
            fallback=NOT_SUFFICIENT,
        )
    except BudgetSpentError as spent:
        return {"draft": nothing_found({**state, "stopped": spent.reason}, settings), "stopped": spent.reason}
    yield from requests.emit(
        Reasoned(
            type="reasoned",
            round=state["round"],
            sufficient=judgement["sufficient"],
            answers=judgement["answers"],
            clues=judgement["clues"],
            query=judgement["query"],
        )
    )
    draft = decide(judgement, shown, state, settings, final=final)
    if draft is not None:
        return {"draft": draft}
    return {"clues": judgement["clues"], "query": judgement["query"]}


def supporting(answers: Sequence[str], cited: Sequence[int], shown: Shown, question: str = "") -> list[int]:
    """Numbers of the lines that the answers stand on: the cited ones if they hold them, else any that do; or none.

    Yes and no stand on nothing where `question` asks for a thing; a claim to be judged is no question.
    """
    if any(beside_the_point(answer, question) for answer in answers):
        return []
    lines = [shown.lines[number - 1] for number in cited]
    if lines and all_hold(answers, lines):
        return list(cited)
    if all(holds(answer, ()) for answer in answers):
        # A conclusion (yes, no) that names no line stands on nothing.
        return []
    found = [number for number, line in enumerate(shown.lines, start=1) if any(holds(a, [line]) for a in answers)]
    every = [shown.lines[number - 1] for number in found]
    return found if every and all_hold(answers, every) else []


def decide(
    judgement: Judgement, shown: Shown, state: Mapping[str, Any], settings: RunSettings, *, final: bool
) -> Draft | None:
    """The answer to give now, or None to go on."""
    answers = judgement["answers"]
    if answers == [UNDECIDED]:
        return nothing_found(state, settings) if final else None
    if answers and (judgement["sufficient"] or final):
        asked = state["question"] if settings.task == "question" else ""
        lines = supporting(answers, judgement["evidence"], shown, asked)
        if lines:
            whole = judgement["sufficient"]
            why = "the evidence holds the answer" if whole else "best effort: the evidence is not complete"
            return Draft(
                answers=answers,
                status="grounded" if whole else "partial",
                reason=_because(why, state),
                cited=shown.ids(lines),
            )
        if settings.own_knowledge:
            why = "the evidence does not hold the answer: it comes from the model's own knowledge"
            return Draft(answers=answers, status="memory", reason=_because(why, state), cited=[])
        if final:
            why = "the model's answer does not stand in the evidence, and own_knowledge is off"
            return Draft(answers=no_answer(settings), status="unknown", reason=_because(why, state), cited=[])
    return nothing_found(state, settings) if final else None


def _because(why: str, state: Mapping[str, Any]) -> str:
    return f"{why} ({state['stopped']})" if state["stopped"] else why


def no_answer(settings: RunSettings) -> list[str]:
    """What a run without an answer gives: nothing, or of a claim that it is undecided (FEVER's third label)."""
    return [UNDECIDED] if settings.task == "fact" else []


def in_rounds(count: int) -> str:
    """A number of rounds in words: "1 round", "3 rounds"."""
    return f"{count} round{'s' * (count != 1)}"


def nothing_found(state: Mapping[str, Any], settings: RunSettings) -> Draft:
    """The draft of a run that ends without an answer."""
    if state["stopped"]:
        why = state["stopped"]
    elif not state["evidence"]:
        why = "no entity of the knowledge base fits the question, or nothing is known about it"
    else:
        why = f"the evidence gathered in {in_rounds(state['round'])} does not hold the answer"
    return Draft(answers=no_answer(settings), status="unknown", reason=why, cited=[])


def query_reform(state: Mapping[str, Any], settings: Tog2Settings) -> Flow[Update]:
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
