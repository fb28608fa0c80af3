"""Many runs at once under max_calls, over a server that errs: no run sends more requests, however it ends and is resumed."""

from __future__ import annotations

import asyncio
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from model_server import ModelServer, ServedCall, answers_of
from replies import Answer, Drop, Fault, Garbage, server_error, too_many

import thinkgraph as tg
from thinkgraph.errors import ThinkGraphError
from thinkgraph.tools.knowledge import Knowledge
from trials import broken
from trials.outcomes import Outcome, Trial
from trials.world import METHODS, case_of, drawn, model_of, own_folder

LATENCY = 0.02
_RESUMED = 3
"""How often a run that ended with an error goes on."""
_ERRS = 0.35
"""Share of calls that go wrong."""
_FAULTS: tuple[Answer, ...] = (
    too_many(0),
    server_error(),
    Drop("head"),
    Drop("body"),
    Garbage(),
    "no JSON at all",
    Fault(401, "no such key"),
)


def trials(count: int) -> Iterator[Trial]:
    """So many runs, all at once, over the methods in turn."""
    yield Trial("ceilings", "all", f"{count} runs", lambda: _trial(count))


class _Script:
    """Right replies and faults; each run has a model of its own, whose name tells its calls from others'."""

    def __init__(self) -> None:
        self._right = {method: answers_of(model_of(case_of(method))) for method in METHODS}
        self._drawn = defaultdict[str, Any](lambda: None)

    def __call__(self, call: ServedCall) -> Answer:
        name = str(call.parameters["model"])
        rng = self._drawn[name] = self._drawn[name] or drawn(name)
        return rng.choice(_FAULTS) if rng.random() < _ERRS else self._right[name.partition("-")[0]](call)


def _trial(count: int) -> Outcome:
    broken.apply()
    with own_folder() as folder, ModelServer(_Script(), latency=LATENCY) as server:
        os.environ.update(OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="none")
        knowledge = {method: case_of(method).knowledge() for method in METHODS}
        with ExitStack() as open_until:
            runs = [_Run(number, folder, knowledge, open_until) for number in range(count)]
            # Nothing is left to be made: all of them start at once.
            asyncio.run(_all(runs))
        sent = Counter(str(call.parameters["model"]) for call in server.calls)
        most = server.max_in_flight
    wrong = [one for run in runs for one in run.judged(sent[run.name])]
    spent = sum(sent[run.name] == run.ceiling for run in runs)
    ended = f"{len(server.calls)} calls, {most} at a time, {spent} ceilings reached"
    return Outcome("ceilings", "all", f"{count} runs", wrong, ended, count=count)


async def _all(runs: list[_Run]) -> None:
    await asyncio.gather(*(run.work() for run in runs))


class _Run:
    """One run and what came of it."""

    def __init__(self, number: int, folder: Path, knowledge: Mapping[str, Knowledge], until: ExitStack) -> None:
        rng = drawn("ceiling", number)
        self.method = METHODS[number % len(METHODS)]
        self.name = f"{self.method}-{number}"
        self.ceiling = rng.randint(1, 15)
        self._wrong: list[str] = []
        case = case_of(self.method)
        self._question = case.other_question
        self._graph = tg.build(
            self.method,
            knowledge=knowledge[self.method],
            model=f"openai:{self.name}",
            settings={**case.settings, **case.busy, "max_calls": self.ceiling, "call_retries": 2},
            checkpointer=InMemorySaver(),
            journal=until.enter_context(closing(tg.SqliteJournal(folder / f"{number}.sqlite"))),
        )

    async def work(self) -> None:
        """Ask, and go on after errors."""
        config: Any = {"configurable": {"thread_id": "t"}}
        start: Any = {"question": self._question}
        for _ in range(_RESUMED):
            try:
                answer = (await self._graph.ainvoke(start, config))["answer"]
            except ThinkGraphError:
                start = None
                continue
            except Exception as error:  # noqa: BLE001 - what is no error of ours is what is looked for
                self._wrong.append(f"{type(error).__name__}: {error}")
                return
            used = answer["usage"]["total"]["calls"]
            if used > self.ceiling:
                self._wrong.append(f"usage says {used} calls under a ceiling of {self.ceiling}")
            return

    def judged(self, sent: int) -> list[str]:
        """What it did wrong, where so many requests came to the server."""
        above = [f"{sent} requests under a ceiling of {self.ceiling}"] if sent > self.ceiling else []
        return [f"{self.name}: {one}" for one in (*above, *self._wrong)]
