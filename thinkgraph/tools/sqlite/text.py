"""The text store of a knowledge base folder: passages, their words for full text, and vectors as they are needed."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thinkgraph.errors import KnowledgeError, StoreError
from thinkgraph.state.knowledge import Passage, PassageHit, TextInfo
from thinkgraph.tools.encoders.embeddings import embed_array, embed_queries
from thinkgraph.tools.encoders.weights import NO_ENCODER
from thinkgraph.tools.encoders.windows import windows_of
from thinkgraph.tools.encoders.words import WORDS
from thinkgraph.tools.linking.lexical import query_tokens
from thinkgraph.tools.progress import Progress, no_progress
from thinkgraph.tools.protocols import Closing, Embedder, closed_on_error
from thinkgraph.tools.sqlite.encodings import StoredVectors
from thinkgraph.tools.sqlite.file import ReadOnlyFile, chunks, phrase
from thinkgraph.tools.sqlite.text_schema import FORMAT, VECTOR_TYPE, clean, own_passage, title_prefix

Vectors = dict[int, NDArray[np.float16]]

RANKED = 128
"""Passages ranked for one query where not all are encoded: of more, those whose words fit it best."""

OF_ONE, OF_SEVERAL = 32, 64
"""The same of passages about one entity, and about several together: each has its share. A passage that answers a question was
always among the 16 about its entity that share most words with it (docs/howto/files.md, Vectors)."""

SCANNED = 50_000
"""Passages up to which a search over everything reads all vectors, where all are encoded: under a second."""

_CHUNK = 512
"""Passages scored at once: what stays in the processor's cache (4,096 take twice as long), however many there are."""
_ENCODED = 128
"""Passages whose vectors are kept together: what a killed process loses."""
_AT_ONCE = 2_000_000
"""Characters after which a batch of texts ends, for it is in memory with all its windows."""
_SLACK = 1e-5
"""How far two float32 products of the same vectors may lie apart, several times over."""
_MOST_WORDS = 64
"""Words of a query that are searched."""
_OF = (
    "SELECT l.entity, l.passage FROM json_each(?) j CROSS JOIN entities e ON e.id = j.value"
    " CROSS JOIN links l ON l.entity = e.no ORDER BY l.passage"
)
_BY_WORDS = "SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY rank, rowid LIMIT ?2"
# The plus keeps SQLite from asking the index once for each number.
_BY_WORDS_OF = (
    "SELECT rowid FROM words WHERE words MATCH ?1 AND +rowid IN (SELECT value FROM json_each(?3))"
    " ORDER BY rank, rowid LIMIT ?2"
)
_log = logging.getLogger(__name__)


