"""The text store of a knowledge base folder: passages and their vectors in one SQLite file."""

from __future__ import annotations

import json
import logging
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from thinkgraph.errors import KnowledgeError, StoreError
from thinkgraph.tools.encoders.embeddings import embed_array
from thinkgraph.tools.encoders.words import WORDS
from thinkgraph.tools.progress import no_progress
from thinkgraph.tools.sqlite.file import ReadOnlyFile
from thinkgraph.tools.sqlite.text_schema import FORMAT, SCANNED, VECTOR_TYPE, clean
from thinkgraph.tools.sqlite.top import Top
from thinkgraph.tools.vectorstores.index import TextIndex

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from thinkgraph.state.knowledge import Passage, PassageHit, TextInfo
    from thinkgraph.tools.progress import Progress
    from thinkgraph.tools.protocols import Embedder

_CHUNK = 512
"""Passages scored at once: what stays in the processor's cache (4,096 take twice as long), however many there are."""
_log = logging.getLogger(__name__)


class SqliteTextStore(AbstractContextManager["SqliteTextStore"]):
    """Reads the file that `thinkgraph.ingest.passages.build_text` wrote. Implements `TextStore`.

    Never writes, so the folder may be read-only. Safe from several threads. Close it, or use it as a context manager.
    Search over the whole store goes through an index in the user's cache, made on first use if `kb build` did not;
    without one (no Chroma, no writable cache) every vector is read, which is slower and exact.
    """

    def __init__(self, path: str | Path, embedder: Embedder) -> None:
        """Open the store; `embedder` must be the one its vectors were made with, or one by words, and is not loaded yet.

        Raises:
            KnowledgeError: There is no text store at `path`, or it has another format or embedder.
        """
        self.path = Path(path)
        self._embedder = embedder
        self._by_words = embedder.name == WORDS
        """Whether the vectors cannot be used, because nothing can encode a query: then texts are encoded as they are read."""
        if not self.path.is_file():
            raise KnowledgeError(f"there is no text store at {self.path}: build it with `thinkgraph kb build`")
        self._pool = ReadOnlyFile(self.path)
        try:
            with self._pool.connection() as connection:
                meta = dict(connection.execute("SELECT key, value FROM meta"))
        except StoreError as error:
            self.close()
            raise KnowledgeError(
                f"{self.path} is not a readable text store: build it again with `thinkgraph kb build`"
            ) from error
        problem = None
        if meta.get("format") != FORMAT:
            problem = f"has format {meta.get('format')}, this version reads {FORMAT}: build it again"
        elif "fingerprint" not in meta:
            problem = "is unfinished: run `thinkgraph kb build` again"
        elif not self._by_words and meta.get("embedder") != embedder.name:
            problem = (
                f"was built with the embedder {meta.get('embedder')!r}, not {embedder.name!r}: "
                "open it with that one or build it again"
            )
        if problem:
            self.close()
            raise KnowledgeError(f"the text store {self.path} {problem}")
        try:
            self._info: TextInfo = {
                "name": meta["name"],
                "fingerprint": meta["fingerprint"],
                "passages": int(meta["passages"]),
                "entities": int(meta["entities"]),
            }
            self.dimensions = int(meta["dimensions"])
            """Length of the stored vectors."""
            self.vector_count = int(meta["vectors"])
            """How many vectors are stored, all windows of all passages."""
        except (KeyError, ValueError) as error:
            self.close()
            raise KnowledgeError(f"the text store {self.path} is damaged ({error}): build it again") from None
        self._index = TextIndex(self._info, self.vector_count, self.vectors)

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and the index; later calls raise `StoreError`."""
        self._pool.close()
        index = getattr(self, "_index", None)
        if index is not None:
            index.close()

    def info(self) -> TextInfo:
        """Name, fingerprint and counts, as stored."""
        return self._info.copy()

    def passages(self, ids: Sequence[str]) -> list[Passage | None]:
        """The passages with these ids; None for an id the store does not have."""
        if not ids:
            return []
        cleaned = [clean(id_) for id_ in ids]
        with self._pool.connection() as connection:
            found = {passage["id"]: passage for _, passage in _read(connection, "id", sorted(set(cleaned)))}
        out: list[Passage | None] = []
        for id_ in cleaned:
            passage = found.get(id_)
            # Each its own copy: callers may change what they get.
            out.append(None if passage is None else {**passage, "entities": [*passage["entities"]]})
        return out

    def passages_of(self, entities: Sequence[str], query: str, *, limit: int = 50) -> list[PassageHit]:
        """The `limit` passages nearest to `query` among those of `entities`, best first; exact.

        The score is the cosine of query and passage, of its best window where it has several, to six decimals; equal
        scores are ordered by id.
        """
        if not entities or limit < 1 or not self._info["passages"]:
            return []
        wanted = {clean(id_) for id_ in entities}
        vector = embed_array(self._embedder, [query])[0]
        top = Top(limit)
        with self._pool.connection() as connection:
            rows = connection.execute(
                "SELECT v.passage, v.vector FROM (SELECT DISTINCT l.passage FROM json_each(?) j"
                " CROSS JOIN entities e ON e.id = j.value CROSS JOIN links l ON l.entity = e.no ORDER BY l.passage) p"
                " CROSS JOIN vectors v ON v.passage = p.passage",
                (json.dumps(sorted(wanted)),),
            )
            for numbers, windows, firsts in self._chunks(rows):
                top.add(numbers, np.maximum.reduceat(windows @ vector, firsts))
            hits = self._hits(connection, top.numbers(), vector, limit)
        if any(wanted.isdisjoint(hit["passage"]["entities"]) for hit in hits):
            raise self._damaged("passages about others")
        return hits

    def search(self, queries: Sequence[str], *, limit: int = 10) -> list[list[PassageHit]]:
        """The `limit` passages nearest to each query, best first, by the index or, where there is none, by reading all."""
        if not queries:
            return []
        if limit < 1 or not self._info["passages"]:
            return [[] for _ in queries]
        vectors = embed_array(self._embedder, queries)
        near = self._nearest(vectors, limit)
        with self._pool.connection() as connection:
            if near is None:
                near = self._scan(connection, vectors, limit)
            return [
                self._hits(connection, numbers, vector, limit) for numbers, vector in zip(near, vectors, strict=True)
            ]

    def build_index(self, progress: Progress = no_progress) -> None:
        """Make the index for `search` in the user's cache, unless it is there or the store is small enough to be read.

        Raises:
            KnowledgeError: Chroma is missing or fails, or the cache cannot be written.
        """
        if self.vector_count > SCANNED:
            self._index.build(progress)

    def vectors(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """All stored vectors in chunks: the number of the passage each belongs to, shape (n,), and (n, dimensions)."""
        with self._pool.connection() as connection:
            rows = connection.execute("SELECT passage, vector FROM vectors ORDER BY passage")
            for numbers, windows, firsts in self._chunks(rows):
                counts = np.diff([*firsts, len(windows)])
                yield np.repeat(numbers, counts), windows

    def _nearest(self, vectors: NDArray[np.float32], limit: int) -> list[list[int]] | None:
        if self.vector_count <= SCANNED or self._by_words:
            return None
        try:
            return self._index.nearest(vectors, limit)
        except KnowledgeError as error:
            _log.warning("searching without an index: %s", error)
            return None

    def _scan(self, connection: sqlite3.Connection, vectors: NDArray[np.float32], limit: int) -> list[list[int]]:
        tops = [Top(limit) for _ in vectors]
        rows = connection.execute("SELECT passage, vector FROM vectors ORDER BY passage")
        for numbers, windows, firsts in self._chunks(rows):
            scores = np.maximum.reduceat(windows @ vectors.T, firsts, axis=0)
            for column, top in enumerate(tops):
                top.add(numbers, scores[:, column])
        return [top.numbers() for top in tops]

    def _hits(
        self, connection: sqlite3.Connection, numbers: list[int], vector: NDArray[np.float32], limit: int
    ) -> list[PassageHit]:
        """The best `limit` of a few passages, scored in double precision: one score however they were found."""
        rows = connection.execute(
            "SELECT v.passage, v.vector FROM json_each(?) j CROSS JOIN vectors v ON v.passage = j.value",
            (json.dumps(numbers),),
        )
        scores: dict[int, float] = {}
        for found, windows, firsts in self._chunks(rows):
            exact = np.maximum.reduceat(windows.astype(np.float64) @ vector.astype(np.float64), firsts)
            scores.update(zip(found.tolist(), np.round(exact, 6).tolist(), strict=True))
        hits: list[PassageHit] = [
            {"passage": passage, "score": scores[no]} for no, passage in _read(connection, "no", list(scores))
        ]
        return sorted(hits, key=lambda hit: (-hit["score"], hit["passage"]["id"]))[:limit]

    def _damaged(self, what: str) -> StoreError:
        return StoreError(f"{self.path} is damaged ({what}); build or copy the knowledge base again")

    def _chunks(
        self, rows: sqlite3.Cursor
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]]:
        """Passages' numbers, their windows' vectors one below the other, and the row where each passage begins."""
        size = self.dimensions * np.dtype(VECTOR_TYPE).itemsize
        while chunk := rows.fetchmany(_CHUNK):
            if self._by_words:
                yield self._worded([number for number, _ in chunk])
                continue
            windows = np.frombuffer(b"".join([blob for _, blob in chunk]), VECTOR_TYPE).reshape(-1, self.dimensions)
            if not np.isfinite(windows).all():
                raise self._damaged("vectors")
            counts = np.fromiter((len(blob) // size for _, blob in chunk), np.int64, len(chunk))
            numbers = np.fromiter((number for number, _ in chunk), np.int64, len(chunk))
            yield numbers, windows.astype(np.float32), np.cumsum(counts) - counts

    def _worded(self, numbers: list[int]) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
        with self._pool.connection() as connection:
            texts = {no: f"{one['title']}: {one['text']}" for no, one in _read(connection, "no", numbers)}
        windows = embed_array(self._embedder, [texts[number] for number in numbers])
        return np.asarray(numbers, np.int64), windows, np.arange(len(numbers))


def _read(connection: sqlite3.Connection, key: str, values: Sequence[str | int]) -> Iterator[tuple[int, Passage]]:
    rows = connection.execute(
        "SELECT p.no, p.id, p.entities, p.title, p.section, p.text"
        f" FROM json_each(?) j CROSS JOIN passages p ON p.{key} = j.value",
        (json.dumps(values),),
    )
    for no, id_, entities, title, section, text in rows:
        yield no, {"id": id_, "entities": json.loads(entities), "title": title, "section": section, "text": text}
