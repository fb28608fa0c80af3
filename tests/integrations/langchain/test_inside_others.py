"""Our graphs as LangChain and LangGraph know graphs: as a Runnable, as a node of another graph, as a tool of an agent."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import CASES, small_knowledge
from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import Runnable
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, RetryPolicy
from typing_extensions import TypedDict

import thinkgraph as tg
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.testing.memory import MemoryGraphStore

CASE = CASES["tog2"]
THREAD: Any = {"configurable": {"thread_id": "1"}}
PROGRESS = ["started", "linked", "pruned", "retrieved"]


@pytest.fixture(autouse=True)
def no_blocked_types(caplog):
    with caplog.at_level(logging.WARNING):
        yield
    assert [r.getMessage() for r in caplog.records if "serializ" in r.getMessage().casefold()] == []


@pytest.fixture
def model():
    return FakeModel(CASE.replies)


@pytest.fixture
def graph(asked, model):
    return tg.build(**{**asked, "model": model})


def test_a_graph_is_a_runnable(graph):
    assert isinstance(graph, Runnable)
    questions = [{"question": CASE.question}, {"question": CASE.other_question}]
    assert [out["answer"]["status"] for out in graph.batch(questions)] == ["grounded", "unknown"]
    assert [out["answer"]["status"] for out in asyncio.run(graph.abatch(questions))] == ["grounded", "unknown"]
    chain = graph | (lambda out: out["answer"]["text"])
    assert chain.invoke(questions[0]) == "18"
    parts = list(graph.stream(questions[0], stream_mode="updates"))
    assert [next(iter(part)) for part in parts][-1] == "answer"


class Narrow(TypedDict):
    """A graph around ours that knows a question and an answer, and nothing else of ours."""

    question: str
    answer: Any


def around(graph, **options):
    builder = StateGraph(Narrow, **options)
    builder.add_node("knowledge", graph)
    builder.add_node("shout", lambda state: {"answer": state["answer"]["text"] + "!"})
    builder.add_edge(START, "knowledge")
    builder.add_edge("knowledge", "shout")
    builder.add_edge("shout", END)
    return builder.compile(checkpointer=InMemorySaver())


def test_a_graph_is_a_node_of_a_graph_with_a_narrow_state(graph, model):
    outer = around(graph)
    assert outer.invoke({"question": CASE.question}, THREAD) == {"question": CASE.question, "answer": "18!"}
    assert set(outer.get_state(THREAD).values) == {"question", "answer"}
    # A second question on the thread of the graph around it is a new run.
    assert asyncio.run(outer.ainvoke({"question": CASE.other_question}, THREAD))["answer"].startswith("I don't know")
    assert len(model.asked) > CASE.calls
    events = list(outer.stream({"question": CASE.question}, THREAD, stream_mode="custom", subgraphs=True))
    assert [event["type"] for _, event in events][:4] == PROGRESS
    assert all(len(where) == 1 and where[0].startswith("knowledge:") for where, _ in events)


def test_the_context_of_a_graph_around_is_not_taken_for_settings(graph):
    class Theirs(TypedDict):
        user: str
        max_calls: int

    outer = around(graph, context_schema=Theirs)
    out = outer.invoke({"question": CASE.question}, THREAD, context={"user": "ann", "max_calls": 1})
    # What it shares by name with our settings is meant for us.
    assert out["answer"] == "I don't know: budget: the ceiling of 1 calls is reached.!"


def test_messages_shared_with_the_graph_around_are_not_doubled(graph):
    from langgraph.graph import MessagesState

    builder = StateGraph(MessagesState)
    builder.add_node("knowledge", graph)
    builder.add_edge(START, "knowledge")
    outer = builder.compile(checkpointer=InMemorySaver())
    for turn in (1, 2):
        told = outer.invoke({"messages": [("user", CASE.question)]}, THREAD)["messages"]
        assert [message.type for message in told] == ["human", "ai"] * turn
        assert told[-1].text == "18"


class Scripted(GenericFakeChatModel):
    """An agent's model that calls the tool as it was told to."""

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self


def call(question: str, key: str) -> dict[str, Any]:
    return {"name": "ask_knowledge_graph", "args": {"question": question}, "id": key, "type": "tool_call"}


def agent_of(tool, *turns: list[str]) -> Any:
    said = [
        AIMessage("", tool_calls=[call(question, f"{turn}.{place}") for place, question in enumerate(questions)])
        if questions
        else AIMessage("So it is.")
        for turn, questions in enumerate(turns)
    ]
    return create_agent(Scripted(messages=iter(said)), [tool], checkpointer=InMemorySaver())


def tool_of(model, **options: Any) -> Any:
    settings = {**CASE.settings, **options.pop("settings", {})}
    return tg.ThinkGraphTool(knowledge=small_knowledge(), model=model, settings=settings, **options)


