from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkgraph.tools.linking.lexical import content_tokens, overlap, stem, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The countries BORDERING France's rivers", ["the", "country", "border", "france", "river"]),
        ("ﬁne Ｔｏｋｙｏ", ["fine", "tokyo"]),  # noqa: RUF001 - full width on purpose
        ("日本の首都は?", ["日本", "本の", "の首", "首都", "都は"]),
        ("GDPは", ["gdp", "は"]),
        ("Москва 서울은", ["москва", "서울", "울은"]),
        ("नील नदी की लंबाई?", ["नील", "नदी", "की", "लंबाई"]),
        ("مُحَمَّد", ["مُحَمَّد"]),
        ("Kyiv\u2019s and Lviv's", ["kyiv", "and", "lviv"]),
        ("?! ... \0", []),
        ("news bus is gas", ["news", "bus", "is", "gas"]),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    found = tokens(text)
    assert found[: len(expected)] == expected or found == [stem(word) for word in expected]


def test_inflections_meet() -> None:
    for group in (("country", "countries"), ("border", "borders", "bordering", "bordered"), ("house", "houses")):
        assert len({stem(word) for word in group}) == 1


def test_content_tokens_leave_function_words_out() -> None:
    assert content_tokens("What is the capital of Austria?") == ["capital", "austria"]


def test_overlap() -> None:
    assert overlap("countries bordering France", "France borders a country") == 1
    assert overlap("", "") == overlap("a", "") == 0
    assert overlap("to be", "to be") == 1


@given(st.text(), st.text())
def test_overlap_is_a_similarity(a: str, b: str) -> None:
    assert 0 <= overlap(a, b) == overlap(b, a) <= 1
    if tokens(a):
        assert overlap(a, a) == 1
