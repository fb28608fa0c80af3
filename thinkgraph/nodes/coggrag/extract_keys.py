"""Extraction of keys from the mind map (CogGRAG section 4.2): local, from each question; global, over several."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow
from thinkgraph.nodes.coggrag.mind_map import plan
from thinkgraph.prompts.kinds import KEYS, ExtractedKey, Shape
from thinkgraph.prompts.lines import numbered, one_line, safe_block, safe_label
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.coggrag import CogGragSettings, Key, MindNode
from thinkgraph.state.events import Stopped

MOST = 96
"""Most keys of one level."""
_LONGEST = 1000
_PLACE = re.compile(r"\?\s*#?(\d{1,3})\W*")


def extract_keys(state: Mapping[str, Any], settings: CogGragSettings) -> Flow[Update]:
    """Keys of one level from all questions, in one call. The state is the payload of one Send."""
    level, ids, questions = state["level"], state["ids"], state["questions"]
    whole = words_of(questions) if level == "local" else []
    try:
        found = yield from requests.call(
            KEYS,
            f"coggrag.{level}_keys",
            {
                "question": safe_block(state["question"]),
                "questions": numbered(safe_label(question) for question in questions),
            },
            shape=Shape(questions=len(questions), triples=level == "global", explain=settings.explain),
            fallback=whole,
            key=level,
        )
    except BudgetSpentError as spent:
        yield from requests.emit(Stopped(type="stopped", reason=spent.reason))
        return {"keys": {level: as_keys(whole, ids, level)}, "stopped": spent.reason}
    return {"keys": {level: as_keys(found, ids, level)}}


def words_of(questions: Sequence[str]) -> list[ExtractedKey]:
    """The keys where no model names any: every question as it stands, in which names are found by the linker."""
    return [ExtractedKey(key=[text], of=[number]) for number, text in enumerate(questions, start=1)]


def is_open(part: str) -> bool:
    """Whether a part of a key stands for something unknown."""
    return part.startswith("?")


def as_keys(found: Sequence[ExtractedKey], ids: Sequence[str], level: Any) -> list[Key]:
    """Replies as keys: numbers of questions become their ids, what names nothing goes, each key once."""
    keys: dict[tuple[str, ...], Key] = {}
    for entry in found:
        parts = [_part(part, ids) for part in entry["key"]]
        if all(map(is_open, parts)):
            continue
        key = keys.setdefault(tuple(part.casefold() for part in parts), Key(parts=parts, of=[], level=level))
        key["of"] += [ids[number - 1] for number in entry["of"] if ids[number - 1] not in key["of"]]
    return list(keys.values())[:MOST]


def _part(text: str, ids: Sequence[str]) -> str:
    part = one_line(text)[:_LONGEST].strip() or "?"
    place = _PLACE.fullmatch(part)
    if not place:
        return part
    number = int(place[1])
    return f"?{ids[number - 1]}" if 1 <= number <= len(ids) else "?"


def settled(keys: Mapping[str, Sequence[Key]], nodes: Mapping[str, MindNode]) -> list[Key]:
    """All keys, local ones first, in which every placeholder that can be is tied to a question.

    A placeholder without a number ("?mountain") stands for the answer to the first question, in the order of answering, that
    a key with it belongs to.
    """
    order = [key for wave in plan(nodes).waves for key in wave]
    every = [key for level in ("local", "global") for key in keys.get(level, ())]
    owner: dict[str, str] = {}
    for at in order:
        for key in every:
            if at in key["of"]:
                for part in key["parts"]:
                    if is_open(part) and part != "?":
                        owner.setdefault(part.casefold(), at)
    return [
        Key(parts=[_tied(part, nodes, owner) for part in key["parts"]], of=key["of"], level=key["level"])
        for key in every
    ]


def _tied(part: str, nodes: Mapping[str, MindNode], owner: Mapping[str, str]) -> str:
    if not is_open(part) or part[1:] in nodes:
        return part
    return f"?{owner[part.casefold()]}" if part.casefold() in owner else part
