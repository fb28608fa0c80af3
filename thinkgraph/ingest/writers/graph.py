"""Writes `graph.sqlite`: triples are laid down as they are read, then sorted, and last the names are indexed."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from typing_extensions import TypedDict

from thinkgraph.ingest.readers.blocks import BATCH_ROWS, Batch
from thinkgraph.ingest.readers.files import EntityRow, TripleRow
from thinkgraph.ingest.writers.adjacency import Adjacency, Changed, sort_rows
from thinkgraph.ingest.writers.intern import Ints
from thinkgraph.ingest.writers.literals import Literals, find_literals
from thinkgraph.ingest.writers.loader import Loaded, LoadState, TripleLoader, part
from thinkgraph.ingest.writers.names import NameWriter, NodeSource
from thinkgraph.tools.linking.names import relation_label
from thinkgraph.tools.progress import Progress, no_progress
from thinkgraph.tools.sqlite import graph_schema as schema

_TOLD_SECONDS = 0.2


class GraphCounts(TypedDict):
    """What a finished graph holds and what was left out while it was made."""

    entities: int
    literals: int
    triples: int
    relations: int
    duplicates: int
    """Rows equal to another one in subject, relation, object and qualifiers."""
    literal_relations: list[str]
    """Relations whose values were found to be literals."""
    entities_without_triples: int


class GraphWriter:
    """One new `graph.sqlite`, from rows at hand. Use as a context manager; call `add` for each file, `finish` once.

    Nothing is durable until `finish` returns: what was begun is thrown away if that fails.
    """

    def __init__(self, path: Path, *, progress: Progress = no_progress) -> None:
        self._path = path
        self._progress = progress
        self._loader = TripleLoader(path, progress=progress)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loader.__exit__(kind, error, trace)
        Loaded.remove(self._path)

    def add(self, rows: Iterable[TripleRow], *, literal_relations: frozenset[str] = frozenset()) -> None:
        """Take the triples of one file. All objects of `literal_relations` are literals."""
        stream = iter(rows)
        batches = iter(lambda: list(islice(stream, BATCH_ROWS)), [])
        self.add_batches(batches, literal_relations=literal_relations)

    def add_batches(self, batches: Iterable[Batch], *, literal_relations: frozenset[str] = frozenset()) -> None:
        """Take the triples of one file as `read_batches` gives them."""
        self._loader.add(batches, literal_relations=literal_relations)

    def finish(
        self,
        *,
        meta: Mapping[str, str],
        detect_literals: bool = True,
        entities: Iterable[EntityRow] = (),
        aliases: Mapping[str, Sequence[str]] | None = None,
    ) -> tuple[GraphCounts, list[str]]:
        """Sort, index and close the graph.

        Args:
            meta: name and fingerprint of the graph, kept in it.
            detect_literals: whether relations whose objects are values get literals.
            entities: labels, types and descriptions; an id that no triple has becomes an entity, unless it is a
                relation's name, which is then given the label.
            aliases: further names by entity (its id, or its label where only one entity has it).

        Returns:
            The counts, and the keys of `aliases` that name no entity.
        """
        self._loader.describe(entities)
        return write_graph(
            self._path,
            self._loader.finish(),
            meta=meta,
            detect_literals=detect_literals,
            aliases=aliases,
            progress=self._progress,
        )


def write_graph(
    path: Path,
    state: LoadState,
    *,
    meta: Mapping[str, str],
    detect_literals: bool = True,
    aliases: Mapping[str, Sequence[str]] | None = None,
    progress: Progress = no_progress,
) -> tuple[GraphCounts, list[str]]:
    """Make the graph `path` from what a `TripleLoader` laid down there; see `GraphWriter.finish`.

    The load's files are only read, so that it can be begun again after a failure.
    """
    with ExitStack() as stack:
        loaded = stack.enter_context(Loaded(path, state))
        path.unlink(missing_ok=True)
        db = sqlite3.connect(path, isolation_level=None)
        stack.callback(db.close)
        for kind in (*schema.ARRAYS, "twins"):
            stack.callback(part(path, kind).unlink, missing_ok=True)
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE", "cache_size=-32000"):
            db.execute(f"PRAGMA {pragma}")
        db.executescript(schema.TABLES + schema.PAGES)
        return _Finish(db, loaded, find_literals(loaded, detect=detect_literals), progress).run(meta, aliases or {})


class _Stopped(Exception):  # noqa: N818 (no error: the other thread has failed)
    """Raised in the sorting thread when its result is not wanted any more."""


class _Finish:
    """The second half of making a graph, in two threads: one sorts and then fills the full-text indexes, the other
    writes nodes, names and their indexes. Both spend their time in NumPy and SQLite, which run side by side.
    """

    def __init__(self, db: sqlite3.Connection, loaded: Loaded, literals: Literals, progress: Progress) -> None:
        self._db = db
        self._loaded = loaded
        self._literals = literals
        self._nodes = NodeSource(db, loaded, literals)
        self._relations = loaded.relations()
        self._progress = progress
        self._sorted = 0
        self._stop = threading.Event()

    def run(self, meta: Mapping[str, str], aliases: Mapping[str, Sequence[str]]) -> tuple[GraphCounts, list[str]]:
        self._progress("sorting", 0, None)
        with ThreadPoolExecutor(1) as worker:
            try:
                sorting = worker.submit(self._sort)
                self._db.execute("BEGIN")
                self._nodes.write(partial(self._tell, "nodes"))
                self._db.execute(schema.NODE_INDEX)
                while True:
                    try:
                        adjacency = sorting.result(_TOLD_SECONDS)
                    except TimeoutError:
                        self._progress("sorting", self._sorted, 2 * self._loaded.rows.rows)
                    else:
                        break
                with NameWriter(self._db, self._loaded.path, worker, partial(self._tell, "names")) as names:
                    unknown = names.write(self._nodes, adjacency.degree, aliases)
                    self._write_relations(adjacency)
                    self._write_rest(adjacency)
                    names.finish()
            except BaseException:
                self._stop.set()
                raise
        counts = self._counts(adjacency)
        self._meta(meta, counts)
        self._db.execute("COMMIT")
        return counts, unknown

    def _tell(self, stage: str, done: int) -> None:
        self._progress(stage, done, None)

    def _sort(self) -> Adjacency:
        def told(done: int) -> None:
            self._sorted = done
            if self._stop.is_set():
                raise _Stopped

        return sort_rows(
            self._loaded.path,
            self._loaded.rows,
            top=self._loaded.size - 1 + self._literals.added,
            relations=len(self._relations),
            changed=self._changed(),
            told=told,
        )

    def _changed(self) -> Changed | None:
        """Puts literals in the place of the entities they were read as."""
        mask, twin = self._literals.rows, self._literals.twin
        if mask is None:
            return None

        def changed(chunk: Ints, at: int) -> Ints:
            chosen = mask[at : at + len(chunk)]
            chunk[chosen, 2] = twin[chunk[chosen, 2]]
            return chunk

        return changed

    def _write_relations(self, adjacency: Adjacency) -> None:
        rows = []
        for number, (name, given) in enumerate(self._relations, 1):
            label = given or relation_label(name)
            known = {name.lower(), label.lower()}
            typing = 1 if known & schema.TYPING_RELATIONS else -1 if known & schema.SAMENESS_RELATIONS else 0
            rows.append((number, name, label, int(adjacency.uses[number]), typing))
        self._db.executemany("INSERT INTO relation VALUES (?, ?, ?, ?, ?)", rows)
        self._db.execute(schema.RELATION_INDEX)

    def _write_rest(self, adjacency: Adjacency) -> None:
        """The arrays page by page, the sets of qualifiers and the loops."""
        for name in schema.ARRAYS:
            with part(self._loaded.path, name).open("rb") as stream:
                pages = enumerate(iter(partial(stream.read, schema.PAGE_BYTES), b""))
                # Only the qualifiers have pages without a word: those of triples that have none.
                rows = (row for row in pages if row[1].count(0) < len(row[1])) if name == "qualified" else pages
                self._db.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows)
        for first, texts in self._loaded.texts("pairs"):
            self._db.executemany("INSERT INTO qualifier VALUES (?, ?)", enumerate(texts, first))
        for start in range(0, len(adjacency.loops), BATCH_ROWS):
            self._db.executemany("INSERT INTO loop VALUES (?, ?)", adjacency.loops[start : start + BATCH_ROWS].tolist())

    def _counts(self, adjacency: Adjacency) -> GraphCounts:
        literals = int(np.count_nonzero(self._literals.literal)) + self._literals.added
        nodes = self._loaded.size - 1 - int(np.count_nonzero(self._literals.dropped)) + self._literals.added
        names = [name for name, _ in self._relations]
        return {
            "entities": nodes - literals,
            "literals": literals,
            "triples": adjacency.triples,
            "relations": int(np.count_nonzero(adjacency.uses)),
            "duplicates": adjacency.duplicates,
            "literal_relations": sorted(names[number - 1] for number in self._literals.relations),
            "entities_without_triples": nodes - int(np.count_nonzero(adjacency.degree)),
        }

    def _meta(self, meta: Mapping[str, str], counts: GraphCounts) -> None:
        prefix = schema.LITERAL_PREFIX
        while self._db.execute(
            "SELECT 1 FROM node WHERE literal = 0 AND key >= ? AND key < ? LIMIT 1", (prefix, prefix + "\U0010ffff")
        ).fetchone():
            prefix = schema.LITERAL_PREFIX + prefix
        rows: Iterator[tuple[str, str]] = iter(
            [
                *meta.items(),
                ("format", str(schema.GRAPH_FORMAT)),
                ("literal_prefix", prefix),
                *((key, str(counts[key])) for key in ("entities", "literals", "triples", "relations")),
            ]
        )
        self._db.executemany("INSERT INTO meta VALUES (?, ?)", rows)
