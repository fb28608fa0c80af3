"""Thousands of questions through one method: read one by one, answered side by side, kept line by line, resumed after a kill."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol, cast

from langchain_core.runnables import RunnableConfig

from thinkgraph.errors import ModelError, RunError, StoreError, ThinkGraphError, UsageError, first_line
from thinkgraph.eval.files import DAMAGED_GZIP, damaged, parsed
from thinkgraph.eval.record import RecordFile
from thinkgraph.graphs.build import build
from thinkgraph.models.journal import Journal
from thinkgraph.models.roles import Models
from thinkgraph.state.answer import Answer
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.progress import Progress, no_progress

Asker = Callable[[str, str], Awaitable[Answer]]
"""Answers one question, whose replies a journal keeps under the second name."""


class Ask(Protocol):
    """Has a method, by its name, answer one question."""

    def __call__(self, method: str, question: str, thread: str = "") -> Awaitable[Answer]:
        """Answer it; the journal, if there is one, keeps its replies under `thread`."""


LOOK_AGAIN = 0.5
"""Seconds between two looks at a question that another process has."""
GIVE_UP = 20
"""Passing errors in a row after which the batch stops: the model or the store is gone, and the rest would fail too."""


_NOT_UTF8 = re.compile("[\udc80-\udcff]")
"""What `surrogateescape` makes of a byte that is none of UTF-8's."""


@dataclass(frozen=True)
class BatchItem:
    """One line of the input."""

    id: str
    question: str
    line: int
    fault: str = ""
    """Why the line cannot be asked; empty where it can."""
    is_json: bool = True
    """Whether the line is an object or a string at all."""


def read_items(path: Path) -> Iterator[BatchItem]:
    """The questions of a JSON Lines file, one at a time: objects with `question` and perhaps `id`, or plain JSON strings.

    Any other line becomes an item with a fault, which is kept beside the answers. The rest is answered all the same.

    Raises:
        UsageError: the file cannot be read.
    """
    seen: set[str] = set()
    try:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8-sig", errors="surrogateescape") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    item = _item(number, line)
                    # A line without an id repeats none, even if another line's own id is what it is called by.
                    has_id = item.id != _name(number)
                    if has_id and item.id in seen:
                        # Without its question, which this name may stand for once the id is taken out: that is asked.
                        item = BatchItem(_name(number), "", number, f'field "id" repeats "{item.id}"')
                    elif has_id:
                        seen.add(item.id)
                    yield item
    except DAMAGED_GZIP as error:
        raise damaged(path, error) from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from None


def _name(number: int) -> str:
    """What a line without an id is called."""
    return f"line-{number}"


def _item(number: int, line: str) -> BatchItem:
    name = _name(number)
    if _NOT_UTF8.search(line):
        return BatchItem(name, "", number, "not UTF-8 text", is_json=False)
    try:
        value = parsed(line)
    except ValueError as error:
        return BatchItem(name, "", number, f"not a whole JSON object ({error})", is_json=False)
    if isinstance(value, str):
        value = {"question": value}
    if not isinstance(value, dict):
        return BatchItem(name, "", number, "neither a JSON object nor a string", is_json=False)
    given = value.get("id")
    if isinstance(given, str | int | float) and not isinstance(given, bool) and str(given).strip():
        name = str(given)
    question = value.get("question")
    if not isinstance(question, str) or not question.strip():
        return BatchItem(name, "", number, 'field "question" is missing or empty')
    return BatchItem(name, question, number)


def _key(name: str, question: str) -> bytes:
    """A short key of an item, as all are kept in memory. An edited question is another item."""
    return blake2b(f"{name}\0{question}".encode("utf-8", "surrogatepass"), digest_size=12).digest()


def finished(file: RecordFile) -> dict[bytes, bool]:
    """Keys of the items that need not be asked again, each with whether it was answered or failed with an error that would come again.

    Raises:
        UsageError: a line is no result of a batch.
    """

    def fits(record: Mapping[str, Any]) -> bool:
        named = isinstance(record.get("id"), str) and isinstance(record.get("question"), str)
        return named and bool({"answer", "error"} & record.keys())

    return {
        _key(record["id"], record["question"]): "answer" in record
        for record in file.records(fits)
        if "answer" in record or not record.get("passing", False)
    }


