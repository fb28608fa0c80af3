"""From a method's name to a compiled LangGraph graph."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import DEFAULT_RECURSION_LIMIT, merge_configs
from langgraph.errors import EmptyInputError
from langgraph.graph.state import CompiledStateGraph, StateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer, Command

from thinkgraph.errors import UsageError
from thinkgraph.graphs.checkpoints import strict
from thinkgraph.graphs.registry import find_method
from thinkgraph.graphs.wiring import RunGraph
from thinkgraph.models.journal import Journal
from thinkgraph.models.prices import Prices
from thinkgraph.models.roles import OFFLINE, Models, ModelSpec
from thinkgraph.prompts.library import PromptLibrary
from thinkgraph.prompts.lines import one_line
from thinkgraph.runtime.deps import Deps
from thinkgraph.runtime.driver import NodeRunner
from thinkgraph.runtime.state_errors import check_edit, check_fit
from thinkgraph.state.settings import RunSettings, explicit, resolve_settings
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.protocols import Ranker, lacking

MAX_CONCURRENCY = 64
"""Tasks of one fan-out that run at a time. LangGraph's own default for sync nodes is the number of cores plus four."""
MAX_STEPS = 10_000
"""LangGraph's own default, as good as none."""

Graph = CompiledStateGraph[Any, Any, Any, Any]


class MethodGraph(Graph):
    """A compiled method. Its own ceilings bound a run, not LangChain's default of 25 steps, which every runnable around it passes on."""

    def stream(self, input: Any, config: RunnableConfig | None = None, *, context: Any = None, **kwargs: Any) -> Any:  # noqa: A002
        """See Pregel. Raises SettingsError for a context that does not fit."""
        self._check_input(config, input)
        if (edit := self._edit_of(config, input)) is not None:
            check_fit(self.get_state(config or {}).values, edit, self.channels, self._unfit)
        run = super().stream(input, _unbounded(config), context=self._as_given(context), **kwargs)
        return _gone_on(run) if input is None else run

    def astream(self, input: Any, config: RunnableConfig | None = None, *, context: Any = None, **kwargs: Any) -> Any:  # noqa: A002
        """As `stream`."""
        self._check_input(config, input)
        run: Any = super().astream(input, _unbounded(config), context=self._as_given(context), **kwargs)
        if (edit := self._edit_of(config, input)) is not None:
            return self._afitting(config or {}, edit, run)
        return _agone_on(run) if input is None else run

    def update_state(self, config: RunnableConfig, values: Any, *args: Any, **kwargs: Any) -> RunnableConfig:
        """See Pregel. Raises StateFormError for a channel that there is not, or in the wrong form."""
        self._check(config, values)
        if self._unfit and isinstance(values, Mapping):
            check_fit(self.get_state(config).values, values, self.channels, self._unfit)
        return super().update_state(config, values, *args, **kwargs)

    async def aupdate_state(self, config: RunnableConfig, values: Any, *args: Any, **kwargs: Any) -> RunnableConfig:
        """As `update_state`."""
        self._check(config, values)
        if self._unfit and isinstance(values, Mapping):
            check_fit((await self.aget_state(config)).values, values, self.channels, self._unfit)
        return await super().aupdate_state(config, values, *args, **kwargs)

    @property
    def _unfit(self) -> Any:
        return cast("RunGraph", self.builder).unfit

    def _as_given(self, context: Any) -> Any:
        """The context, checked. LangGraph would make settings of a dict by itself: a preset's values would override the build's."""
        if context is not None:
            resolve_settings(self.context_schema or RunSettings, cast("RunGraph", self.builder).defaults, context)
        return MappingProxyType(context) if isinstance(context, dict) else context

    def _edit_of(self, config: RunnableConfig | None, given: Any) -> Mapping[str, Any] | None:
        """What a command writes into a kept state whose parts must fit."""
        place = merge_configs(self.config, config).get("configurable", {})
        if not (self._unfit and self.checkpointer and place.get("thread_id")) or place.get("checkpoint_ns"):
            return None
        return given.update if isinstance(given, Command) and isinstance(given.update, Mapping) else None

    async def _afitting(
        self, config: RunnableConfig, edit: Mapping[str, object], run: AsyncGenerator[Any, None]
    ) -> AsyncIterator[Any]:
        check_fit((await self.aget_state(config)).values, edit, self.channels, self._unfit)
        async with aclosing(run):
            async for part in run:
                yield part

    def _check_input(self, config: RunnableConfig | None, given: object) -> None:
        _must_ask(given)
        if isinstance(given, Command):
            self._check(config, given.update)

    def _check(self, config: RunnableConfig | None, values: Any) -> None:
        # A subgraph's channels are its own.
        if not ((config or {}).get("configurable") or {}).get("checkpoint_ns"):
            check_edit(values, self.builder.state_schema, self.channels)


