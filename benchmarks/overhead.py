"""Our own time per question: ToG-2 at D=3 without the model client, the stores and the encoder.

    ./tg python benchmarks/overhead.py [--questions N] [--repeats R] [--profile]

The perfect chooser answers three-hop questions of `world`, so that every run goes all three rounds. Around each call of a model
client, of a store, of the linker and of the encoder the clock is read; what is left of the wall time is ours and LangGraph's.
The savers take turns on every question, each time in another order, and every question is asked many times: "p50 of best" is the
median over questions of the fastest run (what the code costs on a machine that does nothing else), "p50 of all" of every run, "p50
cpu" of the fastest in processor time of the process. The last rows are LangGraph alone, in the same run: as many steps that do
nothing ("bare"), and ToG-2's own wiring and state, whose nodes make the calls and give the updates that a run made before
("replayed"): what LangGraph takes for such a graph, whoever wrote the nodes. The calls are off the clock there too; the steps after
them are slower. Exit code 1 if p50 of best is more than twice that of a bare graph with the same saver.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import cProfile
import functools
import pstats
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

import thinkgraph as tg
from thinkgraph.cli.runs import RunStore
from thinkgraph.eval.bench_setup import bench_model, load_questions
from thinkgraph.eval.questions import Question
from thinkgraph.graphs.registry import find_method
from thinkgraph.models.client import ChatClient
from thinkgraph.state.tog2 import Tog2Settings
from thinkgraph.tools.knowledge import Knowledge

BOUND = 2.0
"""Most of what LangGraph alone takes for as many steps with the same saver, p50 of best."""
DEPTH = 3
STEPS = 21
"""LangGraph steps of such a run."""
CALLS = {7, 8}
"""2D+1, and one more where the model chooses the topics: what a run that goes all rounds makes."""
SETTINGS = {"steered": False}
"""A call of its own for every step, as in the paper and as in earlier figures."""

_STORE = ("lookup", "search", "entities", "triples", "relations", "neighbours", "neighbourhood", "edges_among")
_TEXT = ("passages", "passages_of", "candidates_of", "search")
_ENCODER = ("embed", "embed_array", "windows")


class Stopwatch:
    """Wall and processor time of the calls that are not ours; overlapping calls count once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = threading.local()
        self.spans: list[tuple[float, float]] = []
        self.cpu = 0.0
        self.made: list[Callable[[], Any]] = []
        """The calls that took it, to make them again."""

    def clear(self) -> None:
        """Start over."""
        self.spans, self.cpu, self.made = [], 0.0, []

    def off(self, call: Callable[[], Any]) -> Any:
        """Make a call in time that is not ours; nested calls of one thread count once."""
        began, cpu = time.perf_counter(), time.thread_time()
        if getattr(self._inside, "deep", False):
            return call()
        self._inside.deep = True
        self.made.append(functools.partial(self.off, call))
        try:
            return call()
        finally:
            self._inside.deep = False
            with self._lock:
                self.cpu += time.thread_time() - cpu
                self.spans.append((began, time.perf_counter()))

    @property
    def wall(self) -> float:
        """Seconds in which at least one such call ran."""
        total, until = 0.0, 0.0
        for began, ended in sorted(self.spans):
            total += max(0.0, ended - max(began, until))
            until = max(until, ended)
        return total

    def around(self, target: object, names: Sequence[str]) -> None:
        """Time the methods of one object."""
        for name in names:
            if function := getattr(target, name, None):
                # An instance attribute: other objects of the class stay as they are.
                setattr(target, name, self._timed(function))

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **options: Any) -> Any:
            return self.off(functools.partial(function, *arguments, **options))

        return timed


def time_clients(watch: Stopwatch) -> None:
    """Time every model client; the rule-based model computes under the async path too, on its own thread."""
    invoke = ChatClient.invoke

    def timed(self: ChatClient, *arguments: Any) -> Any:
        return watch.off(functools.partial(invoke, self, *arguments))

    async def atimed(self: ChatClient, *arguments: Any) -> Any:
        # Rule-based models need no loop: answered here, the thread they would be handed to is not counted as ours.
        return timed(self, *arguments)

    ChatClient.invoke = timed  # type: ignore[method-assign]
    ChatClient.ainvoke = atimed  # type: ignore[method-assign]


class _Step(TypedDict):
    question: str
    answer: dict[str, Any]


