"""Decides which objects are literal values, relation by relation and file by file."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import numpy as np

from thinkgraph.tools.values import value_kind

VALUE_SHARE = 0.95
"""Share of a relation's objects that must look like values."""
OPEN_SHARE = 0.8
"""Share of those values that must never be a subject: where years have facts of their own, they are things."""

# How a value can begin, month, truth value or currency: a look at this saves most names the full look.
_BEGINNING = re.compile(
    r"[-+.\u2212$€£¥\s\d]|[A-Z]{3}\s|jan|feb|ma[ry]|apr|ju[nl]|aug|sep|oct|nov|dec|true|false|yes|no", re.IGNORECASE
)

_CHOSEN = f"""
CREATE TEMP TABLE chosen AS
SELECT v.file, v.relation FROM value v JOIN node n ON n.id = v.object JOIN uses u USING (file, relation)
GROUP BY v.file, v.relation
HAVING sum(NOT n.thing) > 0 AND count(*) >= {VALUE_SHARE} * u.triples AND sum(NOT n.thing) >= {OPEN_SHARE} * count(*)
"""
_BECOMING = """
CREATE TEMP TABLE becoming AS   -- what becomes a literal, and whether another triple needs it as a thing all the same
SELECT v.object, n.key, max(c.file IS NULL) AS thing, EXISTS (SELECT 1 FROM node l WHERE l.literal AND l.key = n.key) AS known
FROM value v JOIN node n ON n.id = v.object AND NOT n.thing LEFT JOIN chosen c USING (file, relation)
GROUP BY v.object HAVING count(c.file)
"""
_CHANGES = (
    "CREATE INDEX literal_key ON node (key) WHERE literal",
    _BECOMING,
    "UPDATE node SET literal = 1 WHERE id IN (SELECT object FROM becoming WHERE NOT thing AND NOT known)",
    "INSERT INTO node (key, literal) SELECT key, 1 FROM becoming WHERE thing AND NOT known ORDER BY object",
    "DELETE FROM node WHERE id IN (SELECT object FROM becoming WHERE NOT thing AND known)",
)
_MOVED = """
SELECT v.row, l.id FROM value v JOIN chosen USING (file, relation) JOIN becoming b ON b.object = v.object
JOIN node l ON l.key = b.key AND l.literal WHERE b.thing OR b.known
"""
_BATCH = 50_000


def may_be_value(key: str) -> bool:
    """Whether a node's key looks like a value."""
    return _BEGINNING.match(key) is not None and value_kind(key) is not None


def find_literals(db: sqlite3.Connection, rows_file: Path) -> list[str]:
    """Turn the values of relations that have little else into literals, in what a `TripleLoader` wrote.

    A node that is only ever such a value becomes a literal; one that is a thing elsewhere gets a literal beside it.

    Returns:
        The names of those relations, sorted.
    """
    db.execute(_CHOSEN)
    found = db.execute(
        "SELECT DISTINCT r.name FROM chosen c JOIN relation r ON r.id = c.relation ORDER BY 1"
    ).fetchall()
    if found:
        for statement in _CHANGES:
            db.execute(statement)
        rows = np.memmap(rows_file, np.int32, "r+").reshape(-1, 4)
        moved = db.execute(_MOVED)
        while batch := moved.fetchmany(_BATCH):
            places, literals = zip(*batch, strict=True)
            rows[list(places), 2] = literals
    return [name for (name,) in found]
