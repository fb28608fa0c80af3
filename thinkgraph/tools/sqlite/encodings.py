"""Vectors of texts, kept once they are made: in the knowledge base where it can be written, else in the user's cache."""

from __future__ import annotations

import functools
import json
import logging
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinkgraph.errors import KnowledgeError, first_line
from thinkgraph.tools.cache import cache_folder
from thinkgraph.tools.kb_files import ENCODINGS
from thinkgraph.tools.sqlite.file import ReadOnlyFile, chunks
from thinkgraph.tools.sqlite.text_schema import VECTOR_TYPE

_log = logging.getLogger(__name__)

_UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
_ASKED = 500
_HASHES = "SELECT p.no, p.embedded FROM json_each(?) j CROSS JOIN passages p ON p.no = j.value"
_WAIT = 30.0
"""Seconds to wait for another process that writes: it takes milliseconds."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    model TEXT NOT NULL,
    hash BLOB NOT NULL,
    windows INTEGER NOT NULL,
    vector BLOB NOT NULL,      -- all windows, one below the other
    checksum INTEGER NOT NULL, -- no manifest knows this file
    UNIQUE (model, hash)
);
CREATE TABLE IF NOT EXISTS whole (fingerprint TEXT PRIMARY KEY) WITHOUT ROWID;
"""


class StoredVectors:
    """The vectors that a text store's passages have already, each known by a hash of what it is made from.

    Every call opens the file anew, so that threads, forks and other processes may use it at once; a process that is killed
    leaves what it had finished. What lies in the user's cache is shared by all knowledge bases.
    """

    def __init__(self, path: Path, meta: Mapping[str, str]) -> None:
        """Those of the store at `path`, which says `meta` of itself; nothing is opened yet.

        Raises:
            KeyError: it does not say enough.
        """
        self.model = meta["embedder"]
        self._fingerprint = meta["fingerprint"]
        self._own = path.parent / ENCODINGS
        # A link may lead anywhere: what it names is neither read nor written.
        self._files = [file for file in (self._own, cache_folder(ENCODINGS)) if not file.is_symlink()]
        self._whole = False

    @property
    def whole(self) -> bool:
        """Whether all were made ahead."""
        sql = "SELECT 1 FROM whole WHERE fingerprint = ?"
        self._whole = self._whole or any(_read(file, sql, [self._fingerprint]) for file in self._files)
        return self._whole

    def read(self, db: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, NDArray[np.float16]]:
        """By the passages' numbers, one row for each window; without those that are not made yet.

        What is damaged is not there: it is made again.
        """
        hashes = _hashes(db, numbers)
        found: dict[bytes, NDArray[np.float16]] = {}
        for file in self._files:
            missing = [one for one in dict.fromkeys(hashes.values()) if one not in found]
            for one, windows, blob, checksum in self._rows(file, "hash, windows, vector, checksum", missing):
                # In a damaged file a number may be a text.
                sound = isinstance(one, bytes) and isinstance(windows, int) and isinstance(blob, bytes)
                if sound and checksum == _checksum(one, windows, blob):
                    found[one] = np.frombuffer(blob, VECTOR_TYPE).reshape(windows, -1)
        return {no: found[one] for no, one in hashes.items() if one in found}

    def count(self, db: sqlite3.Connection) -> int:
        """How many passages have theirs."""
        hashes = [one for (one,) in db.execute("SELECT embedded FROM passages")]
        asked = list(dict.fromkeys(hashes))
        known = {one for file in self._files for (one,) in self._rows(file, "hash", asked)}
        return sum(one in known for one in hashes)

    def keep(self, db: sqlite3.Connection, made: Mapping[int, NDArray[np.float16]]) -> None:
        """Keep the vectors of these passages.

        Raises:
            KnowledgeError: neither the knowledge base nor the cache can be written.
        """
        if made:
            blobs = {
                one: (len(made[no]), made[no].astype(VECTOR_TYPE).tobytes())
                for no, one in _hashes(db, list(made)).items()
            }
            rows = [(self.model, one, *blob, _checksum(one, *blob)) for one, blob in blobs.items()]
            self._write("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)", rows)

    def check(self, known: Iterable[NDArray[np.float16]], dimensions: int) -> None:
        """Refuse to go on with kept vectors that are of another length than those that the encoder gives now.

        Raises:
            KnowledgeError: one is.
        """
        for rows in known:
            if rows.shape[1] != dimensions:
                sql = "SELECT 1 FROM vectors WHERE model = ? LIMIT 1"
                places = " and ".join(str(file) for file in self._files if _read(file, sql, [self.model]))
                raise KnowledgeError(
                    f"the vectors kept of {self.model!r} have {rows.shape[1]} numbers, the encoder of that name now gives "
                    f"{dimensions}: open the knowledge base with the one that made them, or delete {places} to make them again"
                )

    def set_whole(self) -> None:
        """Remember that all are made.

        Raises:
            KnowledgeError: as `keep`.
        """
        if not self.whole:
            self._write("INSERT OR IGNORE INTO whole VALUES (?)", [(self._fingerprint,)])

    def _rows(self, file: Path, columns: str, hashes: list[bytes]) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        for part in chunks(hashes, _ASKED):
            marks = ",".join("?" * len(part))
            sql = f"SELECT {columns} FROM vectors WHERE model = ? AND hash IN ({marks})"
            found += _read(file, sql, [self.model, *part])
        return found

    def _write(self, sql: str, rows: list[tuple[Any, ...]]) -> None:
        problem: Exception | None = None
        for file in self._files:
            if file == self._own and not _may_write(file):
                continue
            try:
                _kept(file, sql, rows)
            except (OSError, *_UNREADABLE) as error:
                problem = error
            else:
                return
        why = first_line(problem) if problem else "no place"
        raise KnowledgeError(f"vectors cannot be kept in {self._files[-1]} ({why}): make room, or set THINKGRAPH_CACHE")


