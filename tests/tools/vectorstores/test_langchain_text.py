from __future__ import annotations

from typing import Any

import chromadb
import pytest
from chromadb.config import Settings
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from thinkgraph.errors import KnowledgeError, StoreError
from thinkgraph.ingest.build import build_kb
from thinkgraph.testing.conformance.text import TextStoreConformance, ids_of, sample_passages
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.testing.memory import MemoryGraphStore
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.vectorstores.langchain import LangChainTextStore


class Hashed(Embeddings):
    """Our test embedder as LangChain has embedders."""

    def __init__(self) -> None:
        self.inner = HashEmbedder()

    def embed_documents(self, texts):
        return self.inner.embed(texts)

    def embed_query(self, text):
        return self.inner.embed([text])[0]


def documents(*, several: bool) -> list[Document]:
    found = []
    for passage in sample_passages():
        metadata = {"title": passage["title"], "section": passage["section"]}
        if passage["entities"]:
            metadata["about"] = passage["entities"] if several else passage["entities"][0]
        found.append(Document(passage["text"], metadata=metadata, id=passage["id"]))
    return found


class TestInMemory(TextStoreConformance):
    long_passages = False  # one vector a document

    @pytest.fixture
    def store(self):
        vectors = InMemoryVectorStore(Hashed())
        vectors.add_documents(documents(several=True))
        entities = {one for passage in sample_passages() for one in passage["entities"]}
        return LangChainTextStore(vectors, entity_key="about", counts=(len(sample_passages()), len(entities)))


class TestChroma(TextStoreConformance):
    """A store that knows distances, filters by dictionaries, one entity a document."""

    long_passages = False
    counts = False
    several = False
    exact_texts = False  # but for p2, which is about one entity here

    @pytest.fixture
    def store(self, tmp_path):
        client = chromadb.PersistentClient(str(tmp_path / "chroma"), settings=Settings(anonymized_telemetry=False))
        try:
            # Chroma builds its index in threads, and now and then no link leads to a document. Here all are linked to all.
            linked: Any = {"hnsw": {"max_neighbors": 128, "ef_construction": 200, "ef_search": 200}}
            vectors = Chroma("texts", Hashed(), client=client, collection_configuration=linked)
            vectors.add_documents(documents(several=False))
            yield LangChainTextStore(vectors, entity_key="about")
        finally:
            client.close()


def test_counts_are_unknown_unless_given_and_the_version_is_part_of_the_fingerprint():
    vectors = InMemoryVectorStore(Hashed())
    one, other = LangChainTextStore(vectors).info(), LangChainTextStore(vectors, version="2").info()
    assert (one["passages"], one["entities"]) == (-1, -1)
    assert one["fingerprint"] != other["fingerprint"]


def test_beside_a_graph():
    vectors = InMemoryVectorStore(Hashed())
    vectors.add_documents(documents(several=True))
    graph = MemoryGraphStore([("austria", "borders", "hungary")])
    with Knowledge(graph=graph, text=LangChainTextStore(vectors, entity_key="about")) as knowledge:
        assert knowledge.text is not None
        assert ids_of(knowledge.text.passages_of(["austria"], "capital of Austria"))[0] == "p1"


class Odd(InMemoryVectorStore):
    """A store that ignores filters."""

    def similarity_search_with_score(self, query, k=4, **_):
        return super().similarity_search_with_score(query, k)


class Failing(InMemoryVectorStore):
    def similarity_search_with_score(self, query, k=4, **_):
        raise ZeroDivisionError("deep\ninside")


class NoIds(VectorStore):
    def similarity_search(self, query, k=4, **kwargs):
        return []

    @classmethod
    def from_texts(cls, texts, embedding, metadatas=None, **kwargs):
        raise NotImplementedError


def test_what_a_vector_store_cannot_do_is_said_in_a_line():
    with pytest.raises(KnowledgeError, match="get_by_ids"):
        LangChainTextStore(NoIds())
    with pytest.raises(KnowledgeError, match="VectorStoreRetriever cannot fetch documents by id"):
        LangChainTextStore(InMemoryVectorStore(Hashed()).as_retriever())
    odd = Odd(Hashed())
    odd.add_documents(documents(several=True))
    with pytest.raises(StoreError, match="filter="):
        LangChainTextStore(odd, entity_key="about").passages_of(["danube"], "Note number 3", limit=1)
    failing = LangChainTextStore(Failing(Hashed()))
    with pytest.raises(StoreError, match=r"^the vector store Failing failed: deep$"):
        failing.search(["x"])


