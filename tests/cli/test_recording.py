"""`ask --record` and `--replay`: the same answer without models and stores, and where a run departs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import ANSWER, MODEL, QUESTION, Run
from model_server import ModelServer

from thinkgraph.models.recorded import Recording

SAME = ("text", "answers", "status", "support", "reason", "confidence", "evidence", "rounds", "pruned", "trace")


@pytest.fixture
def recorded(cli: Run, kb: str, served: ModelServer, tmp_path: Path) -> tuple[Path, Path, dict[str, Any]]:
    """A recording, the copy of the knowledge base it was made over, and the answer."""
    folder, file = tmp_path / "kb", tmp_path / "run.jsonl"
    shutil.copytree(kb, folder)
    words = ["--kb", str(folder), "--model", MODEL, "--set", "ranker=bm25", "--quiet", "--json"]
    done = cli("ask", QUESTION, *words, "--record", str(file))
    assert done.code == 0, done.err
    return file, folder, json.loads(done.out)


def test_a_run_is_repeated_without_its_model_and_stores(
    cli: Run, served: ModelServer, recorded: tuple[Path, Path, dict[str, Any]]
) -> None:
    file, folder, answer = recorded
    shutil.rmtree(folder)
    before = len(served.calls)
    done = cli("ask", "--replay", str(file), "--quiet", "--json")
    assert done.code == 0, done.err
    again = json.loads(done.out)
    assert again["answers"] == [ANSWER]
    assert {name: again[name] for name in SAME} == {name: answer[name] for name in SAME}
    assert again["usage"]["total"] == answer["usage"]["total"]
    assert len(served.calls) == before
    # As often as one likes, with the question too.
    assert cli("ask", QUESTION, "--replay", str(file), "--quiet").code == 0


def test_vectors_come_out_of_the_file_bit_for_bit(cli: Run, kb: str, served: ModelServer, tmp_path: Path) -> None:
    file = str(tmp_path / "run.jsonl")
    words = ["--model", MODEL, "--set", "ranker=dense", "--quiet", "--json"]
    first = cli("ask", QUESTION, "--kb", kb, *words, "--record", file)
    assert '"what": "embedder"' in Path(file).read_text("utf-8")
    again = cli("ask", "--replay", file, "--quiet", "--json")
    assert json.loads(again.out)["pruned"] == json.loads(first.out)["pruned"]


def test_a_changed_prompt_is_named_with_the_line_that_differs(
    cli: Run, tmp_path: Path, recorded: tuple[Path, Path, dict[str, Any]]
) -> None:
    file, _, _ = recorded
    folder = tmp_path / "prompts" / "tog2"
    folder.mkdir(parents=True)
    known = Path(__file__).parents[2] / "thinkgraph" / "prompts" / "tog2" / "steer.prompt"
    text = known.read_text("utf-8")
    line = next(line for line in text.splitlines() if line.startswith("Decide"))
    (folder / "steer.prompt").write_text(text.replace(line, f"Dear model. {line}"), "utf-8")
    done = cli("ask", "--replay", str(file), "--prompts", str(folder.parent), "--quiet")
    assert done.code == 4
    assert "holds no reply to this prompt of tog2.steer" in done.line
    assert f"from {line[:20]!r}"[:-1] in done.line
    assert "to 'Dear model. " in done.line


def test_what_a_store_was_not_asked_is_a_departure(recorded: tuple[Path, Path, dict[str, Any]], cli: Run) -> None:
    file, _, _ = recorded
    lines = file.read_text("utf-8").splitlines(keepends=True)
    file.write_text("".join(line for line in lines if '"what": "graph.relations"' not in line), "utf-8")
    done = cli("ask", "--replay", str(file), "--quiet")
    assert done.code == 4
    assert "does not hold what graph.relations gives for this" in done.line


def test_a_recording_that_was_stopped_early_says_that_it_ends_there(
    cli: Run, recorded: tuple[Path, Path, dict[str, Any]]
) -> None:
    file, _, _ = recorded
    lines = file.read_text("utf-8").splitlines(keepends=True)
    for kept in range(1, len(lines)):
        file.write_text("".join(lines[:kept]), "utf-8")
        done = cli("ask", "--replay", str(file), "--quiet")
        assert done.code == 4
        assert "the recording ends before it; was its run stopped?" in done.line
        assert "changed" not in done.line


def test_what_cannot_be_recorded_or_repeated_is_one_line(
    cli: Run, kb: str, recorded: tuple[Path, Path, dict[str, Any]], tmp_path: Path
) -> None:
    file, _, _ = recorded
    replies = tmp_path / "replies.jsonl"
    replies.write_text('{"model": "m"}\n', "utf-8")
    half, text, empty = (tmp_path / name for name in ("half", "text", "empty"))
    half.write_text('{"model": "offline", "about": {"question": "x"}}\n', "utf-8")
    text.write_text('{"model": "offline", "about": "x"}\n', "utf-8")
    empty.touch()
    for words, said in (
        (["ask", QUESTION, "--kb", kb, "--record", str(file)], "exists: name another file"),
        (["ask", "Another?", "--replay", str(file)], "answers another question"),
        (["ask", "--replay", str(replies)], "holds replies of a model, not a whole run"),
        (["ask", "--replay", str(tmp_path / "nowhere")], "there is no such recording"),
        (["ask", "--replay", str(file), "--method", "tog", "--kb", kb], "leave --method, --kb out"),
        (["ask", "--replay", str(file), "--model", MODEL, "--set", "width=1"], "leave --set, --model out"),
        (["ask", "--replay", str(half)], "line 1: not what a run was started with"),
        (["ask", "--replay", str(text)], "line 1: not what a run was started with"),
        (["ask", "--replay", str(empty)], "is empty: nothing was recorded"),
        (["ask", "--replay", str(file), "--estimate"], "leave --replay out"),
        (["ask", QUESTION, "--kb", kb, "--record", str(tmp_path / "new"), "--estimate"], "leave --record out"),
        (["ask", QUESTION, "--kb", kb, "--estimate", "--plot", str(tmp_path / "a.html")], "leave --plot out"),
        (["ask", QUESTION, "--kb", kb, "--estimate", "--thread", "", "--replace"], "leave --thread, --replace out"),
        (["ask"], "the question is missing"),
        (["ask", QUESTION, "--record", "a", "--replay", "b"], "not allowed with"),
    ):
        done = cli(*words)
        assert done.code == 2, done.err
        assert said in done.line


@pytest.mark.parametrize(
    ("name", "words"), [("nowhere/x", "there is no folder"), ("file/x", "is a file, not a folder"), ("", "exists")]
)
def test_where_nothing_can_be_recorded_no_run_begins(
    ask: Run, served: ModelServer, tmp_path: Path, name: str, words: str
) -> None:
    (tmp_path / "file").write_text("mine")
    before = len(served.calls)
    done = ask(QUESTION, "--thread", "t", "--record", str(tmp_path / name))
    assert done.code == 2
    assert words in done.line
    assert len(served.calls) == before
    # The same thread is free for the same command with another file.
    assert ask(QUESTION, "--thread", "t", "--record", str(tmp_path / "x")).code == 0
    assert Recording(tmp_path / "x").about["question"] == QUESTION


def test_a_model_without_its_key_leaves_no_recording_in_the_way(
    cli: Run, kb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    words = ["ask", QUESTION, "--kb", kb, "--thread", "t", "--record", str(tmp_path / "x")]
    assert "needs OPENAI_API_KEY" in cli(*words, "--model", MODEL).line
    assert cli(*words, "--model", "offline").code == 0


def test_half_a_line_of_a_killed_recording_is_left_out(recorded: tuple[Path, Path, dict[str, Any]]) -> None:
    file, _, _ = recorded
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    assert Recording(file).about["question"] == QUESTION
