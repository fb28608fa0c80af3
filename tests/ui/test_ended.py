"""What the page's server keeps and tells of runs that have ended or were stopped."""

from __future__ import annotations

import time

import pytest
from starlette.testclient import TestClient
from ui.conftest import QUESTION, ended, served

from thinkgraph.cli.runs import RunStore
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.ui import runs
from thinkgraph.ui.runs import Desk


def test_the_events_of_runs_long_ended_are_in_the_store_alone(
    world: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "MOST_ENDED", 1)
    desk = Desk(served(world))
    threads = []
    for _ in range(4):
        threads.append(desk.ask({"question": QUESTION}))
        until = time.monotonic() + 60
        while desk.run(threads[-1])["working"]:
            assert time.monotonic() < until
            time.sleep(0.02)
    assert [thread for thread in threads if desk.live(thread)] == threads[-2:]
    assert [desk.run(thread)["events"][-1]["type"] for thread in threads] == ["finished"] * 4
    desk.close()


def test_a_stopped_run_that_another_process_works_on_says_why_it_does_not_go_on(client: TestClient) -> None:
    thread = client.post("/api/runs", json={"question": QUESTION}).json()["thread"]
    client.post(f"/api/runs/{thread}/stop", json={})
    stopped = ended(client, thread)["events"]
    with RunStore() as runs, runs.lock(thread):
        client.post(f"/api/runs/{thread}/resume", json={})
        *before, last = ended(client, thread)["events"]
    assert before == stopped
    assert "being worked on by another process" in last["reason"]
