"""Do the lines cited for "yes" join the things that the question names?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.evidence_lines import title_and_sentences
from thinkgraph.nodes.doubt.walk import Walk
from thinkgraph.prompts.lines import one_line
from thinkgraph.runtime import requests
from thinkgraph.state.evidence import EvidenceItem
from thinkgraph.state.knowledge import Entity
from thinkgraph.tools.grounding import fold
from thinkgraph.tools.linking.names import is_name

_MOST_NAMES = 20
"""Most entities that the question's names are linked to."""


def unjoined(walk: Walk) -> Flow[str]:
    """Which two names in the question no statement or text cited joins, in words; empty where all are joined: at most three round trips.

    Of a chain of communities not all is cited: nothing is said of it.
    """
    named: defaultdict[str, list[Entity]] = defaultdict(list)
    if not walk.communities:
        links = (yield from requests.link_names([walk.question], limit=_MOST_NAMES))[0]
        for link in sorted(links, key=lambda link: link["start"]):
            if is_name(link["mention"]):
                named[link["mention"]].append(link["entity"])
    first, *others = named or [""]
    told = [_told_of(item, named, walk) for item in walk.items if item["kind"] == "chunk"]
    before: AbstractSet[str] = set()
    joined: AbstractSet[str] = {one["id"] for one in named[first]}
    while before < joined:
        before, joined = joined, walk.reached(joined)
        joined = joined.union(*(ids for ids in told if not joined.isdisjoint(ids)))
    apart = next((name for name in others if joined.isdisjoint(one["id"] for one in named[name])), "")
    return f"the lines cited do not join {one_line(first)} and {one_line(apart)}" if apart else ""


def _told_of(chunk: EvidenceItem, named: Mapping[str, list[Entity]], walk: Walk) -> AbstractSet[str]:
    """Ids of the named things in a chunk's text, and of what its passage is about."""
    title, sentences = title_and_sentences(chunk, walk.texts)
    text = f" {fold(' '.join([title, *sentences]))} "
    passage = walk.texts.passages.get(chunk["passage"])
    return {*(passage["entities"] if passage else ())}.union(
        *(
            {one["id"] for one in entities}
            for name, entities in named.items()
            if any(f" {fold(label)} " in text for label in (name, *(one["label"] for one in entities)))
        )
    )
