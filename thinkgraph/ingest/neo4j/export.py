"""Loads a knowledge base folder into an empty Neo4j database, in batches that a stopped export goes on after.

A node `_ThinkGraphExport` says how far it is. Every batch is one transaction that moves it on from exactly where the batch
begins, so that nothing is written twice, whoever is killed, whatever is retried. It goes when everything is there.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from thinkgraph.errors import KnowledgeError, StoreError
from thinkgraph.ingest.neo4j import form
from thinkgraph.ingest.neo4j.kb_rows import KbRows
from thinkgraph.tools.neo4j.connection import Address, Connection, parse_address
from thinkgraph.tools.neo4j.plan import UNFINISHED
from thinkgraph.tools.progress import Progress, no_progress

if TYPE_CHECKING:
    from neo4j import Session

T = TypeVar("T")

MARKER = UNFINISHED
_BATCH = 2_000
_TEXTS = 10
"""How many times fewer passages than other rows go into a transaction: a passage may be long."""
_INDEX_SECONDS = 3_600


@dataclass(frozen=True)
class ExportReport:
    """What an export wrote."""

    entities: int
    literals: int
    triples: int
    passages: int
    resumed: bool
    seconds: float


def export_neo4j(
    folder: Path, to: Address | str, *, batch: int = _BATCH, progress: Progress = no_progress
) -> ExportReport:
    """Load the knowledge base in `folder` into the empty database at `to`.

    Args:
        folder: of a knowledge base.
        to: `neo4j://user:password@host/database`; the user must be allowed to write.
        batch: rows of one transaction.
        progress: called with each stage and how far it is.

    Raises:
        KnowledgeError: the folder is no knowledge base, or the database is not empty.
        StoreError: the database cannot be reached or written; the same command goes on where it stopped.
    """
    began = time.monotonic()
    with KbRows(folder) as rows:
        names = [name for name, _ in rows.relations()]
        form.check_relations(names)
        with Connection(parse_address(to) if isinstance(to, str) else to, writes=True) as connection:
            export = _Export(connection, rows, names, batch, progress)
            resumed = export.run()
        graph = rows.manifest["graph"]
        return ExportReport(
            entities=graph["entities"],
            literals=graph["literals"],
            triples=graph["triples"],
            passages=rows.passages_count,
            resumed=resumed,
            seconds=time.monotonic() - began,
        )


class _Export:
    def __init__(
        self, connection: Connection, rows: KbRows, relations: Sequence[str], batch: int, progress: Progress
    ) -> None:
        self._connection = connection
        self._rows = rows
        self._batch = batch
        self._progress = progress
        self._about = form.about_type(relations)
        self._stage, self._done = "", ""

    def run(self) -> bool:
        resumed = self._begin()
        stages = {
            "entities": self._entities,
            "literals": self._literals,
            "triples": self._triples,
            "passages": self._passages,
            "links": self._links,
            "relation types": self._relation_types,
        }
        for name, work in stages.items():
            if self._stage not in {"", name}:
                continue
            if self._stage != name:
                self._move(name, "")
            work()
            self._stage = ""
        self._indexes()
        self._check()
        self._write(f"MATCH (p:{MARKER}) DELETE p", {})
        return resumed

    def _begin(self) -> bool:
        """Take an empty database, or one that this export was stopped in; tells which."""
        fingerprint = self._rows.manifest["fingerprint"]
        place = self._connection.address.place
        found = self._read(f"MATCH (p:{MARKER}) RETURN p.fingerprint, p.stage, p.done")
        if found:
            if found[0][0] != fingerprint:
                raise KnowledgeError(
                    f"the database '{self._connection.database}' at {place} holds an unfinished export of another knowledge "
                    "base: empty it, or finish that export"
                )
            self._stage, self._done = str(found[0][1]), str(found[0][2])
            return True
        if self._read("MATCH (n) RETURN 1 LIMIT 1"):
            raise KnowledgeError(
                f"the database '{self._connection.database}' at {place} is not empty; export into an empty one"
            )
        for statement in form.constraints():
            self._write(statement, {})
        self._write(
            f"MERGE (p:{MARKER} {{fingerprint: $fingerprint}}) SET p.stage = '', p.done = ''",
            {"fingerprint": fingerprint},
        )
        return False

    def _entities(self) -> None:
        rows = self._rows.nodes(literal=False, after=self._after())
        made = (
            (
                str(row.number),
                {
                    "id": form.stored_id(row.key),
                    "name": row.label,
                    **{name: value for name, value in (("type", row.type), ("description", row.description)) if value},
                    **({"aliases": row.aliases} if row.aliases else {}),
                },
            )
            for row in rows
        )
        self._all("entities", made, f"CREATE (n:{form.ENTITY}) SET n = row", self._rows.manifest["graph"]["entities"])

    def _literals(self) -> None:
        rows = self._rows.nodes(literal=True, after=self._after())
        made = ((str(row.number), {"id": form.stored_id(row.key), "value": row.key}) for row in rows)
        self._all("literals", made, f"CREATE (n:{form.LITERAL}) SET n = row", self._rows.manifest["graph"]["literals"])

    def _triples(self) -> None:
        total, done = self._rows.manifest["graph"]["triples"], 0
        after = tuple(json.loads(self._done)) if self._done else (0, 0)
        for (name, literal), rows in itertools.groupby(
            self._rows.triples(after=cast("tuple[int, int]", after)), key=lambda row: (row.relation, row.literal)
        ):
            made = (
                (
                    json.dumps(row.place),
                    [form.stored_id(row.subject), form.stored_id(row.object), form.qualifier_values(row.qualifiers)],
                )
                for row in rows
            )
            statement = form.type_statement(name, form.LITERAL if literal else form.ENTITY)
            done = self._all("triples", made, statement, total, done)

    def _passages(self) -> None:
        made = (
            (
                str(row.number),
                {
                    "id": row.id,
                    "text": row.text,
                    **{name: value for name, value in (("title", row.title), ("section", row.section)) if value},
                    **({form.VECTOR: row.vector} if row.vector else {}),
                },
            )
            for row in self._rows.passages(after=self._after())
        )
        size = max(1, self._batch // _TEXTS)
        self._all("passages", made, f"CREATE (n:{form.PASSAGE}) SET n = row", self._rows.passages_count, size=size)

    def _links(self) -> None:
        made = (
            (str(row.number), [row.id, [form.stored_id(entity) for entity in row.entities]])
            for row in self._rows.passages(after=self._after())
        )
        statement = (
            f"MATCH (p:{form.PASSAGE} {{id: row[0]}}) UNWIND row[1] AS id MATCH (e:{form.ENTITY} {{id: id}}) "
            f"CREATE (p)-[:{self._about}]->(e)"
        )
        self._all("links", made, statement, self._rows.passages_count)

    def _relation_types(self) -> None:
        labels = form.relation_labels(self._rows.relations())
        after = self._done
        made = ((name, {"type": name, "name": label}) for name, label in labels if name > after)
        self._all("relation types", made, f"CREATE (n:{form.RELATION_TYPE}) SET n = row", len(labels))

    def _indexes(self) -> None:
        for statement in form.indexes(self._rows.dimensions(), self._rows.longest_name()):
            self._write(statement, {})
        # The index of vectors takes longest; the others are there within seconds.
        self._progress("indexes", 0, None)
        self._read(f"CALL db.awaitIndexes({_INDEX_SECONDS})", seconds=float(_INDEX_SECONDS))

    def _check(self) -> None:
        """Make sure that everything arrived: an end that was not found would have left its triple out in silence."""
        graph = self._rows.manifest["graph"]
        labels = (form.ENTITY, form.LITERAL, form.PASSAGE)
        counts = ", ".join(f"COUNT {{ (:{label}) }}" for label in labels)
        ((*found, edges, links),) = self._read(
            f"RETURN {counts}, COUNT {{ ()-->() }}, COUNT {{ ()-[:{self._about}]->() }}"
        )
        wanted = [graph["entities"], graph["literals"], self._rows.passages_count, graph["triples"]]
        if [*found, edges - links] != wanted:
            raise StoreError(
                f"the database '{self._connection.database}' does not hold what was written ({[*found, edges - links]} instead "
                f"of {wanted}): somebody else writes to it; empty it and export again"
            )

    def _after(self) -> int:
        return int(self._done or 0)

    def _all(
        self,
        stage: str,
        rows: Iterable[tuple[str, Any]],
        statement: str,
        total: int,
        done: int = 0,
        *,
        size: int = 0,
    ) -> int:
        """Write rows (where to go on, what `row` is) in batches."""
        query = (
            f"MATCH (p:{MARKER}) WHERE p.stage = $stage AND p.done = $before SET p.done = $after "
            f"WITH p UNWIND $rows AS row CALL {{ WITH row {statement} }} RETURN count(*)"
        )
        for batch in _batches(rows, size or self._batch):
            after = batch[-1][0]
            parameters = {"stage": stage, "before": self._done, "after": after, "rows": [row for _, row in batch]}
            written = self._write(query, parameters)
            # Nothing is found where the batch was written before its answer was lost, or where another process writes.
            if not written[0][0] and self._where() != (stage, after):
                raise StoreError("another process exports into this database; let one of the two finish")
            self._done = after
            done += len(batch)
            self._progress(stage, done, max(total, done))
        return done

    def _move(self, stage: str, done: str) -> None:
        self._write(f"MATCH (p:{MARKER}) SET p.stage = $stage, p.done = $done", {"stage": stage, "done": done})
        self._stage, self._done = stage, done

    def _where(self) -> tuple[str, str]:
        ((stage, done),) = self._read(f"MATCH (p:{MARKER}) RETURN p.stage, p.done")
        return str(stage), str(done)

    def _read(self, query: str, *, seconds: float | None = None) -> list[list[Any]]:
        return self._connection.rows(query, seconds=seconds)

    def _write(self, query: str, parameters: Mapping[str, Any]) -> list[list[Any]]:
        def work(session: Session) -> list[list[Any]]:
            return session.execute_write(lambda tx: [list(row.values()) for row in tx.run(query, dict(parameters))])

        return self._connection.written(work)


def _batches(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    rows = iter(rows)
    while batch := list(itertools.islice(rows, size)):
        yield batch