@contextmanager
def stored_vectors(path: Path) -> Iterator[tuple[sqlite3.Connection, StoredVectors]]:
    """A text store's file, and the vectors that its passages have; no encoder is needed.

    Raises:
        KnowledgeError: there is no such file, or it cannot be read.
    """
    with closing(ReadOnlyFile(path)) as file, file.connection() as db:
        yield db, StoredVectors(path, dict(db.execute("SELECT key, value FROM meta")))


def _hashes(db: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, bytes]:
    return dict(db.execute(_HASHES, (json.dumps(numbers),)))


def _checksum(text: bytes, windows: int, blob: bytes) -> int:
    return zlib.crc32(b"%s %d %s" % (text, windows, blob))


def _kept(file: Path, sql: str, rows: list[tuple[Any, ...]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file, timeout=_WAIT, isolation_level=None)) as db:
        # One transaction: whoever reads meanwhile sees an empty file or a whole one, a full disk leaves an empty one.
        db.executescript(f"PRAGMA trusted_schema=OFF; PRAGMA synchronous=NORMAL; BEGIN IMMEDIATE; {_SCHEMA}")
        db.executemany(sql, rows)
        db.execute("COMMIT")


def _may_write(file: Path) -> bool:
    """Whether a knowledge base takes what is made later. A folder marked as read-only is left alone, by root too."""
    try:
        return bool(file.parent.stat().st_mode & 0o222) and os.access(file if file.exists() else file.parent, os.W_OK)
    except OSError:
        return False


def _read(file: Path, sql: str, values: list[str | bytes]) -> list[tuple[Any, ...]]:
    try:
        if not file.is_file() or not file.stat().st_size:
            return []
        # Not "ro": what a killed process left half written is undone by the first who may.
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True, timeout=_WAIT)) as db:
            db.execute("PRAGMA trusted_schema=OFF")
            return db.execute(sql, values).fetchall()
    except (OSError, *_UNREADABLE) as error:
        _warn(file, str(error))
        return []


@functools.cache
def _warn(file: Path, error: str) -> None:
    _log.warning("the vectors in %s cannot be read (%s) and are made again; delete that file", file, error)
