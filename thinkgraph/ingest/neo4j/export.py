"""Loads a knowledge base folder into an empty Neo4j database, in batches that a stopped export goes on after.

A node `_ThinkGraphExport` says how many rows are written. Every batch is one transaction that moves it on from exactly where
the batch begins, so that nothing is written twice, whoever is killed, whatever is retried. It goes when everything is there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from itertools import accumulate, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from thinkgraph.errors import KnowledgeError, StoreError
from thinkgraph.ingest.neo4j import form
from thinkgraph.ingest.neo4j.kb_rows import KbRows
from thinkgraph.tools.neo4j.connection import Address, Connection, parse_address
from thinkgraph.tools.neo4j.cypher import quoted
from thinkgraph.tools.neo4j.plan import UNFINISHED
from thinkgraph.tools.progress import Progress, no_progress

_BATCH = 2_000
_TEXTS = 10
"""How many times fewer passages than other rows go into a transaction: a passage may be long."""
_WRITE_SECONDS = 3_600


class ExportReport(NamedTuple):
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
    with (
        KbRows(folder) as rows,
        Connection(parse_address(to) if isinstance(to, str) else to, writes=True) as connection,
    ):
        resumed = _Export(connection, rows, batch, progress).run()
        graph = rows.manifest["graph"]
        counts = (graph["entities"], graph["literals"], graph["triples"], rows.passages_count)
        return ExportReport(*counts, resumed, time.monotonic() - began)


class _Export:
    def __init__(self, connection: Connection, rows: KbRows, batch: int, progress: Progress) -> None:
        self._connection = connection
        self._rows = rows
        self._batch = batch
        self._progress = progress
        self._name = f"the database '{connection.database}'"

    def run(self) -> bool:
        """Write what is missing; tells whether an earlier export was gone on with."""
        written = self._begin()
        graph, passages = self._rows.manifest["graph"], self._rows.passages_count
        totals = {stage: graph[stage] for stage in ("entities", "literals", "triples")}
        totals |= {"passages": passages, "links": passages, "relation types": len(self._rows.relation_types)}
        before = dict(zip(totals, accumulate(totals.values(), initial=0), strict=False))
        at = written or 0
        for (stage, statement), group in groupby(islice(self._statements(), at, None), key=itemgetter(0, 1)):
            size = max(1, self._batch // _TEXTS) if stage == "passages" else self._batch
            while batch := [row for _, _, row in islice(group, size)]:
                self._write_batch(statement, batch, at)
                at += len(batch)
                self._progress(stage, at - before[stage], totals[stage])
        for statement in self._rows.indexes:
            self._query(statement)
        # The index of vectors takes longest; the others are there within seconds.
        self._progress("indexes", 0, None)
        self._query(f"CALL db.awaitIndexes({_WRITE_SECONDS})")
        self._check()
        self._query(f"MATCH (p:{UNFINISHED}) DELETE p")
        return written is not None

    def _begin(self) -> int | None:
        """Take an empty database, or one that this export was stopped in; gives the rows that are in the latter."""
        where = f"{self._name} at {self._connection.address.place}"
        fingerprint = f"rows of {self._rows.manifest['fingerprint']}"
        for found, written in self._query(f"MATCH (p:{UNFINISHED}) RETURN p.fingerprint, p.written"):
            if found != fingerprint:
                raise KnowledgeError(
                    f"{where} holds an unfinished export of another knowledge base: empty it, or finish that export"
                )
            return int(written)
        if self._query("MATCH (n) RETURN 1 LIMIT 1"):
            raise KnowledgeError(f"{where} is not empty; export into an empty one")
        for statement in form.CONSTRAINTS:
            self._query(statement)
        self._query(f"MERGE (:{UNFINISHED} {{fingerprint: $fingerprint, written: 0}})", {"fingerprint": fingerprint})
        return None

    def _statements(self) -> Iterator[tuple[str, str, Any]]:
        """Stage, Cypher that writes `row`, and the row of all there is to write, in order."""
        rows = self._rows
        for stage, label in (("entities", form.ENTITY), ("literals", form.LITERAL)):
            for node in rows.nodes(literal=label == form.LITERAL):
                yield stage, f"CREATE (n:{label}) SET n = row", node
        for one in rows.triples():
            statement = (
                f"MATCH (s:{form.ENTITY} {{id: row[0]}}) "
                f"MATCH (o:{form.LITERAL if one.literal else form.ENTITY} {{id: row[1]}}) "
                f"CREATE (s)-[r:{quoted(one.relation)}]->(o) SET r = row[2]"
            )
            yield "triples", statement, [one.subject, one.object, one.qualifiers]
        for passage, _ in rows.passages():
            yield "passages", f"CREATE (n:{form.PASSAGE}) SET n = row", passage
        link = (
            f"MATCH (p:{form.PASSAGE} {{id: row[0]}}) UNWIND row[1] AS id MATCH (e:{form.ENTITY} {{id: id}}) "
            f"CREATE (p)-[:{rows.about}]->(e)"
        )
        for passage, entities in rows.passages():
            yield "links", link, [passage["id"], entities]
        for relation in rows.relation_types:
            yield "relation types", f"CREATE (n:{form.RELATION_TYPE}) SET n = row", relation

    def _write_batch(self, statement: str, rows: list[Any], before: int) -> None:
        query = (
            f"MATCH (p:{UNFINISHED}) WHERE p.written = $before SET p.written = $after "
            f"WITH p UNWIND $rows AS row CALL {{ WITH row {statement} }} RETURN count(*)"
        )
        after = before + len(rows)
        ((written,),) = self._query(query, {"before": before, "after": after, "rows": rows})
        # Nothing is found where the batch was written before its answer was lost, or where another process writes.
        if not written and self._query(f"MATCH (p:{UNFINISHED}) RETURN p.written") != [[after]]:
            raise StoreError("another process exports into this database; let one of the two finish")

    def _check(self) -> None:
        """Make sure that everything arrived: an end that was not found would have left its triple out in silence."""
        graph = self._rows.manifest["graph"]
        counts = ", ".join(f"COUNT {{ (:{label}) }}" for label in (form.ENTITY, form.LITERAL, form.PASSAGE))
        ((*found, edges, links),) = self._query(
            f"RETURN {counts}, COUNT {{ ()-->() }}, COUNT {{ ()-[:{self._rows.about}]->() }}"
        )
        wanted = [graph["entities"], graph["literals"], self._rows.passages_count, graph["triples"]]
        if [*found, edges - links] != wanted:
            raise StoreError(
                f"{self._name} does not hold what was written ({[*found, edges - links]} instead of {wanted}): somebody else "
                "writes to it; empty it and export again"
            )

    def _query(self, query: str, parameters: Mapping[str, Any] | None = None) -> list[list[Any]]:
        return self._connection.rows(query, parameters, seconds=_WRITE_SECONDS)
