"""Read-only access to a SQLite file from many threads at once."""

from __future__ import annotations

import json
import os
import sqlite3
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from thinkgraph.errors import KnowledgeError, StoreError
from thinkgraph.tools.protocols import closed_on_error

_MAPPED_BYTES = 1 << 30
_CACHE_KIB = 4_000


class ReadOnlyFile:
    """A pool of connections to one finished SQLite file: never more than there are threads asking at the same time.

    The file is opened as immutable: no lock, no journal and no other file is made beside it, so a read-only folder will
    do. Safe to share between threads; a forked process gets connections of its own.
    """

    def __init__(self, path: Path, *, setup: str = "", mapped: int = _MAPPED_BYTES) -> None:
        """Open nothing yet.

        Args:
            path: the file.
            setup: SQL run on every new connection.
            mapped: bytes up to which a file is mapped into memory; a larger one is read through a cache of 4 MB for
                each connection.

        Raises:
            KnowledgeError: there is no such file.
        """
        if not path.is_file():
            raise KnowledgeError(f"there is no file {path}")
        self.path = path
        self._uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        self._file = _identity(path)
        self._setup = setup
        self._mapped = mapped
        self._idle: deque[sqlite3.Connection] = deque()
        self._process = os.getpid()
        self._closed = False
        self._finalizer = weakref.finalize(self, _close_all, self._idle)

    def close(self) -> None:
        """Close all connections. Using the file afterwards raises `StoreError`; closing twice does not."""
        self._closed = True
        if self._process == os.getpid():
            _close_all(self._idle)

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """A connection for the caller alone while the block runs. SQLite's errors become `StoreError`."""
        try:
            db = self._take()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._failure(error) from error
        try:
            yield db
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._failure(error) from error
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            # A flipped byte may make a number a text: ours to find only where the file itself is whole.
            if self._whole(db):
                raise
            raise self._failure(error) from error
        finally:
            if self._closed:
                db.close()
            else:
                self._idle.append(db)

    def _take(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreError(f"{self.path.name} is closed; open the knowledge base again")
        if self._process != os.getpid():
            # SQLite forbids using a connection across a fork; the parent's are left alone, not closed.
            self._finalizer.detach()
            self._idle, self._process = deque(), os.getpid()
            self._finalizer = weakref.finalize(self, _close_all, self._idle)
        with suppress(IndexError):
            return self._idle.pop()
        db = sqlite3.connect(self._uri, uri=True, check_same_thread=False, isolation_level=None)
        with closed_on_error(db.close):
            if _identity(self.path) != self._file:
                # What other threads still read is the old one: never both.
                raise StoreError(f"{self.path} was replaced while it was open; open the knowledge base again")
            if self.path.stat().st_size <= self._mapped:
                db.execute(f"PRAGMA mmap_size={self._mapped}")
            else:
                db.execute("PRAGMA mmap_size=0")
                db.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
            db.execute("PRAGMA temp_store=MEMORY")
            db.execute("PRAGMA trusted_schema=OFF")
            if self._setup:
                db.executescript(self._setup)
        return db

    @staticmethod
    def _whole(db: sqlite3.Connection) -> bool:
        try:
            return bool(db.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
        except (sqlite3.Error, UnicodeDecodeError):
            return False

    def _failure(self, error: Exception) -> StoreError:
        return StoreError(f"{self.path} cannot be read ({error}); build or copy the knowledge base again")


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from another one that was put in its place."""
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_dev, about.st_ino


def _close_all(idle: deque[sqlite3.Connection]) -> None:
    while idle:
        idle.pop().close()


def json_array(values: Iterable[Any]) -> str:
    """A list of ids or rows as a parameter for `json_each`."""
    # SQLite's JSON ends a text at a NUL, so that "a\0b" would find "a"; no stored text has one, nor is any empty.
    return json.dumps([_clean(value) for value in values])


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return "" if "\0" in value else value
    return [_clean(part) for part in value] if isinstance(value, list | tuple) else value


def phrase(term: str) -> str:
    """A term of a full-text query."""
    # A quote in it is doubled, as in SQL: FTS5 then takes the term as text, never as an operator.
    return '"' + term.replace('"', '""') + '"'


def chunks(values: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """The values in slices of at most `size`."""
    for at in range(0, len(values), size):
        yield values[at : at + size]
