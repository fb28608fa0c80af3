"""CogGRAG, wired as the paper's figure 2 (Human Cognition Inspired RAG with Knowledge Graph).

begin ──┬─ decompose × open questions ── grow ──┬─ (a level down while a question is open)
        └─(nd)──────────────────────────────────┴─ extract_keys (local, global) ── retrieve ──┐
    ┌─────────────────────────────────────────────────────────────────────────────────────────┤
    │  the root is answered ─────────────────────────────────────────────────────── answer     │
    └─ self_verify × questions that are ready: reason, verify, re-think ── retrieve (follow) ──┘
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.types import Overwrite, Send

from thinkgraph.graphs.method import Method
from thinkgraph.graphs.wiring import tasks
from thinkgraph.nodes.coggrag.conclude import conclude, take_in, trace
from thinkgraph.nodes.coggrag.decompose import decompose, grow_map, plant_root
from thinkgraph.nodes.coggrag.extract_keys import extract_keys
from thinkgraph.nodes.coggrag.mind_map import (
    ROOT,
    children,
    listed,
    plan,
    put_in,
    ready,
    references,
    spelt_out,
    waiting,
)
from thinkgraph.nodes.coggrag.retrieve import ends_of, retrieve_triples
from thinkgraph.nodes.coggrag.self_verify import self_verify
from thinkgraph.nodes.common.answer import answer
from thinkgraph.nodes.common.begin import begin
from thinkgraph.nodes.common.ranking import ROLE as RANK_ROLE
from thinkgraph.runtime.driver import NodeRunner, Update, chain
from thinkgraph.state.answer import Answer
from thinkgraph.state.base import AnswerOutput, QuestionInput, TaskState
from thinkgraph.state.coggrag import (
    CogGragSettings,
    CogGragState,
    DecomposeTask,
    KeysTask,
    Known,
    QuestionTask,
)
from thinkgraph.tools.linking.names import normal_name

MOST_ABOUT = 40
"""Most entities whose passages are read for one question."""


def roles(settings: CogGragSettings) -> Sequence[str]:
    """The roles a run with these settings may call."""
    wanted = {
        "coggrag.decompose": settings.decompose,
        "coggrag.local_keys": True,
        "coggrag.global_keys": settings.global_keys,
        "coggrag.reason": True,
        "coggrag.verify": settings.verify,
        "coggrag.rethink": settings.verify,
        RANK_ROLE: settings.ranker == "llm" and settings.passages > 0,
    }
    return [role for role, used in wanted.items() if used]


def _fresh() -> Update:
    return {name: Overwrite({}) for name in ("mind_map", "splits", "keys", "linked", "solved", "unfollowed")}


def _settings(state: CogGragState) -> CogGragSettings:
    return CogGragSettings.model_validate(state["manifest"]["settings"])


def _closing(settings: CogGragSettings) -> int:
    """Calls kept back for the root: its answer, and its verification."""
    return 2 if settings.verify else 1


def _break_down(state: CogGragState) -> str | list[Send]:
    """A decomposition for every open question, or the keys of the whole map."""
    settings, nodes = _settings(state), state["mind_map"]
    keys = [] if state["stopped"] else waiting(nodes)
    if not keys:
        return _extract(state)
    most = max(1, settings.questions - len(nodes))
    # One more call is kept for the keys.
    return [
        Send("decompose", DecomposeTask(**task, node=nodes[key], asked=spelt_out(nodes, key), most=most))
        for task, key in tasks(state, settings, zip(keys, keys, strict=True), keep=_closing(settings) + 1)
    ]


def _extract(state: CogGragState) -> str | list[Send]:
    if state["stopped"]:
        # The last calls are the root's; the questions' own words are keys enough.
        return "retrieve"
    settings = _settings(state)
    ids, questions = listed(state["mind_map"])
    levels: list[Any] = ["local"]
    # Subgraphs link several questions: a lone one has none.
    if settings.global_keys and (len(ids) > 1 or not settings.skip_settled):
        levels.append("global")
    return [
        Send("extract_keys", KeysTask(**task, level=level, ids=ids, questions=questions))
        for task, level in tasks(state, settings, zip(levels, levels, strict=True), keep=_closing(settings))
    ]


def _ask(state: CogGragState) -> str | list[Send]:
    """Everything that is ready at once; only the root where a ceiling stopped the run."""
    if state.get("draft"):
        return "answer"
    settings = _settings(state)
    keys = [ROOT] if state["stopped"] else ready(state["mind_map"], state["solved"])
    keep = 0 if keys == [ROOT] else _closing(settings)
    sees = plan(state["mind_map"]).sees
    return [
        Send("self_verify", _question(state, task, key, sees[key], settings))
        for task, key in tasks(state, settings, zip(keys, keys, strict=True), keep=keep)
    ]


def _question(
    state: CogGragState, task: TaskState, key: str, sees: Sequence[str], settings: CogGragSettings
) -> QuestionTask:
    nodes, solved = state["mind_map"], state["solved"]
    known = [
        Known(
            id=at,
            asked=solved[at]["asked"],
            answers=solved[at]["answers"],
            cited=solved[at]["cited"],
            held=solved[at]["held"],
        )
        for at in sees
        if at in solved and (solved[at]["answers"] or settings.unanswered)
    ]
    unmet = [at for at in references(nodes, key) if at not in solved or not solved[at]["answers"]]
    told = {one for known_one in known for one in known_one["cited"]}
    items = [item for item in state["evidence"].values() if item["kind"] == "path" or item["id"] in told]
    return QuestionTask(
        **task,
        node=nodes[key],
        asked=put_in(nodes, key, solved),
        unmet=solved[unmet[0]]["asked"] if unmet and unmet[0] in solved else "",
        leaf=not children(nodes, key),
        known=known,
        items=items,
        about=_about(state, key),
    )


def _about(state: Mapping[str, Any], key: str) -> list[str]:
    """Entities that a question is about: those of its keys, and those that the answers it needs name."""
    names = [
        name
        for keys in state["keys"].values()
        for entry in keys
        if key in entry["of"] or not entry["of"]
        for name in ends_of(entry)
    ]
    ids = [one for name in names for one in state["linked"].get(normal_name(name), ())]
    for at in references(state["mind_map"], key):
        solution = state["solved"].get(at)
        for given in solution["answers"] if solution else ():
            ids += solution["entities"].get(given) or state["linked"].get(normal_name(given), ())
    return list(dict.fromkeys(ids))[:MOST_ABOUT]


def wire(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        CogGragState, context_schema=CogGragSettings, input_schema=QuestionInput, output_schema=AnswerOutput
    )
    graph.add_node(
        "begin", run.node("begin", chain(CogGragState, begin("coggrag", roles, _fresh), plant_root), entry=True)
    )
    graph.add_node("decompose", run.node("decompose", decompose), input_schema=DecomposeTask)
    graph.add_node("grow", run.node("grow", grow_map))
    graph.add_node("extract_keys", run.node("extract_keys", extract_keys), input_schema=KeysTask)
    retrieve = chain(CogGragState, take_in, conclude, retrieve_triples)
    graph.add_node("retrieve", run.node("retrieve", retrieve))
    graph.add_node("self_verify", run.node("self_verify", self_verify), input_schema=QuestionTask)
    graph.add_node("answer", run.node("answer", answer("coggrag.reason", trace=trace)))
    graph.add_edge(START, "begin")
    graph.add_conditional_edges("begin", _break_down, ["decompose", "extract_keys", "retrieve"])
    graph.add_edge("decompose", "grow")
    graph.add_conditional_edges("grow", _break_down, ["decompose", "extract_keys", "retrieve"])
    graph.add_edge("extract_keys", "retrieve")
    graph.add_conditional_edges("retrieve", _ask, ["self_verify", "answer"])
    graph.add_edge("self_verify", "retrieve")
    graph.add_edge("answer", END)
    return graph


def bound(settings: CogGragSettings, answer: Answer) -> int:
    """C decompositions, two extractions and 1 + 2k calls for every question of the mind map."""
    split = answer["usage"]["roles"].get("coggrag.decompose")
    asked = 1 + 2 * settings.rethinks if settings.verify else 1
    return (split["calls"] if split else 0) + 1 + settings.global_keys + asked * len(answer["trace"]["data"]["nodes"])


METHOD = Method(
    name="coggrag",
    title="CogGRAG",
    summary="Break the question down into a mind map, retrieve triples for all of it, answer bottom-up, verify, re-think.",
    settings=CogGragSettings,
    wire=wire,
    bound=bound,
)
