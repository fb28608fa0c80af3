"""The sync and the async driver carry out the same node alike, and both let what waits wait side by side."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
import time
from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from fakes import FakeModel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Overwrite
from pydantic import PrivateAttr

from thinkgraph.errors import StoreError
from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.calls import ModelCall
from thinkgraph.models.journal import Journal, MemoryJournal, RawReply
from thinkgraph.models.ops import Blocking, Flow, NodeFunction, Update
from thinkgraph.models.roles import Models
from thinkgraph.prompts.kinds import PICK, Shape
from thinkgraph.prompts.library import PromptLibrary
from thinkgraph.runtime import requests
from thinkgraph.runtime.deps import Deps
from thinkgraph.runtime.driver import Driver, NodeRunner
from thinkgraph.state.base import RunState
from thinkgraph.state.events import Answered
from thinkgraph.state.settings import RunSettings
from thinkgraph.state.usage import merge_records
from thinkgraph.testing.memory import MemoryGraphStore

ROLE = "tog2.topic_prune"
MODES = pytest.mark.parametrize("mode", ["sync", "async"])


class World:
    """Knowledge enough for a driver: a graph, no text."""

    name, fingerprint, text, empty = "toy", "f", None, False

    def __init__(self) -> None:
        self.graph = MemoryGraphStore([("panama", "capital", "panama city"), ("panama", "borders", "colombia")])


class State(RunState):
    """A toy method's channels."""

    out: Any
    each: Annotated[dict[str, Any], merge_records]


def pick(key: str, **options: Any) -> Flow[list[int]]:
    inputs = {"question": "Which?", "options": "[1] a\n[2] b"}
    return requests.call(PICK, ROLE, inputs, shape=Shape(options=2), fallback=[1], key=key, **options)


def deps_of(model: FakeModel | None = None, journal: Journal | None = None) -> Deps:
    models = Models(
        model or FakeModel({ROLE: {"numbers": [2]}}), offline=lambda: FakeModel({}), prices={"fake": (1, 1)}
    )
    return Deps(knowledge=World(), models=models, prompts=PromptLibrary(), journal=journal)  # type: ignore[arg-type]


def entry(state: Mapping[str, Any], settings: RunSettings) -> Flow[Update]:
    old = state.get("manifest")
    manifest = yield from requests.start_run("toy", (old["run"] if old else 0) + 1, settings, [ROLE])
    nothing: Update = {"evidence": Overwrite({}), "pruned": Overwrite([]), "stopped": Overwrite(""), "draft": None}
    return {"manifest": manifest, "round": 0, **nothing}


class Toy:
    """A graph of an entry and one node, run in either mode; keeps what came out of it."""

    def __init__(
        self,
        function: NodeFunction,
        deps: Deps | None = None,
        first: NodeFunction = entry,
        beside: NodeFunction | None = None,
        **settings: Any,
    ) -> None:
        runner = NodeRunner(deps or deps_of(), RunSettings, {"shots": 0, **settings})
        graph = StateGraph(State, context_schema=RunSettings)
        graph.add_node("begin", runner.node("begin", first, entry=True))
        graph.add_edge(START, "begin")
        for name, step in {"toy": function, **({"beside": beside} if beside else {})}.items():
            graph.add_node(name, runner.node(name, step))
            graph.add_edge("begin", name)
            graph.add_edge(name, END)
        self.graph = graph.compile(checkpointer=InMemorySaver())
        self.events: list[Any] = []

    async def run(self, mode: str, thread: str = "t", *, question: str | None = "q") -> Any:
        config: Any = {"configurable": {"thread_id": thread}}
        state: Any = {"question": question} if question else None
        modes: Any = ["values", "custom"]
        if mode == "sync":
            chunks = list(self.graph.stream(state, config, stream_mode=modes))
        else:
            chunks = [chunk async for chunk in self.graph.astream(state, config, stream_mode=modes)]
        self.events = [value for kind, value in chunks if kind == "custom"]
        return [value for kind, value in chunks if kind == "values"][-1]


