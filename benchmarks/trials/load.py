"""`benchmarks/load.py` as a column: many questions in flight for minutes, under a bound on memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from trials.outcomes import Outcome, Trial

SCRIPT = Path(__file__).parents[1] / "load.py"
_SLACK = 600.0
"""Seconds beside those asked for, to start and to end."""


def trials(in_flight: int, minutes: float) -> Iterator[Trial]:
    """One long trial."""
    name = f"{in_flight} in flight, {minutes:g} minutes"
    yield Trial("load", "tog2", name, lambda: _trial(name, in_flight, minutes))


def _trial(name: str, in_flight: int, minutes: float) -> Outcome:
    command = [sys.executable, SCRIPT, "--in-flight", str(in_flight), "--minutes", str(minutes)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=minutes * 60 + _SLACK, check=False)
    except subprocess.TimeoutExpired:
        return Outcome("load", "tog2", name, ["it did not end"])
    last = done.stdout.splitlines()[-1:] or [""]
    wrong = [] if done.returncode == 0 else [f"{last[0]} {done.stderr[-300:]}"]
    return Outcome("load", "tog2", name, wrong, last[0])