class Unscored(InMemoryVectorStore):
    """A store that gives no scores, and None for what it does not have."""

    def similarity_search_with_score(self, query, k=4, **_):
        return [(one, None) for one, _ in super().similarity_search_with_score(query, k)]

    def get_by_ids(self, ids, /):
        return [None for _ in ids]


def test_what_a_vector_store_gives_in_another_form_is_said_in_a_line():
    vectors = Unscored(Hashed())
    vectors.add_documents(documents(several=True))
    store = LangChainTextStore(vectors, entity_key="about")
    asked = (lambda: store.search(["x"]), lambda: store.passages_of(["danube"], "x"), lambda: store.passages(["p1"]))
    for ask in asked:
        with pytest.raises(StoreError, match=r"^the vector store Unscored failed: .*NoneType"):
            ask()


def test_a_list_of_entities_may_have_blanks():
    vectors = InMemoryVectorStore(Hashed())
    vectors.add_documents([Document(id="1", page_content="a note", metadata={"about": [None, "", "danube", 7]})])
    (passage,) = LangChainTextStore(vectors, entity_key="about").passages(["1"])
    assert passage
    assert passage["entities"] == ["danube", "7"]


def test_a_filter_of_your_own():
    seen = []

    def mine(entities):
        seen.append(entities)
        return lambda document: document.metadata.get("about") == ["japan"]

    vectors = InMemoryVectorStore(Hashed())
    vectors.add_documents(documents(several=True))
    store = LangChainTextStore(vectors, entity_key="about", filter=mine)
    assert ids_of(store.passages_of(["japan"], "首都")) == ["p6"]
    assert ["japan"] in seen


@pytest.mark.parametrize("abouts", [("e000", "e300"), ("e000", "e300", "e301")])
def test_distances_of_many_entities_are_not_taken_for_scores(abouts):
    class Distances(InMemoryVectorStore):
        def similarity_search_with_score(self, query, k=4, filter=None, **_):  # noqa: A002 - LangChain's name
            wanted = filter["about"]["$in"] if filter else abouts
            found = super().similarity_search_with_score(query, k=1000)
            return [(one, 1 - score) for one, score in found if one.metadata["about"] in wanted][:k]

    vectors = Distances(Hashed())
    texts = ("something else", "the capital of Hungary", "the capital")
    vectors.add_documents(
        [
            Document(id=text, page_content=text, metadata={"about": one})
            for one, text in zip(abouts, texts, strict=False)
        ]
    )
    store = LangChainTextStore(vectors, entity_key="about", filter="dict")
    hits = store.passages_of([f"e{number:03}" for number in range(302)], "the capital of Hungary")
    assert [hit["passage"]["id"] for hit in hits] == [
        "the capital of Hungary",
        *texts[2 : len(abouts)],
        "something else",
    ]


def test_which_of_equals_come_is_no_chance():
    vectors = InMemoryVectorStore(Hashed())
    vectors.add_documents([Document("same", metadata={"entity": "e"}, id=f"{i:02}") for i in range(40)])
    store = LangChainTextStore(vectors)
    assert ids_of(store.passages_of(["e"], "same", limit=3)) == ["00", "01", "02"]


def test_texts_are_given_to_open(tmp_path):
    vectors = InMemoryVectorStore(Hashed())
    vectors.add_documents(documents(several=True))
    (tmp_path / "t.tsv").write_text("austria\tborders\thungary\n")
    build_kb(tmp_path / "kb", triples=[tmp_path / "t.tsv"], index=False)
    with Knowledge.open(tmp_path / "kb") as plain:
        fingerprint = plain.fingerprint
    texts = LangChainTextStore(vectors, entity_key="about")
    with Knowledge.open(tmp_path / "kb", text=texts) as knowledge:
        assert knowledge.text is texts
        assert knowledge.fingerprint != fingerprint
    assert texts.passages(["p1"])[0] is not None  # yours, and open
    with pytest.raises(KnowledgeError, match="no knowledge base"):
        Knowledge.open(tmp_path / "nothing", text=texts)
    client = chromadb.PersistentClient(str(tmp_path / "chroma"), settings=Settings(anonymized_telemetry=False))
    client.create_collection("docs", embedding_function=None)
    client.close()
    spec = f"chroma:{tmp_path}/chroma?collection=docs&embedder=bundled"
    knowledge = Knowledge.open(tmp_path / "kb", text=spec)
    store = knowledge.text
    assert store is not None
    assert store.info()["passages"] == 0
    knowledge.close()
    with pytest.raises(StoreError, match="closed"):
        store.passages(["p1"])
