"""The graphs that `langgraph.json` exports: one factory per method, configured by the environment.

THINKGRAPH_KB (default `world`) names the knowledge base, THINKGRAPH_MODEL (default `offline`) the model, THINKGRAPH_PROMPTS a
folder of prompts. A server compiles checkpointer and store in by itself.
"""

from __future__ import annotations

import os
from functools import cache

from thinkgraph.graphs.build import Graph, build


@cache
def _served(method: str) -> Graph:
    return build(
        method,
        knowledge=os.environ.get("THINKGRAPH_KB") or "world",
        model=os.environ.get("THINKGRAPH_MODEL") or "offline",
        prompts=os.environ.get("THINKGRAPH_PROMPTS") or None,
    )


def tog2() -> Graph:
    """ToG-2."""
    return _served("tog2")
