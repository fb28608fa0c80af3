"""`bench --sensitivity` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.conftest import Run

WORDS = ["bench", "--sensitivity", "--methods", "tog2"]


def test_errors_of_every_role_alone_and_of_all_together_cost_points(cli: Run, tmp_path: Path) -> None:
    folder = tmp_path / "report"
    out = cli(
        *WORDS,
        "--data",
        "world",
        "--type",
        "2hop",
        "--limit",
        "8",
        "--set",
        "backtracks=0",
        "--set",
        "ranker=bm25",
        "--report",
        str(folder),
        "--json",
    )
    assert out.code == 0, out.err
    rows = json.loads(out.out)["rows"]
    assert json.loads((folder / "sensitivity.json").read_text("utf-8"))["rows"] == rows
    roles = {"tog2.topic_prune", "tog2.relation_prune", "tog2.reason", "tog2.steer"}
    assert {row["role"] for row in rows} == {"", *roles}
    every = [row for row in rows if not row["role"]]
    assert [row["share"] for row in every] == [0.0, 0.05, 0.1, 0.2, 0.3]
    assert (every[0]["hits1"], every[0]["lost"], every[0]["wrong"]) == (1.0, 0.0, 0.0)
    assert every[-1]["hits1"] < 1.0
    assert all(row["lost"] == pytest.approx(100 * (1.0 - row["hits1"]), abs=0.06) for row in rows)
    assert "points lost" in (folder / "sensitivity.txt").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model", "offline"], "leave --model offline out"),
        (["--seeds", "0"], "--seeds must be at least 1"),
        (["--workers", "2"], "leave --out and --workers out"),
        (["--out", "x.jsonl"], "leave --out and --workers out"),
        (["--estimate"], "leave --estimate out"),
        (["--prices", "x.yaml"], "leave --prices out"),
        (["--rate", "5"], "leave --rate out"),
    ],
)
def test_flags_that_do_not_go_together_are_one_line(cli: Run, words: list[str], said: str) -> None:
    out = cli(*WORDS, "--data", "world", *words)
    assert out.code == 2
    assert said in out.err
    assert len(out.err.strip().splitlines()) == 1


@pytest.mark.parametrize("seeds", ["0", "3"])
def test_seeds_are_for_a_sensitivity_alone(cli: Run, kb: str, seeds: str) -> None:
    out = cli("bench", "--data", "world", "--kb", kb, "--seeds", seeds)
    assert out.code == 2
    assert "--seeds is for --sensitivity" in out.line
