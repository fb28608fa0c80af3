"""Carrying out a node's store requests outside of a graph: no model, no budget, no journal."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

from thinkgraph.graphs.build import offline_model
from thinkgraph.models.roles import OFFLINE, Models
from thinkgraph.prompts.library import PromptLibrary
from thinkgraph.runtime.deps import Deps
from thinkgraph.runtime.requests import Fetch, Steps
from thinkgraph.tools.knowledge import Knowledge

T = TypeVar("T")


def only(knowledge: Knowledge) -> Deps:
    """What store requests need: the knowledge. Nothing is loaded."""
    models = Models(OFFLINE, offline=offline_model(knowledge))
    return Deps(knowledge=knowledge, models=models, prompts=PromptLibrary(), journal=None)


def fetch(steps: Steps[T], deps: Deps) -> T:
    """Carry out steps that ask stores and nothing else.

    Raises:
        ThinkGraphError: a store fails.
        TypeError: the steps ask for something else than knowledge.
    """
    answer: Any = None
    failure: Exception | None = None
    while True:
        try:
            request = steps.throw(failure) if failure is not None else steps.send(answer)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        if not isinstance(request, Fetch):
            raise TypeError(f"{type(request).__name__} cannot be carried out without a graph")
        answer, failure = None, None
        try:
            answer = request.run(deps)
        except Exception as error:  # noqa: BLE001 - the steps handle it or let it rise
            failure = error


async def afetch(steps: Steps[T], deps: Deps) -> T:
    """As `fetch`, in a thread: stores block."""
    return await asyncio.to_thread(fetch, steps, deps)
