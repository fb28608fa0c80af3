"""What the MCP server's tools are called, take, do and give. Knows nothing of the protocol."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from pydantic import Field, ValidationError

from thinkgraph.errors import SettingsError, UsageError
from thinkgraph.graphs.build import Graph, build
from thinkgraph.graphs.registry import find_method
from thinkgraph.integrations.langchain.lookups import LOOK_UPS, Arguments, LookUp, look_ups, shown
from thinkgraph.integrations.langchain.shared import answer_text
from thinkgraph.models.roles import Models
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.answer import Answer
from thinkgraph.state.base import CEILINGS
from thinkgraph.state.settings import resolve_settings
from thinkgraph.tools.knowledge import Knowledge

CLIENT_SETTINGS = (
    *CEILINGS,
    *("task", "width", "depth", "relations", "hops", "top_k", "samples", "turns", "community_size"),
    *("backtracks", "verify", "explain", "seed"),
)
"""What a client may choose: how far to search and what it may cost, but no path, no model, no timeout."""


class AskArguments(Arguments):
    """`ask`."""

    about = (
        "Answer a question in several hops over the knowledge graph and its documents. The answer comes with the triples "
        "and passages it stands on; its status is grounded, partial, memory or unknown, its confidence a number from 0 to 1."
    )
    question: str = Field(description="The question, in full.")
    method: str | None = Field(None, description="How to answer it; leave out for the server's own choice.")
    settings: dict[str, Any] = Field(
        default_factory=dict,
        description=f"Settings, as far as the method has them: {', '.join(CLIENT_SETTINGS)}. Ceilings (max_…) can only be lowered.",
    )


ARGUMENTS: dict[str, type[Arguments]] = {"ask": AskArguments, **LOOK_UPS}
"""The tools by name, in the order they are listed."""

Told = Callable[[int, str], Awaitable[None]]
"""Tells a client how many steps of a run are done, and which one came last."""


class Witness(Protocol):
    """Turns what LangGraph streams of a run into the events of a page that shows it."""

    def read(self, mode: str, part: Any) -> Iterable[dict[str, Any]]:
        """The events of one part of the stream, which is "custom" or "updates"."""

    def finished(self, answer: Answer) -> dict[str, Any]:
        """The last event."""


@dataclass
class Tools:
    """The tools over one knowledge base. Calls may run side by side, on one event loop."""

    knowledge: Knowledge
    models: Models
    fixed: Mapping[str, Mapping[str, Any]]
    """The methods that may be asked for, the default first, with the settings that nobody can change from outside."""
    prompts: str | None = None
    watch: Callable[[Knowledge], Witness] | None = None
    """Makes the events of a run for clients that show its page."""
    _graphs: dict[str, Graph] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def names(self) -> list[str]:
        """The tools there are: without passages none that reads them."""
        return ["ask", *look_ups(self.knowledge)]

    def schema(self, name: str) -> dict[str, Any]:
        """JSON schema of a tool's arguments."""
        schema = ARGUMENTS[name].model_json_schema()
        schema.pop("description", None)
        if name == "ask":
            schema["properties"]["method"] |= {"enum": [*self.fixed, None], "default": next(iter(self.fixed))}
        return schema

    async def call(
        self,
        name: str,
        given: Mapping[str, Any],
        events: list[dict[str, Any]] | None = None,
        told: Told | None = None,
    ) -> tuple[str, dict[str, Any]]:
        """Call a tool; gives a text for the client's model, and the same as JSON.

        Args:
            name: the tool's.
            given: its arguments.
            events: takes those of a run, for a page that shows it.
            told: hears of each step of a run.

        Raises:
            UsageError: no such tool, or wrong arguments.
            ThinkGraphError: the model, the store or the run failed.
        """
        if name not in self.names:
            raise UsageError(f"there is no tool '{one_line(name)}'; known: {', '.join(self.names)}")
        arguments = checked(name, given)
        if isinstance(arguments, LookUp):
            # Stores block; and threads end with the calls, not with the client's patience.
            found = await asyncio.to_thread(arguments.look_up, self.knowledge)
            return shown(found), dict(found)
        return await self._ask(cast("AskArguments", arguments), events, told)

    async def _ask(
        self, arguments: AskArguments, events: list[dict[str, Any]] | None, told: Told | None
    ) -> tuple[str, dict[str, Any]]:
        method = arguments.method or next(iter(self.fixed))
        if method not in self.fixed:
            raise UsageError(f"this server has no method '{one_line(method)}'; known: {', '.join(self.fixed)}")
        settings = client_settings(method, self.fixed[method], arguments.settings)
        graph = await asyncio.to_thread(self._graph, method)
        watch = self.watch(self.knowledge) if self.watch and events is not None else None
        modes: Any = ["custom", "updates", "values"] if watch else ["updates", "values"]
        state: Mapping[str, Any] = {}
        done = 0
        async for mode, part in graph.astream({"question": arguments.question}, context=settings, stream_mode=modes):
            if mode == "values":
                state = cast("Mapping[str, Any]", part)
                continue
            if watch and events is not None:
                # It looks labels up, and stores block.
                events += await asyncio.to_thread(lambda *read: list(watch.read(*read)), mode, part)
            if mode == "updates" and told is not None:
                done += len(part)
                await told(done, ", ".join(part))
        if (answer := cast("Answer | None", state.get("answer"))) is None:
            raise UsageError("the run would ask back, which this server cannot: leave out the setting 'ask_user'")
        if watch and events is not None:
            events.append(watch.finished(answer))
        return answer_text(answer), dict(answer)

    def _graph(self, method: str) -> Graph:
        with self._lock:
            if method not in self._graphs:
                self._graphs[method] = build(
                    method,
                    knowledge=self.knowledge,
                    model=self.models,
                    settings=self.fixed[method],
                    prompts=self.prompts,
                )
            return self._graphs[method]