ASK: Any = {"messages": [("user", "From which age …?")]}


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_an_agent_asks_and_our_progress_streams_through_it(model, mode):
    agent = agent_of(tool_of(model), [CASE.question], [])
    modes: Any = ["custom", "values"]

    async def asynchronously() -> list[Any]:
        return [part async for part in agent.astream(ASK, THREAD, stream_mode=modes, subgraphs=True)]

    if mode == "async":
        parts = asyncio.run(asynchronously())
    else:
        parts = list(agent.stream(ASK, THREAD, stream_mode=modes, subgraphs=True))
    events = [event for where, kind, event in parts if kind == "custom" and where[0].startswith("tools:")]
    assert [event["type"] for event in events][:4] == PROGRESS
    assert (events[-1]["type"], events[-1]["status"], events[-1]["text"]) == ("answered", "grounded", "18")
    assert 0 < events[-1]["confidence"] < 1
    messages = [value for where, kind, value in parts if kind == "values" and not where][-1]["messages"]
    told = next(message for message in messages if isinstance(message, ToolMessage))
    assert told.content.startswith("18\nStatus: grounded")
    assert told.artifact["answers"] == ["18"]
    assert messages[-1].text == "So it is."


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_the_steps_that_an_agent_may_take_are_not_ours(model, mode):
    few: Any = {**THREAD, "recursion_limit": 6}
    agent = agent_of(tool_of(model), [CASE.question], [])
    messages = (asyncio.run(agent.ainvoke(ASK, few)) if mode == "async" else agent.invoke(ASK, few))["messages"]
    assert messages[-1].text == "So it is."
    retriever = tg.ThinkGraphRetriever(knowledge=small_knowledge(), model=model, settings=CASE.settings)
    builder = StateGraph(Narrow)
    builder.add_node("find", lambda state: {"answer": retriever.invoke(state["question"])})
    builder.add_edge(START, "find")
    assert builder.compile().invoke({"question": CASE.question}, {"recursion_limit": 3})["answer"]


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_question_to_the_person_passes_through_an_agent(model, mode):
    tool = tool_of(model, settings={"ask_user": "budget", "max_calls": 1})
    agent = agent_of(tool, [CASE.question], [])

    def go(what: Any) -> Any:
        return asyncio.run(agent.ainvoke(what, THREAD)) if mode == "async" else agent.invoke(what, THREAD)

    out = go(ASK)
    assert "max_calls" in out["__interrupt__"][0].value["text"]
    out = go(Command(resume="much more"))
    assert "no number" in out["__interrupt__"][0].value["problem"]
    out = go(Command(resume=7))
    told = next(message for message in out["messages"] if isinstance(message, ToolMessage))
    assert told.artifact["answers"] == ["18"]
    assert told.artifact["usage"]["total"]["calls"] == len(model.asked) == CASE.calls
    assert out["messages"][-1].text == "So it is."


def test_which_namesake_is_meant_is_asked_through_an_agent():
    graph = MemoryGraphStore(
        [("g1", "capital", "Tbilisi"), ("g2", "capital", "Atlanta")], labels={"g1": "Georgia", "g2": "Georgia"}
    )
    question = "What is the capital of Georgia?"
    tool = tg.ThinkGraphTool(
        knowledge=tg.Knowledge(graph=graph, embedder=HashEmbedder()),
        method="kg_rag",
        model="offline",
        settings={"ranker": "bm25", "ask_user": "ambiguity"},
    )
    agent = agent_of(tool, [question], [])
    asked = agent.invoke(ASK, THREAD)["__interrupt__"][0].value
    assert [one["id"] for one in asked["options"]] == ["g1", "g2"]
    asked = agent.invoke(Command(resume="Georgia"), THREAD)["__interrupt__"][0].value
    assert "names none of them" in asked["problem"]
    out = agent.invoke(Command(resume=2), THREAD)
    told = next(message for message in out["messages"] if isinstance(message, ToolMessage))
    assert told.artifact["answers"] == ["Atlanta"]
    assert out["messages"][-1].text == "So it is."


def test_an_agent_made_anew_goes_on_with_what_its_store_holds():
    """As after the death of a process: new objects over the same checkpoints and the same LangGraph store."""
    saver, store = InMemorySaver(), InMemoryStore()
    models = [FakeModel(CASES["fiske"].replies) for _ in range(2)]

    def agent(model: Any, *said: AIMessage) -> Any:
        tool = tg.ThinkGraphTool(
            knowledge=small_knowledge(),
            method="fiske",
            model=model,
            settings={"ask_user": "budget", "max_calls": 3},
        )
        return create_agent(Scripted(messages=iter(said)), [tool], checkpointer=saver, store=store)

    wanted = AIMessage("", tool_calls=[call(CASES["fiske"].question, "1")])
    assert "__interrupt__" in agent(models[0], wanted).invoke(ASK, THREAD)
    out = agent(models[1], AIMessage("So it is.")).invoke(Command(resume=30), THREAD)
    told = next(message for message in out["messages"] if isinstance(message, ToolMessage))
    assert told.artifact["answers"] == CASES["fiske"].answers
    assert [len(model.asked) for model in models] == [2, 3]
    assert told.artifact["usage"]["total"]["calls"] == CASES["fiske"].calls == 5


