"""Chroma collections of others as text stores."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import chromadb
import pytest
from chromadb.config import Settings

from thinkgraph.errors import KnowledgeError, StoreError
from thinkgraph.testing.conformance.text import TextStoreConformance, sample_passages
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.vectorstores.chroma import ChromaTextStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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
    client = chromadb.EphemeralClient(settings=Settings(anonymized_telemetry=False))
    try:
        made = client.create_collection("refusing", embedding_function=Refusing())
        made.add(ids=["a"], documents=["x"], embeddings=[[1.0, 0.0]], metadatas=[{"entity": "e"}])
        with ChromaTextStore(client, "refusing") as store:
            store._collection = made
            with pytest.raises(StoreError, match="embedder=bundled"):
                store.passages_of(["e"], "weights")
    finally:
        client.delete_collection("refusing")
        client.close()


def test_chroma_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "chroma.sqlite3").touch()
    monkeypatch.setitem(sys.modules, "chromadb.errors", None)
    with pytest.raises(KnowledgeError, match=r"pip install 'thinkgraph\[chroma\]'") as caught:
        ChromaTextStore(tmp_path, "texts")
    assert "\n" not in str(caught.value)
