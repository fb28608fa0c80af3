"""The graphs that `langgraph.json` exports: one factory per method, configured by the environment.

THINKGRAPH_KB (default `world`) names the knowledge base, THINKGRAPH_MODEL (default `offline`) the model, and so on, or a file
thinkgraph.toml says it (thinkgraph/config.py). A server compiles checkpointer and store in by itself.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Any

from langgraph_sdk.runtime import ServerRuntime

from thinkgraph.config import load_config
from thinkgraph.errors import SettingsError
from thinkgraph.graphs.build import Graph, build, outline
from thinkgraph.graphs.registry import find_method
from thinkgraph.models.prices import load_prices
from thinkgraph.state.settings import resolve_settings
from thinkgraph.tools.knowledge import Knowledge

_lock = threading.Lock()
_built: dict[str, Graph] = {}
_outline = cache(outline)

_NOT_OURS = frozenset({"thread_id", "run_id", "assistant_id", "graph_id", "checkpoint_id", "checkpoint_ns"})
"""What clients put beside settings for LangGraph itself."""


@cache
def _knowledge(kb: str, text: str | None, trust_embedder: bool) -> Knowledge:  # noqa: FBT001 - cached by its arguments
    return Knowledge.open(kb, text=text, trust_embedder=trust_embedder)


def _served(method: str, context: object) -> Graph:
    if isinstance(context, Mapping):
        # The server would drop a name that it does not know, and the run would go on without it.
        given = {name: value for name, value in context.items() if name not in _NOT_OURS and not name.startswith("_")}
        resolve_settings(find_method(method).settings, given)
        _names_no_model(method, given)
    # Runs that come at the same time share one opened knowledge base; a failed opening is tried again.
    with _lock:
        if method not in _built:
            config = load_config()
            prices = config.get("prices")
            _built[method] = build(
                method,
                knowledge=_knowledge(config.get("kb"), config.get("text"), bool(config.get("trust_embedder"))),
                model=config.get("model"),
                settings=config.settings(method),
                prompts=config.get("prompts"),
                prices=load_prices(prices) if prices else None,
                profiles=config.get("models"),
            )
        return _built[method]


def _names_no_model(method: str, given: Mapping[str, Any]) -> None:
    """A client's settings load no model and probe no folder; the server's own may."""
    for name, value in given.items():
        if isinstance(value, str) and value.startswith(("cross-encoder:", "g2t:")):
            if value == load_config().settings(method).get(name):
                continue
            raise SettingsError(f"setting '{name}': a model or folder is the server's to name, in its thinkgraph.toml")


def _factory(method: str) -> Callable[[ServerRuntime[Any]], Awaitable[Graph]]:
    async def serve(runtime: ServerRuntime[Any]) -> Graph:
        # The server asks on its event loop, and also where it wants no more than schemas or a thread's state.
        running = runtime.execution_runtime
        if running is None:
            return await asyncio.to_thread(_outline, method)
        return await asyncio.to_thread(_served, method, running.context)

    serve.__name__ = serve.__qualname__ = method
    serve.__doc__ = find_method(method).summary
    return serve


# `langgraph.json` names each factory as an attribute of this module.
tog2 = _factory("tog2")
fasttog = _factory("fasttog")
fiske = _factory("fiske")
coggrag = _factory("coggrag")
paths = _factory("paths")
search_agent = _factory("search_agent")
tog = _factory("tog")
rag = _factory("rag")
kg_rag = _factory("kg_rag")
direct = _factory("direct")
cot = _factory("cot")
cot_sc = _factory("cot_sc")
