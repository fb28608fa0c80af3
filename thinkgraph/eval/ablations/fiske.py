"""The tables of FiSKE; its one figure is a drawing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from thinkgraph.eval.ablations.table import CALLS, COMPLETE, METHOD, PARTIAL, PLUS, SUPPORTED, Ablation, Settings

_DIRECT: Settings = {METHOD: "direct"}
_TOG: Settings = {METHOD: "tog"}
_WITH_TOG: Mapping[str, Settings] = {"ToG": _TOG, "FiSKE": {}}
_SECTION_4_1: Settings = {"max_calls": 30, "temperature_explore": 0, "temperature_reason": 0}
"""One ceiling and one temperature for all methods."""
_table = partial(Ablation, method="fiske", measures=(PARTIAL, COMPLETE, CALLS), settings=_SECTION_4_1)

TABLES: Mapping[str, Ablation] = {
    "fiske-table1": _table(
        title="MOOC Q&A",
        rows={"IO": _DIRECT, "CoT": {METHOD: "cot"}, **_WITH_TOG},
        measures=(SUPPORTED, PARTIAL, COMPLETE, CALLS),
        note="right with support: right, `grounded`, and by triples about what the question names (a yes: about both ends of what it "
        "claims); in the paper people judged verdicts by the retrieved knowledge. Its ToG starts from given topics (--gold-entities yes)",
    ),
    "fiske-table2": _table(
        title="WebQuestions and WebQSP, also with the IO answer merged in",
        rows={
            "IO": _DIRECT,
            "CoT": {METHOD: "cot"},
            "ToG": _TOG,
            "ToG + IO": {**_TOG, PLUS: "direct"},
            "FiSKE": {},
            "FiSKE + IO": {PLUS: "direct"},
        },
        note="+ IO: the answers of the row above and of the row IO together, question by question, and the calls of both",
    ),
    "fiske-table3": _table(
        title="The agricultural graph, or a domain of your own",
        rows=_WITH_TOG,
        note="the agricultural graph is not public",
    ),
    "fiske-table4": _table(title="Calls on MOOC Q&A", rows=_WITH_TOG, measures=(CALLS,)),
    "fiske-table5": _table(
        title="Calls on the agricultural graph, or a domain of your own",
        rows=_WITH_TOG,
        measures=(CALLS,),
        note="the agricultural graph is not public",
    ),
    "fiske-table6": _table(
        title="Stateful exploration and ending flag",
        rows={
            "FiSKE": {},
            "w/o stateful exploration": {"stateful": False},
            "w/o ending flag": {"ending_flag": False},
            "w/o both": {"stateful": False, "ending_flag": False},
        },
    ),
}
