from __future__ import annotations

import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings

from thinkgraph.errors import KnowledgeError
from thinkgraph.testing.conformance.embedder import EmbedderConformance
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.encoders import embeddings
from thinkgraph.tools.encoders.embeddings import CachingEmbedder, embed_array, embed_queries, load_embedder
from thinkgraph.tools.encoders.rankers import DenseRanker
from thinkgraph.tools.meter import Meter, count, count_round_trip, current_meter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from thinkgraph.tools.protocols import Embedder


@pytest.fixture(scope="module")
def bundled() -> Embedder:
    return load_embedder()


class TestHashEmbedder(EmbedderConformance):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return HashEmbedder()


class TestBundled(EmbedderConformance):
    @pytest.fixture
    def embedder(self, bundled: Embedder) -> Embedder:
        return bundled


class WordLengths(Embeddings):
    model = "lengths"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return HashEmbedder(64).embed([text * 2 for text in texts])

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class TestLangChain(EmbedderConformance):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return load_embedder(WordLengths())


def test_importing_loads_nothing_heavy() -> None:
    code = (
        "import sys, thinkgraph.tools.encoders.embeddings as e; e.load_embedder('openai:x'); e.load_embedder();"
        "import thinkgraph.tools.linking.linker, thinkgraph.tools.encoders.rankers, thinkgraph.tools.sqlite.text;"
        "import thinkgraph.tools.vectorstores.chroma;"
        "print([m for m in ('torch','transformers','sentence_transformers','langchain','chromadb') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.xdist_group("g2t")  # the worker that has PyTorch loaded
def test_nothing_is_printed_and_no_environment_leaks() -> None:
    pytest.importorskip("sentence_transformers")
    code = (
        "import os; before = dict(os.environ);"
        "from thinkgraph.tools.encoders.embeddings import load_embedder; from thinkgraph.tools.encoders.weights import bundled_folder;"
        "load_embedder(str(bundled_folder())).embed(['a']); load_embedder().embed(['a']);"
        "changed = {k for k in {**before, **os.environ} if before.get(k) != os.environ.get(k)};"
        "assert not {k for k in changed if k.startswith(('HF_', 'TRANSFORMERS', 'TOKENIZERS'))}, changed"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_cache_and_counters() -> None:
    embedder = HashEmbedder(cache_size=2)
    meter = Meter()
    token = current_meter.set(meter)
    try:
        embedder.embed(["a", "b", "a"])
        embedder.embed(["a"])
        assert embedder.encoded == meter.encoder_texts == 2
        embedder.embed(["c"])
        embedder.embed(["b", "a"])
        assert embedder.encoded == 4
        count_round_trip()
        count(encoder_texts=1)
    finally:
        current_meter.reset(token)
    assert (meter.encoder_texts, meter.store_round_trips) == (5, 1)
    count_round_trip()
    assert meter.store_round_trips == 1


def test_no_cache() -> None:
    embedder = HashEmbedder(cache_size=0)
    embedder.embed(["a"])
    embedder.embed(["a"])
    assert embedder.encoded == 2


def test_threads_encode_a_text_once() -> None:
    embedder = HashEmbedder()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: embedder.embed(["one", "two"]), range(50)))
    assert embedder.encoded == 2


def test_the_bundled_model_is_loaded_once() -> None:
    one, other = embeddings.BundledEmbedder(), embeddings.BundledEmbedder()
    assert one._model() is other._model()
    one.embed(["a"])
    other.embed(["a"])
    assert (one.encoded, other.encoded) == (1, 1), "each has a cache of its own"


def test_specs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_embedder(None).name == load_embedder("bundled").name == "all-MiniLM-L6-v2"
    assert load_embedder("sentence-transformers/all-MiniLM-L6-v2").name == "all-MiniLM-L6-v2"
    assert load_embedder("openai:text-embedding-3-small").name == "openai:text-embedding-3-small"
    own = HashEmbedder()
    assert load_embedder(own) is own
    assert load_embedder(DeterministicFakeEmbedding(size=8)).name == "DeterministicFakeEmbedding"
    loaded = DeterministicFakeEmbedding(size=8)
    # As FastEmbed's class does: the model itself, whose address is another one in each process.
    object.__setattr__(loaded, "model", object())
    object.__setattr__(loaded, "model_name", "BAAI/bge-small-en-v1.5")
    assert load_embedder(loaded).name == "DeterministicFakeEmbedding:BAAI/bge-small-en-v1.5"
    for wrong in ("", "/nowhere/at/all", 3):
        with pytest.raises(KnowledgeError):
            load_embedder(wrong)  # type: ignore[arg-type]


