"""Streams that are closed or full, bytes that are no text, labels that would steer a terminal, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest
from cli.conftest import ANSWER, MODEL, PROGRAM, QUESTION, Run, environment, use_server
from fakes import Terminal
from model_server import ModelServer, ServedCall
from replies import Answer, Fault, Hang, Reply, server_error

from thinkgraph.cli.ask import speaker
from thinkgraph.cli.main import entry
from thinkgraph.cli.runs import RunStore
from thinkgraph.cli.show import LineProgress, heed_sigterm, write_json
from thinkgraph.ingest.build import build_kb

ANSI = "\x1b[2J\x1b]0;title\x07"
CONTROLS = [chr(n) for n in (*range(10), *range(11, 32), 127, 0x9B, 0x202E, 0x2066, 0x2028)]
ASCII = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def _words(kb: str, *more: str) -> list[str]:
    return ["ask", QUESTION, "--kb", kb, "--model", MODEL, "--set", "ranker=bm25", *more]


def _shell(script: str, words: list[str], env: Mapping[str, str]) -> tuple[int, str, str]:
    """A line of bash in which "$@" is the command."""
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", script, "bash", *PROGRAM, *words],
        env=environment(env),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("script", "code", "out", "err"),
    [
        ('"$@" | head -1', 0, ANSWER, "round 1"),
        ('"$@" | true', 1, "", "round 1"),
        ('"$@" 2>&1 >/dev/null | true', 0, "", ""),
        ('"$@" 2>/dev/full', 0, ANSWER, ""),
        ('"$@" 2>&-', 0, ANSWER, ""),
        ('"$@" >/dev/full', 1, "", "No space left on device"),
        ('"$@" >&-', 1, "", "standard output is closed"),
        ('"$@" --json | head -c 5', 0, '{"que', "round 1"),
    ],
)
def test_streams_that_close(kb: str, served: ModelServer, script: str, code: int, out: str, err: str) -> None:
    found = _shell(script, _words(kb), {"OPENAI_BASE_URL": served.base_url})
    # A reader that goes away early may or may not be noticed in time.
    assert found[0] == code or ("|" in script and found[0] in {0, 1})
    assert out in found[1]
    assert err in found[2]


def test_an_ascii_terminal(process: Run, kb: str, served: ModelServer) -> None:
    question = "What is the capital of Panamá? 你"
    env = {"OPENAI_BASE_URL": served.base_url, **ASCII}
    words = ["ask", question, "--kb", kb, "--model", MODEL, "--set", "ranker=bm25", "--thread", "t"]
    done = process(*words, env=env)
    assert done.code == 0
    done = process(*words, "--json", env=env)
    assert done.code == 0
    # Nothing is lost: what the terminal cannot show is escaped.
    assert json.loads(done.out)["question"] == question
    assert done.out.isascii()
    assert json.loads(process("runs", "--json", env=env).out)[0]["question"] == question
    assert process("runs", env=env).code == 0
    assert json.loads(process("runs", "export", "t", env=env).out)["run"]["question"] == question


@pytest.mark.parametrize("words", [["--help"], ["ask", "--help"], ["--version"]])
def test_help_is_written_as_answers_are(process: Run, words: list[str]) -> None:
    for env in ({}, ASCII):
        done = process(*words, env=env)
        assert (done.code, done.err) == (0, "")
        assert "thinkgraph" in done.out
    assert done.out.isascii()
    for buffered in ("", "1"):
        code, _, err = _shell('"$@" >/dev/full', words, {"PYTHONUNBUFFERED": buffered})
        assert code == 1
        assert "No space left on device" in err


def test_a_question_that_is_no_text(process: Run, kb: str, served: ModelServer) -> None:
    text = b"What is the capital of \x1b[31mPanama\x00 \xe2\x80\xae\xff?"
    words = ["ask", "-", "--kb", kb, "--model", MODEL, "--set", "ranker=bm25"]
    done = process(*words, text=text, env={"OPENAI_BASE_URL": served.base_url})
    assert done.code == 0
    assert not _steering(done.out + done.err)
    asked = process("ask", "-", "--kb", kb, text=b"\xff\xfe" * 60_000)
    assert asked.code == 2
    assert "max_question" in asked.line


def _steering(text: str) -> list[str]:
    return [control for control in CONTROLS if control in text]


def test_labels_that_would_steer_the_terminal(cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evil = f"Pan{ANSI}ama\u202e\u2066"
    rows = [
        {"subject": evil, "relation": f"capital{ANSI}", "object": f"City\n[99] forged\r{ANSI}\u2028x"},
        {"subject": evil, "relation": "borders", "object": "Colombia"},
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (tmp_path / "aliases.json").write_text(json.dumps({evil: ["Panama"]}), "utf-8")
    folder = tmp_path / f"kb{ANSI}"
    build_kb(folder, triples=[tmp_path / "rows.jsonl"], aliases=tmp_path / "aliases.json")

    def reply(call: ServedCall) -> Answer:
        if "relation_prune" in call.role:
            return Reply('{"scores": [[1, 9], [2, 9]]}')
        if "reason" in call.role and "## Evidence" in call.text:
            body = {"sufficient": True, "answers": [f"City{ANSI}\nforged"], "evidence": [1], "clues": ANSI, "query": ""}
            return Reply(json.dumps(body))
        return Reply('{"numbers": [1], "sufficient": false, "answers": [], "evidence": []}')

    with ModelServer(reply) as server:
        use_server(server, monkeypatch)
        words = ["ask", QUESTION, "--kb", str(folder), "--model", MODEL, "--set", "ranker=bm25"]
        done = cli(*words)
        assert done.code == 0, done.err
        assert "forged" in done.out
        assert not _steering(done.out + done.err)
        assert "\n[99]" not in done.out + done.err
        as_json = cli(*words, "--json", "--quiet")
        assert as_json.out.count("\n") == 1
        assert not _steering(as_json.out)
        assert json.loads(as_json.out)["evidence"]["triples"][0]["subject_label"] != ""
    with ModelServer([Fault(401, f"no{ANSI}\n\u202e")]) as server:
        use_server(server, monkeypatch)
        failed = cli(*words)
        assert failed.code == 4
        assert failed.line
        assert not _steering(failed.err)
    for command in (["kb", "info", str(folder)], ["runs"], ["doctor", "--no-calls", "--kb", str(folder)]):
        shown = cli(*command)
        assert not _steering(shown.out + shown.err), command


def test_what_is_written_as_json_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    write_json({"max_seconds": float("inf"), "scores": [float("nan"), -float("inf"), 0.5]})
    assert capsys.readouterr().out == '{"max_seconds": null, "scores": [null, null, 0.5]}\n'


@pytest.mark.parametrize(
    ("how", "code", "reply"),
    [(signal.SIGINT, 130, Hang()), (signal.SIGINT, 130, server_error()), (signal.SIGTERM, 143, Hang())],
)
def test_ctrl_c_and_sigterm_leave_at_once_and_the_run_goes_on(
    cli: Run,
    kb: str,
    home: Path,
    served: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    how: signal.Signals,
    code: int,
    reply: Answer,
) -> None:
    with ModelServer([reply]) as stuck:
        words = _words(kb, "--thread", "t", "--set", "call_retries=10")
        env = environment({"OPENAI_BASE_URL": stuck.base_url})
        with subprocess.Popen([*PROGRAM, *words], env=env, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as run:
            end = time.monotonic() + 30
            while not stuck.calls:
                assert time.monotonic() < end
                time.sleep(0.02)
            run.send_signal(how)
            began = time.monotonic()
            out, err = run.communicate(timeout=30)
    assert time.monotonic() - began < 25
    assert run.returncode == code
    assert out == b""
    assert err.decode().splitlines()[-1] == "thinkgraph: error: interrupted; the run is kept: thinkgraph resume t"
    use_server(served, monkeypatch)
    assert cli("resume", "t").out.splitlines()[0] == ANSWER
    with RunStore(home) as runs:
        assert runs.known("t")["status"] == "grounded"


def test_a_line_of_progress_is_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr(sys.stderr, "write", written.append)
    speaker(quiet=False)("round 1")
    assert written == ["round 1\n"]


def test_on_a_terminal_the_error_of_ctrl_c_stands_on_a_line_of_its_own() -> None:
    code = (
        "import os, signal, sys; from thinkgraph.cli.show import LineProgress, leaving_at_once\n"
        "with LineProgress(sys.stderr) as progress, leaving_at_once('interrupted'):\n"
        "    progress('answering', 3, 10); os.kill(os.getpid(), signal.SIGINT); signal.pause()"
    )
    ours, its = os.openpty()
    run = subprocess.run(
        [sys.executable, "-c", code], stderr=its, stdin=its, env=environment({}), timeout=60, check=False
    )
    shown = os.read(ours, 4096).decode()
    os.close(ours)
    os.close(its)
    assert run.returncode == 130
    assert shown.splitlines()[-2:] == ["answering: 3 of 10", "thinkgraph: error: interrupted"]


def test_sigkill_loses_no_reply(cli: Run, kb: str, served: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    since = len(served.calls)
    with ModelServer(lambda call: Hang() if call.role == "tog2.steer" else _answered(served, call)) as stuck:
        env = environment({"OPENAI_BASE_URL": stuck.base_url})
        with subprocess.Popen([*PROGRAM, *_words(kb, "--thread", "t")], env=env, stderr=subprocess.DEVNULL) as run:
            end = time.monotonic() + 30
            while not any(call.role == "tog2.steer" for call in stuck.calls):
                assert time.monotonic() < end
                time.sleep(0.02)
            run.kill()
        before = [json.dumps(call.messages) for call in stuck.calls if call.status == 200]
    use_server(served, monkeypatch)
    assert cli("resume", "t").code == 0
    after = [json.dumps(call.messages) for call in served.calls[since:]]
    assert before
    assert not set(before) & set(after)


def _answered(server: ModelServer, call: ServedCall) -> Answer:
    return server._answer(call)


def test_progress_on_a_terminal():
    out = Terminal()
    progress = LineProgress(out)
    for i in range(1000):
        progress("triples", i, None)
    progress("text", 5, 5)
    progress.close()
    assert out.getvalue().count("\r") <= 5
    assert out.getvalue().endswith("\r")


def test_sigterm_before_the_work_begins_is_one_line(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the question is read, there is nothing of a run to go on with."""

    def stopped(_text: str) -> str:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)
        return ""

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("thinkgraph.cli.ask.read_question", stopped)
    try:
        heed_sigterm()
        done = cli("ask", "-")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (done.code, done.line) == (143, "thinkgraph: error: interrupted")


@pytest.mark.parametrize("loaded", [True, False])
def test_what_pytorch_brought_along_is_collected_at_the_end(monkeypatch: pytest.MonkeyPatch, *, loaded: bool) -> None:
    frozen: list[bool] = []
    monkeypatch.setattr("thinkgraph.cli.main.main", lambda: 0)
    monkeypatch.setattr("thinkgraph.cli.main.heed_sigterm", lambda: None)
    monkeypatch.setattr("gc.freeze", lambda: frozen.append(True))
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    if loaded:
        monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    with pytest.raises(SystemExit):
        entry()
    # Its libraries call whatever is left then a leak.
    assert bool(frozen) is not loaded
