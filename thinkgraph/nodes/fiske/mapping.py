"""What r_mapping and e_mapping share (FiSKE section 3.4): the chunks, the call, and its reply by group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from thinkgraph.models.ops import Flow
from thinkgraph.prompts.kinds import PAIRS, Shape
from thinkgraph.prompts.lines import numbered, safe_block, safe_label
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.fiske import CluePair, FiskeSettings, FiskeState, Mapped, MappingCall, MappingTask, Option
from thinkgraph.tools.linking.lexical import overlap

_ALIKE = 0.5
"""Share of its words from which the fallback maps a clue."""


def chunked(group: str, clues: Sequence[int], options: Sequence[Option], settings: FiskeSettings) -> list[MappingCall]:
    """A group's options in calls of at most `chunk`; none without clues or options."""
    if not clues:
        return []
    return [
        MappingCall(group=group, chunk=number, clues=list(clues), options=list(options[at : at + settings.chunk]))
        for number, at in enumerate(range(0, len(options), settings.chunk))
    ]


def map_chunk(role: str, task: MappingTask, settings: FiskeSettings) -> Flow[Update]:
    """Ask which of the offered clues the options of one chunk map."""
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
        shape=Shape(clues=len(texts), options=len(lines), explain=settings.explain),
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
