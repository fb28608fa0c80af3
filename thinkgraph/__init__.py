"""Answers multi-hop questions over a knowledge graph and the documents about its entities, with cited evidence.

    import thinkgraph as tg
    graph = tg.build("tog2", knowledge=tg.Knowledge.open("world"))
    answer = graph.invoke({"question": "…"})["answer"]

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from thinkgraph import version

if TYPE_CHECKING:
    from thinkgraph.errors import ThinkGraphError
    from thinkgraph.graphs.build import build
    from thinkgraph.integrations.langchain.knowledge_tools import knowledge_tools
    from thinkgraph.integrations.langchain.retriever import ThinkGraphRetriever
    from thinkgraph.integrations.langchain.tool import ThinkGraphTool
    from thinkgraph.models.journal import MemoryJournal, SqliteJournal, StoreJournal
    from thinkgraph.plot.save import plot_answer
    from thinkgraph.tools.knowledge import Knowledge

__version__ = version.VERSION

_WHERE = {
    "Knowledge": "thinkgraph.tools.knowledge",
    "MemoryJournal": "thinkgraph.models.journal",
    "SqliteJournal": "thinkgraph.models.journal",
    "StoreJournal": "thinkgraph.models.journal",
    "ThinkGraphError": "thinkgraph.errors",
    "ThinkGraphRetriever": "thinkgraph.integrations.langchain.retriever",
    "ThinkGraphTool": "thinkgraph.integrations.langchain.tool",
    "build": "thinkgraph.graphs.build",
    "knowledge_tools": "thinkgraph.integrations.langchain.knowledge_tools",
    "plot_answer": "thinkgraph.plot.save",
}

__all__ = [
    "Knowledge",
    "MemoryJournal",
    "SqliteJournal",
    "StoreJournal",
    "ThinkGraphError",
    "ThinkGraphRetriever",
    "ThinkGraphTool",
    "__version__",
    "build",
    "knowledge_tools",
    "plot_answer",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'thinkgraph' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
