"""A model server that errs, once and for good: no invented answer, one line of error, and the run ends or resumes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from model_server import ModelServer, ServedCall, answers_of
from replies import Answer

from trials.commands import Done, Limits
from trials.fault_list import Make, faults
from trials.outcomes import Outcome, Trial
from trials.world import METHODS, Asking, answer_of, case_of, drawn, model_of, own_folder

LIMITS = Limits(seconds=150)
SETTINGS = ("call_retries=1", "call_timeout=3", "max_seconds=15")


def trials(kb: Path, count: int) -> Iterator[Trial]:
    """So many of the faults, spread over them, for each method: once, and until the run has ended."""
    every = faults()
    names = list(every)
    for name in names[:: max(1, len(names) // count)]:
        for method in METHODS:
            for lasting in (False, True):
                run = partial(_trial, kb, method, name, every[name], lasting=lasting)
                yield Trial("faults", method, f"{name}, {'lasting' if lasting else 'once'}", run)


class _Script:
    """Right replies, but a fault at the call that is drawn, and with `lasting` from there on until it is healed."""

    def __init__(self, right: Callable[[ServedCall], Answer], make: Make, at: int, *, lasting: bool) -> None:
        self._right, self._make, self._at, self._lasting = right, make, at, lasting
        self.healed = False

    def __call__(self, call: ServedCall) -> Answer:
        right = self._right(call)
        wrong = call.number >= self._at if self._lasting else call.number == self._at
        return self._make(right) if wrong and not self.healed else right


def _trial(kb: Path, method: str, name: str, make: Make, *, lasting: bool) -> Outcome:
    case = case_of(method)
    at = drawn("fault", method, name, lasting).randrange(case.calls)
    script = _Script(answers_of(model_of(case)), make, at, lasting=lasting)
    with own_folder() as home, ModelServer(script) as server:
        asking = Asking(kb, home, case, server, settings=SETTINGS)
        done = asking.ask().wait(LIMITS)
        wrong, ended = _judged(done, case.answers), "answered"
        if done.code and not done.over:
            script.healed = True
            again = asking.resume().wait(LIMITS)
            wrong += _judged(again, case.answers)
            if again.code:
                wrong.append(f"not resumed: {again.err[-300:]!r}")
            done, ended = again, "resumed"
        answer = answer_of(done)
        right = answer is not None and answer["answers"] == case.answers
    said = [f"call {at}: {one}" for one in wrong]
    how = f"{ended}, {'right' if right else 'unknown'}"
    return Outcome("faults", method, f"{name}, {'lasting' if lasting else 'once'}", said, how)


def _judged(done: Done, right: list[str]) -> list[str]:
    found = done.faults
    answer = answer_of(done)
    if done.code == 0 and answer is None:
        found.append(f"no answer: {done.out[-200:]!r}")
    if answer is not None and set(answer["answers"]) - set(right):
        found.append(f"an invented answer: {answer['answers']} ({answer['status']})")
    return found
