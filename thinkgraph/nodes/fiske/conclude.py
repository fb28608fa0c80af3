"""The end of an exploration (FiSKE section 3.5): answer from the paths that map every clue, or say that there is none."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeVar

from langgraph.types import Overwrite

from thinkgraph.models.budget import BudgetSpentError, remaining
from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.evidence_lines import PromptContext
from thinkgraph.nodes.common.judging import (
    EMPTY,
    NOT_COMPLETE,
    UNDECIDED,
    from_memory,
    in_rounds,
    judge,
    standing,
    unknown,
    unsupported,
)
from thinkgraph.nodes.common.memory import DIRECT, recalled
from thinkgraph.nodes.common.reports import reasoned
from thinkgraph.nodes.doubt.judged import Judged, going_back, judged, may_backtrack
from thinkgraph.nodes.fiske.path_evidence import path_evidence
from thinkgraph.prompts.kinds import NOT_SUFFICIENT, Judgement
from thinkgraph.prompts.lines import numbered, safe_block
from thinkgraph.prompts.tasks import task_labels, task_words
from thinkgraph.state.answer import Draft
from thinkgraph.state.fiske import Branch, FiskeSettings, FiskeState
from thinkgraph.tools.grounding import fold

T = TypeVar("T")

Outcome = Literal["complete", "everything", "partial", "failed"]
"""`complete`: some branch mapped every clue. `everything`: the ending flag is off, so everything retrieved counts. `partial`:
no branch mapped every clue, and everything retrieved is read together. `failed`: nothing to answer from."""

_NEXT = "If the evidence is not sufficient, give no answer."
_NEXT_MEMORY = (
    "If the evidence falls short, answer from what you know yourself and name no line. If you do not know the answer "
    "either, give none."
)
_NEXT_PARTIAL = (
    "The search did not find everything that the question speaks of. If the evidence is not sufficient but makes some "
    "answer likely, give that answer and name the lines that speak for it; otherwise give none."
)


@dataclass(frozen=True)
class _Ending:
    """How the exploration ended."""

    outcome: Outcome
    ends: Sequence[Branch]
    """The branches whose paths are evidence."""
    stopped: str
    """Why the run stopped early; empty otherwise."""
    left_out: Sequence[str]

    @property
    def notes(self) -> list[str]:
        """What is said with the answer's reason."""
        return [self.stopped, *self.left_out]


def conclude(state: FiskeState, settings: FiskeSettings) -> Flow[Update]:
    """Make one closing call over the paths: answer, or go back. Where they give no answer, ask memory, if that is allowed."""
    outcome, ends = _outcome(state, settings)
    context, left_out = yield from path_evidence(
        state["branches"], ends, state["round"], tokens=settings.evidence_tokens
    )
    ending = _Ending(outcome if context.lines else "failed", ends, state["stopped"], [*state["notes"], *left_out])
    shown = _digest(ending.outcome, *context.lines)
    # Evidence that was judged before is not judged again.
    call = _closing_call(context, ending, state, settings) if context.lines and shown != state["judged"] else None
    nothing = Judged(NOT_SUFFICIENT, None, "", state["doubted"])
    closing, spent = yield from _caught(call, nothing)
    ending = replace(ending, stopped=state["stopped"] or spent)
    draft = _draft(closing, ending, state, settings)
    if draft["status"] == "unknown" and state["clues"] and not ending.stopped and may_backtrack(state, settings):
        yield from reasoned(state["round"], sufficient=False, answers=[])
        return {"judged": shown, "doubted": closing.doubted, **going_back(state)}
    draft, stopped = yield from _with_memory(draft, context, ending, state, settings)
    sure = bool(draft["answers"]) and draft["status"] != "unknown"
    yield from reasoned(state["round"], sufficient=sure, answers=draft["answers"])
    # Bounded by the candidate cap: where a hundred paths are all answers, all are cited.
    wanted = {*draft["cited"], *draft.get("instead_of", ())}
    cited = {item["id"]: item for item in context.items if item["id"] in wanted}
    return {"draft": draft, "evidence": Overwrite(cited), "stopped": stopped}


