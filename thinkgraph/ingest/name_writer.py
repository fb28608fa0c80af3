"""Indexes the names of entities: for equality, by words and by spelling."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from thinkgraph.tools import graph_schema as schema
from thinkgraph.tools.names import folded, key_label, normal_name, words
from thinkgraph.tools.progress import Progress

_BATCH = 50_000
_NODES = "SELECT id, key, label FROM node WHERE literal = 0 ORDER BY id"


def write_names(
    db: sqlite3.Connection,
    degree: npt.NDArray[np.int64],
    aliases: Mapping[str, Sequence[str]],
    progress: Progress,
) -> list[str]:
    """Fill the name tables. Gives the keys of `aliases` that name no entity, or more than one."""
    db.execute("CREATE TEMP TABLE alias (node INTEGER, text TEXT)")
    unknown = _resolve_aliases(db, aliases)
    db.execute(schema.WORDS)
    db.execute(schema.GRAMS)
    number = done = 0
    rows: list[tuple[int, int, int, int, int, str, str | None]] = []
    spoken: list[tuple[int, str]] = []
    spelt: list[tuple[int, str]] = []

    def flush() -> None:
        db.executemany("INSERT INTO name VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        db.executemany("INSERT INTO name_word (rowid, words) VALUES (?, ?)", spoken)
        db.executemany("INSERT INTO name_gram (rowid, name) VALUES (?, ?)", spelt)
        rows.clear()
        spoken.clear()
        spelt.clear()
        progress("names", number, None)

    for node, names in _names(db):
        seen: set[str] = set()
        for kind, text in names:
            norm = normal_name(text)
            if not norm or norm in seen:
                continue
            seen.add(norm)
            number += 1
            tokens = words(text)
            rows.append(
                (number, node, kind, int(degree[node]), len(tokens), norm, text if kind == schema.ALIAS else None)
            )
            if kind != schema.KEY:
                # An opaque key ("Q64") is found by equality only; a readable one shares its words with the label.
                spoken.append((number, " ".join(tokens)))
                spelt.append((number, f" {folded(text)} "))
        done += 1
        if len(rows) >= _BATCH:
            flush()
    flush()
    db.execute(schema.NAME_INDEX)
    db.execute("DROP TABLE alias")
    return unknown


def _names(db: sqlite3.Connection) -> Iterator[tuple[int, list[tuple[int, str]]]]:
    """Each entity with its names: label, key, aliases."""
    further = iter(db.execute("SELECT node, text FROM alias ORDER BY node, rowid"))
    pending = next(further, None)
    for node, key, label in db.execute(_NODES):
        names = [(schema.LABEL, label or key_label(key)), (schema.KEY, key)]
        while pending is not None and pending[0] <= node:
            if pending[0] == node:
                names.append((schema.ALIAS, pending[1]))
            pending = next(further, None)
        yield node, names


def _resolve_aliases(db: sqlite3.Connection, aliases: Mapping[str, Sequence[str]]) -> list[str]:
    missing: dict[str, str] = {}
    for key, texts in aliases.items():
        row = db.execute("SELECT id FROM node WHERE key = ? AND literal = 0", (key,)).fetchone()
        if row is None:
            missing[normal_name(key)] = key
            continue
        db.executemany("INSERT INTO alias VALUES (?, ?)", ((row[0], text) for text in texts))
    if not missing:
        return []
    # Labels have no index yet, so one pass serves all keys that are no ids.
    owners: dict[str, list[int]] = {}
    for node, key, label in db.execute(_NODES):
        norm = normal_name(label or key_label(key))
        if norm in missing:
            owners.setdefault(norm, []).append(node)
    for norm, nodes in owners.items():
        if len(nodes) == 1:
            key = missing.pop(norm)
            db.executemany("INSERT INTO alias VALUES (?, ?)", ((nodes[0], text) for text in aliases[key]))
    return list(missing.values())
