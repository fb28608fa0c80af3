"""The tables and the figure of CogGRAG."""

from __future__ import annotations

from collections.abc import Mapping

from thinkgraph.eval.ablations.table import CALLS, EM, METHOD, QUOTED, ROUGE, Ablation, Measure, Settings

_DIRECT: Settings = {METHOD: "direct"}
_KG: Settings = {METHOD: "kg_rag"}

TABLES: Mapping[str, Ablation] = {
    "coggrag-table2": Ablation(
        title="Accuracy beside the compared methods",
        method="coggrag",
        rows={
            "Direct": _DIRECT,
            "CoT": {METHOD: "cot"},
            "Direct+KG": _KG,
            "CoT+KG": {**_KG, "cot": True},
            "ToG": {METHOD: "tog"},
            "MindMap": QUOTED,
            "CogGRAG": {},
        },
        measures=(ROUGE, EM, CALLS),
        note="MindMap is quoted",
    ),
    "coggrag-table3": Ablation(
        title="Other models (--model)",
        method="coggrag",
        rows={"LLM": _DIRECT, "LLM+KG": _KG, "CogGRAG": {}},
        measures=(ROUGE, EM, CALLS),
    ),
    "coggrag-table4": Ablation(
        title="GRBench, a graph at a time",
        method="coggrag",
        rows={"LLM": _DIRECT, "Graph-CoT": QUOTED, "CogGRAG": {}},
        measures=(ROUGE, EM, CALLS),
        note="Graph-CoT is quoted",
    ),
    "coggrag-table5": Ablation(
        title="Correct, missing (I don't know), hallucinated",
        method="coggrag",
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
    "coggrag-figure4": Ablation(
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
