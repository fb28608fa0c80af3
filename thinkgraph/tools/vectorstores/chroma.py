"""A text store over a Chroma collection that somebody already has."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinkgraph.errors import KnowledgeError, StoreError, ThinkGraphError, first_line
from thinkgraph.state.knowledge import Passage, PassageHit, TextInfo
from thinkgraph.tools.encoders.embeddings import embed_queries, load_embedder
from thinkgraph.tools.protocols import Closing, Embedder, closed_on_error
from thinkgraph.tools.sqlite.file import chunks
from thinkgraph.tools.sqlite.text_schema import own_passage
from thinkgraph.tools.vectorstores.specs import MetadataKeys, parsed

_PAGE = 2000
_SAMPLE = 100
"""Vectors whose mean length stands for that of all."""
_ENTITIES_AT_ONCE = 200
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")
# Up to so many documents are compared one by one: Chroma's index is built in threads, and in about one of a hundred
# builds of a small collection no link in it leads to some of the documents.
_WITHOUT_INDEX = 1000


@contextmanager
def _chroma_errors(raised: type[ThinkGraphError], what: str) -> Iterator[None]:
    """Turn whatever Chroma raises into one line: what failed, and why."""
    try:
        from chromadb.errors import ChromaError
    # Chroma's dependencies fail in ways of their own on old systems (a SQLite that is too old is a RuntimeError).
    except (ImportError, RuntimeError) as error:
        raise KnowledgeError(
            f"a Chroma collection needs chromadb ({first_line(error)}): pip install 'thinkgraph[chroma]'"
        ) from error
    try:
        yield
    except (ChromaError, OSError, ValueError, RuntimeError) as error:
        raise raised(f"{what}: {first_line(error)}") from error


def _chroma_client(folder: Path) -> Any:
    """Chroma's database in a folder; close it."""
    import chromadb
    from chromadb.config import Settings

    return chromadb.PersistentClient(path=str(folder), settings=Settings(anonymized_telemetry=False))


