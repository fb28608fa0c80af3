"""Figures that the papers report, to be shown beside ours and never compared as equals: others' models, graphs, samples.

Each stands beside the metric it was made with. ToG-2's script counts a reply that holds a gold answer, or stands in one, as an
exact match; so does ToG's, with which FastToG says that its hit@1 can be compared (it published no script of its own).
"""

from __future__ import annotations

from typing import NamedTuple

_TOG2 = "webqsp advhotpotqa qald10 zsre"
_FASTTOG = "cwq webqsp qald9plus zsre trex creak"
_GPT = {
    "IO": "31.2 49.6 38.6 26.4 46.4 90.2",
    "CoT": "35.1 60.8 51.8 35.6 52.0 94.6",
    "CoT-SC": "36.3 61.2 52.4 35.8 52.0 95.0",
    "1-d 1-w": "35.5 59.2 50.7 39.4 56.1 92.0",
    "1-d n-w": "42.3 64.4 54.8 46.1 58.8 92.8",
    "n-d 1-w": "42.9 63.6 54.9 54.0 64.2 95.4",
    "FastToG (t2t)": "43.8 65.2 56.1 54.4 67.3 95.6",
    "FastToG (g2t)": "45.0 65.8 55.9 54.2 68.6 96.0",
}
_LLAMA = {
    "IO": "32.9 55.8 44.3 30.7 52.8 91.0",
    "CoT": "34.2 58.8 45.0 32.6 55.6 91.2",
    "CoT-SC": "34.8 60.6 46.8 34.9 57.0 91.8",
    "1-d 1-w": "35.0 57.6 44.4 34.4 56.0 91.3",
    "1-d n-w": "39.8 64.0 46.6 57.1 60.4 91.9",
    "n-d 1-w": "40.3 62.4 51.6 64.8 61.2 93.3",
    "FastToG (t2t)": "42.1 65.9 54.9 67.7 63.5 92.2",
    "FastToG (g2t)": "46.2 66.4 54.3 67.9 64.7 94.5",
}
"""FastToG, tables 1 and 2, values by row."""
_MODULES = {
    "ToG-2 /TP/RC/Clue": "78.7 40.9 51.1 56.3",
    "ToG-2 /TP/Clue": "78.0 40.2 49.9 56.0",
    "ToG-2 /TP": "77.6 41.9 52.9 56.5",
    "ToG-2": "81.1 42.8 54.1 58.5",
}


class Published(NamedTuple):
    """Figures of a paper over some data sets, in their order."""

    method: str
    setting: str
    metric: str
    """In the paper's words."""
    column: str
    """Our figure that is made the same way, of `ReportRow`."""
    source: str
    datasets: str
    values: str


PUBLISHED = [
    Published("tog2", "GPT-3.5-turbo", "EM", "em_contains", "ToG-2, table 1", _TOG2, "81.1 42.9 54.1 91.0"),
    Published("tog2", "GPT-3.5-turbo", "accuracy", "em_contains", "ToG-2, table 1", "fever creak", "63.1 93.5"),
    Published("tog", "GPT-3.5-turbo", "EM", "em_contains", "ToG-2, table 1", _TOG2, "76.2 26.3 50.2 88.0"),
    Published("tog", "GPT-3.5-turbo", "accuracy", "em_contains", "ToG-2, table 1", "fever creak", "52.7 93.8"),
    Published("rag", "GPT-3.5-turbo", "EM", "em_contains", "ToG-2, table 1", _TOG2, "67.9 23.7 42.4 29.5"),
    Published("rag", "GPT-3.5-turbo", "accuracy", "em_contains", "ToG-2, table 1", "fever creak", "53.8 89.7"),
    Published("direct", "GPT-3.5-turbo", "EM", "em_contains", "ToG-2, table 1", _TOG2, "65.9 23.1 42.0 27.7"),
    Published("direct", "GPT-3.5-turbo", "accuracy", "em_contains", "ToG-2, table 1", "fever creak", "51.8 89.7"),
    *(
        Published(
            "fasttog",
            f"{model}, given topics, 1,000 questions",
            "hits@1",
            "em_contains",
            "FastToG, tables 1 and 2",
            _FASTTOG,
            row,
        )
        for model, row in (
            ("gpt-4o-mini, G2T", _GPT["FastToG (g2t)"]),
            ("gpt-4o-mini, T2T", _GPT["FastToG (t2t)"]),
            ("Llama-3-70b, G2T", _LLAMA["FastToG (g2t)"]),
        )
    ),
    Published("fiske", "Llama3-8B, 300 questions", "partial match", "partial", "FiSKE, table 2", "webqsp", "70.8"),
    Published("fiske", "Llama3-8B, 300 questions", "complete match", "complete", "FiSKE, table 2", "webqsp", "40.4"),
    *(
        Published(
            "coggrag",
            "LLaMA2-13B, dev or train split",
            metric,
            column,
            "CogGRAG, table 2",
            "hotpotqa cwq webqsp",
            values,
        )
        for metric, column, values in (("EM", "em", "30.7 53.4 56.1"), ("ROUGE-L", "rouge_l", "34.4 56.3 59.8"))
    ),
    Published(
        "search_agent",
        "strong models, 3.9 turns",
        "hits@1",
        "hits1",
        "Search-on-Graph, its own report",
        "webqsp cwq",
        "91.3 77.1",
    ),
]


def published_for(dataset: str) -> list[tuple[Published, float]]:
    """What the papers report on a data set."""
    return [
        (entry, float(value))
        for entry in PUBLISHED
        for name, value in zip(entry.datasets.split(), entry.values.split(), strict=True)
        if name == dataset
    ]


_TABLES = (
    ("tog2-table6", "em_contains", "webqsp advhotpotqa qald10 fever", _MODULES),
    ("fasttog-table1", "em_contains", _FASTTOG, _GPT),
    ("fasttog-table2", "em_contains", _FASTTOG, _LLAMA),
)
"""Table, our column made the same way, data sets in their order, values by row."""
_DETECTORS = {
    ("cwq", "t2t"): "40.4 43.8 44.0 44.5 44.0",
    ("cwq", "g2t"): "42.6 45.0 45.7 46.0 45.3",
    ("webqsp", "t2t"): "60.6 65.2 66.8 66.0 65.1",
    ("webqsp", "g2t"): "62.5 65.8 66.9 66.1 66.7",
}
_CELLS: dict[tuple[str, str, str, str, str], float] = {
    **{
        (table, dataset, row, "", measure): float(value)
        for table, measure, datasets, rows in _TABLES
        for row, values in rows.items()
        for dataset, value in zip(datasets.split(), values.split(), strict=True)
    },
    **{
        ("fasttog-table3", dataset, text, column, "em_contains"): float(value)
        for (dataset, text), values in _DETECTORS.items()
        for column, value in zip(("Rand", "Louvain", "GN", "Hier", "Spectral"), values.split(), strict=True)
    },
}


def published_cell(table: str, dataset: str, row: str, column: str, measure: str) -> float | None:
    """What a paper prints in one cell of one of its ablations on a data set; None where it prints nothing.

    Args:
        table: the ablation's name.
        dataset: the data set's name.
        row: the cell's row.
        column: the cell's column; empty where the table has one.
        measure: our column (`ReportRow`); a figure stands only under the one that is made as it was.
    """
    return _CELLS.get((table, dataset, row, column, measure))
