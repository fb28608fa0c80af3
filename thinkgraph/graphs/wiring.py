"""What a method is to the rest of the package, and what the methods' graphs share in their wiring."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Self, TypeVar

from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from thinkgraph.errors import UsageError
from thinkgraph.graphs.registry import find_method
from thinkgraph.models.budget import remaining, shares
from thinkgraph.nodes.closing.answer import answer, no_trace
from thinkgraph.nodes.opening.begin import begin
from thinkgraph.runtime.driver import NodeRunner
from thinkgraph.runtime.manifest import run_settings
from thinkgraph.state.answer import Answer, Trace
from thinkgraph.state.base import AnswerOutput, QuestionInput, RunState, SampleTask, TaskState
from thinkgraph.state.settings import RunSettings

S = TypeVar("S", bound=RunSettings)
T = TypeVar("T")


def one_call(_settings: Any, _answer: Answer) -> int:
    """The bound of a method that asks once."""
    return 1


@dataclass(frozen=True)
class Method:
    """A named way to answer questions: its settings and its wiring."""

    name: str
    title: str
    summary: str
    """One line for lists and help."""
    settings: type[RunSettings]
    wire: Callable[[NodeRunner], StateGraph[Any, Any, Any, Any]]
    bound: Callable[[Any, Answer], int | None] = one_call
    """Most calls of a run with these settings that gave this answer, by the paper's count, or None where nothing bounds them.

    Calls of an LLM ranker or of one that puts communities into prose, repairs and retries count apart.
    """


def settings_in(state: RunState | TaskState, schema: type[S]) -> S:
    """The run's settings, for what decides where it goes on; of a method whose settings build on `schema`, all of them."""
    own = find_method(state["manifest"]["method"]).settings
    return run_settings(state["manifest"], own if issubclass(own, schema) else schema)


def tasks(
    state: Any, settings: RunSettings, parts: Iterable[tuple[str, T]], *, keep: int, ahead: int = 0
) -> Iterator[tuple[TaskState, T]]:
    """For each task of a fan-out, the payload without its subject, and the subject.

    Args:
        state: the run's channels (`RunState`).
        settings: whose ceilings hold; what is left of them is shared out.
        parts: name and subject of each task; names tell the tasks apart. At least one.
        keep: calls held back for what comes after the fan-out.
        ahead: 1 where the tasks belong to the round to come.
    """
    every = list(parts)
    left = remaining(settings, state["calls"], state["work"])
    number = state["round"] + ahead
    for (part, about), share in zip(every, shares(left, len(every), keep=keep), strict=True):
        yield (
            TaskState(
                question=state["question"],
                manifest=state["manifest"],
                round=number,
                backtracked=state.get("backtracked", 0),
                part=part,
                quota=share,
            ),
            about,
        )


def samples(node: str, count: int, state: RunState, settings: RunSettings, *, keep: int) -> list[Send]:
    """A fan-out of `count` samples, each drawn by `node`; for the rest see `tasks`."""
    numbers = ((str(number), number) for number in range(1, count + 1))
    return [
        Send(node, SampleTask(**task, sample=number)) for task, number in tasks(state, settings, numbers, keep=keep)
    ]


class _Route(RunnableLambda[Any, Any]):
    """What decides where a run goes on after a node.

    It is called at once in both modes, on no other thread: a run that is cancelled between a node's update and its way on would
    keep the one without the other, and could not be resumed.
    """

    def invoke(self, input: Any, *_: Any, **__: Any) -> Any:  # noqa: A002 - Runnable's
        """See Runnable.

        Raises:
            UsageError: the state is no run's (`update_state` with `as_node` on a thread that is mistyped).
        """
        if not input.get("manifest"):
            raise UsageError("no question has been asked on this thread: ask one first")
        return self.func(input)

    async def ainvoke(self, input: Any, *_: Any, **__: Any) -> Any:  # noqa: A002
        """See Runnable."""
        return self.invoke(input)


class RunGraph(StateGraph[Any, Any, Any, Any]):
    """A graph whose state a person may edit, and whose runs may be cancelled anywhere."""

    defaults: Mapping[str, Any] = MappingProxyType({})
    """Settings given when it was built. Copies of the compiled graph share its builder."""
    unfit: Callable[[Any], str] | None = None
    """What does not fit together in a state of the right form; empty where all does."""

    def add_conditional_edges(self, source: str, path: Any, path_map: Any = None) -> Self:
        """See StateGraph. `path` is a plain function of the state."""
        return super().add_conditional_edges(source, _Route(path), path_map)


def state_graph(
    run: NodeRunner,
    method: str,
    schema: type[RunState],
    steps: Sequence[Any],
    *,
    decides: str,
    roles: Callable[[Any], Mapping[str, bool]] | None = None,
    trace: Callable[[Any], Trace] = no_trace,
    links: Callable[[Any], bool] = lambda _settings: True,
    payloads: Mapping[str, type[TaskState]] = MappingProxyType({}),
) -> RunGraph:
    """A graph of `begin`, a node for each step under the name of its function, and `answer`, without the edges between them.

    Args:
        run: makes the nodes.
        method: the method's registered name.
        schema: its state.
        steps: its transitions, each a `NodeFunction` (a list of functions of several states has no closer type).
        decides: the role that decides, whose model the answer names.
        roles: see `begin`; without it only the one that decides.
        trace: see `answer`.
        links: see `begin`.
        payloads: what nodes take that are sent their state.
    """
    run.method = method
    graph = RunGraph(schema, context_schema=run.settings, input_schema=QuestionInput, output_schema=AnswerOutput)
    entry = begin(method, schema, roles or (lambda _settings: {decides: True}), links=links)
    graph.add_node("begin", run.node("begin", entry, entry=True))
    for step in steps:
        name = step.__name__
        graph.add_node(name, run.node(name, step), input_schema=payloads.get(name, schema))
    graph.add_node("answer", run.node("answer", answer(decides, trace)))
    graph.add_edge(START, "begin")
    graph.add_edge("answer", END)
    return graph


def straight(graph: StateGraph[Any, Any, Any, Any]) -> StateGraph[Any, Any, Any, Any]:
    """The graph with its nodes one after the other."""
    for before, after in pairwise(list(graph.nodes)):
        graph.add_edge(before, after)
    return graph
