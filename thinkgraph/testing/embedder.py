"""A deterministic embedder without a model, for tests."""

from __future__ import annotations

from thinkgraph.tools.encoders.words import WordsEmbedder


class HashEmbedder(WordsEmbedder):
    """A bag of words hashed into `dimensions` signed buckets: texts that share words are near, others are not."""

    def __init__(self, dimensions: int = 256, *, cache_size: int = 4096) -> None:
        super().__init__(f"hash-{dimensions}", dimensions, cache_size=cache_size)
