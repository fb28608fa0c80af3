"""Starting points (FiSKE section 3.3): every entity whose name or alias is a clue may start."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.reports import linked
from thinkgraph.nodes.fiske.mapping import same
from thinkgraph.runtime import requests
from thinkgraph.state.fiske import Branch, FiskeSettings, FiskeState, Mark
from thinkgraph.state.knowledge import Link
from thinkgraph.tools.linking.lexical import content_tokens
from thinkgraph.tools.linking.names import normal_name

_MAX_GUESSES = 3
"""Entities that one clue may start from by guesses, where no clue is a name."""
_MAX_REPORTED = 50
"""Most starting points named in the progress event."""


def starting_points(state: FiskeState, settings: FiskeSettings) -> Flow[Update]:
    """Make one branch per entity that a clue names, best links first. All clues are linked in one batch."""
    clues = state["clues"]
    texts = {number: text for number, text in enumerate(clues, start=1) if same(clues, number)[0] == number}
    found = yield from requests.link_names(list(texts.values()), limit=settings.candidates + 1)
    links = {
        number: [link for link in near if _is_whole(link["mention"], text)]
        for (number, text), near in zip(texts.items(), found, strict=True)
    }
    notes = [
        f"more than {settings.candidates} entities are named '{texts[number]}' (candidate cap)"
        for number, named in links.items()
        if len(named) > settings.candidates
    ]
    matches = {
        str(other): [link["entity"]["id"] for link in named[: settings.candidates]]
        for number, named in links.items()
        for other in same(clues, number)
        if named
    }
    if not matches and settings.link_fallback:
        # No clue is a name: one may contain a name, or misspell one. It counts as explored only if it says no more.
        guesses = (
            found
            if any(found)
            else (yield from requests.link_names(list(texts.values()), limit=_MAX_GUESSES, guess=True))
        )
        links = dict(zip(texts, guesses, strict=True))
    ranked = _ranked(list(links.values()))
    starts = ranked[: settings.candidates]
    if len(ranked) > len(starts):
        notes.append(f"{len(starts)} of {len(ranked)} starting points were taken (candidate cap)")
    explored: dict[str, list[int]] = defaultdict(list)
    for number, named in links.items():
        for link in named:
            if _is_whole(link["mention"], texts[number]):
                explored[link["entity"]["id"]].append(number)
    branches = {
        str(place): _start(str(place), link, explored[link["entity"]["id"]], len(clues))
        for place, link in enumerate(starts, start=1)
    }
    yield from linked(starts[:_MAX_REPORTED])
    return {"branches": branches, "matches": matches, "notes": [*state["notes"], *notes]}


def _is_whole(mention: str, clue: str) -> bool:
    """Whether a name found in a clue is the whole clue, apart from articles and the like."""
    if normal_name(mention) == normal_name(clue):
        return True
    tokens, rest = content_tokens(mention), content_tokens(clue)
    for token in tokens:
        if token in rest:
            rest.remove(token)
    return bool(tokens) and not rest


def _ranked(links: Sequence[Sequence[Link]]) -> list[Link]:
    """Each entity once: the best link of every clue first, then the second best, so that no clue crowds out the others."""
    every = [
        (rank, -link["score"], place, link) for place, named in enumerate(links) for rank, link in enumerate(named)
    ]
    every.sort(key=lambda entry: entry[:3])
    once: dict[str, Link] = {}
    for *_, link in every:
        once.setdefault(link["entity"]["id"], link)
    return list(once.values())


def _start(key: str, link: Link, explored: list[int], clues: int) -> Branch:
    entity = link["entity"]
    return Branch(
        id=key,
        entity=entity["id"],
        label=entity["label"],
        round=0,
        status="live",
        why="",
        explored=explored,
        remaining=[number for number in range(1, clues + 1) if number not in explored],
        arrivals=[],
        on_path=[entity["id"]],
        marks=[Mark(clue=number, kind="start", label=entity["label"], direction="out") for number in explored],
        walked=[],
    )
