"""Rows that a build could not use: counted, the first ones kept, never silently dropped."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from typing_extensions import TypedDict

from thinkgraph.errors import KnowledgeError
from thinkgraph.tools.linking.names import well_formed

_KEPT_PER_KIND = 1000


class Reject(TypedDict):
    """One thing in an input that was not used as it stood."""

    kind: str
    """`malformed`, `duplicate id`, `unknown entity`, `not linked` …"""
    file: str
    """Name of the input file, without its folder; of a document, its name below the given folder."""
    line: int
    """Line number from 1; 0 where the remark is about the file as a whole."""
    reason: str


class Rejects:
    """Collects rejects; with `strict`, the first malformed row raises `KnowledgeError` instead."""

    def __init__(self, *, strict: bool = False) -> None:
        self.counts: Counter[str] = Counter()
        self.kept: list[Reject] = []
        self.names: dict[Path, str] = {}
        """What files are called that are not called by their own names alone."""
        self.strict = strict

    def count(self, kind: str) -> None:
        """Count one of which there are too many, or too little to say, to be kept."""
        self.counts[kind] += 1

    def add(self, path: Path, line: int, reason: str, *, kind: str = "malformed") -> None:
        """Count one, and keep it while there are fewer than 1,000 of its kind (memory stays flat)."""
        name = self.names.get(path, path.name)
        if self.strict and kind == "malformed":
            raise KnowledgeError(f"{name}, line {line}: {reason} (the build is strict and stopped there)")
        self.note(name, line, reason, kind=kind)

    def note(self, file: str, line: int, reason: str, *, kind: str) -> None:
        """As `add`, of a file by any name, and whatever the strictness."""
        self.counts[kind] += 1
        if self.counts[kind] <= _KEPT_PER_KIND:
            self.kept.append({"kind": kind, "file": well_formed(file), "line": line, "reason": well_formed(reason)})
