"""A deterministic embedder without a model, for tests."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from thinkgraph.tools.encoders.embeddings import CachingEmbedder
from thinkgraph.tools.linking.lexical import tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray


class HashEmbedder(CachingEmbedder):
    """A bag of words hashed into `dimensions` signed buckets: texts that share words are near, others are not."""

    def __init__(self, dimensions: int = 256, *, cache_size: int = 4096) -> None:
        """Choose the number of buckets."""
        super().__init__(f"hash-{dimensions}", cache_size=cache_size)
        self._dimensions = dimensions

    def _load(self) -> Any:
        return self._dimensions

    def _encode(self, model: Any, texts: list[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), model), np.float32)
        for row, text in enumerate(texts):
            for word in tokens(text):
                code = zlib.crc32(word.encode("utf-8", "replace"))
                vectors[row, (code >> 1) % model] += 1 if code & 1 else -1
        return vectors
