"""Worker processes that share the questions of a bench or a batch, to use more cores than one interpreter can.

Only the parent reads questions and writes results, so a run with workers is killed and resumed like one without. It hands each
question to the process with the fewest of them, and gets the answer back, one JSON line each way. A worker whose parent is gone
ends at once: its calls in flight are lost, as in any kill.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import pickle
import signal
import sys
import traceback
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, NoReturn, cast

from thinkgraph.errors import RunError, ThinkGraphError
from thinkgraph.eval.batch import Ask, local_asker
from thinkgraph.eval.bench_setup import bench_model, gold_knowledge
from thinkgraph.eval.questions import Question
from thinkgraph.graphs.build import offline_model
from thinkgraph.models.client import rate_limiter
from thinkgraph.models.journal import SqliteJournal
from thinkgraph.models.prices import Prices
from thinkgraph.models.roles import Models
from thinkgraph.state.answer import Answer
from thinkgraph.tools.knowledge import Knowledge

_LONGEST_LINE = 1 << 28
"""Bytes; far more than an answer with all its evidence."""
_END = b"end\n"


@dataclass(frozen=True, kw_only=True)
class Work:
    """What every worker must know."""

    kb: str
    text: str | None = None
    trust_embedder: bool = False
    methods: Mapping[str, Mapping[str, Any]]
    """Settings by method."""
    model: str
    """A name, "perfect" and the like included."""
    prices: Prices | None = None
    profiles: Mapping[str, Mapping[str, Any]] | None = None
    prompts: str | None = None
    journal: str | None = None
    """A SQLite file that keeps the replies of questions that have a thread."""
    rate: float | None = None
    """Requests to models a second, over all workers."""
    seed: int = 0
    gold_entities: bool = False
    questions: Sequence[Question] = ()
    """Only for what must know them: a perfect chooser, given entities."""


@asynccontextmanager
async def workers(work: Work, count: int) -> AsyncIterator[Ask]:
    """Start `count` processes, and have each question answered by one of them.

    Raises:
        ThinkGraphError: what a worker could not open.
    """
    setup = _pickled(replace(work, rate=work.rate / count if work.rate else None))
    every: list[_Worker] = []

    async def ask(method: str, question: str, thread: str = "") -> Answer:
        alive = [worker for worker in every if worker.process.returncode is None]
        if not alive:
            raise RunError("all worker processes have ended: start the same command again")
        return await min(alive, key=lambda worker: len(worker.waiting)).ask(method, question, thread)

    kill = True
    try:
        for _ in range(count):
            process = await _started(max(1, (os.cpu_count() or 1) // count))
            every.append(_Worker(process, setup))
        for worker in every:
            await worker.ready()
        yield ask
        kill = False
    finally:
        for worker in every:
            worker.stop(kill=kill)
        for worker in every:
            await worker.ended()


async def _started(threads: int) -> Process:
    """A worker process, which Ctrl-C does not reach: it goes to the whole group, and the parent decides.

    Args:
        threads: that its encoder may take; more than cores, over all workers, would wait for each other.
    """
    # A child begins with its parent's mask. In the parent, which only puts it off, a Ctrl-C of this moment is not lost.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        command = (sys.executable, "-m", __name__)
        shared = {"OMP_NUM_THREADS": str(threads), **os.environ}
        return await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, limit=_LONGEST_LINE, env=shared)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Worker:
    _numbers = itertools.count()

    def __init__(self, process: Process, setup: str) -> None:
        self.process = process
        self.waiting: dict[int, asyncio.Future[Answer]] = {}
        self._stdin = cast("asyncio.StreamWriter", process.stdin)
        self._stdout = cast("asyncio.StreamReader", process.stdout)
        self._reader: asyncio.Task[None] | None = None
        self._stdin.write(f"{setup}\n".encode())

    async def ready(self) -> None:
        line = await self._stdout.readline()
        if not line:
            raise RunError("a worker process ended as it began")
        if error := json.loads(line).get("error"):
            raise _unpickled(error)
        self._reader = asyncio.create_task(self._read())

    async def ask(self, method: str, question: str, thread: str) -> Answer:
        number = next(self._numbers)
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.waiting[number] = future
        line = json.dumps({"number": number, "method": method, "question": question, "thread": thread})
        try:
            self._stdin.write(f"{line}\n".encode())
            await self._stdin.drain()
        except ConnectionError:
            self.waiting.pop(number, None)
            raise self._gone() from None
        return await future

    async def _read(self) -> None:
        while line := await self._stdout.readline():
            said = json.loads(line)
            future = self.waiting.pop(said["number"])
            if future.done():
                continue
            if "error" in said:
                future.set_exception(_unpickled(said["error"]))
            else:
                future.set_result(said["answer"])
        await self.process.wait()
        for future in self.waiting.values():
            if not future.done():
                future.set_exception(self._gone())
        self.waiting.clear()

    def _gone(self) -> RunError:
        code = self.process.returncode
        return RunError(f"a worker process ended (exit code {code}); the same command goes on from there")

    def stop(self, *, kill: bool) -> None:
        with suppress(ProcessLookupError, ConnectionError):
            if kill:
                self.process.kill()
            else:
                self._stdin.write(_END)
                self._stdin.close()

    async def ended(self) -> None:
        await self.process.wait()
        if self._reader:
            await self._reader


def _pickled(value: object) -> str:
    return pickle.dumps(value).hex()


def _unpickled(text: str) -> Any:
    return pickle.loads(bytes.fromhex(text))  # noqa: S301 - written by our own process


def _say(value: Mapping[str, Any]) -> None:
    try:
        sys.stdout.write(json.dumps(value) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _leave()


async def _told(lines: asyncio.StreamReader) -> bytes:
    line = await lines.readline()
    if not line.endswith(b"\n"):
        _leave()
    return line


def _leave() -> NoReturn:
    """The parent is gone, perhaps in the middle of a line: nobody would keep what is answered now."""
    os._exit(1)


async def _serve() -> None:
    """A worker: set up from the first line of standard input, then one question a line, many at a time."""
    lines = asyncio.StreamReader(limit=_LONGEST_LINE)
    protocol = asyncio.StreamReaderProtocol(lines)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    work: Work = _unpickled((await _told(lines)).decode())
    with Knowledge.open(work.kb, text=work.text, trust_embedder=work.trust_embedder) as opened:
        knowledge = gold_knowledge(opened, work.questions) if work.gold_entities else opened
        models = Models(
            bench_model(work.model, work.questions, opened, seed=work.seed),
            offline=offline_model(knowledge),
            prices=work.prices,
            profiles=work.profiles,
            rate_limiter=rate_limiter(work.rate),
        )
        journal = SqliteJournal(work.journal) if work.journal else None
        async with local_asker(models, knowledge, work.methods, prompts=work.prompts, journal=journal) as ask:
            _say({"ready": True})
            running: set[asyncio.Task[None]] = set()
            while (line := await _told(lines)) != _END:
                task = asyncio.create_task(_answer(ask, json.loads(line)))
                running.add(task)
                task.add_done_callback(running.discard)
            await asyncio.gather(*running)


async def _answer(ask: Ask, asked: Mapping[str, Any]) -> None:
    try:
        try:
            said: Mapping[str, Any] = {"answer": await ask(asked["method"], asked["question"], asked["thread"])}
        except ThinkGraphError as error:
            said = {"error": _pickled(error)}
        _say({"number": asked["number"], **said})
    except Exception:  # noqa: BLE001 - a bug: the parent sees the process end
        traceback.print_exc()
        os._exit(70)


def main() -> int:
    """Run a worker."""
    try:
        asyncio.run(_serve())
    except ThinkGraphError as error:
        _say({"error": _pickled(error)})
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
