"""Do the lines cited for "yes" join the things that the question names?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from thinkgraph.nodes.common.evidence_lines import title_and_sentences
from thinkgraph.nodes.doubt.walk import Walk
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.evidence import EvidenceItem
from thinkgraph.tools.grounding import fold


def unjoined(walk: Walk, shown: Walk) -> str:
    """Which two names of the question no statement or text cited joins, in words; empty where all are joined.

    Of a chain of communities not all is cited: nothing is said of it.

    Args:
        walk: the question, and what is cited.
        shown: all the evidence, which may name more of the question's things.
    """
    named = _named(walk, shown)
    if walk.communities or not named:
        return ""
    (first, joined), *others = named.items()
    told = [_told_of(chunk, named, walk) for chunk in _chunks(walk)]
    before: AbstractSet[str] = set()
    while before < joined:
        before, joined = joined, walk.reached(joined)
        joined = joined.union(*(ids for ids in told if not joined.isdisjoint(ids)))
    apart = next((label for label, ids in others if joined.isdisjoint(ids)), "")
    return f"the lines cited do not join {one_line(first)} and {one_line(apart)}" if apart else ""


def _named(walk: Walk, shown: Walk) -> Mapping[str, AbstractSet[str]]:
    """The names in the question that the evidence knows, with the ids of what bears them; the title of a passage is an id of its own."""
    known = [(label, key) for one in (walk, shown) for key, label in one.things.items() if key in one.things_named]
    titles = [walk.texts.passages[chunk["passage"]]["title"] for one in (walk, shown) for chunk in _chunks(one)]
    known += [(title, title) for title in titles if walk.named(title)]
    named: defaultdict[str, set[str]] = defaultdict(set)
    for label, key in sorted(known):
        if label[:1].isupper():
            named[label].add(key)
    return named


def _told_of(chunk: EvidenceItem, named: Mapping[str, AbstractSet[str]], walk: Walk) -> AbstractSet[str]:
    """Ids of the named things in a chunk's text, and of what its passage is about."""
    title, sentences = title_and_sentences(chunk, walk.texts)
    text = f" {fold(' '.join([title, *sentences]))} "
    about = walk.texts.passages[chunk["passage"]]["entities"]
    return {*about}.union(*(ids for label, ids in named.items() if f" {fold(label)} " in text))


def _chunks(walk: Walk) -> Iterable[EvidenceItem]:
    """The chunks of passages that the store still has."""
    return [item for item in walk.items if item["kind"] == "chunk" and item["passage"] in walk.texts.passages]
