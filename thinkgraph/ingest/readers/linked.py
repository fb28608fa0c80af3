"""Ties passages to the entities of a graph, by the ids or labels they name, else by their title."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from pathlib import Path

from thinkgraph.ingest.readers.files import PassageRow
from thinkgraph.ingest.readers.rejects import Rejects
from thinkgraph.state.knowledge import Passage
from thinkgraph.tools.protocols import GraphStore

_BATCH = 500
_NAMESAKES = 10
_NAMED = 3
"""Most names that one remark lists."""


def linked_passages(
    graph: GraphStore, rows: Iterable[tuple[Path, PassageRow]], rejects: Rejects, counts: Counter[str]
) -> Iterator[Passage]:
    """The passages with the ids of their entities. A second passage under an id is reported and left out; a passage
    about no known entity is kept, and `counts["not linked"]` goes up. What it names that the graph lacks, beside what it has, is
    reported.
    """
    seen: set[bytes] = set()  # digests, so that millions of long ids stay small
    stream = iter(rows)
    while batch := list(islice(stream, _BATCH)):
        kept = []
        for path, row in batch:
            digest = blake2b(row.id.encode("utf-8", "replace"), digest_size=12).digest()
            if digest in seen:
                rejects.add(path, row.line, f"the id {row.id[:80]!r} was used before", kind="duplicate id")
                continue
            seen.add(digest)
            kept.append((path, row))
        named = [row.entities if row.entities is not None else [row.title] * bool(row.title) for _, row in kept]
        found = resolve(graph, {name for names in named for name in names})
        for (path, row), names in zip(kept, named, strict=True):
            entities = list(dict.fromkeys(entity for name in names for entity in found.get(name, ())))
            counts["not linked"] += not entities
            if entities and (lacking := [name for name in names if not found[name]]):
                listed = ", ".join(map(repr, (name[:80] for name in lacking[:_NAMED])))
                more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
                rejects.add(
                    path, row.line, f"the passage names {listed}{more}, which the graph lacks", kind="unknown entity"
                )
            yield {"id": row.id, "entities": entities, "title": row.title, "section": row.section, "text": row.text}


def resolve(graph: GraphStore, names: set[str]) -> dict[str, list[str]]:
    """The entities that each name stands for: the one with that id; else all with that label; else with that alias."""
    asked = sorted(names)
    found: dict[str, list[str]] = {}
    rest = []
    for name, entity in zip(asked, graph.entities(asked), strict=True):
        if entity is not None and not entity["literal"]:
            found[name] = [name]
        else:
            rest.append(name)
    for name, matches in zip(rest, graph.lookup(rest, limit=_NAMESAKES), strict=True):
        labels = [match["entity"]["id"] for match in matches if match["method"] == "exact"]
        found[name] = labels or [match["entity"]["id"] for match in matches]
    return found
