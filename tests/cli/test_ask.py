from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from cli.conftest import ANSWER, MODEL, QUESTION, Done, Run, use_server
from model_server import ModelServer
from replies import Answer, Drop, Fault, Garbage, Hang

from thinkgraph.cli.runs import RunStore


def test_answer_on_stdout_and_progress_on_stderr(ask: Run) -> None:
    done = ask()
    assert done.code == 0
    assert done.out.splitlines()[0] == ANSWER
    assert "(Panama) -[capital]-> (Panama City)" in done.out
    assert "round 1" in done.err
    assert f"model {MODEL}" in done.err
    assert "round 1" not in done.out
    assert "best guess" not in done.out, "only the stand-in guesses"


def test_json_is_one_object_and_nothing_else(ask: Run) -> None:
    done = ask(QUESTION, "--json")
    assert done.out.count("\n") == 1
    assert json.loads(done.out)["answers"] == [ANSWER]
    assert "round 1" in done.err


def test_quiet_says_nothing(ask: Run) -> None:
    assert ask(QUESTION, "--quiet").err == ""


def test_question_from_standard_input(ask: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(QUESTION.encode() + b"\n")))
    done = ask("-", "--json")
    assert json.loads(done.out)["question"] == QUESTION


def test_finished_thread_is_reused(ask: Run) -> None:
    first = json.loads(ask(QUESTION, "--thread", "t", "--json").out)
    second = json.loads(ask("What is the capital of Colombia?", "--thread", "t", "--json").out)
    assert first["answers"] == [ANSWER]
    assert second["answers"] == ["Bogota"]
    assert {t["subject"] for t in second["evidence"]["triples"]} == {"Colombia"}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--set", "foo=1"), 2, "there is no setting 'foo'; known: abstain, "),
        (("--set", "depht=2"), 2, "there is no setting 'depht'; did you mean 'depth'?"),
        (("--set", "width=0"), 2, "setting 'width': Input should be greater than or equal to 1"),
        (("--set", "width=three"), 2, "setting 'width': Input should be a valid integer"),
        (("--set", "width"), 2, "--set takes name=value"),
        (("--set", "=3"), 2, "--set takes name=value"),
        (("--method", "nope"), 2, "there is no method 'nope'; known: "),
        (("--model", "nope"), 2, "must be named provider:name"),
        (("--model", "openai:"), 2, "must be named provider:name"),
        (("--prompts", "/nowhere"), 2, "prompt folder /nowhere"),
        (("--prices", "/nowhere"), 2, "price table /nowhere"),
        (("--kb", "/nowhere"), 3, "there is no knowledge base /nowhere"),
        (("--kb", ""), 3, "name is empty"),
        (("--kb", "ftp://x"), 3, "ftp:// is no kind of knowledge base"),
        (("--thread", ""), 5, "cannot be a thread id"),
        (("--thread", "../x"), 5, "cannot be a thread id"),
        (("--thread", "a b"), 5, "cannot be a thread id"),
        (("--thread", "a\x1b[31m"), 5, "cannot be a thread id"),
        (("--thread", "a\nb"), 5, "cannot be a thread id"),
        (("--thread", ".hidden"), 5, "cannot be a thread id"),
        (("--thread", "é" * 150), 5, "cannot be a thread id"),
    ],
)
def test_wrong_flags_cost_nothing(
    ask: Run, served: ModelServer, home: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    before = len(served.calls)
    done = ask(QUESTION, *arguments)
    assert done.code == code
    assert words in done.line
    assert "\x1b" not in done.err
    assert done.out == ""
    assert len(served.calls) == before
    with RunStore(home) as runs:
        assert runs.rows() == []


@pytest.mark.parametrize("question", ["", "   ", "\n", "\0"])
def test_empty_question(ask: Run, question: str) -> None:
    done = ask(question)
    assert done.code == 2
    assert "the question is empty" in done.line


def test_question_of_100_kilobytes(ask: Run) -> None:
    done = ask("capital of Panama " * 6000)
    assert done.code == 2
    assert "more than the 8,000 allowed (max_question)" in done.line
    done = ask("What is the capital of Panama? " * 3000, "--set", "max_question=100000", "--json")
    assert done.code == 0
    assert len(done.out) > 90_000


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(401, "Incorrect API key provided", "invalid_api_key"), "401 - Incorrect API key provided"),
        (Fault(404, "The model `test` does not exist", "model_not_found"), "404 - The model `test` does not exist"),
        (Fault(429, "Rate limit reached"), "failed after 2 attempts: Error code: 429"),
        (Fault(500, "boom \x1b[31m\n"), "failed after 2 attempts: Error code: 500"),
        (Drop(), "failed after 2 attempts"),
        (Drop("head"), "failed after 2 attempts"),
        (Garbage(), "model openai:test failed"),
        # Ours, or the client's own, whichever is first.
        (Hang(), "TimeoutError: "),
    ],
)
def test_failing_model_is_one_line_and_the_run_goes_on_later(
    ask: Run, cli: Run, served: ModelServer, monkeypatch: pytest.MonkeyPatch, fault: Answer, words: str
) -> None:
    with ModelServer([fault]) as broken:
        use_server(broken, monkeypatch)
        timeout = 0.5 if isinstance(fault, Hang) else 30
        done = ask(QUESTION, "--thread", "t", "--set", "call_retries=1", "--set", f"call_timeout={timeout}")
    assert done.code == 4
    assert words in done.line
    assert ("; again in 0.5 s" in done.err) == ("after 2 attempts" in done.line)
    assert done.line.endswith("; the run is kept: thinkgraph resume t")
    assert "\x1b" not in done.err
    assert done.out == ""
    use_server(served, monkeypatch)
    assert _unfinished(ask("Other?", "--thread", "t"))
    again = cli("resume", "t")
    assert again.code == 0
    assert again.out.splitlines()[0] == ANSWER


