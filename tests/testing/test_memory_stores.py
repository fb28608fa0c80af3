from __future__ import annotations

from typing import Any

import pytest
from docs.page_blocks import block_of

from thinkgraph.testing.conformance import graph_data
from thinkgraph.testing.conformance.graph import GraphStoreConformance
from thinkgraph.testing.conformance.text import TextStoreConformance, sample_passages
from thinkgraph.testing.memory import MemoryGraphStore, MemoryTextStore


def sample() -> MemoryGraphStore:
    return MemoryGraphStore(
        [(s.subject, s.relation, s.object, dict(s.qualifiers)) for s in graph_data.STATEMENTS],
        literals={s.relation for s in graph_data.STATEMENTS if s.literal},
        labels=graph_data.LABELS,
        aliases=graph_data.ALIASES,
    )


class TestMemoryGraph(GraphStoreConformance):
    @pytest.fixture
    def store(self) -> MemoryGraphStore:
        return sample()


_names: dict[str, Any] = {"MyStore": lambda _: sample(), "__name__": __name__}
exec(block_of("CONTRIBUTING.md", "import pytest"), _names)  # noqa: S102 - our own page
TestMyStore = _names["TestMyStore"]
"""The suite as the page takes it on."""


class TestMemoryText(TextStoreConformance):
    @pytest.fixture
    def store(self) -> MemoryTextStore:
        return MemoryTextStore(sample_passages())
