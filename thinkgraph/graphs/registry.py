"""The methods by name. Importing this module loads none of them: `--help` names the methods and must answer at once."""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING

from thinkgraph.errors import UsageError

if TYPE_CHECKING:
    from thinkgraph.graphs.method import Method

METHODS: tuple[tuple[str, str], ...] = (
    ("tog2", "thinkgraph.graphs.tog2"),
    ("fasttog", "thinkgraph.graphs.fasttog"),
    ("fiske", "thinkgraph.graphs.fiske"),
    ("coggrag", "thinkgraph.graphs.coggrag"),
    ("tog", "thinkgraph.graphs.baselines.tog"),
    ("search_agent", "thinkgraph.graphs.baselines.search_agent"),
    ("rag", "thinkgraph.graphs.baselines.rag"),
    ("kg_rag", "thinkgraph.graphs.baselines.kg_rag"),
    ("direct", "thinkgraph.graphs.baselines.direct"),
    ("cot", "thinkgraph.graphs.baselines.cot"),
    ("cot_sc", "thinkgraph.graphs.baselines.cot_sc"),
)
"""Every method: its name, and the module whose METHOD it is."""

NAMES: tuple[str, ...] = tuple(name for name, _ in METHODS)


def check_name(name: str) -> str:
    """A method's name, without importing the method.

    Raises:
        UsageError: there is no such method.
    """
    if name not in NAMES:
        raise UsageError(f"there is no method '{name}'; known: {', '.join(NAMES)}")
    return name


@cache
def find_method(name: str) -> Method:
    """The method of this name; its module is imported only now.

    Raises:
        UsageError: there is no such method.
    """
    method: Method = importlib.import_module(dict(METHODS)[check_name(name)]).METHOD
    return method
