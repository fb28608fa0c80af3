"""Builds the text side of a knowledge base: passages, the entities they are about, and their vectors, in one file."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thinkgraph.errors import KnowledgeError
from thinkgraph.tools.encoders.embeddings import WindowedEmbedder, embed_array, split_words
from thinkgraph.tools.sqlite.text_schema import FORMAT, SCHEMA, VECTOR_TYPE, clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from thinkgraph.state.knowledge import Passage, TextInfo
    from thinkgraph.tools.progress import Progress
    from thinkgraph.tools.protocols import Embedder

_BATCH = 256
"""Passages per commit: what a killed build loses, a few seconds of encoding."""


class _Row(NamedTuple):
    no: int
    content: bytes
    embedded: bytes
    entities: list[str]


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
    finished store holds with the same title and text. Passages that no longer come are removed. Identical passages
    under one id are merged, their entities united.

    Args:
        path: The file to write, by custom `text.sqlite`.
        passages: Read once, streamed; ids must be unique, texts may hold anything.
        embedder: Makes the vectors, of "title: text"; longer texts get one vector per window.
        progress: Told of every batch.
        total: How many passages will come, if known.
        name: The store's name for people; the folder's name if not given.
        stage: What the progress calls this work.

    Returns:
        What the store now says about itself. The fingerprint depends on content and embedder, not on order.

    Raises:
        KnowledgeError: The file cannot be written, two passages share an id, or the embedder fails.
    """
    working = path.with_name(path.name + ".building")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not working.exists() and path.exists():
            shutil.copyfile(path, working)
        with closing(_open(working)) as connection:
            _prepare(connection, embedder.name, name or path.resolve().parent.name)
            _write_all(connection, passages, embedder, lambda done: progress(stage, done, total))
            info = _finish(connection)
        working.replace(path)
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise KnowledgeError(f"cannot write {path}: {reason}; mend that and run the same command again") from error
    return info


def embedded_text(passage: Passage) -> str:
    """The text a passage's vector is made from where it fits the encoder's window: its title, a colon, the text."""
    return _prefix(passage) + passage["text"]


def _prefix(passage: Passage) -> str:
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
    with _transaction(connection):
        if row is not None and row[0] != embedder:
            connection.execute("DELETE FROM vectors")
            connection.execute("UPDATE passages SET content = x'', embedded = x''")
            connection.execute("DELETE FROM meta WHERE key = 'dimensions'")
        connection.executemany(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)",
            [("format", FORMAT), ("embedder", embedder), ("name", clean(name))],
        )
    connection.execute("CREATE TEMP TABLE seen (no INTEGER PRIMARY KEY)")


def _write_all(
    connection: sqlite3.Connection,
    passages: Iterable[Passage],
    embedder: Embedder,
    told: Callable[[int], None],
) -> None:
    stream = iter(passages)
    done = 0
    told(0)
    while batch := list(islice(stream, _BATCH)):
        with _transaction(connection):
            _write(connection, _merged(map(_cleaned, batch)), embedder)
        done += len(batch)
        told(done)


