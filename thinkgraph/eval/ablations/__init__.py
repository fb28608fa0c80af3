"""The papers' ablations as data: the settings of each cell of a table, and the figures that it shows.

A cell is a method with settings; equal cells run once. Where a paper's figure does not print the values of an axis (K, W, D,
thresholds) and the text does not name them, they are ours.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thinkgraph.errors import UsageError
from thinkgraph.eval.reports.published import published_cell
from thinkgraph.eval.reports.results import ReportRow, aligned
from thinkgraph.graphs.registry import find_method
from thinkgraph.state.settings import resolve_settings

Settings = Mapping[str, Any]
METHOD = "method"
"""In a cell's settings: another method than the table's."""
G2T = "g2t:"
"""Stands for the graph-to-text model of the command line. Without one, its cells are left out."""


@dataclass(frozen=True)
class Measure:
    """A figure of a cell."""

    title: str
    column: str
    """Of `eval.results.Row`."""
    percent: bool = True


EM = Measure("EM", "em")
CONTAINS = Measure("EM (contains)", "em_contains")
"""What the scripts of ToG and ToG-2 call exact match."""
HITS = Measure("hits@1", "hits1")
PARTIAL = Measure("partial match", "partial")
COMPLETE = Measure("complete match", "complete")
ROUGE = Measure("Rouge-L", "rouge_l")
CALLS = Measure("LLM calls", "calls_mean", percent=False)
APART = Measure("LLM calls apart (ranker, texts)", "apart_calls_mean", percent=False)
DEPTH = Measure("average depth", "rounds_mean", percent=False)

ONE: Mapping[str, Settings] = {"": {}}
ONE_WAY: Settings = {"backtracks": 0}
"""The papers' searches do not go back. The user's settings may."""


@dataclass(frozen=True)
class Ablation:
    """One table or figure of a paper."""

    source: str
    title: str
    method: str
    rows: Mapping[str, Settings]
    columns: Mapping[str, Settings] = field(default_factory=lambda: ONE)
    measures: Sequence[Measure] = (HITS, CALLS)
    settings: Settings = field(default_factory=dict)
    """Of all cells."""
    note: str = ""


_T2T: Settings = {"community_text": "t2t"}
_G2T: Settings = {"community_text": G2T}
_TEXTS: Mapping[str, Settings] = {"t2t": _T2T, "g2t": _G2T}
_SIZES: Mapping[str, Settings] = {f"M={size}": {"community_size": size} for size in (1, 2, 4, 8)}
_NO_CLUES: Settings = {"topic_prune": False, "clues": False}
_MEMORY: Settings = {"own_knowledge": True}
_RERANKER: Settings = {"ranker": "cross-encoder:BAAI/bge-reranker-large"}

_FASTTOG_METHODS: Mapping[str, Settings] = {
    "IO": {METHOD: "direct"},
    "CoT": {METHOD: "cot"},
    "CoT-SC": {METHOD: "cot_sc"},
    "1-d 1-w": {METHOD: "kg_rag"},
    "1-d n-w": {"depth": 0, **_T2T},
    "n-d 1-w": {METHOD: "tog"},
    "FastToG (t2t)": _T2T,
    "FastToG (g2t)": _G2T,
}

ABLATIONS: Mapping[str, Ablation] = {
    "tog2-table6": Ablation(
        source="ToG-2, table 6",
        title="Influence of each module: topic prune (TP), combined relation prune (RC), clues and query reform (Clue)",
        method="tog2",
        rows={
            "ToG-2 /TP/RC/Clue": {**_NO_CLUES, "combined": False},
            "ToG-2 /TP/Clue": _NO_CLUES,
            "ToG-2 /TP": {"topic_prune": False},
            "ToG-2": {},
        },
        measures=(CONTAINS, EM, CALLS),
    ),
    "tog2-figure3a": Ablation(
        source="ToG-2, figure 3a",
        title="Entity-pruning tools, K=10",
        method="tog2",
        rows={
            "embedding": {"ranker": "dense"},
            "BGE-Reranker": _RERANKER,
            "MiniLM": {"ranker": "cross-encoder"},
            "BM25": {"ranker": "bm25"},
            "LLM": {"ranker": "llm"},
        },
        measures=(CONTAINS, EM, CALLS, APART),
        settings={"top_k": 10},
        note="embedding: the knowledge base's own encoder (the paper: BGE-Embedding)",
    ),
    "tog2-figure3b": Ablation(
        source="ToG-2, figure 3b",
        title="Number of contexts K",
        method="tog2",
        rows={"BGE-Reranker": _RERANKER, "embedding": {"ranker": "dense"}, "LLM": {"ranker": "llm"}},
        columns={f"K={k}": {"top_k": k} for k in (5, 10, 20, 30)},
        measures=(CONTAINS, EM, APART),
        note="the row embedding is ours",
    ),
    "tog2-figure4": Ablation(
        source="ToG-2, figure 4",
        title="Width and depth: W at D=3, D at W=3",
        method="tog2",
        rows={
            **{f"W={width}, D=3": {"width": width} for width in (2, 3, 4, 5)},
            **{f"W=3, D={depth}": {"depth": depth} for depth in (1, 2, 3, 4, 5)},
        },
        measures=(CONTAINS, EM, CALLS, DEPTH),
    ),
    "tog2-figure6": Ablation(
        source="ToG-2, figure 6",
        title="Threshold of the self-consistency pre-check",
        method="tog2",
        rows={
            "no pre-check": {},
            **{
                f"threshold {value}": {"precheck": True, "precheck_threshold": value}
                for value in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
            },
        },
        measures=(CONTAINS, EM, CALLS, DEPTH),
        settings=_MEMORY,
    ),
    "fasttog-table1": Ablation(
        source="FastToG, table 1",
        title="Accuracy beside the compared methods (the paper: gpt-4o-mini)",
        method="fasttog",
        rows=_FASTTOG_METHODS,
        measures=(CONTAINS, HITS, CALLS),
        settings=_MEMORY,
    ),
    "fasttog-table2": Ablation(
        source="FastToG, table 2",
        title="Accuracy beside the compared methods (the paper: Llama-3-70b)",
        method="fasttog",
        rows=_FASTTOG_METHODS,
        measures=(CONTAINS, HITS, CALLS),
        settings=_MEMORY,
    ),
    "fasttog-table3": Ablation(
        source="FastToG, table 3",
        title="Community detection",
        method="fasttog",
        rows=_TEXTS,
        measures=(CONTAINS, HITS, CALLS),
        columns={
            "Rand": {"detector": "random"},
            "Louvain": {"detector": "louvain"},
            "GN": {"detector": "girvan_newman"},
            "Hier": {"detector": "hierarchical"},
            "Spectral": {"detector": "spectral"},
        },
    ),
    "fasttog-figure3": Ablation(
        source="FastToG, figure 3",
        title="Average depth over the largest size of a community",
        method="fasttog",
        rows=_TEXTS,
        columns=_SIZES,
        measures=(DEPTH, CALLS),
    ),
    "fasttog-figure4": Ablation(
        source="FastToG, figure 4",
        title="Accuracy over the largest size of a community",
        method="fasttog",
        rows=_TEXTS,
        columns=_SIZES,
    ),
    "fasttog-figure5": Ablation(
        source="FastToG, figure 5",
        title="Coarse prune: by modularity, at random",
        method="fasttog",
        rows=_TEXTS,
        columns={"random": {"coarse": "random"}, "modularity": {"coarse": "modularity"}},
        # With our k of 200 hardly anything is pruned: the paper's published k.
        settings={"candidates": 8},
        note="k=8, as in the published code",
    ),
    "fiske-table6": Ablation(
        source="FiSKE, table 6",
        title="Stateful exploration and ending flag",
        method="fiske",
        rows={
            "FiSKE": {},
            "w/o stateful exploration": {"stateful": False},
            "w/o ending flag": {"ending_flag": False},
            "w/o both": {"stateful": False, "ending_flag": False},
        },
        measures=(PARTIAL, COMPLETE, CALLS),
    ),
    "coggrag-figure4": Ablation(
        source="CogGRAG, figure 4",
        title="Main components: decomposition (nd), global keys (ng), verification (nv)",
        method="coggrag",
        rows={
            "CogGRAG": {},
            "CogGRAG-nd": {"decompose": False},
            "CogGRAG-ng": {"global_keys": False},
            "CogGRAG-nv": {"verify": False},
        },
        measures=(EM, ROUGE, CALLS),
    ),
}


def ablation(name: str) -> Ablation:
    """The table of a name.

    Raises:
        UsageError: there is none.
    """
    found = ABLATIONS.get(name)
    if found is None:
        raise UsageError(f"there is no ablation '{name}'; known: {', '.join(ABLATIONS)}")
    return found


@dataclass(frozen=True)
class AblationCell:
    """One place in a table."""

    row: str
    column: str
    method: str
    settings: Settings
    key: str
    """The same for cells that are the same method with the same settings: also the name of its record file."""


def cells(
    table: Ablation, *, extra: Settings | None = None, g2t: str | None = None, leave_out: Sequence[str] = ()
) -> list[AblationCell]:
    """The cells of a table, row by row.

    Args:
        table: the table.
        extra: the user's settings, for every cell whose method has them; a cell's own settings win.
        g2t: graph-to-text model; None: cells with one are left out.
        leave_out: names of rows and columns to leave out.

    Raises:
        UsageError: a name to leave out that the table does not have, nothing is left, or a setting that no method has.
        SettingsError: a setting out of range.
    """
    if unknown := sorted({*leave_out} - {*table.rows, *table.columns}):
        known = ", ".join(name for name in (*table.rows, *table.columns) if name)
        raise UsageError(f"the table has no row or column '{unknown[0]}'; known: {known}")
    wanted = extra or {}
    found: list[AblationCell] = []
    taken: set[str] = set()
    for row, of_row in table.rows.items():
        for column, of_column in table.columns.items():
            given = {**table.settings, **of_row, **of_column}
            if row in leave_out or column in leave_out or (given.get("community_text") == G2T and not g2t):
                continue
            name = str(given.pop(METHOD, table.method))
            schema = find_method(name).settings
            # A method takes of the table's and the user's settings those that it has.
            settings = {
                key: value for key, value in {**ONE_WAY, **wanted, **given}.items() if key in schema.model_fields
            }
            taken |= settings.keys()
            if settings.get("community_text") == G2T:
                settings["community_text"] = f"{G2T}{g2t}"
            resolved = resolve_settings(schema, settings).model_dump(mode="json")
            digest = hashlib.sha256(json.dumps(resolved, sort_keys=True).encode()).hexdigest()[:12]
            found.append(AblationCell(row, column, name, settings, f"{name}-{digest}"))
    if not found:
        raise UsageError("nothing is left of the table: the cells with graph-to-text need --g2t MODEL")
    if lost := sorted(wanted.keys() - taken):
        raise UsageError(f"none of the methods of this table has a setting '{lost[0]}'")
    return found


def render(name: str, made: Sequence[AblationCell], rows: Mapping[str, ReportRow], *, dataset: str = "") -> str:
    """The table in the paper's shape; where the paper has a figure for this data set, it stands beside ours in brackets.

    Args:
        name: the table's.
        made: its cells.
        rows: results by the cells' keys; a cell without one is shown as "-".
        dataset: name of the data set ("webqsp"); others have no published figures.
    """
    table = ablation(name)
    columns = [column for column in table.columns if any(cell.column == column for cell in made)]
    at = {(cell.row, cell.column): cell.key for cell in made}
    names = [row for row in table.rows if any(cell.row == row for cell in made)]

    def shown(row: str, column: str, measure: Measure) -> str:
        found = rows.get(at.get((row, column), ""))
        value = found[measure.column] if found else None  # type: ignore[literal-required]
        if value is None:
            return "-"
        ours = f"{100 * value:.1f}" if measure.percent else f"{value:.2f}"
        theirs = published_cell(name, dataset, row, column, measure.column)
        return ours if theirs is None else f"{ours} [{theirs:g}]"

    if len(columns) == 1:
        head = ["", *(measure.title for measure in table.measures)]
        blocks = [[head, *([row, *(shown(row, columns[0], one) for one in table.measures)] for row in names)]]
    else:
        blocks = [
            [[measure.title, *columns], *([row, *(shown(row, column, measure) for column in columns)] for row in names)]
            for measure in table.measures
        ]
    lines = [f"{table.source}: {table.title}", *([f"({table.note})"] if table.note else [])]
    for block in blocks:
        lines += ["", *aligned(block)]
    if any("[" in line for line in lines[1:]):
        lines += ["", "[…]: the paper's own figure, with its model, graph and sample of questions: not comparable."]
    return "\n".join(lines)
