"""Link the question's mentions to entities (ToG-2 section 3.1, named entity recognition and linking)."""

from __future__ import annotations

from typing import Protocol

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.reports import linked
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.base import RunState
from thinkgraph.state.knowledge import LinkMethod
from thinkgraph.state.tog2 import Candidate

BY_NAME: frozenset[LinkMethod] = frozenset({"exact", "alias"})
"""How an entity is found that the question names."""


class LinkSettings(Protocol):
    """What settings say of linking."""

    @property
    def link_candidates(self) -> int:
        """Most candidates."""
        ...


def link_entities(state: RunState, settings: LinkSettings) -> Flow[Update]:
    """Candidates for topic entities, best first."""
    links = (yield from requests.link([state["question"]], limit=settings.link_candidates))[0]
    yield from linked(links)
    candidates = [
        Candidate(
            id=link["entity"]["id"],
            label=link["entity"]["label"],
            description=link["entity"]["description"] or link["entity"]["type"],
            method=link["method"],
            mention=link["mention"],
            score=round(link["score"], 4),
        )
        for link in links
    ]
    return {"candidates": candidates}
