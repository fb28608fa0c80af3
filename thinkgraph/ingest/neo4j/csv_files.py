"""Writes a knowledge base folder as the files that `neo4j-admin database import` reads: for graphs too big for an export over Bolt."""

from __future__ import annotations

import copy
import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from thinkgraph.errors import KnowledgeError, UsageError
from thinkgraph.ingest.folder import BuildFolder, FolderKind, writing
from thinkgraph.ingest.neo4j import form
from thinkgraph.ingest.neo4j.kb_rows import KbRows, Properties
from thinkgraph.ingest.readers.files import LIST_SEPARATOR
from thinkgraph.tools.progress import Progress, no_progress

T = TypeVar("T")

_SCRIPT, _INDEXES = "import.sh", "indexes.cypher"
_EVERY = 10_000
_MOST_FILES = 500
_KIND = FolderKind("an export", lambda folder: (folder / _SCRIPT).is_file(), working="exporting to")

_IMPORT = """#!/bin/sh
# Loads these files into a new database of a stopped Neo4j server: sh import.sh [DATABASE [OPTION…]]
# Then start the server and run indexes.cypher in that database.
set -eu
cd "$(dirname "$0")"
database="${{1:-neo4j}}"
[ $# -eq 0 ] || shift
exec "${{NEO4J_ADMIN:-neo4j-admin}}" database import full "$database" \\
{files}    --array-delimiter=U+001F --multiline-fields=true --legacy-style-quoting=false "$@"
"""


def export_csv(folder: Path, to: Path, *, progress: Progress = no_progress) -> list[str]:
    """Write the knowledge base in `folder` into the new folder `to`; gives the names of the files.

    They are written beside `to`, which appears at the end. An export that was killed goes on after the last group of files that
    was whole.

    Raises:
        KnowledgeError: the folder is no knowledge base, `to` cannot be written, or another process exports to it.
        UsageError: `to` exists already and is not empty.
    """
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise UsageError(f"{to} exists already; name a new folder")
    with writing(to), KbRows(folder) as rows:
        key = f"neo4j-csv {rows.manifest['fingerprint']}"
        with BuildFolder(to.absolute(), key, replace=False, kind=_KIND) as place:
            try:
                files = _Csv(rows, place, progress).write()
            except KnowledgeError:
                place.discard()
                raise
            place.commit()
        return files


