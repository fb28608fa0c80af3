"""The journal: every reply is committed, raw, before it is parsed, so that no paid call is ever repeated.

LangGraph keeps what finished nodes wrote; a reply that arrived just before a kill is lost to it. The journal keys replies
by (thread, run, role, place in the graph, sample number, hash of messages, model and parameters): a resumed run finds them,
a new question on the same thread does not.
"""

from __future__ import annotations

import contextlib
import functools
import json
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NotRequired, Protocol, runtime_checkable

from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from pydantic import Field, InstanceOf, TypeAdapter
from typing_extensions import TypedDict

from thinkgraph.errors import HELD, RunError
from thinkgraph.models.wire.forms import MOST_TOKENS, Finish

_Count = Annotated[int, Field(ge=0, le=MOST_TOKENS)]


class ToolRequest(TypedDict):
    """A tool that a model wants called."""

    name: str
    args: dict[str, Any]
    id: str | None


class ShownLines(TypedDict):
    """The fields of a call's shape that change where its prompt lacks lines."""

    options: _Count
    evidence: _Count
    clues: _Count
    questions: _Count
    unseen: list[_Count]


class RawReply(TypedDict):
    """A reply as it came, with what it cost."""

    text: InstanceOf[str]
    model: str
    input_tokens: _Count
    output_tokens: _Count
    attempts: _Count
    seconds: Annotated[float, Field(ge=0, le=MOST_TOKENS)]
    tool_calls: NotRequired[list[ToolRequest]]
    more: NotRequired[dict[str, Any]]
    """What the message that calls tools has beside its text; see `ModelReply`."""
    finish: NotRequired[Finish]
    """Absent: "stop"."""
    unanswered: NotRequired[bool]
    """Whether no reply came: the row only says how many attempts there were."""
    left_out: NotRequired[_Count]
    """Numbered lines that the prompt lacked, to fit the model's window."""
    shown: NotRequired[ShownLines]
    """Where it lacked some."""


@functools.cache
def _schema() -> TypeAdapter[RawReply]:
    return TypeAdapter(RawReply)


def _read(body: Any) -> RawReply | None:
    """A reply as it was kept; None for a row that cannot be used, so that the model is asked again."""
    try:
        return _schema().validate_python(json.loads(body), strict=True)
    except (ValueError, TypeError, RecursionError):
        return None


@runtime_checkable
class Journal(Protocol):
    """Where replies are kept. Implementations are blocking and safe to call from several threads."""

    def get(self, thread: str, key: str) -> RawReply | None:
        """The reply kept under this key, or None where there is none that can be used."""
        ...

    def put(self, thread: str, key: str, reply: RawReply) -> None:
        """Keep a reply; returns only when it would survive the death of this process."""
        ...

    def forget(self, thread: str) -> None:
        """Drop every reply of a thread."""
        ...


class MemoryJournal:
    """A journal for tests and for runs in one process."""

    def __init__(self, *, limit: int | None = None) -> None:
        """Start empty. With a limit only so many replies are kept, the newest."""
        self._limit = limit
        self._replies: dict[tuple[str, str], RawReply] = {}
        self._lock = threading.Lock()

    def get(self, thread: str, key: str) -> RawReply | None:
        """See Journal."""
        return self._replies.get((thread, key))

    def put(self, thread: str, key: str, reply: RawReply) -> None:
        """See Journal."""
        with self._lock:
            self._replies[thread, key] = reply
            while self._limit is not None and len(self._replies) > self._limit:
                self._replies.pop(next(iter(self._replies)), None)

    def forget(self, thread: str) -> None:
        """See Journal."""
        for place in list(self._replies):
            if place[0] == thread:
                self._replies.pop(place, None)


