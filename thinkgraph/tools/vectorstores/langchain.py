"""A text store over any LangChain vector store whose metadata name the entity each document is about."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from thinkgraph.errors import KnowledgeError, StoreError, ThinkGraphError, first_line
from thinkgraph.state.knowledge import Passage, PassageHit, TextInfo
from thinkgraph.tools.linking.names import well_formed
from thinkgraph.tools.sqlite.file import chunks
from thinkgraph.tools.sqlite.text_schema import own_passage
from thinkgraph.tools.vectorstores.specs import MetadataKeys

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.vectorstores import VectorStore

UNKNOWN = -1
"""Stands for a count that a vector store does not tell."""

_ENTITIES_AT_ONCE = 200
_MOST_EQUAL = 1_000
"""Documents read beyond the limit, where they are equally near."""
Form = Literal["dict", "document", "metadata"]
Filter = Form | Callable[[list[str]], Any]


class LangChainTextStore:
    """Passages in a LangChain `VectorStore`. Implements `TextStore` as far as such a store can.

    What is left to the vector store: which of an entity's documents it finds for a query (its index may be approximate,
    and some lose matches under a filter), the score (its own; distances are turned round), and how long a document its
    embedder reads. What it does not tell: how much it holds (-1 in `info`, unless `counts` says) and whether it changed
    (`version`). Documents need ids that `get_by_ids` gives back, because an answer's passages are fetched again by id.
    """

    def __init__(
        self,
        vectorstore: VectorStore,
        *,
        entity_key: str = "entity",
        title_key: str = "title",
        section_key: str = "section",
        filter: Filter | None = None,  # noqa: A002 - what LangChain calls it
        name: str = "",
        version: str = "",
        counts: tuple[int, int] | None = None,
    ) -> None:
        """Read a vector store.

        Args:
            vectorstore: The store; it stays yours, and open.
            entity_key: The metadata that hold the entity's id: a string, or a list of strings.
            title_key: The metadata that hold the document's title; may be absent.
            section_key: The metadata that hold the part of the document; may be absent.
            filter: How `similarity_search` takes a filter: "dict" gives `{entity_key: {"$in": [ids]}}` (Chroma, PGVector,
                Pinecone and others), which finds documents about one entity; "document" a function of a `Document`
                (InMemoryVectorStore), "metadata" one of its metadata (FAISS); or your own function from a list of ids
                to what the store takes. By default what the store's class is known for, else "dict".
            name: For people; by default the class.
            version: Becomes part of the fingerprint: change it to tell that the documents changed.
            counts: Numbers of passages and of entities with passages, if you know them.

        Raises:
            KnowledgeError: The store cannot give back documents by id.
        """
        from langchain_core.vectorstores import VectorStore

        if getattr(type(vectorstore), "get_by_ids", VectorStore.get_by_ids) is VectorStore.get_by_ids:
            raise KnowledgeError(
                f"{type(vectorstore).__name__} cannot fetch documents by id (get_by_ids), and answers cite passages by id"
            )
        self._store = vectorstore
        self._keys = MetadataKeys(entity_key, title_key, section_key)
        self._filter = filter or _form_of(vectorstore)
        self._name = name or type(vectorstore).__name__
        self._counts = counts or (UNKNOWN, UNKNOWN)
        self._version = version
        self._sign: float | None = None

    def info(self) -> TextInfo:
        """Name, fingerprint and counts as they were given: a vector store tells neither how much it holds nor whether it
        changed.
        """
        said = [self._name, self._version, *map(str, self._counts), *self._keys]
        return {
            "name": self._name,
            "fingerprint": hashlib.blake2b("\0".join(said).encode("utf-8", "replace"), digest_size=16).hexdigest(),
            "passages": self._counts[0],
            "entities": self._counts[1],
        }

    def passages(self, ids: Sequence[str]) -> list[Passage | None]:
        """The passages with these ids; None for an id the store does not have."""
        if not ids:
            return []
        passages = self._ask(lambda: map(self._passage, self._store.get_by_ids(list(dict.fromkeys(ids)))))
        found = {passage["id"]: passage for passage in passages}
        return [None if (passage := found.get(id_)) is None else own_passage(passage) for id_ in ids]

    def passages_of(self, entities: Sequence[str], query: str, *, limit: int = 50) -> list[PassageHit]:
        """The passages that the store finds nearest to `query` among those of `entities`, best first, at most `limit`.

        As exact as its search with a filter is.
        """
        wanted = sorted(set(entities))
        if not wanted or limit < 1:
            return []
        hits: dict[str, PassageHit] = {}
        size = len(wanted) if callable(self._made(wanted[:1])) else _ENTITIES_AT_ONCE
        for some in map(list, chunks(wanted, size)):
            of = set(some)
            for hit in self._found(query, limit, self._made(some)):
                # A store that does not know the filter ignores it.
                if of.isdisjoint(hit["passage"]["entities"]):
                    raise StoreError(
                        f"{self._name} found a document about none of the entities asked for: its filter is written in "
                        "another way; give LangChainTextStore(filter=…)"
                    )
                hits[hit["passage"]["id"]] = hit
        if self._sign is None and len(hits) > 1:
            # One hit of each chunk: only a search of all tells whether the larger score is the better one.
            self._found(query, limit, None)
        return self._best(hits.values(), limit)

    def search(self, queries: Sequence[str], *, limit: int = 10) -> list[list[PassageHit]]:
        """The `limit` passages of the whole store nearest to each query, by its own search."""
        if limit < 1:
            return [[] for _ in queries]
        found = [self._found(query, limit, None) for query in queries]
        return [self._best(hits, limit) for hits in found]

    def _made(self, entities: list[str]) -> Any:
        """The filter for these entities, as the store takes it."""
        keys, of = self._keys, set(entities)
        if callable(self._filter):
            return self._filter(entities)
        if self._filter == "document":
            return lambda document: not of.isdisjoint(keys.entities(document.metadata))
        if self._filter == "metadata":
            return lambda metadata: not of.isdisjoint(keys.entities(metadata))
        return {keys.entity: {"$in": entities}}

    def _found(self, query: str, limit: int, made: Any) -> list[PassageHit]:
        """The nearest passages, at least `limit` where there are as many, with the store's own scores."""
        text = well_formed(query).replace("\0", " ")
        more = {} if made is None else {"filter": made}
        most, search = limit, self._store.similarity_search_with_score
        while True:
            # One more than wanted: where the last ones are equal, all of them are read, so that ids decide and not chance.
            most += 1
            found = self._ask(lambda k=most: map(self._hit, search(text, k=k, **more)))  # type: ignore[misc]
            scores = [hit["score"] for hit in found]
            if len(found) < most or scores[limit - 1] != scores[-1] or most >= limit + _MOST_EQUAL:
                break
            most = min(2 * most, limit + _MOST_EQUAL - 1)
        # One hit does not tell; nor do equal ones.
        if self._sign is None and scores and scores[0] != scores[-1]:
            self._sign = 1.0 if scores[0] > scores[-1] else -1.0
        return found

    def _hit(self, pair: tuple[Document, float]) -> PassageHit:
        document, score = pair
        return {"passage": self._passage(document), "score": round(float(score), 6)}

    def _best(self, hits: Iterable[PassageHit], limit: int) -> list[PassageHit]:
        """The nearest first, where what was found so far tells whether scores fall or are distances, which rise; then by id."""
        sign = self._sign or 1.0
        signed: list[PassageHit] = [{"passage": hit["passage"], "score": sign * hit["score"]} for hit in hits]
        return sorted(signed, key=lambda hit: (-hit["score"], hit["passage"]["id"]))[:limit]

    def _passage(self, document: Document) -> Passage:
        if not document.id:
            raise StoreError(f"{self._name} hands out documents without ids, and answers cite passages by id")
        return self._keys.passage(str(document.id), document.page_content, document.metadata)

    def _ask(self, call: Callable[[], Iterable[Any]]) -> list[Any]:
        try:
            return list(call())
        except ThinkGraphError:
            raise
        except Exception as error:
            # What a vector store of somebody else's raises cannot be known; all of it is a store that failed.
            raise StoreError(f"the vector store {self._name} failed: {first_line(error)}") from error


def _form_of(vectorstore: VectorStore) -> Form:
    names = {kind.__name__ for kind in type(vectorstore).__mro__}
    return "document" if "InMemoryVectorStore" in names else "metadata" if "FAISS" in names else "dict"