def drop_superseded(file: RecordFile, items: Iterable[BatchItem]) -> str:
    """Drop what later lines replace, errors of lines that are gone, and the answer to what a line said before it was edited, once
    the line is answered again.

    Args:
        file: the results of a batch.
        items: its input. Answers to lines that are no longer there stay.

    Returns:
        The first error that is left; empty where there is none.

    Raises:
        UsageError: the file cannot be written anew.
    """
    asked = {_key(item.id, item.question) for item in items}
    latest: dict[bytes, int] = {}
    answered: set[str] = set()
    before: list[tuple[str, int]] = []
    errors: dict[int, str] = {}
    dropped: set[int] = set()
    for number, record in enumerate(file.records(), start=1):
        key = _key(record["id"], record["question"])
        if key in latest:
            dropped.add(latest[key])
        latest[key] = number
        if "error" in record:
            errors[number] = record["error"]
        if key in asked:
            answered |= {record["id"]} if "answer" in record else set()
        elif "error" in record:
            dropped.add(number)
        else:
            before.append((record["id"], number))
    dropped |= {number for name, number in before if name in answered}
    file.drop(dropped)
    return next((error for number, error in errors.items() if number not in dropped), "")


def tally(items: Iterable[BatchItem], done: Mapping[bytes, bool]) -> tuple[int, int, int]:
    """How many items are to be asked, were answered before, and failed before.

    Args:
        items: the input. What its lines said before they were edited counts no more.
        done: what `finished` gave.
    """
    keyed = [(done.get(_key(item.id, item.question)), item.fault) for item in items]
    before = [answered for answered, _ in keyed]
    return sum(answered is None and not fault for answered, fault in keyed), before.count(True), before.count(False)


class Claims(Protocol):
    """Shares the questions with other processes: each is asked by one of them at a time."""

    async def take(self, key: str) -> Mapping[str, Any] | bool:
        """What came of a question elsewhere; else whether it is this process's now, until `settle`."""

    async def settle(self, key: str, record: Mapping[str, Any] | None) -> None:
        """Keep what came of a question (None: it may be asked again), and let go of it."""


async def run_batch(
    items: Iterable[BatchItem],
    ask: Asker,
    keep: Callable[[Mapping[str, Any]], None],
    *,
    done: Collection[bytes],
    forget: Callable[[str], None] = lambda _thread: None,
    claims: Claims | None = None,
    concurrency: int = 8,
    progress: Progress = no_progress,
) -> tuple[int, int]:
    """Answer what is not done yet; at most `concurrency` questions are in memory, and those that other processes have.

    Args:
        items: the input.
        ask: answers one question.
        keep: given each line of the output as it comes: `id`, `line`, `question`, and `answer` or `error` with `passing`
            (whether the same command asks it again).
        done: what to leave out (`finished`).
        forget: told under which name the replies lie of a question that is not asked again.
        claims: shares the questions; None: all are this process's.
        concurrency: questions at a time.
        progress: told after every question.

    Returns:
        How many were answered and how many failed, elsewhere or here.

    Raises:
        ThinkGraphError: GIVE_UP errors in a row, the last one; or of `claims`.
    """
    batch = _Batch(iter(items), ask, keep, done, forget, claims, progress)
    await asyncio.gather(*(batch.work() for _ in range(max(1, concurrency))))
    if batch.broken:
        raise batch.broken
    return batch.answered, batch.failed