def _must_ask(given: object) -> None:
    """A thread keeps its last question: an input without one would ask that again, and pass for an answer to what was meant.

    Raises:
        UsageError: neither a question nor a message, or what is no input at all.
    """
    if isinstance(given, str | bytes | int | float | list | tuple):
        told = one_line(repr(given))[:80]
        raise UsageError(f"a graph is asked with {{'question': '…'}} or {{'messages': […]}}, not with {told}")
    if isinstance(given, Command) and given.resume is None and not (given.update or given.goto):
        # LangGraph fails over it, with an UnboundLocalError.
        raise UsageError("an empty Command does nothing: go on with None, or answer the run with Command(resume='…')")
    if isinstance(given, Mapping) and "question" not in given and not given.get("messages"):
        names = ", ".join(repr(one_line(str(name))[:40]) for name in list(given)[:5] if name != "messages")
        raise UsageError(
            "the question is empty: ask by 'question' or 'messages'" + (f", not by {names}" if names else "")
        )


@contextmanager
def _something_to_go_on_with() -> Iterator[None]:
    """Raises UsageError where a run without an input has no thread to go on with."""
    try:
        yield
    except EmptyInputError as error:
        raise UsageError(
            "there is no run to go on with on this thread: ask by 'question' or 'messages', or name the thread of a run"
        ) from error


def _gone_on(run: Iterator[Any]) -> Iterator[Any]:
    with _something_to_go_on_with():
        yield from run


async def _agone_on(run: AsyncGenerator[Any, None]) -> AsyncIterator[Any]:
    with _something_to_go_on_with():
        async with aclosing(run):
            async for part in run:
                yield part


def _unbounded(config: RunnableConfig | None) -> RunnableConfig | None:
    """The config with LangGraph's own limit in place of one that nobody asked for."""
    if config is None or config.get("recursion_limit") != DEFAULT_RECURSION_LIMIT:
        return config
    return {**config, "recursion_limit": MAX_STEPS}


