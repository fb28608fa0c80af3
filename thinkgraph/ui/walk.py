"""A run as the page draws it: its progress events, and what each step's update adds to the graph, in words and ids.

Progress events name things by their labels. What a node wrote names them by id: here that becomes triples, entities, passages
and communities as they stand in the stores, each sent once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar, cast

from langgraph.types import Overwrite
from typing_extensions import TypedDict

from thinkgraph.errors import StoreError
from thinkgraph.state.answer import Answer
from thinkgraph.state.events import UserQuestion
from thinkgraph.state.knowledge import Triple
from thinkgraph.state.usage import CallRecord
from thinkgraph.tools.knowledge import Knowledge

T = TypeVar("T")

MOST_TRIPLES = 300
"""Most triples that one step adds to the picture; those that became evidence come first."""
MOST_PASSAGES = 40
LONGEST = 4_000
"""Longest text that goes to a browser, in characters. Others are cut: a label may be a megabyte."""
LONGEST_LABEL = 300
_TRIPLE_KEYS = frozenset({"triple", "triples", "tails", "joining"})
_UNSEEN_KEYS = frozenset({"answer", "calls", "work", "manifest", "messages", "pruned", "draft"})
"""What of an update tells nothing of the walk."""
_STARTS = ("candidates", "subjects", "topics")


class Start(TypedDict):
    """An entity that the run goes out from, in the beginning or in a later round."""

    id: str
    label: str
    description: str


class ReadPassage(TypedDict):
    """A stretch of a passage that was read."""

    id: str
    title: str
    section: str
    text: str
    start: int
    end: int


class Box(TypedDict):
    """A community: entities that are drawn in one box."""

    id: str
    entities: list[str]
    chain: int
    round: int


class MapQuestion(TypedDict):
    """A question of CogGRAG's mind map as it stands."""

    id: str
    parent: str
    question: str
    answers: list[str]
    verified: bool | None
    attempts: int
    why: str
    solved: bool


class Walked(TypedDict):
    """What a step added to the picture."""

    type: Literal["walked"]
    step: str
    round: int
    starts: list[Start]
    triples: list[Triple]
    more: int
    """Triples that the step saw and the picture leaves out."""
    evidence: list[str]
    """Ids of triples that are evidence now."""
    passages: list[ReadPassage]
    boxes: list[Box]
    clues: list[dict[str, Any]] | None
    """FiSKE's clue table; None where the step did not change it."""
    questions: list[MapQuestion] | None
    """CogGRAG's mind map, likewise."""
    cost: float
    """US dollars so far."""


class AskedBack(TypedDict):
    """The run waits for a reply of the person."""

    type: Literal["asked"]
    question: UserQuestion


class Paused(TypedDict):
    """The run rests; it can go on."""

    type: Literal["paused"]
    reason: str


class Queued(TypedDict):
    """The run waits for its turn."""

    type: Literal["queued"]
    running: int
    """Runs that are worked on meanwhile."""


class Forked(TypedDict):
    """From here on it is another run than the one whose steps stand before."""

    type: Literal["forked"]
    source: str
    changes: list[str]


class Finished(TypedDict):
    """The run has its answer."""

    type: Literal["finished"]
    answer: Answer


