"""The first half of making a graph: triples and entities are read, numbered and put into a file beside the graph."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path

import numpy as np
from typing_extensions import TypedDict

from thinkgraph.ingest.readers.files import EntityRow, Qualifiers, TripleBatch
from thinkgraph.ingest.writers.literals import find_literals, may_be_value
from thinkgraph.ingest.writers.rows import Numbers, fast_database, insert
from thinkgraph.tools.progress import Progress, no_progress

BATCH_ROWS = 50_000

TABLES = """
CREATE TABLE node (
    id INTEGER PRIMARY KEY,
    key TEXT,
    literal INTEGER,          -- a file marks it as a literal
    thing INTEGER DEFAULT 0,  -- it is a thing, whatever its key looks like
    label TEXT DEFAULT '',
    type TEXT DEFAULT '',
    description TEXT DEFAULT ''
);
CREATE TABLE relation (id INTEGER PRIMARY KEY, name TEXT, label TEXT);
CREATE TABLE qualifier (id INTEGER PRIMARY KEY, pairs TEXT);
CREATE TABLE uses (file INTEGER, relation INTEGER, triples INTEGER, PRIMARY KEY (file, relation));
CREATE TABLE value (row INTEGER, file INTEGER, relation INTEGER, object INTEGER);  -- rows whose object looks like one
"""
_DESCRIBE = (
    "UPDATE node SET label = iif(?2 = '', label, ?2), type = iif(?3 = '', type, ?3), "
    "description = iif(?4 = '', description, ?4), thing = 1 WHERE id = ?1"
)


class LoadState(TypedDict):
    """What a finished load leaves behind besides its file; plain JSON."""

    rows: int
    """Of triples, with the duplicates."""
    literal_relations: list[str]
    """Relations whose values were found to be literals."""


def load_file(graph: Path) -> Path:
    """The file beside a graph that holds the nodes and so on that were loaded for it."""
    return graph.with_suffix(".load")


def rows_file(graph: Path) -> Path:
    """The file beside it that holds the triples: subject, relation, object, qualifiers (0: none), 32 bits each."""
    return graph.with_suffix(".rows")


def remove_load(graph: Path) -> None:
    """Delete both files."""
    load_file(graph).unlink(missing_ok=True)
    rows_file(graph).unlink(missing_ok=True)


class Interner:
    """Numbers values from 1 in the order they first appear.

    Only their hashes are kept, 16 bytes each: two of ten million values share one with a chance of 1 in 370,000, which
    is the price of loading graphs larger than the memory. Hashes differ from process to process; the numbers do not.
    """

    def __init__(self) -> None:
        self._hashes = np.empty(0, np.int64)
        self._numbers = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._hashes)

    def intern(self, values: Sequence[Hashable]) -> tuple[Numbers, list[int]]:
        """The numbers of the values, and where those that are new first stand, in the order of their numbers."""
        hashes = np.fromiter(map(hash, values), np.int64, len(values))
        unique, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        place, numbers = self._find(unique)
        new = np.flatnonzero(numbers == 0)
        order = new[np.argsort(first[new])]
        numbers[order] = np.arange(len(self) + 1, len(self) + 1 + len(order))
        self._hashes = np.insert(self._hashes, place[new], unique[new])
        self._numbers = np.insert(self._numbers, place[new], numbers[new])
        return numbers[inverse], first[order].tolist()

    def __contains__(self, value: Hashable) -> bool:
        return bool(self._find(np.array([hash(value)]))[1][0])

    def _find(self, hashes: Numbers) -> tuple[Numbers, Numbers]:
        """Where each hash stands or would stand, and its number; 0 where there is none."""
        place = np.searchsorted(self._hashes, hashes)
        numbers = np.zeros(len(hashes), np.int64)
        known = np.flatnonzero(place < len(self))
        known = known[self._hashes[place[known]] == hashes[known]]
        numbers[known] = self._numbers[place[known]]
        return place, numbers


class TripleLoader(AbstractContextManager["TripleLoader"]):
    """Takes triples in and numbers them. Use as a context manager; what it wrote stays, for `write_graph`."""

    def __init__(self, graph: Path, *, progress: Progress = no_progress) -> None:
        """Begin a load for a graph; what an unfinished one left there is overwritten."""
        self._progress = progress
        self._db = fast_database(load_file(graph))
        self._db.executescript(TABLES)
        self._rows_file = rows_file(graph)
        self._rows = self._rows_file.open("wb")
        self._db.execute("BEGIN")
        self._nodes = Interner()
        self._qualifiers = Interner()
        self.relations: dict[str, int] = {}
        """Their numbers, by name."""
        self._values = np.zeros(1, np.bool_)
        """By node, whether it looks like a value."""
        self._files = 0
        self.rows = 0
        """Rows taken so far."""

    def __exit__(self, *_: object) -> None:
        self._db.close()
        self._rows.close()

    def add(self, batches: Iterable[TripleBatch], *, literal_relations: frozenset[str] = frozenset()) -> None:
        """Take the triples of one file. All objects of `literal_relations` are literals."""
        uses = np.zeros(0, np.int64)
        for batch in batches:
            counts = np.bincount(self._take(batch, literal_relations), minlength=len(uses))
            counts[: len(uses)] += uses
            uses = counts
            self._progress("triples", self.rows, None)
        used = np.flatnonzero(uses)
        insert(self._db, "uses", self._files, used, uses[used])
        self._files += 1

    def _take(self, batch: TripleBatch, forced: frozenset[str]) -> Numbers:
        """Number a batch of rows and write them; gives their relations."""
        count, known = len(batch.subjects), self.relations
        for name in dict.fromkeys(batch.relations):
            known.setdefault(name, len(known) + 1)
        relations = np.fromiter(map(known.__getitem__, batch.relations), np.int32, count)
        datatypes = batch.datatypes or [None] * count
        ends: list[str | tuple[str]] = [""] * (2 * count)
        ends[::2], ends[1::2] = batch.subjects, batch.objects
        if forced or any(datatype is not None for datatype in batch.datatypes):
            # A literal is another node than the entity of the same name.
            ends[1::2] = [
                obj if datatype is None and name not in forced else (obj,)
                for obj, name, datatype in zip(batch.objects, batch.relations, datatypes, strict=True)
            ]
        numbers = self._number(ends)
        sources, targets = numbers[::2], numbers[1::2]
        if any(batch.datatypes):
            self._type({n: t for n, t in zip(reversed(targets.tolist()), reversed(datatypes), strict=True) if t})
        columns = (sources, relations, targets, self._qualify(batch.qualifiers or [()] * count))
        self._rows.write(np.column_stack(columns).astype(np.int32).data)
        at = np.flatnonzero(self._values[targets])
        insert(self._db, "value", self.rows + at, self._files, relations[at], targets[at])
        things = np.unique(sources[self._values[sources]]).tolist()
        self._db.executemany("UPDATE node SET thing = 1 WHERE id = ?", ((node,) for node in things))
        self.rows += count
        return relations

    def _number(self, ends: Sequence[str | tuple[str]]) -> Numbers:
        """Numbers of nodes: a text is an entity, a text in a tuple a literal."""
        numbers, new = self._nodes.intern(ends)
        fresh = [ends[at] for at in new]
        literal = [isinstance(end, tuple) for end in fresh]
        keys = [end[0] if isinstance(end, tuple) else end for end in fresh]
        looks = [not marked and may_be_value(key) for key, marked in zip(keys, literal, strict=True)]
        first = len(self._values)
        insert(self._db, "node (id, key, literal)", np.arange(first, first + len(new)), keys, literal)
        self._values = np.concatenate((self._values, np.array(looks, np.bool_)))
        return numbers

    def _type(self, types: Mapping[int, str]) -> None:
        """Note the datatypes of literals; the first one that a literal is given stays."""
        self._db.executemany("UPDATE node SET type = ? WHERE id = ? AND type = ''", ((t, n) for n, t in types.items()))

    def _qualify(self, qualifiers: Sequence[Qualifiers]) -> list[int]:
        """Numbers of sets of qualifiers; 0 for none."""
        found = [0] * len(qualifiers)
        if any(qualifiers):
            places = [i for i, pairs in enumerate(qualifiers) if pairs]
            first = len(self._qualifiers) + 1
            numbers, new = self._qualifiers.intern([qualifiers[i] for i in places])
            for place, number in zip(places, numbers.tolist(), strict=True):
                found[place] = number
            texts = (json.dumps(qualifiers[places[i]], ensure_ascii=False) for i in new)
            self._db.executemany("INSERT INTO qualifier VALUES (?, ?)", enumerate(texts, first))
        return found

    def describe(self, entities: Iterable[EntityRow], told: Callable[[str], None] = lambda _: None) -> None:
        """Take labels, types and descriptions. A relation's name gives it the label. An id that no triple has becomes
        an entity, unless it is a relation's name. `told` hears of ids that come again with something else: the last holds.
        """
        stream = iter(entities)
        done = 0
        described = np.zeros(0, np.bool_)
        self._name_relations()
        while batch := list(islice(stream, BATCH_ROWS)):
            named = [(row.label, row.id) for row in batch if row.label and row.id in self.relations]
            self._db.executemany("UPDATE relation SET label = ? WHERE name = ?", named)
            rows = [row for row in batch if row.id not in self.relations or row.id in self._nodes]
            numbers = self._number([row.id for row in rows])
            described = np.concatenate((described, np.zeros(len(self._values) - len(described), np.bool_)))
            again = np.ones(len(rows), np.bool_)
            again[np.unique(numbers, return_index=True)[1]] = False
            again |= described[numbers]
            described[numbers] = True
            about = [(n, row.label, row.type, row.description) for n, row in zip(numbers.tolist(), rows, strict=True)]
            self._db.executemany(_DESCRIBE, (about[at] for at in np.flatnonzero(~again)))
            for at in np.flatnonzero(again):
                if changed := self._changed(*about[at]):
                    told(f"the id {rows[at].id[:80]!r} comes again with another {changed}")
                self._db.execute(_DESCRIBE, about[at])
            done += len(batch)
            self._progress("entities", done, None)

    def _changed(self, node: int, *said: str) -> str:
        """What is said of a node in place of what was said before."""
        before = self._db.execute("SELECT label, type, description FROM node WHERE id = ?", (node,)).fetchone()
        fields = zip(("label", "type", "description"), said, before, strict=True)
        return ", ".join(
            f"{field} ({now[:80]!r} is used, not {was[:80]!r})"
            for field, now, was in fields
            if now and was and now != was
        )

    def _name_relations(self) -> None:
        rows = ((number, name) for name, number in self.relations.items())
        self._db.executemany("INSERT OR IGNORE INTO relation (id, name) VALUES (?, ?)", rows)

    def finish(self, *, detect_literals: bool = True) -> LoadState:
        """Write what is still in memory; with `detect_literals`, relations whose objects are values get literals."""
        self._name_relations()
        self._rows.close()
        found = find_literals(self._db, self._rows_file) if detect_literals else []
        self._db.execute("COMMIT")
        return {"rows": self.rows, "literal_relations": found}
