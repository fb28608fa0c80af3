"""What a table of a paper is made of: rows and columns of settings, and the figures that each cell shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Settings = Mapping[str, Any]
METHOD = "method"
"""In a cell's settings: another method than the table's."""
PLUS = "plus"
"""In a cell's settings: a method whose answers are merged into the cell's, question by question (FiSKE's "+ IO")."""
TASK = "task only"
"""In a cell's settings: the cell is only there for data of this style."""
G2T = "g2t:"
"""Stands for the graph-to-text model of the command line. Without one, its cells are left out."""
PRESETS = "the preset's own"
"""As a setting's value: whatever the preset says, not the user."""
QUOTED: Settings = {METHOD: ""}
"""A row of a method that is not built here: it has the paper's figures and no cells."""
MEMORY: Settings = {"own_knowledge": True}


@dataclass(frozen=True)
class Measure:
    """A figure of a cell."""

    title: str
    column: str
    """Of `reports.results.ReportRow`, or of those that `figures.cell_figures` adds."""
    percent: bool = True


EM = Measure("EM", "em")
CONTAINS = Measure("EM (contains)", "em_contains")
"""What the scripts of ToG and ToG-2 call exact match."""
HITS = Measure("hits@1", "hits1")
PARTIAL = Measure("partial match", "partial")
COMPLETE = Measure("complete match", "complete")
SUPPORTED = Measure("right with support", "supported")
ROUGE = Measure("Rouge-L", "rouge_l")
CALLS = Measure("LLM calls", "calls_mean", percent=False)
APART = Measure("LLM calls apart (ranker, texts)", "apart_calls_mean", percent=False)
DEPTH = Measure("average depth", "rounds_mean", percent=False)


@dataclass(frozen=True)
class Ablation:
    """One table or figure of a paper. Its source and the paper's figures stand in `reports/published.toml`."""

    title: str
    method: str
    rows: Mapping[str, Settings]
    measures: Sequence[Measure]
    columns: Mapping[str, Settings] = field(default_factory=lambda: {"": {}})
    settings: Settings = field(default_factory=dict)
    """Of all cells."""
    note: str = ""
    """What differs from the paper in this table beside model, data and seed."""
