"""ToG's beam (Think-on-Graph, Sun et al. 2024, section 2): the W best entities seed the next round."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.types import Overwrite

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.reports import labelled, pruned
from thinkgraph.prompts.forms import MAX_SCORE
from thinkgraph.runtime import requests
from thinkgraph.state.baselines.tog import HopScore, TogSettings, TogState
from thinkgraph.state.evidence import EvidenceItem, path_item
from thinkgraph.state.knowledge import far_end
from thinkgraph.state.tog2 import Hop, Topic, by_place, further, place, route_of


def beam(state: TogState, settings: TogSettings) -> Flow[Update]:
    """Keep the W best entities, by the relation's score times the triple's; the paths of every hop are evidence.

    With `beam=paths` the W best relation paths, by the relation's score, each with all that it reaches.
    """
    starts = {topic["id"]: topic for topic in state["topics"]}
    scores = _alike(state["hops"]) if settings.paths else list(state["scores"].values())
    triples = yield from requests.triples([score["triple"] for score in scores])
    items: dict[str, EvidenceItem] = {}
    best: dict[str, Topic] = {}
    for score in scores:
        hop, triple = state["hops"][score["hop"]], triples[score["triple"]]
        before = starts[hop["entity"]]
        route = route_of(before, hop) if settings.paths else ""
        value = score["score"] * hop["score"] / MAX_SCORE
        key = f"{state['round']}|{score['hop']}"
        item = items.setdefault(
            key, path_item(key, before["path"], [], total=hop["total"], number=state["round"], route=route)
        )
        item["tails"].append(triple["id"])
        item["score"] = max(item["score"], round(value, 4))
        end, label, literal = far_end(triple, before["id"])
        known = best.get(end)
        passed = settings.avoid_cycles and end in before["on_path"]
        if not passed and not literal and (known is None or value > known["score"]):
            best[end] = further(before, end, label, triple["id"], value, route)
    order = sorted(best.values(), key=lambda topic: (-topic["score"], topic["id"]))
    chosen = set(list(by_place(order, together=settings.paths))[: settings.width])
    topics = [topic for topic in order if place(topic, together=settings.paths) in chosen]
    dropped = [topic for topic in order if place(topic, together=settings.paths) not in chosen]
    note = yield from pruned("entities", state["round"], labelled(topics), labelled(dropped), "scored lower")
    return {"topics": topics, "evidence": items, "pruned": note, "hops": [], "scores": Overwrite({})}


def _alike(hops: Sequence[Hop]) -> list[HopScore]:
    """Every triple of every hop, none better than another."""
    return [HopScore(hop=number, triple=key, score=1.0) for number, hop in enumerate(hops) for key in hop["triples"]]
