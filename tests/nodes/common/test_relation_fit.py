"""How well relation paths fit a question."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from thinkgraph.nodes.common.relation_fit import MAX_WORDS, fits, stretches, unnamed
from thinkgraph.testing.embedder import HashEmbedder

ASKED = "What is the capital of the country whose highest point is ?"


def scored(question: str, *paths: list[str], asked: list[Any] | None = None) -> list[float]:
    """The scores, by an encoder of words; what is asked of the knowledge goes into `asked`."""
    deps = SimpleNamespace(knowledge=SimpleNamespace(embedder=HashEmbedder()))
    flow = fits(question, paths)
    try:
        request: Any = next(flow)
        while True:
            if asked is not None:
                asked.append(request)
            request = flow.send(request.function(deps))
    except StopIteration as ended:
        return list(ended.value)


def test_a_path_that_says_all_that_is_asked_fits_best() -> None:
    whole, half, other, beside, aside = scored(
        ASKED,
        ["highest point", "capital"],
        ["capital"],
        ["highest point"],
        ["highest point", "population"],
        ["population"],
    )
    assert whole > max(half, other, beside)
    assert min(half, other, beside) > aside
    assert all(0 <= one <= 1 for one in (whole, half, other, beside, aside))


def test_paths_of_the_same_relations_score_alike_and_cost_one_request() -> None:
    asked: list[Any] = []
    scores = scored(ASKED, ["highest point", "capital"], ["capital", "highest point"], ["capital"], asked=asked)
    assert scores[0] == pytest.approx(scores[1]) != scores[2]
    assert len(asked) == 1


def test_without_paths_or_words_nothing_is_encoded() -> None:
    asked: list[Any] = []
    assert scored("What is it?", asked=asked) == []
    assert scored("", ["capital"], asked=asked) == [0.0]
    assert asked == []


def test_names_say_nothing_about_relations() -> None:
    names = ["panama", "Panama Canal", "", "C++"]
    assert unnamed("Who built the Panama Canal in Panama with C++?", names) == "Who built the in with ?"


def test_of_a_long_question_the_first_words_are_compared() -> None:
    assert stretches("a b c d") == ["a", "b", "c", "d", "a b c", "b c d"]
    words = [f"w{number}" for number in range(10 * MAX_WORDS)]
    assert len(stretches(" ".join(words))) == MAX_WORDS + MAX_WORDS - 2
