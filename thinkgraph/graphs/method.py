"""What a method is to the rest of the package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langgraph.graph import StateGraph

from thinkgraph.runtime.driver import NodeRunner
from thinkgraph.state.answer import Answer
from thinkgraph.state.settings import RunSettings


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
