"""Extraction of keys from the mind map (CogGRAG section 4.2): local, from each question, and global, over several; joint, both in one
call, is ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.coggrag.tree import Nodes, answer_order
from thinkgraph.nodes.common.reports import stopped
from thinkgraph.prompts.kinds import KEYS, ExtractedKey, Shape
from thinkgraph.prompts.lines import numbered, one_line, safe_block, safe_label
from thinkgraph.runtime import requests
from thinkgraph.state.coggrag import CogGragSettings, KeyLevel, KeysTask, MapKey
from thinkgraph.tools.linking.names import normal_name

_LONGEST = 1000
_PLACE = re.compile(r"\?\s*#?(\d{1,3})\W*")


def extract_keys(state: KeysTask, settings: CogGragSettings) -> Flow[Update]:
    """Keys of one level from all questions, in one call; without one where a lone question holds a single name (`lone_keys`)."""
    level, ids, questions = state["level"], state["ids"], state["questions"]
    if settings.backtracks and not settings.lone_keys and len(ids) == 1 and not state["backtracked"]:
        name = yield from _only_name(questions[0], settings)
        if name:
            return {"keys": {level: as_keys([ExtractedKey(key=[name], of=[1])], ids, level)}}
    whole = words_of(questions) if level != "global" else []
    try:
        found = yield from requests.call(
            KEYS,
            f"coggrag.extract_keys_{level}",
            {
                "question": safe_block(state["question"]),
                "questions": numbered(safe_label(question) for question in questions),
            },
            shape=Shape(
                questions=len(questions), triples=level == "global", most=settings.keys, explain=settings.explain
            ),
            fallback=whole,
            key=level,
        )
    except BudgetSpentError as spent:
        return {"keys": {level: as_keys(whole, ids, level)}, **(yield from stopped(spent))}
    return {"keys": {level: as_keys(found, ids, level)[: settings.keys]}}


def _only_name(question: str, settings: CogGragSettings) -> Flow[str]:
    """The name that a question holds, if it holds no other; else nothing. Namesakes are told apart when it is linked."""
    (links,) = yield from requests.link_names([question], limit=settings.names)
    names = {normal_name(link["mention"]): link["mention"] for link in links}
    # Where the look-up was cut at `names` links, the question may hold another name beyond them.
    return names.popitem()[1] if len(names) == 1 and len(links) < settings.names else ""


def words_of(questions: Sequence[str]) -> list[ExtractedKey]:
    """The keys where no model extracts any: the questions themselves, in which the linker finds names."""
    return [ExtractedKey(key=[text], of=[number]) for number, text in enumerate(questions, start=1)]


def is_open(part: str) -> bool:
    """Whether a part of a key stands for something unknown."""
    return part.startswith("?")


def as_keys(found: Sequence[ExtractedKey], ids: Sequence[str], level: KeyLevel) -> list[MapKey]:
    """The keys of a reply, each once, with ids in place of numbers. A key that names nothing is dropped."""
    keys: dict[tuple[str, ...], MapKey] = {}
    for entry in found:
        parts = [_part(part, ids) for part in entry["key"]]
        if all(map(is_open, parts)):
            continue
        key = keys.setdefault(tuple(part.casefold() for part in parts), MapKey(parts=parts, of=[], level=level))
        key["of"] += [ids[number - 1] for number in entry["of"] if ids[number - 1] not in key["of"]]
    return list(keys.values())


def _part(text: str, ids: Sequence[str]) -> str:
    part = one_line(text)[:_LONGEST].strip() or "?"
    place = _PLACE.fullmatch(part)
    if not place:
        return part
    number = int(place[1])
    return f"?{ids[number - 1]}" if 1 <= number <= len(ids) else "?"


def settled(keys: Mapping[str, Sequence[MapKey]], nodes: Nodes) -> list[MapKey]:
    """All keys, local ones first, with placeholders tied to questions where that is possible.

    A placeholder without a number ("?mountain") stands for the answer to the first question, in the order of answering, with
    a key that has it.
    """
    every = [key for level in ("joint", "local", "global", "words") for key in keys.get(level, ())]
    owner: dict[str, str] = {}
    for at in answer_order(nodes).ids:
        for part in (part for key in every if at in key["of"] for part in key["parts"]):
            if is_open(part) and part != "?":
                owner.setdefault(part.casefold(), at)

    def tied(part: str) -> str:
        if part[1:] in nodes or part.casefold() not in owner:
            return part
        return f"?{owner[part.casefold()]}"

    return [{**key, "parts": [tied(part) for part in key["parts"]]} for key in every]