def _outcome(state: FiskeState, settings: FiskeSettings) -> tuple[Outcome, list[Branch]]:
    """How the exploration ended, and the branches whose paths are evidence."""
    retrieved = [branch for branch in state["branches"].values() if branch["arrivals"]]
    complete = [branch for branch in retrieved if branch["status"] == "complete"]
    if not settings.ending_flag:
        return "everything", retrieved
    # After going back everything is read together: a branch that seemed complete was none.
    if complete and not state["stopped"] and not state["backtracked"]:
        return "complete", complete
    if retrieved and settings.partial_evidence:
        return "partial", retrieved
    return "failed", []


def _digest(*lines: str) -> str:
    return hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()[:16]


def _caught(call: Flow[T] | None, nothing: T) -> Flow[tuple[T, str]]:
    """What a call says, and why a ceiling forbade it (empty where none did). `nothing` stands for what no call said."""
    try:
        return (yield from call) if call else nothing, ""
    except BudgetSpentError as spent:
        return nothing, spent.reason


def _draft(closing: Judged, ending: _Ending, state: FiskeState, settings: FiskeSettings) -> Draft:
    """The draft that the paths lead to. An unknown one says what spoke against an answer that was given."""
    draft = closing.draft or _failed(NOT_SUFFICIENT, ending, state, settings)
    doubted = closing.fault or (closing.doubted[-1] if closing.doubted and draft["status"] == "unknown" else "")
    return unknown(doubted, settings, *ending.notes) if doubted else draft


def _with_memory(
    draft: Draft, context: PromptContext, ending: _Ending, state: FiskeState, settings: FiskeSettings
) -> Flow[tuple[Draft, str]]:
    """The draft, with what the model remembers where that is asked, and why the run stopped early (empty if it did not)."""
    # Without the ending flag nobody knows that an exploration failed, so nothing is asked from memory.
    memory = settings.own_knowledge and draft["status"] == "unknown" and settings.ending_flag
    left = remaining(settings, state["calls"], state["work"])["calls"]
    # The last call belongs to the closing call, not to the IO answer.
    io = settings.io and (not context.lines or left is None or left > 1)
    call = recalled(state["question"], DIRECT, settings) if memory or io else None
    remembered, spent = yield from _caught(call, NOT_SUFFICIENT)
    ending = replace(ending, stopped=ending.stopped or spent)
    told = _failed(remembered, ending, state, settings)
    if memory and (spent or told["status"] == "memory"):
        draft = told
    return _merged(draft, remembered, state, settings) if settings.io else draft, ending.stopped


def _closing_call(context: PromptContext, ending: _Ending, state: FiskeState, settings: FiskeSettings) -> Flow[Judged]:
    inputs = {
        "question": safe_block(state["question"]),
        "task": task_words(settings.task, state["question"], own=settings.own_knowledge),
        "next": _NEXT_PARTIAL if ending.outcome == "partial" else _NEXT_MEMORY if settings.own_knowledge else _NEXT,
    }

    def asks(shown: PromptContext, *, key: str, doubted: str) -> Flow[Judgement]:
        said = {**inputs, "evidence": numbered(shown.lines), "doubted": doubted}
        # Of everything, only a sure answer counts (`_decide`), whether or not the search has gone back.
        likely = ending.outcome == "partial" and bool(state["backtracked"])
        return judge("fiske.conclude", said, settings, evidence=len(shown.lines), likely=likely, key=key)

    draft_of = partial(_decide, ending=ending, state=state, settings=settings)
    # Of a complete branch each step maps a clue: which relation the question means was asked there.
    mapped = ending.outcome == "complete"
    return (yield from judged(asks, draft_of, context, state, settings, mapped=mapped))


