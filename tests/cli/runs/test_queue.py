"""One batch on several machines: the questions are shared in PostgreSQL, none is asked twice, none is lost with a machine."""

from __future__ import annotations

import json
import os
import random
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import MODEL, PROGRAM, QUESTION, Run, environment, use_server
from docs.page_blocks import block_of
from model_server import ModelServer, asked_in_order, asked_twice
from postgres_server import running

from thinkgraph.models.offline import OfflineChatModel

KILLS = int(os.environ.get("THINKGRAPH_KILLS", "2"))
LATENCY = 0.1
SIDE_BY_SIDE = 3
COUNT = 16


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The address of a fresh server's database."""
    with running() as address:
        yield address


class Machines:
    """Processes that are given the same command, each in a folder of its own."""

    def __init__(self, folder: Path, kb: str, queue: str) -> None:
        self._folder, self._kb, self._queue = folder, kb, queue
        rows = [{"id": str(number), "question": QUESTION + "?" * number} for number in range(COUNT)]
        (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")

    def out(self, name: str) -> Path:
        return self._folder / name / f"{self._folder.name}.jsonl"

    def words(self, name: str) -> list[str]:
        self.out(name).parent.mkdir(exist_ok=True)
        words = ["batch", str(self._folder / "questions.jsonl"), "--out", str(self.out(name)), "--kb", self._kb]
        words += ["--model", MODEL, "--set", "ranker=bm25", "--queue", self._queue, "--concurrency", str(SIDE_BY_SIDE)]
        return words

    def start(self, name: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([*PROGRAM, *self.words(name)], env=environment(), stderr=subprocess.PIPE)

    def records(self, name: str) -> list[dict[str, Any]]:
        lines = self.out(name).read_bytes().splitlines(keepends=True) if self.out(name).exists() else []
        return [json.loads(line) for line in lines if line.endswith(b"\n")]


def ended(processes: Sequence[subprocess.Popen[bytes]]) -> list[str]:
    """What they said, when they have ended well."""
    said = [process.communicate(timeout=120)[1].decode() for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), said
    return said


def answers(records: Sequence[dict[str, Any]]) -> list[tuple[int, list[str]]]:
    return sorted((int(record["id"]), record["answer"]["answers"]) for record in records)


def test_two_share_the_questions(
    cli: Run, tmp_path: Path, kb: str, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(chat_model=OfflineChatModel(), latency=LATENCY) as server:
        use_server(server, monkeypatch)
        machines = Machines(tmp_path, kb, postgres)
        said = ended([machines.start("a"), machines.start("b")])
        calls = len(server.calls)
        assert not asked_twice(server.calls)
        elsewhere = [int(line.partition(" of them elsewhere")[0].split()[-1]) for line in said]
        assert sum(elsewhere) == COUNT, "every question was asked by one of them and taken over by the other"
        assert all(f"{COUNT} answered, 0 failed" in line for line in said)
        # One that joins later has all the answers, and asks nothing.
        assert cli(*machines.words("c")).code == 0
        assert len(server.calls) == calls
    everything = [(number, ["Panama City"]) for number in range(COUNT)]
    assert [answers(machines.records(name)) for name in "abc"] == [everything] * 3
    assert not list(tmp_path.rglob("*.replies.sqlite"))


def test_a_machine_that_dies_takes_no_question_along(
    cli: Run, tmp_path: Path, kb: str, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(19)
    for number in range(KILLS):
        folder = tmp_path / f"round-{number}"
        folder.mkdir()
        with ModelServer(chat_model=OfflineChatModel(), latency=LATENCY) as server:
            use_server(server, monkeypatch)
            machines = Machines(folder, kb, postgres)
            one, other = machines.start("a"), machines.start("b")
            end = time.monotonic() + 60
            done = rng.randint(1, COUNT // 4)
            while len(machines.records("a")) < done and one.poll() is None and time.monotonic() < end:
                time.sleep(0.01)
            time.sleep(rng.uniform(0, LATENCY))
            one.kill()
            one.communicate()
            kept = machines.records("a")
            ended([other])
            # What was in flight at the kill is asked again, and nothing else.
            assert len(asked_twice(server.calls)) <= SIDE_BY_SIDE
            asked = asked_in_order(server.calls, QUESTION)
            assert len(asked) == COUNT
            assert all(len(prompts) == len(set(prompts)) for prompts in asked)
            calls = len(server.calls)
            assert cli(*machines.words("a")).code == 0
            assert len(server.calls) == calls
        everything = [(name, ["Panama City"]) for name in range(COUNT)]
        assert 0 < len(kept) < COUNT
        assert answers(machines.records("a")) == answers(machines.records("b")) == everything


def test_a_database_that_goes_away_is_one_line_and_the_command_goes_on(
    cli: Run, tmp_path: Path, kb: str, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    with ModelServer(chat_model=OfflineChatModel(), latency=LATENCY) as server:
        use_server(server, monkeypatch)
        machines = Machines(tmp_path, kb, postgres)
        process = machines.start("a")
        end = time.monotonic() + 60
        while not machines.records("a") and process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        with psycopg.connect(postgres, autocommit=True) as db:
            db.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'postgres' AND pid <> pg_backend_pid()"
            )
        said = process.communicate(timeout=120)[1].decode()
        assert process.returncode == 3, said
        assert [line for line in said.splitlines() if "error: the queue at postgresql://owner@127.0.0.1" in line], said
        assert "Traceback" not in said
        assert cli(*machines.words("a")).code == 0
        assert len(asked_twice(server.calls)) <= SIDE_BY_SIDE
    assert answers(machines.records("a")) == [(number, ["Panama City"]) for number in range(COUNT)]


def test_a_queue_of_other_work_is_refused(
    cli: Run, tmp_path: Path, kb: str, postgres: str, served: ModelServer
) -> None:
    (tmp_path / "questions.jsonl").write_text(json.dumps({"id": "a", "question": QUESTION}) + "\n", "utf-8")

    def words(folder: str, *more: str) -> list[str]:
        (tmp_path / folder).mkdir(exist_ok=True)
        out = tmp_path / folder / "other-work.jsonl"
        given = ["batch", str(tmp_path / "questions.jsonl"), "--out", str(out), "--kb", kb, "--model", MODEL]
        return [*given, "--set", "ranker=bm25", "--queue", postgres, *more]

    assert cli(*words("a")).code == 0
    asked = len(served.calls)
    refused = cli(*words("b", "--set", "width=2"))
    assert refused.code == 2
    assert (
        "the queue other-work.jsonl holds other results (they differ in settings); give --out another name"
        in refused.line
    )
    assert "leave it, or --url and --workers, out" in cli(*words("c", "--workers", "2")).line
    gone = cli(*words("d", "--queue", "postgresql://owner:secret@127.0.0.1:9/postgres"))
    assert gone.code == 3
    assert "the queue at postgresql://owner@127.0.0.1:9/postgres failed: " in gone.line
    assert "secret" not in gone.err
    assert len(served.calls) == asked


def test_the_command_of_docs_running_md_shares_its_questions(
    cli: Run, tmp_path: Path, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = block_of("docs/running.md", "./tg batch questions.jsonl --out answers.jsonl --queue").partition(" #")[0]
    words = shlex.split(line.replace("postgresql://user@host/database", postgres))[1:]
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        Path("questions.jsonl").write_text(json.dumps({"id": "1", "question": QUESTION}) + "\n", "utf-8")
        assert cli(*words).code == 0
    first, second = (Path(tmp_path, name, "answers.jsonl").read_text("utf-8") for name in ("a", "b"))
    assert first == second
    assert json.loads(first)["answer"]["answers"] == ["Panama City"]


def test_without_the_driver_it_says_what_to_install(
    cli: Run, tmp_path: Path, kb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    (tmp_path / "questions.jsonl").write_text(json.dumps(QUESTION) + "\n", "utf-8")
    words = ["batch", str(tmp_path / "questions.jsonl"), "--out", str(tmp_path / "out.jsonl"), "--kb", kb]
    done = cli(*words, "--queue", "postgresql://h/d")
    assert done.code == 2
    assert "--queue needs PostgreSQL's driver: pip install 'thinkgraph[postgres]'" in done.line
