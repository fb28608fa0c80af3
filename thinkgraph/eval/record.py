"""Results on disk: one JSON line each, written as it comes, so that a killed command goes on where it was."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from mmap import ACCESS_READ, mmap
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from thinkgraph.errors import UsageError
from thinkgraph.eval.files import parsed

_FORMAT = 1


def differing(known: Mapping[str, Any] | None, plan: Mapping[str, Any]) -> list[str]:
    """What two plans differ in, by name."""
    first, second = known or {}, json.loads(json.dumps(plan))
    return sorted(name for name in {*first, *second} if first.get(name) != second.get(name))


def known_of(given: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """By model, what of the user's words on it makes other results; a window corrected after a refusal does not."""
    known = {
        model: {key: value for key, value in told.items() if key not in {"window", "max_output"}}
        for model, told in given.items()
    }
    return {model: told for model, told in known.items() if told}


class RecordFile:
    """`FILE` with the results and `FILE.run.json` with what they are results of. Use as a context manager.

    An unfinished file is continued only by the same work: same data, methods, settings, model, knowledge and seed.
    """

    def __init__(
        self, path: Path, plan: Mapping[str, Any], *, counts: Callable[[Mapping[str, Any]], bool] = lambda _: True
    ) -> None:
        """Name the file.

        Args:
            path: the results file.
            plan: what is done, as plain JSON.
            counts: whether a result must not be lost. Other work takes over a file that has none such.
        """
        self.path = path
        self._counts = counts
        self._plan = {"format": _FORMAT, **plan}
        self._beside = Path(f"{path}.run.json")
        self._out: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Open the file, or start it.

        Raises:
            UsageError: the file cannot be written, holds something else, or another process is writing it.
        """
        if not self.path.parent.is_dir():
            raise UsageError(f"there is no folder {self.path.parent} for {self.path.name}")
        if self.path.exists() and not self.path.is_dir() and not self.path.is_file():
            raise UsageError(f"{self.path} is no file: results are read again from where they are written")
        try:
            self._out = self.path.open("ab")
            fcntl.flock(self._out, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(self._out.fileno()), self.path.stat()):
                # Another process has just put a new file in its place (`drop`).
                raise BlockingIOError
            if os.fstat(self._out.fileno()).st_size:
                self._check()
            if os.fstat(self._out.fileno()).st_size:
                self._cut()
            else:
                # Only the holder of the lock writes the plan. Results without a plan are never continued.
                plan = json.dumps(self._plan, ensure_ascii=False, indent=1, sort_keys=True)
                self._beside.write_text(f"{plan}\n", "utf-8")
        except (OSError, UsageError) as error:
            self._close()
            if isinstance(error, BlockingIOError):
                raise UsageError(f"{self.path} is being written by another process; wait for it") from None
            if isinstance(error, OSError):
                raise UsageError(f"{self.path} cannot be written ({error.strerror or error})") from None
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        if self._out:
            # Closing writes the buffer, which a full disk refuses once more; the error was raised before.
            with contextlib.suppress(OSError):
                self._out.close()
            self._out = None

    def _check(self) -> None:
        try:
            known = json.loads(self._beside.read_text("utf-8"))
        except (OSError, ValueError):
            known = None
        if not isinstance(known, dict):
            raise UsageError(f"{self.path} exists already and was not begun by this command; name another file")
        if names := differing(known, self._plan):
            self._cut()
            if any(map(self._counts, self.records())):
                raise UsageError(
                    f"{self.path} holds other results (they differ in {', '.join(names)}); name another file, or go on with those"
                )
            os.truncate(self.path, 0)

    def _cut(self) -> None:
        """Drop a last line that a kill left half written."""
        with self.path.open("rb+") as file:
            with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
                end = data.rfind(b"\n") + 1
            file.truncate(end)

    def records(self, fits: Callable[[Mapping[str, Any]], bool] = lambda _: True) -> Iterator[dict[str, Any]]:
        """What is kept, one by one.

        Args:
            fits: whether an object is a result of this command.

        Raises:
            UsageError: a line is no JSON object, or does not fit.
        """
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    value = parsed(line.decode())
                except ValueError:
                    value = None
                if not isinstance(value, dict) or not fits(value):
                    raise UsageError(
                        f"{self.path}, line {number}: not a result of this command; is the file damaged? Without that line "
                        "the same command goes on, and asks that question again"
                    )
                yield value

    def drop(self, numbers: Collection[int]) -> None:
        """Take out lines, by their number from 1. A kill leaves the file as it was, or without them.

        Raises:
            UsageError: the file cannot be written anew. It is as it was.
        """
        if not numbers:
            return
        # What a link stands for is replaced, not the link.
        whole = Path(os.path.realpath(self.path))
        part = whole.with_name(f"{whole.name}.part")
        try:
            part.unlink(missing_ok=True)
            out = part.open("ab")
            try:
                fcntl.flock(out, fcntl.LOCK_EX)
                with whole.open("rb") as lines:
                    out.writelines(line for number, line in enumerate(lines, start=1) if number not in numbers)
                out.flush()
                os.fsync(out.fileno())
                shutil.copymode(whole, part)
                part.replace(whole)
            except OSError:
                out.close()
                part.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise UsageError(
                f"{self.path} cannot be written anew ({error.strerror or error}); it is as it was"
            ) from None
        self._close()
        self._out = out

    def keep(self, record: Mapping[str, Any]) -> None:
        """Write one result; it is on disk when this returns.

        Raises:
            UsageError: it cannot be written, on a full disk for example. What was kept before is whole.
        """
        if self._out is None:
            raise ValueError("the file is not open")
        # JSON may hold half a surrogate pair, a file may not.
        line = json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
        try:
            self._out.write(line)
            self._out.flush()
            os.fsync(self._out.fileno())
        except OSError as error:
            raise UsageError(
                f"{self.path} cannot be written ({error.strerror or error}); what it holds is kept: the same command goes "
                "on from there"
            ) from None
