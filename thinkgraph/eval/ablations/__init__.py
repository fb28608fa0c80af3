"""The papers' tables and figures as data: the settings of each cell, and the figures that it shows."""

from __future__ import annotations

from collections.abc import Mapping

from thinkgraph.errors import UsageError
from thinkgraph.eval.ablations import coggrag, fasttog, fiske, tog2
from thinkgraph.eval.ablations.table import Ablation

ABLATIONS: Mapping[str, Ablation] = {**tog2.TABLES, **fasttog.TABLES, **fiske.TABLES, **coggrag.TABLES}


def ablation(name: str) -> Ablation:
    """The table of a name.

    Raises:
        UsageError: there is none.
    """
    found = ABLATIONS.get(name)
    if found is None:
        raise UsageError(f"there is no ablation '{name}'; known: {', '.join(ABLATIONS)}")
    return found
