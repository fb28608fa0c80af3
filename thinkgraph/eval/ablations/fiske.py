"""The tables of FiSKE; its one figure is a drawing."""

from __future__ import annotations

from collections.abc import Mapping

from thinkgraph.eval.ablations.table import (
    CALLS,
    COMPLETE,
    METHOD,
    PARTIAL,
    PLUS,
    SUPPORTED,
    Ablation,
    Settings,
)

_DIRECT: Settings = {METHOD: "direct"}
_TOG: Settings = {METHOD: "tog"}
_WITH_TOG: Mapping[str, Settings] = {"ToG": _TOG, "FiSKE": {}}
_SECTION_4_1: Settings = {"max_calls": 30, "temperature_explore": 0, "temperature_reason": 0}
"""One ceiling and one temperature for all methods."""

TABLES: Mapping[str, Ablation] = {
    "fiske-table1": Ablation(
        title="MOOC Q&A",
        method="fiske",
        rows={"IO": _DIRECT, "CoT": {METHOD: "cot"}, **_WITH_TOG},
        measures=(SUPPORTED, PARTIAL, COMPLETE, CALLS),
        settings=_SECTION_4_1,
        note="right with support: right, `grounded`, and by triples about what the question names (a yes: about both ends of what it "
        "claims); in the paper people judged verdicts by the retrieved knowledge. Its ToG starts from given topics (--gold-entities yes)",
    ),
    "fiske-table2": Ablation(
        title="WebQuestions and WebQSP, also with the IO answer merged in",
        method="fiske",
        rows={
            "IO": _DIRECT,
            "CoT": {METHOD: "cot"},
            "ToG": _TOG,
            "ToG + IO": {**_TOG, PLUS: "direct"},
            "FiSKE": {},
            "FiSKE + IO": {PLUS: "direct"},
        },
        measures=(PARTIAL, COMPLETE, CALLS),
        settings=_SECTION_4_1,
        note="+ IO: the answers of the row above and of the row IO together, question by question, and the calls of both",
    ),
    "fiske-table3": Ablation(
        title="The agricultural graph, or a domain of your own",
        method="fiske",
        rows=_WITH_TOG,
        measures=(PARTIAL, COMPLETE, CALLS),
        settings=_SECTION_4_1,
        note="the agricultural graph is not public",
    ),
    "fiske-table4": Ablation(
        title="Calls on MOOC Q&A",
        method="fiske",
        rows=_WITH_TOG,
        measures=(CALLS,),
        settings=_SECTION_4_1,
    ),
    "fiske-table5": Ablation(
        title="Calls on the agricultural graph, or a domain of your own",
        method="fiske",
        rows=_WITH_TOG,
        measures=(CALLS,),
        settings=_SECTION_4_1,
        note="the agricultural graph is not public",
    ),
    "fiske-table6": Ablation(
        title="Stateful exploration and ending flag",
        method="fiske",
        rows={
            "FiSKE": {},
            "w/o stateful exploration": {"stateful": False},
            "w/o ending flag": {"ending_flag": False},
            "w/o both": {"stateful": False, "ending_flag": False},
        },
        measures=(PARTIAL, COMPLETE, CALLS),
        settings=_SECTION_4_1,
    ),
}
