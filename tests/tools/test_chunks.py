"""Chunks cover the text, stay within their size and make progress, whatever the text."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from thinkgraph.tools.chunks import chunk_offsets, sentence_offsets

TEXT = st.one_of(
    st.text(max_size=300),
    st.lists(
        st.sampled_from(["a", " ", ". ", "\n", "。", "é", "🚀", "word ", "x" * 20, ".", "\u3000"]), max_size=80
    ).map("".join),
)


@given(TEXT, st.integers(1, 60), st.integers(0, 80))
@example("", 1, 0)
@example(" " * 100, 10, 9)
@example("a" * 100, 1, 1)
@example("a. " * 50, 7, 3)
def test_chunks_cover_the_text_in_bounded_pieces(text: str, size: int, overlap: int) -> None:
    spans = chunk_offsets(text, size, overlap)
    assert bool(spans) == bool(text)
    reached = last = 0
    for number, (start, end) in enumerate(spans):
        assert 0 <= start < end <= len(text)
        assert end - start <= size
        assert start <= reached, "nothing is left out"
        assert end > reached, "every chunk adds something"
        assert number == 0 or start > last, "and starts later"
        assert reached - start <= min(overlap, size // 2), "and repeats no more than it may"
        reached, last = end, start
    assert reached == len(text)


@given(TEXT, st.integers(8, 60))
def test_the_number_of_chunks_is_bounded(text: str, size: int) -> None:
    assert len(chunk_offsets(text, size, 0)) <= 2 * len(text) // size + 2


def test_a_short_text_is_one_chunk() -> None:
    assert chunk_offsets("One. Two.", 9, 4) == [(0, 9)]


def test_chunks_end_at_sentences_else_at_words_else_anywhere() -> None:
    text = "The first one. The second sentence is longer."
    assert next(text[a:b] for a, b in chunk_offsets(text, 20, 0)) == "The first one. "
    words = "alpha beta gamma delta"
    assert [words[a:b] for a, b in chunk_offsets(words, 12, 0)] == ["alpha beta ", "gamma delta"]
    assert chunk_offsets("x" * 25, 10, 0) == [(0, 10), (10, 20), (20, 25)]
    assert chunk_offsets("一二三。四五六。七", 6, 0)[0] == (0, 4)


@given(TEXT, st.integers(1, 60))
def test_sentences_cover_the_text_once(text: str, size: int) -> None:
    spans = sentence_offsets(text, size)
    assert "".join(text[a:b] for a, b in spans) == text
    assert all(b - a <= size for a, b in spans)


def test_a_sentence_is_a_chunk() -> None:
    text = 'Dr. Brede built it. He said: "It stands!" It fell in 1902.\nNo one came. 一二三四五。六七八九十。'
    assert [text[a:b].strip() for a, b in sentence_offsets(text, 100)] == [
        "Dr. Brede built it.",
        'He said: "It stands!"',
        "It fell in 1902.",
        "No one came.",
        "一二三四五。",
        "六七八九十。",
    ]
    assert [text[a:b] for a, b in sentence_offsets(text, 12)][:2] == ["Dr. Brede ", "built it. "]


@pytest.mark.parametrize("text", ["x" * 200_000, "a " * 100_000, ". " * 100_000, "\n" * 200_000])
def test_a_long_text_takes_no_time(text: str) -> None:
    assert len(chunk_offsets(text, 1000, 100)) < 1000
    assert sentence_offsets(text, 1000)[-1][1] == len(text)


def test_wrapped_text_is_cut_at_sentence_ends_not_at_line_ends() -> None:
    text = "The Osk rises in the Grey Hills. It ends\nin Lake Merish, which\nhas no outlet."
    assert [text[start:end] for start, end in chunk_offsets(text, 60, 0)] == [
        "The Osk rises in the Grey Hills. ",
        "It ends\nin Lake Merish, which\nhas no outlet.",
    ]
    assert chunk_offsets("one two three\nfour five six", 20, 0)[0] == (0, 14)
