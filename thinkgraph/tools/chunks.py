"""Cutting passages into chunks with offsets (ToG-2 section 3.2.2)."""

from __future__ import annotations

import re

_STOP = re.compile(r"[.!?。！？]['\")\]]*\s+|\n\s*\n|[。！？]")
"""The end of a sentence or paragraph."""
_BREAK = re.compile(r"[;:]['\")\]]*\s+|\n+")
"""Where a text without such an end is cut: lines of wrapped text end within sentences."""
_SENTENCE = re.compile(r"[.!?]['\")\]]*\s+|\n+|[。！？]['\")\]」』]*\s*")
_ABBREVIATED = 4
"""Letters and digits that are no sentence of their own ("Dr.", "No. 5")."""


def chunk_offsets(text: str, size: int, overlap: int) -> list[tuple[int, int]]:
    """Offsets (start, end) in characters of chunks of at most `size`, cut at sentence ends where there are any.

    A chunk repeats about `overlap` characters of the one before; these are less than `size`.
    """
    if len(text) <= size:
        return [(0, len(text))] if text else []
    overlap = min(overlap, size // 2)
    spans = []
    start = 0
    while start < len(text):
        end = min(start + size, len(text))
        if end < len(text):
            # The last sentence end in the second half of the window; else the last line end or semicolon; else the last
            # white space; else a hard cut.
            half = start + size // 2
            stops = [*_STOP.finditer(text, half, end)] or [*_BREAK.finditer(text, half, end)]
            space = text.rfind(" ", half, end)
            end = stops[-1].end() if stops else (space + 1 if space > 0 else end)
        spans.append((start, end))
        if end >= len(text):
            break
        start = max(end - overlap, start + 1)
        space = text.find(" ", start, end)
        start = space + 1 if 0 <= space < end - 1 else start
    return spans


def sentence_offsets(text: str, size: int) -> list[tuple[int, int]]:
    """Offsets (start, end) in characters of the sentences of a text. One longer than `size` is cut as `chunk_offsets` cuts."""
    spans = []
    start = seen = signs = 0
    for end in [*(found.end() for found in _SENTENCE.finditer(text)), len(text)]:
        signs += sum(map(str.isalnum, text[seen:end]))
        seen = end
        if end == len(text) or signs > _ABBREVIATED:
            spans += [(start + a, start + b) for a, b in chunk_offsets(text[start:end], size, 0)]
            start, signs = end, 0
    return spans
