"""A run's events: as they come, as they are kept with it in the run store, and as the page shows and shares it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from langgraph.runtime import RunControl

from thinkgraph.cli.runs import RunRow, RunStore, kept_answer
from thinkgraph.config import model_words
from thinkgraph.errors import RunError, ThinkGraphError
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.events import Started
from thinkgraph.tools.addresses import redacted
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.ui.prompts import LONGEST, Listener, Prompted
from thinkgraph.ui.walk import Finished, Paused, Recorder, bounded

log = logging.getLogger(__name__)

_HEARTBEAT = 15.0
"""Seconds of silence after which a follower is told that the connection lives."""

_KEEPING = 20.0
"""Longest wait for a run that has told its last event and is still being kept, in seconds."""


class LiveRun:
    """A run that this process works on: its events, and who waits for more of them. Safe under threads."""

    def __init__(self, thread: str, events: Iterable[dict[str, Any]] = ()) -> None:
        self.thread = thread
        self.events = list(events)
        self._before = self._kept = len(self.events)
        self._over = threading.Event()
        self._closing = False
        self.control = RunControl()
        """Stops it between two steps, so that what a node wrote is kept."""
        self._lock = threading.Lock()
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()

    def add(self, event: dict[str, Any]) -> None:
        """Append an event and wake who follows."""
        with self._lock:
            self.events.append(event)
            self._wake()

    def hear(self, said: Prompted) -> None:
        """Append a prompt and its reply, which may be longer than other texts."""
        self.add(Recorder.stamped(said, LONGEST))

    @property
    def done(self) -> bool:
        """Whether there will be no more events."""
        return self._over.is_set()

    @property
    def last(self) -> str:
        """The type of the last event since it was begun here, "" before there is one."""
        return str(self.events[-1]["type"]) if len(self.events) > self._before else ""

    def end(self) -> None:
        """There will be no more events."""
        with self._lock:
            self._over.set()
            self._wake()

    def settle(self) -> None:
        """Wait for a run that has told its last event: a person may answer before it is kept."""
        if self.last in {"asked", "paused", "finished"}:
            self._over.wait(_KEEPING)

    def let_go(self) -> None:
        """End whoever follows before the run is at its end: the page closes."""
        with self._lock:
            self._closing = True
            self._wake()

    def keep(self, runs: RunStore) -> None:
        """Keep with the run what is not kept yet."""
        # Calls side by side may add more meanwhile.
        fresh = self.unkept()
        runs.keep_events(self.thread, fresh, self._kept)
        self._kept += len(fresh)

    def unkept(self) -> list[dict[str, Any]]:
        """What is not kept yet, or could not be."""
        return self.events[self._kept :]

    def _wake(self) -> None:
        for loop, flag in self._waiting:
            with contextlib.suppress(RuntimeError):  # its loop has ended
                loop.call_soon_threadsafe(flag.set)

    async def follow(self, after: int) -> AsyncIterator[tuple[int, dict[str, Any]] | None]:
        """The events from a number on, as they come; None now and then, while there are none."""
        one = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._waiting.add(one)
        try:
            while True:
                one[1].clear()
                with self._lock:
                    fresh, over = self.events[after:], self.done or self._closing
                for event in fresh:
                    yield after, event
                    after += 1
                if over:
                    return
                try:
                    await asyncio.wait_for(one[1].wait(), _HEARTBEAT)
                except TimeoutError:
                    yield None
        finally:
            with self._lock:
                self._waiting.discard(one)


class Watched(LiveRun):
    """A run of the command line that keeps its events as the page's runs do."""

    def __init__(self, knowledge: Knowledge, runs: RunStore, thread: str) -> None:
        super().__init__(thread, runs.events(thread))
        self.listener = Listener(self.hear)
        self._runs = runs
        self._recorder = Recorder(knowledge, self.events)

    def read(self, mode: str, part: Any) -> None:
        """Keep the events of one part of the stream, and what was heard before it."""
        for event in self._recorder.read(mode, part):
            self.add(event)
        self.keep(self._runs)

    def tell(self, event: Mapping[str, Any]) -> None:
        """Keep an event that the stream does not have."""
        self.add(Recorder.stamped(event))
        self.keep(self._runs)

    def rest(self, error: Exception) -> None:
        """Keep why the run stopped."""
        self.tell(failed(self.thread, error))


def kept_run(runs: RunStore, row: RunRow) -> dict[str, Any]:
    """A run of the store with its events, as the page shows and shares it."""
    return {**about_run(row), "events": _whole(runs, row)}


def about_run(row: RunRow, *, working: bool = False) -> dict[str, Any]:
    """A run as the page lists it."""
    return {
        "thread": row["thread"],
        "question": row["question"],
        "status": row["status"],
        "working": working,
        "method": row["options"]["method"],
        "model": model_words(row["options"]["model"]),
        "settings": row["options"]["settings"],
        "knowledge": row["options"]["kb"],
        "updated": row["updated"],
    }


def _whole(runs: RunStore, row: RunRow) -> list[dict[str, Any]]:
    """The events that were kept; of a run that nobody watched to its end, its question and its answer are among them."""
    options, events = row["options"], runs.events(row["thread"])
    if not events:
        started = Started(
            type="started",
            method=options["method"],
            question=row["question"],
            models=[model_words(options["model"])],
            knowledge=options["kb"],
        )
        events = [{**started, "at": row["created"]}]
    if row["status"] != "unfinished" and events[-1]["type"] != "finished":
        with contextlib.suppress(RunError):
            finished = Finished(type="finished", answer=kept_answer(runs, row["thread"]))
            events.append({**bounded(finished), "at": row["updated"]})
    return events


def failed(thread: str, error: Exception) -> Paused:
    """Why a run rests."""
    return Paused(type="paused", reason=told(f"run {thread}", error))


def told(what: str, error: Exception) -> str:
    """Why something failed, in a line; the log has what only the page's keeper should see."""
    if isinstance(error, ThinkGraphError):
        return redacted(one_line(str(error)))
    log.error("%s failed", what, exc_info=error)
    return f"internal error ({error.__class__.__name__}); the page's log has the traceback"