@dataclass
class _Batch:
    """A batch while it runs; see `run_batch`."""

    source: Iterator[BatchItem]
    ask: Asker
    keep: Callable[[Mapping[str, Any]], None]
    done: Collection[bytes]
    forget: Callable[[str], None]
    claims: Claims | None
    progress: Progress
    others: deque[BatchItem] = field(default_factory=deque)
    """Questions that other processes had when they were come to."""
    before: int = 0
    """Questions come to so far that were done."""
    answered: int = 0
    failed: int = 0
    in_a_row: int = 0
    broken: ThinkGraphError | None = None
    """What ends the batch."""

    async def work(self) -> None:
        """Answer one question after the other, until none is left that is not answered here or elsewhere."""
        while self.broken is None:
            item = next(self.source, None)
            late = item is None
            if item is None:
                if not self.others:
                    return
                item = self.others.popleft()
            key = _key(item.id, item.question)
            if key in self.done:
                self.before += 1
                continue
            try:
                taken = await self.claims.take(key.hex()) if self.claims else True
                if taken is True:
                    await self._answer(item, key.hex())
                elif taken is False:
                    # Whoever has it may die: it is looked at again, when nothing else is left.
                    self.others.append(item)
                    await asyncio.sleep(LOOK_AGAIN if late else 0)
                else:
                    self._count(taken)
            except StoreError as error:
                # Of the claims: nothing can be shared any more.
                self._end(error)

    async def _answer(self, item: BatchItem, thread: str) -> None:
        record, error = await _asked(item, self.ask, thread)
        passing = bool(record.get("passing"))
        self.in_a_row = 0 if error is None else self.in_a_row + passing
        if error and self.in_a_row >= GIVE_UP:
            self._end(type(error)(f"{GIVE_UP} questions in a row failed; the last: {error}"))
        if self.claims:
            await self.claims.settle(thread, None if passing else record)
        self._count(record)
        # Only now: a kill before the answer is on disk must find them.
        if not passing:
            self.forget(thread)

    def _end(self, error: ThinkGraphError) -> None:
        # Of questions side by side the first has the cause.
        if self.broken is None:
            self.broken = error

    def _count(self, record: Mapping[str, Any]) -> None:
        self.answered += "answer" in record
        self.failed += "error" in record
        self.keep(record)
        self.progress("questions", self.before + self.answered + self.failed, None)


async def _asked(item: BatchItem, ask: Asker, thread: str) -> tuple[dict[str, Any], ThinkGraphError | None]:
    """A line of the output, and the error in it, if there is one."""
    record: dict[str, Any] = {"id": item.id, "line": item.line, "question": item.question}
    try:
        if item.fault:
            raise UsageError(f"line {item.line}: {item.fault}")
        record["answer"] = await ask(item.question, thread)
    except ThinkGraphError as error:
        # A RunError passes as well: a worker process was killed, a journal is on a full disk.
        passing = isinstance(error, ModelError | StoreError | RunError)
        record.update(error=str(error), kind=type(error).__name__, passing=passing)
        return record, error
    return record, None


@asynccontextmanager
async def local_asker(
    models: Models,
    knowledge: Knowledge,
    methods: Mapping[str, Mapping[str, Any]],
    *,
    prompts: str | None = None,
    journal: Journal | None = None,
    watched: Callable[[str, str], RunnableConfig | None] = lambda _method, _question: None,
) -> AsyncIterator[Ask]:
    """Asks graphs of this process, and closes the models in the end.

    Args:
        models: what the graphs call.
        knowledge: what they look up.
        methods: settings by method.
        prompts: folder with prompts of one's own.
        journal: keeps the replies of questions that have a thread.
        watched: LangChain's config of the run of a method over a question.

    Raises:
        ThinkGraphError: as `build`.
    """
    try:
        # A missing key is refused now, not question by question.
        models.check()
        graphs = {
            name: build(name, knowledge=knowledge, model=models, settings=settings, prompts=prompts, journal=journal)
            for name, settings in methods.items()
        }

        async def ask(method: str, question: str, thread: str = "") -> Answer:
            config: RunnableConfig = watched(method, question) or {}
            if thread:
                config["configurable"] = {"thread_id": thread}
            return cast("Answer", (await graphs[method].ainvoke({"question": question}, config))["answer"])

        yield ask
    finally:
        await models.aclose()


def server_asker(url: str, assistant: str, settings: Mapping[str, Any]) -> Asker:
    """Asks a LangGraph server that serves our graphs (`langgraph dev`, or a deployment of it). The SDK reads its key from
    the environment.

    Args:
        url: the server's address.
        assistant: a graph's name or an assistant's id.
        settings: passed as the run's context.
    """
    from httpx import HTTPError
    from langgraph_sdk import get_client

    client = get_client(url=url)

    async def ask(question: str, _thread: str) -> Answer:
        try:
            found = await client.runs.wait(
                None, assistant, input={"question": question}, context=cast("Any", dict(settings))
            )
        except HTTPError as error:
            raise ModelError(f"the server {url} failed: {first_line(error)}") from None
        # A run that waits for a reply (ask_user) has no answer either.
        if not isinstance(found, dict) or not found.get("answer"):
            fault = found.get("__error__") if isinstance(found, dict) else None
            said = fault.get("message") if isinstance(fault, dict) else None
            raise ModelError(f"the server {url} gave no answer: {said or found!r:.200}")
        return cast("Answer", found["answer"])

    return ask
