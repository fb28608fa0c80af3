"""Graphs for tests, from rows at hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from thinkgraph.ingest.readers.files import EntityRow, TripleBatch
from thinkgraph.ingest.writers.graph import GraphCounts, write_graph
from thinkgraph.ingest.writers.loader import TripleLoader, remove_load


def built_graph(
    path: Path,
    batches: Iterable[TripleBatch],
    *,
    entities: Iterable[EntityRow] = (),
    aliases: Mapping[str, Sequence[str]] | None = None,
    detect_literals: bool = True,
) -> tuple[GraphCounts, list[str]]:
    """Write `graph.sqlite`; gives its counts and the aliases of nothing."""
    with TripleLoader(path) as loader:
        loader.add(batches)
        loader.describe(entities)
        state = loader.finish(detect_literals=detect_literals)
    found = write_graph(path, state, meta={"name": "test", "fingerprint": "f1"}, aliases=(aliases or {}).items())
    remove_load(path)
    return found
