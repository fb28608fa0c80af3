from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING

import chromadb
import pytest
from chromadb.config import Settings

from thinkgraph.errors import KnowledgeError, StoreError
from thinkgraph.ingest.passages import build_text, title_prefix
from thinkgraph.testing.conformance.text import TextStoreConformance, ids_of, sample_passages
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.meter import Meter, current_meter
from thinkgraph.tools.progress import no_progress
from thinkgraph.tools.sqlite import text as sqlite_text
from thinkgraph.tools.sqlite.text import SqliteTextStore
from thinkgraph.tools.vectorstores.chroma import ChromaTextStore
from thinkgraph.tools.vectorstores.index import EntityIndex, entity_passage, entity_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from thinkgraph.state.knowledge import Entity, Passage


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("THINKGRAPH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    kb = tmp_path / "kb"
    build_text(kb / "text.sqlite", sample_passages(), embedder=HashEmbedder(), progress=no_progress)
    return kb


class TestSqlite(TextStoreConformance):
    @pytest.fixture
    def store(self, folder: Path) -> Iterator[SqliteTextStore]:
        with SqliteTextStore(folder / "text.sqlite", HashEmbedder()) as store:
            yield store


class TestSqliteWithIndex(TextStoreConformance):
    @pytest.fixture
    def store(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteTextStore]:
        monkeypatch.setattr(sqlite_text, "SCANNED", 0)
        with SqliteTextStore(folder / "text.sqlite", HashEmbedder()) as store:
            yield store


class TestChroma(TextStoreConformance):
    long_passages = False  # one vector a document, as the collection has it

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[ChromaTextStore]:
        client = chromadb.PersistentClient(str(tmp_path / "chroma"), settings=Settings(anonymized_telemetry=False))
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
        with ChromaTextStore(tmp_path / "chroma", "texts", embedder=HashEmbedder()) as store:
            yield store


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


def test_scores_are_exact_over_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(0)
    words = [f"w{i}" for i in range(50)]
    passages: list[Passage] = [
        {"id": f"{i}", "entities": ["e"], "title": "", "section": "", "text": " ".join(rng.choices(words, k=5))}
        for i in range(500)
    ]
    embedder = HashEmbedder()
    build_text(tmp_path / "text.sqlite", passages, embedder=embedder, progress=no_progress)
    query = "w1 w2 w3"
    (vector,) = embedder.embed([query])
    truth = {
        p["id"]: sum(a * b for a, b in zip(vector, row, strict=True))
        for p, row in zip(passages, embedder.embed([p["text"] for p in passages]), strict=True)
    }
    monkeypatch.setattr(sqlite_text, "_CHUNK", 7)
    with SqliteTextStore(tmp_path / "text.sqlite", embedder) as store:
        hits = store.passages_of(["e"], query, limit=20)
        for hit in hits:
            assert hit["score"] == pytest.approx(truth[hit["passage"]["id"]], abs=1e-3)
        assert min(hit["score"] for hit in hits) >= sorted(truth.values())[-20] - 1e-3
        monkeypatch.setattr(sqlite_text, "_CHUNK", 4096)
        assert store.passages_of(["e"], query, limit=20) == hits
        assert store.search([query], limit=20)[0] == hits


def test_stores_count_no_round_trips_themselves(folder: Path) -> None:
    meter = Meter()
    token = current_meter.set(meter)
    try:
        with SqliteTextStore(folder / "text.sqlite", HashEmbedder()) as store:
            store.passages(["p1", "p2"])
            store.passages_of(["austria", "hungary"], "capital")
            store.search(["capital", "river"])
    finally:
        current_meter.reset(token)
    assert meter.store_round_trips == 0


def test_read_only_folder_stays_as_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_text, "SCANNED", 0)
    (folder / "text.sqlite").chmod(0o444)
    folder.chmod(0o555)
    before = (folder / "text.sqlite").read_bytes()
    try:
        with SqliteTextStore(folder / "text.sqlite", HashEmbedder()) as store:
            assert ids_of(store.search(["capital of Austria"], limit=1)[0]) == ["p1"]
            assert store.passages_of(["austria"], "river")
        assert [file.name for file in folder.iterdir()] == ["text.sqlite"]
        assert (folder / "text.sqlite").read_bytes() == before
    finally:
        folder.chmod(0o755)


