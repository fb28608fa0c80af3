"""The driver that carries out what nodes ask for, and everything that happens once for all nodes.

A node is a generator function `node(state, settings)` that yields requests (runtime/requests.py) and returns its state
update. Here it becomes a LangGraph node with a sync and an async path over the same core: manifest check, budget,
journal, usage records, events.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import os
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.config import set_config_context
from langgraph.graph import StateGraph
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Overwrite

from thinkgraph.errors import SettingsError
from thinkgraph.models.budget import BudgetSpentError, Ledger, ceilings
from thinkgraph.models.calls import CallResult, ModelCall, call_model, prompt_profile, turn
from thinkgraph.models.journal import Journal, MemoryJournal, StoreJournal
from thinkgraph.models.ops import Blocking, Flow, Gather, NodeFunction, Op, SendRequest, Sleep, Update
from thinkgraph.prompts.example_names import without_example_names
from thinkgraph.prompts.kinds import TEXTS
from thinkgraph.prompts.library import Message
from thinkgraph.runtime.ceilings import Ceilings, changed_manifest
from thinkgraph.runtime.deps import Deps
from thinkgraph.runtime.manifest import settings_of
from thinkgraph.runtime.requests import Converse, Fetch, InNode, NodeScope
from thinkgraph.runtime.shortlist import nearest, prunes, renumbered, shortlist, with_nearest_clues
from thinkgraph.runtime.state_errors import explain_edits
from thinkgraph.state.events import Event, Stopped
from thinkgraph.state.settings import RunSettings
from thinkgraph.state.usage import WorkRecord
from thinkgraph.tools.meter import Meter, counting

T = TypeVar("T")

_WORKERS = 64
"""Threads that carry out blocking requests under the async driver, for all runs of the process."""


_CLOCK = time.time() - time.monotonic()
"""The time of day less the steady clock, taken once: setting the clock while the process runs makes no step longer or shorter."""

_KEPT = 10_000
"""Replies kept in memory for runs that ask the person and have no journal: a node that waits starts again from its top."""


@functools.cache
def _pool(_process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_WORKERS, thread_name_prefix="thinkgraph")


async def _to_the_end(future: asyncio.Future[T]) -> T:
    """The result of a short piece of work. A task that is cancelled, even twice, waits until the work is done, so that a reply is kept."""
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait({future})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return future.result()


class Driver:
    """Carries out the operations of flows, in this thread (`drive`) or on an event loop (`adrive`)."""

    def __init__(self, config: RunnableConfig, deps: Deps | None = None, scope: NodeScope | None = None) -> None:
        """Bind what operations need.

        Args:
            config: of the LangGraph run, for model calls.
            deps: the knowledge; without it a flow may not ask for any.
            scope: the node execution; without it a flow may neither call models by role nor emit.
        """
        self._config = config
        self._deps = deps
        self._scope = scope

    def drive(self, flow: Flow[T]) -> T:
        """Carry a flow out in this thread."""
        resume: Callable[[], Op[Any]] = functools.partial(next, flow)
        while True:
            try:
                op = resume()
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]
            try:
                resume = functools.partial(flow.send, self._do(op))
            # Also what ends the whole run (Ctrl-C, a cancelled task): the flow keeps what it tried, and lets it rise.
            except BaseException as error:  # noqa: BLE001
                resume = functools.partial(flow.throw, error)

    async def adrive(self, flow: Flow[T]) -> T:
        """Carry a flow out on this event loop."""
        resume: Callable[[], Op[Any]] = functools.partial(next, flow)
        while True:
            try:
                op = resume()
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]
            try:
                resume = functools.partial(flow.send, await self._ado(op))
            except BaseException as error:  # noqa: BLE001 - as above
                resume = functools.partial(flow.throw, error)

    def _do(self, op: Op[Any]) -> Any:  # noqa: PLR0911 - a return for each operation
        match op:
            case Blocking() | Fetch():
                return self._blocking(op)
            case ModelCall():
                return self.drive(self._called(op))
            case SendRequest():
                return op.client.invoke(op.messages, op.options, self._call_config(op.role))
            case Sleep():
                time.sleep(op.seconds)
                return None
            case Gather():
                with ThreadPoolExecutor(max(1, min(len(op.flows), _WORKERS))) as pool:
                    run = [functools.partial(contextvars.copy_context().run, self.drive, flow) for flow in op.flows]
                    futures = [pool.submit(one) for one in run]
                return [future.result() for future in futures]
            case Converse():
                return op.run(lambda call, messages: self.drive(self._turn(call, messages)), self._knowing)
            case _:
                return self._at_once(op)

    async def _ado(self, op: Op[Any]) -> Any:  # noqa: PLR0911 - as above
        match op:
            case Blocking() | Fetch():
                context = contextvars.copy_context()
                work = functools.partial(context.run, self._blocking, op)
                # A forked process has none of its parent's threads, and would wait for them for ever.
                future = asyncio.get_running_loop().run_in_executor(_pool(os.getpid()), work)
                return await (_to_the_end(future) if isinstance(op, Blocking) else future)
            case ModelCall():
                return await self.adrive(self._called(op))
            case SendRequest():
                return await op.client.ainvoke(op.messages, op.options, self._call_config(op.role))
            case Sleep():
                await asyncio.sleep(op.seconds)
                return None
            case Gather():
                results = await asyncio.gather(*map(self.adrive, op.flows), return_exceptions=True)
                for result in results:
                    if isinstance(result, BaseException):
                        raise result
                return results
            case Converse():
                return await op.arun(lambda call, messages: self.adrive(self._turn(call, messages)), self._knowing)
            case _:
                return self._at_once(op)

    def _blocking(self, op: Blocking[Any] | Fetch[Any]) -> Any:
        if isinstance(op, Blocking):
            return op.function()
        found = op.function(self._knowing)
        left_out = self._scope.left_out if self._scope else ()
        if op.links and left_out:
            return [[link for link in links if link["entity"]["id"] not in left_out] for links in found]
        return found

    def _at_once(self, op: Op[Any]) -> Any:
        if isinstance(op, InNode):
            return op.function(self._in_node)
        raise TypeError(f"a flow yields operations, not {type(op).__name__}")

    def _called(self, call: ModelCall[T]) -> Flow[CallResult[T]]:
        """Make a call with as many options as its prompt shows; what the reply copied from the prompt's examples is left out."""
        scope = self._in_node
        prompt = scope.prompts.get(call.role)
        profile = prompt_profile(prompt, scope.models, scope.settings)
        if prunes(prompt, scope.settings):
            return CallResult((yield from nearest(call)), fell_back=False)
        shown, numbers = yield from shortlist(call, prompt.most_options(profile))
        shown = yield from with_nearest_clues(shown, prompt, profile)
        result = yield from self._with_room(functools.partial(call_model, shown, scope))
        if call.kind.name != TEXTS.name:  # these stand for their options one by one, and are checked against them
            value = without_example_names(result.value, prompt.example_names, call.inputs)
            result = CallResult(value, fell_back=result.fell_back)
        return renumbered(call, result, numbers)

    def _with_room(self, call: Callable[[], Flow[T]]) -> Flow[T]:
        """Make a call; where a ceiling leaves no room for it, ask the person for more, if that is wanted."""
        scope = self._in_node
        while True:
            tried = scope.ceilings.version
            try:
                return (yield from call())
            except BudgetSpentError as spent:
                # As this node, also from within the search agent's own graph, whose tasks have no place to keep a reply.
                with set_config_context(self._config) as node:
                    more = node.run(scope.ceilings.more, spent, scope.ledger, tried)
                if not more:
                    raise

    def _turn(self, call: ModelCall[Any], messages: Sequence[Message]) -> Flow[AIMessage]:
        return self._with_room(functools.partial(turn, call, messages, self._in_node))

    def _call_config(self, role: str) -> RunnableConfig:
        # "nostream" keeps the JSON of internal calls out of token streams.
        return {**self._config, "tags": [*(self._config.get("tags") or ()), "nostream", role], "run_name": role}

    @property
    def _in_node(self) -> NodeScope:
        if self._scope is None:
            raise TypeError("models are called by role, and events emitted, within a graph only")
        return self._scope

    @property
    def _knowing(self) -> Deps:
        if self._deps is None:
            raise TypeError("this flow has no knowledge to ask")
        return self._deps


