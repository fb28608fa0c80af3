"""The first half of making a graph: triples and entities are read, numbered and laid down in flat files."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt
from typing_extensions import TypedDict

from thinkgraph.errors import KnowledgeError
from thinkgraph.ingest.readers.blocks import BATCH_ROWS, Batch, Plain
from thinkgraph.ingest.readers.files import EntityRow, Qualifiers, TripleRow
from thinkgraph.ingest.readers.spans import cut, hashes, joined, mark, words_of
from thinkgraph.ingest.writers.intern import Interner, Ints
from thinkgraph.ingest.writers.runs import RowFile
from thinkgraph.tools.progress import Progress, no_progress

Flags = npt.NDArray[np.bool_]

_READ_BYTES = 2 << 20
_MOST_TRIPLES = 2**31 - 2
_LITERAL, _DECLARED = 1, 2  # bits of a node's flags
_ABOUT = "CREATE TABLE about (node INTEGER PRIMARY KEY, label TEXT, type TEXT, description TEXT)"
_UPSERT = (
    "INSERT INTO about VALUES (?, nullif(?, ''), nullif(?, ''), nullif(?, '')) ON CONFLICT (node) DO UPDATE SET "
    "label = coalesce(excluded.label, label), type = coalesce(excluded.type, type), "
    "description = coalesce(excluded.description, description)"
)


class LoadState(TypedDict):
    """What a finished load leaves behind besides its files; plain JSON."""

    rows: int
    nodes: int
    qualifiers: int
    files: list[list[int]]
    """First and last (excluded) row of each file of triples."""
    types: list[str]
    """Datatypes of literals; a node's is named by its place here, from 1."""