def test_two_questions_of_one_turn_are_answered_apart(model):
    tool = tool_of(model, settings={"ask_user": "budget", "max_calls": 1})
    agent = agent_of(tool, [CASE.question, CASE.other_question], [])
    out = agent.invoke(ASK, THREAD)
    asked = out["__interrupt__"]
    assert len(asked) == 2
    out = agent.invoke(Command(resume={one.id: 30 for one in asked}), THREAD)
    told = [message.artifact for message in out["messages"] if isinstance(message, ToolMessage)]
    assert [one["status"] for one in told] == ["grounded", "unknown"]
    assert sum(one["usage"]["total"]["calls"] for one in told) == len(model.asked)


def test_an_agent_that_fails_goes_on_without_paying_twice():
    class Failing(FakeModel):
        after: int = 1

        def _reply(self, messages: Any) -> Any:
            if len(self.asked) >= self.after:
                raise ConnectionError("the server is gone")
            return super()._reply(messages)

    model = Failing(CASE.replies)
    agent = agent_of(tool_of(model, settings={"call_retries": 0}, journal=tg.MemoryJournal()), [CASE.question], [])
    with pytest.raises(tg.ThinkGraphError, match="the server is gone"):
        agent.invoke(ASK, THREAD)
    assert len(model.asked) == 1
    model.after = 99
    out = agent.invoke(None, THREAD)
    assert out["messages"][-1].text == "So it is."
    assert len(model.asked) == CASE.calls


class FailsOnce(FakeModel):
    """Its second request fails."""

    failed: bool = False

    def _reply(self, messages: Any) -> Any:
        if len(self.asked) == 1 and not self.failed:
            self.failed = True
            raise ConnectionError("the server is gone")
        return super()._reply(messages)


@pytest.mark.parametrize("around", ["retry policy of a node", "middleware of an agent"])
def test_a_retry_around_ours_repeats_the_failed_call_alone_and_counts_it(around):
    model = FailsOnce(CASE.replies)
    options: Any = {"model": model, "settings": {**CASE.settings, "call_retries": 0}, "journal": tg.MemoryJournal()}
    if around.endswith("agent"):
        retry = ToolRetryMiddleware(max_retries=2, initial_delay=0, retry_on=(tg.ThinkGraphError,))
        said = [AIMessage("", tool_calls=[call(CASE.question, "1")]), AIMessage("So it is.")]
        tool = tg.ThinkGraphTool(method="tog2", knowledge=CASE.knowledge(), **options)
        agent = create_agent(Scripted(messages=iter(said)), [tool], middleware=[retry], checkpointer=InMemorySaver())
        told = [one for one in agent.invoke(ASK, THREAD)["messages"] if isinstance(one, ToolMessage)]
        answer = told[0].artifact
    else:
        builder = StateGraph(Narrow)
        policy = RetryPolicy(max_attempts=2, initial_interval=0.01, retry_on=tg.ThinkGraphError)
        builder.add_node("ours", tg.build("tog2", knowledge=CASE.knowledge(), **options), retry_policy=policy)
        builder.add_edge(START, "ours")
        builder.add_edge("ours", END)
        graph = builder.compile(checkpointer=InMemorySaver())
        answer = graph.invoke({"question": CASE.question}, THREAD)["answer"]
    assert answer["answers"] == CASE.answers
    assert model.failed
    assert len(model.asked) == CASE.calls
    assert answer["usage"]["total"]["calls"] == CASE.calls + 1


def test_an_agent_of_ones_own_reads_the_knowledge():
    def look(name: str, **arguments: Any) -> AIMessage:
        return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": name, "type": "tool_call"}])

    said = [
        look("find_entities", text="Panama"),
        look("relations_of", entity="Atlantis"),
        look("neighbours", entity="Panama", relation="capital"),
        look("neighbours", entity="Panama", relation="capital", direction="up"),
        AIMessage("Panama City."),
    ]
    agent = create_agent(Scripted(messages=iter(said)), tg.knowledge_tools(small_knowledge()))
    told = [message for message in agent.invoke(ASK)["messages"] if isinstance(message, ToolMessage)]
    assert [message.status for message in told] == ["success", "error", "success", "error"]
    assert told[1].content.startswith("there is no entity 'Atlantis'")
    assert told[2].content == '(Panama) -[capital]-> (Panama City) | id "Panama City"'
    assert "direction" in told[3].content


def test_the_same_question_twice_on_an_agents_thread_is_two_runs(model):
    tool = tool_of(model, journal=tg.MemoryJournal())
    agent = agent_of(tool, [CASE.question], [CASE.question], [])
    out = agent.invoke(ASK, THREAD)
    told = [
        message.artifact["usage"]["total"]["calls"] for message in out["messages"] if isinstance(message, ToolMessage)
    ]
    assert told == [CASE.calls, CASE.calls]
    assert len(model.asked) == 2 * CASE.calls
