"""Starting points (FiSKE section 3.3): every entity whose name or alias is a clue may start."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.fiske.clues import is_whole, same
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.events import Linked, Scored
from thinkgraph.state.fiske import Branch, FiskeSettings, Mark
from thinkgraph.state.knowledge import Link

_GUESSES = 3
"""Entities that one clue may start from by guesses, where no clue is a name."""
_SHOWN = 50
"""Most starting points named in the progress event."""


def starting_points(state: Mapping[str, Any], settings: FiskeSettings) -> Flow[Update]:
    """One branch per entity that some clue names, best links first; all clues are linked in one batch."""
    clues: list[str] = state["clues"]
    numbers = [number for number in range(1, len(clues) + 1) if same(clues, number)[0] == number]
    texts = [clues[number - 1] for number in numbers]
    found = yield from requests.link_names(texts, limit=settings.candidates + 1)
    named = [
        [link for link in links if is_whole(link["mention"], text)] for links, text in zip(found, texts, strict=True)
    ]
    notes = [
        f"more than {settings.candidates} entities are named '{text}' (candidate cap)"
        for links, text in zip(named, texts, strict=True)
        if len(links) > settings.candidates
    ]
    matches = {
        str(other): [link["entity"]["id"] for link in links[: settings.candidates]]
        for number, links in zip(numbers, named, strict=True)
        for other in same(clues, number)
        if links
    }
    if not matches and settings.link_fallback:
        # No clue is a name by itself: one may hold a name, or be a misspelt one. It is marked only if it says no more.
        named = found if any(found) else (yield from requests.link_names(texts, limit=_GUESSES, guess=True))
    ranked = _ranked(named)
    starts = ranked[: settings.candidates]
    if len(ranked) > len(starts):
        notes.append(f"{len(starts)} of {len(ranked)} starting points were taken (candidate cap)")
    explored: dict[str, list[int]] = defaultdict(list)
    for number, links, text in zip(numbers, named, texts, strict=True):
        for link in links:
            if is_whole(link["mention"], text):
                explored[link["entity"]["id"]].append(number)
    branches = {
        str(place): _start(str(place), link, explored[link["entity"]["id"]], len(clues))
        for place, link in enumerate(starts, start=1)
    }
    candidates = [Scored(label=link["entity"]["label"], score=round(link["score"], 4)) for link in starts[:_SHOWN]]
    yield from requests.emit(Linked(type="linked", candidates=candidates))
    return {"branches": branches, "matches": matches, "notes": [*state["notes"], *notes]}


def _ranked(named: Sequence[Sequence[Link]]) -> list[Link]:
    """Each entity once: the best link of every clue first, then the second best ones, so that no clue crowds others out."""
    every = [
        (rank, -link["score"], place, link) for place, links in enumerate(named) for rank, link in enumerate(links)
    ]
    every.sort(key=lambda entry: entry[:3])
    once: dict[str, Link] = {}
    for *_, link in every:
        once.setdefault(link["entity"]["id"], link)
    return list(once.values())


def _start(key: str, link: Link, explored: list[int], clues: int) -> Branch:
    entity = link["entity"]
    remaining = [number for number in range(1, clues + 1) if number not in explored]
    return Branch(
        id=key,
        entity=entity["id"],
        label=entity["label"],
        round=0,
        status="live",
        why="",
        explored=explored,
        remaining=remaining,
        ways=[],
        on_path=[entity["id"]],
        marks=[Mark(clue=number, kind="start", label=entity["label"], direction="out") for number in explored],
    )
