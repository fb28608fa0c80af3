"""`documents.sqlite` of a knowledge base: its documents, their passages, and the statements extracted from these.

The graph and the texts are made from this file alone, so a document can be added, changed or removed without reading the
others again.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from thinkgraph.errors import KnowledgeError
from thinkgraph.ingest.documents.lexicon import Chunk
from thinkgraph.ingest.documents.pieces import Reading, ReadingTime, UnreadableError, cut
from thinkgraph.ingest.documents.sources import Source
from thinkgraph.tools.protocols import closed_on_error
from thinkgraph.tools.sqlite.text_schema import clean

FORMAT = "1"
"""Version of the tables below. The documents of another version are read again."""

_LONGEST = 300
"""Most characters of a title, and of a passage's section: they precede every passage that is encoded or put in a prompt."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS document (
    no INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    file TEXT NOT NULL,
    title TEXT NOT NULL,
    content TEXT NOT NULL,   -- hash of the file or row, and of how it was read; empty where it could not be read
    words BLOB NOT NULL,     -- hash of title and passages: equal for copies
    entities TEXT NOT NULL,  -- a JSON list of names that came with it
    problem TEXT NOT NULL    -- why it could not be read; empty
);
CREATE INDEX IF NOT EXISTS document_words ON document (words, id);
CREATE TABLE IF NOT EXISTS passage (
    document INTEGER NOT NULL, number INTEGER NOT NULL, section TEXT NOT NULL,
    first INTEGER NOT NULL, last INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (document, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS extraction (
    document INTEGER NOT NULL, number INTEGER NOT NULL,
    key TEXT NOT NULL,       -- hash of passage, prompt and model
    found TEXT,              -- JSON; null where no reply could be used
    tries INTEGER NOT NULL,  -- replies that could not be read
    problem TEXT NOT NULL,
    PRIMARY KEY (document, number)
) WITHOUT ROWID;
"""
_USED = (
    "problem = '' AND NOT EXISTS (SELECT 1 FROM document o WHERE o.words = d.words AND o.id < d.id AND o.problem = '')"
)


class DocumentFacts(TypedDict):
    """One document, for people."""

    id: str
    title: str
    passages: int
    problem: str
    """Why it could not be read, or why the extraction is not complete; else empty."""
    copy_of: str
    """Id of the document with the same words that is used instead; else empty."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a model extracted from one passage."""

    key: str
    found: dict[str, Any] | None
    """None: no reply could be used."""
    tries: int = 0
    problem: str = ""


class DocumentStore(AbstractContextManager["DocumentStore"]):
    """Reads and writes one `documents.sqlite`. Use it as a context manager, and hold the build's lock."""

    def __init__(self, path: Path, *, write: bool = True) -> None:
        """Open the file; with `write`, a missing one is created.

        Raises:
            KnowledgeError: it is damaged or of another format.
        """
        address = path.resolve().as_uri() + ("" if write else "?mode=ro&immutable=1")
        try:
            self._db = sqlite3.connect(address, uri=True, isolation_level=None)
            with closed_on_error(self._db.close):
                if write:
                    self._db.execute("PRAGMA synchronous = NORMAL")
                    self._db.executescript(_SCHEMA)
                    self._db.execute("INSERT OR IGNORE INTO meta VALUES ('format', ?)", (FORMAT,))
                if (found := self.meta("format")) != FORMAT:
                    raise KnowledgeError(
                        f"{path} has format {found}, this release reads {FORMAT}; build it again with --replace"
                    )
        except sqlite3.DatabaseError as error:
            raise KnowledgeError(
                f"{path} is damaged ({error}); build the knowledge base again with --replace"
            ) from None

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def meta(self, key: str) -> str:
        """A value of the table `meta`; empty if there is none."""
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    def set_meta(self, key: str, value: str) -> None:
        """Write a value of the table `meta`."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def content(self, identifier: str) -> str:
        """Hash of what a document was read from; empty if it is unknown or could not be read."""
        row = self._db.execute("SELECT content FROM document WHERE id = ?", (identifier,)).fetchone()
        return str(row[0]) if row else ""

    def put(self, source: Source, content: str, reading: Reading, size: int, clock: ReadingTime) -> None:
        """Read a document to its end and replace its old version. A failure keeps the old one.

        Its passages have at most `size` characters; `content` is a hash of what it is read from, and of how; `clock` ends it.

        Raises:
            UnreadableError: it cannot be read to its end, or holds no words.
        """
        self._db.execute("BEGIN IMMEDIATE")
        with self._db as db:
            number = self._number(source)
            known = {
                (section, text): kept
                for section, text, *kept in db.execute(
                    "SELECT p.section, p.text, e.key, e.found, e.tries, e.problem FROM extraction e"
                    " JOIN passage p USING (document, number) WHERE e.document = ?",
                    (number,),
                )
            }
            db.execute("DELETE FROM passage WHERE document = ?", (number,))
            db.execute("DELETE FROM extraction WHERE document = ?", (number,))
            digest = hashlib.blake2b(digest_size=16)
            count = 0
            for count, one in enumerate(cut(reading, size, clock), start=1):
                row = (number, count, clean(one.section[:_LONGEST]), one.start, one.end, clean(one.text))
                db.execute("INSERT INTO passage VALUES (?, ?, ?, ?, ?, ?)", row)
                digest.update(json.dumps([row[2], row[5]]).encode())
                if kept := known.get((row[2], row[5])):
                    # The same words as before keep what was extracted, wherever they stand now.
                    db.execute("INSERT INTO extraction VALUES (?, ?, ?, ?, ?, ?)", (number, count, *kept))
            if not count:
                raise UnreadableError("holds no words")
            # Some titles are known only at the end.
            title = " ".join(clean(reading.title[:_LONGEST]).split())
            digest.update(json.dumps(title).encode())
            entities = json.dumps(reading.entities, ensure_ascii=False)
            db.execute(
                "UPDATE document SET file = ?, title = ?, content = ?, words = ?, entities = ?, problem = '' WHERE no = ?",
                (source.file, title, content, digest.digest(), entities, number),
            )

    def found(self, source: Source) -> None:
        """Note the file of a document that did not change: a row may have moved to another one."""
        self._db.execute(
            "UPDATE document SET file = ? WHERE id = ? AND file != ?", (source.file, source.id, source.file)
        )

    def _number(self, source: Source) -> int:
        self._db.execute(
            "INSERT OR IGNORE INTO document (id, file, title, content, words, entities, problem)"
            " VALUES (?, ?, '', '', x'', '[]', '')",
            (source.id, source.file),
        )
        return int(self._db.execute("SELECT no FROM document WHERE id = ?", (source.id,)).fetchone()[0])

    def fail(self, source: Source, problem: str) -> bool:
        """Record that a document could not be read. An old version of it is kept, and True is returned."""
        if self.content(source.id):
            return True
        number = self._number(source)
        self._db.execute("UPDATE document SET problem = ? WHERE no = ?", (clean(problem), number))
        return False

    def remove(self, identifiers: Iterable[str]) -> None:
        """Remove documents, all of them or none."""
        ids = [(identifier,) for identifier in identifiers]
        self._db.execute("BEGIN IMMEDIATE")
        with self._db as db:
            for table in ("extraction", "passage"):
                db.executemany(f"DELETE FROM {table} WHERE document = (SELECT no FROM document WHERE id = ?)", ids)
            db.executemany("DELETE FROM document WHERE id = ?", ids)

    def is_sound(self) -> bool:
        """Whether SQLite's quick check finds no damage."""
        return bool(self._db.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))

    def chunks(self, *, of: str = "") -> Iterator[Chunk]:
        """The passages of all documents in use (of copies, one), grouped by document, in the order of their ids."""
        only = "AND d.id = ?" if of else ""
        rows = self._db.execute(
            "SELECT d.id, d.title, d.entities, p.section, p.first, p.last, p.text FROM document d"
            f" JOIN passage p ON p.document = d.no WHERE {_USED} {only} ORDER BY d.id, p.number",
            (of,) if of else (),
        )
        for identifier, title, entities, section, first, last, text in rows:
            yield Chunk(
                id=f"{identifier}#{first}-{last}",
                document=identifier,
                title=title,
                section=section,
                text=text,
                given=tuple(json.loads(entities)),
            )

    def documents(self) -> list[str]:
        """Ids of the documents in use, in the order of `chunks`."""
        return [i for (i,) in self._db.execute(f"SELECT d.id FROM document d WHERE {_USED} ORDER BY d.id")]

    def extracted(self, identifier: str) -> dict[int, Extracted]:
        """What models extracted from a document's passages, by the passage's place in it (from 0)."""
        rows = self._db.execute(
            "SELECT e.number, e.key, e.found, e.tries, e.problem FROM extraction e"
            " JOIN document d ON d.no = e.document WHERE d.id = ?",
            (identifier,),
        )
        return {
            number - 1: Extracted(key, json.loads(found) if found else None, tries, problem)
            for number, key, found, tries, problem in rows
        }

    def has_statements(self) -> bool:
        """Whether there is a usable reply of a model to any passage."""
        return self._db.execute("SELECT 1 FROM extraction WHERE found IS NOT NULL LIMIT 1").fetchone() is not None

    def put_extracted(self, found: Iterable[tuple[str, int, Extracted]]) -> None:
        """Write what was extracted from passages, given by their documents and places in them (from 0)."""
        rows = []
        for document, place, one in found:
            reply = one.found and json.dumps(one.found, ensure_ascii=False)
            rows.append((place + 1, one.key, reply, one.tries, one.problem, document))
        self._db.execute("BEGIN IMMEDIATE")
        with self._db as db:
            db.executemany(
                "INSERT OR REPLACE INTO extraction SELECT no, ?, ?, ?, ?, ? FROM document WHERE id = ?", rows
            )

    def files(self) -> dict[str, str]:
        """The file of every document, by the document's id."""
        return dict(self._db.execute("SELECT id, file FROM document"))

    def facts(self) -> Iterator[DocumentFacts]:
        """Every document in the order of ids, with failed ones and copies."""
        rows = self._db.execute(
            "SELECT d.id, d.title, (SELECT count(*) FROM passage p WHERE p.document = d.no), d.problem,"
            " (SELECT e.problem FROM extraction e WHERE e.document = d.no AND e.problem != '' ORDER BY e.number LIMIT 1),"
            " (SELECT min(o.id) FROM document o WHERE o.words = d.words AND o.id < d.id AND o.problem = '')"
            " FROM document d ORDER BY d.id"
        )
        for identifier, title, passages, problem, asked, copy in rows:
            copy_of = "" if problem else copy or ""
            yield {
                "id": identifier,
                "title": title,
                "passages": passages,
                "problem": problem or (asked or "") * (not copy_of),
                "copy_of": copy_of,
            }
