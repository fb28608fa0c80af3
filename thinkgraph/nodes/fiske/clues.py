"""Clues and branches: which clues have the same text, which occurrence a mapping marks, what a branch is still asked about."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from thinkgraph.state.fiske import Branch, FiskeSettings, FiskeState
from thinkgraph.tools.linking.names import normal_name


def last_calls(settings: FiskeSettings) -> int:
    """Model calls kept back for the end of a run: the closing call, and the IO answer's."""
    return 1 + settings.io


def same(clues: Sequence[str], number: int) -> list[int]:
    """Numbers of all occurrences of a clue's text, in order."""
    name = normal_name(clues[number - 1])
    return [other for other, text in enumerate(clues, start=1) if normal_name(text) == name]


def marked(clues: Sequence[str], numbers: Iterable[int], explored: Collection[int]) -> dict[int, int]:
    """By mapped clue, the occurrence it marks: the first one not `explored` before. One step marks a text once.

    A clue without a free occurrence (possible only with `stateful` off) is missing.
    """
    free = {number: next((other for other in same(clues, number) if other not in explored), None) for number in numbers}
    return {number: other for number, other in free.items() if other is not None}


def completes_alone(branch: Branch, mapped: Iterable[int], clues: Sequence[str], settings: FiskeSettings) -> bool:
    """The multi-answer rule: the relation maps the one clue left, so every node it reaches is an answer candidate.

    The rule reads the record of mapped clues even with `stateful` off, as the ending flag does.
    """
    if not settings.multi_answer or len(branch["remaining"]) != 1:
        return False
    return branch["remaining"][0] in marked(clues, mapped, branch["explored"]).values()


def live(state: FiskeState) -> list[Branch]:
    """The branches that the open round explores, oldest first."""
    return [branch for branch in state["branches"].values() if branch["status"] == "live"]


def offered(branch: Branch, state: FiskeState, settings: FiskeSettings) -> list[int]:
    """Numbers of the clues that a branch's mapping calls offer: the remaining ones, or all with `stateful` off."""
    return branch["remaining"] if settings.stateful else list(range(1, len(state["clues"]) + 1))


def group_of(branch: Branch, state: FiskeState, settings: FiskeSettings) -> str:
    """Branches that are offered the same clues share their mapping calls; with `share_all` all branches do."""
    return "all" if settings.share_all else ",".join(map(str, offered(branch, state, settings)))
