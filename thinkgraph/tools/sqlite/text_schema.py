"""The file format of the SQLite text store, shared by its builder and its reader."""

from __future__ import annotations

from thinkgraph.state.knowledge import Passage
from thinkgraph.tools.linking.names import well_formed

FORMAT = "3"
"""Version of the tables below; stores of another version are built anew."""

VECTOR_TYPE = "<f2"
"""Half precision: 22 MB instead of 44 for 28,565 passages; scores move by less than 0.0005."""

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE passages (
    no INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    content BLOB NOT NULL,   -- hash of all of the passage
    embedded BLOB NOT NULL,  -- hash of what its vectors are made from
    title TEXT NOT NULL,
    section TEXT NOT NULL,
    text TEXT NOT NULL,
    entities TEXT NOT NULL   -- a JSON list, in the passage's order
);
CREATE TABLE entities (no INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
CREATE TABLE links (entity INTEGER NOT NULL, passage INTEGER NOT NULL, PRIMARY KEY (entity, passage)) WITHOUT ROWID;
-- The words are those of `content_tokens`, for alphabets that FTS5 cannot cut.
CREATE VIRTUAL TABLE words USING fts5(
    text, content='', tokenize="unicode61 remove_diacritics 0 categories 'L* N* M* Co'"
);
"""


def title_prefix(passage: Passage) -> str:
    """What stands before the text of a passage where it is encoded: its title and a colon."""
    title = passage["title"].strip()
    # Many corpora repeat the title at the head of every passage; once is enough.
    return f"{title}: " if title and not passage["text"].startswith(title) else ""


def own_passage(passage: Passage) -> Passage:
    """A passage for whoever may change it."""
    return {**passage, "entities": [*passage["entities"]]}


def clean(text: str) -> str:
    """`text` as SQLite can keep it: NUL and lone surrogates become U+FFFD."""
    return well_formed(text).replace("\0", "\ufffd")