def client_settings(
    method: str, fixed: Mapping[str, Any], given: Mapping[str, Any], *, also: Collection[str] = ()
) -> dict[str, Any]:
    """A client's settings of a method, within those that its server was started with; `also` are more that it may choose.

    Raises:
        SettingsError: one that is the server's to choose, a raised ceiling, or a value out of range.
    """
    schema = find_method(method).settings
    ours, theirs = resolve_settings(schema, fixed), resolve_settings(schema, fixed, given)
    for name in given:
        here, wanted = getattr(ours, name), getattr(theirs, name)
        if name in CEILINGS:  # which a client may lower and never raise
            if here is not None and (wanted is None or wanted > here):
                raise SettingsError(f"setting '{name}' can only be lowered: this server allows {here}")
        elif name in fixed and wanted != here:
            raise SettingsError(f"setting '{name}' was fixed at {here!r} when this server was started")
        elif name not in {*CLIENT_SETTINGS, *also} and wanted != here:
            raise SettingsError(f"setting '{name}' is the server's to choose; a client's: {', '.join(CLIENT_SETTINGS)}")
    return {**fixed, **given}


def checked(name: str, given: Mapping[str, Any]) -> Arguments:
    """A tool's arguments.

    Args:
        name: the tool's.
        given: what a client sent.

    Raises:
        UsageError: they are wrong; it says in a line which.
    """
    try:
        return ARGUMENTS[name].model_validate(given)
    except ValidationError as error:
        fault = error.errors()[0]
        place = one_line(".".join(str(part) for part in fault["loc"]))
        known = ", ".join(ARGUMENTS[name].model_fields)
        if wrong := {"extra_forbidden": "takes no", "missing": "needs"}.get(fault["type"]):
            raise UsageError(f"{name} {wrong} '{place}'; known: {known}") from None
        raise UsageError(f"{name}: '{place}': {one_line(str(fault['msg']))} (given: {fault['input']!r:.80})") from None
