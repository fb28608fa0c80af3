"""Query reform (ToG-2 section 3.3 and table 14) as a call of its own: split mode."""

from __future__ import annotations

from thinkgraph.models.ops import Flow, Update
from thinkgraph.prompts.kinds import TEXT, Shape
from thinkgraph.prompts.lines import safe_block
from thinkgraph.runtime import requests
from thinkgraph.state.tog2 import Tog2Settings, Tog2State

MAX_QUERY = 500
"""Longest query, in characters."""


def query_reform(state: Tog2State, settings: Tog2Settings) -> Flow[Update]:
    """From clues to the next round's search query."""
    query = yield from requests.call(
        TEXT,
        "tog2.query_reform",
        {"question": safe_block(state["question"]), "clues": safe_block(state["clues"])},
        shape=Shape(explain=settings.explain),
        fallback="",
        spare=1,
    )
    return {"query": query[:MAX_QUERY]}
