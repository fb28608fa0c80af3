from __future__ import annotations

from pathlib import Path

import pytest
from training.sample import write_rows

from thinkgraph.ingest.readers.rejects import Rejects
from thinkgraph.training.pairs import Split, TextPair, read_pairs, split


@pytest.fixture
def pairs(tmp_path: Path) -> list[TextPair]:
    return read_pairs([write_rows(tmp_path / "pairs.jsonl")], Rejects())


@pytest.fixture
def halves(pairs: list[TextPair]) -> Split:
    return split(pairs, 0.25, 0)