@pytest.mark.xdist_group("g2t")  # the worker that has PyTorch loaded
@pytest.mark.parametrize(
    ("spec", "says"), [("no-such/model", "not on this machine"), ("nope:model", "nope"), ("openai:x", "openai:x")]
)
def test_what_cannot_be_loaded_says_so_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], spec: str, says: str
) -> None:
    if "/" in spec:
        pytest.importorskip("sentence_transformers")
    monkeypatch.setattr(embeddings, "_hub_reachable", lambda: False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(KnowledgeError, match=says) as caught:
        load_embedder(spec).embed(["a"])
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_all_threads_that_ask_have_one_encode(monkeypatch):
    """Each thread that runs PyTorch would keep memory and helpers of its own."""
    seen: list[threading.Thread] = []

    class Model:
        def encode(self, texts):
            seen.append(threading.current_thread())
            if "broken" in texts:
                raise ValueError("no such text")
            return np.ones((len(texts), 3), np.float32)

    monkeypatch.setattr(embeddings.BundledEmbedder, "_load", lambda _self: Model())
    embedder = embeddings.BundledEmbedder()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: embedder.embed([f"text {number}"]), range(16)))
    assert len(found) == len(seen) == 16
    assert {thread.name for thread in seen} == {"thinkgraph-encoder_0"}
    assert len(set(seen)) == 1
    with pytest.raises(ValueError, match="no such text"):
        embedder.embed(["broken"])


class _Wrong:
    name = "mine"

    def __init__(self, given: object) -> None:
        self._given = given

    def embed(self, texts: Sequence[str]) -> Any:
        return self._given


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "shape ()"),
        ([], "shape (0,)"),
        ([[1.0, 0.0]], "shape (1, 2)"),
        ([0.5, 0.5], "shape (2,)"),
        ([[], []], "shape (2, 0)"),
        ([["x"], ["y"]], "could not convert"),
        ([[1.0], [1.0, 0.0]], "inhomogeneous"),
        ([[1.0, float("nan")], [1.0, 0.0]], "not finite"),
        ([[1e6, 0.0], [1.0, 0.0]], "beyond 65,504"),
    ],
)
def test_vectors_that_are_none_are_the_embedders_fault(given: object, said: str) -> None:
    with pytest.raises(KnowledgeError, match=f"the embedder 'mine' must give one vector a text.*{re.escape(said)}"):
        embed_array(_Wrong(given), ["a", "b"])


def test_a_model_that_gives_no_numbers_is_named() -> None:
    """Its texts were taken for equal ones, of one direction."""

    class Broken(CachingEmbedder):
        def _load(self) -> None: ...

        def _encode(self, model: Any, texts: list[str]) -> NDArray[np.float32]:
            return np.full((len(texts), 3), np.nan, np.float32)

    with pytest.raises(KnowledgeError, match=r"the embedder 'fp16' must give .* not finite"):
        Broken("fp16").embed(["a", "b"])


@pytest.mark.parametrize(
    "given",
    [[[1.0] * 3] * 2, [[1.0, 2.0], [1.0]], [["a"]] * 3, None, [[], [], []], [[1.0], [float("nan")], [1.0]]],
)
def test_a_provider_that_gives_other_than_a_vector_a_text_is_named(given: Any) -> None:
    """Two vectors of three numbers were taken for three of two, and what is no number for a direction."""

    class Wrong(WordLengths):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return given

    with pytest.raises(KnowledgeError, match=r"the embedder 'Wrong:lengths' must give one vector a text.* for 3 texts"):
        embed_array(load_embedder(Wrong()), ["a", "b", "c"])


class _Retrieval(Embeddings):
    """Reads a query as its first letter and a text as its last, as a retrieval model with two sides reads them apart."""

    def __init__(self) -> None:
        self.queries: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [_letter(text[-1]) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.queries.append(text)
        return _letter(text[0])


def _letter(letter: str) -> list[float]:
    return np.eye(26, dtype=np.float32)[ord(letter) - ord("a")].tolist()


def test_a_query_is_read_by_the_query_side() -> None:
    given = _Retrieval()
    embedder = load_embedder(given)
    queries, texts = embed_queries(embedder, ["ab", "cd"], ["ab", "ba"])
    assert (queries @ texts.T).tolist() == [[0, 1], [0, 0]]
    assert embed_queries(embedder, ["ab"])[0].tolist() == [queries[0].tolist()]
    assert given.queries == ["ab", "cd"], "a query is encoded once"
    assert DenseRanker(embedder).score("ab", ["ab", "ba"]) == [0, 1]


def test_an_embedder_without_a_query_side_reads_both_in_one_batch() -> None:
    batches: list[list[str]] = []

    class Alike(HashEmbedder):
        def embed_array(self, texts: Sequence[str]) -> NDArray[np.float32]:
            batches.append(list(texts))
            return super().embed_array(texts)

    queries, texts = embed_queries(Alike(), ["a"], ["b", "a"])
    assert batches == [["a", "b", "a"]]
    assert np.array_equal(queries[0], texts[1])
