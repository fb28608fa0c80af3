"""A document while it is read: pieces of text with section and offset, and the passages cut from them."""

from __future__ import annotations

import ctypes
import re
import sys
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial

from thinkgraph.tools.chunks import chunk_offsets

LONGEST_PIECE = 1 << 16
"""Characters of a piece of a text file at most, so that a long file is never in memory as a whole."""

MOST_SECONDS = 120.0
"""Of the processor's time, to read one document."""

_LOOK = 0.5
"""Seconds between two looks at the time that a reader has taken."""

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_SOFT_HYPHEN = re.compile("\u00ad(?:\r?\n)?")


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
    left_out: list[str] = field(default_factory=list)
    """What of it could not be read although the rest was, once all pieces have been read."""


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


class _OverTimeError(BaseException):
    """Raised inside a reader, whose libraries catch every `Exception`."""


class ReadingTime(AbstractContextManager["ReadingTime"]):
    """Ends the reader of a document that takes more than MOST_SECONDS of the processor's time, wherever it is.

    A thread looks after the one that made it. It interrupts between two steps of Python: a step of a library in C ends first.
    """

    def __init__(self) -> None:
        self._reader = threading.get_ident()
        self._clock = _clock_of(self._reader)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._left = MOST_SECONDS
        self._until: float | None = None
        """When a reader that runs now has had its time; None: none runs."""
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self._thread.join()

    def begin(self) -> None:
        """The next document has all of its time."""
        self._left = MOST_SECONDS

    @contextmanager
    def counted(self) -> Iterator[None]:
        """What is done within is the reader's.

        Raises:
            UnreadableError: it took too long.
        """
        try:
            with self._lock:
                self._until = self._clock() + self._left
            try:
                yield
            finally:
                self._stop()
        except _OverTimeError:
            self._stop()
        if self._left <= 0:
            raise UnreadableError(f"takes more than {MOST_SECONDS:g} s to read: is it a document?")

    def _stop(self) -> None:
        with self._lock:
            if self._until is not None:
                self._left = self._until - self._clock()
                self._until = None
                if self._left <= 0:
                    _interrupt(self._reader, None)

    def _watch(self) -> None:
        while not self._over.wait(_LOOK):
            with self._lock:
                # Again and again: a library may drop what is raised while it cleans up.
                if self._until is not None and self._clock() >= self._until:
                    _interrupt(self._reader, _OverTimeError)


def _clock_of(thread: int) -> Callable[[], float]:
    """The processor's time of a thread; macOS tells only that of the process."""
    if sys.platform == "darwin":
        return time.process_time
    return partial(time.clock_gettime, time.pthread_getcpuclockid(thread))


def _interrupt(thread: int, error: type[BaseException] | None) -> None:
    """Have a thread raise an error at its next step; None takes one back that was not raised yet."""
    what = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), what)


def cut(reading: Reading, size: int, clock: ReadingTime) -> Iterator[CutPassage]:
    """A document's passages: at most `size` characters, within one section, cut at sentence ends where there are any.

    White space at the ends is removed. A passage without letter or digit is left out.

    Raises:
        UnreadableError: it took more than MOST_SECONDS, or a piece of it cannot be read.
    """
    passages = _cut(reading, size)
    while True:
        with clock.counted():
            passage = next(passages, None)
        if passage is None:
            return
        yield passage


def _cut(reading: Reading, size: int) -> Iterator[CutPassage]:
    for piece in reading.pieces:
        for start, end in chunk_offsets(piece.text, size, 0):
            raw = piece.text[start:end]
            text = raw.strip()
            if any(c.isalnum() for c in text):
                first = start + len(raw) - len(raw.lstrip())
                last = piece.place(first + len(text) - 1) + 1
                words = _UNPRINTABLE.sub(" ", _SOFT_HYPHEN.sub("", reading.clean(text)))
                yield CutPassage(piece.section, piece.place(first), last, words)


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
