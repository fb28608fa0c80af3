"""Replies of models, kept in a file: the same run can be repeated without the models, or continued after a kill.

A reply is found by what was asked: the model's name, the messages, the schema, the temperature and the tools. Where a prompt
has changed since, its reply is not found. A whole run's recording (`ask --record`) also holds what was asked, what its stores and
its encoder gave (`found`, `find`), and what the run was started with (`about`).
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, NoReturn

from pydantic import TypeAdapter, ValidationError

from thinkgraph.errors import ModelError, UsageError
from thinkgraph.models.wire.forms import CallOptions, ModelReply
from thinkgraph.prompts.library import Message

REPLAY = "replay"
"""Provider in the name of a model whose replies come from a file: "replay:FILE"."""

_REPLY = TypeAdapter(ModelReply)
_SHOWN = 80
"""Characters of a line that differs."""
_ENDS: Final = "the recording ends before it; was its run stopped?"


class Recording:
    """A JSON Lines file with a model's name in its first line and a reply in every other. Safe to use from several threads."""

    def __init__(self, path: Path, model: str | None = None, about: Mapping[str, Any] | None = None) -> None:
        """Read what the file holds.

        Args:
            path: the file. With a model it may be missing: it is made at the first reply.
            model: whose replies are added; None only reads.
            about: of a whole run, what it was started with; then prompts are kept too.

        Raises:
            UsageError: the file cannot be read, is no recording, or holds another model's replies.
        """
        self.path = path
        self.replays = model is None
        """Whether a request that is not in the file cannot be made."""
        self._lock = threading.Lock()
        self._kept: dict[str, list[tuple[ModelReply, float]]] = {}
        self._taken: dict[str, int] = {}
        self._asked: list[tuple[str, str, Sequence[Message]]] = []
        """Key, role and messages, in the order of the file."""
        self._given: dict[str, Any] = {}
        self._unasked: set[str] = set()
        """Keys of what it gave and was not asked for yet, without vectors: a model that is not run asks for none."""
        self.about: Mapping[str, Any] = about or {}
        self.seconds = 0.0
        """What the replies taken and added so far took when they were made."""
        self.model = model or ""
        self._read(self._lines(), model)

    def _lines(self) -> list[str]:
        try:
            kept, end, rest = self.path.read_bytes().rpartition(b"\n")
            if rest and not self.replays:
                # Half a line that a kill left, perhaps in the middle of a letter.
                os.truncate(self.path, len(kept + end))
            return kept.decode().split("\n") if end else []
        except FileNotFoundError:
            if self.replays:
                raise UsageError(f"{self.path}: there is no such recording") from None
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{self.path}: cannot be read ({error})") from None

    def _read(self, lines: Sequence[str], model: str | None) -> None:
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
                if number == 1:
                    self.model = str(row["model"])
                    self.about = self.about or row.get("about", {})
                elif "what" in row:
                    self._given[row["key"]] = row["found"]
                    if row["what"] != "embedder":
                        self._unasked.add(row["key"])
                else:
                    if "asked" in row:
                        self._asked.append((row["key"], row["role"], [(who, text) for who, text in row["asked"]]))
                    self._kept.setdefault(row["key"], []).append((_REPLY.validate_python(row["reply"]), row["seconds"]))
            except (ValueError, TypeError, KeyError, ValidationError):
                raise UsageError(f"{self.path}, line {number}: not a recording of replies") from None
        if model not in {None, self.model}:
            raise UsageError(f"{self.path} holds replies of {self.model}, not of {model}: name another file")

    def take(self, messages: Sequence[Message], options: CallOptions) -> ModelReply | None:
        """The reply to a request; None where there is none. The same request again takes the next one (samples)."""
        key = self._key(messages, options)
        with self._lock:
            kept, at = self._kept.get(key, []), self._taken.get(key, 0)
            if at >= len(kept):
                return None
            self._taken[key] = at + 1
            reply, seconds = kept[at]
            self.seconds += seconds
        return reply

    def add(
        self, messages: Sequence[Message], options: CallOptions, reply: ModelReply, *, role: str, seconds: float
    ) -> None:
        """Keep a reply; it is in the file when this returns.

        Raises:
            UsageError: the file cannot be written.
        """
        key = self._key(messages, options)
        row = {"key": key, "role": role, "seconds": round(seconds, 3), "reply": _compact(reply)}
        if self.about:
            row["asked"] = list(messages)
        with self._lock:
            self._kept.setdefault(key, []).append((reply, seconds))
            self._taken[key] = self._taken.get(key, 0) + 1
            self.seconds += seconds
            self._write(row)

    def _write(self, row: Mapping[str, Any]) -> None:
        about = {"about": self.about} if self.about else {}
        try:
            with self.path.open("a", encoding="utf-8") as file:
                for line in [row] if file.tell() else [{"model": self.model, **about}, row]:
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be written ({error.strerror or error})") from None

    def found(self, what: str, asked: Any, result: Any) -> None:
        """Keep what a store gave; it is in the file when this returns.

        Raises:
            UsageError: the file cannot be written.
        """
        key = _hash([what, asked])
        with self._lock:
            if key not in self._given:
                self._given[key] = result
                self._write({"what": what, "key": key, "found": result})

    def find(self, what: str, asked: Any) -> Any:
        """What a store gave when it was asked this.

        Raises:
            ModelError: it was not asked this.
        """
        key = _hash([what, asked])
        if key not in self._given:
            why = "the run departs from the recorded one" if self._unasked else _ENDS
            raise ModelError(f"{self.path.name} does not hold what {what} gives for this: {why}")
        self._unasked.discard(key)
        return self._given[key]

    def no_model(self) -> NoReturn:
        """Stands for the model behind a recording. Raises ModelError."""
        raise ModelError(f"{self.path.name} is a recording: no model stands behind it")

    def missing(self, role: str, messages: Sequence[Message] = ()) -> ModelError:
        """The error for a request that the recording does not know; where it holds prompts, with the line that differs."""
        told = f"{self.path.name} holds no reply to this prompt of {role}"
        if all(self._taken.get(key, 0) == len(replies) for key, replies in self._kept.items()):
            return ModelError(f"{told}: {_ENDS}")
        told += ": it has changed since it was recorded"
        lines = _lines_of(messages)
        same = [_lines_of(asked) for key, of, asked in self._asked if of == role and not self._taken.get(key)]
        if not same:
            return ModelError(told)
        near = max(same, key=lambda old: sum(map(str.__eq__, old, lines)))
        before, now = next((pair for pair in zip_longest(near, lines, fillvalue="") if pair[0] != pair[1]), ("", ""))
        return ModelError(f"{told}, from {before.strip()[:_SHOWN]!r} to {now.strip()[:_SHOWN]!r}")

    def _key(self, messages: Sequence[Message], options: CallOptions) -> str:
        return _hash([self.model, list(messages), options.schema, options.temperature, list(options.tools)])


def _hash(asked: Any) -> str:
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


def _lines_of(messages: Sequence[Message]) -> list[str]:
    return [line for _, text in messages for line in text.splitlines()]


def _compact(reply: ModelReply) -> Mapping[str, Any]:
    return {name: value for name, value in asdict(reply).items() if value not in ((), {}, "stop")}