def _unfinished(done: Done) -> bool:
    return done.code == 5 and "is not finished ('What is the capital of Panama?')" in done.line


def test_no_server_there(ask: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:secret@127.0.0.1:9/v1")
    done = ask(QUESTION, "--set", "call_retries=0")
    assert done.code == 4
    assert "Connection refused) [http://127.0.0.1:9/v1/chat/completions]" in done.line
    assert "secret" not in done.err


def test_replace_gives_an_unfinished_run_up(ask: Run, served: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([Fault(401, "no")]) as broken:
        use_server(broken, monkeypatch)
        assert ask(QUESTION, "--thread", "t").code == 4
    use_server(served, monkeypatch)
    done = ask("What is the capital of Colombia?", "--thread", "t", "--replace", "--json")
    assert json.loads(done.out)["answers"] == ["Bogota"]


@pytest.mark.parametrize("model", ["cohere:command", "nobody:x", "openai:x"])
def test_model_that_cannot_be_set_up(
    cli: Run, kb: str, monkeypatch: pytest.MonkeyPatch, home: Path, model: str
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setitem(sys.modules, "langchain_cohere", None)
    done = cli("ask", QUESTION, "--kb", kb, "--model", model)
    assert done.code == 4
    assert "needs" in done.line or "cannot be set up" in done.line
    with RunStore(home) as runs:
        assert [row["status"] for row in runs.rows()] == ["unfinished"]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("OPENAI_API_KEY", "sk-é", "OPENAI_API_KEY holds"),
        ("OPENAI_API_KEY", "sk-a\nb", "OPENAI_API_KEY holds"),
        ("OPENAI_BASE_URL", "localhost:8000", "OPENAI_BASE_URL must be an address"),
        ("OPENAI_BASE_URL", "http://", "OPENAI_BASE_URL must be an address"),
        ("HTTPS_PROXY", "gopher://x", "cannot be set up: Unknown scheme for proxy"),
        ("SSL_CERT_FILE", "/nowhere", "cannot be set up"),
    ],
)
def test_an_environment_that_no_client_takes(
    ask: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    monkeypatch.setenv(name, value)
    done = ask()
    assert done.code == 4
    assert words in done.line
    assert value not in done.err or name != "OPENAI_API_KEY"


def test_model_of_the_environment(ask: Run, cli: Run, kb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask().code == 0
    monkeypatch.setenv("THINKGRAPH_MODEL", MODEL)
    done = cli("ask", QUESTION, "--kb", kb, "--set", "ranker=bm25", "--json")
    assert json.loads(done.out)["model"] == MODEL


def test_a_key_alone_never_chooses_a_model(
    cli: Run, kb: str, monkeypatch: pytest.MonkeyPatch, served: ModelServer
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-paid")
    before = len(served.calls)
    done = cli("ask", QUESTION, "--kb", kb, "--set", "ranker=bm25", "--json")
    assert json.loads(done.out)["model"] == "offline"
    assert json.loads(done.out)["answers"] == [ANSWER]
    assert done.err.count("model offline: no key, no network") == 1
    assert json.loads(done.out)["reason"].endswith("; best guess (offline)")
    shown = cli("ask", QUESTION, "--kb", kb, "--set", "ranker=bm25").out
    assert "status    grounded: the evidence holds the answer; best guess (offline)\n" in shown
    assert len(served.calls) == before
