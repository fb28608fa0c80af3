"""What a bench finds: one result a question, and the tables made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from typing_extensions import TypedDict

from thinkgraph.eval.metrics import EvidenceScores, Scores
from thinkgraph.eval.reports.stats import interval
from thinkgraph.state.answer import Answer

PLAIN_COLUMNS = (
    "method",
    "type",
    "n",
    "hits1",
    "em",
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
)
"""The columns that fit a terminal."""


class BenchResult(TypedDict):
    """One question answered by one method."""

    id: str
    type: str
    method: str
    gold: list[str]
    scores: Scores
    rouge_l: float | None
    """None where rouge-score is not installed."""
    evidence: EvidenceScores | None
    """None where the question has no gold evidence."""
    calls: int
    apart_calls: int
    bound: int | None
    """Most calls by the method's paper (`Method.bound`)."""
    answer: Answer


def is_result(record: Mapping[str, Any]) -> bool:
    """Whether a line that was read is a whole result, of this version or, without its bound, of an older one."""
    answer, scores, evidence = record.get("answer"), record.get("scores"), record.get("evidence", 0)
    if not isinstance(answer, dict) or not isinstance(scores, dict):
        return False
    usage = answer.get("usage")
    return (
        record.keys() >= BenchResult.__annotations__.keys() - {"bound"}
        and _numbers(scores, Scores.__annotations__)
        and (evidence is None or (isinstance(evidence, dict) and _numbers(evidence, EvidenceScores.__annotations__)))
        and _numbers(record, ("calls", "apart_calls"))
        and all(isinstance(record[name], str) for name in ("id", "type", "method"))
        and _numbers(answer, ("rounds",))
        and isinstance(usage, dict)
        and _numbers(usage, ("seconds", "store_round_trips", "encoder_texts"))
        and isinstance(usage.get("total"), dict)
        and _numbers(usage["total"], ("input_tokens", "output_tokens", "cost"))
    )


def _numbers(values: Mapping[str, Any], names: Iterable[str]) -> bool:
    return all(isinstance(values.get(name), int | float) for name in names)


class ReportRow(TypedDict):
    """One line of the table: a method over the questions of one type ("all": over all). Shares from 0 to 1."""

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
    bound: int | None
    """Most calls by the method's paper; where it depends on the question, the largest."""
    above: int
    """Questions that took more calls than their bound."""
    apart_calls_mean: float
    """Calls of an LLM ranker or of one that puts communities into prose, which the methods' bounds count apart; not in
    `calls_mean`.
    """
    seconds_mean: float
    partial: float
    f1: float
    rouge_l: float | None
    missing: float
    """No answer where there is one (CogGRAG section 4.4). With `hits1` and `hallucinated` it makes 1."""
    hallucinated: float
    """An answer that is not gold."""
    hits1_low: float
    hits1_high: float
    """95 % bootstrap interval of `hits1`."""
    evidence_precision: float | None
    evidence_recall: float | None
    input_tokens_mean: float
    output_tokens_mean: float
    cost_mean: float
    """US dollars a question."""
    rounds_mean: float
    """Depth reached."""
    round_trips_mean: float
    encoder_texts_mean: float
    seconds_p50: float
    seconds_p95: float


def table(results: Iterable[BenchResult], *, seed: int = 0) -> list[ReportRow]:
    """Means per method and type, and per method over all."""
    groups: dict[tuple[str, str], list[BenchResult]] = {}
    for result in results:
        groups.setdefault((result["method"], result["type"] or "untyped"), []).append(result)
        groups.setdefault((result["method"], "all"), []).append(result)
    rows = [_row(method, kind, members, seed) for (method, kind), members in groups.items()]
    return sorted(rows, key=lambda row: (row["method"], row["type"] == "all", row["type"]))


def _row(method: str, kind: str, members: Sequence[BenchResult], seed: int) -> ReportRow:
    def mean(of: Callable[[BenchResult], float]) -> float:
        return round(sum(map(of, members)) / len(members), 4)

    def known(of: Callable[[BenchResult], float | None]) -> float | None:
        values = [value for member in members if (value := of(member)) is not None]
        return round(sum(values) / len(values), 4) if values else None

    def usage(member: BenchResult) -> Mapping[str, Any]:
        return member["answer"]["usage"]

    # Sorted by id, so that the interval does not depend on which question was answered first.
    hits = [member["scores"]["hits1"] for member in sorted(members, key=lambda member: member["id"])]
    sure = interval(hits, seed=seed)
    seconds = [usage(member)["seconds"] for member in members]
    # Answers kept by an older version have no bound.
    bounded = [(member["calls"], most) for member in members if (most := member.get("bound")) is not None]
    return ReportRow(
        method=method,
        type=kind,
        n=len(members),
        hits1=mean(lambda m: m["scores"]["hits1"]),
        em=mean(lambda m: m["scores"]["em"]),
        complete=mean(lambda m: m["scores"]["complete"]),
        unknown=mean(lambda m: m["scores"]["unknown"]),
        wrong=mean(lambda m: m["scores"]["wrong"]),
        calls_mean=mean(lambda m: m["calls"]),
        calls_max=max(member["calls"] for member in members),
        bound=max((most for _, most in bounded), default=None),
        above=sum(calls > most for calls, most in bounded),
        apart_calls_mean=mean(lambda m: m["apart_calls"]),
        seconds_mean=mean(lambda m: usage(m)["seconds"]),
        partial=mean(lambda m: m["scores"]["partial"]),
        f1=mean(lambda m: m["scores"]["f1"]),
        rouge_l=known(lambda m: m["rouge_l"]),
        missing=mean(lambda m: m["scores"]["unknown"] * (1 - m["scores"]["hits1"])),
        hallucinated=mean(lambda m: (1 - m["scores"]["unknown"]) * (1 - m["scores"]["hits1"])),
        hits1_low=sure["low"],
        hits1_high=sure["high"],
        evidence_precision=known(lambda m: m["evidence"] and m["evidence"]["precision"]),
        evidence_recall=known(lambda m: m["evidence"] and m["evidence"]["recall"]),
        input_tokens_mean=mean(lambda m: usage(m)["total"]["input_tokens"]),
        output_tokens_mean=mean(lambda m: usage(m)["total"]["output_tokens"]),
        cost_mean=round(sum(usage(m)["total"]["cost"] for m in members) / len(members), 6),
        rounds_mean=mean(lambda m: m["answer"]["rounds"]),
        round_trips_mean=mean(lambda m: usage(m)["store_round_trips"]),
        encoder_texts_mean=mean(lambda m: usage(m)["encoder_texts"]),
        seconds_p50=round(float(np.quantile(seconds, 0.5)), 4),
        seconds_p95=round(float(np.quantile(seconds, 0.95)), 4),
    )


def render(rows: Sequence[ReportRow], columns: Sequence[str] = PLAIN_COLUMNS) -> str:
    """The table as text."""
    cells = [list(columns), *([_cell(row[column]) for column in columns] for row in rows)]  # type: ignore[literal-required]
    widths = [max(len(line[at]) for line in cells) for at in range(len(columns))]
    names = ("method", "type")

    def pad(column: str, cell: str, width: int) -> str:
        return cell.ljust(width) if column in names else cell.rjust(width)

    return "\n".join("  ".join(map(pad, columns, line, widths)).rstrip() for line in cells)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