def _node_flow(
    function: NodeFunction, state: Mapping[str, Any], scope: NodeScope, meter: Meter, *, entry: bool
) -> Flow[Update]:
    began = _CLOCK + time.monotonic()
    try:
        update = yield from function(state, scope.settings)
    except BudgetSpentError as spent:
        # The node did not handle it: the run goes to its closing node with what it has.
        scope.emit(Stopped(type="stopped", reason=spent.reason))
        update = {"stopped": spent.reason}
    work = WorkRecord(
        node=scope.node,
        started=began,
        ended=_CLOCK + time.monotonic(),
        store_round_trips=meter.store_round_trips,
        encoder_texts=meter.encoder_texts,
        generated_texts=meter.generated_texts,
    )
    if changed := scope.ceilings.changes():
        begun = update.get("manifest") or state["manifest"]
        update = {**update, "manifest": changed_manifest(begun, changed)}
        if scope.in_branch:
            # The branch's next node has the raised share.
            update["quota"] = scope.ledger.quota
    records, worked = scope.records, {scope.place: work}
    if entry:
        # A new question never inherits what the thread's last one used.
        return {**update, "calls": Overwrite(records), "work": Overwrite(worked)}
    return {**update, **({"calls": records} if records else {}), "work": worked}


class _Node(Runnable[Any, Update]):
    """The two paths of a node. LangGraph already gives every node a traced run and its context: a `RunnableLambda` would open
    a second one inside it, for a tenth of our time per question.
    """

    def __init__(
        self,
        name: str,
        run: Callable[[Mapping[str, Any], RunnableConfig], Update],
        arun: Callable[[Mapping[str, Any], RunnableConfig], Awaitable[Update]],
    ) -> None:
        self.name = name
        self._run = run
        self._arun = arun

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Update:  # noqa: A002 - Runnable's
        """See Runnable."""
        return self._run(input, config or {})

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Update:  # noqa: A002
        """See Runnable."""
        return await self._arun(input, config or {})


