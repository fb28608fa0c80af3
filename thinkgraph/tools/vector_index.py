"""Approximate search over everything: Chroma indexes in the user's cache, made from vectors that exist already.

Chroma writes even when it only reads and cannot open a read-only folder, so an index never lies in the knowledge base's
folder. It is named by the fingerprint of what it indexes: other content, another index.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any

from thinkgraph.errors import KnowledgeError
from thinkgraph.tools.cache import cache_folder, file_lock
from thinkgraph.tools.embeddings import embed_array, one_line
from thinkgraph.tools.progress import no_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from thinkgraph.state.knowledge import Entity
    from thinkgraph.tools.progress import Progress
    from thinkgraph.tools.protocols import Embedder
    from thinkgraph.tools.sqlite_text import SqliteTextStore

_COLLECTION = "thinkgraph"
_FORMAT = 1
_HNSW = {"space": "cosine", "ef_construction": 200, "ef_search": 200, "max_neighbors": 32}
"""Denser than Chroma's default, which loses a vector that lies apart from many equally near ones."""
_BATCH = 2048
_ENTITY_BATCH = 256


class ChromaIndex:
    """One Chroma collection of vectors in one cache folder. Safe from several threads and processes."""

    def __init__(self, kind: str, fingerprint: str) -> None:
        """Name the folder; nothing is opened yet."""
        self.folder: Path = cache_folder("index", f"{kind}-{fingerprint}")
        self._marker = self.folder / "complete.json"
        self._lock = Lock()
        self._client: Any = None
        self._collection: Any = None

    def complete(self) -> bool:
        """Whether the index was built to its end by a version that wrote as this one does."""
        try:
            return bool(json.loads(self._marker.read_text())["format"] == _FORMAT)
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def open(self, fill: Callable[[Any], None], *, keep_partial: bool = False) -> Any:
        """The collection, built by `fill(collection)` if it is not complete.

        A half-built one is thrown away, or handed to `fill` as it is with `keep_partial`.

        Raises:
            KnowledgeError: Chroma is missing or fails, or the cache cannot be written.
        """
        with self._lock:
            if self._collection is None:
                with file_lock(self.folder.with_name(self.folder.name + ".lock")):
                    self._open_or_build(fill, keep_partial=keep_partial)
            return self._collection

    def _open_or_build(self, fill: Callable[[Any], None], *, keep_partial: bool) -> None:
        try:
            import chromadb
            from chromadb.config import Settings
            from chromadb.errors import ChromaError
        # Chroma's dependencies fail in ways of their own on old systems (a SQLite that is too old is a RuntimeError).
        except (ImportError, RuntimeError) as error:
            raise KnowledgeError(f"chromadb cannot be loaded ({one_line(error)}): `pip install chromadb`") from error
        complete = self.complete()
        try:
            if not complete and not keep_partial and self.folder.exists():
                shutil.rmtree(self.folder)
            self.folder.mkdir(parents=True, exist_ok=True)
            self._client = chromadb.PersistentClient(
                path=str(self.folder), settings=Settings(anonymized_telemetry=False)
            )
            collection = self._client.get_or_create_collection(
                _COLLECTION, configuration={"hnsw": _HNSW}, embedding_function=None
            )
            if not complete:
                fill(collection)
                self._marker.write_text(json.dumps({"format": _FORMAT, "vectors": collection.count()}))
            self._collection = collection
        except (ChromaError, OSError, ValueError, RuntimeError) as error:
            self._release()
            raise KnowledgeError(
                f"the search index {self.folder} failed ({one_line(error)}): delete that folder and try again"
            ) from error
        finally:
            if self._collection is None:
                self._release()

    def query(self, vectors: NDArray[np.float32], limit: int) -> list[list[tuple[str, float, Mapping[str, Any]]]]:
        """Ids, cosine similarities and metadata of the `limit` vectors nearest to each row; the index must be open.

        Raises:
            KnowledgeError: Chroma fails.
        """
        from chromadb.errors import ChromaError

        try:
            found = self._collection.query(
                query_embeddings=vectors, n_results=limit, include=["distances", "metadatas"]
            )
        except (ChromaError, OSError, ValueError, RuntimeError) as error:
            raise KnowledgeError(
                f"the search index {self.folder} failed ({one_line(error)}): delete that folder and try again"
            ) from error
        return [
            [(id_, 1 - distance, facts or {}) for id_, distance, facts in zip(*row, strict=True)]
            for row in zip(found["ids"], found["distances"], found["metadatas"], strict=True)
        ]

    def _release(self) -> None:
        client, self._client, self._collection = self._client, None, None
        if client is not None:
            client.close()

    def close(self) -> None:
        """Close Chroma's files; the index can be opened again."""
        with self._lock:
            self._release()