def empty_graph(checkpointer: Any) -> Any:
    """A graph of STEPS steps that do nothing."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(_Step)
    answer = {"rounds": DEPTH, "usage": {"total": {"calls": min(CALLS)}}}
    names = [f"step{number}" for number in range(STEPS)]
    for name in names:
        graph.add_node(name, lambda _state: {"answer": answer})
    for one, other in pairwise([START, *names, END]):
        graph.add_edge(one, other)
    return graph.compile(checkpointer=checkpointer)


def replayed_graph(graph: Any, questions: Sequence[Question], checkpointer: Any, watch: Stopwatch) -> Any:
    """ToG-2's graph with nodes that make the calls and give the updates of a run of `graph`, and do nothing else."""
    kept: dict[tuple[str, ...], Any] = {}

    def key(state: Any, name: str) -> tuple[str, ...]:
        return (state["question"], name, str(state.get("round") if name != "begin" else 0), state.get("part", ""))

    def record(name: str, node: Any) -> Any:
        def run(state: Any, config: RunnableConfig) -> Any:
            watch.clear()
            update = node.invoke(state, config)
            kept[key(state, name)] = update, watch.made
            return update

        return run

    def replay(name: str) -> Any:
        def run(state: Any) -> Any:
            update, made = kept[key(state, name)]
            for call in made:
                call()
            return update

        return run

    nodes = {name: spec.runnable for name, spec in graph.builder.nodes.items()}
    made = [
        find_method("tog2").wire(cast("Any", SimpleNamespace(settings=Tog2Settings, node=node)))
        for node in (
            lambda name, *_, **__: record(name, nodes[name]),
            lambda name, *_, **__: replay(name),
        )
    ]
    for question in questions:
        made[0].compile().invoke({"question": question.question})
    return made[1].compile(checkpointer=checkpointer)


class Run:
    """One way to run the graph."""

    def __init__(self, name: str, ask: Callable[[Question, str], Any]) -> None:
        self.name = name
        self.ask = ask
        self.best: dict[str, float] = {}
        self.cpu: dict[str, float] = {}
        self.all: list[float] = []

    def measure(self, question: Question, thread: str, watch: Stopwatch) -> None:
        """Ask once."""
        watch.clear()
        began, cpu = time.perf_counter(), time.process_time()
        answer = self.ask(question, thread)["answer"]
        wall, spent = time.perf_counter() - began - watch.wall, time.process_time() - cpu - watch.cpu
        if answer["rounds"] != DEPTH or answer["usage"]["total"]["calls"] not in CALLS:
            sys.exit(f"{question.id}: {answer['rounds']} rounds, {answer['usage']['total']['calls']} calls")
        self.all.append(wall)
        self.best[question.id] = min(wall, self.best.get(question.id, wall))
        self.cpu[question.id] = min(spent, self.cpu.get(question.id, spent))

    @property
    def p50(self) -> float:
        """Median over questions of the fastest run, in seconds."""
        return statistics.median(self.best.values())

    def line(self) -> str:
        """One row of the table."""
        cells = (self.p50, statistics.median(self.all), statistics.median(self.cpu.values()))
        return f"{self.name:<34}" + "".join(f"{cell * 1000:>13.1f}" for cell in cells)


@contextlib.asynccontextmanager
async def _async_sqlite(path: Path) -> AsyncIterator[AsyncSqliteSaver]:
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        await saver.setup()
        yield saver


