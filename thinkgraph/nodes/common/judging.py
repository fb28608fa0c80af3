"""From the model's judgement of evidence to the answer: what was asked for, what supports it, and what its status is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow, Update
from thinkgraph.models.window import Rank
from thinkgraph.nodes.common.evidence_lines import PromptContext
from thinkgraph.nodes.doubt.counted import bare_count, is_another_count
from thinkgraph.prompts.kinds import JUDGE, NOT_SUFFICIENT, Judgement, Shape
from thinkgraph.prompts.tasks import task_labels
from thinkgraph.runtime import requests
from thinkgraph.state.answer import Draft, Status
from thinkgraph.state.base import RunState
from thinkgraph.state.settings import RunSettings
from thinkgraph.tools.grounding import all_hold, beside_the_point, compares, fold, holds, needed

UNDECIDED = "NOT ENOUGH INFO"
VERIFIER = "closing.verify"
"""The role that looks at a finished answer (`verify`)."""
NOT_COMPLETE = "the evidence is not complete"
EMPTY = "the knowledge base is empty: there is nothing to look in"
NOT_HELD = "the model's answer does not stand in the evidence, and own_knowledge is off"

MOVED = "on other lines than the model cited"

NEXT_NONE = "If it is not sufficient, give no answer."
NEXT_FINAL = "There will be no further search."

_IN_A_SENTENCE = re.compile(r"(?P<before>(?:The|It)\b[^.,;:]*?) (?:is|are|was|were):? (?P<name>.+)")
_FRAME = "the it final correct answer"
"""Words that say nothing. Of "they" and "this" titles are made ("They Were Expendable")."""


def judge(
    role: str,
    inputs: Mapping[str, str],
    settings: RunSettings,
    *,
    evidence: int = 0,
    fields: tuple[str, ...] = (),
    likely: bool = False,
    steps: bool = False,
    key: str = "",
    sample: int = 0,
    temperature: float | None = None,
    rank: Mapping[str, Rank] | None = None,
    options: int = 0,
    most: int = 0,
) -> Flow[Judgement]:
    """One call that judges whether there is enough to answer; an unreadable reply says that there is not.

    `evidence` is the number of lines that may be cited. `fields` are what the reply says beside its answer. `likely` asks for
    a likely answer where none is sure, `steps` for reasoning step by step. `options` is the number of options that are scored beside
    (the field `scores`), `most` the most that may be. For the rest see `requests.call`, errors included.
    """
    shape = Shape(
        evidence=evidence,
        fields=fields,
        labels=task_labels(settings.task, inputs["question"]),
        likely=likely,
        explain=settings.explain,
        steps=steps,
        options=options,
        most=most,
    )
    judgement = yield from requests.call(
        JUDGE,
        role,
        inputs,
        shape=shape,
        fallback=NOT_SUFFICIENT,
        key=key,
        sample=sample,
        task=settings.task,
        temperature=temperature,
        rank=rank,
    )
    answers = [bare(inputs["question"], answer) for answer in judgement["answers"]]
    # Answers that were names of the prompt's examples are gone: nothing is sufficient then.
    return {**judgement, "answers": answers, "sufficient": judgement["sufficient"] and bool(answers)}


def bare(question: str, answer: str) -> str:
    """The name alone of an answer in a sentence that says nothing else than the question does ("It is Lima"), and of a count the number."""
    found = _IN_A_SENTENCE.fullmatch(answer)
    if found and set(fold(found["before"]).split()) <= set(f"{_FRAME} {fold(question)}".split()):
        answer = found["name"]
    return bare_count(question, answer)


def steering(judgement: Judgement) -> Sequence[tuple[int, float]]:
    """What a judgement scored to go on with. One that the evidence is sufficient, taken back, says nothing of that."""
    return () if judgement["sufficient"] else judgement.get("scores", ())


def supporting(answers: Sequence[str], cited: Sequence[int], lines: Sequence[str], question: str = "") -> list[int]:
    """Numbers (from 1) of the lines that support the answers: those of the cited ones that are needed, if these do, else any
    that do; or none.

    Yes and no are supported by nothing where `question` asks for a thing, a count not by what it does not count; a claim to be judged is no
    question.
    """
    if any(beside_the_point(answer, question) for answer in answers):
        return []
    named = [lines[number - 1] for number in cited]
    if named and all_hold(answers, named) and not is_another_count(question, answers, named, lines):
        return needed(answers, cited, lines, question)
    if all(holds(answer, ()) for answer in answers):
        # A conclusion (yes, no) that names no line is supported by nothing.
        return []
    found = [number for number, line in enumerate(lines, start=1) if any(holds(answer, [line]) for answer in answers)]
    every = [lines[number - 1] for number in found]
    held = every and all_hold(answers, every) and not is_another_count(question, answers, every, lines)
    return found if held else []


def moved_from(cited: Sequence[int], lines: Sequence[int]) -> Sequence[int]:
    """The lines that the model cited, where the answer stands on `lines` beside them; none where it stands on these."""
    return () if set(lines) <= set(cited) else cited


def decide(
    judgement: Judgement, context: PromptContext, state: RunState, settings: RunSettings, *, final: bool, likely: bool
) -> Draft | None:
    """The answer to give now, or None to go on.

    With `final` there is no going on. With `likely` an answer that is not sure counts too.
    """
    answers = judgement["answers"]
    if answers not in ([], [UNDECIDED]) and (judgement["sufficient"] or likely):
        fault = "" if judgement["sufficient"] else NOT_COMPLETE
        if draft := standing(judgement, context, state["question"], settings, state["stopped"], fault=fault):
            return draft
        if settings.own_knowledge or final:
            return unsupported(answers, settings, state["stopped"])
    return nothing_found(state, settings) if final else None


def standing(
    judgement: Judgement,
    context: PromptContext,
    question: str,
    settings: RunSettings,
    *notes: str,
    fault: str = "",
    beside: str = "",
) -> Draft | None:
    """The draft of answers that lines of the prompt support, or None where none does; see `supported`."""
    answers, cited = judgement["answers"], judgement["evidence"]
    lines = supporting(answers, cited, context.lines, question if settings.task == "question" else "")
    if not lines:
        return None
    instead_of = context.ids(moved_from(cited, lines))
    # A comparison stands on what is said about the others too.
    held = context.ids(lines, () if compares(question) else answers)
    return supported(answers, held, instead_of, *notes, fault=fault, beside=beside)


def supported(
    answers: Sequence[str],
    cited: Sequence[str],
    instead_of: Sequence[str],
    *notes: str,
    fault: str = "",
    beside: str = "",
) -> Draft:
    """The draft of answers that evidence supports. A `fault` makes it a best effort; `beside` is said where there is none.

    `cited` are ids of what supports them, `instead_of` of what the model cited where that is something else. Notes are
    circumstances, such as the ceiling that stopped the run.
    """
    why = f"best effort: {fault}" if fault else f"the evidence holds the answer{beside}"
    status: Status = "partial" if fault else "grounded"
    reason = because(why, MOVED if instead_of else "", *notes)
    return Draft(answers=list(answers), status=status, reason=reason, cited=list(cited), instead_of=list(instead_of))


def unsupported(answers: Sequence[str], settings: RunSettings, *notes: str) -> Draft:
    """The draft of an answer that the evidence does not support: it counts where the model's own knowledge does."""
    if not settings.own_knowledge:
        return unknown(NOT_HELD, settings, *notes)
    why = "the evidence does not hold the answer: it comes from the model's own knowledge"
    return from_memory(answers, why, *notes)


