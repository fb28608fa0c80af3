"""Does what an answer stands on speak of anything that the question names?"""

from __future__ import annotations

from collections.abc import Sequence

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.evidence_lines import Texts, triples_of
from thinkgraph.prompts.lines import one_line
from thinkgraph.runtime import requests
from thinkgraph.state.evidence import EvidenceItem
from thinkgraph.state.knowledge import both_ends
from thinkgraph.tools.grounding import fold, names_in

_MOST_NAMED = 20


def aside(question: str, items: Sequence[EvidenceItem], texts: Texts) -> Flow[str]:
    """That nothing cited speaks of any entity that the question names; empty where something does, and where it names none.

    Args:
        question: the question.
        items: what is cited.
        texts: what these items refer to.

    Raises:
        StoreError: the stores cannot be read.
    """
    triples = triples_of(items, texts).values()
    passages = [texts.passages[item["passage"]] for item in items if item.get("passage") in texts.passages]
    told = [label for one in triples for label in (one["subject_label"], one["object_label"])]
    told += [text for one in passages for text in (one["title"], one["text"])]
    said = " | ".join(f" {fold(text)} " for text in told)
    if any(f" {name} " in said for name in names_in(" ".join(question.split()[1:]))):
        return ""
    (links,) = yield from requests.link_names([question], limit=_MOST_NAMED)
    # A common noun may be some entity's name too ("national anthem"): what is written like a name counts first.
    capital = [link for link in links if link["mention"][:1].isupper()]
    named = {link["entity"]["id"]: link for link in capital or links}
    cited = {end for triple in triples for end in both_ends(triple)}
    cited |= {key for passage in passages for key in passage["entities"]}
    words = {fold(name) for link in named.values() for name in (link["mention"], link["entity"]["label"])}
    if not named or named.keys() & cited or any(f" {word} " in said for word in words):
        return ""
    return f"nothing cited speaks of {one_line(next(iter(named.values()))['mention'])}"
