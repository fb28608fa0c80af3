"""Writes the nodes of a graph and indexes their names: for equality, by words and by spelling."""

from __future__ import annotations

import json
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, wait
from itertools import compress, repeat
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from thinkgraph.ingest.writers.bulk_names import folded_names, key_labels, normal_names, spoken_names
from thinkgraph.ingest.writers.intern import Ints
from thinkgraph.ingest.writers.literals import Literals
from thinkgraph.ingest.writers.loader import Loaded, part
from thinkgraph.tools.linking.names import normal_name
from thinkgraph.tools.sqlite import graph_schema as schema

_BATCH = 50_000
_AHEAD = 3
_INDEX_MEMORY = 64 << 20
"""Bytes of new entries that each full-text index keeps before it writes them out."""
_SHADOWS = ("data", "idx")
_NODES = (
    "INSERT INTO node SELECT ?1 + j.key, j.value, substr(?3, j.key + 1, 1) = x'01', a.label, a.type, a.description "
    "FROM json_each(?2) j LEFT JOIN load.about a ON a.node = ?1 + j.key WHERE substr(?4, j.key + 1, 1) = x'01'"
)
_LABELS = "SELECT node, label FROM load.about WHERE node >= ? AND node < ? AND label NOTNULL"


class NodeSource:
    """The nodes of a load, once it is known which are literals."""

    def __init__(self, db: sqlite3.Connection, loaded: Loaded, literals: Literals) -> None:
        """Read from the files of the load, and write to `db` outside of any transaction."""
        self._db = db
        self._db.execute("ATTACH ? AS load", (str(part(loaded.path, "about")),))
        self._loaded = loaded
        self._literals = literals

    def write(self, told: Callable[[int], None]) -> None:
        """Fill the table `node`."""
        kept, literal = ~self._literals.dropped, self._literals.literal
        for first, keys in self._loaded.texts():
            stop = first + len(keys)
            self._insert(first, keys, literal[first:stop].tobytes(), kept[first:stop].tobytes())
            told(stop - 1)
        for first, keys in self._loaded.texts("twins") if self._literals.added else ():
            some = bytes([1]) * len(keys)
            self._insert(self._loaded.size - 1 + first, keys, some, some)
        if (datatypes := self._loaded.datatypes()) is not None:
            names = ["", *self._loaded.state["types"]]
            typed = np.flatnonzero(datatypes).tolist()
            rows = ((names[datatypes[node]], node) for node in typed)
            self._db.executemany("UPDATE node SET type = coalesce(type, ?) WHERE id = ?", rows)

    def _insert(self, first: int, keys: Sequence[str], literal: bytes, kept: bytes) -> None:
        # As one statement, which leaves Python's lock to the other thread, rather than a call for each node.
        self._db.execute(_NODES, (first, json.dumps(keys, ensure_ascii=False), literal, kept))

    def entities(self) -> Iterator[tuple[list[int], list[str], list[str]]]:
        """Numbers, keys and labels of the entities, some at a time."""
        thing = ~(self._literals.literal | self._literals.dropped)
        for first, keys in self._loaded.texts():
            for at in range(0, len(keys), _BATCH):
                start, some = first + at, keys[at : at + _BATCH]
                chosen = thing[start : start + len(some)].tolist()
                numbers = list(compress(range(start, start + len(some)), chosen))
                some = list(compress(some, chosen))
                labels = key_labels(some)
                if given := dict(self._db.execute(_LABELS, (start, start + len(chosen))).fetchall()):
                    labels = [given.get(number, made) for number, made in zip(numbers, labels, strict=True)]
                yield numbers, some, labels


