"""ToG's entity prune (Think-on-Graph, Sun et al. 2024, section 2): the model scores what each kept relation reaches."""

from __future__ import annotations

from collections.abc import Iterable

from thinkgraph.models.ops import Flow, Update
from thinkgraph.prompts.forms import MAX_SCORE
from thinkgraph.prompts.kinds import SCORE, Shape
from thinkgraph.prompts.lines import numbered, path_line, safe_block, triple_sentence
from thinkgraph.runtime import requests
from thinkgraph.state.baselines.tog import EntityPruneTask, HopScore, TogSettings
from thinkgraph.tools.linking.lexical import overlap

ROLE = "tog.entity_prune"


def entity_prune(state: EntityPruneTask, settings: TogSettings) -> Flow[Update]:
    """Score the triples of one hop; the state is the payload of one Send.

    A single one is not asked about: nothing could be chosen.
    """
    hop = state["hop"]
    if len(hop["triples"]) == 1:
        return _scores(state["number"], [(hop["triples"][0], 1.0)])
    triples = yield from requests.triples(hop["triples"])
    likeness = {key: overlap(triple_sentence(triple), state["question"]) for key, triple in triples.items()}
    known = list(triples.values())
    if len(known) > settings.options:
        # More than a prompt can hold: those that share the question's words, then the store's order.
        known = sorted(known, key=lambda triple: -likeness[triple["id"]])[: settings.options]
    scored = yield from requests.call(
        SCORE,
        ROLE,
        {
            "question": safe_block(state["question"]),
            "options": numbered(path_line(hop["entity"], [triple]) for triple in known),
        },
        shape=Shape(options=len(known), explain=settings.explain),
        fallback=[(number, 1.0) for number in range(1, len(known) + 1)],
        key=state["part"],
        rank={"options": sorted(range(1, len(known) + 1), key=lambda at: -likeness[known[at - 1]["id"]])},
    )
    values = [(known[number - 1]["id"], score / MAX_SCORE) for number, score in scored if score > 0]
    return _scores(state["number"], values)


def _scores(hop: int, values: Iterable[tuple[str, float]]) -> Update:
    found = [HopScore(hop=hop, triple=triple, score=round(score, 4)) for triple, score in values]
    return {"scores": {f"{hop}|{one['triple']}": one for one in found}}
