"""all-MiniLM-L6-v2 on ONNX Runtime: for whoever has that file and not the weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinkgraph.errors import KnowledgeError
from thinkgraph.tools.encoders.minilm import cut

_BATCH = 32


class OnnxMiniLM:
    """The loaded model. Not re-entrant: callers hold a lock."""

    def __init__(self, folder: Path) -> None:
        """Load `tokenizer.json` and `model.onnx` from `folder`.

        Raises:
            KnowledgeError: they cannot be loaded.
        """
        import onnxruntime
        from tokenizers import Tokenizer

        try:
            self.tokenizer: Any = Tokenizer.from_buffer((folder / "tokenizer.json").read_bytes())
            self._session: Any = onnxruntime.InferenceSession(
                str(folder / "model.onnx"), providers=["CPUExecutionProvider"]
            )
        # ONNX Runtime's errors have no base of their own.
        except Exception as error:
            raise KnowledgeError(f"the sentence encoder in {folder} is damaged: delete that folder") from error
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self._inputs = {one.name for one in self._session.get_inputs()}

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Mean vectors, one row for each text; text beyond the window is not read."""
        pieces = [cut(encoding.ids) for encoding in self.tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(pieces)), key=lambda number: len(pieces[number]))
        batches = [order[start : start + _BATCH] for start in range(0, len(order), _BATCH)]
        made = np.concatenate([self._forward([pieces[number] for number in batch]) for batch in batches])
        out = np.empty_like(made)
        out[order] = made
        return out

    def _forward(self, pieces: list[list[int]]) -> NDArray[np.float32]:
        ids = np.zeros((len(pieces), max(map(len, pieces))), np.int64)
        mask = np.zeros_like(ids)
        for row, one in enumerate(pieces):
            ids[row, : len(one)] = one
            mask[row, : len(one)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (x, *_) = self._session.run(None, {name: array for name, array in given.items() if name in self._inputs})
        mean: NDArray[np.float32] = (x * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        return mean.astype(np.float32)
