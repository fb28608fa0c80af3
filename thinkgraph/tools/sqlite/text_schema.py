"""The file format of the SQLite text store, shared by its builder and its reader."""

from __future__ import annotations

from thinkgraph.tools.linking.names import well_formed

FORMAT = "1"
"""Version of the tables below and of the rule that makes vectors; stores of another version are built anew."""

VECTOR_TYPE = "<f2"
"""Half precision: 22 MB instead of 44 for 28,565 passages; scores move by less than 0.0005."""

SCANNED = 5_000
"""Vectors up to which a search reads all of them, exactly and in 8 ms; Chroma takes 2 ms, after half a second of loading and two of
building."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS passages (
    no INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    section TEXT NOT NULL,
    text TEXT NOT NULL,
    entities TEXT NOT NULL,  -- a JSON list, in the passage's order
    content BLOB NOT NULL,   -- hash of all of the passage
    embedded BLOB NOT NULL   -- hash of what its vectors are made from
);
CREATE TABLE IF NOT EXISTS entities (no INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS links (
    passage INTEGER NOT NULL, entity INTEGER NOT NULL, PRIMARY KEY (entity, passage)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS links_by_passage ON links (passage);
-- Beside the passages, not in them, so that scoring reads no text. One blob holds all windows of a passage.
CREATE TABLE IF NOT EXISTS vectors (passage INTEGER PRIMARY KEY, vector BLOB NOT NULL);
"""


def clean(text: str) -> str:
    """`text` as SQLite can keep it: NUL and lone surrogates become U+FFFD."""
    return well_formed(text).replace("\0", "\ufffd")
