"""The end of an exploration (FiSKE section 3.5): answer from the paths that map every clue, or say that there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from langgraph.types import Overwrite

from thinkgraph.models.budget import BudgetSpentError, remaining
from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.evidence_lines import PromptContext
from thinkgraph.nodes.common.judging import (
    UNDECIDED,
    because,
    from_memory,
    in_rounds,
    judge,
    supported,
    supporting,
    unknown,
    unsupported,
)
from thinkgraph.nodes.common.memory import DIRECT, recalled
from thinkgraph.nodes.common.reports import reasoned
from thinkgraph.nodes.fiske.path_evidence import show_paths
from thinkgraph.prompts.kinds import Judgement
from thinkgraph.prompts.lines import numbered, safe_block
from thinkgraph.prompts.tasks import TASK_LABELS, task_words
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.answer import Draft
from thinkgraph.state.fiske import Branch, FiskeSettings
from thinkgraph.tools.grounding import fold

Outcome = Literal["complete", "everything", "partial", "failed"]
"""`complete`: branches mapped every clue. `everything`: the ending flag is off, whatever was retrieved counts. `partial`:
none did, and what all retrieved is looked at together. `failed`: nothing to answer from."""

_NEXT = "If the evidence is not sufficient, give no answer."
_NEXT_PARTIAL = (
    "The search did not find everything that the question speaks of. If the evidence is not sufficient but makes some "
    "answer likely, give that answer and name the lines that speak for it; otherwise give none."
)
_NO_REPLY = Judgement(sufficient=False, answers=[], evidence=[], clues="", query="")


def outcome(state: Mapping[str, Any], settings: FiskeSettings) -> tuple[Outcome, list[Branch]]:
    """How the exploration ended, and the branches whose paths are evidence."""
    branches: Sequence[Branch] = list(state["branches"].values())
    complete = [branch for branch in branches if branch["status"] == "complete" and branch["ways"]]
    retrieved = [branch for branch in branches if branch["ways"]]
    if not settings.ending_flag:
        return "everything", retrieved
    if complete and not state["stopped"]:
        return "complete", complete
    if retrieved and settings.partial_evidence:
        return "partial", retrieved
    return "failed", []


def conclude(state: Mapping[str, Any], settings: FiskeSettings) -> Flow[Update]:
    """One closing call over the paths; from memory, if that is allowed, where the exploration failed."""
    how, ends = outcome(state, settings)
    shown, left_out = yield from show_paths(state["branches"], ends, state["round"], tokens=settings.evidence_tokens)
    notes = [*state["notes"], *left_out]
    # Without the ending flag nobody knows that an exploration failed: there is no turning to memory.
    from_memory = settings.own_knowledge and not shown.lines and settings.ending_flag
    left = remaining(settings, state["calls"], state["work"])["calls"]
    # The last call is the closing one's, not the IO answer's.
    io = settings.io and (not shown.lines or left is None or left > 1)
    asked = [
        _caught(_from_paths(shown, how, state, settings)) if shown.lines else _nothing(),
        _caught(recalled(state["question"], DIRECT, settings)) if from_memory or io else _nothing(),
    ]
    (judged, spent), (remembered, spent_too) = yield from requests.together(asked)
    stopped = state["stopped"] or spent or spent_too
    state = {**state, "stopped": stopped}
    if shown.lines:
        draft = _decide(judged, shown, how, ends, state, settings, notes)
    else:
        draft = _failed(remembered if from_memory else _NO_REPLY, state, settings, notes)
    if settings.io:
        draft = _merged(draft, remembered, settings)
    sure = bool(draft["answers"]) and draft["status"] != "unknown"
    yield from reasoned(state["round"], sufficient=sure, answers=draft["answers"])
    cited = {item["id"]: item for item in shown.items if item["id"] in draft["cited"]}
    # Bounded by the candidate cap: a list of a hundred paths that are all answers is cited whole.
    return {"draft": draft, "evidence": Overwrite(cited), "stopped": stopped}


def _nothing() -> Flow[tuple[Judgement, str]]:
    yield from ()
    return _NO_REPLY, ""


def _caught(steps: Flow[Judgement]) -> Flow[tuple[Judgement, str]]:
    """A call that a ceiling may forbid: its judgement, or the reason why there is none."""
    try:
        return (yield from steps), ""
    except BudgetSpentError as spent:
        return _NO_REPLY, spent.reason


def _from_paths(
    shown: PromptContext, how: Outcome, state: Mapping[str, Any], settings: FiskeSettings
) -> Flow[Judgement]:
    inputs = {
        "question": safe_block(state["question"]),
        "evidence": numbered(shown.lines),
        "task": task_words(settings.task, own=settings.own_knowledge),
        "next": _NEXT_PARTIAL if how == "partial" else _NEXT,
    }
    return (yield from judge("fiske.answer", inputs, settings, evidence=len(shown.lines)))


def _decide(
    judged: Judgement,
    shown: PromptContext,
    how: Outcome,
    ends: Sequence[Branch],
    state: Mapping[str, Any],
    settings: FiskeSettings,
    notes: Sequence[str],
) -> Draft:
    answers = judged["answers"]
    if answers == [UNDECIDED] or not answers or not (judged["sufficient"] or how == "partial"):
        return _failed(_NO_REPLY, state, settings, notes, how)
    asked = state["question"] if settings.task == "question" else ""
    lines = supporting(answers, judged["evidence"], shown.lines, asked)
    if lines:
        missing = [] if how in {"complete", "everything"} else unmapped(state["clues"], ends)
        whole = judged["sufficient"] and not missing and not state["stopped"]
        why = "the evidence holds the answer" if whole else "best effort: the evidence is not complete"
        if missing:
            why += f", no path maps clue {missing[0]}"
        elif whole and how == "partial":
            why += ", by several paths together"
        return supported(answers, shown.ids(lines), state["stopped"], *notes, whole=whole, why=why)
    if settings.own_knowledge:
        return unsupported(answers, state["stopped"], *notes)
    why = "the model's answer does not stand in the evidence, and own_knowledge is off"
    return unknown(because(why, state["stopped"], *notes), settings)


def unmapped(clues: Sequence[str], branches: Sequence[Branch]) -> list[str]:
    """The clues that none of the branches mapped, with their numbers."""
    explored = {number for branch in branches for number in branch["explored"]}
    return [f"{number} ({text})" for number, text in enumerate(clues, start=1) if number not in explored]


def _failed(
    remembered: Judgement,
    state: Mapping[str, Any],
    settings: FiskeSettings,
    notes: Sequence[str],
    how: Outcome = "failed",
) -> Draft:
    """The draft of a run whose evidence gave no answer: what the model remembers, if it was asked, or unknown."""
    why = _why_not(state, how)
    if remembered["sufficient"] and remembered["answers"] not in ([], [UNDECIDED]):
        why = f"{why}: the answer comes from the model's own knowledge"
        return from_memory(remembered["answers"], why, state["stopped"], *notes)
    return unknown(because(why, state["stopped"], *notes), settings)


def _why_not(state: Mapping[str, Any], how: Outcome) -> str:
    clues: Sequence[str] = state["clues"]
    if not clues:
        return "" if state["stopped"] else "no clues could be read from the question"
    if not state["branches"] and not state["round"]:
        return "no entity of the knowledge base is named by a clue"
    if how in {"complete", "everything"}:
        return f"the paths found in {in_rounds(state['round'])} do not hold the answer"
    if state["stopped"]:
        return "the exploration failed"
    missing = unmapped(clues, list(state["branches"].values()))
    if not missing and not any(branch["ways"] for branch in state["branches"].values()):
        return "the clues name entities and nothing to look for at them"
    fault = f"and none maps clue {missing[0]}" if missing else "each maps only some"
    return f"the exploration failed: no path maps every clue, {fault}"


def _merged(draft: Draft, remembered: Judgement, settings: FiskeSettings) -> Draft:
    """The method's answers and the IO answer's together (Table 2, "+ IO"). A verdict is not merged with another one."""
    known = {fold(answer) for answer in draft["answers"]}
    new = [answer for answer in remembered["answers"] if fold(answer) not in known and answer != UNDECIDED]
    found = draft["status"] != "unknown"
    if not remembered["sufficient"] or not new or (found and TASK_LABELS[settings.task]):
        return draft
    answers = [*draft["answers"], *new] if found else new
    why = f"{draft['reason']}; from the model's own knowledge: {', '.join(new)}"
    return Draft(answers=answers, status="memory", reason=why, cited=draft["cited"])
