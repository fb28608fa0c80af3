"""A bench: every question asked with every method, over the same knowledge, model and linked entities."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from typing_extensions import TypedDict

from thinkgraph.errors import ThinkGraphError
from thinkgraph.eval.batch import Ask, local_asker
from thinkgraph.eval.datasets.ids import compared_forms
from thinkgraph.eval.gold import Gold
from thinkgraph.eval.metrics import Scores, em_contains, evidence_scores, rouge_l, score
from thinkgraph.eval.questions import Question
from thinkgraph.eval.record import RecordFile, known_of
from thinkgraph.eval.reports.results import BenchResult, is_result
from thinkgraph.eval.steps import StepClock
from thinkgraph.graphs.build import offline_model
from thinkgraph.graphs.registry import find_method
from thinkgraph.models.roles import Models
from thinkgraph.nodes.common.ranking import ROLE as RANK_ROLE
from thinkgraph.nodes.fasttog.community_text import ROLE as DESCRIBE_ROLE
from thinkgraph.state.answer import Answer
from thinkgraph.state.settings import resolve_settings
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.progress import Progress, no_progress
from thinkgraph.version import VERSION


@dataclass(frozen=True)
class BenchPlan:
    """What a bench runs."""

    questions: Sequence[Question]
    knowledge: Knowledge
    methods: Mapping[str, Mapping[str, Any]]
    """Settings by method."""
    model: str | BaseChatModel | Models
    golds: Mapping[str, Gold] | None = None
    """By question id, for the scores of evidence; None: they are not scored."""
    concurrency: int = 1
    """Questions asked at a time."""
    clocks: dict[tuple[str, str], StepClock] | None = None
    """Filled with the clocks of the runs, by method and question text; None: steps are not timed."""


def plan_record(plan: BenchPlan, *, model: str, seed: int, gold_entities: bool, data: str) -> dict[str, Any]:
    """What a bench runs, as plain JSON. Benches with the same record may share their results."""
    asked = [
        [
            q.id,
            q.type,
            q.question,
            q.answers,
            q.aliases,
            q.gold_path,
            q.gold_passages,
            *filter(None, [q.compared]),
            *([q.topic, q.topic_ids] if gold_entities else []),
        ]
        for q in plan.questions
    ]
    digest = hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:16]
    clients = plan.model.clients() if isinstance(plan.model, Models) else []
    known = known_of({one.name: one.given for one in clients})
    return {
        "version": VERSION,
        "data": data,
        "questions": len(plan.questions),
        "questions_digest": digest,
        "knowledge": plan.knowledge.name,
        "fingerprint": plan.knowledge.fingerprint,
        "model": model,
        "seed": seed,
        "gold_entities": gold_entities,
        "methods": {
            name: resolve_settings(find_method(name).settings, settings).model_dump(mode="json")
            for name, settings in plan.methods.items()
        },
        **({"models": known} if known else {}),
    }


def kept_results(file: RecordFile) -> list[BenchResult]:
    """The results that an earlier run of the same bench kept.

    Raises:
        UsageError: a line is no result of a bench.
    """
    return cast("list[BenchResult]", list(file.records(is_result)))


def run_bench(
    plan: BenchPlan,
    *,
    progress: Progress = no_progress,
    keep: Callable[[BenchResult], None] | None = None,
    done: Collection[BenchResult] = (),
    workers: AbstractAsyncContextManager[Ask] | None = None,
) -> list[BenchResult]:
    """Ask every question with every method, `plan.concurrency` at a time. Not for use inside an event loop.

    Args:
        plan: what to run.
        progress: told after every question.
        keep: given every result as it comes.
        done: results of an earlier run: their questions are not asked again.
        workers: processes that answer the questions instead of this one.

    Returns:
        All results, those of `done` included, by method and question in the plan's order.

    Raises:
        ThinkGraphError: the first error of a question; those already running are finished and kept first.
    """
    have = {(result["method"], result["id"]): result for result in done}
    pairs = [(method, question) for method in plan.methods for question in plan.questions]
    waiting = [(method, question) for method, question in pairs if (method, question.id) not in have]
    todo = iter(waiting)
    failed: list[ThinkGraphError] = []

    async def work(ask: Ask) -> None:
        for method, question in todo:
            if failed:
                return
            try:
                answer = await ask(method, question.question)
            except ThinkGraphError as error:
                failed.append(error)
                return
            result = _result(method, question, answer, plan)
            have[method, question.id] = result
            if keep:
                keep(result)
            progress(method, len(have), len(pairs))

    async def ask_all() -> None:
        async with workers or _here(plan) as ask:
            await asyncio.gather(*(work(ask) for _ in range(max(1, min(plan.concurrency, len(waiting))))))

    if waiting:
        asyncio.run(ask_all())
    if failed:
        raise failed[0]
    return [have[method, question.id] for method, question in pairs]


def _here(plan: BenchPlan) -> AbstractAsyncContextManager[Ask]:
    def watched(method: str, question: str) -> RunnableConfig | None:
        if plan.clocks is None:
            return None
        clock = plan.clocks[method, question] = StepClock()
        return {"callbacks": [clock]}

    models = plan.model if isinstance(plan.model, Models) else Models(plan.model, offline=offline_model(plan.knowledge))
    return local_asker(models, plan.knowledge, plan.methods, watched=watched)


def _result(method: str, question: Question, answer: Answer, plan: BenchPlan) -> BenchResult:
    entry, golds = find_method(method), plan.golds
    by_role = answer["usage"]["roles"]
    apart_calls = sum(by_role[role]["calls"] for role in (RANK_ROLE, DESCRIBE_ROLE) if role in by_role)
    scored = _scored(question, answer["answers"])
    result = BenchResult(
        id=question.id,
        type=question.type,
        method=method,
        gold=list(question.answers),
        scores=scored["scores"],
        em_contains=scored["em_contains"],
        rouge_l=scored["rouge_l"],
        evidence=evidence_scores(answer["evidence"], golds.get(question.id)) if golds else None,
        calls=answer["usage"]["total"]["calls"] - apart_calls,
        apart_calls=apart_calls,
        bound=entry.bound(resolve_settings(entry.settings, plan.methods[method]), answer),
        answer=answer,
    )
    # Of a question that is asked twice at a time, one has no clock.
    if plan.clocks and (clock := plan.clocks.pop((method, question.question), None)):
        result["steps"] = clock.times()
    return result


class _Scored(TypedDict):
    scores: Scores
    em_contains: float
    rouge_l: float


def _scored(question: Question, answers: Sequence[str]) -> _Scored:
    return _Scored(
        scores=score(answers, question.answers, question.aliases),
        em_contains=em_contains(answers, compared_forms(question)),
        rouge_l=rouge_l(answers, question.answers, question.aliases),
    )


def rescored(result: BenchResult, question: Question, answers: Sequence[str]) -> BenchResult:
    """A result as if these had been the answers.

    Args:
        result: of the question.
        question: with the gold answers.
        answers: in the place of those given.
    """
    scored = _scored(question, answers)
    return {**result, **scored, "answer": {**result["answer"], "answers": list(answers)}}
