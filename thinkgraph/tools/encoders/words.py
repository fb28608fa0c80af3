"""An embedder without a model: what texts are compared by where no encoder is installed."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinkgraph.tools.encoders import embeddings
from thinkgraph.tools.encoders.embeddings import BundledEmbedder, CachingEmbedder
from thinkgraph.tools.encoders.weights import encoder_found, say_by_words
from thinkgraph.tools.linking.lexical import tokens
from thinkgraph.tools.protocols import Embedder

WORDS = "words"
"""The name of the embedder that stands in for the bundled one."""


class WordsEmbedder(CachingEmbedder):
    """A bag of words hashed into signed buckets: texts that share words are near, others are not."""

    def __init__(self, name: str = WORDS, dimensions: int = 1024, *, cache_size: int = 4096) -> None:
        """Choose the number of buckets."""
        super().__init__(name, cache_size=cache_size)
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


def embedder_for_questions(spec: str | None) -> Embedder:
    """The embedder that `spec` names; for the bundled one, where nothing can load it, one by words, and a notice once.

    For reading only: what words give is never kept.

    Raises:
        KnowledgeError: as `load_embedder`.
    """
    chosen = embeddings.load_embedder(spec)
    if isinstance(chosen, BundledEmbedder) and not encoder_found():
        say_by_words()
        return WordsEmbedder()
    return chosen
