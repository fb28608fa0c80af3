"""A server that fails in the middle of a run: one line, never "not there", and the run goes on when it is back."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import MODEL, Done, use_server
from fakes import FakeModel
from graphs.cases import CASES
from model_server import ModelServer, ServedCall
from neo4j_server import Neo4jServer
from tools.neo4j.conftest import PASSWORD, Database, cli_run
from tools.neo4j.test_neo4j_runs import QUESTION, small

import thinkgraph as tg
from thinkgraph.models.offline import OfflineChatModel
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.neo4j import connection

# The driver leaves the socket of a query that was given up to the collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(autouse=True)
def _given_up() -> Iterator[None]:
    """Such sockets are collected here, and not in some later test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def patient(*words: str, until: Callable[[Done], bool] = lambda done: done.code != 3) -> Done:
    """The command, given again while the server is too slow: a second is short for the first query after a fault."""
    for _ in range(20):
        done = cli_run(*words)
        if until(done):
            break
    return done


Fault = Callable[[Database, Neo4jServer, pytest.MonkeyPatch], contextlib.AbstractContextManager[None]]


@contextlib.contextmanager
def killed(_database: Database, server: Neo4jServer, _patch: pytest.MonkeyPatch) -> Iterator[None]:
    server.kill()
    yield
    server.read_only = False
    server.start()


@contextlib.contextmanager
def paused(_database: Database, server: Neo4jServer, _patch: pytest.MonkeyPatch) -> Iterator[None]:
    """It takes connections, and says nothing."""
    assert server._process is not None
    os.kill(server._process.pid, signal.SIGSTOP)
    yield
    os.kill(server._process.pid, signal.SIGCONT)


@contextlib.contextmanager
def another(database: Database, server: Neo4jServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """It went, and what came back refuses every write, and is taken for one that is too old at first."""
    server.kill()
    monkeypatch.setattr(connection, "OLDEST", (99, 0))
    yield
    server.read_only = True
    server.start()
    refused = patient("resume", "t", until=lambda done: "is of release 5." in done.line)
    assert (refused.code, "is of release 5." in refused.line) == (3, True), refused.err
    monkeypatch.setattr(connection, "OLDEST", (5, 7))
    with pytest.raises(Exception, match=r"read-only|read only"):
        database.run("CREATE ()")
    case = CASES["tog2"]
    with Knowledge.open(database.spec.replace("bolt:", "neo4j:"), embedder=HashEmbedder()) as knowledge:
        graph = tg.build("tog2", knowledge=knowledge, model=FakeModel(case.replies), settings=case.settings)
        assert graph.invoke({"question": case.question})["answer"]["answers"] == case.answers


@pytest.fixture(scope="module", autouse=True)
def _written_again(neo4j_server: Database) -> Iterator[None]:
    """A server that refuses writes is left to the next fault that kills it, or to the end."""
    yield
    server = neo4j_server.server
    if server and server.read_only:
        server.kill()
        server.read_only = False
        server.start()


@pytest.fixture
def filled(neo4j_server: Database) -> Iterator[Database]:
    with neo4j_server.holding("small", small):
        yield neo4j_server


@contextlib.contextmanager
def halting(server: Neo4jServer, *, stopped: float, runs: float) -> Iterator[None]:
    """It stops for so many seconds, and runs for so many, in turn."""
    over = threading.Event()

    def beat() -> None:
        assert server._process is not None
        while not over.is_set():
            os.kill(server._process.pid, signal.SIGSTOP)
            over.wait(stopped)
            os.kill(server._process.pid, signal.SIGCONT)
            over.wait(runs)

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.slow
def test_a_server_that_stops_now_and_then_is_never_told_to_be_empty(
    filled: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = filled.server
    if server is None:
        pytest.skip("the server is somebody else's")
    monkeypatch.setattr(connection, "_GRACE", 1.0)
    capitals = {"Panama": "Panama City", "Colombia": "Bogota", "Costa Rica": "San Jose"}
    rows = [{"id": name, "question": f"What is the capital of {name}?"} for name in capitals]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    out = tmp_path / "out.jsonl"
    with ModelServer(chat_model=OfflineChatModel()) as models:
        use_server(models, monkeypatch)
        words = [
            "batch",
            str(tmp_path / "questions.jsonl"),
            "--out",
            str(out),
            "--kb",
            f"{filled.spec}?timeout=1&scan=1",
        ]
        words += ["--model", MODEL, "--set", "ranker=bm25", "--concurrency", "1"]
        with halting(server, stopped=2.5, runs=1.0):
            first = cli_run(*words)
        assert first.code in {0, 1, 3}, first.err
        # What is kept is an answer, or says that nobody could look.
        for line in out.read_text("utf-8").splitlines():
            record = json.loads(line)
            assert record["answer"]["answers"] == [capitals[record["id"]]] if "answer" in record else record["passing"]
        # A question that took too long is one that failed.
        again = patient(*words, until=lambda done: done.code not in {1, 3})
        assert again.code == 0, again.err
    records = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert {record["id"]: record["answer"]["answers"] for record in records if "answer" in record} == {
        name: [capital] for name, capital in capitals.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (paused, "said nothing for 5 seconds; try again when it answers"),
        (another, "cannot be reached"),
        (killed, "cannot be reached"),
    ],
)
def test_a_server_that_fails_in_the_middle_of_a_run(
    filled: Database, monkeypatch: pytest.MonkeyPatch, fault: Fault, said: str
) -> None:
    server = filled.server
    if server is None:
        pytest.skip("the server is somebody else's")
    monkeypatch.setattr(connection, "_GRACE", 1.0)
    # Addresses are kept without their password.
    monkeypatch.setenv("NEO4J_PASSWORD", PASSWORD)
    model = OfflineChatModel()
    words = ["--model", MODEL, "--set", "ranker=bm25", "--json", "--kb"]
    with contextlib.ExitStack() as broken:

        def answer(call: ServedCall) -> Any:
            if breaks and len(models.calls) == 1:
                broken.enter_context(fault(filled, server, monkeypatch))
            return str(model.invoke([(m["role"], m["content"]) for m in call.messages]).text)

        breaks = False
        with ModelServer(answer) as models:
            use_server(models, monkeypatch)
            whole = json.loads(cli_run("ask", QUESTION, *words, filled.spec).out)
            paid = len(models.calls)
            models.calls.clear()
            breaks = True
            done = cli_run("ask", QUESTION, *words, f"{filled.spec}?timeout=4", "--thread", "t")
            assert done.code == 3, done.out + done.err
            assert said in done.line
            assert "resume t" in done.line
            assert not done.out, "what could not be looked up is no answer"
            broken.close()
            again = patient("resume", "t", "--json")
            assert again.code == 0, again.err
            prompts = [json.dumps(call.messages) for call in models.calls]
            assert len(prompts) == len(set(prompts)) == paid, "no reply was asked for twice"
    found = json.loads(again.out)
    for key in ("answers", "status", "evidence"):
        assert found[key] == whole[key]
