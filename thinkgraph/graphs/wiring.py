"""What the methods' graphs share in their wiring."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, TypeVar

from langchain_core.runnables import Runnable
from langgraph.graph import END, START, StateGraph

from thinkgraph.models.budget import remaining, shares
from thinkgraph.runtime.driver import Update
from thinkgraph.runtime.state_errors import explain_edits
from thinkgraph.state.base import AnswerOutput, QuestionInput, RunState, TaskState
from thinkgraph.state.settings import RunSettings

T = TypeVar("T")


def tasks(
    state: Any, settings: RunSettings, parts: Iterable[tuple[str, T]], *, keep: int, ahead: int = 0
) -> Iterator[tuple[TaskState, T]]:
    """The payloads of a fan-out, as far as they are alike, each with what it is about.

    Args:
        state: the run's channels (`RunState`).
        settings: whose ceilings hold; what is left of them is shared out.
        parts: name and subject of each task; names tell the tasks apart. At least one.
        keep: calls held back for what comes after the fan-out.
        ahead: 1 where the tasks belong to the round to come.
    """
    every = list(parts)
    with explain_edits(state, RunState):
        left = remaining(settings, state["calls"], state["work"])
        number = state["round"] + ahead
    for (part, about), share in zip(every, shares(left, len(every), keep=keep), strict=True):
        yield (
            TaskState(question=state["question"], manifest=state["manifest"], round=number, part=part, quota=share),
            about,
        )


def straight(
    schema: type[RunState], settings: type[RunSettings], nodes: Mapping[str, Runnable[Any, Update]]
) -> StateGraph[Any, Any, Any, Any]:
    """A graph of nodes that follow each other in the order given."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        schema, context_schema=settings, input_schema=QuestionInput, output_schema=AnswerOutput
    )
    for name, node in nodes.items():
        graph.add_node(name, node)
    for before, after in pairwise([START, *nodes, END]):
        graph.add_edge(before, after)
    return graph