def _decide(
    judged: Judgement, context: PromptContext, ending: _Ending, state: FiskeState, settings: FiskeSettings
) -> Draft:
    """The draft that the closing call leads to."""
    answers, partial = judged["answers"], ending.outcome == "partial"
    if answers not in ([], [UNDECIDED]) and settings.own_knowledge and not (judged["sufficient"] or partial):
        return unsupported(answers, settings, *ending.notes)
    if answers in ([], [UNDECIDED]) or not (judged["sufficient"] or partial):
        return _failed(NOT_SUFFICIENT, ending, state, settings)
    fault = "" if judged["sufficient"] and not ending.stopped else NOT_COMPLETE
    if partial and (missing := _unmapped(state["clues"], ending.ends)):
        fault = f"{NOT_COMPLETE}, no path maps clue {missing[0]}"
    beside = ", by several paths together" if partial else ""
    draft = standing(judged, context, state["question"], settings, *ending.notes, fault=fault, beside=beside)
    return draft or unsupported(answers, settings, *ending.notes)


def _unmapped(clues: Sequence[str], branches: Sequence[Branch]) -> list[str]:
    """The clues that the branches together did not map, with their numbers.

    Each branch maps the first of several clues with the same words: two that did so by different steps mapped two of them.
    """
    explored = {number for branch in branches for number in branch["explored"]}
    steps = {
        (fold(clues[mark["clue"] - 1]), mark["clue"], arrival["branch"], arrival["relation"])
        for branch in branches
        for mark in branch["marks"]
        for arrival in branch["arrivals"]
    }
    left = Counter(text for text, *_ in steps)
    left.subtract(fold(clues[number - 1]) for number in explored)
    missing: list[str] = []
    for number, text in enumerate(clues, start=1):
        if number not in explored:
            left[fold(text)] -= 1
            missing += [f"{number} ({text})"] if left[fold(text)] < 0 else []
    return missing


def _failed(remembered: Judgement, ending: _Ending, state: FiskeState, settings: FiskeSettings) -> Draft:
    """The draft of a run whose evidence gave no answer: what the model remembers, if it was asked, or unknown."""
    why = _why_not(ending, state)
    if remembered["sufficient"] and remembered["answers"] not in ([], [UNDECIDED]):
        why = f"{why}: the answer comes from the model's own knowledge"
        return from_memory(remembered["answers"], why, *ending.notes)
    return unknown(why, settings, *ending.notes)


def _why_not(ending: _Ending, state: FiskeState) -> str:
    branches = list(state["branches"].values())
    if not state["clues"]:
        return "" if ending.stopped else "no clues could be read from the question"
    if not branches:
        return EMPTY if state["manifest"].get("empty") else "no entity of the knowledge base is named by a clue"
    if ending.outcome in {"complete", "everything"}:
        return f"the paths found in {in_rounds(state['round'])} do not hold the answer"
    if ending.stopped:
        return "the exploration failed"
    missing = _unmapped(state["clues"], branches)
    if not missing and not any(branch["arrivals"] for branch in branches):
        return "the clues name entities and nothing to look for at them"
    fault = f"and none maps clue {missing[0]}" if missing else "each maps only some"
    return f"the exploration failed: no path maps every clue, {fault}"


def _merged(draft: Draft, remembered: Judgement, state: FiskeState, settings: FiskeSettings) -> Draft:
    """The method's answers and the IO answer's together (Table 2, "+ IO"). A verdict is not merged with another one."""
    known = {fold(answer) for answer in draft["answers"]}
    new = [answer for answer in remembered["answers"] if fold(answer) not in known and answer != UNDECIDED]
    found = draft["status"] != "unknown"
    if not remembered["sufficient"] or not new or (found and task_labels(settings.task, state["question"])):
        return draft
    answers = [*draft["answers"], *new] if found else new
    why = f"{draft['reason']}; from the model's own knowledge: {', '.join(new)}"
    return Draft(answers=answers, status="memory", reason=why, cited=draft["cited"])