class SqliteJournal:
    """A journal in a SQLite file; several processes may share it."""

    def __init__(self, path: str | Path) -> None:
        """Open or create the file.

        Raises:
            RunError: the file cannot be opened or is not a journal.
        """
        self._path = Path(path).expanduser()
        if not self._path.parent.exists():
            raise RunError(f"cannot open the journal {self._path}: there is no folder {self._path.parent}")
        self._lock = threading.Lock()
        try:
            self._db = sqlite3.connect(self._path, timeout=30, check_same_thread=False, isolation_level=None)
            # Where nobody closes it, or it cannot be used. A forked process leaves its parent's alone.
            weakref.finalize(self, self._db.close).atexit = False
            self._db.execute("PRAGMA journal_mode=WAL")
            # A killed process loses nothing in WAL mode; only a power cut could take the last replies.
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS reply (thread TEXT, key TEXT, at REAL, body TEXT, PRIMARY KEY (thread, key))"
                " WITHOUT ROWID"
            )
        except sqlite3.Error as error:
            raise RunError(f"cannot open the journal {self._path} ({error}): {_advice(error)}") from None

    @contextlib.contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                yield self._db
            except sqlite3.Error as error:
                raise RunError(f"cannot use the journal {self._path} ({error}): {_advice(error)}") from None

    def get(self, thread: str, key: str) -> RawReply | None:
        """See Journal."""
        with self._using() as db:
            row = db.execute("SELECT body FROM reply WHERE thread = ? AND key = ?", (thread, key)).fetchone()
        return _read(row[0]) if row else None

    def put(self, thread: str, key: str, reply: RawReply) -> None:
        """See Journal."""
        # ASCII: a reply may hold half a character (a lone surrogate), which SQLite cannot store as it is.
        body = json.dumps(reply)
        with self._using() as db:
            db.execute("INSERT OR REPLACE INTO reply VALUES (?, ?, ?, ?)", (thread, key, time.time(), body))

    def forget(self, thread: str) -> None:
        """See Journal."""
        with self._using() as db:
            db.execute("DELETE FROM reply WHERE thread = ?", (thread,))

    def is_empty(self) -> bool:
        """Whether it holds no reply at all."""
        with self._using() as db:
            return db.execute("SELECT 1 FROM reply LIMIT 1").fetchone() is None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()


def _advice(error: sqlite3.Error) -> str:
    if isinstance(error, sqlite3.ProgrammingError):
        return "it was closed while a run needed it; close it when its runs are over"
    if "locked" in str(error):
        return HELD
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
        return "it is damaged; move it away, and the replies it held are asked for again"
    return "check free space and permissions"


_IN_MEMORY = threading.Lock()
"""Over LangGraph's store in memory: it fails where one thread searches while another writes."""


class StoreJournal:
    """A journal in LangGraph's store (`langgraph.store`), for servers and embedded use."""

    def __init__(self, store: BaseStore) -> None:
        self._store = store
        self._turn = _IN_MEMORY if isinstance(store, InMemoryStore) else contextlib.nullcontext()

    def get(self, thread: str, key: str) -> RawReply | None:
        """See Journal."""
        with self._turn:
            item = self._store.get(_space(thread), key)
        return _read(item.value.get("body")) if item else None

    def put(self, thread: str, key: str, reply: RawReply) -> None:
        """See Journal."""
        with self._turn:
            self._store.put(_space(thread), key, {"body": json.dumps(reply)}, index=False)

    def forget(self, thread: str) -> None:
        """See Journal."""
        space = _space(thread)
        skipped = 0
        with self._turn:
            while items := self._store.search(space, limit=100, offset=skipped):
                for item in items:
                    if tuple(item.namespace) == space:
                        self._store.delete(space, item.key)
                    else:
                        # A store may compare namespaces as text, by their beginning: "a" then finds "ab" too.
                        skipped += 1


def _space(thread: str) -> tuple[str, str, str]:
    # LangGraph's namespaces refuse periods and empty labels; two threads must never share one.
    return "thinkgraph", "journal", thread.replace("%", "%25").replace(".", "%2E") or "%"