def runs(
    knowledge: Knowledge,
    model: Any,
    questions: Sequence[Question],
    folder: Path,
    stack: contextlib.ExitStack,
    loop: Any,
    watch: Stopwatch,
) -> list[Run]:
    """All ways to run, each over a graph of its own."""

    def graph(**options: Any) -> Any:
        return tg.build("tog2", knowledge=knowledge, model=model, settings=SETTINGS, **options)

    def config(thread: str) -> Any:
        return {"configurable": {"thread_id": thread}}

    def sync(compiled: Any) -> Callable[[Question, str], Any]:
        return lambda question, thread: compiled.invoke({"question": question.question}, config(thread))

    def not_sync(compiled: Any) -> Callable[[Question, str], Any]:
        return lambda question, thread: loop.run_until_complete(
            compiled.ainvoke({"question": question.question}, config(thread))
        )

    saver = stack.enter_context(SqliteSaver.from_conn_string(str(folder / "plain.sqlite")))
    alone, again = (
        stack.enter_context(SqliteSaver.from_conn_string(str(folder / f"{name}.sqlite"))) for name in ("alone", "again")
    )
    store = stack.enter_context(RunStore(folder))
    opened = _async_sqlite(folder / "async.sqlite")
    async_saver = loop.run_until_complete(opened.__aenter__())
    stack.callback(lambda: loop.run_until_complete(opened.__aexit__(None, None, None)))
    return [
        Run("no saver", sync(graph())),
        Run("memory", sync(graph(checkpointer=InMemorySaver()))),
        Run("sqlite", sync(graph(checkpointer=saver))),
        Run(
            "command line: sqlite and journal",
            sync(graph(checkpointer=store.checkpointer(), journal=store.journal())),
        ),
        Run("memory, async", not_sync(graph(checkpointer=InMemorySaver()))),
        Run("sqlite, async", not_sync(graph(checkpointer=async_saver))),
        Run("LangGraph alone, bare, memory", sync(empty_graph(InMemorySaver()))),
        Run("LangGraph alone, bare, sqlite", sync(empty_graph(alone))),
        Run("LangGraph alone, replayed, memory", sync(replayed_graph(graph(), questions, InMemorySaver(), watch))),
        Run("LangGraph alone, replayed, sqlite", sync(replayed_graph(graph(), questions, again, watch))),
    ]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=5, help="how many three-hop questions (default 5)")
    parser.add_argument("--repeats", type=int, default=10, help="how often each is asked (default 10)")
    parser.add_argument("--profile", action="store_true", help="where the time with the in-memory saver goes")
    args = parser.parse_args()
    everything = [question for question in load_questions("world") if question.type == "3hop"]
    watch = Stopwatch()
    with contextlib.ExitStack() as stack:
        knowledge = stack.enter_context(Knowledge.open("world"))
        model = bench_model("perfect", everything, knowledge)
        questions = _deep(everything, knowledge, model)[: args.questions]
        watch.around(knowledge.graph, _STORE)
        watch.around(knowledge.text, _TEXT)
        watch.around(knowledge.linker, ("link", "link_names"))
        watch.around(knowledge.embedder, _ENCODER)
        time_clients(watch)
        loop = asyncio.new_event_loop()
        stack.callback(loop.close)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        made = runs(knowledge, model, questions, folder, stack, loop, watch)
        order = random.Random(0)
        for repeat in range(args.repeats + 1):
            for question in questions:
                # A run is quicker right after one of the same code: none always has that place.
                for run in order.sample(made, len(made)):
                    run.measure(question, f"{question.id}-{repeat}", watch)
            if repeat == 0:
                # The first round loads the encoder and fills its cache.
                for run in made:
                    run.best, run.cpu, run.all = {}, {}, []
        print(
            f"{len(questions)} questions of 3 hops, 7 or 8 model calls each, {args.repeats} runs each; ms per question"
        )
        print(f"{'saver':<34}{'p50 of best':>13}{'p50 of all':>13}{'p50 cpu':>13}")
        for run in made:
            print(run.line())
        if args.profile:
            _profile(made[1], questions, watch)
        p50 = {run.name: run.p50 for run in made}
    ratios = {
        (saver, kind): p50[saver] / p50[f"LangGraph alone, {kind}, {saver}"]
        for saver in ("memory", "sqlite")
        for kind in ("bare", "replayed")
    }
    for (saver, kind), ratio in ratios.items():
        print(f"{saver}: {ratio:.2f} times LangGraph alone, {kind}" + f" (at most {BOUND:g})" * (kind == "bare"))
    return 1 if any(ratio > BOUND for (_, kind), ratio in ratios.items() if kind == "bare") else 0


def _deep(questions: Sequence[Question], knowledge: Knowledge, model: Any) -> list[Question]:
    """The questions whose run goes all rounds."""
    graph = tg.build("tog2", knowledge=knowledge, model=model, settings=SETTINGS)
    found = []
    for question in questions:
        answer = graph.invoke({"question": question.question})["answer"]
        if answer["rounds"] == DEPTH and answer["usage"]["total"]["calls"] in CALLS:
            found.append(question)
    if not found:
        sys.exit(f"no question goes {DEPTH} rounds")
    return found


def _profile(run: Run, questions: Sequence[Question], watch: Stopwatch) -> None:
    profile = cProfile.Profile()
    for question in questions:
        watch.clear()
        profile.enable()
        run.ask(question, f"{question.id}-profile")
        profile.disable()
    pstats.Stats(profile).sort_stats("cumulative").print_stats(60)


if __name__ == "__main__":
    sys.exit(main())
