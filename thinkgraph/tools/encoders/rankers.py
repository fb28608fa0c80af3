"""Rankers: how relevant a text is to a query (ToG-2 section 3.2.2, equation 5; the choices of figure 3a)."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from thinkgraph.errors import KnowledgeError, SettingsError
from thinkgraph.tools.encoders.embeddings import embed_queries, load_from_hub, quiet_libraries, sentence_transformers
from thinkgraph.tools.encoders.thread import in_encoder_thread
from thinkgraph.tools.encoders.words import WORDS
from thinkgraph.tools.linking.lexical import query_tokens, tokens
from thinkgraph.tools.linking.names import well_formed
from thinkgraph.tools.meter import count
from thinkgraph.tools.protocols import Embedder, Ranker

CROSS_ENCODER = "cross-encoder/ms-marco-MiniLM-L6-v2"
"""The cross-encoder used where none is named (the MiniLM of ToG-2's figure 3a)."""

_K1, _B = 1.5, 0.75


class DenseRanker:
    """Cosine of two sentence vectors, negative ones as 0 (the paper's default kind of ranker)."""

    def __init__(self, embedder: Embedder) -> None:
        """Rank with `embedder`, which loads on first use."""
        self.name = f"dense:{embedder.name}"
        self._embedder = embedder

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score per text, 0 to 1, rounded to six decimals so that it does not depend on the batch.

        Raises:
            KnowledgeError: The encoder cannot be loaded or reached.
        """
        if not texts:
            return []
        queries, vectors = embed_queries(self._embedder, [query], texts)
        cosines = np.clip(vectors @ queries[0], 0, 1).astype(np.float64)
        return [float(score) for score in np.round(cosines, 6)]


class CrossEncoderRanker:
    """A sentence-transformers `CrossEncoder`, which reads query and text together; the score is its sigmoid."""

    def __init__(self, model: str = CROSS_ENCODER) -> None:
        """Name the model (hub or folder); it loads on first use."""
        self.name = f"cross-encoder:{model.rstrip('/').rsplit('/', 1)[-1]}"
        self._source = model
        self._lock = Lock()
        self._model: Any = None

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score per text, 0 to 1, rounded to six decimals.

        Raises:
            KnowledgeError: The model cannot be loaded.
        """
        if not texts:
            return []
        distinct = list(dict.fromkeys(texts))
        with self._lock:
            if self._model is None:
                made = sentence_transformers().CrossEncoder
                self._model = load_from_hub(made, self._source, "cross-encoder")
            with quiet_libraries():
                import torch

                predict = functools.partial(
                    self._model.predict,
                    [(well_formed(query), well_formed(text)) for text in distinct],
                    show_progress_bar=False,
                    activation_fn=torch.nn.Identity(),
                    convert_to_numpy=True,
                )
                logits = in_encoder_thread(predict)
        count(encoder_texts=len(distinct))
        values = np.asarray(logits, np.float64).reshape(len(distinct), -1)
        if values.shape[1] != 1:
            raise KnowledgeError(
                f"{self._source} gives {values.shape[1]} scores per pair: a ranker needs a cross-encoder with one"
            )
        scores = np.round(1 / (1 + np.exp(-np.clip(values[:, 0], -50, 50))), 6)
        by_text: dict[str, float] = dict(zip(distinct, scores.tolist(), strict=True))
        return [by_text[text] for text in texts]


class Bm25Ranker:
    """BM25 over the given texts, their own corpus, divided by the best score; needs no model."""

    name = "bm25"

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score per text, 0 to 1; all 0 where no text shares a word with the query."""
        bags = [Counter(tokens(text)) for text in texts]
        mean = sum(bag.total() for bag in bags) / len(bags) if bags else 0.0
        terms = Counter(query_tokens(query))
        scores = [0.0] * len(bags)
        for term, weight in terms.items():
            holders = sum(1 for bag in bags if term in bag)
            # Lucene's form of the inverse document frequency, never negative.
            rarity = math.log(1 + (len(bags) - holders + 0.5) / (holders + 0.5))
            for place, bag in enumerate(bags):
                count = bag[term]
                if count:
                    length = 1 - _B + _B * bag.total() / mean
                    scores[place] += weight * rarity * count * (_K1 + 1) / (count + _K1 * length)
        best = max(scores, default=0.0)
        return [round(score / best, 6) for score in scores] if best > 0 else scores


def load_ranker(spec: str | Ranker, embedder: Embedder) -> Ranker:
    """The ranker that `spec` names: "dense", "bm25", "cross-encoder", "cross-encoder:<model or folder>", or a `Ranker`.

    Args:
        spec: The name, or an object with `name` and `score`, returned as it is.
        embedder: Used by "dense"; where it goes by words alone, BM25 does that better.

    Raises:
        SettingsError: There is no such ranker; "llm" needs a model and is made where one is at hand.
    """
    if not isinstance(spec, str):
        if isinstance(spec, Ranker):
            return spec
        raise SettingsError(f"{type(spec).__name__} is no ranker: it needs a `name` and a method `score(query, texts)`")
    kind, _, model = spec.strip().partition(":")
    match kind.casefold().replace("_", "-"), model.strip():
        case "dense", "":
            return Bm25Ranker() if embedder.name == WORDS else DenseRanker(embedder)
        case "bm25", "":
            return Bm25Ranker()
        case "cross-encoder", named:
            return CrossEncoderRanker(named or CROSS_ENCODER)
        case "llm", _:
            raise SettingsError(
                'the ranker "llm" asks a chat model: set it as the `ranker` of a method, which has one, not here'
            )
    raise SettingsError(f'unknown ranker {spec!r}: choose "dense", "bm25", "cross-encoder[:model]" or "llm"')
