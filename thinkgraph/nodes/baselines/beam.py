"""ToG's beam (Think-on-Graph, Sun et al. 2024, section 2): the W best entities seed the next round."""

from __future__ import annotations

from langgraph.types import Overwrite

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.reports import labelled, pruned
from thinkgraph.prompts.forms import MAX_SCORE
from thinkgraph.runtime import requests
from thinkgraph.state.baselines import TogSettings, TogState
from thinkgraph.state.evidence import EvidenceItem, path_item
from thinkgraph.state.knowledge import other_end
from thinkgraph.state.tog2 import Topic, further


def beam(state: TogState, settings: TogSettings) -> Flow[Update]:
    """Keep the W best entities, by the relation's score times the triple's; the paths of every hop are evidence."""
    starts = {topic["id"]: topic for topic in state["topics"]}
    scores = list(state["scores"].values())
    triples = yield from requests.triples([score["triple"] for score in scores])
    items: dict[str, EvidenceItem] = {}
    best: dict[str, Topic] = {}
    for score in scores:
        hop, triple = state["hops"][score["hop"]], triples[score["triple"]]
        before = starts[hop["entity"]]
        value = score["score"] * hop["score"] / MAX_SCORE
        key = f"{state['round']}|{score['hop']}"
        item = items.setdefault(key, path_item(key, before["path"], [], total=hop["total"], number=state["round"]))
        item["tails"].append(triple["id"])
        item["score"] = max(item["score"], round(value, 4))
        end = other_end(triple, before["id"])
        label = triple["object_label"] if triple["object"] == end else triple["subject_label"]
        known = best.get(end)
        if not (triple["literal"] and end == triple["object"]) and (known is None or value > known["score"]):
            best[end] = further(before, end, label, triple["id"], value)
    order = sorted(best.values(), key=lambda topic: (-topic["score"], topic["id"]))
    topics, dropped = order[: settings.width], order[settings.width :]
    note = yield from pruned("entities", state["round"], labelled(topics), labelled(dropped), "scored lower")
    return {"topics": topics, "evidence": items, "pruned": note, "hops": [], "scores": Overwrite({})}
