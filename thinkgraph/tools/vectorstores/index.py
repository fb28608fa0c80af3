"""Approximate search over everything: Chroma indexes in the user's cache, made from vectors that exist already.

Chroma writes even when it only reads and cannot open a read-only folder, so an index never lies in the knowledge base's
folder. It is named by the fingerprint of what it indexes: other content, another index.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from thinkgraph.errors import KnowledgeError, ThinkGraphError
from thinkgraph.tools.cache import cache_folder, file_lock
from thinkgraph.tools.encoders.embeddings import one_line
from thinkgraph.tools.progress import no_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from thinkgraph.state.knowledge import Entity, Passage, TextInfo
    from thinkgraph.tools.progress import Progress
    from thinkgraph.tools.protocols import TextStore

    Numbers: TypeAlias = NDArray[np.int64]
    Vectors: TypeAlias = NDArray[np.float32]

_COLLECTION = "thinkgraph"
_FORMAT = 1
_MARKER = "complete.json"
_HNSW = {"space": "cosine", "ef_construction": 200, "ef_search": 200, "max_neighbors": 32}
"""Denser than Chroma's default, which loses a vector that lies apart from many equally near ones."""
_BATCH = 2048


@contextmanager
def chroma_errors(raised: type[ThinkGraphError], what: str) -> Iterator[None]:
    """Turn whatever Chroma raises into one line: what failed, and why."""
    try:
        from chromadb.errors import ChromaError
    # Chroma's dependencies fail in ways of their own on old systems (a SQLite that is too old is a RuntimeError).
    except (ImportError, RuntimeError) as error:
        raise KnowledgeError(
            f"chromadb cannot be loaded ({one_line(error)}): `pip install 'thinkgraph[chroma]'`"
        ) from error
    try:
        yield
    except (ChromaError, OSError, ValueError, RuntimeError) as error:
        raise raised(f"{what}: {one_line(error)}") from error


def chroma_client(folder: Path) -> Any:
    """Chroma's database in a folder; close it."""
    import chromadb
    from chromadb.config import Settings

    return chromadb.PersistentClient(path=str(folder), settings=Settings(anonymized_telemetry=False))


def index_folder(fingerprint: str) -> Path:
    """Where the index of a text store lies."""
    return cache_folder("index", f"text-{fingerprint}")


def is_complete(folder: Path) -> bool:
    """Whether the index in a folder was built to its end by a version that wrote as this one does."""
    try:
        return bool(json.loads((folder / _MARKER).read_text())["format"] == _FORMAT)
    except (OSError, ValueError, KeyError, TypeError):
        return False


class TextIndex:
    """The index over all vectors of a text store, one entry per window. Safe from several threads and processes."""

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
        self._folder = index_folder(info["fingerprint"])
        self._failed = f"the search index {self._folder} failed (delete that folder and try again)"
        self._lock = Lock()
        self._client: Any = None
        self._collection: Any = None

    def build(self, progress: Progress = no_progress) -> None:
        """Open it, built from the stored vectors if it is not complete; a half-built one is thrown away.

        Raises:
            KnowledgeError: Chroma is missing or fails, or the cache cannot be written.
        """
        folder = self._folder
        with self._lock:
            if self._collection is not None:
                return
            try:
                with file_lock(folder.with_name(folder.name + ".lock")), chroma_errors(KnowledgeError, self._failed):
                    complete = is_complete(folder)
                    if not complete and folder.exists():
                        shutil.rmtree(folder)
                    folder.mkdir(parents=True, exist_ok=True)
                    self._client = chroma_client(folder)
                    collection = self._client.get_or_create_collection(
                        _COLLECTION, configuration={"hnsw": _HNSW}, embedding_function=None
                    )
                    if not complete:
                        self._fill(collection, progress)
                        (folder / _MARKER).write_text(json.dumps({"format": _FORMAT, "vectors": collection.count()}))
                    self._collection = collection
            finally:
                if self._collection is None:
                    self._release()

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
            with chroma_errors(KnowledgeError, self._failed):
                places = self._collection.query(query_embeddings=vectors, n_results=ask, include=[])["ids"]
            found = [list(dict.fromkeys(int(id_.partition(":")[0]) for id_ in ids)) for ids in places]
            if ask >= self._count or all(len(numbers) >= wanted for numbers in found):
                return found
            ask = min(self._count, ask * 4)

    def _release(self) -> None:
        client, self._client, self._collection = self._client, None, None
        if client is not None:
            client.close()

    def close(self) -> None:
        """Close Chroma's files; the index can be opened again."""
        with self._lock:
            self._release()


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
