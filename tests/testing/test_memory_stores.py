from __future__ import annotations

import pytest

from thinkgraph.testing.conformance import graph_data
from thinkgraph.testing.conformance.graph import GraphStoreConformance
from thinkgraph.testing.conformance.text import TextStoreConformance, sample_passages
from thinkgraph.testing.memory import MemoryGraphStore, MemoryTextStore


class TestMemoryGraph(GraphStoreConformance):
    @pytest.fixture
    def store(self) -> MemoryGraphStore:
        return MemoryGraphStore(
            [(s.subject, s.relation, s.object, dict(s.qualifiers)) for s in graph_data.STATEMENTS],
            literals={s.relation for s in graph_data.STATEMENTS if s.literal},
            labels=graph_data.LABELS,
            aliases=graph_data.ALIASES,
        )


class TestMemoryText(TextStoreConformance):
    @pytest.fixture
    def store(self) -> MemoryTextStore:
        return MemoryTextStore(sample_passages())