_OUTER = "__thinkgraph_outer"
"""Key of a run's configuration."""


@dataclass(frozen=True)
class _Outer:
    """What the nodes of a subgraph take from the node that runs it."""

    writer: Callable[[Event], None]
    """LangGraph's own writer of a subgraph is silent unless the caller streams with `subgraphs=True`."""
    within: str
    """See `CallScope`. The subgraph's own namespace names a checkpoint: it changes where a lost one is made again."""


def _around(config: RunnableConfig) -> str:
    """The namespace of the graph that a node belongs to; empty for the outermost.

    LangGraph also counts how often a task has run it. A task that is tried again has paid for its replies the first time.
    """
    outer = str(config.get("configurable", {}).get("checkpoint_ns") or "").split("|")[:-1]
    return "|".join(part for part in outer if not part.isdigit())


def _place(node: str, state: Mapping[str, Any]) -> str:
    """See `CallScope`. A search that goes back may run a node again in the same round."""
    back, part = state.get("backtracked", 0), state.get("part", "")
    return f"{node}/{state.get('round', 0)}" + f"+{back}" * bool(back) + f"/{part}" * bool(part)


class NodeRunner:
    """Makes LangGraph nodes of one method out of node functions."""

    def __init__(self, deps: Deps, settings: type[RunSettings], defaults: Mapping[str, Any]) -> None:
        """Bind what all nodes of a graph share.

        Args:
            deps: knowledge, models, prompts.
            settings: the method's settings class.
            defaults: settings given when the graph was built.
        """
        self._deps = deps
        self.settings = settings
        self._defaults = dict(defaults)
        self._kept = MemoryJournal(limit=_KEPT)
        self.method = ""
        """Whose nodes they are: known once the graph is wired."""
        self.shapes: dict[str, type[Any]] = {}
        """By node, the form of what it is given: known once the graph is wired."""

    def node(self, name: str, function: NodeFunction, *, entry: bool = False) -> Runnable[Any, Update]:
        """A LangGraph node that runs `function` in both modes.

        Args:
            name: the node's name, part of journal keys.
            function: the transition.
            entry: it starts a new run: whatever manifest and usage the thread still holds belong to an earlier one.
        """

        @contextmanager
        def begun(state: Mapping[str, Any], config: RunnableConfig) -> Iterator[tuple[Driver, Flow[Update]]]:
            runtime, meter = get_runtime(self.settings), Meter()
            with explain_edits(state, self.shapes.get(name)), counting(meter):
                manifest, context = None if entry else state["manifest"], runtime.context
                settings = settings_of(manifest, self.settings, self._defaults, context, self._deps, self.method)
                # The entry node belongs to the run that it starts: its calls are not the last question's.
                number = (state.get("manifest") or {}).get("run", 0) + entry
                scope = self._scope(name, {} if entry else state, number, settings, config, runtime)
                yield Driver(config, self._deps, scope), _node_flow(function, state, scope, meter, entry=entry)

        def run(state: Mapping[str, Any], config: RunnableConfig) -> Update:
            with begun(state, config) as (driver, flow):
                return driver.drive(flow)

        async def arun(state: Mapping[str, Any], config: RunnableConfig) -> Update:
            with begun(state, config) as (driver, flow):
                return await driver.adrive(flow)

        return _Node(name, run, arun)

    def branch(self, graph: StateGraph[Any, Any, Any, Any]) -> Runnable[Any, Update]:
        """A LangGraph node that runs a subgraph: one branch of a fan-out, with a step for each of its nodes.

        Args:
            graph: of nodes of this runner. Its state has the channels `calls`, `work`, `stopped`, `manifest` and `quota`, and its
                output all of them but the last.
        """
        self.shapes.update({name: node.input_schema for name, node in graph.nodes.items()})
        compiled = graph.compile()

        def inner(config: RunnableConfig) -> RunnableConfig:
            outer = _Outer(get_runtime(self.settings).stream_writer, _around(config))
            return {**config, "configurable": {**config.get("configurable", {}), _OUTER: outer}}

        def run(state: Any, config: RunnableConfig) -> Update:
            return compiled.invoke(state, inner(config))

        async def arun(state: Any, config: RunnableConfig) -> Update:
            return await compiled.ainvoke(state, inner(config))

        # Not `_Node`: in a `RunnableLambda` LangGraph finds the subgraph, for Studio and `get_state(subgraphs=True)`.
        return RunnableLambda(run, arun)

    def _scope(
        self,
        name: str,
        state: Mapping[str, Any],
        number: int,
        settings: RunSettings,
        config: RunnableConfig,
        runtime: Runtime[Any],
    ) -> NodeScope:
        given = config.get("configurable", {})
        thread = str(given.get("thread_id") or "")
        journal: Journal | None = self._deps.journal
        if journal is None and runtime.store is not None:
            journal = StoreJournal(runtime.store)
        manifest: Any = state.get("manifest") or {}
        if settings.ask_user != "never":
            # The checkpointer of the graph, or of the one around it, as LangGraph hands it to every node.
            if given.get("__pregel_checkpointer") is None:
                raise SettingsError(
                    f"ask_user={settings.ask_user} needs a checkpointer and a thread: a run that waits must be kept"
                )
            journal = journal or self._kept
        asking = settings.ask_user in {"budget", "both"} and not manifest.get("enough")
        outer: _Outer | None = given.get(_OUTER)
        return NodeScope(
            models=self._deps.models,
            prompts=self._deps.prompts,
            # Without a thread nothing can be resumed, and keys would collide between runs.
            journal=journal if thread else None,
            thread=thread,
            run=number,
            node=name,
            place=_place(name, state),
            settings=settings,
            # A node of a branch has a share of the ceilings, of which earlier nodes of the branch may have used some.
            ledger=Ledger(state.get("quota") or ceilings(settings), settings, state.get("calls"), state.get("work")),
            emit=outer.writer if outer else runtime.stream_writer,
            within=outer.within if outer else _around(config),
            in_branch=outer is not None,
            ceilings=Ceilings(settings, ask=asking),
            left_out=frozenset(manifest.get("not_meant", ())),
        )
