"""Knowledge whose every answer is kept in a recording, or comes out of one: a run is repeated without its stores."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thinkgraph.models.recorded import Recording
from thinkgraph.tools.encoders.embeddings import embed_array, embed_queries
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.protocols import Embedder, candidates_of, link_by_name


def recorded(knowledge: Knowledge, recording: Recording) -> Knowledge:
    """The same knowledge, which keeps what it gives."""
    text = knowledge.text
    return knowledge.with_parts(
        graph=lambda: _Graph(recording, knowledge.graph),
        text=lambda: None if text is None else _Text(recording, text),
        linker=lambda: _Linker(recording, knowledge.linker),
        embedder=lambda: _Embedder(recording, knowledge.embedder),
    )


def replayed(recording: Recording) -> Knowledge:
    """The knowledge of a recording that was made with `recorded`."""
    known = recording.about["knowledge"]
    return Knowledge.of_parts(
        known["name"],
        known["fingerprint"],
        empty=known.get("empty", False),
        graph=lambda: _Graph(recording),
        text=lambda: _Text(recording) if known["text"] else None,
        linker=lambda: _Linker(recording),
        embedder=lambda: _Embedder(recording, name=known["embedder"]),
    )


class _Part:
    """A part of the knowledge: the real one, whose results are kept, or none."""

    def __init__(self, recording: Recording, real: Any = None) -> None:
        self._recording, self._real = recording, real

    def _exchange(self, what: str, asked: Any, ask: Callable[[], Any]) -> Any:
        if self._real is None:
            return self._recording.find(what, asked)
        found = ask()
        self._recording.found(what, asked, found)
        return found


def _method(part: str, name: str) -> Callable[..., Any]:
    def call(self: _Part, *args: Any, **options: Any) -> Any:
        return self._exchange(
            f"{part}.{name}", [list(map(_listed, args)), options], lambda: getattr(self._real, name)(*args, **options)
        )

    return call


def _listed(value: Any) -> Any:
    return value if isinstance(value, str) or not isinstance(value, Sequence) else list(value)


class _Graph(_Part):
    """See `GraphStore`."""

    info, lookup, search = (_method("graph", name) for name in ("info", "lookup", "search"))
    entities, triples, relations = (_method("graph", name) for name in ("entities", "triples", "relations"))
    neighbours, neighbourhood = (_method("graph", name) for name in ("neighbours", "neighbourhood"))
    edges_among = _method("graph", "edges_among")


class _Text(_Part):
    """See `CandidateStore`."""

    info, passages, passages_of, search = (
        _method("text", name) for name in ("info", "passages", "passages_of", "search")
    )

    def candidates_of(self, entities: Sequence[str], query: str, *, limit: int = 50) -> Any:
        """See `CandidateStore.candidates_of`; of another store the nearest."""
        return self._exchange(
            "text.candidates_of",
            [list(entities), query, limit],
            lambda: candidates_of(self._real, entities, query, limit=limit),
        )


class _Linker(_Part):
    """See `NameLinker`."""

    link = _method("linker", "link")

    def link_names(self, texts: Sequence[str], *, limit: int = 20, guess: bool = False) -> Any:
        """See `NameLinker.link_names`; of another linker's links those by name."""
        return self._exchange(
            "linker.link_names",
            [list(texts), limit, guess],
            lambda: link_by_name(self._real, texts, limit=limit, guess=guess),
        )


class _Embedder(_Part):
    """See `Embedder`. Each text's vector is kept once, as bytes: rounded it would rank otherwise."""

    def __init__(self, recording: Recording, real: Embedder | None = None, name: str = "") -> None:
        super().__init__(recording, real)
        self.name = real.name if real is not None else name

    def embed_array(self, texts: Sequence[str]) -> Any:
        """See `embeddings.embed_array`."""
        return self._exchanged(texts, texts, embed_array)

    def _exchanged(self, texts: Sequence[str], keys: Sequence[Any], embed: Callable[[Any, Sequence[str]], Any]) -> Any:
        if not texts:
            return np.empty((0, 0), np.float32)
        if self._real is None:
            kept = [b64decode(self._recording.find("embedder", key)) for key in keys]
            return np.stack([np.frombuffer(one, np.float32) for one in kept])
        vectors = embed(self._real, texts)
        for key, vector in zip(keys, vectors, strict=True):
            self._recording.found("embedder", key, b64encode(vector.tobytes()).decode())
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        """See `QueryEmbedder.embed_queries`; of another embedder its vectors of texts."""
        keys = [["query", text] for text in texts]
        found: list[list[float]] = self._exchanged(
            texts, keys, lambda real, them: embed_queries(real, them)[0]
        ).tolist()
        return found

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """See `Embedder.embed`."""
        found: list[list[float]] = self.embed_array(texts).tolist()
        return found