def everything(_state: Mapping[str, Any], _settings: RunSettings) -> Flow[Update]:
    """One of each request."""

    def part(name: str) -> Flow[Any]:
        numbers = yield from pick(name)
        found = yield from requests.entities([name])
        return [numbers, found[0]["label"] if found[0] else None]

    edges = yield from requests.relations(["panama"])
    yield from requests.emit(Answered(type="answered", status="grounded", text="so far"))
    both = yield from requests.together([part("panama"), part("atlantis")])
    alone = yield from requests.together([part("colombia")])
    none: list[Any] = yield from requests.together([])
    passages = yield from requests.passages_of(["panama"], "q", limit=3)
    missing = yield from requests.passages(["p1", "p2"])
    asked = yield ModelCall(
        kind=PICK, role=ROLE, inputs={"question": "q", "options": "[1] x"}, shape=Shape(options=2), fallback=[]
    )
    names = sorted(edge["name"] for edge in edges[0])
    return {"out": [names, both, alone, none, passages, missing, asked.value]}


async def test_both_drivers_agree_on_every_request(caplog: pytest.LogCaptureFixture) -> None:
    came: list[Any] = []
    with caplog.at_level(logging.WARNING):
        for mode in ("sync", "async"):
            toy = Toy(everything)
            state = await toy.run(mode, thread="same")
            work = {place: (w["node"], w["store_round_trips"]) for place, w in state["work"].items()}
            calls = {key: {**record, "seconds": 0} for key, record in state["calls"].items()}
            events = [(event["type"], event.get("role"), event.get("text")) for event in toy.events]
            came.append((state["out"], calls, work, sorted(events, key=str)))
    assert came[0] == came[1]
    out, calls, work, events = came[0]
    assert out == [
        ["borders", "capital"],
        [[[2], "panama"], [[2], None]],
        [[[2], "colombia"]],
        [],
        [],
        {},
        [2],
    ]
    assert len(calls) == 4
    assert work == {"begin/0": ("begin", 0), "toy/0": ("toy", 4)}, "a knowledge base without text costs no round trip"
    assert [kind for kind, _, _ in events].count("called") == 4
    assert not [record for record in caplog.records if "msgpack" in record.getMessage().casefold()]


@MODES
async def test_parts_run_side_by_side(mode: str) -> None:
    model = FakeModel({ROLE: {"numbers": [2]}}, latency=0.5)

    def many(_state: Any, _settings: Any) -> Flow[Update]:
        found = yield from requests.together([pick(str(number)) for number in range(12)])
        return {"out": len(found)}

    assert (await Toy(many, deps_of(model)).run(mode))["out"] == 12
    assert model.most_at_once[0] == 12


@MODES
async def test_results_keep_the_order_of_their_parts(mode: str) -> None:
    def part(number: int) -> Flow[int]:
        for _ in range(5 - number):
            yield from requests.entities(["panama"])
        return number

    def many(_state: Any, _settings: Any) -> Flow[Update]:
        return {"out": (yield from requests.together([part(number) for number in range(5)]))}

    assert (await Toy(many).run(mode))["out"] == [0, 1, 2, 3, 4]


@MODES
async def test_parts_may_have_parts(mode: str) -> None:
    def part(depth: int) -> Flow[int]:
        if depth == 0:
            yield from requests.entities(["panama"])
            return 1
        return sum((yield from requests.together([part(depth - 1), part(depth - 1)])))

    def deep(_state: Any, _settings: Any) -> Flow[Update]:
        return {"out": (yield from part(5))}

    state = await Toy(deep).run(mode)
    assert state["out"] == 32
    assert state["work"]["toy/0"]["store_round_trips"] == 32, "the meter reaches every thread"


class Broken(MemoryGraphStore):
    def entities(self, ids: Any) -> Any:
        raise StoreError("the server is gone")


