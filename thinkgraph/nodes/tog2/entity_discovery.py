"""Entity discovery (ToG-2 section 3.2.1, equation 4): the tails of the kept relations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

from langgraph.types import Overwrite

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.reports import pruned
from thinkgraph.runtime import requests
from thinkgraph.state.knowledge import Step, other_end
from thinkgraph.state.tog2 import BeamSettings, BeamState, Hop, KeptRelation, route_of


def entity_discovery(state: BeamState, settings: BeamSettings) -> Flow[Update]:
    """Begin a round: walk the kept relations one hop, in one round trip. If they are too many, only the best are walked."""
    topics = {topic["id"]: topic for topic in state["topics"]}
    walked = {} if state["stopped"] else {key: one for key, one in state["kept"].items() if one["entity"] in topics}
    # What a path of the beam, or a search that has gone back, was offered together counts once.
    together = settings.paths or state["backtracked"] > 0
    routes = {key: route_of(topics[one["entity"]], one, together=together) for key, one in walked.items()}
    if len(walked) > settings.hops:
        best = sorted(walked, key=lambda key: -walked[key]["score"] * max(topics[walked[key]["entity"]]["score"], 1e-6))
        allowed = set(list(dict.fromkeys(routes[key] for key in best))[: settings.hops])
        walked = {key: walked[key] for key in best if routes[key] in allowed}
    within = _within(walked, routes, settings.members) if settings.paths else walked
    kept = list(within.values())
    steps = [Step(entity=one["entity"], relation=one["relation"], direction=one["direction"]) for one in kept]
    found = yield from requests.neighbours(steps, limit=settings.tails, seed=settings.seed)
    hops = []
    for relation, tails in zip(kept, found, strict=True):
        closed = settings.avoid_cycles and not settings.paths
        path = topics[relation["entity"]]["on_path"] if closed else ()
        triples = [one["id"] for one in tails["triples"] if other_end(one, relation["entity"]) not in path]
        if triples:
            hops.append(Hop(**relation, triples=triples, total=tails["total"]))
    update: Update = {"round": state["round"] + 1, "kept": Overwrite({}), "scored": {}, "walked": within, "hops": hops}
    if left := [(topics[one["entity"]]["label"], 0.0) for key, one in walked.items() if key not in within]:
        names = [(topics[one["entity"]]["label"], one["score"]) for one in kept]
        why = f"more than {settings.members} statements along one relation path"
        update["pruned"] = yield from pruned("entities", state["round"] + 1, names, left, why)
    return update


def _within(walked: Mapping[str, KeptRelation], routes: Mapping[str, str], most: int) -> dict[str, KeptRelation]:
    """The first steps of each relation path: at least one, and as many as have `most` statements or fewer together."""
    counted: Counter[str] = Counter()
    within: dict[str, KeptRelation] = {}
    for key, one in walked.items():
        before = counted[routes[key]]
        counted[routes[key]] += one["count"]
        if not before or counted[routes[key]] <= most:
            within[key] = one
    return within


def unfit(state: BeamState) -> str:
    """What does not fit together in a round that was edited; empty where all does."""
    hops, topics = state.get("hops") or (), {topic["id"] for topic in state.get("topics") or ()}
    for at, hop in enumerate(hops):
        if hop["entity"] not in topics:
            return f"'hops.{at}.entity': 'topics' has no '{hop['entity']}'"
    given = cast("Mapping[str, Any]", state)  # ToG-2 has reached and ranked entities, ToG has scores
    ends = [(f"{name}.{at}", end) for name in ("reached", "ranked") for at, end in enumerate(given.get(name) or ())]
    ends += [(f"scores.{key}", end) for key, end in (given.get("scores") or {}).items()]
    for name, end in ends:
        if not 0 <= end["hop"] < len(hops):
            return f"'{name}.hop': there is no hop {end['hop']} (there are {len(hops)})"
    return ""
