"""A pool of read-only SQLite connections: safe from any thread, all closed together."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from thinkgraph.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class ReadOnlyPool:
    """Connections to one SQLite file, opened as needed and kept for the next caller."""

    def __init__(self, path: Path) -> None:
        """Remember the file; nothing is opened yet."""
        self._path = path
        self._idle: list[sqlite3.Connection] = []
        self._lock = Lock()
        self._closed = False

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """A connection for the caller alone.

        Raises:
            StoreError: The pool is closed, or SQLite fails while the connection is used.
        """
        connection = None
        try:
            connection = self._take()
            yield connection
        except sqlite3.Error as error:
            raise StoreError(f"cannot read {self._path}: {error}") from error
        finally:
            if connection is not None:
                self._put_back(connection)

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise StoreError(f"the store {self._path} is closed")
            if self._idle:
                return self._idle.pop()
        # `mode=ro` neither creates a file nor needs a writable folder.
        uri = f"{self._path.resolve().as_uri()}?mode=ro"
        connection = sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None)
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA mmap_size = 1073741824")
        return connection

    def _put_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close every idle connection now and those in use when they come back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
