"""Writes `graph.sqlite`: streams triples in, decides what is a literal, sorts, and indexes the names."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt
from typing_extensions import TypedDict

from thinkgraph.ingest.intern import Interner, Ints
from thinkgraph.ingest.literals import literal_rows
from thinkgraph.ingest.name_writer import write_names
from thinkgraph.ingest.readers import EntityRow, TripleRow
from thinkgraph.ingest.runs import RowFile
from thinkgraph.tools import graph_schema as schema
from thinkgraph.tools.names import relation_label
from thinkgraph.tools.progress import Progress, no_progress
from thinkgraph.tools.values import value_kind

BATCH_ROWS = 100_000
_MARK = "\0"  # keeps explicit literals apart from entities while numbering; no input text contains it


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
    """One new `graph.sqlite`. Use as a context manager; call `add` for each file, `finish` once.

    Nothing is durable until `finish` returns: the file is made without a journal and thrown away if that fails.
    """

    def __init__(self, path: Path, *, progress: Progress = no_progress) -> None:
        self._path = path
        self._progress = progress
        path.unlink(missing_ok=True)
        self._db = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE", "cache_size=-32000"):
            self._db.execute(f"PRAGMA {pragma}")
        self._db.executescript(schema.TABLES)
        self._db.execute("BEGIN")
        self._rows = RowFile(path.with_suffix(".rows"), 4)
        self._nodes = Interner()
        self._qualifiers = Interner()
        self._relations: dict[str, int] = {}
        self._marked = np.zeros(1, dtype=bool)  # by node: given as a literal
        self._value = np.zeros(1, dtype=bool)  # by node: looks like a value
        self._files: list[tuple[int, int]] = []
        self._extra = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._rows.__exit__(kind, error, trace)
        self._db.close()

    def add(self, rows: Iterable[TripleRow], *, literal_relations: frozenset[str] = frozenset()) -> None:
        """Take the triples of one file. All objects of `literal_relations` are literals."""
        start = self._rows.rows
        stream = iter(rows)
        while batch := list(islice(stream, BATCH_ROWS)):
            self._take(batch, literal_relations)
            self._progress("triples", self._rows.rows, None)
        self._files.append((start, self._rows.rows))

    def _take(self, batch: list[TripleRow], forced: frozenset[str]) -> None:
        subjects, names, objects, qualifiers, datatypes = zip(*batch, strict=True)
        if forced or any(datatype is not None for datatype in datatypes):
            objects = tuple(
                f"{_MARK}{obj}" if datatype is not None or name in forced else obj
                for name, obj, datatype in zip(names, objects, datatypes, strict=True)
            )
        numbers = self._number(subjects + objects)
        types = {int(numbers[len(batch) + i]): datatype for i, datatype in enumerate(datatypes) if datatype}
        if types:
            self._db.executemany(
                "UPDATE node SET type = ? WHERE id = ? AND type IS NULL", [(t, node) for node, t in types.items()]
            )
        relations = self._relations
        for name in dict.fromkeys(names):
            if name not in relations:
                relations[name] = len(relations) + 1
                self._db.execute(
                    "INSERT INTO relation (id, name, label) VALUES (?, ?, ?)",
                    (relations[name], name, relation_label(name)),
                )
        r = np.fromiter((relations[name] for name in names), dtype=np.int32, count=len(batch))
        self._rows.append(numbers[: len(batch)], r, numbers[len(batch) :], self._qualify(qualifiers))

    def _number(self, texts: Sequence[str]) -> Ints:
        before = len(self._nodes)
        numbers, new = self._nodes.intern(texts)
        marked = [text[0] == _MARK for text in new]
        self._db.executemany(
            "INSERT INTO node (id, key, literal) VALUES (?, ?, ?)",
            (
                (before + 1 + i, text[1:] if m else text, int(m))
                for i, (text, m) in enumerate(zip(new, marked, strict=True))
            ),
        )
        self._marked = np.append(self._marked, np.array(marked, dtype=bool))
        self._value = np.append(self._value, np.array([value_kind(text) is not None for text in new], dtype=bool))
        return numbers

    def _qualify(self, qualifiers: Sequence[tuple[tuple[str, str], ...]]) -> Ints:
        """Numbers of sets of qualifiers; 0 for none."""
        found = np.zeros(len(qualifiers), dtype=np.int32)
        places = [i for i, pairs in enumerate(qualifiers) if pairs]
        if places:
            before = len(self._qualifiers)
            cache = {pairs: json.dumps(pairs, ensure_ascii=False) for pairs in {qualifiers[i] for i in places}}
            numbers, new = self._qualifiers.intern([cache[qualifiers[i]] for i in places])
            self._db.executemany("INSERT INTO qualifier VALUES (?, ?)", enumerate(new, before + 1))
            found[places] = numbers
        return found

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
        declared = self._describe(entities)
        size = len(self._nodes) + 1
        subject = np.zeros(size, dtype=bool)
        for chunk in self._rows.chunks():
            subject[chunk[:, 0]] = True
        found: list[str] = []
        with RowFile(self._path.with_suffix(".final"), 4) as final:
            if detect_literals:
                names = {number: name for name, number in self._relations.items()}
                remap, relations = self._literals(subject, declared)
                found = sorted(names[r] for r in relations)
            else:
                remap = None
            self._progress("sorting", 0, None)
            duplicates, degree = self._sort(final, remap)
        linked = np.flatnonzero(degree)
        self._drop_unused(degree, declared)
        self._relation_facts()
        self._db.execute(schema.NODE_INDEX)
        self._db.execute(schema.RELATION_INDEX)
        unknown = write_names(self._db, degree, aliases or {}, self._progress)
        counts = self._counts(duplicates, found, len(linked))
        self._meta(meta, counts)
        self._db.execute("COMMIT")
        self._db.execute("PRAGMA optimize")
        return counts, unknown

    def _describe(self, entities: Iterable[EntityRow]) -> npt.NDArray[np.bool_]:
        """Store labels, types and descriptions; tells which nodes the entities file declares."""
        known: list[Ints] = []
        stream = iter(entities)
        while batch := list(islice(stream, BATCH_ROWS)):
            relations = [(row.label, row.id) for row in batch if row.id in self._relations and row.label]
            self._db.executemany("UPDATE relation SET label = ? WHERE name = ?", relations)
            rows = [row for row in batch if row.id not in self._relations]
            numbers = self._number([row.id for row in rows])
            known.append(numbers)
            self._db.executemany(
                "UPDATE node SET label = coalesce(?, label), type = coalesce(?, type), "
                "description = coalesce(?, description) WHERE id = ?",
                (
                    (row.label or None, row.type or None, row.description or None, number)
                    for row, number in zip(rows, numbers.tolist(), strict=True)
                ),
            )
            self._progress("entities", sum(map(len, known)), None)
        declared = np.zeros(len(self._nodes) + 1, dtype=bool)
        for numbers in known:
            declared[numbers] = True
        return declared

    def _literals(
        self, subject: npt.NDArray[np.bool_], declared: npt.NDArray[np.bool_]
    ) -> tuple[tuple[npt.NDArray[np.bool_], Ints], set[int]]:
        """Mask of rows whose object becomes a literal, the literal's node by node, and the relations concerned."""
        open_value = self._value & ~subject & ~declared & ~self._marked
        mask, relations, entity_use = literal_rows(
            self._rows, self._files, self._value, open_value, len(self._relations)
        )
        twin = np.arange(len(self._value), dtype=np.int32)
        becoming = np.zeros(len(self._value), dtype=bool)
        at = 0
        for chunk in self._rows.chunks():
            becoming[chunk[mask[at : at + len(chunk)], 2]] = True
            at += len(chunk)
        self._db.execute("CREATE TEMP TABLE twin (node INTEGER PRIMARY KEY, other INTEGER)")
        self._db.executemany("INSERT INTO twin (node) VALUES (?)", ((int(n),) for n in np.flatnonzero(becoming)))
        if bool((self._marked & ~subject).any()):
            self._db.execute("CREATE TEMP TABLE marked AS SELECT id, key FROM node WHERE literal = 1")
            self._db.execute("CREATE INDEX temp.marked_key ON marked (key)")
            self._db.execute(
                "UPDATE twin SET other = (SELECT m.id FROM node n JOIN marked m ON m.key = n.key WHERE n.id = twin.node)"
            )
            self._db.execute("DROP TABLE marked")
        # A node that is only ever a value simply turns into a literal; one that is a thing elsewhere gets a twin.
        lone = [(int(n),) for n in np.flatnonzero(becoming & ~entity_use)]
        self._db.executemany(
            "UPDATE node SET literal = 1 WHERE id = ? AND (SELECT other FROM twin WHERE node = id) IS NULL", lone
        )
        self._db.execute("DELETE FROM twin WHERE other IS NULL AND node IN (SELECT id FROM node WHERE literal = 1)")
        size = len(self._value)
        fresh = self._db.execute("SELECT node FROM twin WHERE other IS NULL ORDER BY node").fetchall()
        for i, (node,) in enumerate(fresh):
            self._db.execute(
                "INSERT INTO node (id, key, literal) SELECT ?, key, 1 FROM node WHERE id = ?", (size + i, node)
            )
            self._db.execute("UPDATE twin SET other = ? WHERE node = ?", (size + i, node))
        for node, other in self._db.execute("SELECT node, other FROM twin"):
            twin[node] = other
        self._db.execute("DROP TABLE twin")
        self._extra = len(fresh)
        return (mask, twin), relations

    def _sort(
        self, final: RowFile, remap: tuple[npt.NDArray[np.bool_], Ints] | None
    ) -> tuple[int, npt.NDArray[np.int64]]:
        """Write both sorted copies and the tables of ranges; gives the duplicates left out and triples by node."""
        rows = self._rows
        top = len(self._nodes) + (self._extra if remap else 0)
        at = 0
        if remap and bool(remap[0].any()):
            for chunk in rows.chunks():
                o = np.where(remap[0][at : at + len(chunk)], remap[1][chunk[:, 2]], chunk[:, 2])
                final.append(chunk[:, 0], chunk[:, 1], o, chunk[:, 3])
                at += len(chunk)
            rows = final
        degree = np.zeros(top + 1, dtype=np.int64)
        uses = np.zeros(len(self._relations) + 1, dtype=np.int64)
        duplicates = done = 0
        with RowFile(self._path.with_suffix(".inverse"), 4) as inverse:
            for run in rows.sorted_runs([0, 1, 2, 3], top):
                keep = np.ones(len(run), dtype=bool)
                keep[1:] = (run[1:] != run[:-1]).any(axis=1)
                duplicates += int(len(run) - keep.sum())
                run = run[keep]  # noqa: PLW2901 (the run without its repetitions)
                ids = np.arange(done + 1, done + 1 + len(run), dtype=np.int32)
                self._fill("triple (s, r, o, q) VALUES (?, ?, ?, nullif(?, 0))", run)
                self._ranges("edge_out", run[:, 0], run[:, 1], done + 1)
                inverse.append(run[:, 2], run[:, 1], ids, run[:, 0])
                uses += np.bincount(run[:, 1], minlength=len(uses))
                degree += np.bincount(run[:, 0], minlength=len(degree))
                degree += np.bincount(run[run[:, 0] != run[:, 2], 2], minlength=len(degree))
                done += len(run)
                self._progress("sorting", done, 2 * rows.rows)
            self._invert(inverse, top)
        self._db.executemany("UPDATE relation SET triples = ? WHERE id = ?", ((int(n), i) for i, n in enumerate(uses)))
        return duplicates, degree

    def _invert(self, inverse: RowFile, top: int) -> None:
        done = 0
        for run in inverse.sorted_runs([0, 1, 2], top):
            self._fill("inverse (triple) VALUES (?)", run[:, 2:3])
            self._ranges("edge_in", run[:, 0], run[:, 1], done + 1)
            loops = np.flatnonzero(run[:, 0] == run[:, 3])
            self._db.executemany(
                "INSERT INTO loop VALUES (?, ?)", ((int(run[i, 0]), done + 1 + i) for i in loops.tolist())
            )
            done += len(run)
            self._progress("sorting", inverse.rows + done, 2 * inverse.rows)

    def _fill(self, target: str, rows: Ints) -> None:
        # In slices, because a Python integer takes nine times the memory of the array's.
        for at in range(0, len(rows), BATCH_ROWS):
            part = rows[at : at + BATCH_ROWS]
            self._db.executemany(f"INSERT INTO {target}", zip(*part.T.tolist(), strict=True))

    def _ranges(self, table: str, node: Ints, relation: Ints, base: int) -> None:
        change = (node[1:] != node[:-1]) | (relation[1:] != relation[:-1])
        starts = np.concatenate(([0], np.flatnonzero(change) + 1)) if len(node) else np.empty(0, dtype=np.int64)
        counts = np.diff(np.append(starts, len(node)))
        self._fill(
            f"{table} VALUES (?, ?, ?, ?)", np.column_stack((node[starts], relation[starts], starts + base, counts))
        )

    def _drop_unused(self, degree: npt.NDArray[np.int64], declared: npt.NDArray[np.bool_]) -> None:
        """Values that all turned into an existing literal leave an entity that nothing mentions."""
        used = degree > 0
        used[: len(declared)] |= declared
        gone = ((int(n),) for n in np.flatnonzero(~used[1:]) + 1)
        self._db.executemany("DELETE FROM node WHERE id = ?", gone)

    def _relation_facts(self) -> None:
        for number, name, label in self._db.execute("SELECT id, name, label FROM relation").fetchall():
            known = {name.lower(), label.lower()}
            typing = 1 if known & schema.TYPING_RELATIONS else -1 if known & schema.SAMENESS_RELATIONS else 0
            if typing:
                self._db.execute("UPDATE relation SET typing = ? WHERE id = ?", (typing, number))

    def _counts(self, duplicates: int, literal_relations: list[str], linked: int) -> GraphCounts:
        one = self._db.execute(
            "SELECT (SELECT count(*) FROM node WHERE literal = 0), (SELECT count(*) FROM node WHERE literal = 1), "
            "(SELECT coalesce(max(id), 0) FROM triple), (SELECT count(*) FROM relation WHERE triples > 0)"
        ).fetchone()
        return {
            "entities": one[0],
            "literals": one[1],
            "triples": one[2],
            "relations": one[3],
            "duplicates": duplicates,
            "literal_relations": literal_relations,
            "entities_without_triples": one[0] + one[1] - linked,
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
