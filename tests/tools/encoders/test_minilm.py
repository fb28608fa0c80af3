"""The bundled encoder's forward pass on NumPy."""

from __future__ import annotations

import math
import random
import shutil
import subprocess
import sys

import numpy as np
import pytest

from thinkgraph.errors import KnowledgeError
from thinkgraph.tools.encoders import minilm
from thinkgraph.tools.encoders.embeddings import embed_queries, load_embedder
from thinkgraph.tools.encoders.minilm import MiniLM
from thinkgraph.tools.encoders.weights import bundled_folder

ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz0123456789-.,()%$'",
    "äöüßéèñçøåąęłžšőű",
    "абвгдежзийклмнопрстуфхцчшщ",
    "αβγδεζηθικλμνξοπρστυφχψω",
    "ابتثجحخدذرزسشصضطظعغ",
    "अआइईउऊएऐओऔकखगघ",
    "日本国東京都市中華人民共和",
    "가나다라마바사아자차카타파하",
    "😀🎉🚀🧑\u200d🚀🏳️\u200d🌈👍🏽",
)
ODD = (
    "",
    " ",
    "\n\t",
    "x",
    "[CLS] [SEP] [MASK]",
    "\u200b",
    "e\u0301 \u1e9e \ufb01",
    "a" * 3000,
    "word " * 400,
    "日" * 300,
)


def texts(several: int) -> list[str]:
    chance = random.Random(18)
    made = []
    for _ in range(several):
        alphabet = chance.choice(ALPHABETS)
        words = ["".join(chance.choices(alphabet, k=chance.randint(1, 9))) for _ in range(chance.choice((1, 3, 8, 40)))]
        made.append(" ".join(words))
    return made


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM(bundled_folder())


@pytest.mark.xdist_group("g2t")  # the worker that has PyTorch loaded
def test_agrees_with_sentence_transformers(model):
    library = pytest.importorskip("sentence_transformers")
    other = library.SentenceTransformer(str(bundled_folder()), device="cpu")
    sentences = ["Vienna is the capital of Austria.", "What is the capital of Suriname?"]
    tried = [*ODD, *sentences, *texts(80), "Vienna is the capital of Austria. " * 60, "王 " * 255, "王 " * 253]
    expected = other.encode(tried, normalize_embeddings=True, show_progress_bar=False)
    assert np.abs(model.encode(tried) - expected).max() < 1e-5


@pytest.mark.xdist_group("g2t")
def test_a_models_own_prompts_are_read_before_queries_and_texts(model, tmp_path):
    library = pytest.importorskip("sentence_transformers")
    prompts = {"query": "Question: ", "document": "Passage: "}
    library.SentenceTransformer(str(bundled_folder()), device="cpu", prompts=prompts).save(str(tmp_path / "prompted"))
    embedder = load_embedder(str(tmp_path / "prompted"))
    queries, sentences = embed_queries(embedder, ["Where is Vienna?"], ["Vienna is in Austria."])
    assert np.abs(queries - model.encode(["Question: Where is Vienna?"])).max() < 1e-5
    assert np.abs(sentences - model.encode(["Passage: Vienna is in Austria."])).max() < 1e-5


def test_a_text_has_one_vector_in_every_company(model):
    tried = [*ODD, *texts(30)]
    alone = np.vstack([model.encode([text]) for text in tried])
    assert np.abs(alone - model.encode(tried)).max() < 1e-6
    assert np.abs(alone[::-1] - model.encode(tried[::-1])).max() < 1e-6
    assert np.abs(np.linalg.norm(alone, axis=1) - 1).max() < 1e-6


def test_batches_are_bounded_and_hold_every_text_once():
    chance = random.Random(1)
    lengths = [chance.randint(2, 256) for _ in range(300)]
    batches = list(minilm._batches(lengths))
    assert sorted(number for batch in batches for number in batch) == list(range(300))
    assert all(sum(lengths[number] for number in batch) <= minilm._BATCH_TOKENS for batch in batches)
    in_order = [lengths[number] for batch in batches for number in batch]
    assert in_order == sorted(in_order)
    assert list(minilm._batches([])) == []


def test_attention_beyond_what_exp_bears_is_the_same(model, monkeypatch):
    plain = model.encode(texts(20))
    monkeypatch.setattr(minilm, "_LARGE", 0)
    assert np.abs(model.encode(texts(20)) - plain).max() < 1e-6
    lengths, qkv = [3, 3, 5], np.random.default_rng(18).normal(size=(11, 3 * minilm.DIMENSIONS)).astype(np.float32)
    monkeypatch.undo()
    # Every query meets itself as key in thousands: a head gathers the piece it looks at and nothing else.
    qkv[:, minilm.DIMENSIONS : 2 * minilm.DIMENSIONS] = 100 * qkv[:, : minilm.DIMENSIONS]
    gathered = minilm._attend(qkv, lengths)
    assert np.isfinite(gathered).all()
    assert np.allclose(gathered, qkv[:, 2 * minilm.DIMENSIONS :])


def test_gelu_is_the_exact_one():
    x = np.concatenate([np.linspace(-40, 40, 70_001), [-300, -1e-6, 0, 1e-6, 300]]).astype(np.float32)
    exact = [v * 0.5 * math.erfc(-v / math.sqrt(2)) for v in x.tolist()]
    error = np.abs(minilm._gelu(x.copy()) - exact)
    assert (error <= 4e-7 * np.maximum(1, np.abs(x))).all()


@pytest.mark.parametrize("broken", ["model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("content", [None, b"", b"{}", b'\x10\0\0\0\0\0\0\0{"a":1}        '])
def test_damaged_weights_are_one_line(tmp_path, broken, content):
    for name in ("model.safetensors", "tokenizer.json"):
        shutil.copy(bundled_folder() / name, tmp_path / name)
    if content is None:
        (tmp_path / broken).unlink()
    else:
        (tmp_path / broken).write_bytes(content)
    with pytest.raises(KnowledgeError, match="pip install") as caught:
        MiniLM(tmp_path)
    assert "\n" not in str(caught.value)


def test_encoding_loads_no_pytorch():
    code = (
        "import sys; from thinkgraph.tools.encoders.embeddings import load_embedder; load_embedder().embed(['a text']);"
        "print([m for m in ('torch','transformers','sentence_transformers','huggingface_hub','scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
