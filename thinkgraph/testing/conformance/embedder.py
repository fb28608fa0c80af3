"""What every `Embedder` must do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import numpy as np
import pytest

from thinkgraph.testing.conformance import check_members
from thinkgraph.tools.protocols import Embedder

_UNIT_TOLERANCE = 1e-3
_SAME = 1e-4


class EmbedderConformance:
    """Subclass it and define the fixture `embedder`."""

    texts: ClassVar[Sequence[str]] = (
        "Vienna is the capital of Austria.",
        "The Danube flows through four capitals.",
        "",
        "日本の首都は東京です。",
        "a\0b \ud800 \u202e",
        "word " * 3000,
    )
    """Texts tried; odd ones among them on purpose."""

    @pytest.fixture
    def embedder(self) -> Embedder:
        """The embedder under test; override it."""
        raise NotImplementedError("give your subclass a fixture `embedder`")

    def test_is_an_embedder_with_a_name(self, embedder: Embedder) -> None:
        """It has the protocol's members and a name."""
        check_members(embedder, Embedder)
        assert embedder.name
        assert isinstance(embedder.name, str)

    def test_no_texts_no_vectors(self, embedder: Embedder) -> None:
        """An empty list gives an empty list."""
        assert embedder.embed([]) == []

    def test_unit_vectors_of_one_length(self, embedder: Embedder) -> None:
        """One unit vector per text, all of one length, plain floats."""
        vectors = embedder.embed(self.texts)
        assert len(vectors) == len(self.texts)
        assert len({len(vector) for vector in vectors}) == 1
        for vector in vectors:
            assert all(type(x) is float for x in vector)
            assert math.hypot(*vector) == pytest.approx(1, abs=_UNIT_TOLERANCE)

    def test_order_and_company_do_not_matter(self, embedder: Embedder) -> None:
        """A text's vector is the same alone, in any order and twice in one list."""
        forward = embedder.embed(self.texts)
        backward = embedder.embed([*reversed(self.texts), self.texts[0]])
        for one, other in zip(forward, list(reversed(backward[:-1])), strict=True):
            assert one == pytest.approx(other, abs=_SAME)
        assert backward[-1] == pytest.approx(forward[0], abs=_SAME)
        assert embedder.embed([self.texts[1]])[0] == pytest.approx(forward[1], abs=_SAME)

    def test_related_texts_are_nearer(self, embedder: Embedder) -> None:
        """A text that shares words and meaning is nearer than one that shares neither."""
        query, near, far = embedder.embed(
            ["the capital of Austria", "Vienna is the capital of Austria.", "Bananas grow quickly."]
        )
        assert np.dot(query, near) > np.dot(query, far)

    def test_threads(self, embedder: Embedder) -> None:
        """Calls from several threads give what one call gives."""
        alone = embedder.embed(self.texts)
        with ThreadPoolExecutor(4) as pool:
            for vectors in pool.map(lambda _: embedder.embed(self.texts), range(4)):
                for one, other in zip(vectors, alone, strict=True):
                    assert one == pytest.approx(other, abs=_SAME)