def bounded(value: Any, longest: int = LONGEST) -> Any:
    """A JSON value whose texts are cut to a length that a page can show."""
    if isinstance(value, str):
        return value if len(value) <= longest else f"{value[: longest - 1]}…"
    if isinstance(value, Mapping):
        return {key: bounded(one, longest) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [bounded(one, longest) for one in value]
    return value


class Recorder:
    """Turns what LangGraph streams of a run ("custom" and "updates") into events that a page can draw and replay."""

    def __init__(self, knowledge: Knowledge, before: Iterable[Mapping[str, Any]] = ()) -> None:
        """Start, or go on after the events that an interrupted run has kept.

        Args:
            knowledge: where ids are looked up.
            before: events that are kept already.
        """
        self._knowledge = knowledge
        self._triples: set[str] = set()
        self._evidence: set[str] = set()
        self._passages: set[tuple[str, int, int]] = set()
        self._boxes: set[str] = set()
        self._starts: set[str] = set()
        self._calls: dict[str, CallRecord] = {}
        self._questions: dict[str, MapQuestion] = {}
        self._cost = 0.0
        for event in before:
            self._known(event)

    def _known(self, event: Mapping[str, Any]) -> None:
        if event["type"] == "walked":
            self._triples.update(one["id"] for one in event["triples"])
            self._evidence.update(event["evidence"])
            self._passages.update((one["id"], one["start"], one["end"]) for one in event["passages"])
            self._boxes.update(one["id"] for one in event["boxes"])
            self._starts.update(one["id"] for one in event["starts"])
            self._questions = {one["id"]: one for one in event["questions"] or ()} or self._questions
            self._cost = event["cost"]

    def read(self, mode: str, part: Any) -> Iterator[dict[str, Any]]:
        """The events of one part of the stream, each with the time at which it came.

        Args:
            mode: "custom" or "updates".
            part: what LangGraph gave.
        """
        if mode == "custom":
            yield self.stamped(part)
            return
        for step, update in part.items():
            if isinstance(update, Mapping) and (event := self._walked(step, update)):
                yield self.stamped(event)

    @staticmethod
    def stamped(event: Mapping[str, Any], longest: int = LONGEST) -> dict[str, Any]:
        """An event with its time, its texts cut to what a page can show."""
        return {**bounded(event, longest), "at": round(time.time(), 3)}

    def finished(self, answer: Answer) -> dict[str, Any]:
        """The last event of a run."""
        return self.stamped(Finished(type="finished", answer=answer))

    def _walked(self, step: str, update: Mapping[str, Any]) -> Walked | None:
        plain = {key: _whole(value) for key, value in update.items()}
        seen = {key: value for key, value in plain.items() if key not in _UNSEEN_KEYS}
        self._calls |= cast("dict[str, CallRecord]", plain.get("calls") or {})
        starts = self._new_starts(seen)
        triples, more, evidence = self._new_triples(seen)
        event = Walked(
            type="walked",
            step=step,
            round=int(plain.get("round") or 0),
            starts=starts,
            triples=triples,
            more=more,
            evidence=evidence,
            passages=self._new_passages(seen),
            boxes=self._new_boxes(seen),
            clues=cast("list[dict[str, Any]] | None", seen.get("table")),
            questions=self._mind_map(seen),
            cost=self._cost + sum(call["cost"] for call in self._calls.values()),
        )
        told = ("starts", "triples", "evidence", "passages", "boxes", "clues", "questions")
        return event if any(event[name] for name in told) else None  # type: ignore[literal-required]

    def _new_starts(self, seen: Mapping[str, Any]) -> list[Start]:
        found: dict[str, Start] = {}
        # Once triples were walked, a round's topics are what they led to.
        for name in _STARTS if not self._triples else ():
            for one in _entries(seen.get(name)):
                if "id" in one and "label" in one and one["id"] not in self._starts:
                    about = str(one.get("description", ""))
                    found[one["id"]] = Start(id=one["id"], label=_label(one["label"]), description=_label(about))
        for one in _entries(seen.get("branches")):
            if not one.get("round") and one["entity"] not in self._starts:
                found[one["entity"]] = Start(id=one["entity"], label=_label(one["label"]), description="")
        # CogGRAG links names of its questions: entity ids by name.
        named = seen.get("linked")
        linked = [key for ids in named.values() for key in ids] if isinstance(named, Mapping) else []
        found |= self._looked_up([key for key in dict.fromkeys(linked) if key not in self._starts])
        self._starts |= found.keys()
        return list(found.values())

    def _looked_up(self, ids: list[str]) -> dict[str, Start]:
        return {
            one["id"]: Start(id=one["id"], label=_label(one["label"]), description=_label(one["description"]))
            for one in _read(self._knowledge.graph.entities, ids)
            if one
        }

    def _new_triples(self, seen: Mapping[str, Any]) -> tuple[list[Triple], int, list[str]]:
        cited = [key for key in dict.fromkeys(_ids(seen.get("evidence"))) if key not in self._evidence]
        every = dict.fromkeys([*cited, *_ids(seen)])
        fresh = [key for key in every if key not in self._triples]
        shown = fresh[:MOST_TRIPLES]
        self._evidence.update(cited)
        self._triples.update(shown)
        found = _read(self._knowledge.graph.triples, shown)
        return [_shown(one) for one in found if one], len(fresh) - len(shown), cited

    def _new_passages(self, seen: Mapping[str, Any]) -> list[ReadPassage]:
        items = [one for one in _entries(seen.get("evidence")) if one.get("passage")]
        items += [one for one in _entries(seen.get("ranked")) if one.get("passage")]
        keys = dict.fromkeys((one["passage"], int(one["start"]), int(one["end"])) for one in items)
        fresh = [key for key in keys if key not in self._passages][:MOST_PASSAGES]
        text = self._knowledge.text
        if text is None:
            return []
        self._passages.update(fresh)
        found = _read(text.passages, [key for key, _, _ in fresh])
        return [
            ReadPassage(
                id=one["id"],
                title=_label(one["title"]),
                section=_label(one["section"]),
                text=one["text"][start:end],
                start=start,
                end=end,
            )
            for (_, start, end), one in zip(fresh, found, strict=False)
            if one
        ]

    def _new_boxes(self, seen: Mapping[str, Any]) -> list[Box]:
        boxes = [
            Box(id=one["id"], entities=list(one["nodes"]), chain=int(chain["number"]), round=int(one["round"]))
            for chain in _entries(seen.get("chains"))
            for one in chain["communities"]
            if one["id"] not in self._boxes
        ]
        self._boxes.update(box["id"] for box in boxes)
        return boxes

    def _mind_map(self, seen: Mapping[str, Any]) -> list[MapQuestion] | None:
        nodes, solved = seen.get("mind_map"), seen.get("solved")
        if not isinstance(nodes, Mapping) and not isinstance(solved, Mapping):
            return None
        for key, node in (nodes or {}).items():
            known = self._questions.get(key)
            blank = MapQuestion(
                id=key, parent="", question="", answers=[], verified=None, attempts=0, why="", solved=False
            )
            self._questions[key] = {**(known or blank), "parent": node["parent"], "question": node["question"]}
        for key, one in (solved or {}).items():
            if key in self._questions:
                self._questions[key] = {
                    **self._questions[key],
                    "question": one["asked"],
                    "answers": one["answers"],
                    "verified": one["verified"],
                    "attempts": len(one["attempts"]),
                    "why": one["why"],
                    "solved": True,
                }
        return list(self._questions.values())


def _read(store: Callable[[Sequence[str]], Sequence[T]], ids: Sequence[str]) -> Sequence[T]:
    """What a store has of ids. Nothing where it fails: the run itself says what is wrong, the picture lacks a step."""
    try:
        return store(ids) if ids else []
    except StoreError:
        return []


def _whole(value: Any) -> Any:
    return value.value if isinstance(value, Overwrite) else value


def _entries(value: Any) -> list[Mapping[str, Any]]:
    """The records of a channel, whether it holds them by id or in a list."""
    every: Sequence[Any] = (
        list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else []
    )
    return [one for one in every if isinstance(one, Mapping)]


def _ids(value: Any) -> Iterator[str]:
    """The ids of triples in a value, wherever they stand."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            if key in _TRIPLE_KEYS:
                yield from (
                    text for text in (one if isinstance(one, list) else [one]) if isinstance(text, str) and text
                )
            else:
                yield from _ids(one)
    elif isinstance(value, list):
        for one in value:
            yield from _ids(one)


def _label(text: str) -> str:
    return str(bounded(text, LONGEST_LABEL))


def _shown(triple: Triple) -> Triple:
    return {
        **triple,
        "subject_label": _label(triple["subject_label"]),
        "relation_label": _label(triple["relation_label"]),
        "object_label": _label(triple["object_label"]),
    }
