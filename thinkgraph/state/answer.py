"""The one kind of answer that every method gives: a plain dict, the same in Python and from a server."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from thinkgraph.state.knowledge import Triple
from thinkgraph.state.usage import Usage

Status = Literal["grounded", "partial", "memory", "unknown"]
"""`grounded`: the evidence holds the answer, and nothing says that it is of another kind than was asked for. `partial`: a best
effort: from incomplete evidence, or of another kind. `memory`: the model's own knowledge, not supported by evidence. `unknown`:
no answer."""


class CitedPassage(TypedDict):
    """A stretch of a passage that the answer stands on."""

    id: str
    title: str
    section: str
    start: int
    end: int
    text: str
    """Characters start to end of the passage."""
    score: float


class CitedPath(TypedDict):
    """A chain of triples that the answer stands on, from a topic entity onward; or a community of triples."""

    text: str
    """The path in the grammar of prompts/lines.py, for people."""
    triples: list[str]
    """Ids of its triples, all of which are in `Evidence.triples`."""
    score: float


class Evidence(TypedDict):
    """What an answer stands on. Everything here was fetched by id from the stores when the answer was made."""

    triples: list[Triple]
    passages: list[CitedPassage]
    paths: list[CitedPath]


SupportKind = Literal["path", "value", "sentence", "count", "conclusion", "words", "none"]
"""How an answer stands in its evidence. `path`: it is what a cited path leads to, or in a cited community. `value`: likewise, and a
value. `sentence`: it stands in a sentence of a cited passage. `count`: of what is listed. `conclusion`: yes, no, or a label. `words`:
it only shares words with what is cited. `none`: nothing is cited for it."""


class Support(TypedDict):
    """How and where one answer stands in the evidence."""

    answer: str
    kind: SupportKind
    within: Literal["paths", "passages", ""]
    """The list of the evidence; empty where no one line of it holds the answer."""
    line: int
    """Its place in that list, from 0; -1 without one."""
    start: int
    end: int
    """Characters start to end of that line's text hold the answer."""


Prunable = Literal[
    "topics", "relations", "entities", "chunks", "communities", "branches", "triples", "questions", "paths"
]


class PrunedNote(TypedDict):
    """What one prune left behind: a count, and the first few that were dropped."""

    round: int
    what: Prunable
    kept: int
    dropped: int
    examples: list[str]


class TraceLine(TypedDict):
    """One line of a trace's outline."""

    level: int
    """How far it is indented, from 0."""
    text: str


class Trace(TypedDict):
    """How a method came to its answer, in the method's own terms: FiSKE's clue table, CogGRAG's mind map …

    Faces draw `lines` whatever the method; programs read `data`.
    """

    title: str
    """What the outline is ("clues", "mind map"); empty where the method keeps nothing beside its evidence."""
    lines: list[TraceLine]
    data: dict[str, Any]
    """The same in the method's own structure: plain JSON, described by the method's state module."""


class Answer(TypedDict):
    """What a run returns."""

    question: str
    text: str
    """One line for a person; says so where there is no answer."""
    answers: list[str]
    """The answers as separate strings; empty where there is none."""
    status: Status
    reason: str
    """Why the status is what it is, in one line."""
    evidence: Evidence
    usage: Usage
    pruned: list[PrunedNote]
    trace: Trace
    rounds: int
    """Depth reached: 0 where the first look was enough."""
    method: str
    model: str
    """Name of the model that wrote the answer."""
    confidence: float | None
    """How likely the answer is right, from 0 to 1; None where there is none, or where nothing says how sure it is."""
    signals: dict[str, float]
    """What the confidence is made of; `nodes/closing/confidence.py` describes them."""
    support: list[Support]
    """How and where each of the answers stands in the evidence, in their order."""


class Draft(TypedDict):
    """An answer as the deciding node leaves it for the closing node: ids only."""

    answers: list[str]
    status: Status
    reason: str
    cited: list[str]
    instead_of: NotRequired[list[str]]
    """What the model cited, where the answer does not stand there."""


MAX_PRUNED_NOTES = 32


def merge_pruned(old: list[PrunedNote] | None, new: list[PrunedNote] | None) -> list[PrunedNote]:
    """Reducer: the newest notes, bounded. The full lists go out as events."""
    return [*(old or []), *(new or [])][-MAX_PRUNED_NOTES:]
