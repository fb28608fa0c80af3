"""Vectors that were made before and come with the data, so that building need not encode those texts again."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thinkgraph.errors import KnowledgeError
from thinkgraph.tools.encoders.embeddings import embed_array
from thinkgraph.tools.encoders.windows import windows_of
from thinkgraph.tools.protocols import Embedder

_KEY_BYTES = 8
_STEPS = 63
"""A number is kept as one of 127 steps of its vector's largest: cosine 0.9998 with the vector itself, and the file
packs to five sixths."""


def load(path: Path) -> tuple[str, dict[bytes, NDArray[np.float32]]]:
    """The encoder's name and its unit vectors, by `key` of their texts, from a file written by `save`.

    Raises:
        KnowledgeError: it is missing or damaged.
    """
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as table:
            name, keys = str(table["embedder"]), table["keys"]
            vectors = table["codes"].astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return name, dict(zip((row.tobytes() for row in keys), vectors, strict=True))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise KnowledgeError(f"the vectors {path} cannot be read ({error}); install or make them again") from None


def save(path: Path, embedder: str, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
    """Write the vectors of `texts`, in an order that depends on nothing but the texts. Lengths are not kept."""
    keys = [key(embedder, text) for text in texts]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    scaled = vectors * (_STEPS / np.abs(vectors).max(axis=1, keepdims=True))
    np.savez_compressed(
        path,
        embedder=np.array(embedder),
        keys=np.frombuffer(b"".join(keys[i] for i in order), np.uint8).reshape(-1, _KEY_BYTES),
        codes=np.rint(scaled).astype(np.int8)[order],
    )


def key(embedder: str, text: str) -> bytes:
    """What a vector is known by: a hash of the encoder's name and the text."""
    return hashlib.blake2b(f"{embedder}\0{text}".encode("utf-8", "replace"), digest_size=_KEY_BYTES).digest()


class ReusingEmbedder:
    """An encoder that first looks into a table of known vectors. Nothing is loaded while the table has every text."""

    def __init__(self, embedder: Embedder, path: Path) -> None:
        """Encode with `embedder` what the file at `path` does not have; one of another encoder is not used at all.

        Raises:
            KnowledgeError: the file is missing or damaged.
        """
        self.name = embedder.name
        self._embedder = embedder
        name, vectors = load(path)
        self._known = vectors if name == embedder.name else {}

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """See `Embedder.embed`."""
        return [[float(x) for x in row] for row in self.embed_array(texts).tolist()]

    def embed_array(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As `embed`, as one float32 array of shape (len(texts), dimensions)."""
        if not texts:
            return np.empty((0, 0), np.float32)
        keys = {text: key(self.name, text) for text in texts}
        found = {text: self._known[at] for text, at in keys.items() if at in self._known}
        if missing := [text for text in dict.fromkeys(texts) if text not in found]:
            found.update(zip(missing, embed_array(self._embedder, missing), strict=True))
        return np.stack([found[text] for text in texts])

    def windows(self, text: str, prefix: str = "") -> list[str]:
        """See `windows_of`. Only what fits one window is ever encoded whole, so a text that is known needs no
        tokeniser to be seen to fit.
        """
        if key(self.name, prefix + text) in self._known:
            return [prefix + text]
        return windows_of(self._embedder, text, prefix)
