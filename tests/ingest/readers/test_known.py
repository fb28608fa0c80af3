"""Vectors that come with the data are those of the bundled encoder, and cover all that building encodes."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from thinkgraph.errors import KnowledgeError
from thinkgraph.ingest.passages import title_prefix
from thinkgraph.ingest.readers.known import ReusingEmbedder, key, load, save
from thinkgraph.ingest.world import build_world
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.encoders.embeddings import BundledEmbedder
from thinkgraph.tools.encoders.windows import windows_of
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.linking.meaning import entity_text

WORLD = Path(__file__).parents[3] / "thinkgraph" / "data" / "world"
MOST_BYTES = 3_000_000


class NoEncoder(BundledEmbedder):
    """Has the bundled encoder's name and encodes nothing."""

    def _load(self):
        raise AssertionError("a text of the example has no shipped vector; run scripts/make_world_vectors.py")


def test_every_text_of_the_example_has_a_vector_and_they_are_right(tmp_path):
    build_world(tmp_path / "world", WORLD, embedder=NoEncoder())
    _, known = load(WORLD / "vectors.npz")
    rng = random.Random(7)
    encoder = BundledEmbedder()
    with Knowledge.open(tmp_path / "world", embedder=encoder) as world:
        entities = world.graph.entities(rng.sample(world.graph.most_linked(10_000), 15))
        passages = world.text.passages([f"{line}" for line in rng.sample(ids_of_passages(), 25)])
    texts = [entity_text(one) for one in entities] + [title_prefix(one) + one["text"] for one in passages]
    for text, vector in zip(texts, encoder.embed_array(texts), strict=True):
        assert known[key(encoder.name, text)] @ vector > 0.999
    assert sum(path.stat().st_size for path in WORLD.iterdir()) < MOST_BYTES


def ids_of_passages() -> list[str]:
    import json

    with (WORLD / "passages.jsonl").open() as lines:
        return [json.loads(line)["id"] for line in lines]


def test_only_exactly_known_texts_of_that_encoder_are_reused(tmp_path):
    encoder = HashEmbedder(64)
    texts = ["red apple", "green pear", "a" * 5000]
    save(tmp_path / "v.npz", encoder.name, texts, encoder.embed_array(texts))
    before = encoder.encoded
    reusing = ReusingEmbedder(encoder, tmp_path / "v.npz")
    assert reusing.name == encoder.name
    assert reusing.embed([]) == []
    vectors = reusing.embed_array([*texts, texts[0]])
    assert encoder.encoded == before
    assert np.sum(vectors[:3] * encoder.embed_array(texts), axis=1).min() > 0.999
    assert np.array_equal(vectors[0], vectors[3])
    mixed = reusing.embed_array(["red apple", "red apples", "Red apple"])
    assert encoder.encoded == before + 2
    assert np.array_equal(mixed[1], encoder.embed_array(["red apples"])[0])
    # The same numbers for another encoder say nothing.
    other = HashEmbedder(32)
    assert ReusingEmbedder(other, tmp_path / "v.npz").embed_array(texts).shape == (3, 32)
    assert other.encoded == 3


def test_windows(tmp_path):
    encoder = HashEmbedder()
    long = "word " * 1000
    save(tmp_path / "v.npz", encoder.name, ["T: " + long], encoder.embed_array(["T: " + long]))
    reusing = ReusingEmbedder(encoder, tmp_path / "v.npz")
    assert reusing.windows(long, "T: ") == ["T: " + long]
    assert reusing.windows(long, "U: ") == windows_of(encoder, long, "U: ")


@pytest.mark.parametrize("content", [None, b"", b"PK\3\4 nonsense", b"nonsense" * 100])
def test_damaged_file(tmp_path, content):
    path = tmp_path / "v.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(KnowledgeError, match=r"v\.npz cannot be read"):
        load(path)


def test_saved_bytes_depend_on_the_texts_alone(tmp_path):
    encoder = HashEmbedder()
    for name, texts in (("one", ["a", "b", "c"]), ("two", ["c", "a", "b"])):
        save(tmp_path / f"{name}.npz", encoder.name, texts, encoder.embed_array(texts))
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
