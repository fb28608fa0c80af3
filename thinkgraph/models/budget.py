"""Ceilings on calls, tokens, money and time, kept under concurrency.

Usage is read from state where a node starts alone; before a fan-out the rest is cut into shares, one per Send payload, so
that concurrent tasks can never pass a ceiling together. What a share does not use is simply never recorded as used.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, cast

from thinkgraph.state.base import Quota
from thinkgraph.state.settings import RunSettings
from thinkgraph.state.usage import CallRecord, WorkRecord, active_seconds

CeilingName = Literal["calls", "tokens", "cost", "seconds"]


_UNITS: Final[Mapping[CeilingName, str]] = {
    "calls": "calls",
    "tokens": "tokens",
    "cost": "US dollars",
    "seconds": "seconds",
}


class BudgetSpentError(Exception):
    """A ceiling leaves no room for a call. Nodes may catch it; otherwise the run goes to its closing node."""

    def __init__(self, name: CeilingName, limit: float) -> None:
        self.name = name
        self.what = _UNITS[name]
        self.reason = f"budget: the ceiling of {limit:.15g} {self.what} is reached"
        super().__init__(self.reason)


def ceilings(settings: RunSettings) -> Quota:
    """The whole run's quota."""
    return Quota(
        calls=settings.max_calls, tokens=settings.max_tokens, cost=settings.max_cost, seconds=settings.max_seconds
    )


def _used(calls: Mapping[str, CallRecord]) -> dict[str, float]:
    """Attempts, tokens and US dollars of the recorded calls."""
    return {
        "calls": sum(call["attempts"] for call in calls.values()),
        "tokens": sum(call["input_tokens"] + call["output_tokens"] for call in calls.values()),
        "cost": sum(call["cost"] for call in calls.values()),
    }


def remaining(settings: RunSettings, calls: Mapping[str, CallRecord], work: Mapping[str, WorkRecord]) -> Quota:
    """What is left after the recorded calls and work."""
    used = {**_used(calls), "seconds": active_seconds(work.values())}
    limits: dict[str, Any] = {**ceilings(settings)}
    left = {name: None if limit is None else max(0, limit - used[name]) for name, limit in limits.items()}
    return cast("Quota", left)


def shares(quota: Quota, parts: int, *, keep: int = 0) -> list[Quota]:
    """Cut what is left into `parts` shares, `keep` calls held back for what comes after the fan-out.

    Earlier shares take what does not divide evenly. Time is not divided: the tasks run side by side.
    """
    parts = max(parts, 1)

    def cut(total: int | None, part: int) -> int | None:
        return None if total is None else total // parts + (part < total % parts)

    calls = None if quota["calls"] is None else max(0, quota["calls"] - keep)
    return [
        Quota(
            calls=cut(calls, part),
            tokens=cut(quota["tokens"], part),
            cost=None if quota["cost"] is None else quota["cost"] / parts,
            seconds=quota["seconds"],
            parts=parts * quota.get("parts", 1),
        )
        for part in range(parts)
    ]


CHARACTERS_PER_TOKEN: Final = 3
"""Deliberately low, so that an estimate errs on the side of the ceiling."""


def estimate_tokens(characters: int) -> int:
    """Tokens that a text of so many characters may have, before the provider says."""
    return -(-characters // CHARACTERS_PER_TOKEN)


@dataclass(frozen=True)
class Reservation:
    """Room taken for one call by estimate."""

    tokens: int
    cost: float


class Ledger:
    """Keeps one node execution within its quota. Safe under concurrent calls: room is taken before a call is made."""

    def __init__(
        self,
        quota: Quota,
        settings: RunSettings,
        calls: Mapping[str, CallRecord] | None = None,
        work: Mapping[str, WorkRecord] | None = None,
    ) -> None:
        """Start with the whole run's ceilings, or a share of them, of which these calls and node executions used some."""
        self._quota: dict[str, Any] = {**quota}
        self._limits = settings
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._before = calls or {}, work or {}

    # Most node executions make no call: nothing is added up for them.
    @cached_property
    def _used(self) -> dict[str, float]:
        return _used(self._before[0])

    @cached_property
    def _began(self) -> float:
        return self._started - active_seconds(self._before[1].values())

    def reserve(
        self, *, characters: int, output: int = 0, spare: int = 0, price: tuple[float, float] = (0.0, 0.0)
    ) -> Reservation:
        """Take room for one call before it is made.

        Args:
            characters: length of the messages, from which input tokens are estimated.
            output: tokens that the reply may take, hidden reasoning included.
            spare: calls that must remain possible after this one (a run's closing call).
            price: US dollars per input and output token.

        Returns:
            What was reserved, to be given back to `settle`.

        Raises:
            BudgetSpentError: there is no room under one of the ceilings.
        """
        tokens = estimate_tokens(characters)
        reserved = Reservation(tokens + output, tokens * price[0] + output * price[1])
        wanted: dict[CeilingName, float] = {"calls": 1 + spare, "tokens": reserved.tokens, "cost": reserved.cost}
        with self._lock:
            spent = [
                name
                for name, more in wanted.items()
                if self._quota[name] is not None and self._used[name] + more > self._quota[name]
            ]
            if self.time_left() == 0:
                spent.append("seconds")
            if spent:
                raise BudgetSpentError(spent[0], getattr(self._limits, f"max_{spent[0]}") or 0)
            self._count(1, reserved.tokens, reserved.cost)
        return reserved

    def _count(self, calls: int, tokens: int, cost: float) -> None:
        self._used["calls"] += calls
        self._used["tokens"] += tokens
        self._used["cost"] += cost

    def settle(self, reserved: Reservation, *, tokens: int, cost: float) -> None:
        """Replace an estimate by what the call really used."""
        with self._lock:
            self._count(0, tokens - reserved.tokens, cost - reserved.cost)

    def refund(self, reserved: Reservation) -> None:
        """Give a whole reservation back: a server refused the request unread, and nobody pays for it."""
        with self._lock:
            self._count(-1, -reserved.tokens, -reserved.cost)

    def replay(self, *, attempts: int, tokens: int, cost: float) -> None:
        """Count a reply that came from the journal as it was counted when it was paid for."""
        with self._lock:
            self._count(attempts, tokens, cost)

    @property
    def calls(self) -> int:
        """Calls that it has counted."""
        return int(self._used["calls"])

    @property
    def quota(self) -> Quota:
        """What it keeps to, raised ceilings included."""
        return cast("Quota", {**self._quota})

    @property
    def parts(self) -> int:
        """Into how many shares the whole was cut of which this ledger keeps one."""
        parts: int = self._quota.get("parts", 1)
        return parts

    def extend(self, name: CeilingName, limits: RunSettings) -> None:
        """Raise a ceiling to that of new settings: this share gets its part of what is added. Time is not divided."""
        with self._lock:
            more = (getattr(limits, f"max_{name}") or 0) - (getattr(self._limits, f"max_{name}") or 0)
            if self._quota[name] is not None:
                part = more if name == "seconds" else more / self.parts
                self._quota[name] += int(part) if name in {"calls", "tokens"} else part
            self._limits = limits

    def time_left(self) -> float | None:
        """Seconds until the ceiling on active time, or None."""
        seconds: float | None = self._quota["seconds"]
        return None if seconds is None else max(0.0, seconds - (time.monotonic() - self._began))
