"""ToG-2, wired as the paper's algorithm 1 (Think-on-Graph 2.0, arXiv 2407.10805, appendix A).

begin ── link_entities ──┬─(precheck)─ precheck × n ── majority ─┐
                         └───────────────────────────────────────┴─ topic_prune ── context_retrieval ── reason ──┐
    ┌────────────────────────────────────────────────────────────────────────────────────────────────────────────┤
    │  sufficient, a ceiling spent, or nowhere to go and no way back left ────────────────────────── answer      │
    ├─ backtrack (depth reached, or nothing left) ──┐                                                            │
    └─ (query_reform, split mode) ──────────────────┴─ relation_prune (one call, or one per topic) ──┐           │
                                     ┌───────────────────────────────────────────────────────────────┘           │
                                     └─ entity_discovery ── context_retrieval ── entity_prune ── reason ─────────┘

Query reform is that of section 3.3, precheck and majority that of section 4.3; algorithm 1 has neither. `backtrack` is ours: with `backtracks=0`,
as in `preset="paper"`, no run goes there.

Not drawn: samples that agree lead from majority to answer; a spent ceiling leads from context_retrieval to reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.graph import StateGraph
from langgraph.types import Send

from thinkgraph.graphs.wiring import Method, samples, settings_in, state_graph, tasks
from thinkgraph.models.ops import NodeFunction
from thinkgraph.nodes.common.link_entities import link_entities
from thinkgraph.nodes.common.ranking import ROLE as RANK_ROLE
from thinkgraph.nodes.doubt.judged import MOST_LOOKS
from thinkgraph.nodes.tog2.backtrack import backtrack, exhausted
from thinkgraph.nodes.tog2.context_retrieval import context_retrieval
from thinkgraph.nodes.tog2.entity_discovery import entity_discovery, unfit
from thinkgraph.nodes.tog2.entity_prune import entity_prune
from thinkgraph.nodes.tog2.majority import majority
from thinkgraph.nodes.tog2.precheck import precheck
from thinkgraph.nodes.tog2.query_reform import query_reform
from thinkgraph.nodes.tog2.reason import STEER, reason
from thinkgraph.nodes.tog2.relation_prune import relation_prune, walked_before
from thinkgraph.nodes.tog2.topic_prune import topic_prune
from thinkgraph.runtime.driver import NodeRunner
from thinkgraph.state.answer import Answer
from thinkgraph.state.base import SampleTask
from thinkgraph.state.tog2 import BeamSettings, BeamState, RelationPruneTask, Tog2Settings, Tog2State, by_place


def roles(settings: Tog2Settings) -> Mapping[str, bool]:
    """For each role, whether a run with these settings may call it."""
    return {
        "tog2.topic_prune": settings.topic_prune,
        "tog2.relation_prune": settings.depth > 0,
        "tog2.reason": True,
        STEER: settings.steers and settings.depth > 0,
        "tog2.query_reform": settings.clues and not settings.fused,
        "tog2.precheck": settings.precheck,
        RANK_ROLE: settings.ranker == "llm",
    }


def _after_link_entities(state: Tog2State) -> str | list[Send]:
    settings = settings_in(state, Tog2Settings)
    if not settings.precheck:
        return "topic_prune"
    return samples("precheck", settings.precheck_samples, state, settings, keep=1)


def _after_majority(state: Tog2State) -> str:
    return "answer" if state.get("draft") else "topic_prune"


def _after_context_retrieval(state: Tog2State) -> str:
    # Round 0 reads the topic entities' own documents: there are no candidates to prune.
    return "reason" if state["stopped"] or not state["round"] else "entity_prune"


def _after_reason(state: Tog2State) -> str | list[Send]:
    if state.get("draft"):
        return "answer"
    settings = settings_in(state, Tog2Settings)
    if exhausted(state, settings):
        return "backtrack"
    if settings.clues and not settings.fused and state["clues"]:
        return "query_reform"
    return _relation_prunes(state)


def _relation_prunes(state: Tog2State) -> list[Send]:
    settings = settings_in(state, Tog2Settings)
    together = settings.paths or state["backtracked"] > 0
    return relation_prunes(state, settings, combined=settings.combined, together=together)


def relation_prunes(state: BeamState, settings: BeamSettings, *, combined: bool, together: bool) -> list[Send]:
    """One relation prune for all topic entities (`combined`), else one for each place in the beam; see `by_place`."""
    groups = {"all": state["topics"]} if combined else by_place(state["topics"], together=together)
    # One call is kept back for Reason, whatever the fan-out uses.
    return [
        Send(
            "relation_prune",
            RelationPruneTask(**task, topics=group, walked=walked_before(state), scored=state["scored"]),
        )
        for task, group in tasks(state, settings, groups.items(), keep=1, ahead=1)
    ]


def beam_search(run: NodeRunner, method: str, *own: NodeFunction) -> StateGraph[Any, Any, Any, Any]:
    """ToG-2's graph, in which no edge leads on from topic_prune yet.

    Args:
        run: makes the nodes.
        method: the registered name of ToG-2, or of a method whose settings build on ToG-2's.
        own: steps of that method, without edges.

    Returns:
        The uncompiled graph.
    """
    steps = [
        link_entities,
        precheck,
        majority,
        topic_prune,
        relation_prune,
        entity_discovery,
        context_retrieval,
        entity_prune,
        reason,
        query_reform,
        backtrack,
        *own,
    ]
    payloads = {"precheck": SampleTask, "relation_prune": RelationPruneTask}
    graph = state_graph(run, method, Tog2State, steps, roles=roles, decides="tog2.reason", payloads=payloads)
    graph.unfit = unfit
    graph.add_edge("begin", "link_entities")
    graph.add_conditional_edges("link_entities", _after_link_entities, ["precheck", "topic_prune"])
    graph.add_edge("precheck", "majority")
    graph.add_conditional_edges("majority", _after_majority, ["topic_prune", "answer"])
    graph.add_edge("relation_prune", "entity_discovery")
    graph.add_edge("entity_discovery", "context_retrieval")
    graph.add_conditional_edges("context_retrieval", _after_context_retrieval, ["entity_prune", "reason"])
    graph.add_edge("entity_prune", "reason")
    graph.add_conditional_edges("reason", _after_reason, ["answer", "backtrack", "query_reform", "relation_prune"])
    graph.add_conditional_edges("backtrack", _relation_prunes, ["relation_prune"])
    graph.add_conditional_edges("query_reform", _relation_prunes, ["relation_prune"])
    return graph


def wire(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph."""
    graph = beam_search(run, "tog2")
    graph.add_edge("topic_prune", "context_retrieval")
    return graph


def bound(settings: Tog2Settings, _answer: Answer) -> int:
    """2D + 1, or WD + D + 1 with a relation prune per entity; beside it topic prune, split reform and pre-check.

    Each way back has D rounds more, the first of them from every entity visited, and any Reason may be asked MOST_LOOKS times in doubt.
    """
    width, depth = settings.width, settings.depth
    back = settings.backtracks if depth else 0
    rounds = depth * (1 + back)
    # The n-th way back stands on the starting entities and as many that were dropped, and on what each relation before led to.
    visited = sum(2 * width + settings.hops * depth * number for number in range(1, back + 1))
    prunes = rounds if settings.combined else width * (rounds - back) + visited
    reasons = (rounds + 1) * (MOST_LOOKS if settings.backtracks else 1)
    reforms = rounds if settings.clues and not settings.fused else 0
    prechecks = settings.precheck_samples if settings.precheck else 0
    return prunes + reasons + reforms + settings.topic_prune + prechecks


METHOD = Method(
    name="tog2",
    title="ToG-2",
    summary="Alternate between graph and text: prune relations, retrieve the documents of what they reach, reason.",
    settings=Tog2Settings,
    wire=wire,
    bound=bound,
)
