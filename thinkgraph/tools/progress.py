"""How long work reports how far it is, without knowing who shows it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives the advance of long work (a build, an index, a bench). Implementations must be cheap to call."""

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """`done` of `total` units of `stage` are finished; `total` is None where it is not known."""


def no_progress(stage: str, done: int, total: int | None) -> None:
    """Show nothing."""
