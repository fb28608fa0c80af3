"""The closing transition of every method: from ids to an answer whose every citation exists in the stores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from thinkgraph.models.ops import Flow, NodeFunction, Update
from thinkgraph.models.roles import OFFLINE
from thinkgraph.nodes.closing.cited import evidence_of, spelt
from thinkgraph.nodes.closing.confidence import confidence, signals_of, sure_enough, withheld
from thinkgraph.nodes.closing.rooted import aside
from thinkgraph.nodes.closing.support import support_of
from thinkgraph.nodes.closing.verify import fault_found
from thinkgraph.nodes.common import conversation
from thinkgraph.nodes.common.evidence_lines import Texts, fetch_texts
from thinkgraph.nodes.doubt.misfit import fits_better, is_named, misfit
from thinkgraph.nodes.doubt.walk import Walk
from thinkgraph.prompts.lines import one_line
from thinkgraph.runtime import requests
from thinkgraph.state.answer import Answer, Draft, Support, Trace
from thinkgraph.state.base import RunState
from thinkgraph.state.events import Answered
from thinkgraph.state.evidence import EvidenceItem
from thinkgraph.state.settings import DoubtSettings, RunSettings
from thinkgraph.state.usage import CallRecord, summarise

BEST_GUESS = "best guess (offline)"
"""What an answer of the stand-in model is called."""


def no_trace(_state: Any) -> Trace:
    """The trace of a method that keeps nothing beside its evidence."""
    return Trace(title="", lines=[], data={})


def answer(role: str, trace: Callable[[Any], Trace] = no_trace) -> NodeFunction:
    """The closing transition.

    Args:
        role: the role that decides, whose model the answer names.
        trace: the method's own bookkeeping, from its state.
    """

    def run(state: RunState, settings: RunSettings) -> Flow[Update]:
        draft = state.get("draft")
        if draft is None:
            draft = Draft(answers=[], status="unknown", reason=state["stopped"] or "no answer was reached", cited=[])
        items = [state["evidence"][key] for key in draft["cited"]]
        texts = yield from fetch_texts(items)
        evidence = evidence_of(items, draft["answers"], texts)
        draft = {**draft, "answers": list(dict.fromkeys(spelt(draft["answers"], evidence)))}
        support = support_of(state["question"], draft["answers"], evidence)
        if draft["status"] == "grounded" and (
            fault := (yield from _fault(draft, support, state, items, texts, settings))
        ):
            draft = {**draft, "status": "partial", "reason": f"{draft['reason']}, but {fault}"}
        # Of claims nothing is known: the weights were fitted to questions.
        signals = signals_of(draft, state, items, texts) if settings.task == "question" else {}
        sure = confidence(signals)
        if not sure_enough(draft, sure, settings):
            draft, signals, sure = withheld(sure, settings), {}, None
            evidence, support = evidence_of([], [], texts), []
        calls = {**state["calls"], **(yield from requests.calls_made())}
        manifest = state["manifest"]
        model = manifest["models"].get(role, "")
        notes = [draft["reason"], _cut_for_the_window(calls.values()), _not_read(calls.values())]
        if model == OFFLINE and draft["answers"]:
            notes.append(BEST_GUESS)
        reason = "; ".join(filter(None, notes))
        text = conversation.BETWEEN.join(draft["answers"]) or f"I don't know: {reason}."
        result = Answer(
            question=state["question"],
            text=text,
            answers=draft["answers"],
            status=draft["status"],
            reason=reason,
            evidence=evidence,
            support=support,
            usage=summarise(calls, state["work"]),
            pruned=state["pruned"],
            trace=trace(state),
            rounds=state["round"],
            method=manifest["method"],
            model=model,
            confidence=sure,
            signals=signals,
        )
        yield from requests.emit(Answered(type="answered", status=draft["status"], text=text, confidence=sure))
        # A conversation goes on where one was begun.
        said = [conversation.reply(result)] if manifest.get("message") else []
        return {"answer": result, "messages": said}

    return run


def _cut_for_the_window(calls: Iterable[CallRecord]) -> str:
    """That prompts were cut because the model's window is too small; empty where none was."""
    left = [call["left_out"] for call in calls if call.get("left_out")]
    if not left:
        return ""
    prompts = "1 prompt was" if len(left) == 1 else f"{len(left)} prompts were"
    return f"{prompts} cut to fit the model's window: {sum(left)} lines of options or evidence left out"


def _not_read(calls: Iterable[CallRecord]) -> str:
    """That fallbacks stand for decisions of the model; empty where all its replies were read."""
    answered = [call for call in calls if not call.get("unanswered")]
    lost, asked = sum(call["fallback"] for call in answered), sum(not call["repair"] for call in answered)
    return f"{lost} of {asked} model calls gave no reply that could be read" if lost else ""


def _fault(
    draft: Draft,
    support: Sequence[Support],
    state: RunState,
    items: Sequence[EvidenceItem],
    texts: Texts,
    settings: RunSettings,
) -> Flow[str]:
    """Why an answer that evidence supports is not grounded; empty where it is."""
    question, answers = state["question"], draft["answers"]
    if settings.task == "question":
        # Methods that doubt have held their answer against the question before.
        doubted = isinstance(settings, DoubtSettings) and settings.backtracks > 0
        if not doubted and (fault := (yield from misfit(answers, Walk(question, items, texts)))):
            return fault
        if settings.strict and (yield from is_named(answers, Walk(question, items, texts))) is False:
            return f"the question names no relation that leads to {one_line(answers[0])}"
        if bare := [one["answer"] for one in support if one["kind"] in {"words", "none"}]:
            return f"nothing cited leads to {one_line(bare[0])}, which only shares words with it"
        if elsewhere := (yield from aside(question, items, texts)):
            return elsewhere
        others = [state["evidence"][key] for key in draft.get("instead_of", ()) if key in state["evidence"]]
        both = (yield from fetch_texts([*items, *others])) if others else texts
        if others and not (yield from fits_better(answers, Walk(question, items, both), others)):
            return "they fit the question no better than those"
    return (yield from fault_found(question, answers, items, texts, settings)) if settings.verifies_at_end else ""
