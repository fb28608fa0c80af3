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