class NameWriter:
    """Fills the name tables. The full-text indexes are made in a database of their own by another thread, and moved
    over when they are done. Use as a context manager.
    """

    def __init__(self, db: sqlite3.Connection, path: Path, worker: Executor, told: Callable[[int], None]) -> None:
        """Write to `db`, the graph at `path`."""
        self._db = db
        self._worker = worker
        self._told = told
        self._place = part(path, "words")
        self._place.unlink(missing_ok=True)
        self._side = sqlite3.connect(self._place, isolation_level=None, check_same_thread=False)
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE", "cache_size=-16000"):
            self._side.execute(f"PRAGMA {pragma}")
        self._pending: deque[Future[None]] = deque()
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for future in self._pending:
            future.cancel()
        if self._pending:
            self._side.interrupt()
        wait(self._pending)
        self._side.close()
        self._place.unlink(missing_ok=True)

    def write(self, nodes: NodeSource, degree: Ints, aliases: Mapping[str, Sequence[str]]) -> list[str]:
        """Fill the tables, but for what `finish` does. Gives the keys of `aliases` that name no entity, or several."""
        further, unknown = _resolved(self._db, nodes, aliases)
        self._submit(self._begin)
        for numbers, keys, labels in nodes.entities():
            self._add(numbers, keys, labels, further, degree)
            self._told(self._number)
        self._submit(self._end)
        self._db.execute(schema.NAME_INDEX)
        return unknown

    def finish(self) -> None:
        """Wait for the full-text indexes and take them over."""
        while self._pending:
            self._pending.popleft().result()
        self._move()

    def _add(
        self, numbers: list[int], keys: list[str], labels: list[str], further: Mapping[int, list[str]], degree: Ints
    ) -> None:
        """The names of some entities: first all that are found by their words, which get numbers without a gap."""
        norms = normal_names(labels)
        differing = [i for i, (key, label) in enumerate(zip(keys, labels, strict=True)) if key != label]
        own = dict(zip(differing, normal_names([keys[i] for i in differing]), strict=True))
        # An opaque key ("Q64") is found by equality only; a readable one shares its words with the label.
        by_key = [(numbers[i], norm) for i, norm in own.items() if norm and norm != norms[i]]
        others: list[tuple[int, str, str]] = []
        for i, number in enumerate(numbers) if further else ():
            seen = {norms[i], own.get(i, ""), ""}
            for text in further.get(number, ()):
                if (norm := normal_name(text)) not in seen:
                    seen.add(norm)
                    others.append((number, norm, text))
        if "" in norms:
            numbers = list(compress(numbers, norms))
            norms = list(filter(None, norms))
        self._insert(schema.LABEL, numbers, norms, degree)
        self._insert(schema.ALIAS, [n for n, _, _ in others], [norm for _, norm, _ in others], degree)
        if others:
            texts = zip(
                (text for _, _, text in others), range(self._number - len(others) + 1, self._number + 1), strict=True
            )
            self._db.executemany("UPDATE name SET text = ? WHERE id = ?", texts)
        self._insert(schema.KEY, [n for n, _ in by_key], [norm for _, norm in by_key], degree)

    def _insert(self, kind: int, nodes: Sequence[int], norms: Sequence[str], degree: Ints) -> None:
        if not nodes:
            return
        first = self._number + 1
        counts: Sequence[int] | repeat[int] = repeat(0)
        if kind != schema.KEY:
            folded = folded_names(norms)
            spoken = spoken_names(folded)
            counts = [len(words.split()) for words in spoken]
            self._submit(self._index, first, spoken, folded)
        # Without parameters that are None: Python's module takes three times as long over them as over all others.
        self._db.executemany(
            f"INSERT INTO name VALUES (?, ?, {kind}, ?, ?, ?, NULL)",
            zip(range(first, first + len(nodes)), nodes, degree[list(nodes)].tolist(), counts, norms, strict=False),
        )
        self._number += len(nodes)

    def _submit(self, work: Callable[..., None], *arguments: object) -> None:
        while len(self._pending) > _AHEAD:
            self._pending.popleft().result()
        self._pending.append(self._worker.submit(work, *arguments))

    def _begin(self) -> None:
        self._side.executescript(schema.WORDS + schema.GRAMS + schema.COMMON)
        for table in ("name_word", "name_gram"):
            # Written out in few large pieces, and put together once at the end.
            for option, value in (("hashsize", _INDEX_MEMORY), ("automerge", 0)):
                self._side.execute(f"INSERT INTO {table} ({table}, rank) VALUES (?, ?)", (option, value))
        self._side.execute("BEGIN")

    def _index(self, first: int, words: list[str], folded: list[str]) -> None:
        # As one statement, which leaves Python's lock to the other thread, rather than a call for each name.
        for table, shape, texts in (("name_word (rowid, words)", "value", words), ("name_gram (rowid, name)", "' ' || value || ' '", folded)):  # fmt: skip
            rows = json.dumps(texts, ensure_ascii=False)
            self._side.execute(f"INSERT INTO {table} SELECT ?1 + key, {shape} FROM json_each(?2)", (first, rows))

    def _end(self) -> None:
        for table in ("name_word", "name_gram"):
            self._side.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
            self._side.execute(f"CREATE VIRTUAL TABLE temp.{table}_count USING fts5vocab(main, '{table}', 'row')")
            self._side.execute(
                f"INSERT INTO common SELECT ?, term, doc FROM temp.{table}_count WHERE doc >= ?",
                (table, schema.COMMON_NAMES),
            )
        self._side.execute("COMMIT")

    def _move(self) -> None:
        """Take over the indexes: what a contentless one holds is in its shadow tables."""
        self._side.close()
        self._db.execute("COMMIT")
        self._db.executescript(schema.WORDS + schema.GRAMS + schema.COMMON)
        self._db.execute("ATTACH ? AS side", (str(self._place),))
        self._db.execute("BEGIN")
        for table in ("common", *(f"{name}_{shadow}" for name in ("name_word", "name_gram") for shadow in _SHADOWS)):
            self._db.execute(f"DELETE FROM main.{table}")
            self._db.execute(f"INSERT INTO main.{table} SELECT * FROM side.{table}")
        self._db.execute("COMMIT")
        self._db.execute("DETACH side")
        self._db.execute("BEGIN")


def _resolved(
    db: sqlite3.Connection, nodes: NodeSource, aliases: Mapping[str, Sequence[str]]
) -> tuple[dict[int, list[str]], list[str]]:
    """Aliases by node, and the keys that name no entity or several. A key is an id, or a label that one entity has."""
    found: dict[int, list[str]] = {}
    missing: dict[str, str] = {}
    for key, texts in aliases.items():
        row = db.execute("SELECT id FROM node WHERE key = ? AND literal = 0", (key,)).fetchone()
        if row is None:
            missing[normal_name(key)] = key
        else:
            found.setdefault(row[0], []).extend(texts)
    if not missing:
        return found, []
    # Labels have no index yet, so one pass serves all keys that are no ids.
    owners: dict[str, list[int]] = {}
    for numbers, _, labels in nodes.entities():
        for number, norm in zip(numbers, normal_names(labels), strict=True):
            if norm in missing:
                owners.setdefault(norm, []).append(number)
    for norm, named in owners.items():
        if len(named) == 1:
            found.setdefault(named[0], []).extend(aliases[missing.pop(norm)])
    return found, list(missing.values())