class TextIndex:
    """The index over all vectors of a `SqliteTextStore`, one entry per window."""

    def __init__(self, store: SqliteTextStore) -> None:
        """Name it after the store's fingerprint; nothing is opened yet."""
        self._store = store
        self._index = ChromaIndex("text", store.info()["fingerprint"])

    def build(self, progress: Progress = no_progress) -> None:
        """Build it, unless it is there.

        Raises:
            KnowledgeError: Chroma is missing or fails, or the cache cannot be written.
        """
        self._index.open(lambda collection: self._fill(collection, progress))

    def _fill(self, collection: Any, progress: Progress) -> None:
        total, done, last, window = self._store.vector_count, 0, -1, 0
        progress("index", 0, total)
        for numbers, vectors in self._store.vectors():
            ids = []
            for number in numbers.tolist():
                window = window + 1 if number == last else 0
                last = number
                ids.append(f"{number}:{window}")
            for start in range(0, len(ids), _BATCH):
                collection.add(ids=ids[start : start + _BATCH], embeddings=vectors[start : start + _BATCH])
                done += len(ids[start : start + _BATCH])
                progress("index", done, total)

    def nearest(self, vectors: NDArray[np.float32], limit: int) -> list[list[int]]:
        """The numbers of the passages nearest to each row of `vectors`: at least `limit`, where the store has them.

        Raises:
            KnowledgeError: As `build`.
        """
        self.build()
        # A passage of many windows takes several places: ask for more, and again if that was not enough.
        count, wanted = self._store.vector_count, min(limit, self._store.info()["passages"])
        ask = min(count, limit * 2)
        while True:
            found = [
                list(dict.fromkeys(int(id_.partition(":")[0]) for id_, *_ in hits))
                for hits in self._index.query(vectors, ask)
            ]
            if ask >= count or all(len(numbers) >= wanted for numbers in found):
                return found
            ask = min(count, ask * 4)

    def close(self) -> None:
        """Close the index's files."""
        self._index.close()


def build_index(text_store: SqliteTextStore, progress: Progress = no_progress) -> None:
    """Make the index that `text_store.search` uses, in the user's cache; nothing if it is there.

    Raises:
        KnowledgeError: Chroma is missing or fails, or the cache cannot be written.
    """
    index = TextIndex(text_store)
    try:
        index.build(progress)
    finally:
        index.close()


class EntityIndex:
    """Vectors of entities' labels and descriptions, to link mentions whose words no name shares."""

    def __init__(self, fingerprint: str, embedder: Embedder) -> None:
        """Name the index after the graph's `fingerprint` and the embedder; nothing is opened yet."""
        self._embedder = embedder
        key = hashlib.sha256(f"{fingerprint}\0{embedder.name}".encode()).hexdigest()[:32]
        self._index = ChromaIndex("entities", key)

    def complete(self) -> bool:
        """Whether the index has been built to its end."""
        return self._index.complete()

    def build(self, entities: Iterable[Entity], *, progress: Progress = no_progress, total: int | None = None) -> None:
        """Embed and index `entities` (literals are left out); those of an unfinished build are not embedded again.

        Raises:
            KnowledgeError: Chroma is missing or fails, the cache cannot be written, or the embedder fails.
        """
        self._index.open(lambda collection: self._fill(collection, entities, progress, total), keep_partial=True)

    def _fill(self, collection: Any, entities: Iterable[Entity], progress: Progress, total: int | None) -> None:
        stream = iter(entities)
        done = 0
        progress("entity index", 0, total)
        while batch := list(islice(stream, _ENTITY_BATCH)):
            done += len(batch)
            by_id = {entity["id"]: entity for entity in batch if not entity["literal"]}
            if by_id:
                there = set(collection.get(ids=list(by_id), include=[])["ids"])
                new = [entity for id_, entity in by_id.items() if id_ not in there]
                if new:
                    vectors = embed_array(self._embedder, [entity_text(entity) for entity in new])
                    collection.add(
                        ids=[entity["id"] for entity in new],
                        embeddings=vectors,
                        metadatas=[{key: entity[key] for key in ("label", "type", "description")} for entity in new],
                    )
            progress("entity index", done, total)

    def nearest(self, texts: Sequence[str], *, limit: int = 10) -> list[list[tuple[Entity, float]]]:
        """The `limit` entities nearest to each text with their cosines, best first; none if it was never built.

        The entities come from the index itself, so that linking by meaning asks the graph nothing.

        Raises:
            KnowledgeError: Chroma or the embedder fails.
        """
        if not texts or limit < 1 or not self.complete():
            return [[] for _ in texts]
        self._index.open(lambda _: None)
        vectors = embed_array(self._embedder, texts)
        out: list[list[tuple[Entity, float]]] = []
        for hits in self._index.query(vectors, limit):
            row: list[tuple[Entity, float]] = [
                (
                    {
                        "id": id_,
                        "label": str(facts["label"]),
                        "type": str(facts["type"]),
                        "description": str(facts["description"]),
                        "literal": False,
                    },
                    score,
                )
                for id_, score, facts in hits
            ]
            out.append(sorted(row, key=lambda pair: (-pair[1], pair[0]["id"])))
        return out

    def close(self) -> None:
        """Close the index's files."""
        self._index.close()


def entity_text(entity: Entity) -> str:
    """What an entity's vector is made from: its label and its description."""
    return f"{entity['label']}: {entity['description']}" if entity["description"] else entity["label"]
