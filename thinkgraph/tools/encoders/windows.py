"""Long texts cut into what an encoder reads at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from thinkgraph.tools.protocols import Embedder

_WORDS = 200
"""Words of one stretch of a text, for a model whose window is not known."""


def windows_of(embedder: Embedder, text: str, prefix: str = "") -> list[str]:
    """`text` cut into overlapping stretches that fit the embedder, each with `prefix` before it; at least one.

    An embedder that knows how much it reads at once has a method `windows` for it. Of another one they have about 200 words.
    """
    split: Callable[[str, str], list[str]] = getattr(embedder, "windows", split_words)
    return split(text, prefix)


def split_words(text: str, prefix: str = "") -> list[str]:
    """`text` cut into stretches of 200 words (or six characters for each, where there are no spaces)."""
    longest = 6 * _WORDS
    spans = [match.span() for match in re.finditer(rf"\S{{1,{longest}}}", text)]
    if len(spans) <= _WORDS and len(text) <= 2 * longest:
        return [prefix + text]
    return [prefix + text[start:end] for start, end in _stretches(spans, _WORDS, _WORDS // 5, 2 * longest)]


def split_pieces(tokenizer: Any, text: str, prefix: str, window: int) -> list[str]:
    """`text` cut at word pieces so that `prefix` and each stretch fit a window, an eighth overlapping the next."""
    special = 2
    spans = tokenizer.encode(text, add_special_tokens=False).offsets
    # A title that fills the window would leave the text unread; it may take half of it.
    taken = min(len(tokenizer.encode(prefix, add_special_tokens=False).ids), window // 2) if prefix else 0
    room = max(window - special - taken, 1)
    if len(spans) <= room:
        return [prefix + text]
    return [prefix + text[start:end] for start, end in _stretches(spans, room, room // 8, len(text))]


def _stretches(spans: Sequence[tuple[int, int]], most: int, overlap: int, longest: int) -> Iterator[tuple[int, int]]:
    """Start and end of runs of at most `most` spans and `longest` characters, each but the first repeating `overlap` spans."""
    start = 0
    while True:
        end = start + 1
        while end < min(len(spans), start + most) and spans[end][1] - spans[start][0] <= longest:
            end += 1
        yield (spans[start][0], spans[end - 1][1]) if spans else (0, 0)
        if end >= len(spans):
            return
        start = max(start + 1, end - overlap)