class _Csv:
    def __init__(self, rows: KbRows, place: BuildFolder, progress: Progress) -> None:
        self._rows = rows
        self._place = place
        self._progress = progress
        self._open = ExitStack()
        self._files: dict[str, list[str]] = {"nodes": [], "relationships": []}

    def write(self) -> list[str]:
        for group in (self._entities, self._literals, self._triples, self._passages, self._about, self._relation_types):
            self._whole(group.__name__, group)
        statements = [*form.CONSTRAINTS, *self._rows.indexes]
        (self._place.work / _INDEXES).write_text("".join(f"{statement};\n" for statement in statements), "utf-8")
        files = [f"    --{kind}={name} \\\n" for kind, names in self._files.items() for name in names]
        (self._place.work / _SCRIPT).write_text(_IMPORT.format(files="".join(files)), "utf-8")
        return [*self._files["nodes"], *self._files["relationships"], _INDEXES, _SCRIPT]

    def _whole(self, name: str, write: Callable[[], None]) -> None:
        """Write a group of files, unless an export that was killed had done so."""
        if (done := self._place.stage(name)) is not None:
            self._files = copy.deepcopy(done)
            return
        with self._open:
            write()
        self._place.finished(name, copy.deepcopy(self._files))

    def _entities(self) -> None:
        columns = [f"id:ID({form.ENTITY})", "name", "type", "description", "aliases:string[]"]
        rows, total = self._rows.nodes(literal=False), self._rows.manifest["graph"]["entities"]
        self._nodes("entities.csv", form.ENTITY, columns, rows, total)

    def _literals(self) -> None:
        columns = [f"id:ID({form.LITERAL})", "value"]
        rows, total = self._rows.nodes(literal=True), self._rows.manifest["graph"]["literals"]
        self._nodes("literals.csv", form.LITERAL, columns, rows, total)

    def _passages(self) -> None:
        if self._rows.passages_count:
            columns = [f"id:ID({form.PASSAGE})", "title", "section", "text", f"{form.VECTOR}:float[]"]
            passages = (passage for passage, _ in self._rows.passages())
            self._nodes("passages.csv", form.PASSAGE, columns, passages, self._rows.passages_count)

    def _about(self) -> None:
        rows = self._rows
        if rows.passages_count:
            about = self._edges("about.csv", form.PASSAGE, form.ENTITY)
            for passage, entities in self._counted("about.csv", rows.passages(), rows.passages_count):
                about.writerows([_cell(passage["id"]), _cell(entity), rows.about] for entity in entities)

    def _relation_types(self) -> None:
        if labels := self._rows.relation_types:
            self._nodes("relation_types.csv", form.RELATION_TYPE, ["type", "name"], labels, len(labels))

    def _nodes(self, name: str, label: str, columns: Sequence[str], rows: Iterable[Properties], total: int) -> None:
        writer = self._opened("nodes", name, [*columns, ":LABEL"])
        keys = [column.partition(":")[0] for column in columns]
        for row in self._counted(name, rows, total):
            writer.writerow([*(_cell(row.get(key, "")) for key in keys), label])

    def _edges(self, name: str, start: str, end: str, qualifiers: Sequence[str] = ()) -> Any:
        return self._opened("relationships", name, [f":START_ID({start})", f":END_ID({end})", ":TYPE", *qualifiers])

    def _triples(self) -> None:
        """One file for each set of qualifiers: a file has the same columns in all its rows."""
        writers: dict[tuple[str, ...], Any] = {}
        for row in self._counted("triples", self._rows.triples(), self._rows.manifest["graph"]["triples"]):
            names = sorted(row.qualifiers)
            kinds = ["string[]" if isinstance(row.qualifiers[name], list) else "string" for name in names]
            columns = [f"{name}:{kind}" for name, kind in zip(names, kinds, strict=True)]
            end = form.LITERAL if row.literal else form.ENTITY
            if (end, *columns) not in writers:
                _check_columns(columns, len(writers))
                name = f"triples_{len(writers):03d}.csv"
                writers[end, *columns] = self._edges(name, form.ENTITY, end, columns)
            cells = (row.subject, row.object, row.relation, *(row.qualifiers[name] for name in names))
            writers[end, *columns].writerow(map(_cell, cells))

    def _opened(self, kind: str, name: str, header: Sequence[str]) -> Any:
        self._files[kind].append(name)
        file = self._open.enter_context((self._place.work / name).open("w", encoding="utf-8", newline=""))
        # So ended, lines have cells with a lone carriage return in quotes, too, and the importer keeps it.
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(header)
        return writer

    def _counted(self, stage: str, rows: Iterable[T], total: int) -> Iterator[T]:
        for done, row in enumerate(rows):
            if done % _EVERY == 0:
                self._progress(stage, done, total)
            yield row
        self._progress(stage, total, total)


def _check_columns(columns: Sequence[str], files: int) -> None:
    """Refuse one more file of triples where there are too many, or where a qualifier's name cannot be a column's."""
    instead = "export into a running database instead (--to neo4j://…)"
    if files >= _MOST_FILES:
        raise KnowledgeError(
            f"the triples have more than {_MOST_FILES} different sets of qualifiers, each of which needs a file; {instead}"
        )
    bad = next((name for name in columns if not re.fullmatch(r"[^:{}\n\r]+:string(\[\])?", name)), None)
    if bad is not None:
        raise KnowledgeError(
            f"the qualifier {bad.rpartition(':')[0][:80]!r} cannot be a column for neo4j-admin; {instead}"
        )


def _cell(value: str | Sequence[str | float]) -> str:
    if not isinstance(value, str):
        # The shortest writing of a number that reads as the same one.
        parts = (one if isinstance(one, str) else repr(one) for one in value)
        value = LIST_SEPARATOR.join(part.replace(LIST_SEPARATOR, " ") for part in parts)
    return value.replace("\0", "")
