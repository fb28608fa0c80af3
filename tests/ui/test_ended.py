"""What the page's server keeps in memory of runs that have ended."""

from __future__ import annotations

import time

import pytest
from ui.conftest import QUESTION, served

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