class SqliteTextStore(Closing):
    """Reads the file that `thinkgraph.ingest.passages.build_text` wrote. Implements `TextStore`.

    Never writes in its file. Vectors are made when passages are first ranked, and kept (`StoredVectors`). Until all are made
    (`encode`), at most `RANKED` passages are ranked for one query: of more, those whose words fit it best. Safe from several
    threads and processes. Close it, or use it as a context manager.
    """

    def __init__(self, path: str | Path, embedder: Embedder) -> None:
        """Open the store; `embedder` must be the one it was built for, or one by words, and is not loaded yet.

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
        with closed_on_error(self.close):
            try:
                with self._pool.connection() as connection:
                    meta = dict(connection.execute("SELECT key, value FROM meta"))
            except StoreError as error:
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
                raise KnowledgeError(f"the text store {self.path} {problem}")
            try:
                self._info: TextInfo = {
                    "name": meta["name"],
                    "fingerprint": meta["fingerprint"],
                    "passages": int(meta["passages"]),
                    "entities": int(meta["entities"]),
                }
                self.vectors = StoredVectors(self.path, meta)
                """Those that were made so far."""
            except (KeyError, ValueError) as error:
                raise KnowledgeError(f"the text store {self.path} is damaged ({error}): build it again") from None
        self._warned = False

    def close(self) -> None:
        """Close the file; later calls raise `StoreError`."""
        self._pool.close()

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
        return [None if (passage := found.get(id_)) is None else own_passage(passage) for id_ in cleaned]

    def passages_of(self, entities: Sequence[str], query: str, *, limit: int = 50) -> list[PassageHit]:
        """The `limit` passages nearest to `query` among those of `entities`, best first.

        The score is the cosine of query and passage, of its best window where it has several, to six decimals; equal
        scores are ordered by id.
        """
        if not entities or limit < 1 or not self._info["passages"]:
            return []
        with self._pool.connection() as connection:
            links = _links(connection, entities)
            if self._exact:
                numbers = list({number for _, number in links})
            else:
                numbers = self._fitting_of(connection, query, links, limit)
            (hits,) = self._best(connection, numbers, [query], limit)
        self._check_owners([hit["passage"] for hit in hits], entities)
        return hits

    def candidates_of(self, entities: Sequence[str], query: str, *, limit: int = 50) -> list[Passage]:
        """Passages of `entities` to be ranked: the nearest to `query` where all are encoded, else those that share most words with it,
        each entity's best in turn.
        """
        if self._exact:
            return [hit["passage"] for hit in self.passages_of(entities, query, limit=limit)]
        if not entities or limit < 1 or not self._info["passages"]:
            return []
        with self._pool.connection() as connection:
            best = list(_in_turn(connection, query, _links(connection, entities)))[:limit]
            found = [passage for _, passage in _read(connection, "no", best)]
        self._check_owners(found, entities)
        return found

    def search(self, queries: Sequence[str], *, limit: int = 10) -> list[list[PassageHit]]:
        """The `limit` passages nearest to each query, best first."""
        if not queries or limit < 1 or not self._info["passages"]:
            return [[] for _ in queries]
        with self._pool.connection() as connection:
            if self._exact and self._info["passages"] <= SCANNED:
                return self._best(connection, self._all(connection), queries, limit)
            return [
                self._best(connection, self._fitting(connection, query, limit), [query], limit)[0] for query in queries
            ]

    def encode(self, progress: Progress = no_progress, stage: str = "text") -> int:
        """Make all vectors that are not there yet; what a killed process made is kept. Searches are exact from then on.

        Returns:
            How many passages were encoded now.

        Raises:
            KnowledgeError: they cannot be kept, or the embedder fails.
        """
        if self._by_words:
            raise KnowledgeError(NO_ENCODER)
        known: Vectors = {}
        count, total = 0, self._info["passages"]
        progress(stage, 0, total)
        with self._pool.connection() as connection:
            numbers = self._all(connection)
            for at in range(0, total, _ENCODED):
                part = numbers[at : at + _ENCODED]
                known = (found := self.vectors.read(connection, part)) or known
                made = self._made(connection, sorted(set(part) - found.keys()))
                for rows in islice(made.values(), 1):
                    self.vectors.check(known.values(), rows.shape[1])
                self.vectors.keep(connection, made)
                count += len(made)
                progress(stage, at + len(part), total)
        self.vectors.set_whole()
        return count

    @property
    def _exact(self) -> bool:
        """Whether all is ranked."""
        return not self._by_words and self.vectors.whole

    def _all(self, connection: sqlite3.Connection) -> list[int]:
        return [number for (number,) in connection.execute("SELECT no FROM passages ORDER BY no")]

    def _fitting(self, connection: sqlite3.Connection, query: str, limit: int) -> list[int]:
        """At most `RANKED` passages (`limit`, if that is more), those first whose words fit the query.

        Which ones does not depend on what is encoded already: the same question finds the same passages.
        """
        most = max(RANKED, limit)
        found = _sharing_words(connection, query, most) if self._info["passages"] > most else []
        if len(found) < most:
            found = list(dict.fromkeys([*found, *self._all(connection)]))[:most]
        return found

    def _check_owners(self, passages: Sequence[Passage], entities: Sequence[str]) -> None:
        """Raises StoreError where a passage is about none of the entities."""
        wanted = {clean(id_) for id_ in entities}
        if any(wanted.isdisjoint(passage["entities"]) for passage in passages):
            raise self._damaged("passages about others")

    @staticmethod
    def _fitting_of(
        connection: sqlite3.Connection, query: str, links: Sequence[tuple[int, int]], limit: int
    ) -> list[int]:
        """As `_fitting`, of the passages linked to entities: at most `OF_SEVERAL`, each entity's best in turn."""
        numbers = {number for _, number in links}
        if len(numbers) <= max(OF_ONE, limit):
            return list(numbers)
        return [
            number
            for place, (number, turn) in enumerate(_in_turn(connection, query, links).items())
            if place < limit or (turn < OF_ONE and place < OF_SEVERAL)
        ]

    def _best(
        self, connection: sqlite3.Connection, numbers: list[int], queries: Sequence[str], limit: int
    ) -> list[list[PassageHit]]:
        """The best `limit` of these passages for each query, scored in double precision at the end: one score however
        they were found.
        """
        vectors, _ = embed_queries(self._embedder, queries)
        every, scores = [np.empty(0, np.int64)], [np.empty((0, len(queries)), np.float32)]
        for found, windows, firsts in self._chunks(connection, numbers, vectors.shape[1]):
            every.append(found)
            scores.append(np.maximum.reduceat(windows @ vectors.T, firsts, axis=0))
        return [
            self._hits(connection, _top(np.concatenate(every), column, limit), vector, limit)
            for column, vector in zip(np.concatenate(scores).T, vectors, strict=True)
        ]

    def _hits(
        self, connection: sqlite3.Connection, numbers: list[int], vector: NDArray[np.float32], limit: int
    ) -> list[PassageHit]:
        scores: dict[int, float] = {}
        for found, windows, firsts in self._chunks(connection, numbers, len(vector)):
            exact = np.maximum.reduceat(windows.astype(np.float64) @ vector.astype(np.float64), firsts)
            scores.update(zip(found.tolist(), np.round(exact, 6).tolist(), strict=True))
        hits: list[PassageHit] = [
            {"passage": passage, "score": scores[no]} for no, passage in _read(connection, "no", list(scores))
        ]
        return sorted(hits, key=lambda hit: (-hit["score"], hit["passage"]["id"]))[:limit]

    def _damaged(self, what: str) -> StoreError:
        return StoreError(f"{self.path} is damaged ({what}); build or copy the knowledge base again")

    def _chunks(
        self, connection: sqlite3.Connection, numbers: Sequence[int], dimensions: int
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]]:
        """Passages' numbers, their windows' vectors one below the other, and the row where each passage begins."""
        for part in chunks(sorted(numbers), _CHUNK):
            found = {} if self._by_words else self.vectors.read(connection, part)
            # Before more are made and kept: those of two lengths could not be told apart.
            self.vectors.check(found.values(), dimensions)
            if missing := [number for number in part if number not in found]:
                found |= self._kept(connection, self._made(connection, missing))
            windows = [found[number] for number in part]
            counts = np.fromiter(map(len, windows), np.int64, len(windows))
            rows = np.concatenate(windows).astype(np.float32)
            if not np.isfinite(rows).all():
                raise self._damaged("vectors")
            yield np.asarray(part, np.int64), rows, np.cumsum(counts) - counts

    def _kept(self, connection: sqlite3.Connection, made: Vectors) -> Vectors:
        """Vectors that were just made. Where they cannot be kept the question goes on, and says so once."""
        if self._by_words:
            return made
        try:
            self.vectors.keep(connection, made)
        except KnowledgeError as error:
            if not self._warned:
                _log.warning("%s", error)
            self._warned = True
        return made

    def _made(self, connection: sqlite3.Connection, numbers: list[int]) -> Vectors:
        made: Vectors = {}
        passages = _read(connection, "no", numbers)
        while batch := _batch(passages):
            windows = [windows_of(self._embedder, one["text"], title_prefix(one)) for _, one in batch]
            vectors = embed_array(self._embedder, [one for group in windows for one in group]).astype(VECTOR_TYPE)
            ends = np.cumsum([len(group) for group in windows])
            made |= {number: rows for (number, _), rows in zip(batch, np.split(vectors, ends[:-1]), strict=True)}
        return made


