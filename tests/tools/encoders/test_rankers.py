from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from thinkgraph.errors import SettingsError
from thinkgraph.testing.conformance.ranker import RankerConformance
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.encoders.rankers import Bm25Ranker, CrossEncoderRanker, DenseRanker, load_ranker
from thinkgraph.tools.encoders.weights import bundled_folder

if TYPE_CHECKING:
    from thinkgraph.tools.protocols import Ranker


class TestDense(RankerConformance):
    @pytest.fixture
    def ranker(self) -> Ranker:
        return load_ranker("dense", HashEmbedder())


class TestBm25(RankerConformance):
    @pytest.fixture
    def ranker(self) -> Ranker:
        return load_ranker("bm25", HashEmbedder())


@pytest.fixture(scope="module")
def tiny_cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained cross-encoder, small and seeded."""
    pytest.importorskip("sentence_transformers")
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    folder = tmp_path_factory.mktemp("models") / "tiny"
    torch.manual_seed(0)
    config = BertConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, num_labels=1)
    BertForSequenceClassification(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(bundled_folder()).save_pretrained(folder)
    return folder


@pytest.mark.xdist_group("g2t")  # the worker that has PyTorch loaded
class TestCrossEncoder(RankerConformance):
    meaningful = False

    @pytest.fixture
    def ranker(self, tiny_cross_encoder: Path) -> Ranker:
        return load_ranker(f"cross-encoder:{tiny_cross_encoder}", HashEmbedder())


def test_names() -> None:
    embedder = HashEmbedder()
    assert load_ranker("dense", embedder).name == "dense:hash-256"
    assert load_ranker("bm25", embedder).name == "bm25"
    assert load_ranker("cross-encoder", embedder).name == "cross-encoder:ms-marco-MiniLM-L6-v2"
    assert isinstance(load_ranker(" Cross-Encoder:a/b ", embedder), CrossEncoderRanker)
    own = DenseRanker(embedder)
    assert load_ranker(own, embedder) is own


@pytest.mark.parametrize(
    ("spec", "says"), [("llm", "chat model"), ("nope", "choose"), ("bm25:x", "unknown"), (3, "no ranker")]
)
def test_wrong_specs(spec: str, says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        load_ranker(spec, HashEmbedder())


def test_bm25_prefers_rare_words_and_short_texts() -> None:
    texts = ["capital city", "capital", "city of canals", "capital " + "filler " * 50]
    scores = Bm25Ranker().score("capital canals", texts)
    assert max(scores) == scores[2] == 1
    assert scores[1] > scores[0] > scores[3] > 0
    assert Bm25Ranker().score("首都", ["日本の首都", "capital"]) == [1.0, 0.0]
