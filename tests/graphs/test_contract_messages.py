"""Messages, follow-up questions and what is no question: run over all methods."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import Case
from graphs.contract import Failing, comparable, make, thread
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

import thinkgraph as tg
from thinkgraph.errors import ModelError, UsageError

pytestmark = pytest.mark.usefixtures("no_blocked_types")


def test_messages_ask_as_a_question_does(case: Case) -> None:
    graph, _ = make(case, checkpointer=InMemorySaver())
    plain = graph.invoke({"question": case.question}, thread("plain"))
    told = graph.invoke({"messages": [("user", case.question)]}, thread())
    assert comparable(told["answer"]) == comparable(plain["answer"])
    assert plain["messages"] == []
    assert [(one.type, one.text) for one in told["messages"]] == [
        ("human", case.question),
        ("ai", told["answer"]["text"]),
    ]
    about, message = told["messages"][1].response_metadata, told["messages"][1].content
    assert about["status"] == case.status
    evidence, holding = (
        told["answer"]["evidence"],
        {one["answer"] for one in told["answer"]["support"] if one["within"]},
    )
    assert len(about["citations"]) == len(evidence["paths"]) + len(evidence["passages"])
    named = {message[one["start_index"] : one["end_index"]] for one in about["citations"] if "start_index" in one}
    assert named <= holding
    assert bool(named) == bool(holding)
    # The rest of the state stays plain JSON.
    values = {name: value for name, value in graph.get_state(thread()).values.items() if name != "messages"}
    assert json.loads(json.dumps(values)) == values


def test_a_conversation_goes_on_and_a_plain_question_stays_beside_it(case: Case) -> None:
    graph, model = make(case, checkpointer=InMemorySaver())
    first = graph.invoke({"messages": [("user", case.question)]}, thread())

    async def later() -> Any:
        return await graph.ainvoke({"messages": [("user", case.other_question)]}, thread())

    second = asyncio.run(later())
    assert second["answer"]["question"] == case.other_question
    assert second["answer"]["status"] == "unknown"
    assert second["messages"][:2] == first["messages"]
    assert [one.type for one in second["messages"]] == ["human", "ai"] * 2
    asked = len(model.asked)
    third = graph.invoke({"question": case.question}, thread())
    assert third["answer"]["answers"] == case.answers
    assert third["messages"] == second["messages"]
    assert len(model.asked) == asked + case.calls


def test_a_message_left_without_an_answer_does_not_hide_the_next_question(case: Case) -> None:
    model = Failing(case.replies)
    graph, _ = make(case, model, checkpointer=InMemorySaver(), settings={**case.settings, "call_retries": 0})
    with pytest.raises(ModelError):
        graph.invoke({"messages": [("user", case.other_question)]}, thread())
    model.after = -1
    assert graph.invoke({"question": case.question}, thread())["answer"]["answers"] == case.answers


def rephrasing(case: Case) -> dict[str, Any]:
    return {**case.replies, "history.rephrase": case.question}


@pytest.mark.parametrize("how", ["messages", "question"])
def test_history_puts_a_follow_up_question_in_full(case: Case, how: str) -> None:
    def turn(text: str) -> Any:
        return {"question": text} if how == "question" else {"messages": [("user", text)]}

    settings = {**case.settings, "history": True}
    graph, model = make(case, FakeModel(rephrasing(case)), checkpointer=InMemorySaver(), settings=settings)
    graph.invoke(turn(case.other_question), thread())
    assert "history.rephrase" not in model.roles
    before = len(model.asked)
    told = graph.invoke(turn("And there?"), thread())
    answer = told["answer"]
    assert (answer["question"], answer["answers"]) == (case.question, case.answers)
    assert answer["usage"]["roles"]["history.rephrase"]["calls"] == 1
    assert answer["usage"]["total"]["calls"] == len(model.asked) - before == case.calls + 1
    shown = next(one for one in model.asked if one.role == "history.rephrase").text("conversation").splitlines()
    assert shown[0] == f"person: {case.other_question}"
    assert shown[1].startswith("assistant: I don't know")
    assert [one.text for one in told["messages"]][2:] == ["And there?", answer["text"]]
    without, other = make(case, FakeModel(rephrasing(case)), checkpointer=InMemorySaver())
    without.invoke(turn(case.other_question), thread())
    assert without.invoke(turn("And there?"), thread())["answer"]["question"] == "And there?"
    assert "history.rephrase" not in other.roles


def test_rephrasing_is_journalled_and_kept_under_the_ceilings(case: Case) -> None:
    earlier = [("user", "Hello"), ("assistant", "Hello."), ("user", "And there?")]
    settings = {**case.settings, "history": True, "call_retries": 0}
    model = Failing(rephrasing(case))
    model.after = case.calls
    graph, _ = make(case, model, checkpointer=InMemorySaver(), journal=tg.MemoryJournal(), settings=settings)
    with pytest.raises(ModelError):
        graph.invoke({"messages": earlier}, thread())
    model.after = -1
    answer = graph.invoke(None, thread())["answer"]
    assert answer["answers"] == case.answers
    assert len(model.asked) == case.calls + 1
    assert answer["usage"]["total"]["calls"] == case.calls + 1 + model.failed
    tight, few = make(case, FakeModel(rephrasing(case)), settings={**settings, "max_calls": 1})
    assert tight.invoke({"messages": earlier})["answer"]["question"] == "And there?"
    assert "history.rephrase" not in few.roles
    assert len(few.asked) <= 1


def test_messages_without_a_question_are_refused_in_one_line(case: Case) -> None:
    graph, model = make(case)
    for messages in ([("user", " ")], [("assistant", "Hello.")], []):
        with pytest.raises(UsageError, match="the question is empty"):
            graph.invoke({"messages": messages})
    assert model.asked == []


def test_a_question_that_is_no_text_is_refused_as_that(case: Case) -> None:
    graph, model = make(case)
    for question in (5, ["Who?"], b"Who?"):
        with pytest.raises(UsageError, match=r"^the question is a text, not "):
            graph.invoke({"question": question})
    assert model.asked == []


@pytest.mark.parametrize("kept", [False, True])
def test_what_is_no_input_is_refused_in_one_line(case: Case, *, kept: bool) -> None:
    graph, model = make(case, checkpointer=InMemorySaver() if kept else None)
    for wrong in ("Who?", [], [("user", "Who?")], 5, b"Who?"):
        with pytest.raises(UsageError, match=r"^a graph is asked with .* not with .*$"):
            graph.invoke(wrong, thread())
        with pytest.raises(UsageError, match=r"^a graph is asked with .* not with .*$"):
            asyncio.run(graph.ainvoke(wrong, thread()))
    for empty in (Command(), Command(resume=None), Command(update={})):
        with pytest.raises(UsageError, match=r"^an empty Command does nothing: .*$"):
            graph.invoke(empty, thread())
        with pytest.raises(UsageError, match=r"^an empty Command does nothing: .*$"):
            asyncio.run(graph.ainvoke(empty, thread()))
    with pytest.raises(UsageError, match=r"^there is no run to go on with on this thread: ask by 'question'"):
        graph.invoke(None, thread())
    with pytest.raises(UsageError, match=r"^there is no run to go on with on this thread: ask by 'question'"):
        asyncio.run(graph.ainvoke(None, thread()))
    assert model.asked == []


@pytest.mark.parametrize("how", ["messages", "question"])
def test_what_is_no_question_does_not_ask_the_last_one_again(case: Case, how: str) -> None:
    graph, model = make(case, checkpointer=InMemorySaver())
    start: Any = {"question": case.question} if how == "question" else {"messages": [("user", case.question)]}
    graph.invoke(start, thread())
    before = len(model.asked)
    for message in (("assistant", "Hello."), ("system", "Be brief.")):
        with pytest.raises(UsageError, match="the question is empty"):
            graph.invoke({"messages": [message]}, thread())
    for wrong in ({"q": case.other_question}, {}, {"messages": []}):
        with pytest.raises(UsageError, match=r"^the question is empty: ask by 'question' or 'messages'"):
            graph.invoke(wrong, thread())
        with pytest.raises(UsageError, match=r"^the question is empty"):
            asyncio.run(graph.ainvoke(wrong, thread()))
    assert len(model.asked) == before
    assert graph.invoke({"question": case.other_question}, thread())["answer"]["question"] == case.other_question
    assert graph.invoke({"messages": [("user", case.question)]}, thread())["answer"]["answers"] == case.answers
