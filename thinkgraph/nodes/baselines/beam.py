"""ToG's beam (Think-on-Graph, Sun et al. 2024, section 2): keep W relations, score what each reaches, keep W entities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.reports import pruned
from thinkgraph.prompts.kinds import MAX_SCORE, SCORE, Shape
from thinkgraph.prompts.lines import numbered, path_line, safe_block, triple_sentence
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.baselines import Beam, BeamScore, TogSettings
from thinkgraph.state.evidence import EvidenceItem, Path, path_item
from thinkgraph.state.knowledge import Step, Triple, other_end
from thinkgraph.state.tog2 import KeptRelation, Topic
from thinkgraph.tools.linking.lexical import overlap

ENTITY_PRUNE = "tog.entity_prune"


def next_round(state: Mapping[str, Any], _settings: TogSettings) -> Flow[Update]:
    """A round begins once its relations are chosen."""
    yield from ()
    return {"round": state["round"] + 1}


def walk(state: Mapping[str, Any], settings: TogSettings) -> Flow[Update]:
    """Cut the scored relations to the beam's width and walk them, in one round trip."""
    topics: dict[str, Topic] = {topic["id"]: topic for topic in state["topics"]}
    kept: list[KeptRelation] = [
        relation
        for relation in state["kept"].values()
        if relation["round"] == state["round"] and relation["entity"] in topics
    ]
    kept.sort(key=lambda relation: -relation["score"] * max(topics[relation["entity"]]["score"], 1e-6))
    kept = kept[: settings.width]
    steps = [Step(entity=r["entity"], relation=r["relation"], direction=r["direction"]) for r in kept]
    found = yield from requests.neighbours(steps, limit=settings.tails, seed=settings.seed)
    beams: dict[str, Beam] = {}
    for number, (relation, tails) in enumerate(zip(kept, found, strict=True), start=1):
        topic = topics[relation["entity"]]
        triples = [
            triple["id"]
            for triple in tails["triples"]
            if not (settings.avoid_cycles and other_end(triple, topic["id"]) in topic["on_path"])
        ]
        if triples:
            beams[str(number)] = Beam(topic=topic, relation=relation, triples=triples, total=tails["total"])
    return {"beams": beams}


def entity_prune(state: Mapping[str, Any], settings: TogSettings) -> Flow[Update]:
    """Score the statements of one beam. A single one is not asked about: nothing could be chosen."""
    beam: Beam = state["beam"]
    name: str = state["name"]
    if len(beam["triples"]) == 1:
        return {"scores": _scores(state["round"], name, [(beam["triples"][0], 1.0)])}
    known = [triple for triple in (yield from requests.triples(beam["triples"])) if triple is not None]
    if len(known) > settings.options:
        # More than a prompt can hold: those that share the question's words, then the store's order.
        known.sort(key=lambda triple: -overlap(triple_sentence(triple), state["question"]))
        known = known[: settings.options]
    start = beam["topic"]["id"]
    scored = yield from requests.call(
        SCORE,
        ENTITY_PRUNE,
        {
            "question": safe_block(state["question"]),
            "options": numbered(path_line(start, [triple]) for triple in known),
        },
        shape=Shape(options=len(known), explain=settings.explain),
        fallback=[(number, 1.0) for number in range(1, len(known) + 1)],
        key=state["part"],
    )
    values = [(known[number - 1]["id"], score / MAX_SCORE) for number, score in scored if score > 0]
    return {"scores": _scores(state["round"], name, values)}


def _scores(number: int, beam: str, values: list[tuple[str, float]]) -> dict[str, BeamScore]:
    return {
        f"{number}|{beam}|{triple}": BeamScore(beam=f"{number}|{beam}", triple=triple, score=round(score, 4))
        for triple, score in values
    }


def keep_best(state: Mapping[str, Any], settings: TogSettings) -> Flow[Update]:
    """The W best entities (relation's score times statement's) seed the next round; every beam's paths are evidence."""
    beams: dict[str, Beam] = state["beams"]
    scores = [score for score in state["scores"].values() if score["beam"].startswith(f"{state['round']}|")]
    found = yield from requests.triples([score["triple"] for score in scores])
    triples: dict[str, Triple] = {triple["id"]: triple for triple in found if triple is not None}
    items: dict[str, EvidenceItem] = {}
    best: dict[str, tuple[float, Beam, Triple]] = {}
    for score in scores:
        name = score["beam"].partition("|")[2]
        beam = beams[name]
        triple = triples[score["triple"]]
        end = other_end(triple, beam["topic"]["id"])
        value = score["score"] * beam["relation"]["score"]
        known = best.get(end)
        if not (triple["literal"] and end == triple["object"]) and (known is None or value > known[0]):
            best[end] = (value, beam, triple)
        key = f"{state['round']}|{name}"
        item = items.setdefault(
            key,
            path_item(key, beam["topic"]["path"], [], total=beam["total"], number=state["round"]),
        )
        item["tails"].append(triple["id"])
        item["score"] = max(item["score"], round(value / MAX_SCORE, 4))
    kept = sorted(best, key=lambda end: (-best[end][0], end))[: settings.width]
    topics = [_topic(end, *best[end]) for end in kept]
    dropped = [_label(best[end][2], end) for end in best if end not in kept]
    note = yield from pruned(
        "entities",
        state["round"],
        [(topic["label"], topic["score"]) for topic in topics],
        [(label, 0.0) for label in dropped],
        "scored lower",
    )
    return {"topics": topics, "evidence": items, "pruned": note}


def _label(triple: Triple, end: str) -> str:
    return triple["object_label"] if triple["object"] == end else triple["subject_label"]


def _topic(end: str, score: float, beam: Beam, triple: Triple) -> Topic:
    before = beam["topic"]
    return Topic(
        id=end,
        label=_label(triple, end),
        description="",
        path=Path(start=before["path"]["start"], triples=[*before["path"]["triples"], triple["id"]]),
        on_path=[*before["on_path"], end],
        score=round(score / MAX_SCORE, 6),
    )
