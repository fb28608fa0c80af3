"""Text as a picture shows it: cleaned, escaped, measured and broken into lines. Labels are other people's text."""

from __future__ import annotations

import html
import re
import unicodedata

from thinkgraph.prompts.lines import one_line

_ILLEGAL = re.compile("[\ufffe\uffff]")
"""What XML cannot hold; control characters are gone with `one_line`."""
_NARROW = frozenset("iljftrI.,:;'|!()[]{}/\\ ")
_WIDE = frozenset("mwMW@%&—")
_BREAK_AFTER = frozenset(" -–/,")
ELLIPSIS = "…"


def plain(text: str) -> str:
    """The text on one line without anything that steers a terminal, a browser or the direction of writing."""
    return one_line(_ILLEGAL.sub("", text))


def escaped(text: str) -> str:
    """`plain` text for XML and HTML, in elements and in attributes."""
    return html.escape(plain(text), quote=True)


def lines_escaped(text: str) -> str:
    """Several lines, each escaped."""
    return "\n".join(escaped(line) for line in text.split("\n"))


def width(text: str, size: float) -> float:
    """About how wide a text is in a common sans-serif font, in the unit of `size`."""
    return size * sum(map(_advance, text))


def _advance(character: str) -> float:
    if character in _NARROW:
        return 0.33
    if character in _WIDE:
        return 0.9
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0.0
    if unicodedata.east_asian_width(character) in {"W", "F"}:
        return 1.0
    return 0.7 if character.isupper() else 0.57


def cut(text: str, size: float, room: float) -> str:
    """As much of a text as fits, with an ellipsis where it was cut."""
    if width(text, size) <= room:
        return text
    left = room - width(ELLIPSIS, size)
    kept = ""
    for character in text:
        left -= _advance(character) * size
        if left < 0:
            break
        kept += character
    return kept.rstrip() + ELLIPSIS


def wrap(text: str, size: float, room: float, most: int) -> list[str]:
    """A text in at most `most` lines that fit, broken at spaces where there are any; the last one is cut."""
    left = plain(text)
    found: list[str] = []
    while left and len(found) < most - 1 and width(left, size) > room:
        end = _fitting(left, size, room)
        found.append(left[:end].rstrip())
        left = left[end:].lstrip()
    return [*found, cut(left, size, room)] if left or not found else found


def _fitting(text: str, size: float, room: float) -> int:
    taken, at, last = 0.0, 0, 0
    for at, character in enumerate(text):
        taken += _advance(character) * size
        if taken > room:
            break
        if character in _BREAK_AFTER:
            last = at + 1
    return last or max(at, 1)
