"""Clue extraction (FiSKE section 3.2): the question's meaning in pieces of the size of a graph's entities and relations."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence

from langgraph.types import Overwrite

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.fiske.mapping import last_calls
from thinkgraph.prompts.kinds import KEYWORDS, Shape
from thinkgraph.prompts.lines import numbered, one_line, safe_block, safe_label
from thinkgraph.runtime import requests
from thinkgraph.state.fiske import Branch, FiskeSettings, FiskeState
from thinkgraph.tools.linking.lexical import content_tokens, tokens
from thinkgraph.tools.linking.names import is_name, normal_name

_QUOTES = "\"'\u201c\u201d\u2018\u2019\u00ab\u00bb\u300c\u300d"
_MAX_NAMES = 20
_MAX_CHARACTERS = 200
"""Characters of a clue that are kept."""


def extract_clues(state: FiskeState, settings: FiskeSettings) -> Flow[Update]:
    """Ask for numbered clues, one per occurrence. Without a readable reply there are none, and the exploration fails.

    When the search goes back, its branches are explored once more. Every second time, clues are asked for anew, and a name in the
    question that they leave out becomes a clue too; if they are names alone, so do its other words. If these clues differ from the last ones, another exploration begins.
    """
    again = bool(state["backtracked"])
    branches = revived(state["branches"].values()) if again else {}
    if branches and state["backtracked"] % 2:
        return {"branches": branches}
    tried = list(dict.fromkeys([*state["tried"], *state["clues"]]))
    words = yield from requests.call(
        KEYWORDS,
        "fiske.extract_clues",
        {"question": safe_block(state["question"]), "tried": numbered(map(safe_label, tried))},
        shape=Shape(explain=settings.explain),
        fallback=[],
        spare=last_calls(settings),
    )
    texts = [one_line(word).strip(_QUOTES + " ")[:_MAX_CHARACTERS].strip() for word in words]
    every = [text for text in texts if text]
    if again:
        every = yield from _completed(state["question"], every)
    clues = every[: settings.max_clues]
    if again and (not clues or _names(clues) == _names(state["clues"])):
        return {"tried": tried, "branches": branches}
    notes = []
    if len(every) > settings.max_clues:
        notes.append(f"only the first {settings.max_clues} of {len(every)} clues were used (max_clues)")
    return {"clues": clues, "tried": tried, "notes": notes, "branches": Overwrite({}), "named": []}


def _completed(question: str, clues: Sequence[str]) -> Flow[list[str]]:
    """The clues with the names in the question that stand in none of them and, where all are names, its other words in short phrases."""
    links = (yield from requests.link_names([question], limit=_MAX_NAMES))[0]
    told = " | ".join(map(_in_tokens, clues))
    names = [mention for mention in dict.fromkeys(link["mention"] for link in links) if is_name(mention)]
    every = [*(name for name in names if _in_tokens(name) not in told), *clues]
    phrases = _phrases(question, every) if set(_names(every)) <= set(_names(names)) else []
    return [*every, *phrases]


def _in_tokens(text: str) -> str:
    """The words between spaces: "Oman" does not stand in "Romance"."""
    return f" {' '.join(tokens(text))} "


def _phrases(question: str, without: Sequence[str]) -> list[str]:
    """The content words of a question that stand side by side, without these names: "largest population"."""
    for name in sorted(without, key=len, reverse=True):
        question = re.sub(rf"(?<!\w){re.escape(name)}(?:['\u2019]s)?(?!\w)", ",", question, flags=re.IGNORECASE)
    runs = itertools.groupby(
        re.findall(r"\w[\w'\u2019-]*|[^\w\s]", question), key=lambda word: bool(content_tokens(word))
    )
    return [" ".join(run) for has_content, run in runs if has_content]


def _names(clues: Iterable[str]) -> list[str]:
    return list(map(normal_name, clues))


def revived(branches: Iterable[Branch]) -> dict[str, Branch]:
    """The branches that clues are left for, to be explored again.

    A complete branch has none left. What its last step mapped to the entity alone, not to the relation, may be wrong: it is
    open again.
    """
    found: dict[str, Branch] = {}
    for branch in branches:
        by_relation = {mark["clue"] for mark in branch["marks"] if mark["kind"] == "relation"}
        doubtful = {mark["clue"] for mark in branch["marks"] if mark["kind"] == "entity"} - by_relation
        remaining = sorted({*branch["remaining"], *doubtful})
        if remaining:
            found[branch["id"]] = {
                **branch,
                "status": "live",
                "why": "",
                "explored": [number for number in branch["explored"] if number not in remaining],
                "remaining": remaining,
                "marks": [mark for mark in branch["marks"] if mark["clue"] not in remaining],
            }
    return found
