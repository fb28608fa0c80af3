"""Chroma collections of others as text stores."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

import chromadb
import numpy as np
import pytest
from chromadb.config import Settings

from thinkgraph.errors import KnowledgeError, StoreError
from thinkgraph.testing.conformance.text import TextStoreConformance, sample_passages
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.vectorstores.chroma import ChromaTextStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from chromadb.api import ClientAPI
    from numpy.typing import NDArray


@pytest.fixture(scope="module")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaTextStore]:
    """The sample in a collection, made once: the store only reads."""
    folder = tmp_path_factory.mktemp("chroma")
    client = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
    try:
        collection = client.create_collection("texts", embedding_function=None)
        for passage in sample_passages():
            metadata: dict[str, object] = {"title": passage["title"], "section": passage["section"]}
            if passage["entities"]:
                several = passage["entities"]
                metadata["entity"] = several if len(several) > 1 else several[0]
            collection.add(
                ids=[passage["id"]],
                documents=[passage["text"]],
                embeddings=HashEmbedder().embed([f"{passage['title']}: {passage['text']}"]),
                metadatas=[metadata],
            )
    finally:
        client.close()
    with ChromaTextStore(folder, "texts", embedder=HashEmbedder()) as store:
        yield store


class TestChroma(TextStoreConformance):
    long_passages = False  # one vector a document, as the collection has it

    @pytest.fixture
    def store(self, chroma: ChromaTextStore) -> ChromaTextStore:
        return chroma


@contextlib.contextmanager
def collection(name: str, **options: Any) -> Iterator[tuple[ClientAPI, Any]]:
    """A client in memory, and a collection of its own."""
    client = chromadb.EphemeralClient(settings=Settings(anonymized_telemetry=False))
    try:
        yield client, client.create_collection(name, **{"embedding_function": None, **options})
    finally:
        client.delete_collection(name)
        client.close()


@pytest.mark.parametrize("count", [300, 1200])
def test_search_and_the_collections_index(count: int) -> None:
    """A poor index misses documents. Up to a thousand documents are compared without it; of more it finds some."""
    vectors = np.random.default_rng(1).standard_normal((count, 8)).astype(np.float32)
    ids = [f"d{i}" for i in range(count)]
    poor: Any = {"hnsw": {"max_neighbors": 2, "ef_construction": 2, "ef_search": 1}}
    with collection("poor", configuration=poor) as (client, made):
        made.add(ids=ids, documents=ids, embeddings=vectors)
        by_index = made.query(query_embeddings=vectors, n_results=1)["ids"]
        with ChromaTextStore(client, "poor", embedder=Given(vectors)) as store:
            found = store.search(ids, limit=3)
        missed = [id_ for id_, best in zip(ids, by_index, strict=True) if best != [id_]]
        assert missed, "the index is poor"
        assert all(hits for hits in found)
        still = [id_ for id_, hits in zip(ids, found, strict=True) if hits[0]["passage"]["id"] != id_]
        assert bool(still) == (count > 1000)


class Given:
    """Encodes the n-th document as the n-th vector."""

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        self._vectors = vectors
        self.name, self.dimension = "given", vectors.shape[1]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._vectors[[int(text.removeprefix("d")) for text in texts]]


def test_long_vectors_of_a_large_collection_are_found_by_direction() -> None:
    """Chroma compares by distance where nobody says otherwise, and a query of unit length is far from all long vectors."""
    units = np.random.default_rng(1).standard_normal((1200, 8)).astype(np.float32)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    vectors = units * (9 + np.arange(1200, dtype=np.float32)[:, None] / 1200)
    ids = [f"d{i}" for i in range(1200)]
    with collection("long") as (client, made):
        made.add(ids=ids, documents=ids, embeddings=vectors)
        with ChromaTextStore(client, "long", embedder=Given(units)) as store:
            found = store.search(ids, limit=5)
    nearest = [hits[0]["passage"]["id"] for hits in found]
    assert sum(one == other for one, other in zip(nearest, ids, strict=True)) > 1000


def test_chroma_store_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match=r"chroma\.sqlite3"):
        ChromaTextStore(tmp_path, "texts")
    client = chromadb.EphemeralClient(settings=Settings(anonymized_telemetry=False))
    try:
        with pytest.raises(KnowledgeError, match="nothing"):
            ChromaTextStore(client, "nothing")
    finally:
        client.close()


class Refusing(chromadb.EmbeddingFunction[list[str]]):
    """An embedding function that cannot work here, as one that would download its model."""

    def __init__(self) -> None:
        pass

    def __call__(self, input: list[str]) -> list[list[float]]:  # noqa: A002 - Chroma's name
        raise KeyError("weights")

    @staticmethod
    def name() -> str:
        return "refusing"

    @staticmethod
    def build_from_config(_: dict[str, object]) -> Refusing:
        return Refusing()

    def get_config(self) -> dict[str, object]:
        return {}


def test_a_collection_that_cannot_encode_says_what_to_do() -> None:
    with collection("refusing", embedding_function=Refusing()) as (client, made):
        made.add(ids=["a"], documents=["x"], embeddings=[[1.0, 0.0]], metadatas=[{"entity": "e"}])
        with ChromaTextStore(client, "refusing") as store:
            store._collection = made
            with pytest.raises(StoreError, match="embedder=bundled"):
                store.passages_of(["e"], "weights")


def test_vectors_of_another_encoder_are_said() -> None:
    with collection("other") as (client, made):
        made.add(ids=["a"], documents=["x"], embeddings=[[1.0, 0.0]], metadatas=[{"entity": "e"}])
        with ChromaTextStore(client, "other", embedder=HashEmbedder()) as store:
            for ask in (lambda: store.search(["x"]), lambda: store.passages_of(["e"], "x")):
                with pytest.raises(StoreError, match=r"have 2 dimensions.*embedder="):
                    ask()


LONG = ["1234567890123456789", "-9223372036854775808", "9223372036854775808", "9" * 5_000]


def test_entities_may_be_whole_numbers_in_the_metadata() -> None:
    with collection("numbered") as (client, made):
        about: list[Any] = [862, "862", [7, 862], "0862", -862, 1234567890123456789, [-(1 << 63)]]
        ids = [str(number) for number in range(len(about))]
        vectors = np.ones((len(about), 2), np.float32)
        made.add(ids=ids, documents=ids, embeddings=vectors, metadatas=[{"entity": one} for one in about])
        with ChromaTextStore(client, "numbered", embedder=Given(vectors)) as store:
            many = [str(number) for number in range(1000)]
            for asked, found in (["862"], "012"), (["-862", "7"], "24"), (["0862"], "3"), (many, "012"), (LONG, "56"):
                assert "".join(hit["passage"]["id"] for hit in store.passages_of(asked, "0")) == found


def test_whole_numbers_that_a_table_with_gaps_made_floats() -> None:
    with collection("floats") as (client, made):
        made.add(ids=["0"], documents=["x"], embeddings=np.ones((1, 2), np.float32), metadatas=[{"entity": 862.0}])
        with ChromaTextStore(client, "floats", embedder=Given(np.ones((1, 2), np.float32))) as store:
            assert [hit["passage"]["entities"] for hit in store.passages_of(["862"], "0")] == [["862"]]


def test_chroma_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "chroma.sqlite3").touch()
    monkeypatch.setitem(sys.modules, "chromadb.errors", None)
    with pytest.raises(KnowledgeError, match=r"pip install 'thinkgraph\[chroma\]'") as caught:
        ChromaTextStore(tmp_path, "texts")
    assert "\n" not in str(caught.value)
