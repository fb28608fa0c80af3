"""Relation discovery and relation prune (ToG-2 section 3.2.1, equations 1 and 2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.doubt import turned
from thinkgraph.nodes.common.reports import pruned
from thinkgraph.prompts.kinds import SCORE, Shape
from thinkgraph.prompts.lines import described, numbered, relation_line, safe_block
from thinkgraph.runtime import requests
from thinkgraph.state.knowledge import Relation
from thinkgraph.state.tog2 import BeamSettings, KeptRelation, RelationPruneTask
from thinkgraph.tools.linking.lexical import overlap

MAX_OPTIONS = 400
"""Most relations offered in one call; those rarest at their entity come first, which are the most telling."""


def _show(edge: Relation, label: Mapping[str, str]) -> str:
    return f"{label[edge['entity']]}: {edge['label']}" + " (inverse)" * (edge["direction"] == "in")


def _by_words(question: str, edges: Sequence[Relation], most: int) -> list[tuple[int, float]]:
    """The fallback: relations that share words with the question."""
    likeness = [(number, overlap(edge["label"], question)) for number, edge in enumerate(edges, start=1)]
    return [(number, 10 * value) for number, value in sorted(likeness, key=lambda pair: -pair[1])[:most]]


def relation_prune(state: RelationPruneTask, settings: BeamSettings) -> Flow[Update]:
    """Find every relation of the given topic entities and keep at most R scored ones per entity.

    The state is the payload of one Send: all topic entities in combined mode, one of them otherwise. A search that has gone back
    is not offered what it walked before.
    """
    topics = state["topics"]
    discovered = yield from requests.relations([topic["id"] for topic in topics])
    label = {topic["id"]: topic["label"] for topic in topics}
    walked = frozenset(state["walked"])
    discovered = [[edge for edge in found if _key(edge) not in walked] for found in discovered]
    edges = [edge for found in discovered for edge in found]
    if len(edges) > MAX_OPTIONS:
        share = max(1, MAX_OPTIONS // len(topics))
        edges = [edge for found in discovered for edge in sorted(found, key=lambda edge: edge["count"])[:share]]
    if not edges:
        return {"kept": {}}
    edges = list(turned(edges, state["backtracked"]))
    scored = yield from requests.call(
        SCORE,
        "tog2.relation_prune",
        {
            "question": safe_block(state["question"]),
            "entities": numbered(described(topic["label"], topic["description"]) for topic in topics),
            "options": numbered(relation_line(edge, label[edge["entity"]]) for edge in edges),
            "most": str(settings.relations),
        },
        shape=Shape(options=len(edges), explain=settings.explain),
        fallback=lambda: _by_words(state["question"], edges, settings.relations),
        key=state["part"],
        rank={"options": lambda: [number for number, _ in _by_words(state["question"], edges, len(edges))]},
    )
    best: dict[str, list[tuple[float, Relation]]] = defaultdict(list)
    for number, value in scored:
        if value >= settings.min_relation_score:
            best[edges[number - 1]["entity"]].append((value, edges[number - 1]))
    kept: dict[str, KeptRelation] = {}
    names: dict[str, tuple[str, float]] = {}
    for entity, relations in best.items():
        # Ties keep the model's order.
        for value, edge in sorted(relations, key=lambda pair: -pair[0])[: settings.relations]:
            key = _key(edge)
            kept[key] = KeptRelation(entity=entity, relation=edge["name"], direction=edge["direction"], score=value)
            names[key] = (_show(edge, label), value)
    dropped = [(_show(edge, label), 0.0) for edge in edges if _key(edge) not in kept]
    note = yield from pruned("relations", state["round"], names.values(), dropped, "scored too low for the question")
    return {"kept": kept, "pruned": note}


def _key(edge: Relation) -> str:
    return f"{edge['entity']}|{edge['direction']}|{edge['name']}"
