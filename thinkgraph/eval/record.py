"""A bench's results on disk: one JSON line a question, written as it comes, so that a killed bench goes on where it was."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, cast

from thinkgraph.errors import UsageError
from thinkgraph.eval.results import Result

_FORMAT = 1


class ResultsFile:
    """`FILE` with the results and `FILE.run.json` with what they are results of. Use as a context manager.

    A file that an unbroken or a killed bench left is continued only by the very same bench: same questions, methods,
    settings, model, knowledge and seed.
    """

    def __init__(self, path: Path, plan: Mapping[str, Any]) -> None:
        """Open the file, or start it.

        Args:
            path: the results file.
            plan: what the bench runs, as plain JSON.

        Raises:
            UsageError: the file cannot be written, belongs to another bench, or another process is writing it.
        """
        self.path = path
        self._plan = {"format": _FORMAT, **plan}
        self._beside = path.with_name(f"{path.name}.run.json")
        self._out: IO[str] | None = None
        self.done: list[Result] = []
        """What an earlier run of the same bench answered."""

    def __enter__(self) -> Self:
        if not self.path.parent.is_dir():
            raise UsageError(f"there is no folder {self.path.parent} for {self.path.name}")
        try:
            fresh = not self.path.exists()
            if fresh:
                # The plan first: a results file without one is never continued.
                plan = json.dumps(self._plan, ensure_ascii=False, indent=1, sort_keys=True)
                self._beside.write_text(f"{plan}\n", "utf-8")
            self._out = self.path.open("a", encoding="utf-8")
            fcntl.flock(self._out, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not fresh:
                self._check()
                self.done = self._read()
        except BlockingIOError:
            self._close()
            raise UsageError(f"{self.path} is being written by another process; wait for it") from None
        except OSError as error:
            self._close()
            raise UsageError(f"{self.path} cannot be written ({error.strerror or error})") from None
        except UsageError:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        if self._out:
            self._out.close()
            self._out = None

    def _check(self) -> None:
        try:
            known = json.loads(self._beside.read_text("utf-8"))
        except (OSError, ValueError):
            raise UsageError(
                f"{self.path} exists already and is no bench that can be continued; name another file"
            ) from None
        plan = json.loads(json.dumps(self._plan))
        if known != plan:
            names = sorted(name for name in {*known, *plan} if known.get(name) != plan.get(name))
            raise UsageError(
                f"{self.path} holds another bench (it differs in {', '.join(names)}); name another file, or run that one"
            )

    def _read(self) -> list[Result]:
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            # The kill came while a line was written; that question is asked again.
            os.truncate(self.path, whole)
        found: dict[tuple[str, str], Result] = {}
        for number, line in enumerate(data[:whole].decode("utf-8").split("\n")[:-1], start=1):
            try:
                result = cast("Result", json.loads(line))
                found[result["method"], result["id"]] = result
            except (ValueError, KeyError, TypeError):
                raise UsageError(f"{self.path}, line {number}: not a result of a bench; is the file damaged?") from None
        return list(found.values())

    def keep(self, result: Result) -> None:
        """Write one result; it is on disk when this returns."""
        if self._out is None:
            raise ValueError("the file is not open")
        self._out.write(json.dumps(result, ensure_ascii=False) + "\n")
        self._out.flush()
        os.fsync(self._out.fileno())
