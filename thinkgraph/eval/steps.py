"""How long the steps of a run take: seconds of each node of a method's graph, the tasks of one fan-out counted together."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from typing_extensions import TypedDict


class StepTime(TypedDict):
    """How often a node had its turn, and how long that took in all."""

    turns: int
    seconds: float


class StepClock(BaseCallbackHandler):
    """Times the nodes of one run. A fan-out is one turn, from the start of its first task to the end of its last."""

    # On the event loop itself: in a thread the end of a step would be told late.
    run_inline = True

    def __init__(self) -> None:
        self._open: dict[UUID, tuple[str, int, float]] = {}
        self._turns: dict[tuple[str, int], tuple[float, float]] = {}

    def on_chain_start(self, *_: Any, run_id: UUID, metadata: dict[str, Any] | None = None, **more: Any) -> None:
        """A node begins, or something inside one."""
        about = metadata or {}
        node = about.get("langgraph_node")
        if node and node == more.get("name"):
            self._open[run_id] = (node, about["langgraph_step"], time.perf_counter())

    def on_chain_end(self, *_: Any, run_id: UUID, **_more: Any) -> None:
        """It ends."""
        if found := self._open.pop(run_id, None):
            node, step, started = found
            first, last = self._turns.get((node, step), (started, started))
            self._turns[node, step] = (min(first, started), max(last, time.perf_counter()))

    def times(self) -> dict[str, StepTime]:
        """By node."""
        found: dict[str, StepTime] = {}
        for (node, _), (started, ended) in self._turns.items():
            one = found.setdefault(node, StepTime(turns=0, seconds=0.0))
            one["turns"] += 1
            one["seconds"] = round(one["seconds"] + ended - started, 6)
        return found
