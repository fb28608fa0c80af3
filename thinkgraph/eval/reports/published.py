"""Figures that the papers report, to be shown beside ours and never compared as equals: others' models, graphs, samples."""

from __future__ import annotations

from typing import NamedTuple


class Published(NamedTuple):
    """One figure of a paper."""

    dataset: str
    method: str
    setting: str
    metric: str
    value: float
    source: str


_TOG2 = "ToG-2, table 1"
_FASTTOG = "FastToG, tables 1 and 2"
_FISKE = "FiSKE, table 2"
_COGGRAG = "CogGRAG, table 2"
_SOG = "Search-on-Graph, its own report"


def _row(method: str, setting: str, metric: str, source: str, **values: float) -> list[Published]:
    return [Published(name, method, setting, metric, value, source) for name, value in values.items()]


PUBLISHED: list[Published] = [
    *_row("tog2", "GPT-3.5-turbo", "EM", _TOG2, webqsp=81.1, advhotpotqa=42.9, qald10=54.1, zsre=91.0),
    *_row("tog2", "GPT-3.5-turbo", "accuracy", _TOG2, fever=63.1, creak=93.5),
    *_row("tog", "GPT-3.5-turbo", "EM", _TOG2, webqsp=76.2, advhotpotqa=26.3, qald10=50.2, zsre=88.0),
    *_row("tog", "GPT-3.5-turbo", "accuracy", _TOG2, fever=52.7, creak=93.8),
    *_row("rag", "GPT-3.5-turbo", "EM", _TOG2, webqsp=67.9, advhotpotqa=23.7, qald10=42.4, zsre=29.5),
    *_row("rag", "GPT-3.5-turbo", "accuracy", _TOG2, fever=53.8, creak=89.7),
    *_row("direct", "GPT-3.5-turbo", "EM", _TOG2, webqsp=65.9, advhotpotqa=23.1, qald10=42.0, zsre=27.7),
    *_row("direct", "GPT-3.5-turbo", "accuracy", _TOG2, fever=51.8, creak=89.7),
    *_row(
        "fasttog",
        "gpt-4o-mini, G2T, given topics, 1,000 questions",
        "hits@1",
        _FASTTOG,
        cwq=45.0,
        webqsp=65.8,
        qald9plus=55.9,
        zsre=54.2,
        trex=68.6,
        creak=96.0,
    ),
    *_row(
        "fasttog",
        "gpt-4o-mini, T2T, given topics, 1,000 questions",
        "hits@1",
        _FASTTOG,
        cwq=43.8,
        webqsp=65.2,
        qald9plus=56.1,
        zsre=54.4,
        trex=67.3,
        creak=95.6,
    ),
    *_row(
        "fasttog",
        "Llama-3-70b, G2T, given topics, 1,000 questions",
        "hits@1",
        _FASTTOG,
        cwq=46.2,
        webqsp=66.4,
        qald9plus=54.3,
        zsre=67.9,
        trex=64.7,
        creak=94.5,
    ),
    *_row("fiske", "Llama3-8B, 300 questions", "partial match", _FISKE, webqsp=70.8),
    *_row("fiske", "Llama3-8B, 300 questions", "complete match", _FISKE, webqsp=40.4),
    *_row("coggrag", "LLaMA2-13B, dev or train split", "EM", _COGGRAG, hotpotqa=30.7, cwq=53.4, webqsp=56.1),
    *_row("coggrag", "LLaMA2-13B, dev or train split", "ROUGE-L", _COGGRAG, hotpotqa=34.4, cwq=56.3, webqsp=59.8),
    *_row("search_agent", "strong models, 3.9 turns", "hits@1", _SOG, webqsp=91.3, cwq=77.1),
]


def published_for(dataset: str) -> list[Published]:
    """What the papers report on a dataset."""
    return [entry for entry in PUBLISHED if entry.dataset == dataset]


def _cells(
    table: str, measure: str, datasets: str, rows: dict[str, str]
) -> dict[tuple[str, str, str, str, str], float]:
    names = datasets.split()
    return {
        (table, name, row, "", measure): float(value)
        for row, values in rows.items()
        for name, value in zip(names, values.split(), strict=True)
    }


def _detectors(dataset: str, text: str, values: str) -> dict[tuple[str, str, str, str, str], float]:
    columns = ("Rand", "Louvain", "GN", "Hier", "Spectral")
    numbers = map(float, values.split())
    return {
        ("fasttog-table3", dataset, text, column, "hits@1"): value
        for column, value in zip(columns, numbers, strict=True)
    }


_FASTTOG_SETS = "cwq webqsp qald9plus zsre trex creak"
_CELLS: dict[tuple[str, str, str, str, str], float] = {
    **_cells(
        "tog2-table6",
        "EM",
        "webqsp advhotpotqa qald10 fever",
        {
            "ToG-2 /TP/RC/Clue": "78.7 40.9 51.1 56.3",
            "ToG-2 /TP/Clue": "78.0 40.2 49.9 56.0",
            "ToG-2 /TP": "77.6 41.9 52.9 56.5",
            "ToG-2": "81.1 42.8 54.1 58.5",
        },
    ),
    **_cells(
        "fasttog-table1",
        "hits@1",
        _FASTTOG_SETS,
        {
            "IO": "31.2 49.6 38.6 26.4 46.4 90.2",
            "CoT": "35.1 60.8 51.8 35.6 52.0 94.6",
            "CoT-SC": "36.3 61.2 52.4 35.8 52.0 95.0",
            "1-d 1-w": "35.5 59.2 50.7 39.4 56.1 92.0",
            "1-d n-w": "42.3 64.4 54.8 46.1 58.8 92.8",
            "n-d 1-w": "42.9 63.6 54.9 54.0 64.2 95.4",
            "FastToG (t2t)": "43.8 65.2 56.1 54.4 67.3 95.6",
            "FastToG (g2t)": "45.0 65.8 55.9 54.2 68.6 96.0",
        },
    ),
    **_cells(
        "fasttog-table2",
        "hits@1",
        _FASTTOG_SETS,
        {
            "IO": "32.9 55.8 44.3 30.7 52.8 91.0",
            "CoT": "34.2 58.8 45.0 32.6 55.6 91.2",
            "CoT-SC": "34.8 60.6 46.8 34.9 57.0 91.8",
            "1-d 1-w": "35.0 57.6 44.4 34.4 56.0 91.3",
            "1-d n-w": "39.8 64.0 46.6 57.1 60.4 91.9",
            "n-d 1-w": "40.3 62.4 51.6 64.8 61.2 93.3",
            "FastToG (t2t)": "42.1 65.9 54.9 67.7 63.5 92.2",
            "FastToG (g2t)": "46.2 66.4 54.3 67.9 64.7 94.5",
        },
    ),
    **_detectors("cwq", "t2t", "40.4 43.8 44.0 44.5 44.0"),
    **_detectors("cwq", "g2t", "42.6 45.0 45.7 46.0 45.3"),
    **_detectors("webqsp", "t2t", "60.6 65.2 66.8 66.0 65.1"),
    **_detectors("webqsp", "g2t", "62.5 65.8 66.9 66.1 66.7"),
}


def published_cell(table: str, dataset: str, row: str, column: str, measure: str) -> float | None:
    """What a paper prints in one cell of one of its ablations on a data set; None where it prints nothing."""
    return _CELLS.get((table, dataset, row, column, measure))
