"""Approximate search over everything: Chroma indexes in the user's cache, made from vectors that exist already.

Chroma writes even when it only reads and cannot open a read-only folder, so an index never lies in the knowledge base's
folder. It is named by the fingerprint of what it indexes: other content, another index.
"""

from __future__ import annotations

import json
import shutil
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from thinkgraph.errors import KnowledgeError
from thinkgraph.tools.cache import cache_folder, file_lock
from thinkgraph.tools.encoders.embeddings import one_line
from thinkgraph.tools.progress import no_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from thinkgraph.state.knowledge import Entity, Passage, TextInfo
    from thinkgraph.tools.progress import Progress
    from thinkgraph.tools.protocols import TextStore

    Numbers: TypeAlias = NDArray[np.int64]
    Vectors: TypeAlias = NDArray[np.float32]

_COLLECTION = "thinkgraph"
_FORMAT = 1
_HNSW = {"space": "cosine", "ef_construction": 200, "ef_search": 200, "max_neighbors": 32}
"""Denser than Chroma's default, which loses a vector that lies apart from many equally near ones."""
_BATCH = 2048


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

    def open(self, fill: Callable[[Any], None]) -> None:
        """Open the collection, built by `fill(collection)` if it is not complete; a half-built one is thrown away.

        Raises:
            KnowledgeError: Chroma is missing or fails, or the cache cannot be written.
        """
        with self._lock:
            if self._collection is None:
                with file_lock(self.folder.with_name(self.folder.name + ".lock")):
                    self._open_or_build(fill)

    def _open_or_build(self, fill: Callable[[Any], None]) -> None:
        try:
            import chromadb
            from chromadb.config import Settings
            from chromadb.errors import ChromaError
        # Chroma's dependencies fail in ways of their own on old systems (a SQLite that is too old is a RuntimeError).
        except (ImportError, RuntimeError) as error:
            raise KnowledgeError(f"chromadb cannot be loaded ({one_line(error)}): `pip install chromadb`") from error
        complete = self.complete()
        try:
            if not complete and self.folder.exists():
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

    def query(self, vectors: NDArray[np.float32], limit: int) -> list[list[str]]:
        """Ids of the `limit` vectors nearest to each row, best first; the index must be open.

        Raises:
            KnowledgeError: Chroma fails.
        """
        from chromadb.errors import ChromaError

        try:
            found: list[list[str]] = self._collection.query(query_embeddings=vectors, n_results=limit, include=[])[
                "ids"
            ]
        except (ChromaError, OSError, ValueError, RuntimeError) as error:
            raise KnowledgeError(
                f"the search index {self.folder} failed ({one_line(error)}): delete that folder and try again"
            ) from error
        return found

    def _release(self) -> None:
        client, self._client, self._collection = self._client, None, None
        if client is not None:
            client.close()

    def close(self) -> None:
        """Close Chroma's files; the index can be opened again."""
        with self._lock:
            self._release()


class TextIndex:
    """The index over all vectors of a text store, one entry per window."""

    def __init__(self, info: TextInfo, count: int, vectors: Callable[[], Iterable[tuple[Numbers, Vectors]]]) -> None:
        """Name it after the store's fingerprint; nothing is opened yet.

        Args:
            info: what the store says of itself.
            count: how many vectors it has.
            vectors: gives them all in chunks: the number of the passage each belongs to, and the vectors.
        """
        self._passages = info["passages"]
        self._count = count
        self._vectors = vectors
        self._index = ChromaIndex("text", info["fingerprint"])

    def complete(self) -> bool:
        """Whether it is there; loads nothing."""
        return self._index.complete()

    def build(self, progress: Progress = no_progress) -> None:
        """Build it from the stored vectors, unless it is there, and open it.

        Raises:
            KnowledgeError: Chroma is missing or fails, or the cache cannot be written.
        """
        self._index.open(lambda collection: self._fill(collection, progress))

    def _fill(self, collection: Any, progress: Progress) -> None:
        done, last, window = 0, -1, 0
        progress("index", 0, self._count)
        for numbers, vectors in self._vectors():
            ids = []
            for number in numbers.tolist():
                window = window + 1 if number == last else 0
                last = number
                ids.append(f"{number}:{window}")
            for start in range(0, len(ids), _BATCH):
                collection.add(ids=ids[start : start + _BATCH], embeddings=vectors[start : start + _BATCH])
                done += len(ids[start : start + _BATCH])
                progress("index", done, self._count)

    def nearest(self, vectors: NDArray[np.float32], limit: int) -> list[list[int]]:
        """The numbers of the passages nearest to each row of `vectors`: at least `limit`, where the store has them.

        Raises:
            KnowledgeError: As `build`.
        """
        self.build()
        # A passage of many windows takes several places: ask for more, and again if that was not enough.
        wanted, ask = min(limit, self._passages), min(self._count, limit * 2)
        while True:
            found = [
                list(dict.fromkeys(int(id_.partition(":")[0]) for id_ in ids))
                for ids in self._index.query(vectors, ask)
            ]
            if ask >= self._count or all(len(numbers) >= wanted for numbers in found):
                return found
            ask = min(self._count, ask * 4)

    def close(self) -> None:
        """Close the index's files."""
        self._index.close()


class EntityIndex:
    """Finds entities by what their label and description mean, for mentions that no name explains.

    The vectors lie in the knowledge base (`entities.sqlite`), in the form of a text store: an entity is a passage whose
    title is its label. So they are encoded once, however often the base is copied, and searched as texts are.
    """

    def __init__(self, store: TextStore) -> None:
        """Search `store`, which holds entities written by `entity_passage`."""
        self._store = store

    def nearest(self, texts: Sequence[str], *, limit: int = 10) -> list[list[tuple[Entity, float]]]:
        """The `limit` entities nearest to each text with their cosines, best first. Asks the graph nothing.

        Raises:
            StoreError: the vectors cannot be read.
            KnowledgeError: the embedder fails.
        """
        found = self._store.search(texts, limit=limit)
        return [[(_entity_of(hit["passage"]), hit["score"]) for hit in hits] for hits in found]


def entity_passage(entity: Entity) -> Passage:
    """An entity in the form of a passage; what is encoded of it is `entity_text`."""
    return {
        "id": entity["id"],
        "entities": [],
        "title": entity["label"],
        "section": entity["type"],
        # Never empty, for a text store keeps no passage without a text.
        "text": entity["description"] or entity["label"],
    }


def _entity_of(passage: Passage) -> Entity:
    label, text = passage["title"], passage["text"]
    return {
        "id": passage["id"],
        "label": label,
        "type": passage["section"],
        "description": text if text != label else "",
        "literal": False,
    }


def entity_text(entity: Entity) -> str:
    """What an entity's vector is made from: its label and its description."""
    return f"{entity['label']}: {entity['description']}" if entity["description"] else entity["label"]
