"""What r-mapping and e-mapping share (FiSKE section 3.4): groups of branches, calls in chunks, the call itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from thinkgraph.models.ops import Flow
from thinkgraph.prompts.kinds import PAIRS, Shape
from thinkgraph.prompts.lines import numbered, safe_block, safe_label
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.fiske import Branch, FiskeSettings, Mapped, MappingCall, Option, Pair
from thinkgraph.tools.linking.lexical import overlap

ROLES = {"relations": "fiske.r_mapping", "nodes": "fiske.e_mapping"}
"""The role of a mapping call, by what is mapped."""


def live(state: Mapping[str, Any]) -> list[Branch]:
    """The branches that the open round explores, in the order they came to be."""
    return [branch for branch in state["branches"].values() if branch["status"] == "live"]


def offered(branch: Branch, state: Mapping[str, Any], settings: FiskeSettings) -> list[int]:
    """Numbers of the clues that a branch's mapping calls offer: the remaining ones; all of them without state."""
    return branch["remaining"] if settings.stateful else list(range(1, len(state["clues"]) + 1))


def group_of(branch: Branch, state: Mapping[str, Any], settings: FiskeSettings) -> str:
    """Branches that are offered the same clues share their mapping calls; with `share_all` all branches do."""
    return "all" if settings.share_all else ",".join(map(str, offered(branch, state, settings)))


def chunked(group: str, clues: Sequence[int], options: Sequence[Option], settings: FiskeSettings) -> list[MappingCall]:
    """A group's options in calls of at most `chunk`; none where there are no clues or no options."""
    if not clues:
        return []
    return [
        MappingCall(group=group, chunk=number, clues=list(clues), options=list(options[at : at + settings.chunk]))
        for number, at in enumerate(range(0, len(options), settings.chunk))
    ]


def mapping(state: Mapping[str, Any], settings: FiskeSettings) -> Flow[Update]:
    """One mapping call over one chunk of relations or nodes. The state is the payload of one Send."""
    asked: MappingCall = state["asked"]
    clues: list[str] = state["clues"]
    texts = [clues[number - 1] for number in asked["clues"]]
    lines = [option["line"] for option in asked["options"]]
    pairs = yield from requests.call(
        PAIRS,
        ROLES[state["kind"]],
        {
            "question": safe_block(state["question"]),
            "clues": numbered(map(safe_label, texts)),
            "options": numbered(lines),
        },
        shape=Shape(clues=len(texts), options=len(lines), explain=settings.explain),
        fallback=lambda: _alike(texts, lines),
        # The calls for the end were held back when the budget was cut into shares.
        key=state["part"],
    )
    found = [Pair(clue=asked["clues"][clue - 1], option=asked["options"][option - 1]["id"]) for clue, option in pairs]
    return {"mapped": {state["part"]: Mapped(group=asked["group"], pairs=found)}}


_LIKE = 0.5


def _alike(clues: Sequence[str], lines: Sequence[str]) -> list[tuple[int, int]]:
    """The fallback: options that share most of their words with a clue."""
    return [
        (clue, option)
        for clue, text in enumerate(clues, start=1)
        for option, line in enumerate(lines, start=1)
        if overlap(text, line) >= _LIKE
    ]


def mapped_by_group(state: Mapping[str, Any]) -> dict[str, dict[str, list[int]]]:
    """For each group, what the open phase mapped: option to the clues, exact names and replies together."""
    found: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    entries: Sequence[Mapped] = list(state["mapped"].values())
    for entry in entries:
        for pair in entry["pairs"]:
            clues = found[entry["group"]][pair["option"]]
            if pair["clue"] not in clues:
                clues.append(pair["clue"])
    return found
