"""A document read to its end, in the time that a document has."""

from __future__ import annotations

from thinkgraph.ingest.documents.pieces import CutPassage, Reading, ReadingTime, cut


def cut_whole(reading: Reading, size: int) -> list[CutPassage]:
    """All its passages."""
    with ReadingTime() as clock:
        return list(cut(reading, size, clock))
