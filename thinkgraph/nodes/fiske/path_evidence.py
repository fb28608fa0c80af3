"""The paths of an exploration as evidence lines: the union of their triples, each list on one line.

FiSKE section 3.5 offers a path that explains all clues; there may be several, of one answer or of a list, and all are shown.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.evidence_lines import (
    PromptContext,
    Texts,
    evidence_line,
    fetch_texts,
    fitting,
    highest_level,
    line_cost,
)
from thinkgraph.nodes.fiske.clue_table import ancestors
from thinkgraph.state.evidence import EvidenceItem, Path, path_item, path_key
from thinkgraph.state.fiske import Arrival, Branch


@dataclass
class _PathStep:
    """A branch expanded along one relation, with the ends that lie on the paths."""

    parent: Branch
    arrival: Arrival
    ends: list[Branch] = field(default_factory=list)
    triples: list[str] = field(default_factory=list)

    @property
    def furthest(self) -> int:
        return max(len(branch["explored"]) for branch in self.ends)


def path_evidence(
    branches: Mapping[str, Branch], ends: Sequence[Branch], number: int, *, tokens: int
) -> Flow[tuple[PromptContext, list[str]]]:
    """Evidence lines of all paths to `ends`, those that explain most clues first, within a bound on tokens.

    A line is a whole path whose last step lists all its ends. A step that is part of longer paths has no line of its own.
    Where the lines are too long together, every step has its own line, without the path before it. An item then still
    cites its whole path.

    Returns:
        The lines, and notes on what was left out.
    """
    steps = _steps(branches, ends)
    clues = max((len(branch["explored"]) + len(branch["remaining"]) for branch in ends), default=1)
    items = {key: _item(step, branches, number, clues) for key, step in steps.items()}
    onward = {parent for parent, _, _ in steps}
    needed = [key for key, step in steps.items() if not _walked_on(step, onward)]
    texts = yield from fetch_texts(list(items.values()))
    full = [(items[key], evidence_line(items[key], texts)) for key in needed]
    if sum(line_cost(line) for _, line in full) <= tokens:
        return PromptContext([item for item, line in full if line], [line for _, line in full if line], texts), []
    alone = {key: _alone(items[key], step, texts) for key, step in steps.items()}
    level = highest_level([line_cost(line) for line in alone.values()], tokens)
    long = {key for key, line in alone.items() if line_cost(line) > level}
    lines = [
        (key, _shortened(items[key], steps[key], texts, level) if key in long else line) for key, line in alone.items()
    ]
    kept = fitting(lines, tokens)
    left_out = sum(1 for line in alone.values() if line) - len(kept)
    notes = [f"{left_out} of {len(alone)} evidence lines did not fit (evidence_tokens)"] if left_out else []
    cut = sum(key in long for key, _ in kept)
    notes += [f"{cut} of the lists of the evidence were cut to fit (evidence_tokens)"] if cut else []
    return PromptContext([items[key] for key, _ in kept], [line for _, line in kept], texts), notes


def _steps(branches: Mapping[str, Branch], ends: Sequence[Branch]) -> dict[tuple[str, str, str], _PathStep]:
    """The steps of all paths to `ends` by (branch, relation, direction), best first."""
    steps: dict[tuple[str, str, str], _PathStep] = {}
    for branch in ancestors(branches, ends):
        for arrival in branch["arrivals"]:
            key = (arrival["branch"], arrival["relation"], arrival["direction"])
            step = steps.setdefault(key, _PathStep(branches[arrival["branch"]], arrival))
            step.ends.append(branch)
            step.triples.append(arrival["triple"])
    return dict(sorted(steps.items(), key=lambda entry: -entry[1].furthest))


def _walked_on(step: _PathStep, onward: Collection[str]) -> bool:
    """Whether longer paths show every end of a step: each is one of the branches that go `onward`, and its line leads through this step."""
    return all(
        end["id"] in onward
        and end["arrivals"][0]["triple"] == triple
        and end["arrivals"][0]["branch"] == step.parent["id"]
        for end, triple in zip(step.ends, step.triples, strict=True)
    )


def _lead(branch: Branch, branches: Mapping[str, Branch]) -> Path:
    """The first path to a branch, from its starting point."""
    triples: list[str] = []
    while branch["arrivals"]:
        arrival = branch["arrivals"][0]
        triples.insert(0, arrival["triple"])
        branch = branches[arrival["branch"]]
    return Path(start=branch["entity"], triples=triples)


def _item(step: _PathStep, branches: Mapping[str, Branch], number: int, clues: int) -> EvidenceItem:
    path = _lead(step.parent, branches)
    key = path_key(path["start"], *path["triples"], step.arrival["relation"], step.arrival["direction"])
    score = step.furthest / max(clues, 1)
    return path_item(key, path, step.triples, total=step.arrival["total"], score=score, number=number)


def _alone(item: EvidenceItem, step: _PathStep, texts: Texts, most: int | None = None) -> str:
    """The step without the path before it, with all its ends or the first so many."""
    path = Path(start=step.parent["entity"], triples=[])
    return evidence_line(EvidenceItem({**item, "path": path, "tails": item["tails"][:most]}), texts)


def _shortened(item: EvidenceItem, step: _PathStep, texts: Texts, tokens: int) -> str:
    """The step with as many ends as fit; the line says how many are missing."""
    most = len(item["tails"])
    line = _alone(item, step, texts)
    while line_cost(line) > tokens and most > 1:
        most = max(1, min(most - 1, int(most * 0.95 * tokens / line_cost(line))))
        line = _alone(item, step, texts, most)
    return line
