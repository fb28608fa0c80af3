"""An index of names alone: a graph file without triples, for a graph that lies elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from thinkgraph.ingest.readers.files import EntityRow
from thinkgraph.ingest.writers.graph import GraphWriter


def write_names_only(path: Path, labels: Mapping[str, str], aliases: Mapping[str, Sequence[str]]) -> None:
    """Write a file in which `SqliteGraphStore` finds entities by name and knows nothing else of them.

    Args:
        path: the new file.
        labels: the label of each entity, by its id.
        aliases: further names, by id.
    """
    with GraphWriter(path) as writer:
        rows = (EntityRow(0, id_, label, "", "") for id_, label in labels.items())
        meta = {"name": "names", "fingerprint": "names"}
        writer.finish(meta=meta, detect_literals=False, entities=rows, aliases=aliases)
