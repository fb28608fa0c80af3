"""What trials came to: kept as they end, so that a long run goes on where it was stopped."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path

EVERY = 10.0
"""Seconds between two lines of progress."""


@dataclass(frozen=True)
class Outcome:
    """One trial."""

    column: str
    row: str
    name: str
    violations: list[str] = field(default_factory=list)
    ended: str = ""
    """How it ended, for the counts beside the table."""
    count: int = 1
    """Runs that it stands for."""
    figure: float = 0.0
    """What the column counts beside trials: kills."""


@dataclass(frozen=True)
class Trial:
    """A trial that is yet to be made."""

    column: str
    row: str
    name: str
    run: Callable[[], Outcome]


class Outcomes:
    """Those of this run and, with a folder to keep them in, of the runs before."""

    def __init__(self, folder: Path | None) -> None:
        self._path = folder and folder / "outcomes.jsonl"
        self._lock = threading.Lock()
        self.all: list[Outcome] = []
        if self._path and self._path.is_file():
            lines = self._path.read_text("utf-8").splitlines(keepends=True)
            self.all = [Outcome(**json.loads(line)) for line in lines if line.endswith("\n")]
            self._path.write_text("".join(line for line in lines if line.endswith("\n")), "utf-8")

    def add(self, outcome: Outcome) -> None:
        """Keep one."""
        with self._lock:
            self.all.append(outcome)
            if self._path:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(outcome)) + "\n")

    def make(self, trials: Iterable[Trial], jobs: int) -> None:
        """Make those trials that have no outcome yet, some at a time."""
        known = {(one.column, one.row, one.name) for one in self.all}
        left = [trial for trial in trials if (trial.column, trial.row, trial.name) not in known]
        said, began = time.monotonic(), time.monotonic()
        with ThreadPoolExecutor(jobs) as pool:
            for done, future in enumerate(as_completed([pool.submit(trial.run) for trial in left]), start=1):
                outcome = future.result()
                self.add(outcome)
                for violation in outcome.violations:
                    _say(f"VIOLATION {outcome.column}, {outcome.row}, {outcome.name}: {violation}")
                if done == len(left) or time.monotonic() - said > EVERY:
                    said = time.monotonic()
                    _say(f"{outcome.column}: {done} of {len(left)} in {said - began:.0f} s")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def table(outcomes: Iterable[Outcome]) -> str:
    """Trials and violations by column and row, and how the trials ended."""
    every = list(outcomes)
    lines = [f"{'':<10}{'':<10}{'trials':>8}{'violations':>12}  how they ended"]
    for column, row in dict.fromkeys((one.column, one.row) for one in every):
        these = [one for one in every if (one.column, one.row) == (column, row)]
        wrong = sum(bool(one.violations) for one in these)
        ended = Counter(one.ended for one in these)
        figure = sum(one.figure for one in these)
        how = ", ".join(f"{count} {what}" for what, count in ended.most_common()) + (
            f" [{figure:,.0f}]" if figure else ""
        )
        lines.append(f"{column:<10}{row:<10}{sum(one.count for one in these):>8}{wrong:>12}  {how}")
    return "\n".join(lines)
