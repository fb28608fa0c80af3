"""What a run costs beside its model calls: texts encoded, texts generated, round trips to stores, counted where they happen.

A driver sets `current_meter` around the work it wants to account for. Encoders add what they encode, graph-to-text what it
writes. Whoever calls a store adds the round trip (`Deps.call`, the linker), never the store itself: stores of users count
too, and once. A context variable reaches threads only if the caller runs them in a copy of its context (`asyncio.to_thread`
and LangChain do).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock


@dataclass
class Meter:
    """Counts of one run or one request; safe to add to from several threads."""

    encoder_texts: int = 0
    """Texts that an encoder really encoded (a cached vector costs nothing)."""
    generated_texts: int = 0
    """Texts that a graph-to-text model really wrote (a remembered one costs nothing)."""
    store_round_trips: int = 0
    """Logical round trips to graph and text stores, however long their lists were."""
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def add(self, *, encoder_texts: int = 0, generated_texts: int = 0, store_round_trips: int = 0) -> None:
        """Add to the counts."""
        with self._lock:
            self.encoder_texts += encoder_texts
            self.generated_texts += generated_texts
            self.store_round_trips += store_round_trips


current_meter: ContextVar[Meter | None] = ContextVar("thinkgraph_meter", default=None)
"""The meter of the work at hand; None where nobody counts."""


@contextmanager
def counting(meter: Meter) -> Iterator[None]:
    """Count the work of this context in `meter`."""
    token = current_meter.set(meter)
    try:
        yield
    finally:
        current_meter.reset(token)


def count(**counts: int) -> None:
    """Add to the meter of the work at hand, as `Meter.add` takes it."""
    if meter := current_meter.get():
        meter.add(**counts)


def count_round_trip() -> None:
    """Count one logical round trip to a store."""
    count(store_round_trips=1)
