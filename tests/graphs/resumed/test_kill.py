"""kill -9 at a random moment, then resume: the same answer, and no committed reply is asked for again.

THINKGRAPH_KILLS sets the number of kills per method (60 and more for a thorough run).
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
import time
from pathlib import Path
from typing import Any

import forked
import pytest
from fakes import FakeModel
from graphs.cases import CASES
from graphs.resumed.worker import work
from model_server import ModelServer

KILLS = int(os.environ.get("THINKGRAPH_KILLS", "5"))
LATENCY = 0.02
SETTLED = 0.1
"""Seconds until a request that is on its way through the server's threads has come."""


def journalled(folder: Path) -> int:
    """Replies that survived the kill."""
    path = folder / "journal.sqlite"
    if not path.exists():
        return 0
    try:
        with sqlite3.connect(path) as db:
            return int(db.execute("SELECT count(*) FROM reply").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        db.close()


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("name", sorted(name for name, case in CASES.items() if case.calls > 1))
def test_only_calls_in_flight_are_repeated(name: str, *, asynchronous: bool, tmp_path: Path) -> None:
    rng = random.Random(f"{name}{asynchronous}")
    context = forked.context()
    model = FakeModel(CASES[name].replies)

    def run(folder: Path, server: ModelServer, *, resume: bool, durability: str) -> Any:
        process = context.Process(
            target=work,
            args=(str(folder), server.base_url, name),
            kwargs={"resume": resume, "asynchronous": asynchronous, "durability": durability},
        )
        process.start()
        return process

    with ModelServer(chat_model=model, latency=LATENCY) as server:
        whole = tmp_path / "whole"
        whole.mkdir()
        process = run(whole, server, resume=False, durability="sync")
        process.join(60)
        assert process.exitcode == 0
        length = (server.calls[-1].answered or 0) - server.calls[0].received
        expected = json.loads((whole / "answer.json").read_text())
        calls = len(server.calls)
    assert calls == expected["usage"]["total"]["calls"] > 1

    fell: list[int] = []
    repeated: list[int] = []
    for number in range(KILLS):
        folder = tmp_path / str(number)
        folder.mkdir()
        durability = rng.choice(["sync", "async"])
        with ModelServer(chat_model=model, latency=LATENCY) as server:
            process = run(folder, server, resume=False, durability=durability)
            # From just before the first call to just after the last; now and then earlier.
            deadline = time.monotonic() + 30
            while not server.calls and process.is_alive() and rng.random() > 0.0004 and time.monotonic() < deadline:
                time.sleep(0.002)
            process.join(rng.uniform(0, length + LATENCY))
            process.kill()
            process.join()
            time.sleep(SETTLED)
            received, kept = len(server.calls), journalled(folder)
            process = run(folder, server, resume=True, durability=durability)
            process.join(60)
            assert process.exitcode == 0
            answer = json.loads((folder / "answer.json").read_text())
            total = len(server.calls)
        in_flight = received - kept
        fell.append(received)
        repeated.append(total - calls)
        assert total - calls == in_flight, f"kill {number}: {received} received, {kept} kept, {total} in all"
        for key in ("answers", "status", "evidence", "rounds", "pruned"):
            assert answer[key] == expected[key]
        assert answer["usage"]["total"]["calls"] == calls
    print(f"{name}: {KILLS} kills after {sorted(fell)} calls; repeated {repeated}")  # noqa: T201 - the figure