def build(
    method: str,
    *,
    knowledge: Knowledge | str | Path = "world",
    model: ModelSpec | Models = OFFLINE,
    settings: Mapping[str, Any] | RunSettings | None = None,
    ranker: Ranker | None = None,
    prompts: str | Path | None = None,
    prices: Prices | None = None,
    profiles: Mapping[str, Mapping[str, Any]] | None = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    journal: Journal | None = None,
) -> Graph:
    """Build a method's graph: `graph.invoke({"question": "…"})["answer"]`.

    Args:
        method: a registered name ("tog2").
        knowledge: opened knowledge, or what `Knowledge.open` takes.
        model: "offline" (no weights, no key, no network), "provider:name", a LangChain chat model, or a mapping by role,
            stage or "default"; or `Models`, made once for several graphs (its prices count). No other model is ever chosen for you, whatever keys the environment holds.
        settings: defaults of this graph; a run's `context=` overrides them.
        ranker: an object of your own instead of the setting `ranker`.
        prompts: folder with files that override built-in prompts.
        prices: additions to the price table, needed only for `max_cost`.
        profiles: what you know of models, by name: `{"ollama:qwen3": {"window": 8192, "size": "small"}}`.
        checkpointer: LangGraph checkpointer, for runs that pause and resume; see `graphs.checkpoints.strict`.
        store: LangGraph store; with a checkpointer it also keeps the journal, unless `journal` is given.
        journal: where replies are kept so that a resumed run never pays for one twice.

    Raises:
        UsageError: an unknown method, a malformed model name, or what is no journal, ranker, store or price table.
        SettingsError: unknown or out-of-range settings.
        KnowledgeError: the knowledge cannot be opened.
        PromptError: a malformed prompt of your own.
    """
    chosen = find_method(method)
    defaults = explicit(settings)
    resolve_settings(chosen.settings, defaults)
    _check_parts(journal, ranker, store)
    opened = knowledge if isinstance(knowledge, Knowledge) else Knowledge.open(knowledge)
    deps = Deps(
        knowledge=opened,
        models=model
        if isinstance(model, Models)
        else Models(model, offline=offline_model(opened), prices=prices, profiles=profiles),
        prompts=PromptLibrary(prompts),
        journal=journal,
        own_ranker=ranker,
    )
    runner = NodeRunner(deps, chosen.settings, defaults)
    graph = cast("RunGraph", chosen.wire(runner))
    graph.defaults = defaults
    runner.shapes.update({name: node.input_schema for name, node in graph.nodes.items()})
    compiled = _compiled(graph, checkpointer=strict(checkpointer), store=store, name=chosen.name)
    return compiled.with_config({"max_concurrency": MAX_CONCURRENCY})


def _check_parts(journal: object, ranker: object, store: object) -> None:
    """Refuse what is no journal, no ranker and no store before a run fails over it.

    Raises:
        UsageError: naming what was given.
    """
    if journal is not None and not isinstance(journal, Journal):
        # A LangGraph store has `get` and `put` too: it would only fail when a run is resumed.
        raise UsageError(
            f"journal= takes a journal, such as tg.SqliteJournal('journal.sqlite'), not {journal!r:.80}; a LangGraph store is "
            "given as store=, or as journal=tg.StoreJournal(store)"
        )
    if store is not None and not isinstance(store, BaseStore):
        raise UsageError(
            f"store= takes a LangGraph store, such as InMemoryStore(), not {store!r:.80}; one that `from_conn_string` gives is "
            "opened by `with … as store`"
        )
    if ranker is not None and (missing := lacking(ranker, Ranker)):
        raise UsageError(
            f"ranker= takes a Ranker (thinkgraph/tools/protocols.py): {type(ranker).__name__} lacks {', '.join(missing)}; "
            "one that has a name is a setting: settings={'ranker': 'bm25'}"
        )


def _compiled(graph: StateGraph[Any, Any, Any, Any], **options: Any) -> Graph:
    compiled = graph.compile(**options)
    # LangGraph compiles to a class of its own.
    compiled.__class__ = MethodGraph
    return compiled


def outline(method: str) -> Graph:
    """A method's graph without knowledge and model: for schemas, drawings and kept states. It cannot run.

    Raises:
        UsageError: an unknown method.
    """
    chosen = find_method(method)
    nothing = cast("Deps", None)  # used by nodes only, and no node ever runs
    return _compiled(chosen.wire(NodeRunner(nothing, chosen.settings, {})), name=chosen.name)


def offline_model(knowledge: Knowledge) -> Callable[[], BaseChatModel]:
    """Makes the offline model with the knowledge's own encoder."""

    def make() -> BaseChatModel:
        from thinkgraph.models.offline import OfflineChatModel
        from thinkgraph.tools.encoders.embeddings import embed_array
        from thinkgraph.tools.encoders.words import WORDS

        embedder = knowledge.embedder
        if embedder.name == WORDS:  # the model's thresholds are an encoder's; by words it has rules of its own
            return OfflineChatModel(embed=None)
        return OfflineChatModel(embed=lambda texts: embed_array(embedder, texts).tolist())

    return make
