"""Link the question's mentions to entities (ToG-2 section 3.1, named entity recognition and linking)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.reports import linked
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.tog2 import Candidate, Tog2Settings


def link_entities(state: Mapping[str, Any], settings: Tog2Settings) -> Flow[Update]:
    """Candidates for topic entities, best first."""
    links = (yield from requests.link([state["question"]], limit=settings.link_candidates))[0]
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
    yield from linked(links)
    return {"candidates": candidates}
