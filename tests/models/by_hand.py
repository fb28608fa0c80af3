"""Scopes of calls, and a driver that carries flows out by hand."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from fakes import FakeModel
from langchain_core.language_models import BaseChatModel

from thinkgraph.models.budget import Ledger, remaining
from thinkgraph.models.calls import CallScope
from thinkgraph.models.journal import Journal, MemoryJournal
from thinkgraph.models.ops import Blocking, SendRequest, Sleep
from thinkgraph.models.roles import Models, ModelSpec
from thinkgraph.models.wire.forms import ModelReply
from thinkgraph.prompts.library import PromptLibrary
from thinkgraph.state.settings import RunSettings

PRICES = {"fake": (1.0, 2.0)}


def no_offline() -> BaseChatModel:
    """Nobody asks for it here."""
    raise AssertionError


def a_scope(
    model: ModelSpec | None = None, journal: Journal | None = None, *, run: int = 1, **settings: Any
) -> CallScope:
    """Where calls of one node happen; its events gather in `scope.emit.__self__`."""
    limits = RunSettings.model_validate({"shots": 0, **settings})
    events: list[Any] = []
    models = Models(model or FakeModel({}), offline=no_offline, prices=PRICES)
    for client in models.clients():
        client.looked_up = True  # no server has a window to tell
    return CallScope(
        models=models,
        prompts=PromptLibrary(),
        journal=journal if journal is not None else MemoryJournal(),
        thread="thread",
        run=run,
        node="node",
        place="node/0",
        settings=limits,
        ledger=Ledger(remaining(limits, {}, {}), limits),
        emit=events.append,
    )


def events_of(scope: CallScope) -> list[Any]:
    """What a scope was told."""
    return scope.emit.__self__  # type: ignore[attr-defined,no-any-return]


class Hand:
    """Drives a flow by hand: model calls are answered from a script, sleeps are noted and never slept."""

    def __init__(self, *script: str | ModelReply | Exception) -> None:
        self.script = list(script)
        self.calls: list[SendRequest] = []
        self.slept: list[float] = []
        self.order: list[str] = []

    def run(self, flow: Generator[Any, Any, Any]) -> Any:
        """The flow's result."""
        answer: Any = None
        failure: Exception | None = None
        while True:
            try:
                op = flow.throw(failure) if failure is not None else flow.send(answer)
            except StopIteration as stop:
                return stop.value
            answer, failure = None, None
            try:
                answer = self._carry_out(op)
            except Exception as error:  # noqa: BLE001 - handed to the flow, as drivers do
                failure = error

    def _carry_out(self, op: Any) -> Any:
        self.order.append(type(op).__name__)
        if isinstance(op, Blocking):
            return op.function()
        if isinstance(op, Sleep):
            self.slept.append(op.seconds)
            return None
        assert isinstance(op, SendRequest)
        self.calls.append(op)
        assert self.script, "a call that nobody expected"
        said = self.script.pop(0)
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, ModelReply) else ModelReply(said, 100, 10)
