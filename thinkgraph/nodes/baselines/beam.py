"""ToG's beam (Think-on-Graph, Sun et al. 2024, section 2): the W best entities seed the next round."""

from __future__ import annotations

from langgraph.types import Overwrite

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.reports import pruned
from thinkgraph.prompts.kinds import MAX_SCORE
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.baselines import TogSettings, TogState
from thinkgraph.state.evidence import EvidenceItem, Path, path_item
from thinkgraph.state.knowledge import Triple, other_end
from thinkgraph.state.tog2 import Topic


def beam(state: TogState, settings: TogSettings) -> Flow[Update]:
    """Keep the W best entities, by the relation's score times the triple's; the paths of every hop are evidence."""
    starts = {topic["id"]: topic for topic in state["topics"]}
    scores = list(state["scores"].values())
    found = yield from requests.triples([score["triple"] for score in scores])
    triples = {triple["id"]: triple for triple in found if triple is not None}
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
        topic = _topic(before, triple, value)
        known = best.get(topic["id"])
        if not (triple["literal"] and topic["id"] == triple["object"]) and (known is None or value > known["score"]):
            best[topic["id"]] = topic
    order = sorted(best.values(), key=lambda topic: (-topic["score"], topic["id"]))
    topics, dropped = order[: settings.width], order[settings.width :]
    note = yield from pruned(
        "entities",
        state["round"],
        [(topic["label"], topic["score"]) for topic in topics],
        [(topic["label"], topic["score"]) for topic in dropped],
        "scored lower",
    )
    return {"topics": topics, "evidence": items, "pruned": note, "hops": [], "scores": Overwrite({})}


def _topic(before: Topic, triple: Triple, score: float) -> Topic:
    end = other_end(triple, before["id"])
    return Topic(
        id=end,
        label=triple["object_label"] if triple["object"] == end else triple["subject_label"],
        description="",
        path=Path(start=before["path"]["start"], triples=[*before["path"]["triples"], triple["id"]]),
        on_path=[*before["on_path"], end],
        score=round(score, 6),
    )
