"""Clue extraction (FiSKE section 3.2): the question's meaning in pieces of the size of a graph's entities and relations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.fiske.clues import cleaned, last_calls
from thinkgraph.prompts.kinds import KEYWORDS, Shape
from thinkgraph.prompts.lines import safe_block
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.fiske import FiskeSettings


def extract_clues(state: Mapping[str, Any], settings: FiskeSettings) -> Flow[Update]:
    """Numbered clues, one per occurrence. Where no reply can be read there are none, and the exploration has failed."""
    words = yield from requests.call(
        KEYWORDS,
        "fiske.extract_clues",
        {"question": safe_block(state["question"])},
        shape=Shape(explain=settings.explain),
        fallback=[],
        spare=last_calls(settings),
    )
    clues = cleaned(words)
    notes = []
    if len(clues) > settings.max_clues:
        notes.append(f"only the first {settings.max_clues} of {len(clues)} clues were used (max_clues)")
    return {"clues": clues[: settings.max_clues], "notes": [*state["notes"], *notes]}
