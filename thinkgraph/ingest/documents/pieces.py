"""What readers hand over: pieces of text with the section they stand in and where they stand in the file; and chunks."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from thinkgraph.tools.chunks import chunk_offsets

LONGEST_PIECE = 1 << 16
"""Characters after which readers of long files hand over what they have, at a paragraph's end: memory stays flat."""

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


class UnreadableError(Exception):
    """A document that cannot be read. The text is one line that says why, and what to do where something can be done."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Text that stands together."""

    section: str
    """Headings above it, outermost first, parted by " / "."""
    text: str
    start: int
    """Offset of its first character in the file, in characters as decoded."""
    marks: tuple[tuple[int, int], ...] = ()
    """Where the text leaves out parts of the file: (offset in `text`, offset in the file) from which on it runs alike."""

    def place(self, offset: int) -> int:
        """Where a character of the text stands in the file."""
        if not self.marks:
            return self.start + offset
        text, file = self.marks[max(0, bisect_right(self.marks, (offset, 1 << 62)) - 1)]
        return file + offset - text


@dataclass
class Reading:
    """A document while it is read."""

    title: str = ""
    """Known when its pieces have been read, at the latest."""
    entities: tuple[str, ...] = ()
    pieces: Iterator[Piece] = field(default_factory=lambda: iter(()))
    clean: Callable[[str], str] = str
    """Takes markup out of a passage's text."""


class Headings:
    """The headings above the text that is being read."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._above: list[tuple[int, str]] = []

    @property
    def section(self) -> str:
        """See `Piece.section`. The document's title is no part of it."""
        return " / ".join(text for _, text in self._above)

    def enter(self, level: int, text: str) -> None:
        """Take in a heading, which ends those of its level and below. The first top heading titles a document without title."""
        self._above = [heading for heading in self._above if heading[0] < level]
        if level == 1 and not self._reading.title:
            self._reading.title = text
        if text and text != self._reading.title:
            self._above.append((level, text))


@dataclass(frozen=True, slots=True)
class CutPassage:
    """A passage cut from a document."""

    section: str
    start: int
    end: int
    """Offsets in the file, in characters as decoded."""
    text: str


def cut(reading: Reading, size: int) -> Iterator[CutPassage]:
    """A document's passages, of at most `size` characters that never cross a section, cut at sentence ends where there are any.

    White space at the ends goes; what holds neither letter nor digit is left out.
    """
    for piece in reading.pieces:
        for start, end in chunk_offsets(piece.text, size, 0):
            raw = piece.text[start:end]
            text = raw.strip()
            if any(c.isalnum() for c in text):
                first = start + len(raw) - len(raw.lstrip())
                last = piece.place(first + len(text) - 1) + 1
                yield CutPassage(piece.section, piece.place(first), last, _UNPRINTABLE.sub(" ", reading.clean(text)))


def pieces_of(lines: Iterable[str], section: str = "", start: int = 0) -> Iterator[Piece]:
    """Lines that stand together, as pieces of a bounded length."""
    held = ""
    for line in lines:
        held += line
        if len(held) >= LONGEST_PIECE:
            *spans, (rest, _) = chunk_offsets(held, LONGEST_PIECE, 0)
            yield from (Piece(section, held[first:last], start + first) for first, last in spans)
            held, start = held[rest:], start + rest
    if held:
        yield Piece(section, held, start)
