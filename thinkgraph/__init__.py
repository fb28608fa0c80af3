"""Answers multi-hop questions over a knowledge graph and the documents about its entities, with cited evidence.

    import thinkgraph as tg
    graph = tg.build("tog2", knowledge=tg.Knowledge.open("world"))
    answer = graph.invoke({"question": "…"})["answer"]

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

from thinkgraph import version
from thinkgraph.tools.openers import BUNDLED, OPENERS, WRITERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from langchain_core.documents import Document

    from thinkgraph.errors import ThinkGraphError
    from thinkgraph.graphs.build import build
    from thinkgraph.ingest.build import BuildReport
    from thinkgraph.ingest.langchain import GraphDocument
    from thinkgraph.integrations.langchain.knowledge_tools import knowledge_tools
    from thinkgraph.integrations.langchain.otel import OpenTelemetryTracer
    from thinkgraph.integrations.langchain.retriever import ThinkGraphRetriever
    from thinkgraph.integrations.langchain.tool import ThinkGraphTool
    from thinkgraph.models.journal import MemoryJournal, SqliteJournal, StoreJournal
    from thinkgraph.plot.save import plot_answer
    from thinkgraph.tools.knowledge import Knowledge
    from thinkgraph.tools.progress import Progress
    from thinkgraph.tools.protocols import Embedder
    from thinkgraph.ui.share import save_page, show

__version__ = version.VERSION

_WHERE = {
    "Knowledge": "thinkgraph.tools.knowledge",
    "MemoryJournal": "thinkgraph.models.journal",
    "OpenTelemetryTracer": "thinkgraph.integrations.langchain.otel",
    "SqliteJournal": "thinkgraph.models.journal",
    "StoreJournal": "thinkgraph.models.journal",
    "ThinkGraphError": "thinkgraph.errors",
    "ThinkGraphRetriever": "thinkgraph.integrations.langchain.retriever",
    "ThinkGraphTool": "thinkgraph.integrations.langchain.tool",
    "build": "thinkgraph.graphs.build",
    "knowledge_tools": "thinkgraph.integrations.langchain.knowledge_tools",
    "plot_answer": "thinkgraph.plot.save",
    "save_page": "thinkgraph.ui.share",
    "show": "thinkgraph.ui.share",
}

__all__ = [
    "Knowledge",
    "MemoryJournal",
    "OpenTelemetryTracer",
    "SqliteJournal",
    "StoreJournal",
    "ThinkGraphError",
    "ThinkGraphRetriever",
    "ThinkGraphTool",
    "__version__",
    "build",
    "knowledge_tools",
    "plot_answer",
    "save_page",
    "show",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'thinkgraph' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def _open_neo4j(address: str, *, embedder: Embedder | None = None) -> Knowledge:
    from thinkgraph.tools.neo4j.opening import open_neo4j

    return open_neo4j(address, embedder=embedder)


def _open_sparql(address: str, *, embedder: Embedder | None = None) -> Knowledge:
    from thinkgraph.tools.sparql.address import open_sparql

    return open_sparql(address, embedder=embedder)


def _world(progress: Progress) -> Path:
    from thinkgraph.ingest.world import world_folder

    return world_folder(progress)


def _write_names(path: Path, labels: Mapping[str, str], aliases: Mapping[str, Sequence[str]]) -> None:
    from thinkgraph.ingest.writers.graph import write_names_only

    write_names_only(path, labels, aliases)


def _write_documents(folder: Path, documents: Iterable[Document], **options: Any) -> None:
    from thinkgraph.ingest.langchain import build_from_documents

    _warn(build_from_documents(folder, documents, **options).build)


def _write_graph_documents(folder: Path, documents: Iterable[GraphDocument], **options: Any) -> None:
    from thinkgraph.ingest.langchain import build_from_graph_documents

    _warn(build_from_graph_documents(folder, documents, **options))


def _warn(report: BuildReport) -> None:
    """Say what was left out: who builds from objects sees no report."""
    if report.examples:
        from thinkgraph.prompts.lines import one_line

        first, where = report.examples[0], report.folder / "build_report.jsonl"
        said = f"not used: {report.not_used} (see {where}), the first: {first['file']}: {first['reason']}"
        warnings.warn(one_line(said), stacklevel=4)  # of the line that calls Knowledge.from_documents


OPENERS.update(dict.fromkeys(("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc"), _open_neo4j))
OPENERS.update(dict.fromkeys(("sparql+http", "sparql+https"), _open_sparql))
BUNDLED["world"] = _world
WRITERS["names"] = _write_names
WRITERS["documents"] = _write_documents
WRITERS["graph documents"] = _write_graph_documents