def test_closed_or_wrong(folder: Path, tmp_path: Path) -> None:
    store = SqliteTextStore(folder / "text.sqlite", HashEmbedder())
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.passages(["p1"])
    with pytest.raises(KnowledgeError, match="no text store"):
        SqliteTextStore(tmp_path / "nothing", HashEmbedder())
    with pytest.raises(KnowledgeError, match="hash-256"):
        SqliteTextStore(folder / "text.sqlite", HashEmbedder(64))


def test_index_is_built_once_rebuilt_if_half_done_and_not_needed(
    folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sqlite_text, "SCANNED", 0)
    query = "capital of Austria"
    with SqliteTextStore(folder / "text.sqlite", HashEmbedder()) as store:
        told: list[int] = []
        store.build_index(lambda _stage, done, _total: told.append(done))
        assert told[-1] == store.vector_count
        again: list[int] = []
        store.build_index(lambda _stage, done, _total: again.append(done))
        assert not again
        expected = store.search([query])
    (marker,) = cache.rglob("complete.json")
    marker.unlink()
    with SqliteTextStore(folder / "text.sqlite", HashEmbedder()) as store:
        assert store.search([query])[0][:2] == expected[0][:2]
    assert marker.exists()
    monkeypatch.setenv("THINKGRAPH_CACHE", "/dev/null/nowhere")
    with SqliteTextStore(folder / "text.sqlite", HashEmbedder()) as store:
        assert store.search([query])[0][0] == expected[0][0]
    assert "without an index" in caplog.text


def test_index_is_made_again_elsewhere_from_the_stored_vectors(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_text, "SCANNED", 0)
    embedder = HashEmbedder()
    with SqliteTextStore(folder / "text.sqlite", embedder) as store:
        store.build_index()
        expected = store.search(["capital of Austria"], limit=3)
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    monkeypatch.setenv("THINKGRAPH_CACHE", str(tmp_path / "another cache"))
    fresh = HashEmbedder()
    with SqliteTextStore(copy / "text.sqlite", fresh) as store:
        assert store.search(["capital of Austria"], limit=3) == expected
    assert fresh.encoded == 1  # the query, and no passage
    assert list((tmp_path / "another cache").rglob("complete.json"))


def test_small_stores_have_no_index(folder: Path, cache: Path) -> None:
    with SqliteTextStore(folder / "text.sqlite", HashEmbedder()) as store:
        store.build_index()
        assert store.search(["capital of Austria"])[0]
    assert not cache.exists()


def test_entity_index(tmp_path: Path) -> None:
    def entity(number: int, label: str, description: str = "") -> Entity:
        return {"id": f"e{number}", "label": label, "type": "t", "description": description, "literal": False}

    entities = [entity(i, f"name{i} of{i % 20}") for i in range(400)]
    entities += [entity(400, "red apple"), entity(401, "pear", "a green fruit")]
    passages = [entity_passage(one) for one in entities]
    assert [title_prefix(one) + one["text"] for one in passages] == [entity_text(one) for one in entities]
    build_text(tmp_path / "entities.sqlite", passages, embedder=HashEmbedder(), progress=no_progress)
    with SqliteTextStore(tmp_path / "entities.sqlite", HashEmbedder()) as store:
        apple, pear = EntityIndex(store).nearest(["apple, red", "a green fruit"], limit=3)
        assert EntityIndex(store).nearest([]) == []
    assert apple[0][0] == entities[400]
    assert apple[0][1] == pytest.approx(1, abs=1e-3)
    assert pear[0][0] == entities[401]
    assert len(apple) == 3