class Loaded:
    """The files of a load, beside the graph to be: `graph.rows`, `.keys`, `.flags` and so on.

    Rows hold the numbers of subject, relation, object and qualifiers (0: none), from 1 in the order of first appearance.
    `graph.about` is a database: label, type and description of the nodes that the entities file names.
    """

    def __init__(self, path: Path, state: LoadState) -> None:
        """A load into the place of the graph `path` that left `state`."""
        self.path = path
        self.state = state
        self.rows = RowFile(part(path, "rows"), 4, rows=state["rows"])
        self.size = state["nodes"] + 1
        """One more than the highest number of a node."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.rows.close()

    def flags(self) -> tuple[Flags, Flags]:
        """By node, whether a file marks it as a literal, and whether the entities file names it."""
        found = np.zeros(self.size, np.uint8)
        found[1:] = np.fromfile(part(self.path, "flags"), np.uint8)
        return (found & _LITERAL) != 0, (found & _DECLARED) != 0

    def datatypes(self) -> Ints | None:
        """By node, the number of its datatype (0: none); None if there is none at all."""
        return np.fromfile(part(self.path, "types"), np.int32) if self.state["types"] else None

    def relations(self) -> list[tuple[str, str | None]]:
        """Names of the relations in the order of their numbers, and the labels that the entities file gives them."""
        return [tuple(row) for row in json.loads(part(self.path, "relations").read_text("utf-8"))]

    def texts(self, kind: str = "keys") -> Iterator[tuple[int, list[str]]]:
        """Keys of the nodes, many at a time, with the number of the first (`kind` "pairs": of the qualifiers)."""
        number, rest = 1, b""
        with part(self.path, kind).open("rb") as stream:
            while more := stream.read(_READ_BYTES):
                end = more.rfind(b"\0")
                if end < 0:
                    rest += more
                    continue
                texts = (rest + more[:end]).decode().split("\0")
                yield number, texts
                number, rest = number + len(texts), more[end + 1 :]

    @staticmethod
    def remove(path: Path) -> None:
        """Delete the files of a load into the place of the graph `path`."""
        for kind in ("rows", "keys", "flags", "types", "relations", "pairs", "about"):
            part(path, kind).unlink(missing_ok=True)


def part(path: Path, kind: str) -> Path:
    """A file beside the graph that only the build needs."""
    return path.with_suffix(f".{kind}")


class TripleLoader:
    """Takes triples in and lays them down. Use as a context manager; the files stay, for `Loaded`."""

    def __init__(self, path: Path, *, progress: Progress = no_progress) -> None:
        """Begin a load for the graph `path`; what an unfinished one left there is overwritten."""
        self._path = path
        self._progress = progress
        part(path, "about").unlink(missing_ok=True)
        self._about = sqlite3.connect(part(path, "about"), isolation_level=None)
        for sql in ("PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF", _ABOUT):
            self._about.execute(sql)
        self._rows = RowFile(part(path, "rows"), 4)
        self._keys = part(path, "keys").open("wb")
        self._pairs = part(path, "pairs").open("wb")
        self._nodes = Interner()
        self._relations = Interner()
        self._qualifiers = Interner()
        self._names: dict[str, int] = {}
        self._labels: dict[str, str] = {}
        self._marked: list[Flags] = []
        self._declared: list[Ints] = []
        self._types: dict[str, int] = {}
        self._typed = np.zeros(1, np.int32)
        self._files: list[list[int]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._rows.close()
        self._keys.close()
        self._pairs.close()
        self._about.close()

    @property
    def rows(self) -> int:
        """Rows taken so far."""
        return self._rows.rows

    def add(self, batches: Iterable[Batch], *, literal_relations: frozenset[str] = frozenset()) -> None:
        """Take the triples of one file. All objects of `literal_relations` are literals."""
        start = self._rows.rows
        for batch in batches:
            if isinstance(batch, Plain):
                self._take_plain(batch, literal_relations)
            else:
                self._take_rows(batch, literal_relations)
            if self._rows.rows > _MOST_TRIPLES:
                raise KnowledgeError(f"more than {_MOST_TRIPLES:,} triples; split the graph")
            self._progress("triples", self._rows.rows, None)
        self._files.append([start, self._rows.rows])

    def _take_plain(self, block: Plain, forced: frozenset[str]) -> None:
        count = len(block.starts)
        relations, new = self._relations.intern(block.hashes[:, 1])
        for name in cut(block.data, block.starts[new, 1], block.ends[new, 1]):
            self._names[name.decode()] = len(self._names) + 1
        marked = np.zeros((count, 2), np.bool_)
        if forced:
            numbers = [self._names[name] for name in forced & self._names.keys()]
            marked[:, 1] = np.isin(relations, np.array(numbers, np.int32))
        qualifiers = np.zeros(count, np.int32)
        if block.extra is not None:
            marked[:, 1] |= np.array([literal for _, literal in block.extras], np.bool_)[block.extra]
            qualifiers = self._qualify([pairs for pairs, _ in block.extras])[block.extra]
        flat = marked.reshape(-1)
        ends = block.hashes[:, (0, 2)].reshape(-1)
        numbers_, new = self._nodes.intern(mark(ends, flat) if flat.any() else ends)
        row, column = new >> 1, (new & 1) << 1
        self._lay(cut(block.data, block.starts[row, column], block.ends[row, column]), flat[new])
        self._rows.append(numbers_[::2], relations, numbers_[1::2], qualifiers)

    def _take_rows(self, batch: Sequence[TripleRow], forced: frozenset[str]) -> None:
        if not batch:
            return
        subjects, names, objects, qualifiers, datatypes = zip(*batch, strict=True)
        known = self._names
        for name in dict.fromkeys(names):
            if name not in known:
                # Both ways of reading number relations alike: this one has the names, the other the hashes.
                data, starts, ends = joined([name])
                known[name] = int(self._relations.intern(hashes(words_of(data), starts, ends))[0][0])
        relations = np.fromiter((known[name] for name in names), np.int32, len(batch))
        marked = np.zeros((len(batch), 2), np.bool_)
        marked[:, 1] = [datatype is not None or name in forced for name, datatype in zip(names, datatypes, strict=True)]
        texts = [text for pair in zip(subjects, objects, strict=True) for text in pair]
        numbers = self._number(texts, marked.reshape(-1))
        if any(datatypes):
            kinds = [self._types.setdefault(kind, len(self._types) + 1) if kind else 0 for kind in datatypes]
            self._type(numbers[1::2], np.array(kinds, np.int32))
        self._rows.append(numbers[::2], relations, numbers[1::2], self._qualify(qualifiers))

    def _number(self, texts: Sequence[str], marked: Flags) -> Ints:
        data, starts, ends = joined(texts)
        numbers, new = self._nodes.intern(mark(hashes(words_of(data), starts, ends), marked))
        self._lay(cut(data, starts[new], ends[new]), marked[new])
        return numbers

    def _lay(self, keys: Sequence[bytes], marked: Flags) -> None:
        if keys:
            self._keys.write(b"\0".join(keys) + b"\0")
            self._marked.append(marked)

    def _type(self, numbers: Ints, kinds: Ints) -> None:
        """Remember the datatype of nodes; the first one that a node is given stays."""
        if len(self._typed) <= len(self._nodes):
            larger = np.zeros(len(self._nodes) * 3 // 2 + 2, np.int32)
            larger[: len(self._typed)] = self._typed
            self._typed = larger
        places = np.flatnonzero((kinds > 0) & (self._typed[numbers] == 0))[::-1]
        self._typed[numbers[places]] = kinds[places]

    def _qualify(self, qualifiers: Sequence[Qualifiers]) -> Ints:
        """Numbers of sets of qualifiers; 0 for none."""
        found = np.zeros(len(qualifiers), np.int32)
        places = [i for i, pairs in enumerate(qualifiers) if pairs]
        if places:
            written = {pairs: json.dumps(pairs, ensure_ascii=False) for pairs in {qualifiers[i] for i in places}}
            data, starts, ends = joined([written[qualifiers[i]] for i in places])
            found[places], new = self._qualifiers.intern(hashes(words_of(data), starts, ends))
            self._pairs.writelines(text + b"\0" for text in cut(data, starts[new], ends[new]))
        return found

    def describe(self, entities: Iterable[EntityRow]) -> None:
        """Take labels, types and descriptions. An id that no triple has becomes an entity, unless it is a relation's
        name, which is then given the label.
        """
        stream = iter(entities)
        done = 0
        while batch := list(islice(stream, BATCH_ROWS)):
            self._labels.update((row.id, row.label) for row in batch if row.label and row.id in self._names)
            rows = [row for row in batch if row.id not in self._names]
            numbers = self._number([row.id for row in rows], np.zeros(len(rows), np.bool_))
            self._declared.append(numbers)
            self._about.execute("BEGIN")
            about = ((n, row.label, row.type, row.description) for n, row in zip(numbers.tolist(), rows, strict=True))
            self._about.executemany(_UPSERT, about)
            self._about.execute("COMMIT")
            done += len(batch)
            self._progress("entities", done, None)

    def finish(self) -> LoadState:
        """Write what is still in memory; the state is what `Loaded` needs."""
        size = len(self._nodes) + 1
        flags = np.zeros(size, np.uint8)
        if self._marked:
            flags[1:] = np.concatenate(self._marked)
        for numbers in self._declared:
            flags[numbers] |= _DECLARED
        flags[1:].tofile(part(self._path, "flags"))
        if self._types:
            types = np.zeros(size, np.int32)
            types[: len(self._typed)] = self._typed[:size]
            types.tofile(part(self._path, "types"))
        relations = [[name, self._labels.get(name)] for name in self._names]
        part(self._path, "relations").write_text(json.dumps(relations, ensure_ascii=False), "utf-8")
        self.__exit__(None, None, None)
        return {
            "rows": self._rows.rows,
            "nodes": size - 1,
            "qualifiers": len(self._qualifiers),
            "files": self._files,
            "types": list(self._types),
        }