def _cleaned(passage: Passage) -> Passage:
    try:
        return {
            "id": clean(passage["id"]),
            # `clean` refuses what is no string; a string in place of the list would be taken for its letters.
            "entities": list(dict.fromkeys(map(clean, _listed(passage["entities"])))),
            "title": clean(passage["title"]),
            "section": clean(passage["section"]),
            "text": clean(passage["text"]),
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise KnowledgeError(f"a passage is malformed ({error}): {str(passage)[:120]!r}") from error


def _listed(entities: object) -> list[str]:
    if isinstance(entities, list | tuple):
        return list(entities)
    raise TypeError("`entities` must be a list of ids")


def _merged(batch: Iterable[Passage]) -> list[Passage]:
    by_id: dict[str, Passage] = {}
    for passage in batch:
        known = by_id.setdefault(passage["id"], passage)
        if known is not passage:
            _same_or_refuse(passage, known)
            known["entities"] = list(dict.fromkeys([*known["entities"], *passage["entities"]]))
    return list(by_id.values())


def _same_or_refuse(one: Passage, other: Passage) -> None:
    if any(one[key] != other[key] for key in ("title", "section", "text")):
        raise KnowledgeError(
            f"two different passages have the id {one['id'][:80]!r}: give each passage an id of its own"
        )


def _write(connection: sqlite3.Connection, batch: list[Passage], embedder: Embedder) -> None:
    known = _known(connection, [passage["id"] for passage in batch])
    seen = {
        no
        for (no,) in connection.execute(
            "SELECT no FROM seen WHERE no IN (SELECT value FROM json_each(?))",
            (json.dumps([row.no for row in known.values()]),),
        )
    }
    todo: list[tuple[int, Passage]] = []
    for passage in batch:
        row = known.get(passage["id"])
        if row is not None and row.no in seen:
            _same_or_refuse(passage, _read(connection, row.no))
            passage["entities"] = list(dict.fromkeys([*row.entities, *passage["entities"]]))
        content, embedded = _hash(passage, whole=True), _hash(passage, whole=False)
        if row is None or row.content != content:
            no = _put(connection, passage, content, embedded, row)
            if row is None or row.embedded != embedded:
                todo.append((no, passage))
        else:
            no = row.no
        connection.execute("INSERT OR IGNORE INTO seen VALUES (?)", (no,))
    _embed(connection, todo, embedder)


def _known(connection: sqlite3.Connection, ids: list[str]) -> dict[str, _Row]:
    rows = connection.execute(
        "SELECT id, no, content, embedded, entities FROM passages WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(ids),),
    )
    return {row[0]: _Row(row[1], row[2], row[3], json.loads(row[4])) for row in rows}


def _read(connection: sqlite3.Connection, no: int) -> Passage:
    row = connection.execute("SELECT id, entities, title, section, text FROM passages WHERE no = ?", (no,)).fetchone()
    return {"id": row[0], "entities": json.loads(row[1]), "title": row[2], "section": row[3], "text": row[4]}


def _put(connection: sqlite3.Connection, passage: Passage, content: bytes, embedded: bytes, row: _Row | None) -> int:
    entities = json.dumps(passage["entities"], ensure_ascii=False)
    values = (passage["title"], passage["section"], passage["text"], entities, content, embedded)
    if row is None:
        cursor = connection.execute(
            "INSERT INTO passages (title, section, text, entities, content, embedded, id) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*values, passage["id"]),
        )
        no = int(cursor.lastrowid or 0)
    else:
        no = row.no
        connection.execute(
            "UPDATE passages SET title = ?, section = ?, text = ?, entities = ?, content = ?, embedded = ? WHERE no = ?",
            (*values, no),
        )
        connection.execute("DELETE FROM links WHERE passage = ?", (no,))
    connection.executemany("INSERT OR IGNORE INTO entities (id) VALUES (?)", [(id_,) for id_ in passage["entities"]])
    connection.executemany(
        "INSERT OR IGNORE INTO links (passage, entity) SELECT ?, no FROM entities WHERE id = ?",
        [(no, id_) for id_ in passage["entities"]],
    )
    return no


def _embed(connection: sqlite3.Connection, todo: list[tuple[int, Passage]], embedder: Embedder) -> None:
    if not todo:
        return
    windows: list[list[str]] = []
    for _, passage in todo:
        prefix = _prefix(passage)
        split = embedder.windows if isinstance(embedder, WindowedEmbedder) else split_words
        windows.append(split(passage["text"], prefix))
    vectors = embed_array(embedder, [window for group in windows for window in group])
    start = 0
    for (no, _), group in zip(todo, windows, strict=True):
        blob = vectors[start : start + len(group)].astype(VECTOR_TYPE).tobytes()
        connection.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?)", (no, blob))
        start += len(group)
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('dimensions', ?)", (str(vectors.shape[1]),))


def _finish(connection: sqlite3.Connection) -> TextInfo:
    with _transaction(connection):
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


def _hash(passage: Passage, *, whole: bool) -> bytes:
    parts = (
        [passage["id"], passage["title"], passage["section"], passage["text"], passage["entities"]]
        if whole
        else [_prefix(passage), passage["text"]]
    )
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).digest()


class _transaction:  # noqa: N801 - reads as a statement
    """Commit on success, roll back otherwise; sqlite3's own does not begin one."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN")

    def __exit__(self, kind: object, *_: object) -> None:
        self._connection.execute("ROLLBACK" if kind else "COMMIT")
