"""Hostile files through `kb build`, `kb info`, `ask`, `bench` and `batch`: one line of error, bounded memory and time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from trials.commands import Command, Done, Limits
from trials.hostile import OUTSIDE, Hostile, Make, hostile, with_kb
from trials.outcomes import Outcome, Trial
from trials.world import drawn, own_folder

LIMITS = Limits(seconds=180, megabytes=1500)


def trials(kb: Path, count: int) -> Iterator[Trial]:
    """So many files: every kind in turn, with other random numbers each time round."""
    every = hostile()
    names = list(every)
    step = max(1, len(names) // count)
    for number in range(count):
        name = names[number * step % len(names)]
        run = partial(_trial, kb, name, every[name], number)
        yield Trial("files", "commands", f"{name} #{number}", run)


def _trial(kb: Path, name: str, make: Make, number: int) -> Outcome:
    with own_folder() as folder:
        with_kb(kb, folder)
        asked = make(folder, drawn("file", number))
        home = folder / "home"
        env = {"THINKGRAPH_HOME": str(home), "THINKGRAPH_CACHE": str(folder / "cache")}
        done = Command(asked.arguments, folder / "said", env).start().wait(LIMITS)
        wrong = _judged(done, asked)
        made = folder / "made"
        if any(OUTSIDE.encode() in path.read_bytes() for path in made.rglob("*") if path.is_file()):
            wrong.append("brought in what stands outside")
    return Outcome("files", "commands", f"{name} #{number}", wrong, "refused" if done.code else "used")


def _judged(done: Done, asked: Hostile) -> list[str]:
    lines = done.err.splitlines()
    # `batch` keeps what cannot be asked beside the answers.
    counted = asked.arguments[0] == "batch" and done.code == 1 and lines and " failed" in lines[-1]
    if counted and not done.traceback:
        return []
    if asked.refused and done.code == 0:
        return [*done.faults, f"not refused: {done.out[-200:]!r}"]
    return done.faults
