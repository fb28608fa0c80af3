"""Builds the text side of a knowledge base: passages, the entities they are about, and their vectors, in one file."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from thinkgraph.ingest.folder import writing
from thinkgraph.tools.encoders.embeddings import embed_array, windows_of
from thinkgraph.tools.sqlite.text_schema import FORMAT, SCHEMA, VECTOR_TYPE, clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from thinkgraph.state.knowledge import Passage, TextInfo
    from thinkgraph.tools.progress import Progress
    from thinkgraph.tools.protocols import Embedder

_BATCH = 256
"""Passages per commit: what a killed build loses, a few seconds of encoding."""
_BATCH_CHARACTERS = 2_000_000
"""A batch ends after so many characters, for it is in memory with all its windows."""


def build_text(
    path: Path,
    passages: Iterable[Passage],
    *,
    embedder: Embedder,
    progress: Progress,
    total: int | None = None,
    name: str | None = None,
    stage: str = "text",
) -> TextInfo:
    """Write `passages` to the text store at `path`, replacing what it held.

    Resumable: the work goes to a file beside `path`, committed every few hundred passages and moved into place at the
    end, so that readers never see half a store. Started again, it embeds only what neither the unfinished file nor the
    finished store holds with the same title and text. Passages that no longer come are removed.

    Args:
        path: The file to write, by custom `text.sqlite`.
        passages: Read once, streamed; ids must be unique, and texts what SQLite can keep (see `clean`).
        embedder: Makes the vectors, of "title: text"; longer texts get one vector per window.
        progress: Told of every batch.
        total: How many passages will come, if known.
        name: The store's name for people; the folder's name if not given.
        stage: What the progress calls this work.

    Returns:
        What the store now says about itself. The fingerprint depends on content and embedder, not on order.

    Raises:
        KnowledgeError: The file cannot be written, or the embedder fails.
    """
    working = path.with_name(path.name + ".building")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not working.exists() and path.exists():
            shutil.copyfile(path, working)
        with closing(_open(working)) as connection:
            _prepare(connection, embedder.name, name or path.resolve().parent.name)
            stream = iter(passages)
            done = 0
            progress(stage, done, total)
            while batch := _batch(stream):
                connection.execute("BEGIN")
                with connection:
                    _write(connection, batch, embedder)
                done += len(batch)
                progress(stage, done, total)
            info = _finish(connection)
        working.replace(path)
    return info


def _batch(stream: Iterator[Passage]) -> list[Passage]:
    batch: list[Passage] = []
    characters = 0
    for passage in islice(stream, _BATCH):
        batch.append(passage)
        characters += len(passage["text"])
        if characters > _BATCH_CHARACTERS:
            break
    return batch


def title_prefix(passage: Passage) -> str:
    """What stands before the text of a passage where it is encoded: its title and a colon."""
    title = passage["title"].strip()
    # Many corpora repeat the title at the head of every passage; once is enough.
    return f"{title}: " if title and not passage["text"].startswith(title) else ""


def _open(working: Path) -> sqlite3.Connection:
    # Not WAL: a finished store must be readable on a read-only medium.
    connection = sqlite3.connect(working, isolation_level=None)
    try:
        row = connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    except sqlite3.DatabaseError:
        row = None
    if row is None or row[0] != FORMAT:
        # Vectors of another format, or of a damaged file, are not worth saving: they are made again.
        connection.close()
        working.unlink(missing_ok=True)
        connection = sqlite3.connect(working, isolation_level=None)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _prepare(connection: sqlite3.Connection, embedder: str, name: str) -> None:
    connection.executescript(SCHEMA)
    row = connection.execute("SELECT value FROM meta WHERE key = 'embedder'").fetchone()
    connection.execute("BEGIN")
    with connection:
        if row is not None and row[0] != embedder:
            connection.execute("DELETE FROM vectors")
            connection.execute("UPDATE passages SET content = x'', embedded = x''")
            connection.execute("DELETE FROM meta WHERE key = 'dimensions'")
        connection.executemany(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)",
            [("format", FORMAT), ("embedder", embedder), ("name", clean(name))],
        )
    connection.execute("CREATE TEMP TABLE seen (no INTEGER PRIMARY KEY)")


def _write(connection: sqlite3.Connection, batch: list[Passage], embedder: Embedder) -> None:
    rows = connection.execute(
        "SELECT id, no, content, embedded FROM passages WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps([passage["id"] for passage in batch]),),
    )
    known = {id_: numbered for id_, *numbered in rows}
    todo: list[tuple[int, Passage]] = []
    for passage in batch:
        no, old_content, old_embedded = known.get(passage["id"], (0, b"", b""))
        content = _hash(passage["id"], passage["title"], passage["section"], passage["text"], passage["entities"])
        embedded = _hash(title_prefix(passage), passage["text"])
        if old_content != content:
            no = _put(connection, passage, content, embedded)
            if old_embedded != embedded:
                todo.append((no, passage))
        connection.execute("INSERT INTO seen VALUES (?)", (no,))
    _embed(connection, todo, embedder)


def _hash(*parts: object) -> bytes:
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).digest()


def _put(connection: sqlite3.Connection, passage: Passage, content: bytes, embedded: bytes) -> int:
    """Write a passage, in place of an older one with its id; returns its number."""
    id_, entities = passage["id"], json.dumps(passage["entities"], ensure_ascii=False)
    connection.execute(
        "INSERT INTO passages (id, title, section, text, entities, content, embedded) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET title = excluded.title, section = excluded.section, text = excluded.text,"
        " entities = excluded.entities, content = excluded.content, embedded = excluded.embedded",
        (id_, passage["title"], passage["section"], passage["text"], entities, content, embedded),
    )
    no = int(connection.execute("SELECT no FROM passages WHERE id = ?", (id_,)).fetchone()[0])
    connection.execute("DELETE FROM links WHERE passage = ?", (no,))
    connection.executemany("INSERT OR IGNORE INTO entities (id) VALUES (?)", [(one,) for one in passage["entities"]])
    connection.executemany(
        "INSERT OR IGNORE INTO links (passage, entity) SELECT ?, no FROM entities WHERE id = ?",
        [(no, one) for one in passage["entities"]],
    )
    return no


def _embed(connection: sqlite3.Connection, todo: list[tuple[int, Passage]], embedder: Embedder) -> None:
    if not todo:
        return
    windows = [windows_of(embedder, passage["text"], title_prefix(passage)) for _, passage in todo]
    vectors = embed_array(embedder, [window for group in windows for window in group])
    start = 0
    for (no, _), group in zip(todo, windows, strict=True):
        blob = vectors[start : start + len(group)].astype(VECTOR_TYPE).tobytes()
        connection.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?)", (no, blob))
        start += len(group)
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('dimensions', ?)", (str(vectors.shape[1]),))


def _finish(connection: sqlite3.Connection) -> TextInfo:
    connection.execute("BEGIN")
    with connection:
        connection.execute("DELETE FROM vectors WHERE passage NOT IN (SELECT no FROM seen)")
        connection.execute("DELETE FROM links WHERE passage NOT IN (SELECT no FROM seen)")
        connection.execute("DELETE FROM passages WHERE no NOT IN (SELECT no FROM seen)")
        connection.execute("DELETE FROM entities WHERE no NOT IN (SELECT entity FROM links)")
        meta = dict(connection.execute("SELECT key, value FROM meta"))
        digest = hashlib.sha256(f"{FORMAT}\0{meta['embedder']}\0".encode())
        passages = vectors = 0
        rows = connection.execute(
            "SELECT p.id, p.content, length(v.vector) FROM passages p JOIN vectors v ON v.passage = p.no ORDER BY p.id"
        )
        for id_, content, size in rows:
            digest.update(id_.encode() + b"\0" + content)
            passages += 1
            vectors += size
        (entities,) = connection.execute("SELECT count(*) FROM entities").fetchone()
        dimensions = int(meta.get("dimensions", 0))
        item = np.dtype(VECTOR_TYPE).itemsize
        facts = {
            "fingerprint": digest.hexdigest()[:32],
            "passages": str(passages),
            "entities": str(entities),
            "dimensions": str(dimensions),
            "vectors": str(vectors // (dimensions * item) if dimensions else 0),
        }
        connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(facts.items()))
    connection.execute("ANALYZE")
    return {"name": meta["name"], "fingerprint": facts["fingerprint"], "passages": passages, "entities": entities}
