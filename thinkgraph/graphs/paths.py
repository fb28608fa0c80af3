"""Relation paths first, then ToG-2's search: retrieve, judge, explore.

begin ── link_entities ──┬─(precheck)─ precheck × n ── majority ─┐
                         └───────────────────────────────────────┴─ topic_prune ── retrieve_paths ── reason ── answer
                                                                                                       │
                                                               ToG-2's rounds, as graphs/tog2.py draws them

`topic_prune` asks no model unless it is set to: the question's names are the starting entities. `reason` judges the paths as it
judges the evidence of a round.
"""

from __future__ import annotations

from typing import Any

from langgraph.graph import StateGraph

from thinkgraph.graphs.tog2 import beam_search
from thinkgraph.graphs.tog2 import bound as bound_of_search
from thinkgraph.graphs.wiring import Method
from thinkgraph.nodes.paths.retrieve_paths import retrieve_paths
from thinkgraph.runtime.driver import NodeRunner
from thinkgraph.state.answer import Answer
from thinkgraph.state.tog2 import PathsSettings


def wire(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph."""
    graph = beam_search(run, "paths", retrieve_paths)
    graph.add_edge("topic_prune", "retrieve_paths")
    graph.add_edge("retrieve_paths", "reason")
    return graph


def bound(settings: PathsSettings, answer: Answer) -> int:
    """ToG-2's. With a relation prune per entity its first round begins at up to 2W named entities and W that the paths reach, and as
    many more are visited.
    """
    one_by_one = settings.depth and not settings.combined
    more = settings.width * (2 + settings.backtracks) if one_by_one else 0
    return bound_of_search(settings, answer) + more


METHOD = Method(
    name="paths",
    title="Paths",
    summary="Rank relation paths by the encoder, judge the best in one call; where they fall short, search on as ToG-2.",
    settings=PathsSettings,
    wire=wire,
    bound=bound,
)
