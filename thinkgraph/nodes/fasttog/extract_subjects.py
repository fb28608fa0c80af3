"""Subject extraction (FastToG, section "Overview"): the entities that the question speaks about, as start communities."""

from __future__ import annotations

from collections.abc import Sequence

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.judging import nothing_found
from thinkgraph.nodes.common.link_entities import BY_NAME, candidate
from thinkgraph.nodes.common.reports import linked
from thinkgraph.nodes.fasttog.community_text import warm_up
from thinkgraph.nodes.fasttog.remember import may_remember
from thinkgraph.prompts.kinds import NAMES, Shape
from thinkgraph.prompts.lines import safe_block
from thinkgraph.runtime import requests
from thinkgraph.state.fasttog import FastTogSettings, FastTogState
from thinkgraph.state.knowledge import Link
from thinkgraph.tools.linking.lexical import content_tokens

_NAMED = 0.8
"""Link score from which a match by name is written as a name, not as a common word."""
_MAX_NAMES = 32
_AROUND = "'\"\u201c\u201d\u2018\u2019()[]«»,;:-"
"""Marks that may stand around a word."""
MAX_LINKS = 40
"""Most links of one text that are looked at."""


def extract_subjects(state: FastTogState, settings: FastTogSettings) -> Flow[Update]:
    """Ask the model for the names in the question and link them.

    The question itself is linked if none of the names leads to an entity. Without `ask_subjects` it is linked first, and the model is not
    asked if all that the question writes like a name is an entity's.
    """
    yield from warm_up(settings)
    question = state["question"]
    whole = [] if settings.ask_subjects else (yield from requests.link([question], limit=MAX_LINKS))
    found = whole
    if not whole or not names_all(question, whole[0]):
        names = yield from requests.call(
            NAMES,
            "fasttog.extract_subjects",
            {"question": safe_block(question)},
            shape=Shape(explain=settings.explain),
            fallback=[],
            spare=1,
        )
        found = (yield from requests.link(names[:_MAX_NAMES], limit=MAX_LINKS)) if names else []
        if not any(found):
            found = whole or (yield from requests.link([question], limit=MAX_LINKS))
    meant: dict[str, Link] = {}
    for links in found:
        # If no entity has the name, take the one whose name is most alike.
        for link in by_name(links, settings.namesakes) or links[:1]:
            meant.setdefault(link["entity"]["id"], link)
    kept = list(meant.values())[: settings.subjects]
    yield from linked(kept)
    subjects = list(map(candidate, kept))
    if not subjects and not may_remember(settings):
        return {"subjects": subjects, "draft": nothing_found(state, settings)}
    return {"subjects": subjects}


def names_all(question: str, links: Sequence[Link]) -> bool:
    """Whether every name in a question is an entity's: at least one is, and no other word is written like a name.

    False for a question without capitals, in whatever script.
    """
    left = list(question)
    for link in links:
        if link["method"] in BY_NAME and link["score"] >= _NAMED and not link["mention"][0].islower():
            start, end = link["start"], link["start"] + len(link["mention"])
            left[start:end] = " " * (end - start)
    words = [word.strip(_AROUND) for word in "".join(left).split() if content_tokens(word)]
    return question != "".join(left) and all(word[0].islower() for word in words)


def by_name(links: Sequence[Link], namesakes: int) -> list[Link]:
    """For every mention in a text the entities of that name, at most `namesakes` of them."""
    sure = [link for link in links if link["method"] in BY_NAME]
    sure = [link for link in sure if link["score"] >= _NAMED] or sure
    taken: dict[int, list[Link]] = {}
    for link in sure:
        group = taken.setdefault(link["start"], [])
        # An alias that is another entity's own name means that other entity.
        if len(group) < namesakes and link["method"] == (group or [link])[0]["method"]:
            group.append(link)
    return [link for group in taken.values() for link in group]
