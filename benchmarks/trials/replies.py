"""Right replies, spoilt at random: each is read, repaired or replaced, and no answer is made of its ruins."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from random import Random
from typing import Any

from fakes import FakeModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

import thinkgraph as tg
from thinkgraph.errors import ThinkGraphError
from trials.commands import CONTEXT
from trials.outcomes import Outcome, Trial
from trials.world import METHODS, case_of, drawn

_JUNK = ("{", "}", "[", "]", '"', ",", ":", "\\", "\n", "\0", "\ud83d", "\u202e", "null", "NaN", "-1", "1e999", "999999",
         "true", "<think>", "```", "[1]", "é", "\x1b[2J", "{{options}}")  # fmt: skip
_LASTING = 0.3
"""Share of trials in which every reply is spoilt, from the drawn one on."""


def trials(count: int) -> Iterator[Trial]:
    """So many replies, over the methods in turn."""
    for number in range(count):
        method = METHODS[number % len(METHODS)]
        yield Trial("replies", method, str(number), functools.partial(_apart, method, number))


@functools.cache
def _pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2, mp_context=CONTEXT)


def _apart(method: str, number: int) -> Outcome:
    return _pool().submit(_trial, method, number).result()


def _cut(text: str, rng: Random) -> str:
    return text[: rng.randrange(len(text))]


def _drop(text: str, rng: Random) -> str:
    at = rng.randrange(len(text))
    return text[:at] + text[at + rng.randint(1, 6) :]


def _insert(text: str, rng: Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(_JUNK) * rng.choice((1, 1, 1, 3, 2000)) + text[at:]


def _swap(text: str, rng: Random) -> str:
    at, other = sorted(rng.randrange(len(text)) for _ in range(2))
    return text[:at] + text[other:] + text[at:other]


def _twice(text: str, rng: Random) -> str:
    return text + rng.choice(("", "\n", ",", " or ")) + text


def _wrapped(text: str, rng: Random) -> str:
    before, after = rng.choice(
        (("Sure: ", ""), ("[", "]"), ('{"reply": ', "}"), ("<think>", "</think>"), ("(", ")"), ("", "\n\nNote: 42"))
    )
    return f"{before}{text}{after}"


def _quoted(text: str, rng: Random) -> str:
    return rng.choice((json.dumps(text), text.replace('"', "'"), text.replace('"', ""), text.replace(" ", "")))


def _retyped(text: str, rng: Random) -> str:
    """A value of another type, or a name of another spelling, where the reply is an object."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict) or not said:
        return _insert(text, rng)
    key = rng.choice(sorted(said))
    value = said.pop(key)
    said[rng.choice((key, key, key.upper(), key + "s", "", f" {key}"))] = rng.choice(
        (
            None,
            [],
            {},
            "",
            value,
            [value],
            {"value": value},
            str(value),
            -1,
            10**30,
            1.5,
            [[[[value]]]],
            True,
            [None],
            ["x"] * 5000,
        )
    )
    return json.dumps(said)


_SPOIL: tuple[Callable[[str, Random], str], ...] = (
    _cut, _drop, _insert, _swap, _twice, _wrapped, _quoted, _retyped, _retyped, _insert)  # fmt: skip


def spoilt(text: str, rng: Random) -> str:
    """A reply with one to three things wrong."""
    for _ in range(rng.randint(1, 3)):
        text = rng.choice(_SPOIL)(text, rng) if text else rng.choice(_JUNK)
    return text


class _Spoilt(FakeModel):
    """Spoils the reply at a place, or all from there on."""

    at: int
    lasting: bool
    seed: str
    said: list[str] = []  # noqa: RUF012 - pydantic copies it
    _count: int = PrivateAttr(0)

    def _reply(self, messages: list[BaseMessage]) -> ChatResult:
        (right,) = super()._reply(messages).generations
        self._count += 1
        number = self._count - 1
        if number < self.at or (number > self.at and not self.lasting):
            return ChatResult(generations=[right])
        text = spoilt(right.text, drawn(self.seed, number))
        self.said.append(text)
        message = AIMessage(text, usage_metadata={"input_tokens": 100, "output_tokens": 10, "total_tokens": 110})
        return ChatResult(generations=[ChatGeneration(message=message)])


def _trial(method: str, number: int) -> Outcome:
    case = case_of(method)
    rng = drawn("reply", number)
    model: Any = _Spoilt(
        case.replies, at=rng.randrange(case.calls), lasting=rng.random() < _LASTING, seed=f"spoilt {number}"
    )
    graph = tg.build(method, knowledge=case.knowledge(), model=model, settings=dict(case.settings))
    wrong: list[str] = []
    ended = "an error"
    try:
        answer = graph.invoke({"question": case.question})["answer"]
    except ThinkGraphError as error:
        if "\n" in str(error):
            wrong.append(f"an error of several lines: {error}")
    except Exception as error:  # noqa: BLE001 - what is no error of ours is what is looked for
        wrong.append(f"{type(error).__name__}: {error}; of {model.said[:1]!r:.200}")
    else:
        ended = "right" if answer["answers"] == case.answers else "unknown"
        if other := set(answer["answers"]) - set(case.answers):
            ended = "other"
            wrong.append(f"invented {sorted(other)!r:.100} ({answer['status']}) of {model.said!r:.300}")
    return Outcome("replies", method, str(number), wrong, ended)
