"""Entity discovery (ToG-2 section 3.2.1, equation 2): the tails of the kept relations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.tog2.candidates import Hop, Reached, Way
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.knowledge import Step, other_end
from thinkgraph.state.tog2 import KeptRelation, Tog2Settings, Topic


def entity_discovery(state: Mapping[str, Any], settings: Tog2Settings) -> Flow[Update]:
    """Walk every kept relation one hop, in one round trip; candidates are keyed by id, never by name."""
    topics: dict[str, Topic] = {topic["id"]: topic for topic in state["topics"]}
    kept: list[KeptRelation] = [
        relation
        for relation in state["kept"].values()
        if relation["round"] == state["round"] and relation["entity"] in topics
    ]
    if state["stopped"] or not kept:
        return {"_candidates": [], "_hops": {}}
    steps = [
        Step(entity=relation["entity"], relation=relation["relation"], direction=relation["direction"])
        for relation in kept
    ]
    found = yield from requests.neighbours(steps, limit=settings.tails, seed=settings.seed)
    reached: dict[str, Reached] = {}
    hops: dict[str, Hop] = {}
    for relation, tails in zip(kept, found, strict=True):
        topic = topics[relation["entity"]]
        for triple in tails["triples"]:
            end = other_end(triple, relation["entity"])
            if settings.avoid_cycles and end in topic["on_path"]:
                continue
            outgoing = relation["direction"] == "out"
            way = Way(topic, relation, triple)
            candidate = reached.setdefault(
                end,
                Reached(
                    end,
                    triple["object_label"] if outgoing else triple["subject_label"],
                    literal=triple["literal"] and outgoing,
                ),
            )
            candidate.ways.append(way)
            hop = hops.setdefault(way.group, Hop(topic, [], tails["total"]))
            hop.tails.append(triple["id"])
    return {"_candidates": list(reached.values()), "_hops": hops}
