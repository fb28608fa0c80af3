"""Writes a knowledge base folder as the files that `neo4j-admin database import` reads: for graphs too big for an export over Bolt."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from thinkgraph.errors import KnowledgeError, UsageError
from thinkgraph.ingest.neo4j import form
from thinkgraph.ingest.neo4j.kb_rows import KbRows
from thinkgraph.tools.progress import Progress, no_progress

SEPARATOR = "\x1f"
"""Between the elements of a list."""
_SCRIPT, _INDEXES = "import.sh", "indexes.cypher"
_EVERY = 10_000
_MOST_FILES = 500

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

    Raises:
        KnowledgeError: the folder is no knowledge base, or `to` cannot be written.
        UsageError: `to` exists already and is not empty.
    """
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise UsageError(f"{to} exists already; name a new folder")
    try:
        to.mkdir(parents=True, exist_ok=True)
        with KbRows(folder) as rows:
            return _Csv(rows, to, progress).write()
    except OSError as error:
        raise KnowledgeError(f"cannot write {to}: {error.strerror or error}") from error


class _Csv:
    def __init__(self, rows: KbRows, to: Path, progress: Progress) -> None:
        self._rows = rows
        self._to = to
        self._progress = progress
        self._nodes: list[str] = []
        self._edges: list[str] = []

    def write(self) -> list[str]:
        rows, graph = self._rows, self._rows.manifest["graph"]
        names = [name for name, _ in rows.relations()]
        form.check_relations(names)
        self._table(
            "entities.csv",
            [f"id:ID({form.ENTITY})", "name", "type", "description", "aliases:string[]", ":LABEL"],
            (
                [form.stored_id(one.key), one.label, one.type, one.description, _list(one.aliases), form.ENTITY]
                for one in rows.nodes(literal=False)
            ),
            graph["entities"],
        )
        self._table(
            "literals.csv",
            [f"id:ID({form.LITERAL})", "value", ":LABEL"],
            ([form.stored_id(one.key), one.key, form.LITERAL] for one in rows.nodes(literal=True)),
            graph["literals"],
        )
        self._triples(graph["triples"])
        if rows.passages_count:
            self._passages(form.about_type(names))
        labels = form.relation_labels(rows.relations())
        if labels:
            self._table(
                "relation_types.csv",
                ["type", "name", ":LABEL"],
                ([name, label, form.RELATION_TYPE] for name, label in labels),
                len(labels),
            )
        statements = [*form.constraints(), *form.indexes(rows.dimensions(), rows.longest_name())]
        (self._to / _INDEXES).write_text("".join(f"{statement};\n" for statement in statements), "utf-8")
        files = [*(("nodes", name) for name in self._nodes), *(("relationships", name) for name in self._edges)]
        script = _IMPORT.format(files="".join(f"    --{kind}={name} \\\n" for kind, name in files))
        (self._to / _SCRIPT).write_text(script, "utf-8")
        return [*self._nodes, *self._edges, _INDEXES, _SCRIPT]

    def _passages(self, about: str) -> None:
        rows, total = self._rows, self._rows.passages_count
        self._table(
            "passages.csv",
            [f"id:ID({form.PASSAGE})", "title", "section", "text", f"{form.VECTOR}:float[]", ":LABEL"],
            (
                [one.id, one.title, one.section, one.text, _list(map(repr, one.vector or ())), form.PASSAGE]
                for one in rows.passages()
            ),
            total,
        )
        self._table(
            "about.csv",
            [f":START_ID({form.PASSAGE})", f":END_ID({form.ENTITY})", ":TYPE"],
            ([one.id, form.stored_id(entity), about] for one in rows.passages() for entity in one.entities),
            None,
            edges=True,
        )

    def _triples(self, total: int) -> None:
        """One file for each set of qualifiers: a file has the same columns in all its rows."""
        with ExitStack() as stack:
            writers: dict[tuple[str, ...], Any] = {}
            for done, row in enumerate(self._rows.triples()):
                values = form.qualifier_values(row.qualifiers)
                end = form.LITERAL if row.literal else form.ENTITY
                key = (
                    end,
                    *sorted(f"{name}:{'string[]' if isinstance(v, list) else 'string'}" for name, v in values.items()),
                )
                if key not in writers:
                    writers[key] = self._triples_file(key, len(writers), stack)
                columns = [name.rpartition(":")[0] for name in key[1:]]
                cells = [_list(v) if isinstance(v := values[name], list) else v for name in columns]
                writers[key].writerow(
                    [form.stored_id(row.subject), form.stored_id(row.object), row.relation, *map(_cell, cells)]
                )
                if done % _EVERY == 0:
                    self._progress("triples", done, total)
            self._progress("triples", total, total)

    def _triples_file(self, key: Sequence[str], number: int, stack: ExitStack) -> Any:
        if number >= _MOST_FILES:
            raise KnowledgeError(
                f"the triples have more than {_MOST_FILES} different sets of qualifiers, each of which needs a file; "
                "export into a running database instead (--to neo4j://…)"
            )
        bad = next((name for name in key[1:] if not re.fullmatch(r"[^:{}\n\r]+:string(\[\])?", name)), None)
        if bad is not None:
            raise KnowledgeError(
                f"the qualifier {bad.rpartition(':')[0][:80]!r} cannot be a column for neo4j-admin; export into a running "
                "database instead (--to neo4j://…)"
            )
        name = f"triples_{number:03d}.csv"
        self._edges.append(name)
        file = stack.enter_context((self._to / name).open("w", encoding="utf-8", newline=""))
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([f":START_ID({form.ENTITY})", f":END_ID({key[0]})", ":TYPE", *key[1:]])
        return writer

    def _table(
        self, name: str, header: Sequence[str], rows: Iterable[Sequence[str]], total: int | None, *, edges: bool = False
    ) -> None:
        (self._edges if edges else self._nodes).append(name)
        with (self._to / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            done = 0
            for done, row in enumerate(rows, start=1):
                writer.writerow([_cell(cell) for cell in row])
                if done % _EVERY == 0:
                    self._progress(name, done, total)
            self._progress(name, done, max(total or 0, done))


def _list(values: Iterable[str]) -> str:
    return SEPARATOR.join(value.replace(SEPARATOR, " ") for value in values)


def _cell(text: str) -> str:
    # The importer reads lines whole: a lone carriage return would end one.
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
