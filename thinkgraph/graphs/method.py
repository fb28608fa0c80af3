"""What a method is to the rest of the package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langgraph.graph import StateGraph

from thinkgraph.nodes.driver import NodeRunner
from thinkgraph.state.settings import RunSettings


@dataclass(frozen=True)
class Method:
    """A named way to answer questions: its settings and its wiring."""

    name: str
    title: str
    summary: str
    """One line for lists and help."""
    settings: type[RunSettings]
    wire: Callable[[NodeRunner], StateGraph[Any, Any, Any, Any]]
