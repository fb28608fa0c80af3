"""Encodes a graph's entities, so that a mention whose words no name shares can be linked by what it means."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from thinkgraph.ingest.passages import build_text
from thinkgraph.tools.progress import Progress
from thinkgraph.tools.sqlite.file import chunks
from thinkgraph.tools.vectorstores.index import entity_passage

if TYPE_CHECKING:
    from thinkgraph.state.knowledge import Passage, TextInfo
    from thinkgraph.tools.protocols import Embedder
    from thinkgraph.tools.sqlite.graph import SqliteGraphStore

MOST_ENTITIES = 50_000
"""Entities encoded at most, those with the most triples: some minutes of work, however large the graph is."""

_BATCH = 500


def build_entities(
    path: Path, graph: SqliteGraphStore, *, embedder: Embedder, progress: Progress, name: str
) -> TextInfo:
    """Write the vectors of the graph's entities to `path`; resumable as `build_text` is.

    Raises:
        KnowledgeError: the file cannot be written or the embedder fails.
    """
    total = min(graph.info()["entities"], MOST_ENTITIES)
    rows = _rows(graph)
    return build_text(path, rows, embedder=embedder, progress=progress, total=total, name=name, stage="entities")


def _rows(graph: SqliteGraphStore) -> Iterator[Passage]:
    for ids in chunks(graph.most_linked(MOST_ENTITIES), _BATCH):
        yield from (entity_passage(entity) for entity in graph.entities(ids) if entity is not None)
