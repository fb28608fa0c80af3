"""The tables and the figure of CogGRAG."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from thinkgraph.eval.ablations.table import CALLS, EM, METHOD, QUOTED, ROUGE, Ablation, Measure, Settings

_DIRECT: Settings = {METHOD: "direct"}
_KG: Settings = {METHOD: "kg_rag"}
_table = partial(Ablation, method="coggrag", measures=(ROUGE, EM, CALLS))

TABLES: Mapping[str, Ablation] = {
    "coggrag-table2": _table(
        title="Accuracy beside the compared methods",
        rows={
            "Direct": _DIRECT,
            "CoT": {METHOD: "cot"},
            "Direct+KG": _KG,
            "CoT+KG": {**_KG, "cot": True},
            "ToG": {METHOD: "tog"},
            "MindMap": QUOTED,
            "CogGRAG": {},
        },
        note="MindMap is quoted",
    ),
    "coggrag-table3": _table(title="Other models (--model)", rows={"LLM": _DIRECT, "LLM+KG": _KG, "CogGRAG": {}}),
    "coggrag-table4": _table(
        title="GRBench, a graph at a time",
        rows={"LLM": _DIRECT, "Graph-CoT": QUOTED, "CogGRAG": {}},
        note="Graph-CoT is quoted",
    ),
    "coggrag-table5": _table(
        title="Correct, missing (I don't know), hallucinated",
        rows={"LLM": _DIRECT, "ToG": {METHOD: "tog"}, "MindMap": QUOTED, "CogGRAG": {}},
        measures=(
            Measure("correct", "hits1"),
            Measure("missing", "missing"),
            Measure("hallucinated", "hallucinated"),
            CALLS,
        ),
        note="MindMap is quoted. The paper's caption says GRBench, its text HotpotQA; its column correct is HotpotQA's Rouge-L of "
        "Table 2, ours is hits@1",
    ),
    "coggrag-figure4": _table(
        title="Main components: decomposition (nd), global keys (ng), verification (nv)",
        rows={
            "CogGRAG": {},
            "CogGRAG-nd": {"decompose": False},
            "CogGRAG-ng": {"global_keys": False},
            "CogGRAG-nv": {"verify": False},
        },
        measures=(EM, ROUGE, CALLS),
    ),
}