class ChromaTextStore(Closing):
    """Reads a Chroma collection whose metadata say which entity each document is about. Implements `TextStore`.

    Chroma's filtered search is approximate and its recall falls with large filters; to keep the promise of
    `passages_of`, the vectors of the entities' documents are fetched and scored here. Chroma writes in its folder even
    when it only reads: a folder that must stay as it is has to be copied first.
    """

    def __init__(
        self,
        client: Any,
        collection: str,
        *,
        entity_key: str = "entity",
        title_key: str = "title",
        section_key: str = "section",
        embedder: Embedder | None = None,
    ) -> None:
        """Open a collection.

        Args:
            client: A Chroma client, or the folder of a persistent one.
            collection: The collection's name.
            entity_key: The metadata that hold the entity's id: a string, a whole number, or a list of either.
            title_key: The metadata that hold the document's title; may be absent.
            section_key: The metadata that hold the part of the document; may be absent.
            embedder: Embeds queries; by default the collection's own embedding function does.

        Raises:
            KnowledgeError: There is no such folder or collection.
        """
        folder = Path(client) if isinstance(client, str | Path) else None
        if folder and not (folder / "chroma.sqlite3").is_file():
            raise KnowledgeError(f"there is no Chroma database in {folder}: give the folder that holds chroma.sqlite3")
        self._name = collection
        self._keys = MetadataKeys(entity_key, title_key, section_key)
        self._embedder = embedder
        self._owned = folder is not None
        self._client: Any = None
        self._lock = Lock()
        self._scanned: TextInfo | None = None
        failing = _chroma_errors(KnowledgeError, f"cannot open the Chroma collection {collection!r}")
        with closed_on_error(self.close), failing:
            self._client = _chroma_client(folder) if folder else client
            self._collection = self._client.get_collection(collection)

    def close(self) -> None:
        """Close the client, if this store opened it."""
        client, self._client = self._client, None
        if self._owned and client is not None:
            client.close()

    def _ask(self, call: Callable[..., Any], *given: Any, **options: Any) -> Any:
        if self._client is None:
            raise StoreError(f"the Chroma collection {self._name!r} is closed")
        with _chroma_errors(StoreError, f"the Chroma collection {self._name!r} failed"):
            return call(*given, **options)

    def info(self) -> TextInfo:
        """Name, fingerprint and counts; the first call, and each after the number of documents changed, reads them all.

        The fingerprint covers ids, documents and metadata. A change that keeps the number of documents is seen when the
        collection is opened again.
        """
        count = int(self._ask(self._collection.count))
        with self._lock:
            if self._scanned is None or self._scanned["passages"] != count:
                self._scanned = self._scan()
            return self._scanned.copy()

    def _scan(self) -> TextInfo:
        combined, entities, count, offset = 0, set(), 0, 0
        while page := self._read(limit=_PAGE, offset=offset):
            for passage in page:
                text = json.dumps([passage[key] for key in ("id", "entities", "title", "section", "text")])
                # A sum, for Chroma promises no order.
                combined += int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16])
                entities.update(passage["entities"])
            count += len(page)
            offset += len(page)
        fingerprint = f"{combined % (1 << 128):032x}"
        return {"name": self._name, "fingerprint": fingerprint, "passages": count, "entities": len(entities)}

    def passages(self, ids: Sequence[str]) -> list[Passage | None]:
        """The passages with these ids; None for an id the collection does not have."""
        wanted = list(dict.fromkeys(ids))
        found = {passage["id"]: passage for some in chunks(wanted, _PAGE) for passage in self._read(ids=some)}
        return [None if (passage := found.get(id_)) is None else own_passage(passage) for id_ in ids]

    def passages_of(self, entities: Sequence[str], query: str, *, limit: int = 50) -> list[PassageHit]:
        """The `limit` passages nearest to `query` among those of `entities`, best first, by cosine; exact.

        All vectors of the entities' documents are fetched: time and memory grow with their number.
        """
        wanted = sorted(set(entities))
        if not wanted or limit < 1:
            return []
        vector = self._embed([query])[0]
        scores: dict[str, float] = {}
        for some in chunks(wanted, _ENTITIES_AT_ONCE):
            found = self._ask(self._collection.get, where=self._about(some), include=["embeddings"])
            scores.update(zip(found["ids"], _cosines(found["embeddings"], vector), strict=True))
        return self._nearest([scores], limit)[0]

    def search(self, queries: Sequence[str], *, limit: int = 10) -> list[list[PassageHit]]:
        """The `limit` passages nearest to each query, best first, by cosine.

        Exact in a collection of at most a thousand documents; in a larger one its own index finds them.
        """
        if not queries or limit < 1:
            return [[] for _ in queries]
        vectors = self._embed(queries)
        if self._ask(self._collection.count) <= _WITHOUT_INDEX:
            every = self._ask(self._collection.get, include=["embeddings"])
            rows = [(every["ids"], every["embeddings"])] * len(vectors)
        else:
            asked = self._as_long(vectors)
            near = self._ask(self._collection.query, query_embeddings=asked, n_results=limit, include=["embeddings"])
            rows = list(zip(near["ids"], near["embeddings"], strict=True))
        scored = [
            dict(zip(ids, _cosines(embeddings, vector), strict=True))
            for (ids, embeddings), vector in zip(rows, vectors, strict=True)
        ]
        return self._nearest(scored, limit)

    @cached_property
    def _length(self) -> float:
        """Mean length of the documents' vectors; 1 where they have none. One round trip."""
        some = self._ask(self._collection.get, limit=_SAMPLE, include=["embeddings"])["embeddings"]
        return float(np.linalg.norm(some, axis=1).mean()) or 1.0

    def _as_long(self, queries: NDArray[np.float32]) -> NDArray[np.float32]:
        """The queries at the length of the documents' vectors: an index by distance finds no others by their direction."""
        lengths = np.linalg.norm(queries, axis=1, keepdims=True)
        return np.asarray(queries * (self._length / np.where(lengths > 0, lengths, 1)), np.float32)

    def _about(self, ids: Sequence[str]) -> dict[str, Any]:
        """The filter for documents about these entities."""
        key = self._keys.entity
        # Databases number things, and so may metadata do.
        values: list[list[Any]] = [
            list(ids),
            [int(id_) for id_ in ids if _WHOLE.fullmatch(id_) and -(1 << 63) <= int(id_) < 1 << 63],
        ]
        # `$in` sees metadata that are one value, `$contains` those that are a list.
        single = [{key: {"$in": some}} for some in values if some]
        return {"$or": [*single, *({key: {"$contains": one}} for some in values for one in some)]}

    def _nearest(self, scored: Sequence[Mapping[str, float]], limit: int) -> list[list[PassageHit]]:
        """For each query the best of these ids with their passages; by id where scores are equal."""
        best = [sorted(scores, key=lambda id_: (-scores[id_], id_))[:limit] for scores in scored]
        found = iter(self.passages([id_ for ids in best for id_ in ids]))
        return [
            [{"passage": one, "score": scores[id_]} for id_, one in zip(ids, found, strict=False) if one]
            for ids, scores in zip(best, scored, strict=True)
        ]

    def _embed(self, queries: Sequence[str]) -> NDArray[np.float32]:
        if self._embedder is not None:
            return embed_queries(self._embedder, queries)[0]
        # The collection's own embedding function has no public way in; this one has been there since Chroma 0.4.
        try:
            vectors = self._ask(self._collection._embed, list(queries), is_query=True)  # noqa: SLF001
        except StoreError:
            raise
        except Exception as error:
            # Whatever somebody's embedding function raises: Chroma's own, for one, downloads its model.
            raise StoreError(
                f"the Chroma collection {self._name!r} cannot encode a query ({first_line(error)}): name the encoder its "
                "vectors were made with (embedder=bundled is Chroma's default model, all-MiniLM-L6-v2)"
            ) from error
        return np.asarray(vectors, np.float32)

    def _read(self, **arguments: Any) -> list[Passage]:
        found = self._ask(self._collection.get, include=["documents", "metadatas"], **arguments)
        parts = zip(found["ids"], found["documents"], found["metadatas"], strict=True)
        return [self._keys.passage(*part) for part in parts]


def _cosines(embeddings: Any, vector: NDArray[np.float32]) -> list[float]:
    if not len(embeddings):
        return []
    rows = np.asarray(embeddings, np.float32)
    if rows.shape[1] != len(vector):
        raise StoreError(
            f"the Chroma collection's vectors have {rows.shape[1]} dimensions, those of the queries {len(vector)}: name the "
            "encoder that they were made with (embedder=)"
        )
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(vector)
    scores = (rows @ vector) / np.maximum(lengths, np.finfo(np.float32).tiny)
    return [float(score) for score in np.round(scores.astype(np.float64), 6)]


def open_text(spec: str) -> ChromaTextStore:
    """The text store of a line; close it.

    Raises:
        KnowledgeError: the line has another form, or there is no such collection.
    """
    folder, options = parsed(spec)
    keys = {f"{name}_key": options[name] for name in ("entity", "title", "section") if options.get(name)}
    embedder = load_embedder(options["embedder"]) if options.get("embedder") else None
    return ChromaTextStore(str(Path(folder).expanduser()), options["collection"], embedder=embedder, **keys)
