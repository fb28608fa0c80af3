"""A thread's state, edited by hand into what nothing can work on: one line that names the channel, and nothing lost."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import CASES
from langgraph.checkpoint.memory import InMemorySaver

import thinkgraph as tg
from thinkgraph.errors import RunError, UsageError
from thinkgraph.graphs.build import Graph

THREAD: Any = {"configurable": {"thread_id": "1"}}
CASE = CASES["tog2"]


@pytest.fixture
def paused() -> Graph:
    graph = tg.build(
        "tog2",
        model=FakeModel(CASE.replies),
        knowledge=CASE.knowledge(),
        settings=dict(CASE.settings),
        checkpointer=InMemorySaver(),
        journal=tg.MemoryJournal(),
    )
    graph.invoke({"question": CASE.question}, THREAD, interrupt_before=["reason"])
    return graph


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ({"topics": [{"foo": 1}]}, "'topics.0.id': Field required (it is {'foo': 1})"),
        ({"topics": "Panama"}, "'topics': Input should be a valid list (it is 'Panama')"),
        ({"round": "x"}, "'round': Input should be a valid integer"),
        ({"question": 7}, "'question': Input should be a valid string (it is 7)"),
        ({"evidence": {"a": {"id": 1}}}, "'evidence.a.id': Input should be a valid string (it is 1)"),
    ],
)
def test_a_channel_of_another_form_is_named(paused: Graph, edit: dict[str, Any], said: str) -> None:
    before = paused.get_state(THREAD)
    paused.update_state(THREAD, edit)
    with pytest.raises(RunError) as raised:
        paused.invoke(None, THREAD)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
    # The checkpoint before the edit is still there.
    assert paused.invoke(None, before.config)["answer"]["answers"] == CASE.answers


async def test_the_same_on_an_event_loop(paused: Graph) -> None:
    paused.update_state(THREAD, {"topics": [{"foo": 1}]})
    with pytest.raises(RunError, match=r"'topics\.0\.id': Field required"):
        await paused.ainvoke(None, THREAD)


@pytest.mark.parametrize("channel", ["evidence", "calls", "kept"])
def test_records_are_refused_at_once(paused: Graph, channel: str) -> None:
    with pytest.raises(UsageError, match="this channel holds a mapping by id, not 5"):
        paused.update_state(THREAD, {channel: 5})
    assert paused.invoke(None, THREAD)["answer"]["answers"] == CASE.answers


def test_a_fault_of_ours_keeps_its_own_words(paused: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise KeyError("a bug")

    monkeypatch.setattr("thinkgraph.nodes.tog2.reason.decide", broken)
    with pytest.raises(KeyError, match="a bug"):
        paused.invoke(None, THREAD)
