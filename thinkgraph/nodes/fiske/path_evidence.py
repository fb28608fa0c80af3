"""The paths of an exploration as evidence lines (FiSKE section 3.5): the union of their triples, each list on one line."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from thinkgraph.models.budget import estimate_tokens
from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.evidence_lines import PromptContext, Texts, evidence_line, fetch_texts
from thinkgraph.nodes.fiske.clue_table import ancestors
from thinkgraph.state.evidence import EvidenceItem, Path
from thinkgraph.state.fiske import Arrival, Branch


@dataclass
class _Hop:
    """All ends that one branch's step has on the paths."""

    parent: Branch
    way: Arrival
    ends: list[Branch] = field(default_factory=list)
    triples: list[str] = field(default_factory=list)

    @property
    def furthest(self) -> int:
        return max(len(branch["explored"]) for branch in self.ends)


def path_evidence(
    branches: Mapping[str, Branch], ends: Sequence[Branch], number: int, *, tokens: int
) -> Flow[tuple[PromptContext, list[str]]]:
    """Evidence lines of all paths to `ends`, those that explain most clues first, within a bound on tokens.

    A line is a whole path whose last step lists all its ends; a step that longer paths walk anyway has no line of its
    own. Where that is too long, every step has its own line without the path before it. What is shown of an item is the
    line, what it cites is the whole path.

    Args:
        branches: all branches.
        ends: the branches whose paths are shown.
        number: the round, for the evidence items.
        tokens: bound on the lines together.

    Returns:
        The lines, and what had to be left out.
    """
    hops = _hops(branches, ends)
    whole = 1 + max((len(branch["explored"]) + len(branch["remaining"]) for branch in ends), default=0)
    items = {key: _item(hop, branches, number, whole) for key, hop in hops.items()}
    needed = [key for key, hop in hops.items() if not _walked_on(hop, hops)]
    texts = yield from fetch_texts(list(items.values()))
    full = [(items[key], evidence_line(items[key], texts)) for key in needed]
    if sum(map(_cost, (line for _, line in full))) <= tokens:
        return PromptContext([item for item, line in full if line], [line for _, line in full if line]), []
    alone = {key: _alone(items[key], hop, texts) for key, hop in hops.items()}
    level = _level([_cost(line) for line in alone.values()], tokens)
    kept: list[tuple[EvidenceItem, str]] = []
    room, cut = tokens, 0
    for key, whole_line in alone.items():
        fits = _cost(whole_line) <= level
        line = whole_line if fits else _shortened(items[key], hops[key], texts, level)
        if line and (_cost(line) <= room or not kept):
            kept.append((items[key], line))
            room -= _cost(line)
            cut += not fits
    left_out = sum(1 for line in alone.values() if line) - len(kept)
    notes = [f"{left_out} of {len(alone)} evidence lines did not fit (evidence_tokens)"] if left_out else []
    notes += [f"{cut} of the lists of the evidence were cut to fit (evidence_tokens)"] if cut else []
    return PromptContext([item for item, _ in kept], [line for _, line in kept]), notes


def _level(costs: Sequence[int], room: int) -> int:
    """The most that one line may cost so that all fit: long lists are cut before any line is left out."""
    left, lines = room, len(costs)
    for cost in sorted(costs):
        if cost > left // lines:
            return left // lines
        left -= cost
        lines -= 1
    return max(costs, default=0)


def _cost(line: str) -> int:
    return estimate_tokens(len(line)) + 2


def _hops(branches: Mapping[str, Branch], ends: Sequence[Branch]) -> dict[tuple[str, str, str], _Hop]:
    """The steps of all paths to `ends` by (branch, relation, direction), best first."""
    hops: dict[tuple[str, str, str], _Hop] = {}
    for branch in ancestors(branches, ends):
        for way in branch["arrivals"]:
            key = (way["branch"], way["relation"], way["direction"])
            hop = hops.setdefault(key, _Hop(branches[way["branch"]], way))
            hop.ends.append(branch)
            hop.triples.append(way["triple"])
    return dict(sorted(hops.items(), key=lambda entry: -entry[1].furthest))


def _walked_on(hop: _Hop, hops: Mapping[tuple[str, str, str], _Hop]) -> bool:
    """Whether longer paths show every end of a step: each end goes on, and this step is on the way its line shows."""
    onward = {parent for parent, _, _ in hops}
    return all(
        end["id"] in onward
        and end["arrivals"][0]["triple"] == triple
        and end["arrivals"][0]["branch"] == hop.parent["id"]
        for end, triple in zip(hop.ends, hop.triples, strict=True)
    )


def _lead(branch: Branch, branches: Mapping[str, Branch]) -> Path:
    """The first way that led to a branch, from its starting point."""
    triples: list[str] = []
    while branch["arrivals"]:
        way = branch["arrivals"][0]
        triples.insert(0, way["triple"])
        branch = branches[way["branch"]]
    return Path(start=branch["entity"], triples=triples)


def _item(hop: _Hop, branches: Mapping[str, Branch], number: int, whole: int) -> EvidenceItem:
    path = _lead(hop.parent, branches)
    step = [path["start"], *path["triples"], hop.way["relation"], hop.way["direction"]]
    digest = hashlib.sha256("\n".join(step).encode("utf-8", "replace")).hexdigest()[:16]
    return EvidenceItem(
        id=f"p{digest}",
        kind="path",
        score=round(hop.furthest / max(whole - 1, 1), 4),
        round=number,
        path=path,
        tails=hop.triples,
        total=hop.way["total"],
    )


def _alone(item: EvidenceItem, hop: _Hop, texts: Texts, most: int | None = None) -> str:
    """The step without the path before it, with all its ends or the first so many."""
    path = Path(start=hop.parent["entity"], triples=[])
    return evidence_line(EvidenceItem({**item, "path": path, "tails": item["tails"][:most]}), texts)


def _shortened(item: EvidenceItem, hop: _Hop, texts: Texts, tokens: int) -> str:
    """The step with as many ends as fit; the line says how many are missing."""
    most = len(item["tails"])
    line = _alone(item, hop, texts)
    while _cost(line) > tokens and most > 1:
        most = max(1, min(most - 1, int(most * 0.95 * tokens / _cost(line))))
        line = _alone(item, hop, texts, most)
    return line
