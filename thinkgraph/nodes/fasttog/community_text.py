"""Communities in prose: by a graph-to-text checkpoint, or as the paper's Triple2Text, a sentence for each triple (FastToG, section
"Community-to-Text"); or, which is ours, by the model in one call.

Every text of a model is checked against its triples; one that fails is not used, and the community is shown as T2T instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow
from thinkgraph.prompts.communities import community_line
from thinkgraph.prompts.kinds import TEXTS, Shape
from thinkgraph.prompts.lines import numbered, one_line, triple_sentence
from thinkgraph.runtime import requests
from thinkgraph.state.fasttog import FastTogSettings
from thinkgraph.state.knowledge import Triple
from thinkgraph.tools.communities.g2t_check import check

ROLE = "fasttog.community_text"
"""Its calls are no part of the method's bound: T2T needs none."""
BY_RULE = "t2t"
SENTENCES = "sentences"
_G2T = "g2t:"


def warm_up(settings: FastTogSettings) -> Flow[None]:
    """Load the checkpoint, so that a wrong name is refused before any model is asked.

    Raises:
        ModelError: there is no such checkpoint, or it cannot be loaded.
    """
    if settings.community_text.startswith(_G2T):
        yield from requests.prose(settings.community_text.removeprefix(_G2T), [])


def in_prose(communities: Sequence[Sequence[Triple]], settings: FastTogSettings) -> Flow[list[str]]:
    """One text for each community, in one pass; empty where T2T has to stand in."""
    if not communities or settings.community_text == BY_RULE:
        return [""] * len(communities)
    if settings.community_text == SENTENCES:
        return [", ".join(dict.fromkeys(map(triple_sentence, triples))) for triples in communities]
    if settings.community_text.startswith(_G2T):
        written = yield from requests.prose(settings.community_text.removeprefix(_G2T), communities)
        return [one_line(prose["text"]) if prose["ok"] else "" for prose in written]
    lines = [community_line(triples) for triples in communities]
    try:
        texts = yield from requests.call(
            TEXTS,
            ROLE,
            {"options": numbered(lines)},
            shape=Shape(options=len(lines), explain=settings.explain),
            fallback=[""] * len(lines),
            spare=1,
        )
    except BudgetSpentError:
        return [""] * len(lines)  # T2T can replace these texts; nothing can replace Reason.
    # Communities that the model's window had no room for have no text.
    texts = [*texts, *[""] * (len(lines) - len(texts))]
    checked = zip(texts, communities, strict=True)
    return [one_line(text) if text and not check(text, triples) else "" for text, triples in checked]


def tally(before: Mapping[str, int], texts: Sequence[str], settings: FastTogSettings) -> dict[str, int]:
    """How many communities were put into prose so far, and how many of them fell back to T2T."""
    if settings.community_text in {BY_RULE, SENTENCES} or not texts:
        return dict(before)
    return {
        "asked": before.get("asked", 0) + len(texts),
        "fell_back": before.get("fell_back", 0) + sum(not text for text in texts),
    }
