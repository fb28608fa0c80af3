"""The methods by name. Importing this module loads none of them: `--help` names the methods and must answer at once."""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING

from thinkgraph.errors import UsageError

if TYPE_CHECKING:
    from thinkgraph.graphs.wiring import Method

METHODS: tuple[tuple[str, str], ...] = (
    ("tog2", "thinkgraph.graphs.tog2:METHOD"),
    ("fasttog", "thinkgraph.graphs.fasttog:METHOD"),
    ("fiske", "thinkgraph.graphs.fiske:METHOD"),
    ("coggrag", "thinkgraph.graphs.coggrag:METHOD"),
    ("paths", "thinkgraph.graphs.paths:METHOD"),
    ("search_agent", "thinkgraph.graphs.search_agent:METHOD"),
    ("tog", "thinkgraph.graphs.baselines.tog:METHOD"),
    ("rag", "thinkgraph.graphs.baselines.rag:RAG_METHOD"),
    ("kg_rag", "thinkgraph.graphs.baselines.rag:KG_RAG_METHOD"),
    ("direct", "thinkgraph.graphs.baselines.recall:DIRECT_METHOD"),
    ("cot", "thinkgraph.graphs.baselines.recall:COT_METHOD"),
    ("cot_sc", "thinkgraph.graphs.baselines.recall:COT_SC_METHOD"),
)
"""Every method: its name, and where it is defined (module:attribute)."""

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
    module, _, attribute = dict(METHODS)[check_name(name)].partition(":")
    method: Method = getattr(importlib.import_module(module), attribute)
    return method
