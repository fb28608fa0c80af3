"""Clue extraction (FiSKE section 3.2): the question's meaning in pieces of the size of a graph's entities and relations."""

from __future__ import annotations

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.fiske.mapping import last_calls
from thinkgraph.prompts.kinds import KEYWORDS, Shape
from thinkgraph.prompts.lines import one_line, safe_block
from thinkgraph.runtime import requests
from thinkgraph.state.fiske import FiskeSettings, FiskeState

_QUOTES = "\"'\u201c\u201d\u2018\u2019\u00ab\u00bb\u300c\u300d"
_MAX_CHARACTERS = 200
"""Characters of a clue that are kept."""


def extract_clues(state: FiskeState, settings: FiskeSettings) -> Flow[Update]:
    """Ask for numbered clues, one per occurrence. Without a readable reply there are none, and the exploration fails."""
    words = yield from requests.call(
        KEYWORDS,
        "fiske.extract_clues",
        {"question": safe_block(state["question"])},
        shape=Shape(explain=settings.explain),
        fallback=[],
        spare=last_calls(settings),
    )
    texts = [one_line(word).strip(_QUOTES + " ")[:_MAX_CHARACTERS].strip() for word in words]
    clues = [text for text in texts if text]
    notes = []
    if len(clues) > settings.max_clues:
        notes.append(f"only the first {settings.max_clues} of {len(clues)} clues were used (max_clues)")
    return {"clues": clues[: settings.max_clues], "notes": notes}
