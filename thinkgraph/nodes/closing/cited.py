"""What an answer stands on, as the answer carries it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from thinkgraph.errors import StoreError
from thinkgraph.nodes.common.evidence_lines import Texts, totals_of, triple_ids
from thinkgraph.prompts.communities import community_line
from thinkgraph.prompts.lines import path_line
from thinkgraph.state.answer import CitedPassage, CitedPath, Evidence
from thinkgraph.state.evidence import EvidenceItem
from thinkgraph.state.knowledge import Passage, Triple
from thinkgraph.tools.grounding import fold

MAX_TAILS = 50
"""Most tails of one path that an answer carries where none of them is itself the answer."""


def evidence_of(items: Sequence[EvidenceItem], answers: Sequence[str], texts: Texts) -> Evidence:
    """What an answer cites. Raises StoreError where the store no longer has it: nothing is cited unseen."""
    triples: dict[str, Triple] = {}
    paths: dict[str, CitedPath] = {}
    passages: list[CitedPassage] = []
    wanted = {fold(text) for text in answers}
    for item in items:
        if item["kind"] == "chunk":
            passages.append(_cited(item, _known(texts.passages, item["passage"], "passage")))
        shown = [_known(texts.triples, key, "triple") for key in triple_ids(item)]
        if item["kind"] == "community":
            line = community_line(shown, totals_of(item))
        else:
            hops = len(item["path"]["triples"])
            lead, tails = shown[:hops], shown[hops:]
            # Of a long list the answers themselves are enough.
            tails = [tail for tail in tails if wanted & _ends(tail)] or tails[:MAX_TAILS]
            shown = [*lead, *tails]
            line = path_line(item["path"]["start"], lead, tails, total=item.get("total", 0) if tails else 0)
        triples.update({triple["id"]: triple for triple in shown})
        if line:
            cited = CitedPath(text=line, triples=[triple["id"] for triple in shown], score=item["score"])
            paths.setdefault(line, cited)
    return Evidence(triples=list(triples.values()), passages=passages, paths=list(paths.values()))


def spelt(answers: Iterable[str], evidence: Evidence) -> Iterator[str]:
    """Answers as the cited statements spell them, where they differ in signs, case or accents alone."""
    labels = [one[end] for one in evidence["triples"] for end in ("object_label", "subject_label")]
    known = {fold(label): label for label in reversed(labels) if fold(label)}
    for answer in answers:
        yield answer if answer in labels else known.get(fold(answer), answer)


def _cited(item: EvidenceItem, passage: Passage) -> CitedPassage:
    start, end = item["start"], item["end"]
    return CitedPassage(
        id=passage["id"],
        title=passage["title"],
        section=passage["section"],
        start=start,
        end=end,
        text=passage["text"][start:end],
        score=item["score"],
    )


def _ends(triple: Triple) -> set[str]:
    return {fold(triple["subject_label"]), fold(triple["object_label"])}


def _known(found: Mapping[str, Any], key: str, what: str) -> Any:
    if key not in found:
        raise StoreError(
            f"{what} {key} was retrieved in this run but the store no longer has it; ask the question again"
        )
    return found[key]
