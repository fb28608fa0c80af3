"""Questions through methods, with the same knowledge, the same model and the same linked entities."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.rate_limiters import BaseRateLimiter

from thinkgraph.errors import ThinkGraphError, UsageError
from thinkgraph.eval.datasets import Style, read_dataset
from thinkgraph.eval.gold import Gold, resolve_golds
from thinkgraph.eval.metrics import evidence_scores, rouge_l, score
from thinkgraph.eval.questions import Question
from thinkgraph.eval.record import RecordFile
from thinkgraph.eval.results import Result, Row, is_result, render, table
from thinkgraph.eval.workers import Workers
from thinkgraph.graphs.build import Graph, build, offline_model
from thinkgraph.graphs.registry import find_method
from thinkgraph.models.client import client_for
from thinkgraph.models.prices import Prices
from thinkgraph.models.roles import OFFLINE, Models
from thinkgraph.nodes.common.ranking import ROLE as RANK_ROLE
from thinkgraph.nodes.fasttog.community_text import ROLE as DESCRIBE_ROLE
from thinkgraph.state.answer import Answer
from thinkgraph.state.settings import resolve_settings
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.progress import Progress, no_progress
from thinkgraph.version import VERSION

__all__ = [
    "Plan",
    "Result",
    "Row",
    "arun_bench",
    "bench_model",
    "data_name",
    "gold_knowledge",
    "kept_results",
    "known_golds",
    "load_questions",
    "plan_record",
    "render",
    "run_bench",
    "settings_by_method",
    "spread",
    "table",
]

PERFECT = "perfect"


@dataclass(frozen=True)
class Plan:
    """What a bench runs."""

    questions: Sequence[Question]
    knowledge: Knowledge
    methods: Mapping[str, Mapping[str, Any]]
    """Settings by method."""
    model: str | BaseChatModel
    prices: Prices | None = None
    golds: Mapping[str, Gold] | None = None
    """By question id, for the scores of evidence; None: they are not scored."""
    concurrency: int = 1
    """Questions asked at a time."""
    rate_limiter: BaseRateLimiter | None = None
    """Holds all requests to models, whatever the method and question, to one rate."""


def load_questions(data: str, limit: int | None = None) -> list[Question]:
    """The questions of "world", of a JSON Lines file or of `NAME:FILE`; at most `limit`, spread evenly over the file."""
    return spread(read_dataset(data)[1], limit)


def data_name(data: str) -> str:
    """What a report calls the data: never a path of the machine it ran on."""
    name, colon, file = data.partition(":")
    return f"{name}:{Path(file).name}" if colon else Path(data).name


def spread(questions: Sequence[Question], limit: int | None) -> list[Question]:
    """At most `limit` questions, evenly over the list."""
    if limit is None or limit >= len(questions):
        return list(questions)
    return [questions[at * len(questions) // limit] for at in range(limit)]


def settings_by_method(
    methods: Sequence[str], settings: Mapping[str, Any], *, style: Style = "question"
) -> dict[str, dict[str, Any]]:
    """Share settings out: `name` goes to every method that has it, `method.name` to one.

    Args:
        methods: the methods of the bench.
        settings: the settings given.
        style: the data's style of task, for the methods that have the setting `task`.

    Raises:
        UsageError: no method has the setting.
    """
    shared: dict[str, dict[str, Any]] = {
        method: {"task": style} if style != "question" and "task" in find_method(method).settings.model_fields else {}
        for method in methods
    }
    for name, value in settings.items():
        target, dot, own = name.partition(".")
        chosen = [target] if dot else list(methods)
        setting = own if dot else name
        takers = [
            method for method in chosen if method in shared and setting in find_method(method).settings.model_fields
        ]
        if not takers:
            raise UsageError(f"none of the methods {', '.join(methods)} has a setting '{name}'")
        for method in takers:
            shared[method][setting] = value
    return shared


def gold_knowledge(knowledge: Knowledge, questions: Sequence[Question]) -> Knowledge:
    """The same knowledge with the questions' given topics in the place of entity linking.

    Raises:
        UsageError: no question names its topics.
    """
    from thinkgraph.eval.topics import TopicLinker

    if not any(question.topic for question in questions):
        raise UsageError("--gold-entities yes: no question of this file names its topic entities")
    return knowledge.with_linker(lambda: TopicLinker(questions, knowledge.graph, knowledge.linker))


def bench_model(
    name: str, questions: Sequence[Question], knowledge: Knowledge, *, seed: int = 0
) -> str | BaseChatModel:
    """The model of a bench: "perfect" or "perfect:SHARE" (of wrong choices), or any model name.

    Args:
        name: the name.
        questions: what the perfect chooser must know.
        knowledge: where their gold paths lie.
        seed: of the wrong choices.

    Raises:
        UsageError: the name has no known form, the share is not a number from 0 to 1, no question has a gold path, or a
            gold path does not fit the knowledge.
    """
    head, _, share = name.partition(":")
    if head != PERFECT:
        if name != OFFLINE:
            # A malformed name is refused now, not after files were opened.
            client_for(name)
        return name
    from thinkgraph.eval.perfect.chooser import PerfectChooser

    try:
        wrong = float(share or 0)
    except ValueError:
        wrong = -1.0
    if not 0 <= wrong <= 1:
        raise UsageError(f"model '{name}': the share of wrong choices must be a number from 0 to 1")
    answerable = [question for question in questions if question.answers]
    if answerable and not any(question.gold_path or question.gold_passages for question in answerable):
        raise UsageError(
            f"model '{name}' picks what lies on the gold path, and no question here has a gold path or gold passages: take "
            "another model, or the file that holds them beside"
        )
    golds = resolve_golds(questions, knowledge.graph, knowledge.text)
    return PerfectChooser(
        {question.question: gold for question, gold in zip(questions, golds, strict=True)}, wrong=wrong, seed=seed
    )


def known_golds(questions: Sequence[Question], knowledge: Knowledge) -> dict[str, Gold]:
    """Gold evidence by question id; a question whose path does not fit the knowledge has none."""
    try:
        golds = resolve_golds(questions, knowledge.graph, knowledge.text)
        return {question.id: gold for question, gold in zip(questions, golds, strict=True)}
    except UsageError:
        # One wrong path must not cost all the others: they are resolved one by one.
        pass
    found: dict[str, Gold] = {}
    for question in questions:
        try:
            found[question.id] = resolve_golds([question], knowledge.graph, knowledge.text)[0]
        except UsageError:
            continue
    return found


def plan_record(plan: Plan, *, model: str, seed: int, gold_entities: bool, data: str) -> dict[str, Any]:
    """What a bench runs as plain JSON: two benches with the same record may share their results."""
    digest = hashlib.sha256(
        json.dumps([[q.id, q.question, q.answers, q.aliases, q.gold_path] for q in plan.questions]).encode()
    ).hexdigest()[:16]
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
    }


def kept_results(file: RecordFile) -> list[Result]:
    """What an earlier run of the same bench answered.

    Raises:
        UsageError: a line is no result of a bench.
    """
    found = list(file.records())
    for number, record in enumerate(found, start=1):
        if not is_result(record):
            raise file.damaged(number)
    return cast("list[Result]", found)


def run_bench(
    plan: Plan,
    *,
    progress: Progress = no_progress,
    keep: Callable[[Result], None] | None = None,
    done: Collection[Result] = (),
    workers: Workers | None = None,
) -> list[Result]:
    """Ask every question with every method; see `arun_bench`. Not for use inside an event loop."""
    return asyncio.run(arun_bench(plan, progress=progress, keep=keep, done=done, workers=workers))


async def arun_bench(
    plan: Plan,
    *,
    progress: Progress = no_progress,
    keep: Callable[[Result], None] | None = None,
    done: Collection[Result] = (),
    workers: Workers | None = None,
) -> list[Result]:
    """Ask every question with every method, `plan.concurrency` at a time.

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
    total = len(plan.questions) * len(plan.methods)
    waiting = [
        (method, question)
        for method in plan.methods
        for question in plan.questions
        if (method, question.id) not in have
    ]
    todo = iter(waiting)
    failed: list[BaseException] = []

    async def work(ask: _Asks) -> None:
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
            progress(method, len(have), total)

    at_once = max(1, min(plan.concurrency, len(waiting)))
    if waiting:
        async with workers or _here(plan) as answering:
            await asyncio.gather(*(work(answering.ask) for _ in range(at_once)))
    if failed:
        raise failed[0]
    return [have[method, question.id] for method in plan.methods for question in plan.questions]