def from_memory(answers: Sequence[str], why: str, *notes: str) -> Draft:
    """The draft of an answer from the model's own knowledge."""
    return Draft(answers=list(answers), status="memory", reason=because(why, *notes), cited=[])


def unknown(why: str, settings: RunSettings, *notes: str) -> Draft:
    """The draft of a run without an answer: it gives none, or of a claim that it is undecided (FEVER's third label)."""
    answers = [UNDECIDED] if settings.task == "fact" else []
    return Draft(answers=answers, status="unknown", reason=because(why, *notes), cited=[])


def nothing_found(state: RunState, settings: RunSettings, *, stopped: str = "") -> Draft:
    """The draft of a run whose evidence gives no answer; `stopped` says why it stops now, if it does."""
    if not (why := stopped or state["stopped"]):
        why = "no entity of the knowledge base fits the question, or nothing is known about it"
        if state["evidence"]:
            rounds = state["round"]
            gathered = f" gathered in {in_rounds(rounds)}" if rounds else ""
            why = f"the evidence{gathered} does not hold the answer"
        elif state["manifest"].get("empty"):
            why = EMPTY
    return unknown(why, settings)


def cut_short(state: RunState, settings: RunSettings, spent: BudgetSpentError) -> Update:
    """The end of a run that has no room for the call that decides."""
    return {"draft": nothing_found(state, settings, stopped=spent.reason), "stopped": spent.reason}


def because(why: str, *notes: str) -> str:
    """A reason with its circumstances in brackets; empty ones are left out."""
    said = "; ".join(note for note in notes if note)
    return f"{why} ({said})" if why and said else why or said


def in_rounds(count: int) -> str:
    """A number of rounds in words: "1 round", "3 rounds"."""
    return f"{count} round{'s' * (count != 1)}"
