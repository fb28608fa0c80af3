"""What graph-to-text hands over."""

from __future__ import annotations

from typing_extensions import TypedDict


class Prose(TypedDict):
    """A community in the words of a sequence-to-sequence model."""

    text: str
    """Empty where nothing was written."""
    ok: bool
    """Whether the text may stand for the triples; where not, T2T has to."""
    problems: list[str]
    """Why not, the kind first: "invented: Texas", "joined: A and B", "left out: s, r, o", "too long: …", "unfinished: …"."""
