"""The results of a bench, one for each question and method, and the tables made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NotRequired, cast

import numpy as np
from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from thinkgraph.eval.costs.bill import Bill, bill_of
from thinkgraph.eval.metrics import EvidenceScores, Scores
from thinkgraph.eval.reports.stats import interval
from thinkgraph.eval.steps import StepTime
from thinkgraph.models.prices import Prices
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.answer import Answer

_COLUMNS = [
    "method",
    "type",
    "n",
    "hits1",
    "em",
    "em_contains",
    "partial",
    "complete",
    "unknown",
    "wrong",
    "calls_mean",
    "calls_max",
    "bound",
    "above",
    "apart_calls_mean",
    "seconds_mean",
]


class BenchResult(TypedDict):
    """One question answered by one method."""

    id: str
    type: str
    method: str
    gold: list[str]
    scores: Scores
    em_contains: float
    """The metric of the scripts of ToG and ToG-2."""
    rouge_l: float
    evidence: EvidenceScores | None
    """None where the question has no gold evidence."""
    calls: int
    apart_calls: int
    bound: int | None
    """Most calls by the method's paper (`Method.bound`)."""
    answer: Answer
    steps: NotRequired[dict[str, StepTime]]
    """Time by node, where steps were timed."""


_RESULT = TypeAdapter(BenchResult)


def is_result(record: Mapping[str, Any]) -> bool:
    """Whether a line that was read is a whole result."""
    try:
        _RESULT.validate_python(record, strict=True)
    except ValidationError:
        return False
    return True


class ReportRow(Scores):
    """One line of the table: a method over the questions of one type ("all": over all), with means of the scores."""

    method: str
    type: str
    n: int
    calls_mean: float
    calls_max: int
    bound: int | None
    """Most calls by the method's paper; where it depends on the question, the largest."""
    above: int
    """Questions that took more calls than their bound."""
    apart_calls_mean: float
    """Calls that rank passages or put communities into prose. The methods' bounds leave them out, and so does `calls_mean`."""
    seconds_mean: float
    em_contains: float
    """Exact match as the scripts of ToG and ToG-2 count it."""
    rouge_l: float
    missing: float
    """No answer where there is one (CogGRAG section 5.6). With `hits1` and `hallucinated` it makes 1."""
    hallucinated: float
    """An answer that is not gold."""
    hits1_low: float
    hits1_high: float
    """95 % bootstrap interval of `hits1`."""
    evidence_precision: float | None
    evidence_recall: float | None
    input_tokens_mean: float
    output_tokens_mean: float
    cost_mean: float | None
    """US dollars a question; None where a model has no price."""
    rounds_mean: float
    """Depth reached."""
    round_trips_mean: float
    encoder_texts_mean: float
    seconds_p50: float
    seconds_p95: float


def table(results: Iterable[BenchResult], *, seed: int = 0, prices: Prices | None = None) -> list[ReportRow]:
    """Means per method and type, and per method over all.

    Args:
        results: of a bench.
        seed: of the intervals.
        prices: additions to the built-in price table.
    """
    groups: dict[tuple[str, str], list[BenchResult]] = {}
    for result in results:
        groups.setdefault((result["method"], result["type"] or "untyped"), []).append(result)
        groups.setdefault((result["method"], "all"), []).append(result)
    rows = [_row(method, kind, members, seed, prices) for (method, kind), members in groups.items()]
    return sorted(rows, key=lambda row: (row["method"], row["type"] == "all", row["type"]))


def whole_row(results: Sequence[BenchResult], *, seed: int = 0) -> ReportRow:
    """The means of one method over all its results; `seed` is that of the intervals."""
    return next(row for row in table(results, seed=seed) if row["type"] == "all")


def _mean(values: Iterable[float], digits: int = 4) -> float:
    every = list(values)
    return round(sum(every) / len(every), digits)


def _mean_known(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return _mean(known) if known else None


def _row(method: str, kind: str, members: Sequence[BenchResult], seed: int, prices: Prices | None) -> ReportRow:
    scores = [member["scores"] for member in members]
    usages = [member["answer"]["usage"] for member in members]
    totals = [usage["total"] for usage in usages]
    evidence = [member["evidence"] for member in members]
    seconds = [usage["seconds"] for usage in usages]
    # Sorted by id, so that the interval does not depend on which question was answered first.
    low, high = interval(
        [member["scores"]["hits1"] for member in sorted(members, key=lambda member: member["id"])], seed=seed
    )
    bills = [bill_of(member["answer"], prices) for member in members]
    bounded = [(member["calls"], most) for member in members if (most := member["bound"]) is not None]
    return {
        **cast("Scores", {name: _mean(score[name] for score in scores) for name in Scores.__annotations__}),  # type: ignore[literal-required]
        "method": method,
        "type": kind,
        "n": len(members),
        "calls_mean": _mean(member["calls"] for member in members),
        "calls_max": max(member["calls"] for member in members),
        "bound": max((most for _, most in bounded), default=None),
        "above": sum(calls > most for calls, most in bounded),
        "apart_calls_mean": _mean(member["apart_calls"] for member in members),
        "seconds_mean": _mean(seconds),
        "em_contains": _mean(member["em_contains"] for member in members),
        "rouge_l": _mean(member["rouge_l"] for member in members),
        "missing": _mean(score["unknown"] * (1 - score["hits1"]) for score in scores),
        "hallucinated": _mean((1 - score["unknown"]) * (1 - score["hits1"]) for score in scores),
        "hits1_low": low,
        "hits1_high": high,
        "evidence_precision": _mean_known(one and one["precision"] for one in evidence),
        "evidence_recall": _mean_known(one and one["recall"] for one in evidence),
        "input_tokens_mean": _mean(total["input_tokens"] for total in totals),
        "output_tokens_mean": _mean(total["output_tokens"] for total in totals),
        "cost_mean": None if sum(bills, Bill()).unpriced(prices) else _mean((bill.cost for bill in bills), 6),
        "rounds_mean": _mean(member["answer"]["rounds"] for member in members),
        "round_trips_mean": _mean(usage["store_round_trips"] for usage in usages),
        "encoder_texts_mean": _mean(usage["encoder_texts"] for usage in usages),
        "seconds_p50": round(float(np.quantile(seconds, 0.5)), 4),
        "seconds_p95": round(float(np.quantile(seconds, 0.95)), 4),
    }


def render(rows: Sequence[ReportRow]) -> str:
    """The table as text, with the columns that fit a terminal."""
    cells = [[shown(row[column]) for column in _COLUMNS] for row in rows]  # type: ignore[literal-required]
    return "\n".join(aligned([_COLUMNS, *cells], left=2))


def shown(value: object, nothing: str = "-", digits: int = 3) -> str:
    """A figure as text."""
    return nothing if value is None else f"{value:.{digits}f}" if isinstance(value, float) else str(value)


def aligned(lines: Sequence[Sequence[str]], *, left: int = 1) -> list[str]:
    """The lines of a table, its first `left` columns aligned to the left and the others to the right."""
    sides = [(str.ljust if place < left else str.rjust) for place in range(len(lines[0]))]
    # Names may come from a file, with what a terminal would obey.
    lines = [[one_line(cell) for cell in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(side(cell, width) for side, cell, width in zip(sides, line, widths, strict=True)).rstrip()
        for line in lines
    ]
