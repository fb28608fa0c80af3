"""SIGKILL at random moments, resumed until done: the same answer, and no committed reply is asked for again."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graphs.resumed.test_kill import journalled
from model_server import ModelServer

from trials.commands import Command, Limits
from trials.outcomes import Outcome, Trial
from trials.world import METHODS, Asking, answer_of, case_of, drawn, model_of, own_folder

LATENCY = 0.03
SAME = ("answers", "status", "evidence", "rounds", "pruned", "confidence")
_EARLY = 0.15
"""Share of kills that come at any time from the start on; the others from the first call on."""
_AGAIN = 0.3
"""Share of resumed runs that are killed too."""


def trials(kb: Path, count: int) -> Iterator[Trial]:
    """So many runs of each method, each killed at least once."""
    for method in METHODS:
        whole = [_Whole(kb, method, busy=busy) for busy in (False, True)]
        for number in range(count):
            run = functools.partial(_trial, whole[number % 2], number)
            yield Trial("kills", method, str(number), run)


class _Whole:
    """An undisturbed run, made when it is first asked for."""

    def __init__(self, kb: Path, method: str, *, busy: bool) -> None:
        self.kb, self.method, self.busy = kb, method, busy
        self._lock = threading.Lock()

    @property
    def found(self) -> tuple[dict[str, Any], int, float]:
        """Its answer, its calls, and the seconds from the first call to the last."""
        with self._lock:
            return self._made

    @functools.cached_property
    def _made(self) -> tuple[dict[str, Any], int, float]:
        with own_folder() as home, ModelServer(chat_model=model_of(case_of(self.method)), latency=LATENCY) as server:
            done = self.asking(home, server).ask().wait(Limits())
            answer = answer_of(done)
            if answer is None:
                raise SystemExit(f"an undisturbed run of {self.method} failed: {done.err}")
            return answer, len(server.calls), (server.calls[-1].answered or 0) - server.calls[0].received

    def asking(self, home: Path, server: ModelServer) -> Asking:
        """Its question."""
        return Asking(self.kb, home, case_of(self.method), server, self.busy)


def _trial(whole: _Whole, number: int) -> Outcome:
    expected, calls, length = whole.found
    rng = drawn("kill", whole.method, number)
    wrong: list[str] = []
    kills = repeated = 0
    with own_folder() as home, ModelServer(chat_model=model_of(case_of(whole.method)), latency=LATENCY) as server:
        asking = whole.asking(home, server)
        command = asking.ask()
        while kills == 0 or rng.random() < _AGAIN:
            _wait(command, server, rng.random() < _EARLY, rng.uniform(0, length + LATENCY))
            command.kill()
            kills += 1
            # A request may still be on its way through the server's threads.
            time.sleep(LATENCY * 3)
            repeated = len(server.calls) - journalled(home)
            command = asking.resume()
        done = command.wait(Limits())
        answer = answer_of(done)
        wrong += done.faults
        if done.code or answer is None:
            wrong.append(f"the resumed run ended with {done.code}: {done.err[-300:]!r}")
        else:
            wrong += [f"another {key}: {answer[key]!r:.100}" for key in SAME if answer[key] != expected[key]]
            if answer["usage"]["total"]["calls"] != calls:
                wrong.append(f"usage says {answer['usage']['total']['calls']} calls, {calls} undisturbed")
            if (kept := journalled(home)) != calls:
                wrong.append(f"{kept} replies are kept of {calls}")
        if len(server.calls) - calls != repeated:
            wrong.append(f"{len(server.calls)} calls at the server, {calls} undisturbed, {repeated} in flight at kills")
    return Outcome("kills", whole.method, str(number), wrong, "same answer" if not wrong else "wrong", figure=kills)


def _wait(command: Command, server: ModelServer, early: bool, seconds: float) -> None:  # noqa: FBT001
    """Wait for the moment of the kill."""
    before = len(server.calls)
    deadline = time.monotonic() + 60
    while not early and len(server.calls) == before and command.alive and time.monotonic() < deadline:
        time.sleep(0.002)
    command.sleep(seconds)
