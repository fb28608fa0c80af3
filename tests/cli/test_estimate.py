"""What `--estimate` prints before money is spent, and what is said of it while it is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import MODEL, QUESTION, Run
from fakes import Terminal
from model_server import ModelServer

from thinkgraph.cli.show import LineProgress
from thinkgraph.eval.costs.bill import Bill, Spent
from thinkgraph.eval.costs.estimate import SAMPLE

NAMES = ("Panama", "Colombia", "Costa Rica")


def _data(folder: Path, number: int) -> str:
    file = folder / "data.jsonl"
    rows = [
        {"id": f"q{at}", "question": f"What is the capital of {NAMES[at % 3]}?", "answers": ["x"]}
        for at in range(number)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(file)


def _prices(folder: Path) -> str:
    (folder / "prices.yaml").write_text('"openai:test": [1000000, 2000000]\n', "utf-8")
    return str(folder / "prices.yaml")


def _figures(line: str) -> list[float]:
    found = re.search(r"expected ([\d.,]+) calls, ([\d,]+) tokens in, ([\d,]+) out", line)
    assert found, line
    return [float(one.replace(",", "")) for one in found.groups()]


def test_ask_is_estimated_without_a_call_and_keeps_no_run(ask: Run, served: ModelServer, home: Path) -> None:
    before = len(served.calls)
    done = ask(QUESTION, "--estimate")
    assert done.code == 0
    calls, tokens, said = _figures(done.out)
    assert calls >= 1
    assert tokens > said > 0
    assert "price of openai:test unknown (--prices FILE)" in done.out
    assert len(served.calls) == before
    assert not home.exists() or not list(home.glob("*.sqlite"))


def test_an_estimate_is_json_on_request_and_keeps_to_the_ceiling(ask: Run) -> None:
    (row,) = json.loads(ask(QUESTION, "--estimate", "--json").out)
    assert row["input_tokens"] > row["output_tokens"] > 0
    assert row["calls"] > 1
    assert row["cost"] is None, "no price is known"
    assert len(row["between"]) == 2
    (row,) = json.loads(ask(QUESTION, "--estimate", "--json", "--set", "max_calls=1").out)
    assert row["calls"] <= 1
    assert row["between"][1] == 1, "no question uses more than the ceiling"


def test_what_is_expected_is_near_what_is_then_used(ask: Run) -> None:
    said = _figures(ask(QUESTION, "--estimate").out)
    total = json.loads(ask(QUESTION, "--json").out)["usage"]["total"]
    assert abs(said[1] - total["input_tokens"]) <= 0.25 * total["input_tokens"]


def test_the_price_is_that_of_the_model_that_would_answer(ask: Run, tmp_path: Path) -> None:
    line = ask(QUESTION, "--estimate", "--prices", _prices(tmp_path)).out
    _, tokens, said = _figures(line)
    price = re.search(r"\$([\d.]+)", line)
    assert price
    assert float(price[1]) == pytest.approx(tokens + 2 * said, abs=2)


def test_a_ceiling_bounds_the_estimate_too(ask: Run) -> None:
    assert (
        _figures(ask(QUESTION, "--estimate", "--set", "max_calls=1").out)[0]
        <= 1.5
        < _figures(ask(QUESTION, "--estimate").out)[0]
    )


@pytest.mark.parametrize("number", [6, 3 * SAMPLE])
def test_a_bench_is_estimated_from_a_sample_and_begins_nothing(
    cli: Run, served: ModelServer, tmp_path: Path, kb: str, number: int
) -> None:
    before, report = len(served.calls), tmp_path / "report"
    words = ["--data", _data(tmp_path, number), "--kb", kb, "--model", MODEL, "--set", "tog2.ranker=bm25"]
    done = cli("bench", *words, "--methods", "tog2,kg_rag", "--report", str(report), "--estimate")
    assert done.code == 0
    lines = done.out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["tog2", "kg_rag"]
    assert all((f"from {SAMPLE} of {number} questions" in line) == (number > SAMPLE) for line in lines)
    assert _figures(lines[1])[0] == pytest.approx(number, rel=0.1), "kg_rag makes one call a question"
    assert len(served.calls) == before
    assert not report.exists()


@pytest.mark.parametrize("command", ["batch", "bench"])
def test_spent_and_expected_stand_in_the_progress_line(
    cli: Run, served: ModelServer, tmp_path: Path, kb: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(LineProgress, "__call__", lambda self, *_: told.append(self.note))
    data = _data(tmp_path, 3)
    words = ["batch", data, "--set", "ranker=bm25"] if command == "batch" else ["bench", "--data", data]
    more = ["--out", str(tmp_path / "out.jsonl"), "--kb", kb, "--model", MODEL, "--concurrency", "1"]
    method = ["--method" if command == "batch" else "--methods", "tog2"]
    ranker = [] if command == "batch" else ["--set", "tog2.ranker=bm25"]
    assert cli(*words, *more, *method, *ranker, "--prices", _prices(tmp_path)).code == 0
    kept = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    used = kept[0]["answer"]["usage"]["total"]
    assert told[0].startswith(f"spent {used['calls']:.1f} calls, {used['input_tokens']:,} tokens in")
    assert f"; expected in all {3 * used['calls']:,.0f}" in told[0]
    assert "$" in told[0]
    assert "expected" not in told[-1], "all are answered"


def test_a_report_has_the_price_of_a_question_and_one_that_came_later(
    cli: Run, served: ModelServer, tmp_path: Path, kb: str
) -> None:
    (tmp_path / "prices.yaml").write_text('"openai:test": [0.1, 0.2]\n', "utf-8")
    folder = tmp_path / "report"
    words = ["bench", "--data", _data(tmp_path, 2), "--kb", kb, "--model", MODEL, "--set", "ranker=bm25"]
    words += ["--report", str(folder), "--json"]
    (*_, row) = json.loads(cli(*words).out)["rows"]
    assert row["cost_mean"] is None, "no price is known"
    asked = len(served.calls)
    (*_, row) = json.loads(cli(*words, "--prices", str(tmp_path / "prices.yaml")).out)["rows"]
    assert len(served.calls) == asked
    expected = (0.1 * row["input_tokens_mean"] + 0.2 * row["output_tokens_mean"]) / 1e6
    assert row["cost_mean"] == pytest.approx(expected, abs=1e-6)
    assert 0 < row["cost_mean"] < 0.0005
    assert f"| {row['cost_mean']:.6f} |" in (folder / "report.md").read_text("utf-8")


def test_what_failed_tells_nothing_and_what_was_kept_counts(ask: Run) -> None:
    record = {"answer": json.loads(ask(QUESTION, "--json").out)}
    assert Spent(2, None).add({"error": "no"}) == ""
    again = Spent(4, None, [record]).add(record)
    assert f"spent {2 * record['answer']['usage']['total']['calls']:.1f} calls" in again


def test_what_one_method_costs_is_not_expected_of_another() -> None:
    def record(method: str, calls: int) -> dict[str, Any]:
        total = {"calls": calls, "input_tokens": 100 * calls, "output_tokens": calls, "cost": 0.0}
        return {"answer": {"method": method, "usage": {"total": total, "models": ["offline"]}}}

    spent = Spent(6, None, methods=2)
    told = [spent.add(record(*one)) for one in [("direct", 1)] * 3 + [("tog2", 20)] * 3]
    assert "; expected with direct 3.0 calls" in told[0]
    assert "expected" not in told[2], "nothing tells yet what tog2 costs"
    assert "; expected in all 63 calls" in told[3]
    assert told[5].startswith("spent 63 calls")
    assert "expected" not in told[5]


def test_the_note_stands_behind_the_count() -> None:
    out = Terminal()
    progress = LineProgress(out)
    progress.note = "spent 3.0 calls"
    progress("questions", 2, 5)
    assert "questions: 2 of 5; spent 3.0 calls" in out.getvalue()


def test_a_bill_scales_its_money_with_its_tokens() -> None:
    assert Bill(2, 10, 4, 0.5).times(2, 3) == Bill(4, 30, 12, 1.5)


@pytest.mark.parametrize("model", ["offline", "perfect"])
def test_what_stands_in_for_a_model_costs_nothing(model: str) -> None:
    assert Bill(models=frozenset({model})).words().endswith(" out, $0.0000")
