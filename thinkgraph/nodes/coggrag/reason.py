"""Reasoning (CogGRAG section 4.3): answer one question of the mind map from T and the answers known before."""

from __future__ import annotations

from collections.abc import Sequence

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.coggrag.prompt_context import QuestionContext, first_context
from thinkgraph.nodes.coggrag.tree import ROOT, task_of
from thinkgraph.nodes.common.evidence_lines import tails_of
from thinkgraph.nodes.common.judging import NOT_HELD, judge, moved_from
from thinkgraph.nodes.common.reports import stopped
from thinkgraph.nodes.doubt.judged import Held, miscited, miscounted, recounted, settled, unfit
from thinkgraph.prompts.lines import numbered, safe_block
from thinkgraph.prompts.tasks import TASK_LABELS, task_words
from thinkgraph.state.coggrag import Attempt, CogGragSettings, QuestionState, Solution


def reason(state: QuestionState, settings: CogGragSettings) -> Flow[Update]:
    """The first answer to a question."""
    key = state["id"]
    if state["unmet"] and key != ROOT and settings.needs_evidence:
        return {"solved": {key: unanswered(state, f'it needs the answer to "{state["unmet"]}"')}}
    try:
        context = yield from first_context(state, settings)
        if not context.lines and settings.needs_evidence:
            return {"solved": {key: unanswered(state, "nothing in the knowledge base was found for it")}}
        solution = yield from think("coggrag.reason", state, context, settings)
    except BudgetSpentError as spent:
        return (yield from cut_short(state, spent))
    return {"items": list(context.items), "solved": {key: solution}}


def think(
    role: str, state: QuestionState, context: QuestionContext, settings: CogGragSettings, before: Sequence[Attempt] = ()
) -> Flow[Solution]:
    """Make one answer. It is the question's outcome unless it is judged wrong. If the evidence is not sufficient, it is "I don't know".

    Raises:
        BudgetSpentError: a ceiling leaves no room.
        ModelError: the model cannot be reached or refuses.
    """
    own = settings.model_copy(update={"task": task_of(state["id"], settings)})
    inputs = {
        "question": safe_block(state["asked"]),
        "evidence": numbered(context.lines),
        "task": task_words(own.task, state["asked"], own=own.offers_memory),
        "doubted": state["solved"][state["id"]]["doubt"] if before else "",
    }
    judgement = yield from judge(role, inputs, own, evidence=len(context.lines), rank={"evidence": context.rank})
    miscount = miscounted(judgement, context.lines, state["asked"], own)
    if miscount and before:
        judgement, miscount = recounted(judgement, context.lines, state["asked"]), ""
    answers = judgement["answers"] if judgement["sufficient"] else []
    attempts = [*before, Attempt(answers=answers, right=None, judge="")]
    if not answers:
        return unanswered(state, "the evidence found does not hold the answer", attempts)
    # A claim is no question, and its answers are labels.
    asked = "" if TASK_LABELS[own.task] else state["asked"]
    lines = context.supporting(answers, judgement["evidence"], asked)
    if not lines and not settings.own_knowledge:
        return {**unanswered(state, NOT_HELD, attempts), "doubt": miscount}
    cited, instead_of = context.evidence(lines), context.evidence(moved_from(judgement["evidence"], lines))
    held = Held(state["asked"], answers, cited, context.items, context.texts, own)
    doubt = yield from unfit(held)
    if not before:
        doubt = doubt or miscount or (yield from miscited(instead_of, held))
    if doubt and (before or not settings.verify):
        # A first answer in doubt stays to be judged wrong; after it, or where nothing is verified, none is better.
        return {**unanswered(state, doubt, attempts), "doubt": doubt}
    # Only a verifier that would be asked is worth looking.
    spares = settings.verify and settings.skip_settled and not doubt
    plain = spares and ((not settings.verify_paths and _is_whole_path(held)) or (yield from settled(held)))
    return {
        **unanswered(state, "", attempts),
        "answers": answers,
        "doubt": doubt,
        "plain": plain,
        "verified": False if settings.verify and not plain else None,
        "supported": bool(lines),
        "cited": cited,
        "instead_of": instead_of,
        "rests": [known["id"] for known in context.rests(lines)],
        "entities": context.entities(answers),
        "chunks": [item for item in context.items if item["kind"] == "chunk" and item["id"] in cited],
    }


def _is_whole_path(held: Held) -> bool:
    """Whether the answers are all ends of the only path cited."""
    items = held.only(held.cited)
    return len(items) == 1 and len(tails_of(items[0])) == len(held.answers)


def unanswered(state: QuestionState, why: str, attempts: Sequence[Attempt] = ()) -> Solution:
    """The outcome of a question without an answer, after the attempts made."""
    return Solution(
        asked=state["asked"],
        wave=state["round"],
        answers=[],
        attempts=list(attempts),
        verified=None,
        supported=False,
        cited=[],
        doubt="",
        plain=False,
        instead_of=[],
        rests=[],
        entities={},
        chunks=[],
        why=why,
    )


def cut_short(state: QuestionState, spent: BudgetSpentError, attempts: Sequence[Attempt] = ()) -> Flow[Update]:
    """No answer, because a ceiling leaves no room for the call that gives one."""
    return {"solved": {state["id"]: unanswered(state, spent.reason, attempts)}, **(yield from stopped(spent))}
