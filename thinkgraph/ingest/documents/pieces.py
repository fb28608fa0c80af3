"""A document while it is read: pieces of text with section and offset, and the passages cut from them."""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from thinkgraph.tools.chunks import chunk_offsets

LONGEST_PIECE = 1 << 16
"""Characters of a piece of a text file at most, so that a long file is never in memory as a whole."""

MOST_SECONDS = 120.0
"""Of the processor's time, to read one document."""

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


class UnreadableError(Exception):
    """A document cannot be read. The text is one line that says why, and what to do about it if anything helps."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of one section that stands together."""

    section: str
    """The headings above it, outermost first, separated by " / "."""
    text: str
    start: int
    """Offset of its first character in the file, in characters as decoded."""
    marks: tuple[tuple[int, int], ...] = ()
    """Where the text continues after a part of the file that it leaves out: (offset in `text`, offset in the file)."""

    def place(self, offset: int) -> int:
        """The offset in the file of a character of the text."""
        if not self.marks:
            return self.start + offset
        text, file = self.marks[max(0, bisect_right(self.marks, (offset, 1 << 62)) - 1)]
        return file + offset - text


@dataclass
class Reading:
    """A document while it is read."""

    title: str = ""
    """Set when all pieces have been read, if not before."""
    entities: tuple[str, ...] = ()
    pieces: Iterator[Piece] = field(default_factory=lambda: iter(()))
    clean: Callable[[str], str] = str
    """Removes markup from the text of a passage."""


class Headings:
    """The headings above the text that is being read."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._above: list[tuple[int, str]] = []

    @property
    def section(self) -> str:
        """See `Piece.section`. The document's title is not part of it."""
        return " / ".join(text for _, text in self._above)

    def enter(self, level: int, text: str) -> None:
        """Add a heading, which ends those of its level and below. The first of level 1 becomes the title if there is none."""
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
    """A document's passages: at most `size` characters, within one section, cut at sentence ends where there are any.

    White space at the ends is removed. A passage without letter or digit is left out.

    Raises:
        UnreadableError: it took more than MOST_SECONDS, or a piece of it cannot be read.
    """
    spent, began = 0.0, time.thread_time()
    for passage in _cut(reading, size):
        spent += time.thread_time() - began
        if spent > MOST_SECONDS:
            raise UnreadableError(f"takes more than {MOST_SECONDS:.0f} s to read: is it a document?")
        if passage:
            yield passage
        began = time.thread_time()


def _cut(reading: Reading, size: int) -> Iterator[CutPassage | None]:
    """The passages; None after every piece, so that pieces without passages count."""
    for piece in reading.pieces:
        for start, end in chunk_offsets(piece.text, size, 0):
            raw = piece.text[start:end]
            text = raw.strip()
            if any(c.isalnum() for c in text):
                first = start + len(raw) - len(raw.lstrip())
                last = piece.place(first + len(text) - 1) + 1
                yield CutPassage(piece.section, piece.place(first), last, _UNPRINTABLE.sub(" ", reading.clean(text)))
        yield None


def pieces_of(lines: Iterable[str], section: str = "", start: int = 0) -> Iterator[Piece]:
    """The lines as pieces of a bounded length."""
    held = ""
    for line in lines:
        held += line
        if len(held) >= LONGEST_PIECE:
            *spans, (rest, _) = chunk_offsets(held, LONGEST_PIECE, 0)
            yield from (Piece(section, held[first:last], start + first) for first, last in spans)
            held, start = held[rest:], start + rest
    if held:
        yield Piece(section, held, start)