_Asks = Callable[[str, str], Awaitable[Answer]]


class _Here:
    """Answers questions in this process."""

    def __init__(self, plan: Plan, models: Models) -> None:
        self._plan = plan
        self._models = models
        self._graphs: dict[str, Graph] = {}

    async def ask(self, method: str, question: str) -> Answer:
        if method not in self._graphs:
            self._graphs[method] = build(
                method, knowledge=self._plan.knowledge, model=self._models, settings=self._plan.methods[method]
            )
        return cast("Answer", (await self._graphs[method].ainvoke({"question": question}))["answer"])


@asynccontextmanager
async def _here(plan: Plan) -> AsyncIterator[_Here]:
    models = Models(
        plan.model, offline=offline_model(plan.knowledge), prices=plan.prices, rate_limiter=plan.rate_limiter
    )
    try:
        yield _Here(plan, models)
    finally:
        await models.aclose()


def _result(method: str, question: Question, answer: Answer, plan: Plan) -> Result:
    entry, golds = find_method(method), plan.golds
    by_role = answer["usage"]["roles"]
    apart_calls = sum(by_role[role]["calls"] for role in (RANK_ROLE, DESCRIBE_ROLE) if role in by_role)
    try:
        rouge: float | None = rouge_l(answer["answers"], question.answers, question.aliases)
    except ImportError:
        rouge = None
    return Result(
        id=question.id,
        type=question.type,
        method=method,
        gold=list(question.answers),
        scores=score(answer["answers"], question.answers, question.aliases),
        rouge_l=rouge,
        evidence=evidence_scores(answer["evidence"], golds.get(question.id)) if golds else None,
        calls=answer["usage"]["total"]["calls"] - apart_calls,
        apart_calls=apart_calls,
        bound=entry.bound(resolve_settings(entry.settings, plan.methods[method]), answer),
        answer=answer,
    )
