"""What a run has used: one record per model call, one per node execution. Merged by id, so a replay counts once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NotRequired, TypeVar

from typing_extensions import TypedDict

Record = TypeVar("Record")


class CallRecord(TypedDict):
    """One reply of a model, with every attempt it took to get it; or the attempts alone, where none came (`unanswered`)."""

    id: str
    """Key of the reply in the journal; the same after a replay."""
    role: str
    node: str
    model: str
    attempts: int
    """Requests sent: 1, and one more for every retry. Each counts as a call."""
    input_tokens: int
    output_tokens: int
    cost: float
    """US dollars by the price table; 0.0 where the model has no price."""
    seconds: float
    """Wall time from the first attempt to the reply."""
    repair: bool
    """Whether it is the second request after a reply that could not be read."""
    fallback: bool
    """Whether the reply could not be read and the role's deterministic fallback was taken."""
    left_out: NotRequired[int]
    """Numbered lines (options, evidence) left out of the prompt to fit the model's window; absent: none."""
    unanswered: NotRequired[bool]
    finish: NotRequired[str]
    """How the reply ended, where not by itself: "length", "filtered" or "tools"."""


class WorkRecord(TypedDict):
    """One execution of a node: when it was active, and what it asked of stores, encoder and graph-to-text."""

    node: str
    started: float
    """Seconds since the epoch."""
    ended: float
    store_round_trips: int
    encoder_texts: int
    generated_texts: int
    """Texts that graph-to-text wrote."""


class RoleUsage(TypedDict):
    """Sums over the calls of one role, or of all."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost: float
    fallbacks: int


class Usage(TypedDict):
    """The bill of an answer."""

    total: RoleUsage
    roles: dict[str, RoleUsage]
    models: list[str]
    store_round_trips: int
    encoder_texts: int
    generated_texts: int
    """Communities put into prose by a graph-to-text model; those found in its memory cost nothing."""
    seconds: float
    """Active time: the union of the intervals in which a node of the run was executing; pauses do not count."""


def merge_records(old: dict[str, Record] | None, new: dict[str, Record] | None) -> dict[str, Record]:
    """Reducer: records by id, the newer wins."""
    return {**(old or {}), **(new or {})}


def active_seconds(work: Iterable[WorkRecord]) -> float:
    """Length of the union of the records' intervals: concurrent nodes count once, a pause not at all."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted((record["started"], record["ended"]) for record in work):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _sum(calls: Iterable[CallRecord]) -> RoleUsage:
    total = RoleUsage(calls=0, input_tokens=0, output_tokens=0, cost=0.0, fallbacks=0)
    for call in calls:
        total["calls"] += call["attempts"]
        total["input_tokens"] += call["input_tokens"]
        total["output_tokens"] += call["output_tokens"]
        total["cost"] += call["cost"]
        total["fallbacks"] += call["fallback"]
    return total


def summarise(calls: Mapping[str, CallRecord], work: Mapping[str, WorkRecord]) -> Usage:
    """Add the records up."""
    roles = sorted({call["role"] for call in calls.values()})
    return Usage(
        total=_sum(calls.values()),
        roles={role: _sum(call for call in calls.values() if call["role"] == role) for role in roles},
        models=sorted({call["model"] for call in calls.values()}),
        store_round_trips=sum(record["store_round_trips"] for record in work.values()),
        encoder_texts=sum(record["encoder_texts"] for record in work.values()),
        generated_texts=sum(record["generated_texts"] for record in work.values()),
        seconds=round(active_seconds(work.values()), 3),
    )
