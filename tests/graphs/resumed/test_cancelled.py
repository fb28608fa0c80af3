"""A stream that its reader leaves at any event: the run goes on from there, and no reply that came is asked for twice."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import CASES
from langgraph.checkpoint.memory import InMemorySaver

import thinkgraph as tg


@pytest.mark.parametrize("method", sorted(CASES))
async def test_a_stream_left_at_any_event_can_be_resumed(method: str) -> None:
    case = CASES[method]
    model = FakeModel(case.replies)
    graph = tg.build(
        method,
        knowledge=case.knowledge(),
        model=model,
        settings=dict(case.settings),
        checkpointer=InMemorySaver(),
        journal=tg.MemoryJournal(),
    )
    whole = [
        event async for event in graph.astream({"question": case.question}, _thread("whole"), stream_mode="custom")
    ]
    for left_at in range(len(whole)):
        thread, asked = _thread(str(left_at)), len(model.asked)
        events: Any = graph.astream({"question": case.question}, thread, stream_mode="custom")
        for _ in range(left_at + 1):
            await anext(events)
        await events.aclose()
        answer = (await graph.aget_state(thread)).values.get("answer") or (await graph.ainvoke(None, thread))["answer"]
        assert answer["answers"] == case.answers, f"left at event {left_at}: {whole[left_at]['type']}"
        # A call in flight may have been answered a moment too late: it is sent anew, and the bill has both.
        assert len(model.asked) - asked == answer["usage"]["total"]["calls"]


def _thread(name: str) -> Any:
    return {"configurable": {"thread_id": name}}
