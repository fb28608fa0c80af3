"""Subject extraction (FastToG, section "Overview"): the entities that the question speaks about, as start communities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.judging import nothing_found
from thinkgraph.nodes.fasttog.community_text import warm_up
from thinkgraph.nodes.fasttog.fallback import may_remember
from thinkgraph.prompts.kinds import NAMES, Shape
from thinkgraph.prompts.lines import safe_block
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.events import Linked, Scored
from thinkgraph.state.fasttog import FastTogSettings, Subject
from thinkgraph.state.knowledge import Link

_SURE = frozenset({"exact", "alias"})
_NAMED = 0.8
"""Link score from which a match by name is to something written as a name, not to a common word that is one too."""
_MOST_NAMES = 32
_MOST_LINKS = 40


def extract_subjects(state: Mapping[str, Any], settings: FastTogSettings) -> Flow[Update]:
    """Ask for the names in the question. Without a readable reply the question itself is linked."""
    yield from warm_up(settings)
    names = yield from requests.call(
        NAMES,
        "fasttog.subjects",
        {"question": safe_block(state["question"])},
        shape=Shape(explain=settings.explain),
        fallback=[],
        spare=1,
    )
    return {"_names": names[:_MOST_NAMES]}


def link_subjects(state: Any, settings: FastTogSettings) -> Flow[Update]:
    """Link the names to entities; where none of them leads anywhere, link the question."""
    found: list[list[Link]] = []
    if state["_names"]:
        found = yield from requests.link(state["_names"], limit=_MOST_LINKS)
    if not any(found):
        found = yield from requests.link([state["question"]], limit=_MOST_LINKS)
    chosen: dict[str, Link] = {}
    for links in found:
        for link in _meant(links, settings.namesakes):
            chosen.setdefault(link["entity"]["id"], link)
    kept = list(chosen.values())[: settings.subjects]
    scores = [Scored(label=link["entity"]["label"], score=round(link["score"], 4)) for link in kept]
    yield from requests.emit(Linked(type="linked", candidates=scores))
    subjects = [
        Subject(
            id=link["entity"]["id"],
            label=link["entity"]["label"],
            description=link["entity"]["description"] or link["entity"]["type"],
            mention=link["mention"],
        )
        for link in kept
    ]
    update: Update = {"subjects": subjects}
    if not subjects and not may_remember(settings):
        update["draft"] = nothing_found(state, settings)
    return update


def _meant(links: Sequence[Link], namesakes: int) -> list[Link]:
    """For every mention the entities of that name, or the best of those that merely resemble the text."""
    sure = [link for link in links if link["method"] in _SURE]
    sure = [link for link in sure if link["score"] >= _NAMED] or sure
    if not sure:
        return list(links[:1])
    taken: dict[int, list[Link]] = {}
    for link in sure:
        group = taken.setdefault(link["start"], [])
        # An alias that another thing has for its proper name means that other thing.
        if len(group) < namesakes and link["method"] == (group or [link])[0]["method"]:
            group.append(link)
    return [link for group in taken.values() for link in group]
