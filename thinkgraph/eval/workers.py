"""Several processes that answer questions for one: past what one interpreter can do, a bench or a batch uses more cores.

The parent alone reads the questions and writes the results, so that killing and going on are the same with and without
workers. It hands each question to the process with the fewest of them and gets its answer back, one JSON line each way. A worker
whose parent is gone ends at once: its calls in flight are lost, as in any kill.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import importlib
import json
import os
import signal
import sys
import threading
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, cast

from thinkgraph.errors import RunError, ThinkGraphError
from thinkgraph.eval.questions import Question
from thinkgraph.state.answer import Answer

_LONGEST_LINE = 1 << 28
"""Bytes: an answer with all its evidence is far below."""
_END = "end"


@dataclass(frozen=True, kw_only=True)
class Work:
    """What every worker must know. Plain JSON but for the questions, which `_plain` and `_question` turn into it and back."""

    kb: str
    text: str | None = None
    methods: Mapping[str, Mapping[str, Any]]
    """Settings by method."""
    model: str
    """A name, "perfect" and the like included."""
    prices: Mapping[str, Any] | None = None
    prompts: str | None = None
    rate: float | None = None
    """Requests to models a second, over all workers."""
    seed: int = 0
    gold_entities: bool = False
    questions: Sequence[Question] = ()
    """Only for what must know them: a perfect chooser, given entities."""


@dataclass
class _Worker:
    process: Process
    waiting: dict[int, asyncio.Future[Answer]] = field(default_factory=dict)
    reader: asyncio.Task[None] | None = None


class Workers:
    """Worker processes. Use as an async context manager; `ask` may be called from many tasks."""

    def __init__(self, work: Work, count: int) -> None:
        """Say what they work on.

        Args:
            work: see Work.
            count: how many processes.
        """
        self._work = work
        self._count = count
        self._all: list[_Worker] = []
        self._next = 0

    async def __aenter__(self) -> Self:
        """Start them.

        Raises:
            ThinkGraphError: what a worker could not open.
        """
        rate = self._work.rate / self._count if self._work.rate else None
        setup = json.dumps(dataclasses.asdict(dataclasses.replace(self._work, rate=rate))) + "\n"
        try:
            for _ in range(self._count):
                process = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", __name__, stdin=PIPE, stdout=PIPE, limit=_LONGEST_LINE
                )
                self._all.append(_Worker(process))
            for worker in self._all:
                _stdin(worker.process).write(setup.encode())
            for worker in self._all:
                await self._ready(worker)
        except BaseException:
            await self._stop(kill=True)
            raise
        return self

    async def _ready(self, worker: _Worker) -> None:
        line = await _stdout(worker.process).readline()
        said = json.loads(line) if line else {"kind": "RunError", "error": "a worker process ended as it began"}
        if "error" in said:
            raise _error(said)
        worker.reader = asyncio.create_task(self._read(worker))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop(kill=kind is not None)

    async def _stop(self, *, kill: bool) -> None:
        for worker in self._all:
            with contextlib.suppress(ProcessLookupError, ConnectionError):
                if kill:
                    worker.process.kill()
                else:
                    _stdin(worker.process).write(f"{json.dumps(_END)}\n".encode())
                    _stdin(worker.process).close()
        for worker in self._all:
            await worker.process.wait()
            if worker.reader:
                await worker.reader

    async def ask(self, method: str, question: str) -> Answer:
        """Have one question answered.

        Raises:
            ThinkGraphError: as the worker met it.
            RunError: the worker process is gone.
        """
        alive = [worker for worker in self._all if worker.process.returncode is None]
        if not alive:
            raise RunError("all worker processes have ended: start the same command again")
        worker = min(alive, key=lambda one: len(one.waiting))
        self._next += 1
        number = self._next
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        worker.waiting[number] = future
        line = json.dumps({"number": number, "method": method, "question": question})
        try:
            _stdin(worker.process).write(f"{line}\n".encode())
            await _stdin(worker.process).drain()
        except ConnectionError:
            worker.waiting.pop(number, None)
            raise _gone(worker) from None
        return await future

    async def _read(self, worker: _Worker) -> None:
        while line := await _stdout(worker.process).readline():
            said = json.loads(line)
            future = worker.waiting.pop(said["number"])
            if future.done():
                continue
            if "error" in said:
                future.set_exception(_error(said))
            else:
                future.set_result(said["answer"])
        await worker.process.wait()
        for future in worker.waiting.values():
            if not future.done():
                future.set_exception(_gone(worker))
        worker.waiting.clear()


def _gone(worker: _Worker) -> RunError:
    return RunError(
        f"a worker process ended (exit code {worker.process.returncode}); the same command goes on from there"
    )


def _error(said: Mapping[str, Any]) -> ThinkGraphError:
    """The error of a worker, as the parent would have met it."""
    kind = getattr(importlib.import_module("thinkgraph.errors"), said["kind"], ThinkGraphError)
    return cast("ThinkGraphError", kind(said["error"]))


def _stdin(process: Process) -> asyncio.StreamWriter:
    return cast("asyncio.StreamWriter", process.stdin)


def _stdout(process: Process) -> asyncio.StreamReader:
    return cast("asyncio.StreamReader", process.stdout)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _read_work(line: str) -> Work:
    given = json.loads(line)
    asked = [Question(**{name: _tuples(value) for name, value in one.items()}) for one in given.pop("questions")]
    return Work(**given, questions=asked)


def _say(value: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def _told(error: ThinkGraphError) -> dict[str, str]:
    return {"error": str(error), "kind": type(error).__name__}


async def _serve(work: Work) -> None:
    from thinkgraph.eval.bench_setup import bench_model, gold_knowledge
    from thinkgraph.graphs.build import Graph, build, offline_model
    from thinkgraph.models.client import rate_limiter
    from thinkgraph.models.roles import Models
    from thinkgraph.tools.knowledge import Knowledge

    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[Any] = asyncio.Queue()
    running: set[asyncio.Task[None]] = set()
    with Knowledge.open(work.kb, text=work.text) as opened:
        knowledge = gold_knowledge(opened, work.questions) if work.gold_entities else opened
        models = Models(
            bench_model(work.model, work.questions, opened, seed=work.seed),
            offline=offline_model(knowledge),
            prices=cast("Any", work.prices),
            rate_limiter=rate_limiter(work.rate),
        )
        graphs: dict[str, Graph] = {
            name: build(name, knowledge=knowledge, model=models, settings=settings, prompts=work.prompts)
            for name, settings in work.methods.items()
        }

        def listen() -> None:
            for line in sys.stdin:
                said = json.loads(line)
                loop.call_soon_threadsafe(lines.put_nowait, said)
                if said == _END:
                    return
            # The parent is gone: nobody would keep what is answered now.
            os._exit(1)

        async def answer(asked: Mapping[str, Any]) -> None:
            try:
                found = await graphs[asked["method"]].ainvoke({"question": asked["question"]})
                _say({"number": asked["number"], "answer": found["answer"]})
            except ThinkGraphError as error:
                _say({"number": asked["number"], **_told(error)})

        _say({"ready": True})
        threading.Thread(target=listen, daemon=True).start()
        try:
            while (asked := await lines.get()) != _END:
                task = asyncio.create_task(answer(asked))
                running.add(task)
                task.add_done_callback(_finished(running))
            await asyncio.gather(*running)
        finally:
            await models.aclose()


def _finished(running: set[asyncio.Task[None]]) -> Any:
    def done(task: asyncio.Task[None]) -> None:
        running.discard(task)
        if not task.cancelled() and task.exception() is not None:
            # A bug, or a parent that went while it was told: the parent sees the process end.
            sys.excepthook(*_details(task.exception()))
            os._exit(70)

    return done


def _details(error: BaseException | None) -> Any:
    return type(error), error, getattr(error, "__traceback__", None)


def main() -> int:
    """A worker: set up from the first line of standard input, then one question a line."""
    # Ctrl-C reaches the whole group: the parent decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        asyncio.run(_serve(_read_work(sys.stdin.readline())))
    except ThinkGraphError as error:
        _say(_told(error))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
