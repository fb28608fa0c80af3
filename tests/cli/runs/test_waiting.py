"""Runs that wait for a reply of the person's: what is shown, and how `resume --answer` goes on."""

from __future__ import annotations

import json
from pathlib import Path

from cli.conftest import QUESTION, Run

from thinkgraph.ingest.build import build_kb


def test_a_spent_ceiling_is_asked_about_and_raised(ask: Run, cli: Run) -> None:
    done = ask(QUESTION, "--thread", "t", "--quiet", "--set", "ask_user=budget", "--set", "max_calls=1")
    assert done.code == 5
    assert done.out == ""
    assert "The ceiling of 1 calls (max_calls) is reached. Raise it?" in done.err
    assert done.line.endswith("run t waits for a reply: thinkgraph resume t --answer VALUE")
    # Without a reply it is asked again, with a wrong one the reason is said.
    assert "Raise it?" in cli("resume", "t").err
    assert "'lots\\x1b' is no number" in cli("resume", "t", "--answer", "lots\x1b").err
    done = cli("resume", "t", "--answer", "40", "--json")
    assert done.code == 0
    assert json.loads(done.out)["status"] == "grounded"
    assert cli("resume", "t", "--answer", "40").line.endswith("run t asks nothing: resume it without --answer")


def test_enough(ask: Run, cli: Run) -> None:
    assert ask(QUESTION, "--thread", "t", "--set", "ask_user=both", "--set", "max_calls=1").code == 5
    done = cli("resume", "t", "--answer", "stop", "--json")
    assert done.code == 0
    assert "ceiling of 1 calls" in json.loads(done.out)["reason"]


def test_namesakes_are_listed_and_one_is_chosen(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "rows.tsv").write_text("g1\tcapital\tTbilisi\ng2\tcapital\tAtlanta\n", "utf-8")
    rows = "id\tlabel\ttype\tdescription\ng1\tGeorgia\tplace\tcountry\ng2\tGeorgia\tplace\tstate \x1b[31mof the US\n"
    (tmp_path / "entities.tsv").write_text(rows, "utf-8")
    build_kb(tmp_path / "kb", triples=[tmp_path / "rows.tsv"], entities=tmp_path / "entities.tsv", index=False)
    done = cli(
        "ask", "What is the capital of Georgia?", "--kb", str(tmp_path / "kb"), "--thread", "t",
        "--model", "offline", "--set", "ask_user=ambiguity",
    )  # fmt: skip
    assert done.code == 5
    shown = [line.strip() for line in done.err.splitlines()]
    assert "Which 'Georgia' is meant?" in shown
    assert "1  Georgia: country (g1)" in shown
    assert "2  Georgia: state [31mof the US (g2)" in shown
    done = cli("resume", "t", "--answer", "2", "--json")
    assert json.loads(done.out)["answers"] == ["Atlanta"]
