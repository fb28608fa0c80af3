"""What every `Ranker` must do."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import pytest

from thinkgraph.testing.conformance import check_members
from thinkgraph.tools.protocols import Ranker


class RankerConformance:
    """Subclass it and define the fixture `ranker`."""

    query: ClassVar[str] = "capital of Austria"
    texts: ClassVar[tuple[str, ...]] = (
        "Bananas grow in warm places.",
        "Vienna is the capital of Austria.",
        "",
        "日本の首都は東京です。",
        "\0 \ud800",
    )
    """`texts[1]` is the relevant one."""
    meaningful: ClassVar[bool] = True
    """Whether the ranker under test is expected to know what is relevant (a model without training does not)."""

    @pytest.fixture
    def ranker(self) -> Ranker:
        """The ranker under test; override it."""
        raise NotImplementedError("give your subclass a fixture `ranker`")

    def test_is_a_ranker_with_a_name(self, ranker: Ranker) -> None:
        """It has the protocol's members and a name."""
        check_members(ranker, Ranker)
        assert ranker.name
        assert isinstance(ranker.name, str)

    def test_no_texts_no_scores(self, ranker: Ranker) -> None:
        """An empty list gives an empty list."""
        assert ranker.score(self.query, []) == []

    @pytest.mark.parametrize("query", ["capital of Austria", "", "?!", "首都", "\ud800\0"])
    def test_one_score_each_never_negative(self, ranker: Ranker, query: str) -> None:
        """One finite score per text, at least 0, whatever the query."""
        scores = ranker.score(query, self.texts)
        assert len(scores) == len(self.texts)
        assert all(type(score) is float and math.isfinite(score) and score >= 0 for score in scores)

    def test_relevant_text_first(self, ranker: Ranker) -> None:
        """Higher is more relevant."""
        if self.meaningful:
            scores = ranker.score(self.query, self.texts)
            assert max(scores) == scores[1] > scores[0]

    def test_same_arguments_same_scores(self, ranker: Ranker) -> None:
        """Scores do not change from call to call or from thread to thread; equal texts score equally."""
        texts = [*self.texts, self.texts[1]]
        scores = ranker.score(self.query, texts)
        assert scores[-1] == scores[1]
        with ThreadPoolExecutor(4) as pool:
            assert all(again == scores for again in pool.map(lambda _: ranker.score(self.query, texts), range(4)))
