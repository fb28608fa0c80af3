"""A bench and a batch over several processes: the same results, killed and continued, one rate for all."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest
from cli.conftest import MODEL, PROGRAM, Run, environment, use_server
from model_server import ModelServer, ServedCall
from replies import Fault

from thinkgraph.errors import RunError
from thinkgraph.eval.workers import Work, workers
from thinkgraph.models.offline import OfflineChatModel

NAMES = {"Panama": "Panama City", "Colombia": "Bogota", "Costa Rica": "San Jose"}


@pytest.fixture
def data(tmp_path: Path) -> str:
    file = tmp_path / "data.jsonl"
    with file.open("w", encoding="utf-8") as out:
        for number in range(9):
            name, capital = list(NAMES.items())[number % 3]
            question = f"What is the capital of {name}, asked for the time number {number}?"
            row = {"id": f"q{number}", "question": question, "answers": [capital], "gold_path": [[name, "capital"]]}
            out.write(json.dumps(row) + "\n")
    return str(file)


def _bench(data: str, kb: str, *more: str) -> list[str]:
    return ["bench", "--data", data, "--kb", kb, "--set", "ranker=bm25", *more]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _same(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if "seconds" not in name} for row in rows]


def test_workers_change_no_figure(cli: Run, data: str, kb: str) -> None:
    words = _bench(data, kb, "--model", "perfect:0.3", "--concurrency", "4", "--json")
    alone = json.loads(cli(*words).out)["rows"]
    shared = json.loads(cli(*words, "--workers", "2").out)["rows"]
    assert _same(shared) == _same(alone)
    assert shared[-1]["n"] == 9


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split()]


def test_a_killed_bench_takes_its_workers_along_and_goes_on(
    cli: Run, tmp_path: Path, data: str, kb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"
    with ModelServer(chat_model=OfflineChatModel(), latency=0.3) as server:
        use_server(server, monkeypatch)
        words = _bench(data, kb, "--model", MODEL, "--workers", "2", "--concurrency", "2", "--out", str(out))
        process = subprocess.Popen([*PROGRAM, *words], env=environment(), stderr=subprocess.DEVNULL)
        end = time.monotonic() + 120
        while (not out.exists() or out.read_bytes().count(b"\n") < 3) and time.monotonic() < end:
            time.sleep(0.01)
        workers = _children(process.pid)
        assert len(workers) == 2
        process.send_signal(signal.SIGKILL)
        process.wait()
        while any(_alive(pid) for pid in workers) and time.monotonic() < end:
            time.sleep(0.01)
        assert not any(_alive(pid) for pid in workers)
        finished = {record["id"] for record in _lines(out)}
        assert 3 <= len(finished) < 9
        before = len(server.calls)
        server.latency = 0.0
        assert cli(*words).code == 0
        later = "\n".join(call.text for call in server.calls[before:])
        assert server.max_in_flight == 2
    assert all(f"number {name[1:]}?" not in later for name in finished)
    assert sorted(record["id"] for record in _lines(out)) == [f"q{number}" for number in range(9)]


def _alive(pid: int) -> bool:
    try:
        # A child that init has not collected yet is dead all the same.
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_ctrl_c_while_the_workers_import_is_one_line(tmp_path: Path, data: str, kb: str) -> None:
    out = tmp_path / "out.jsonl"
    words = [*PROGRAM, "batch", data, "--out", str(out), "--kb", kb, "--model", "offline", "--workers", "2"]
    process = subprocess.Popen(words, env=environment(), stderr=subprocess.PIPE, text=True, start_new_session=True)
    end = time.monotonic() + 120
    while not any(_imports(pid) for pid in _children(process.pid)) and time.monotonic() < end:
        time.sleep(0.01)
    # As a terminal does: to the whole group.
    os.killpg(process.pid, signal.SIGINT)
    # Ends when the workers have ended too, who write there as well.
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 130
    assert (
        said == f"thinkgraph: error: interrupted; what was answered is in {out}: the same command goes on from there\n"
    )


def _imports(pid: int) -> bool:
    """Whether a worker is in the midst of its imports. Until it is a program of its own it has its parent's libraries."""
    program, libraries = (Path(f"/proc/{pid}/{name}").read_text("utf-8") for name in ("cmdline", "maps"))
    return "thinkgraph.eval.workers" in program and "pydantic_core" in libraries


