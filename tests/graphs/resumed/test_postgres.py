"""PostgreSQL as checkpointer and journal: kill -9 at a random moment, then resume, as over SQLite.

The server is started by `postgres_server`, which says where the tests are skipped.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import forked
import pytest
from docs.page_blocks import block_of
from fakes import FakeModel
from graphs.cases import CASES
from graphs.resumed.worker import work
from model_server import ModelServer
from postgres_server import running

KILLS = int(os.environ.get("THINKGRAPH_KILLS", "3"))
LATENCY = 0.02
SETTLED = 0.2
"""Seconds until a request on its way through the server's threads, or a reply on its way into the database, has come."""


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The address of a fresh server's database."""
    with running() as address:
        yield address


def journalled(address: str, thread: str) -> int:
    """Replies that survived the kill."""
    import psycopg

    with psycopg.connect(address) as db:
        found = db.execute("SELECT count(*) FROM store WHERE prefix = %s", (f"thinkgraph.journal.{thread}",)).fetchone()
    return int(found[0]) if found else 0


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("name", ["tog2", "fasttog", "fiske", "coggrag"])
def test_only_calls_in_flight_are_repeated(name: str, *, asynchronous: bool, postgres: str, tmp_path: Path) -> None:
    rng = random.Random(f"{name}{asynchronous}")
    model = FakeModel(CASES[name].replies)
    context = forked.context()

    def run(thread: str, server: ModelServer, *, resume: bool) -> Any:
        (tmp_path / thread).mkdir(exist_ok=True)
        process = context.Process(
            target=work,
            args=(str(tmp_path / thread), server.base_url, name),
            kwargs={
                "resume": resume,
                "asynchronous": asynchronous,
                "durability": "sync",
                "postgres": postgres,
            },
        )
        process.start()
        return process

    def answer_of(thread: str) -> Any:
        return json.loads((tmp_path / thread / "answer.json").read_text("utf-8"))

    prefix = f"{name}-{'a' if asynchronous else 's'}"
    with ModelServer(chat_model=model, latency=LATENCY) as server:
        process = run(f"{prefix}-whole", server, resume=False)
        process.join(60)
        assert process.exitcode == 0
        length = (server.calls[-1].answered or 0) - server.calls[0].received
        calls, expected = len(server.calls), answer_of(f"{prefix}-whole")
    assert calls == expected["usage"]["total"]["calls"] == journalled(postgres, f"{prefix}-whole") > 1
    for number in range(KILLS):
        thread = f"{prefix}-{number}"
        with ModelServer(chat_model=model, latency=LATENCY) as server:
            process = run(thread, server, resume=False)
            deadline = time.monotonic() + 30
            while not server.calls and process.is_alive() and time.monotonic() < deadline:
                time.sleep(0.002)
            process.join(rng.uniform(0, length + LATENCY))
            process.kill()
            process.join()
            time.sleep(SETTLED)
            in_flight = len(server.calls) - journalled(postgres, thread)
            process = run(thread, server, resume=True)
            process.join(60)
            assert process.exitcode == 0
            total = len(server.calls)
        answer = answer_of(thread)
        assert total - calls == in_flight
        for key in ("answers", "status", "evidence", "rounds", "pruned"):
            assert answer[key] == expected[key]
        assert answer["usage"]["total"]["calls"] == calls
        assert journalled(postgres, thread) == calls


def test_what_docs_howto_server_md_does_is_kept(postgres: str) -> None:
    code = block_of("docs/howto/server.md", "from langgraph.checkpoint.postgres")
    names: dict[str, Any] = {}
    exec(code.replace("postgresql://user@host/database", postgres), names)  # noqa: S102 - our own page
    answer = names["state"]["answer"]
    assert answer["answers"] == ["Paramaribo"]
    assert journalled(postgres, "t") == answer["usage"]["total"]["calls"]
