"""Entity discovery (ToG-2 section 3.2.1, equation 4): the tails of the kept relations."""

from __future__ import annotations

from langgraph.types import Overwrite

from thinkgraph.models.ops import Flow, Update
from thinkgraph.runtime import requests
from thinkgraph.state.knowledge import Step, other_end
from thinkgraph.state.tog2 import BeamSettings, BeamState, Hop, KeptRelation


def entity_discovery(state: BeamState, settings: BeamSettings) -> Flow[Update]:
    """Begin a round: walk the kept relations one hop, in one round trip. Where they are too many, the best ones."""
    topics = {topic["id"]: topic for topic in state["topics"]}
    walked = {} if state["stopped"] else {key: one for key, one in state["kept"].items() if one["entity"] in topics}
    if len(walked) > settings.hops:
        # What a search that has gone back was offered together counts once.
        def place(one: KeptRelation) -> tuple[str, str, str]:
            together = topics[one["entity"]]["came_by"] if state["backtracked"] else ""
            return together or one["entity"], one["direction"], one["relation"]

        best = sorted(
            walked.items(), key=lambda pair: -pair[1]["score"] * max(topics[pair[1]["entity"]]["score"], 1e-6)
        )
        places = list(dict.fromkeys(place(one) for _, one in best))[: settings.hops]
        walked = {key: one for key, one in best if place(one) in places}
    kept = list(walked.values())
    steps = [Step(entity=one["entity"], relation=one["relation"], direction=one["direction"]) for one in kept]
    found = yield from requests.neighbours(steps, limit=settings.tails, seed=settings.seed)
    hops = []
    for relation, tails in zip(kept, found, strict=True):
        path = topics[relation["entity"]]["on_path"] if settings.avoid_cycles else ()
        triples = [one["id"] for one in tails["triples"] if other_end(one, relation["entity"]) not in path]
        if triples:
            hops.append(Hop(**relation, triples=triples, total=tails["total"]))
    return {"round": state["round"] + 1, "kept": Overwrite({}), "walked": walked, "hops": hops}