@MODES
async def test_a_failed_request_is_thrown_into_the_node(mode: str) -> None:
    deps = deps_of()
    deps.knowledge.graph = Broken([("a", "r", "b")])

    def part() -> Flow[Any]:
        return (yield from requests.entities(["a"]))

    def handles(_state: Any, _settings: Any) -> Flow[Update]:
        said = []
        try:
            yield from requests.entities(["a"])
        except StoreError as error:
            said.append(str(error))
        try:
            yield from requests.together([part(), part()])
        except StoreError as error:
            said.append(str(error))
        after = yield from requests.relations(["a"])
        return {"out": [said, len(after[0])]}

    assert (await Toy(handles, deps).run(mode))["out"] == [["the server is gone"] * 2, 1]

    def does_not(_state: Any, _settings: Any) -> Flow[Update]:
        yield from requests.entities(["a"])
        return {}

    with pytest.raises(StoreError, match="the server is gone"):
        await Toy(does_not, deps).run(mode)


@MODES
async def test_the_other_parts_end_before_a_failure_is_thrown(mode: str) -> None:
    ended = threading.Event()

    def fails() -> Flow[Any]:
        yield from requests.entities(["a"])
        raise StoreError("first")

    def goes_on() -> Flow[Any]:
        yield from pick("slow")
        ended.set()

    def node(_state: Any, _settings: Any) -> Flow[Update]:
        try:
            yield from requests.together([fails(), goes_on()])
        except StoreError:
            return {"out": ended.is_set()}
        return {}

    model = FakeModel({ROLE: {"numbers": [1]}}, latency=0.03)
    assert (await Toy(node, deps_of(model)).run(mode))["out"] is True


