"""Evidence as state holds it: ids and scores only. Texts are read from the stores when a prompt or an answer is built."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from thinkgraph.state.knowledge import Direction

MAX_EVIDENCE = 96
"""Most lines of evidence a run keeps: the lowest scores of earlier rounds go first. Those of the newest round all stay."""


class Path(TypedDict):
    """A chain of triples from a topic entity: P of ToG-2 section 3.2."""

    start: str
    triples: list[str]
    """Ids of the triples walked, in order; empty for a topic entity itself."""


class ListLength(TypedDict):
    """How many triples the graph holds at one place."""

    entity: str
    relation: str
    direction: Direction
    total: int


class EvidenceItem(TypedDict):
    """What may be shown to the model as evidence: a path with the tails of its last hop, a chunk, or a community."""

    id: str
    kind: Literal["path", "chunk", "community"]
    score: float
    round: int
    path: NotRequired[Path]
    """Path: the hops before the last one. Chunk: the path that led to its entity, for the order of lines."""
    tails: NotRequired[list[str]]
    """Path: ids of the triples that share the last hop's entity, relation and direction."""
    total: NotRequired[int]
    """Path: how many such triples the graph holds."""
    route: NotRequired[str]
    """Path: the relation path that it walks with others, where it does: those of one route share a line."""
    passage: NotRequired[str]
    """Chunk: id of its passage."""
    start: NotRequired[int]
    """Chunk: offset of its first character in the passage."""
    end: NotRequired[int]
    """Chunk: offset after its last character."""
    entity: NotRequired[str]
    """Chunk: id of the entity whose document it is."""
    triples: NotRequired[list[str]]
    """Community: ids of its triples, and of those that join it to what it lies next to."""
    totals: NotRequired[list[ListLength]]
    """Community: where the graph holds more triples of a kind than it shows."""


PARTS: Mapping[str, Sequence[str]] = {
    "path": ("path", "tails"),
    "chunk": ("path", "passage", "start", "end", "entity"),
    "community": ("triples",),
}
"""What an item has of each kind."""


def path_item(
    key: str, path: Path, tails: Sequence[str], *, total: int, score: float = 0.0, number: int = 0, route: str = ""
) -> EvidenceItem:
    """A path with the triples of its last hop; see EvidenceItem. `score` is the best of theirs, `number` the round, `route` the relation
    path whose items share a line; empty where it has one of its own.
    """
    item = EvidenceItem(
        id=key, kind="path", score=round(score, 4), round=number, path=path, tails=list(tails), total=total
    )
    return {**item, "route": path_key(route)} if route else item


def chunk_item(
    passage: str, start: int, end: int, *, entity: str, path: Path | None = None, score: float = 0.0, number: int = 0
) -> EvidenceItem:
    """Characters `start` to `end` of a passage (see EvidenceItem).

    `entity` is empty where the document is nobody's, `path` None where the entity was linked; the score is the ranker's.
    """
    return EvidenceItem(
        id=f"c{passage}:{start}-{end}",
        kind="chunk",
        score=round(score, 4),
        round=number,
        path=path or Path(start=entity, triples=[]),
        passage=passage,
        start=start,
        end=end,
        entity=entity,
    )


def path_key(*steps: str) -> str:
    """The id of a path item, from what tells its last hop apart: the steps up to it, its relation and its direction."""
    return "p" + hashlib.sha256("\n".join(steps).encode("utf-8", "replace")).hexdigest()[:16]


def line_key(item: EvidenceItem) -> str:
    """What items that share a line have in common; of an item with a line of its own its id."""
    return item.get("route") or item["id"]


def merge_evidence(old: dict[str, EvidenceItem] | None, new: dict[str, EvidenceItem] | None) -> dict[str, EvidenceItem]:
    """Reducer: items by id, the better score wins; of earlier rounds only those that MAX_EVIDENCE leaves room for."""
    merged = dict(old or {})
    for key, item in (new or {}).items():
        known = merged.get(key)
        # Seen again: it belongs to the newest round's context too, and keeps the better score.
        merged[key] = item if known is None else {**item, "score": max(item["score"], known["score"])}
    if len(merged) <= MAX_EVIDENCE:
        return merged
    newest = max(item["round"] for item in merged.values())
    # Reason may see its own round alone (`all_rounds`): better scores of another round must not take its places.
    best = sorted(
        merged.values(), key=lambda item: (item["round"] < newest, -item["score"], -item["round"], item["id"])
    )
    lines = list(dict.fromkeys(map(line_key, best)))
    own = len({line_key(item) for item in best if item["round"] == newest})
    keep = set(lines[: max(MAX_EVIDENCE, own)])
    return {key: item for key, item in merged.items() if line_key(item) in keep}
