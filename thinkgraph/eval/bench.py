"""Questions through methods, with the same knowledge and the same model: the table and what it is made of."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from typing_extensions import TypedDict

from thinkgraph.errors import UsageError
from thinkgraph.eval.gold import resolve_golds
from thinkgraph.eval.metrics import Scores, score
from thinkgraph.eval.questions import Question, read_questions
from thinkgraph.graphs.build import build
from thinkgraph.graphs.registry import method as find_method
from thinkgraph.models.prices import Prices
from thinkgraph.nodes.describe import ROLE as DESCRIBE_ROLE
from thinkgraph.nodes.ranking import ROLE as RANK_ROLE
from thinkgraph.state.answer import Answer
from thinkgraph.tools.knowledge import WORLD, Knowledge
from thinkgraph.tools.progress import Progress, no_progress

PERFECT = "perfect"


class Row(TypedDict):
    """One line of the table: a method over the questions of one type ("all": over all)."""

    method: str
    type: str
    n: int
    hits1: float
    em: float
    complete: float
    unknown: float
    wrong: float
    calls_mean: float
    calls_max: int
    apart_calls_mean: float
    """Calls of an LLM ranker or of an LLM that puts communities into prose, which the methods' bounds count apart; not in
    `calls_mean`.
    """
    seconds_mean: float


class Result(TypedDict):
    """One question answered by one method."""

    id: str
    type: str
    method: str
    gold: list[str]
    scores: Scores
    calls: int
    apart_calls: int
    answer: Answer


@dataclass(frozen=True)
class Plan:
    """What a bench runs."""

    questions: Sequence[Question]
    knowledge: Knowledge
    methods: Mapping[str, Mapping[str, Any]]
    """Settings by method."""
    model: str | BaseChatModel
    prices: Prices | None = None


def load_questions(data: str, limit: int | None = None) -> list[Question]:
    """The questions of "world", or of a JSONL file; at most `limit`, spread evenly over the file."""
    if data == WORLD:
        from importlib.resources import as_file, files

        with as_file(files("thinkgraph").joinpath("data", WORLD, "questions.jsonl")) as path:
            questions = read_questions(path)
    else:
        questions = read_questions(data)
    if limit is None or limit >= len(questions):
        return questions
    return [questions[at * len(questions) // limit] for at in range(limit)]


def settings_by_method(methods: Sequence[str], settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Share settings out: `name` goes to every method that has it, `method.name` to one.

    Raises:
        UsageError: no method has the setting.
    """
    shared: dict[str, dict[str, Any]] = {method: {} for method in methods}
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


def bench_model(name: str, questions: Sequence[Question], knowledge: Knowledge) -> str | BaseChatModel:
    """The model of a bench: "perfect" or "perfect:SHARE" (of wrong choices), or any model name.

    Raises:
        UsageError: the share is not a number from 0 to 1, or a gold path does not fit the knowledge.
    """
    head, _, share = name.partition(":")
    if head != PERFECT:
        return name
    from thinkgraph.testing.perfect import PerfectChooser

    try:
        wrong = float(share or 0)
    except ValueError:
        wrong = -1.0
    if not 0 <= wrong <= 1:
        raise UsageError(f"model '{name}': the share of wrong choices must be a number from 0 to 1")
    golds = resolve_golds(questions, knowledge.graph, knowledge.text)
    return PerfectChooser(
        {question.question: gold for question, gold in zip(questions, golds, strict=True)}, wrong=wrong
    )


def run_bench(
    plan: Plan, *, progress: Progress = no_progress, keep: Callable[[Result], None] | None = None
) -> list[Result]:
    """Ask every question with every method.

    Args:
        plan: what to run.
        progress: told after every question.
        keep: given every result as it comes.
    """
    results: list[Result] = []
    total = len(plan.questions) * len(plan.methods)
    for method, settings in plan.methods.items():
        graph = build(method, knowledge=plan.knowledge, model=plan.model, settings=settings, prices=plan.prices)
        for question in plan.questions:
            answer: Answer = graph.invoke({"question": question.question})["answer"]
            by_role = answer["usage"]["roles"]
            apart_calls = sum(by_role[role]["calls"] for role in (RANK_ROLE, DESCRIBE_ROLE) if role in by_role)
            result = Result(
                id=question.id,
                type=question.type,
                method=method,
                gold=list(question.answers),
                scores=score(answer["answers"], question.answers),
                calls=answer["usage"]["total"]["calls"] - apart_calls,
                apart_calls=apart_calls,
                answer=answer,
            )
            results.append(result)
            if keep:
                keep(result)
            progress(method, len(results), total)
    return results


def table(results: Iterable[Result]) -> list[Row]:
    """Means per method and type, and per method over all."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result["method"], result["type"] or "untyped"), []).append(result)
        groups.setdefault((result["method"], "all"), []).append(result)
    rows = [_row(method, kind, members) for (method, kind), members in groups.items()]
    return sorted(rows, key=lambda row: (row["method"], row["type"] == "all", row["type"]))


def _row(method: str, kind: str, members: Sequence[Result]) -> Row:
    count = len(members)

    def mean(values: Iterable[float]) -> float:
        return round(sum(values) / count, 4)

    return Row(
        method=method,
        type=kind,
        n=count,
        hits1=mean(member["scores"]["hits1"] for member in members),
        em=mean(member["scores"]["em"] for member in members),
        complete=mean(member["scores"]["complete"] for member in members),
        unknown=mean(member["scores"]["unknown"] for member in members),
        wrong=mean(member["scores"]["wrong"] for member in members),
        calls_mean=mean(member["calls"] for member in members),
        calls_max=max(member["calls"] for member in members),
        apart_calls_mean=mean(member["apart_calls"] for member in members),
        seconds_mean=mean(member["answer"]["usage"]["seconds"] for member in members),
    )


def render(rows: Sequence[Row]) -> str:
    """The table as text."""
    columns = list(Row.__annotations__)
    cells = [columns, *([_cell(row[column]) for column in columns] for row in rows)]  # type: ignore[literal-required]
    widths = [max(len(line[at]) for line in cells) for at in range(len(columns))]
    names = ("method", "type")

    def pad(column: str, cell: str, width: int) -> str:
        return cell.ljust(width) if column in names else cell.rjust(width)

    return "\n".join("  ".join(map(pad, columns, line, widths)).rstrip() for line in cells)


def _cell(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def append_line(path: Path) -> Callable[[Result], None]:
    """Writes each result as one JSON line, flushed, so that a killed bench loses none."""

    def keep(result: Result) -> None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**result, "at": time.time()}, ensure_ascii=False) + "\n")

    return keep