def _top(numbers: NDArray[np.int64], scores: NDArray[np.float32], limit: int) -> list[int]:
    """The numbers with the `limit` best scores, and all that are too near to the last of them to be told apart.

    Single precision depends on how a product was cut into blocks, so that the caller scores these few again.
    """
    if len(scores) > limit:
        numbers = numbers[scores >= np.partition(scores, -limit)[-limit] - _SLACK]
    kept: list[int] = numbers.tolist()
    return kept


def _batch(passages: Iterator[tuple[int, Passage]]) -> list[tuple[int, Passage]]:
    """The next passages that are encoded at once."""
    batch: list[tuple[int, Passage]] = []
    characters = 0
    for number, passage in passages:
        batch.append((number, passage))
        characters += len(passage["text"])
        if characters > _AT_ONCE:
            break
    return batch


def _links(connection: sqlite3.Connection, entities: Sequence[str]) -> list[tuple[int, int]]:
    """Entities and passages about them, each by its number."""
    return connection.execute(_OF, (json.dumps(sorted({clean(id_) for id_ in entities})),)).fetchall()


def _in_turn(connection: sqlite3.Connection, query: str, links: Sequence[tuple[int, int]]) -> dict[int, int]:
    """The passages of entities, each entity's best by words in turn, with the turn that each is taken in."""
    fitting = _sharing_words(connection, query, -1, {number for _, number in links})
    order = {number: place for place, number in enumerate(fitting)}
    seen: Counter[int] = Counter()
    turns: list[tuple[int, int]] = []
    for entity, number in sorted(links, key=lambda link: (order.get(link[1], len(order)), link[1])):
        turns.append((seen[entity], number))
        seen[entity] += 1
    best: dict[int, int] = {}
    for turn, number in sorted(turns, key=lambda one: one[0]):
        best.setdefault(number, turn)
    return best


def _sharing_words(
    connection: sqlite3.Connection, query: str, most: int, numbers: Collection[int] | None = None
) -> list[int]:
    """Passages that share words with the query, of these or of all, best first; all of them where `most` is -1."""
    words = list(dict.fromkeys(query_tokens(query)))[:_MOST_WORDS]
    if not words:
        return []
    match = " OR ".join(map(phrase, words))
    sql, more = (_BY_WORDS, ()) if numbers is None else (_BY_WORDS_OF, (json.dumps(list(numbers)),))
    return [number for (number,) in connection.execute(sql, (match, most, *more))]


def _read(connection: sqlite3.Connection, key: str, values: Sequence[str | int]) -> Iterator[tuple[int, Passage]]:
    rows = connection.execute(
        "SELECT p.no, p.id, p.entities, p.title, p.section, p.text"
        f" FROM json_each(?) j CROSS JOIN passages p ON p.{key} = j.value",
        (json.dumps(values),),
    )
    for no, id_, entities, title, section, text in rows:
        yield no, {"id": id_, "entities": json.loads(entities), "title": title, "section": section, "text": text}
