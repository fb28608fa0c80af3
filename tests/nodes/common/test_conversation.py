"""Which message of a conversation is asked: one that was edited, and one that nothing answers, are asked again."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import CASES
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

import thinkgraph as tg
from thinkgraph.graphs.build import Graph

CASE = CASES["kg_rag"]
THREAD: Any = {"configurable": {"thread_id": "1"}}


@pytest.fixture
def graph() -> Graph:
    model = FakeModel(CASE.replies)
    return tg.build("kg_rag", knowledge=CASE.knowledge(), model=model, checkpointer=InMemorySaver())


def message(text: str) -> Any:
    return {"messages": [HumanMessage(text, id="m1")]}


def kinds(graph: Graph) -> list[tuple[str, str]]:
    return [(one.type, str(one.text)) for one in graph.get_state(THREAD).values["messages"]]


def test_an_edited_message_is_asked_and_not_what_it_said_before(graph: Graph) -> None:
    first = graph.invoke(message(CASE.question), THREAD)["answer"]
    second = graph.invoke(message(CASE.other_question), THREAD)["answer"]
    assert second["question"] == CASE.other_question
    assert kinds(graph) == [("human", CASE.other_question), ("ai", first["text"]), ("ai", second["text"])]


def test_a_message_that_is_sent_again_after_an_unfinished_run_gets_its_answer(graph: Graph) -> None:
    graph.invoke(message(CASE.question), THREAD, interrupt_before=["reason"])
    answer = graph.invoke(message(CASE.question), THREAD)["answer"]
    assert answer["answers"] == CASE.answers
    assert kinds(graph) == [("human", CASE.question), ("ai", answer["text"])]


def test_one_that_was_edited_after_an_unfinished_run_too(graph: Graph) -> None:
    graph.invoke(message(CASE.other_question), THREAD, interrupt_before=["reason"])
    answer = graph.invoke(message(CASE.question), THREAD)["answer"]
    assert (answer["question"], answer["answers"]) == (CASE.question, CASE.answers)
    assert kinds(graph) == [("human", CASE.question), ("ai", answer["text"])]


def test_a_plain_question_after_an_unanswered_message_is_asked(graph: Graph) -> None:
    graph.invoke(message(CASE.other_question), THREAD, interrupt_before=["reason"])
    assert graph.invoke({"question": CASE.question}, THREAD)["answer"]["question"] == CASE.question


def test_a_plain_question_of_a_conversation_is_not_taken_for_an_edit() -> None:
    graph = tg.build(
        "kg_rag",
        knowledge=CASE.knowledge(),
        model=FakeModel({**CASE.replies, "history.rephrase": CASE.question}),
        settings={"history": True},
        checkpointer=InMemorySaver(),
    )
    for _ in range(2):
        graph.invoke({"question": f" {CASE.question} "}, THREAD)
    assert [kind for kind, _ in kinds(graph)] == ["human", "ai", "human", "ai"]
