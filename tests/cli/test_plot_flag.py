"""`--plot` of ask and resume."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.conftest import ANSWER, QUESTION, Run, use_server
from model_server import ModelServer
from replies import Fault

from thinkgraph.cli.runs import RunStore


def test_ask_and_resume_draw_the_answer(ask: Run, cli: Run, tmp_path: Path) -> None:
    svg, page = tmp_path / "why.svg", tmp_path / "why.html"
    done = ask(QUESTION, "--thread", "t", "--plot", str(svg), "--json")
    assert done.code == 0
    assert json.loads(done.out)["answers"] == [ANSWER]
    assert f"picture written to {svg}" in done.err
    assert ANSWER in svg.read_text("utf-8")
    done = cli("resume", "t", "--plot", str(page), "--quiet")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0] == ANSWER
    assert page.read_text("utf-8").startswith("<!doctype html>")


def test_a_run_that_was_stopped_is_drawn_when_it_ends(
    ask: Run, cli: Run, served: ModelServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "why.svg"
    with ModelServer([Fault(401, "no")]) as broken:
        use_server(broken, monkeypatch)
        assert ask(QUESTION, "--thread", "t", "--plot", str(file)).code == 4
    assert not file.exists()
    use_server(served, monkeypatch)
    assert cli("resume", "t", "--plot", str(file)).code == 0
    assert ANSWER in file.read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("why.png", "a picture is written as .svg or .html"),
        ("", "a picture is written as .svg or .html"),
        ("nowhere/why.svg", "there is no folder"),
        ("file/why.svg", "is a file, not a folder"),
        ("folder.html", "is a folder; name a file"),
        ("a\x1b[31m.svg/b.svg", "there is no folder"),
    ],
)
def test_a_wrong_target_costs_nothing(
    ask: Run, cli: Run, served: ModelServer, home: Path, tmp_path: Path, name: str, words: str
) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder.html").mkdir()
    before = len(served.calls)
    for done in (ask(QUESTION, "--plot", str(tmp_path / name)), cli("resume", "t", "--plot", str(tmp_path / name))):
        assert done.code == 2
        assert words in done.line
        assert "\x1b" not in done.err
        assert done.out == ""
    assert len(served.calls) == before
    with RunStore(home) as runs:
        assert runs.rows() == []


def test_of_an_answer_without_evidence_the_search_and_its_end_are_drawn(ask: Run, tmp_path: Path) -> None:
    file = tmp_path / "why.svg"
    done = ask("Zorblax?", "--plot", str(file))
    assert done.out.startswith("I don't know")
    assert done.code == 0
    assert "<title>no entity of the knowledge base fits the question" in file.read_text("utf-8")
