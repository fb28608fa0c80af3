"""What the steps of a round share (FiSKE section 3.4): the clues that a branch is asked about, those that a mapping marks, and the calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.doubt.judged import turned
from thinkgraph.prompts.kinds import PAIRS, Shape
from thinkgraph.prompts.lines import numbered, safe_block, safe_label
from thinkgraph.runtime import requests
from thinkgraph.state.fiske import Branch, CluePair, FiskeSettings, FiskeState, Mapped, MappingCall, MappingTask, Option
from thinkgraph.state.knowledge import Direction
from thinkgraph.tools.linking.lexical import overlap
from thinkgraph.tools.linking.names import normal_name

_ALIKE = 0.5
"""Share of its words from which the fallback maps a clue."""


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


def unasked(branch: Branch, mapped: Iterable[int], clues: Sequence[str], settings: FiskeSettings) -> bool:
    """Whether the multi-answer rule (`completes_alone`) settles every node that the relation reaches, so that no call is made."""
    return not settings.multi_answer_asks and completes_alone(branch, mapped, clues, settings)


def live(state: FiskeState) -> list[Branch]:
    """The branches that the open round explores, oldest first."""
    return [branch for branch in state["branches"].values() if branch["status"] == "live"]


def option_id(relation: str, direction: Direction) -> str:
    """A relation and its direction as one id."""
    return f"{direction}|{relation}"


def offered(branch: Branch, state: FiskeState, settings: FiskeSettings) -> list[int]:
    """Numbers of the clues that a branch's mapping calls offer: the remaining ones, or all with `stateful` off."""
    return branch["remaining"] if settings.stateful else list(range(1, len(state["clues"]) + 1))


def group_of(branch: Branch, state: FiskeState, settings: FiskeSettings) -> str:
    """Branches that are offered the same clues share their mapping calls. With `per_branch` none do; with `share_all`, and on the way back,
    all do.
    """
    if settings.per_branch:
        return branch["id"]
    return "all" if settings.share_all or state["backtracked"] else ",".join(map(str, offered(branch, state, settings)))


def chunked(
    group: str, clues: Sequence[int], options: Sequence[Option], size: int, backtracked: int
) -> list[MappingCall]:
    """A group's options in calls of at most `size`; none without clues or options. After going back they stand in another order."""
    if not clues:
        return []
    options = turned(options, backtracked)
    return [
        MappingCall(group=group, chunk=number, clues=list(clues), options=list(options[at : at + size]))
        for number, at in enumerate(range(0, len(options), size))
    ]


def map_chunk(role: str, task: MappingTask, settings: FiskeSettings, *, most: int = 0) -> Flow[Update]:
    """Ask which of the offered clues the options of one chunk map. A small model, or the encoder, chooses `most` options (0: all)."""
    call = task["call"]
    texts = [task["clues"][number - 1] for number in call["clues"]]
    lines = [option["line"] for option in call["options"]]
    pairs = yield from requests.call(
        PAIRS,
        role,
        {
            "question": safe_block(task["question"]),
            "clues": numbered(map(safe_label, texts)),
            "options": numbered(lines),
        },
        shape=Shape(clues=len(texts), options=len(lines), explain=settings.explain, most=most),
        fallback=lambda: _alike(texts, lines),
        key=task["part"],
    )
    found = [CluePair(clue=call["clues"][clue - 1], option=call["options"][place - 1]["id"]) for clue, place in pairs]
    return {"mapped": {task["part"]: Mapped(group=call["group"], pairs=found)}}


def _alike(clues: Sequence[str], lines: Sequence[str]) -> list[tuple[int, int]]:
    """The fallback: options that share most of their words with a clue."""
    return [
        (clue, option)
        for clue, text in enumerate(clues, start=1)
        for option, line in enumerate(lines, start=1)
        if overlap(text, line) >= _ALIKE
    ]


def clues_by_option(state: FiskeState) -> dict[str, dict[str, list[int]]]:
    """For each group, every option with the clues mapped to it, by exact names and by replies."""
    found: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for entry in state["mapped"].values():
        for pair in entry["pairs"]:
            clues = found[entry["group"]][pair["option"]]
            if pair["clue"] not in clues:
                clues.append(pair["clue"])
    return found
