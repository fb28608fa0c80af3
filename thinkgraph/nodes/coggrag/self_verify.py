"""Reasoning with self-verification (CogGRAG section 4.3): answer a question, verify the answer, re-think it if it is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow
from thinkgraph.nodes.coggrag.mind_map import ROOT
from thinkgraph.nodes.coggrag.prompt_context import DO_NOT_KNOW, Read, Seen, cited_chunks, knowledge_of, read_passages
from thinkgraph.prompts.kinds import JUDGE, NOT_SUFFICIENT, VERDICT, Judgement, Shape, Verdict
from thinkgraph.prompts.lines import numbered, safe_block
from thinkgraph.prompts.tasks import TASK_LABELS, task_words
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.coggrag import Attempt, CogGragSettings, Solution
from thinkgraph.state.events import Stopped


@dataclass
class _Thought:
    """An answer on its way."""

    answers: list[str]
    lines: list[int]
    """Numbers of the lines it stands on; empty where none hold it."""


@dataclass
class _Trial:
    """The answers to one question, one after the other."""

    state: Mapping[str, Any]
    settings: CogGragSettings
    seen: Seen
    attempts: list[Attempt] = field(default_factory=list)
    stopped: str = ""

    def inputs(self) -> dict[str, str]:
        task = self.settings.task if self.state["node"]["id"] == ROOT else "question"
        return {
            "question": safe_block(self.state["asked"]),
            "evidence": numbered(self.seen.lines),
            "task": task_words(task, own=self.settings.own_knowledge),
        }

    def shape(self) -> Shape:
        task = self.settings.task if self.state["node"]["id"] == ROOT else "question"
        return Shape(evidence=len(self.seen.lines), labels=TASK_LABELS[task], explain=self.settings.explain)

    def think(self, role: str, number: int) -> Flow[_Thought]:
        """An answer. One that says itself that the evidence is not sufficient is "I don't know"."""
        judgement: Judgement = yield from requests.call(
            JUDGE,
            role,
            self.inputs(),
            shape=self.shape(),
            key=f"{self.state['part']}/{number}",
            fallback=NOT_SUFFICIENT,
        )
        answers = judgement["answers"] if judgement["sufficient"] else []
        # A claim is no question, and its answers are labels.
        asked = "" if self.shape().labels else self.state["asked"]
        lines = self.seen.standing(answers, judgement["evidence"], asked) if answers else []
        self.attempts.append(Attempt(answers=answers, right=None, judge=""))
        return _Thought(answers, lines)

    def check(self, thought: _Thought, number: int) -> Flow[bool]:
        """Whether the answer is right. Where no line holds it and memory does not count, that is settled without a call."""
        right, judge = False, "evidence"
        settled = self.settings.skip_settled and not self.settings.own_knowledge
        if thought.lines or not thought.answers or not settled:
            verdict: Verdict = yield from requests.call(
                VERDICT,
                "coggrag.verify",
                {
                    "question": safe_block(self.state["asked"]),
                    "answer": safe_block("; ".join(thought.answers) or DO_NOT_KNOW),
                    "evidence": numbered(self.seen.lines),
                },
                shape=Shape(explain=self.settings.explain),
                fallback=Verdict(right=False),
                key=f"{self.state['part']}/{number}",
            )
            right, judge = verdict["right"], "verifier"
        self.attempts[-1] = Attempt(answers=thought.answers, right=right, judge=judge)  # type: ignore[typeddict-item]
        return right


def self_verify(state: Mapping[str, Any], settings: CogGragSettings) -> Flow[Update]:
    """Answer one question of the mind map; the state is the payload of one Send.

    Reasoning, verifying and re-thinking are calls of one task, each with a key of its own, not nodes of their own. As nodes they
    would be supersteps: every question of a wave would wait for the slowest answer before any is verified, and again before any
    is re-thought, at two supersteps more each time (a fan-out and its join). As one task each question goes at its own pace and
    a wave takes as long as its slowest question. What a kill repeats is the same as long as there is a journal (the command
    line's, a server's): replies are kept as they come, so only calls in flight are asked again. Without one it costs the calls
    of the questions that were being worked on.
    """
    unmet, root = state["unmet"], state["node"]["id"] == ROOT
    honest = settings.skip_settled and not settings.own_knowledge
    if unmet and honest and not root:
        return _unsolved(state, f'it needs the answer to "{unmet}"')
    read = Read()
    trial = _Trial(state, settings, Seen())
    try:
        if state["leaf"]:
            read = yield from read_passages(state["asked"], state["about"], state["round"], settings, key=state["part"])
        trial.seen = yield from knowledge_of(state["items"], read, state["known"], state["about"], settings)
        if not trial.seen.lines and honest:
            return _unsolved(state, "nothing in the knowledge base was found for it")
        thought = yield from trial.think("coggrag.reason", 0)
    except BudgetSpentError as spent:
        yield from requests.emit(Stopped(type="stopped", reason=spent.reason))
        return {**_unsolved(state, spent.reason), "stopped": spent.reason}
    verified: bool | None = None
    if settings.verify:
        thought, verified = yield from _verified(trial, thought)
    update = {"solved": {state["node"]["id"]: _solution(trial, thought, verified)}}
    return {**update, "stopped": trial.stopped} if trial.stopped else update


def _verified(trial: _Trial, thought: _Thought) -> Flow[tuple[_Thought, bool]]:
    """Verify, and re-think what is wrong, at most `rethinks` times; the last re-thought answer is final and not verified."""
    for number in range(1, trial.settings.rethinks + 1):
        if not thought.answers and trial.settings.skip_settled:
            return thought, False
        try:
            if (yield from trial.check(thought, number)):
                return thought, True
        except BudgetSpentError as spent:
            trial.stopped = spent.reason
            break
        try:
            thought = yield from trial.think("coggrag.rethink", number)
        except BudgetSpentError as spent:
            # Judged wrong, and there is no room for another: better none.
            trial.stopped = spent.reason
            thought = _Thought([], [])
            break
    if trial.stopped:
        yield from requests.emit(Stopped(type="stopped", reason=trial.stopped))
    return thought, False


def _solution(trial: _Trial, thought: _Thought, verified: bool | None) -> Solution:  # noqa: FBT001 - a verdict
    seen, settings = trial.seen, trial.settings
    answers, why = thought.answers, ""
    if answers and not thought.lines and not settings.own_knowledge:
        answers, why = [], "the model's answer does not stand in the evidence, and own_knowledge is off"
    elif not answers:
        why = trial.stopped or "the evidence found does not hold the answer"
    lines = thought.lines if answers else []
    cited = seen.evidence(lines)
    return Solution(
        asked=trial.state["asked"],
        wave=trial.state["round"],
        answers=answers,
        attempts=trial.attempts,
        verified=verified if answers else None,
        held=bool(lines),
        cited=cited,
        rests=[known["id"] for known in seen.rests(lines)],
        entities=seen.named(answers),
        chunks=cited_chunks(seen, cited),
        why=why,
    )


def _unsolved(state: Mapping[str, Any], why: str) -> Update:
    solution = Solution(
        asked=state["asked"],
        wave=state["round"],
        answers=[],
        attempts=[],
        verified=None,
        held=False,
        cited=[],
        rests=[],
        entities={},
        chunks=[],
        why=why,
    )
    return {"solved": {state["node"]["id"]: solution}}
