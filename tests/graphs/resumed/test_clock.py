"""The time of day is set while a run goes on: its ceilings, its answer and its bill do not mind."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import CASES
from langgraph.checkpoint.memory import InMemorySaver

import thinkgraph as tg

HOURS = 5 * 3600.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the time of day, which goes on from there."""
    at, ns = time.time, time.time_ns
    ahead = 0.0

    def jump(seconds: float) -> None:
        nonlocal ahead
        ahead += seconds

    monkeypatch.setattr(time, "time", lambda: at() + ahead)
    monkeypatch.setattr(time, "time_ns", lambda: ns() + int(ahead * 1e9))
    return jump


@pytest.mark.parametrize("jumps", [[HOURS], [-HOURS], [HOURS, -2 * HOURS, HOURS]], ids=["ahead", "back", "to and fro"])
@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("name", ["tog2", "fasttog", "fiske", "coggrag"])
async def test_a_run_takes_the_time_that_it_takes(
    name: str, clock: Callable[[float], None], jumps: list[float], *, asynchronous: bool
) -> None:
    case = CASES[name]
    turns = 0

    def jumping(reply: Any) -> Any:
        def answer(prompt: Any) -> Any:
            nonlocal turns
            clock(jumps[turns % len(jumps)])
            turns += 1
            return reply(prompt) if callable(reply) else reply

        return answer

    plain = tg.build(case.method, knowledge=case.knowledge(), model=FakeModel(case.replies), settings=case.settings)
    expected = plain.invoke({"question": case.question})["answer"]
    graph = tg.build(
        case.method,
        knowledge=case.knowledge(),
        model=FakeModel({role: jumping(reply) for role, reply in case.replies.items()}),
        settings={**case.settings, "max_seconds": 600},
        checkpointer=InMemorySaver(),
        journal=tg.MemoryJournal(),
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    start = {"question": case.question}
    found = (await graph.ainvoke(start, config) if asynchronous else graph.invoke(start, config))["answer"]
    assert turns == case.calls
    assert (found["answers"], found["status"]) == (expected["answers"], expected["status"])
    assert 0 < found["usage"]["seconds"] < 60