def test_errors_of_workers_stand_beside_the_answers(cli: Run, tmp_path: Path, data: str, kb: str) -> None:
    def answer(call: ServedCall) -> Any:
        return Fault(400, "no such thing") if "number 4?" in call.text else '{"numbers": [], "scores": []}'

    out = tmp_path / "out.jsonl"
    with ModelServer(answer) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.base_url)
        words = [
            "batch",
            data,
            "--out",
            str(out),
            "--kb",
            kb,
            "--model",
            MODEL,
            "--set",
            "ranker=bm25",
            "--workers",
            "2",
        ]
        done = cli(*words, "--rate", "1000")
        assert done.code == 1
        assert "8 answered, 1 failed" in done.err
        bad = next(record for record in _lines(out) if "error" in record)
        assert (bad["id"], bad["kind"], bad["passing"]) == ("q4", "ModelError", True)
        assert "no such thing" in bad["error"]


def test_what_a_worker_cannot_open_is_one_line(cli: Run, tmp_path: Path, data: str) -> None:
    words = ["batch", data, "--out", str(tmp_path / "out"), "--kb", str(tmp_path / "none"), "--workers", "2"]
    failed = cli(*words)
    assert failed.code == 3
    assert "none" in failed.line


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--workers", "0"], "--workers must be from 1"),
        (["--workers", "2", "--url", "http://x"], "leave it or --url out"),
    ],
)
def test_wrong_numbers_of_workers(cli: Run, tmp_path: Path, data: str, more: list[str], words: str) -> None:
    failed = cli("batch", data, "--out", str(tmp_path / "out"), *more)
    assert failed.code == 2
    assert words in failed.line


def test_a_worker_that_dies_ends_the_bench_in_one_line(tmp_path: Path, data: str, kb: str) -> None:
    out = tmp_path / "out.jsonl"
    with ModelServer(chat_model=OfflineChatModel(), latency=0.5) as server:
        env = environment({"OPENAI_BASE_URL": server.base_url})
        words = [
            *PROGRAM,
            *_bench(data, kb, "--model", MODEL, "--workers", "2", "--concurrency", "2", "--out", str(out)),
        ]
        process = subprocess.Popen(words, env=env, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 120
        while len(server.calls) < 2 and time.monotonic() < end:
            time.sleep(0.01)
        os.kill(_children(process.pid)[0], signal.SIGKILL)
        server.latency = 0.0
        said = process.communicate(timeout=120)[1]
    assert process.returncode == 5
    assert "error: a worker process ended" in said
    assert "Traceback" not in said


def test_what_killed_workers_had_is_asked_again(
    cli: Run, tmp_path: Path, kb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = tmp_path / "many.jsonl", tmp_path / "out.jsonl"
    questions = [{"id": f"q{n}", "question": f"What is the capital of Panama, number {n}?"} for n in range(30)]
    file.write_text("".join(json.dumps(question) + "\n" for question in questions), "utf-8")
    with ModelServer(chat_model=OfflineChatModel(), latency=0.3) as server:
        use_server(server, monkeypatch)
        words = ["batch", str(file), "--out", str(out), "--kb", kb, "--model", MODEL, "--method", "direct"]
        words += ["--workers", "2", "--concurrency", "2"]
        process = subprocess.Popen([*PROGRAM, *words], env=environment(), stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 120
        while (not out.exists() or out.read_bytes().count(b"\n") < 2) and time.monotonic() < end:
            time.sleep(0.01)
        for child in _children(process.pid):
            os.kill(child, signal.SIGKILL)
        said = process.communicate(timeout=120)[1]
        assert process.returncode == 5
        assert "questions in a row failed; the last: all worker processes have ended" in said
        assert "Traceback" not in said
        server.latency = 0.0
        done = cli(*words)
    assert done.code == 0
    assert ", 0 failed" in done.err
    assert sorted(line["id"] for line in _lines(out) if "answer" in line) == sorted(q["id"] for q in questions)


@pytest.mark.parametrize(("given", "expected"), [(None, str(max(1, (os.cpu_count() or 1) // 2))), ("3", "3")])
async def test_workers_share_the_cores(given: str | None, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each took all of them for its encoder, and they waited for each other: two on two cores took 1.5 times as long."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if given is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", given)
    started: list[str] = []

    async def start(*_: Any, env: Mapping[str, str], **__: Any) -> NoReturn:
        started.append(env["OMP_NUM_THREADS"])
        raise RunError("no process")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    with pytest.raises(RunError, match="no process"):
        async with workers(Work(kb="world", methods={}, model="offline"), 2):
            pass
    assert started == [expected]
