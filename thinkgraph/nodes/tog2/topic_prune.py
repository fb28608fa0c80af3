"""Topic prune (ToG-2 section 3.1): which linked entities are fit to start from."""

from __future__ import annotations

from collections.abc import Sequence

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.link_entities import BY_NAME
from thinkgraph.nodes.common.reports import labelled, pruned
from thinkgraph.prompts.kinds import PICK, Shape
from thinkgraph.prompts.lines import described, numbered, safe_block
from thinkgraph.runtime import requests
from thinkgraph.state.evidence import Path
from thinkgraph.state.knowledge import Candidate
from thinkgraph.state.tog2 import BeamSettings, BeamState, Topic


def _sure(candidates: Sequence[Candidate]) -> list[int]:
    """Numbers of the candidates that a name of the question matches; else the best one."""
    named = [number for number, candidate in enumerate(candidates, start=1) if candidate["method"] in BY_NAME]
    return named or ([1] if candidates else [])


def _told_by_relations(state: BeamState, settings: BeamSettings) -> Flow[bool]:
    """Whether the first relation prune can choose among the candidates: they are few, no two are called alike, and none has documents, which
    would be read before it.
    """
    labels = [found["label"] for found in state["candidates"]]
    if len(set(labels)) < len(labels) or len(labels) > 2 * settings.width or settings.depth == 0:
        return False
    ids = [found["id"] for found in state["candidates"]]
    return not (yield from requests.candidates_of(ids, state["question"], limit=1))


def topic_prune(state: BeamState, settings: BeamSettings) -> Flow[Update]:
    """Choose at most W starting entities, best link score first; there may be none.

    At most W of those dropped stay in `visited`, for a search that goes back. With `steered`, all candidates are kept if
    the first relation prune can tell as well which of them the question means.
    """
    candidates = state["candidates"]
    if not candidates or not settings.topic_prune:
        numbers = _sure(candidates)
    elif settings.skip_exact_topic and [found["method"] for found in candidates] == ["exact"]:
        numbers = [1]
    elif settings.steers and (yield from _told_by_relations(state, settings)):
        numbers = list(range(1, len(candidates) + 1))
    else:
        numbers = yield from requests.call(
            PICK,
            "tog2.topic_prune",
            {
                "question": safe_block(state["question"]),
                "options": numbered(described(found["label"], found["description"]) for found in candidates),
            },
            shape=Shape(options=len(candidates), explain=settings.explain),
            fallback=_sure(candidates),
            spare=1,
        )
    chosen = sorted((candidates[number - 1] for number in numbers), key=lambda found: -found["score"])[: settings.width]
    kept = {candidate["id"] for candidate in chosen}
    dropped = [candidate for candidate in candidates if candidate["id"] not in kept]
    why = "not meant by the question, in the model's judgement, or beyond the width"
    note = yield from pruned("topics", 0, labelled(chosen), labelled(dropped), why)
    # Guesses are worth going back to only where the question names nothing else.
    aside = [candidate for candidate in dropped if candidate["method"] in BY_NAME] or dropped
    return {
        "topics": list(map(_topic, chosen)),
        "visited": {found["id"]: _topic(found) for found in (*chosen, *aside[: settings.width])},
        "pruned": note,
    }


def _topic(candidate: Candidate) -> Topic:
    return Topic(
        id=candidate["id"],
        label=candidate["label"],
        description=candidate["description"],
        path=Path(start=candidate["id"], triples=[]),
        on_path=[candidate["id"]],
        score=candidate["score"],
        came_by="",
    )
