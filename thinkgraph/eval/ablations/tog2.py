"""The tables and figures of ToG-2. Where a figure's axis cannot be read and the text does not name its values, they are ours."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from thinkgraph.eval.ablations.table import (
    APART,
    CALLS,
    CONTAINS,
    DEPTH,
    EM,
    MEMORY,
    METHOD,
    QUOTED,
    TASK,
    Ablation,
    Measure,
    Settings,
)

_NO_CLUES: Settings = {"topic_prune": False, "clues": False}
_RERANKER: Settings = {"ranker": "cross-encoder:BAAI/bge-reranker-large"}
_DIRECT: Settings = {METHOD: "direct"}
_COT_SC: Settings = {METHOD: "cot_sc"}
_UNCUT: Settings = {"rank_texts": 2_000, "evidence_tokens": 1_000_000, "max_calls": 10_000}
"""Every ranker sees all texts: the store's own vectors, which are the row embedding's, choose none of them beforehand. All K are shown."""
_table = partial(Ablation, method="tog2", measures=(CONTAINS, EM, CALLS))

TABLES: Mapping[str, Ablation] = {
    "tog2-table1": _table(
        title="Accuracy beside the compared methods",
        rows={
            "Direct": _DIRECT,
            "CoT": {METHOD: "cot"},
            "CoT-SC": _COT_SC,
            "CoT-SC, 3-shot": {**_COT_SC, "shots": 3, TASK: "fact"},
            "CoT-SC, 6-shot": {**_COT_SC, "shots": 6, TASK: "fact"},
            "Vanilla RAG": {METHOD: "rag"},
            "ToG": {METHOD: "tog"},
            "CoK": QUOTED,
            "CoK, 3-shot": QUOTED,
            "CoK, 6-shot": QUOTED,
            "ToG-2": {},
            "ToG-2, 3-shot": {"shots": 3, TASK: "fact"},
            "ToG-2, 6-shot": {"shots": 6, TASK: "fact"},
        },
        note="CoK is quoted; rows with 3 and 6 shots are for FEVER",
    ),
    "tog2-table2": _table(
        title="ToG-FinQA, or a domain of your own",
        rows={
            "ToG-2": {},
            "Vanilla RAG": {METHOD: "rag"},
            "CoT": {METHOD: "cot"},
            "ToG": {METHOD: "tog"},
            "GraphRAG": QUOTED,
        },
        note="GraphRAG is quoted; we know of no published file of ToG-FinQA",
    ),
    "tog2-table3": _table(
        title="Direct reasoning and ToG-2 with other models (--model)",
        rows={"Direct": _DIRECT, "ToG-2": {}},
    ),
    "tog2-table4": _table(
        title="Where right answers come from",
        rows={"ToG-2": {}},
        measures=(
            Measure("direct", "from_nothing"),
            Measure("triples", "from_triples"),
            Measure("documents", "from_documents"),
            Measure("both", "from_both"),
            CONTAINS,
        ),
        note="by what each right answer (EM, contains) cites; in the paper people read 50 answers",
    ),
    "tog2-table6": _table(
        title="Influence of each module: topic prune (TP), combined relation prune (RC), clues and query reform (Clue)",
        rows={
            "Direct": _DIRECT,
            "ToG-2 /TP/RC/Clue": {**_NO_CLUES, "combined": False},
            "ToG-2 /TP/Clue": _NO_CLUES,
            "ToG-2 /TP": {"topic_prune": False},
            "ToG-2": {},
        },
    ),
    "tog2-table7": _table(
        title="Seconds a step: relation prune (RP), entity prune (EP), reasoning",
        rows={"ToG-2": {}, "ToG": {METHOD: "tog"}},
        measures=(
            Measure("RP (s)", "seconds_relation_prune", percent=False),
            Measure("EP (s)", "seconds_entity_prune", percent=False),
            Measure("reasoning (s)", "seconds_reason", percent=False),
            DEPTH,
        ),
        note="a step is a round's: calls side by side count once. ToG-2's EP includes the ranking of the texts, ToG's its calls. "
        "A perfect chooser takes no time of a model",
    ),
    "tog2-figure3a": _table(
        title="Entity-pruning tools, K=10",
        rows={
            "embedding": {"ranker": "dense"},
            "BGE-Reranker": _RERANKER,
            "MiniLM": {"ranker": "cross-encoder"},
            "BM25": {"ranker": "bm25"},
            "LLM": {"ranker": "llm"},
        },
        measures=(CONTAINS, EM, CALLS, APART),
        settings={"top_k": 10, **_UNCUT},
        note="embedding: the knowledge base's own encoder (the paper: BGE-Embedding). All rows rank the same texts: up to 2,000 a "
        "round, with no prefilter below that",
    ),
    "tog2-figure3b": _table(
        title="Number of contexts K",
        rows={"BGE-Reranker": _RERANKER, "embedding": {"ranker": "dense"}, "LLM": {"ranker": "llm"}},
        columns={f"K={k}": {"top_k": k} for k in (3, 5, 10, 15)},
        measures=(CONTAINS, EM, APART),
        settings=_UNCUT,
        note="the row embedding is ours, and so are the values of K, to 15: a run holds 96 pieces of evidence, paths included. No cap "
        "cuts what K lets in; all rows rank the same texts",
    ),
    "tog2-figure4": _table(
        title="Width and depth: W at D=3, D at W=3",
        rows={
            **{f"W={width}, D=3": {"width": width} for width in (2, 3, 4, 5)},
            **{f"W=3, D={depth}": {"depth": depth} for depth in (1, 2, 3, 4, 5)},
        },
        measures=(CONTAINS, EM, CALLS, DEPTH),
        note="the values of W and D are ours",
    ),
    "tog2-figure6": _table(
        title="Threshold of the self-consistency pre-check",
        rows={
            "no pre-check": {"precheck": False},
            **{
                f"threshold {value}": {"precheck": True, "precheck_threshold": value}
                for value in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
            },
        },
        measures=(CONTAINS, EM, CALLS, DEPTH),
        settings=MEMORY,
        note="the thresholds are ours",
    ),
}
