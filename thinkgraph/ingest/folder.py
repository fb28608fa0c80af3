"""A folder that appears whole or not at all: built beside its place, locked, and moved there at the end."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from thinkgraph.errors import KnowledgeError
from thinkgraph.prompts.lines import one_line
from thinkgraph.tools.kb_files import foreign_files, is_knowledge_base
from thinkgraph.tools.linking.names import well_formed
from thinkgraph.tools.protocols import closed_on_error

_STATE = "build.json"
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


@dataclass(frozen=True)
class FolderKind:
    """What sort of thing a folder is to hold."""

    what: str
    """With its article: "a knowledge base"."""
    is_one: Callable[[Path], bool]
    """Whether a folder holds such a thing, so that it may be replaced."""
    working: str = "building"
    """What another process does that holds the lock."""
    precious: bool = False
    """Unfinished work of another key is refused, not thrown away: it may be hours of it."""
    foreign: Callable[[Path], Sequence[str]] = lambda _folder: ()
    """What a folder holds beside such a thing: it would be lost with what is replaced."""


def named(target: Path, name: str | None) -> str:
    """What a knowledge base is called: as it is said, else as its folder. Neither need be UTF-8."""
    return well_formed((name or target.name).strip() or target.name)


KNOWLEDGE_BASE = FolderKind("a knowledge base", is_knowledge_base, foreign=foreign_files)


class BuildFolder:
    """The working folder of one build. What it holds outlives a killed process, and the same build goes on with it.

    Use as a context manager; entering takes the lock.

    Raises:
        KnowledgeError: the target holds something else, exists already without `replace`, or is being built by another
            process.
    """

    def __init__(self, target: Path, key: str, *, replace: bool, kind: FolderKind = KNOWLEDGE_BASE) -> None:
        """A build of `target`, continued only if the unfinished one has the same `key`."""
        refuse_target(target, replace=replace, kind=kind)
        self.target = target
        self.kind = kind
        self.work = target.with_name(f".{target.name}.building")
        self._old = target.with_name(f".{target.name}.old")
        self._lock = target.with_name(f".{target.name}.lock")
        self._key = key
        self._replace = replace
        self._descriptor = -1
        self.resumed = False
        self._stages: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self.target.parent.mkdir(parents=True, exist_ok=True)
        self._take_lock()
        with closed_on_error(self._drop_lock):
            self._recover()
            # Asked again: another build may have finished while this one waited for nothing but the lock.
            refuse_target(self.target, replace=self._replace, kind=self.kind)
            self._continue_or_start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None and not self._stages:
            # Nothing is finished that the next build could go on with.
            shutil.rmtree(self.work, ignore_errors=True)
        self._drop_lock()

    def stage(self, name: str) -> Any:
        """What a finished stage left behind, or None."""
        return self._stages.get(name)

    def finished(self, name: str, result: Any) -> None:
        """Remember that a stage is done, together with its result (plain JSON)."""
        self._stages[name] = result
        self._write_state()

    def discard(self) -> None:
        """Nothing that was made is worth going on with: it goes when the context ends."""
        self._stages.clear()

    def commit(self) -> None:
        """Put the folder in its place, in one step where the system can exchange two folders."""
        for path in self.work.iterdir():
            _sync(path)
        _sync(self.work)
        if not self.target.exists():
            self.work.rename(self.target)
        elif not self._exchange():
            self.target.rename(self._old)
            self.work.rename(self.target)
        _sync(self.target.parent)
        (self.target / _STATE).unlink(missing_ok=True)
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.rmtree(self._old, ignore_errors=True)

    def _exchange(self) -> bool:
        rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
        paths = (os.fsencode(self.work), os.fsencode(self.target))
        return rename is not None and rename(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], _RENAME_EXCHANGE) == 0

    def _take_lock(self) -> None:
        while True:
            descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                raise KnowledgeError(
                    f"another process is {self.kind.working} {self.target}; wait until it is done"
                ) from None
            # The holder before us removes the file: only a lock on the file that is still there counts.
            with suppress(FileNotFoundError):
                if os.stat(self._lock).st_ino == os.fstat(descriptor).st_ino:  # noqa: PTH116 (beside its twin)
                    self._descriptor = descriptor
                    return
            os.close(descriptor)

    def _drop_lock(self) -> None:
        self._lock.unlink(missing_ok=True)
        os.close(self._descriptor)

    def _recover(self) -> None:
        """Undo a replacement that was cut off between its two moves."""
        if self._old.exists():
            if self.target.exists():
                shutil.rmtree(self._old)
            else:
                self._old.rename(self.target)

    def _continue_or_start(self) -> None:
        try:
            state = json.loads((self.work / _STATE).read_text("utf-8"))
        except (OSError, ValueError):
            state = None
        if isinstance(state, dict) and state.get("key") == self._key and isinstance(state.get("stages"), dict):
            self._stages = state["stages"]
            self.resumed = True
            return
        if self.work.exists():
            if self.kind.precious and not self._replace and isinstance(state, dict) and state.get("stages"):
                raise KnowledgeError(
                    f"{self.work} holds unfinished work with other settings or data: give the same command to go on with "
                    "it, or --replace to give it up"
                )
            shutil.rmtree(self.work)
        self.work.mkdir()
        self._write_state()

    def _write_state(self) -> None:
        part = self.work / f"{_STATE}.part"
        part.write_text(json.dumps({"key": self._key, "stages": self._stages}), "utf-8")
        _sync(part)
        part.replace(self.work / _STATE)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise `KnowledgeError` with one line for whatever goes wrong while something is written at `path`."""
    try:
        yield
    except (OSError, sqlite3.Error, MemoryError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise KnowledgeError(
            f"cannot write {path}: {reason}; mend that and run the same command again to go on"
        ) from error


def refuse_target(target: Path, *, replace: bool, kind: FolderKind = KNOWLEDGE_BASE) -> None:
    """Raise `KnowledgeError` if a build must not touch what is at `target`."""
    if not target.name:
        raise KnowledgeError(f"{target} cannot be {kind.what}; name a new folder")
    with writing(target):
        if target.exists() and not target.is_dir():
            raise KnowledgeError(f"{target} is a file; name a folder for {kind.what.replace('a ', 'the ', 1)}")
        if not target.exists() or not any(target.iterdir()):
            return
        if not kind.is_one(target):
            raise KnowledgeError(f"{target} is not empty and not {kind.what}; name a new folder")
    if not replace:
        raise KnowledgeError(
            f"{target} is {kind.what} already; add --replace (in Python, replace=True) to make it anew, or name another"
        )
    # A build that was killed at its very end leaves its state.
    if others := [name for name in kind.foreign(target) if name != _STATE]:
        raise KnowledgeError(f"{target} holds {one_line(others[0])} too, which would be lost: move it elsewhere first")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
