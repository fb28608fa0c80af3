"""Link the question's mentions to entities (ToG-2 section 3.1, named entity recognition and linking)."""

from __future__ import annotations

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.reports import linked
from thinkgraph.runtime import requests
from thinkgraph.state.base import RunState
from thinkgraph.state.baselines.single_pass import KgRagSettings, RagSettings
from thinkgraph.state.knowledge import Candidate, Link, LinkMethod
from thinkgraph.state.tog2 import BeamSettings

BY_NAME: frozenset[LinkMethod] = frozenset({"exact", "alias"})
"""How an entity is found that the question names."""


def link_entities(state: RunState, settings: BeamSettings | RagSettings | KgRagSettings) -> Flow[Update]:
    """Candidates for topic entities, best first."""
    links = (yield from requests.link([state["question"]], limit=settings.link_candidates))[0]
    yield from linked(links)
    return {"candidates": list(map(candidate, links))}


def candidate(link: Link) -> Candidate:
    """A linked entity as state keeps it."""
    entity = link["entity"]
    return Candidate(
        id=entity["id"],
        label=entity["label"],
        description=entity["description"] or entity["type"],
        method=link["method"],
        mention=link["mention"],
        score=round(link["score"], 4),
    )