@MODES
async def test_a_bug_in_a_node_rises(mode: str) -> None:
    def bug(_state: Any, _settings: Any) -> Flow[Update]:
        yield from requests.entities(["panama"])
        return {"out": 1 // 0}

    with pytest.raises(ZeroDivisionError):
        await Toy(bug).run(mode)


@MODES
async def test_a_spent_ceiling_stops_the_run_and_keeps_the_calls(mode: str) -> None:
    def greedy(_state: Any, _settings: Any) -> Flow[Update]:
        for number in range(9):
            yield from pick(str(number))
        return {"out": "never"}

    toy = Toy(greedy, max_calls=3)
    state = await toy.run(mode)
    assert state["stopped"] == "budget: the ceiling of 3 calls is reached"
    assert len(state["calls"]) == 3
    assert state.get("out") is None
    assert [event["reason"] for event in toy.events if event["type"] == "stopped"] == [state["stopped"]]


@MODES
async def test_a_node_may_handle_a_spent_ceiling(mode: str) -> None:
    def careful(_state: Any, _settings: Any) -> Flow[Update]:
        numbers = yield from pick("first")
        try:
            yield from pick("second", spare=1)
        except BudgetSpentError as spent:
            return {"out": [numbers, spent.reason]}
        return {}

    state = await Toy(careful, max_calls=2).run(mode)
    assert state["out"] == [[2], "budget: the ceiling of 2 calls is reached"]
    assert state["stopped"] == ""


@MODES
async def test_a_ceiling_holds_for_parts_side_by_side(mode: str) -> None:
    model = FakeModel({ROLE: {"numbers": [2]}}, latency=0.01)

    def greedy(_state: Any, _settings: Any) -> Flow[Update]:
        yield from requests.together([pick(str(number)) for number in range(20)])
        return {}

    await Toy(greedy, deps_of(model), max_calls=7).run(mode)
    assert len(model.asked) == 7


class Telling(FakeModel):
    """Says when a request reaches it, and counts them."""

    _reached: threading.Event = PrivateAttr(default_factory=threading.Event)
    _sent: int = PrivateAttr(0)

    def _enter(self) -> None:
        super()._enter()
        self._sent += 1
        self._reached.set()


class SlowJournal(MemoryJournal):
    """A disk that is busy."""

    def put(self, thread: str, key: str, reply: RawReply) -> None:
        time.sleep(0.2)
        super().put(thread, key, reply)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_waits_for_no_thread_of_its_parent() -> None:
    def flow() -> Flow[int]:
        return (yield Blocking(lambda: 7))

    def answered() -> bool:
        return asyncio.run(Driver({}).adrive(flow())) == 7

    assert answered()
    child = os.fork()
    if child == 0:
        right = False
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(60)
        try:
            right = answered()
        finally:
            os._exit(not right)
    assert os.waitpid(child, 0)[1] == 0


@MODES
async def test_what_a_cancelled_node_had_sent_counts_after_a_resume(mode: str) -> None:
    model, broken = Telling({ROLE: {"numbers": [2]}}, latency=0.2), [True]

    def fails(_state: Any, _settings: Any) -> Flow[Update]:
        if broken:
            assert (yield Blocking(lambda: model._reached.wait(10)))
            # On an event loop this cancels the node beside it; threads end by themselves.
            raise StoreError("the server is gone")
        return {}

    def waits(_state: Any, _settings: Any) -> Flow[Update]:
        return {"out": (yield from pick("in flight"))}

    toy = Toy(waits, deps_of(model, SlowJournal()), beside=fails)
    with pytest.raises(StoreError, match="the server is gone"):
        await toy.run(mode)
    broken.clear()
    state = await toy.run(mode, question=None)
    assert state["out"] == [2]
    assert sum(call["attempts"] for call in state["calls"].values()) == model._sent == (1 if mode == "sync" else 2)


@MODES
async def test_a_question_asked_again_on_its_thread_is_asked_anew(mode: str) -> None:
    model = FakeModel({ROLE: {"numbers": [2]}})

    def first(state: Mapping[str, Any], settings: RunSettings) -> Flow[Update]:
        yield from pick("of the entry")
        return (yield from entry(state, settings))

    def once(_state: Any, _settings: Any) -> Flow[Update]:
        return {"out": (yield from pick("of a node"))}

    toy = Toy(once, deps_of(model, MemoryJournal()), first)
    states = [await toy.run(mode), await toy.run(mode)]
    assert len(model.asked) == 4
    assert [state["manifest"]["run"] for state in states] == [1, 2]
    assert [len(state["calls"]) for state in states] == [2, 2], "a new question does not inherit the last one's usage"


async def test_flows_without_requests_just_return() -> None:
    def nothing() -> Flow[Any]:
        yield from ()
        return 7

    assert Driver({}).drive(nothing()) == 7  # type: ignore[arg-type]
    assert await Driver({}).adrive(nothing()) == 7  # type: ignore[arg-type]


def test_a_node_run_again_in_the_same_round_after_a_way_back_asks_again() -> None:
    class Back(State):
        backtracked: int

    def twice(state: Any, _settings: RunSettings) -> Flow[Update]:
        yield from pick("same")
        return {"backtracked": state["backtracked"] + 1}

    def first(state: Mapping[str, Any], settings: RunSettings) -> Flow[Update]:
        return {**(yield from entry(state, settings)), "backtracked": 0}

    model = FakeModel({ROLE: {"numbers": [2]}})
    runner = NodeRunner(deps_of(model, MemoryJournal()), RunSettings, {"shots": 0})
    graph = StateGraph(Back, context_schema=RunSettings)
    graph.add_node("begin", runner.node("begin", first, entry=True))
    graph.add_node("toy", runner.node("toy", twice))
    graph.add_edge(START, "begin")
    graph.add_edge("begin", "toy")
    graph.add_conditional_edges("toy", lambda state: END if state["backtracked"] == 3 else "toy", ["toy", END])
    config: Any = {"configurable": {"thread_id": "t"}}
    state = graph.compile(checkpointer=InMemorySaver()).invoke({"question": "q"}, config)  # type: ignore[arg-type]
    assert len(model.asked) == len(state["calls"]) == 3, "no call is taken from the journal, and each counts"
    assert set(state["work"]) == {"begin/0", "toy/0", "toy/0+1", "toy/0+2"}
