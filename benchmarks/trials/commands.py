"""`thinkgraph` commands in processes of their own, which can be killed and are watched.

They are forked from one that has imported everything, so that a kill falls into the run and not into imports.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

CONTEXT: Any = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["trials.warm"])
_LOOK = 0.02
"""Seconds between two looks at a process."""
_TURN = threading.Lock()
"""Whoever starts a process looks at all that run. Of two looks at once at one that has ended, the second gets no exit code (255)."""


@dataclass(frozen=True)
class Limits:
    """What a command may take before it is killed."""

    seconds: float = 120.0
    megabytes: float = 1500.0
    """Resident, what its imports take included."""


@dataclass(frozen=True)
class Done:
    """What a command came to."""

    code: int
    out: str
    err: str
    seconds: float
    megabytes: float
    over: str = ""
    """Which limit it passed, for which it was killed."""

    @property
    def traceback(self) -> bool:
        """Whether a line begins as a traceback does; the same words quoted in a line of an error are a server's."""
        return any(line.lstrip(" +|").startswith(("Traceback", "Exception Group")) for line in self.err.splitlines())

    @property
    def faults(self) -> list[str]:
        """What no command may do, whatever it meets."""
        lines = [line for line in self.err.splitlines() if "error: " in line]
        found = [self.over] if self.over else []
        if self.traceback or "internal error" in self.err:
            found.append(f"a traceback or an internal error: {self.err[-300:]!r}")
        elif self.code and not self.over and len(lines) != 1:
            found.append(f"exit code {self.code} with {len(lines)} lines of error: {self.err[-300:]!r}")
        return found


class Command:
    """A command that runs.

    Args:
        arguments: what follows `thinkgraph`.
        folder: where its output goes.
        env: changes to the environment.
    """

    def __init__(self, arguments: Sequence[object], folder: Path, env: Mapping[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._files = (folder / "out.txt", folder / "err.txt")
        self._process = CONTEXT.Process(target=_work, args=(list(map(str, arguments)), self._files, dict(env)))
        self._most = 0.0

    def start(self) -> Self:
        """Start it."""
        self._began = time.monotonic()
        with _TURN:
            self._process.start()
        return self

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        with _TURN:
            return bool(self._process.is_alive())

    def sleep(self, seconds: float) -> None:
        """Wait so long, or until it ends."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and self.alive:
            time.sleep(min(left, _LOOK))

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        while self.alive:
            time.sleep(_LOOK)

    def wait(self, limits: Limits) -> Done:
        """Wait for its end; kill it where it passes a limit."""
        over = ""
        while not over and self.alive:
            self._most = max(self._most, _memory(self._process.pid))
            spent = time.monotonic() - self._began
            if spent > limits.seconds:
                over = f"still running after {spent:.0f} s"
            elif self._most > limits.megabytes:
                over = f"took {self._most:.0f} MB"
            time.sleep(_LOOK)
        if over:
            self.kill()
        out, err = (path.read_text("utf-8", "replace") for path in self._files)
        return Done(int(self._process.exitcode or 0), out, err, time.monotonic() - self._began, self._most, over)


def _memory(pid: int) -> float:
    """The most resident megabytes of a process so far; 0 where it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def _work(arguments: list[str], files: tuple[Path, Path], env: dict[str, str]) -> None:
    os.environ.update(env)
    for number, path in enumerate(files, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8") for number in (1, 2))
    sys.argv = ["thinkgraph", *arguments]
    from thinkgraph.cli.main import entry

    entry()
