"""Builds the text side of a knowledge base: passages, the entities they are about, and their words, in one file."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from thinkgraph.ingest.folder import writing
from thinkgraph.ingest.writers.rows import fast_database
from thinkgraph.state.knowledge import Passage, TextInfo
from thinkgraph.tools.linking.lexical import content_tokens
from thinkgraph.tools.progress import Progress
from thinkgraph.tools.sqlite.text_schema import FORMAT, TABLES, clean, title_prefix

_TOLD = 256
"""Passages after which the progress is told."""


def build_text(
    path: Path,
    passages: Iterable[Passage],
    *,
    embedder: str,
    progress: Progress,
    total: int | None = None,
    name: str | None = None,
    stage: str = "text",
) -> TextInfo:
    """Write `passages` to the text store at `path`, in place of what is there. Nothing is encoded.

    The work goes to a file beside `path`, moved into place at the end, so that readers never see half a store.

    Args:
        path: The file to write, by custom `text.sqlite`.
        passages: Read once, streamed; ids must be unique, and texts what SQLite can keep (see `clean`).
        embedder: Name of the encoder that will rank them.
        progress: Told of every batch.
        total: How many passages will come, if known.
        name: The store's name for people; the folder's name if not given.
        stage: What the progress calls this work.

    Returns:
        What the store now says about itself. The fingerprint depends on content and embedder, not on order.

    Raises:
        KnowledgeError: The file cannot be written.
    """
    working = path.with_name(path.name + ".building")
    meta = {"format": FORMAT, "embedder": embedder, "name": clean(name or path.resolve().parent.name)}
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(fast_database(working)) as db:
            db.executescript(TABLES)
            db.execute("BEGIN")
            done = 0
            progress(stage, done, total)
            # One at a time: a passage may be long.
            for done, passage in enumerate(passages, 1):
                _put(db, done, passage)
                if done % _TOLD == 0:
                    progress(stage, done, total)
            progress(stage, done, total)
            info = _finish(db, meta)
            db.execute("COMMIT")
        working.replace(path)
    return info


def _put(db: sqlite3.Connection, number: int, passage: Passage) -> None:
    title, section, text, entities = passage["title"], passage["section"], passage["text"], passage["entities"]
    content = _hash(passage["id"], title, section, text, entities)
    encoded = title_prefix(passage), text
    listed = json.dumps(entities, ensure_ascii=False)
    row = (number, passage["id"], content, _hash(*encoded), title, section, text, listed)
    db.execute("INSERT INTO passages VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    db.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (number, " ".join(content_tokens("".join(encoded)))))
    db.executemany("INSERT OR IGNORE INTO entities (id) VALUES (?)", [(one,) for one in entities])
    db.executemany(
        "INSERT OR IGNORE INTO links (passage, entity) SELECT ?, no FROM entities WHERE id = ?",
        [(number, one) for one in entities],
    )


def _hash(*parts: object) -> bytes:
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).digest()


def _finish(db: sqlite3.Connection, meta: dict[str, str]) -> TextInfo:
    digest = hashlib.sha256(f"{FORMAT}\0{meta['embedder']}\0".encode())
    passages = 0
    for id_, content in db.execute("SELECT id, content FROM passages ORDER BY id"):
        digest.update(id_.encode() + b"\0" + content)
        passages += 1
    (entities,) = db.execute("SELECT count(*) FROM entities").fetchone()
    fingerprint = digest.hexdigest()[:32]
    facts = {**meta, "fingerprint": fingerprint, "passages": str(passages), "entities": str(entities)}
    db.executemany("INSERT INTO meta VALUES (?, ?)", list(facts.items()))
    db.execute("INSERT INTO words (words) VALUES ('optimize')")
    db.execute("ANALYZE")
    return {"name": meta["name"], "fingerprint": fingerprint, "passages": passages, "entities": entities}
