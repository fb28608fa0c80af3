"""What a wave of answers leaves on the mind map, and what the root's answer is worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.types import Overwrite

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.coggrag.mind_map import ROOT, draw, in_order, plan, references
from thinkgraph.nodes.coggrag.retrieve import bounded
from thinkgraph.nodes.common.judging import UNDECIDED, supported, unknown, unsupported
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.answer import Draft, Trace
from thinkgraph.state.coggrag import CogGragSettings, MindNode, Solution
from thinkgraph.state.events import Traced, Verified


def trace(state: Mapping[str, Any]) -> Trace:
    """The mind map as the answer carries it."""
    return draw(state["mind_map"], state["solved"], state["keys"])


def take_in(state: Mapping[str, Any], settings: CogGragSettings) -> Flow[Update]:
    """Tell of the wave's answers, and keep the chunks they cite as evidence.

    Told here and not by the tasks themselves, which end in any order.
    """
    solved: Mapping[str, Solution] = state["solved"]
    new = in_order(key for key, solution in solved.items() if solution["wave"] == state["round"])
    if not new:
        return {}
    for key in new:
        solution = solved[key]
        yield from requests.emit(
            Verified(
                type="verified",
                round=state["round"],
                node=key,
                question=solution["asked"],
                answers=solution["answers"],
                right=solution["verified"],
                attempts=len(solution["attempts"]),
                why=solution["why"],
            )
        )
    if ROOT not in solved:
        # With the root's answer the whole map comes with the answer.
        lines = draw(state["mind_map"], solved, {})["lines"]
        yield from requests.emit(Traced(type="traced", round=state["round"], title="mind map", lines=lines))
    chunks = {item["id"]: item for key in new for item in solved[key]["chunks"]}
    if not chunks:
        return {}
    return {"evidence": Overwrite(bounded({**state["evidence"], **chunks}, solved, settings))}


def conclude(state: Mapping[str, Any], settings: CogGragSettings) -> Flow[Update]:
    """Once the root is answered: the answer, and its status.

    `grounded` where lines hold it that are triples, passages or verified answers with evidence of their own, and where no
    verifier had the last word against it; `partial` also where answers it rests on were too many to follow.
    """
    yield from ()
    root: Solution | None = state["solved"].get(ROOT)
    if root is None:
        return {}
    if not root["answers"] or root["answers"] == [UNDECIDED]:
        return {"draft": _unknown(state, settings, root)}
    cited = [key for key in root["cited"] if key in state["evidence"]]
    if not root["held"] or not cited:
        return {"draft": unsupported(root["answers"], state["stopped"])}
    below = _below(state)
    shaky = next((key for key in below if state["solved"][key]["verified"] is False), None)
    used = {at for key in below for at in references(state["mind_map"], key)}
    cut = next((key for key in below if key in used and state["unfollowed"].get(key)), None)
    if root["verified"] is False:
        why = "best effort: no verifier judged the answer right"
    elif shaky:
        why = f'best effort: it rests on an unverified answer to "{state["solved"][shaky]["asked"]}"'
    elif cut:
        every, missed = state["solved"][cut], state["unfollowed"][cut]
        why = (
            f'best effort: {missed} of {len(every["answers"])} answers to "{every["asked"]}" were not followed (follow)'
        )
    else:
        why = "the evidence holds the answer" + (", and it was verified" if root["verified"] else "")
        return {"draft": supported(root["answers"], cited, state["stopped"], whole=True, why=why)}
    return {"draft": supported(root["answers"], cited, state["stopped"], whole=False, why=why)}


def _below(state: Mapping[str, Any]) -> list[str]:
    """The answered questions that the root's answer rests on: cited, or put into a question whose answer is."""
    solved: Mapping[str, Solution] = state["solved"]
    queue, seen = list(solved[ROOT]["rests"]), set(solved[ROOT]["rests"])
    while queue:
        at = queue.pop()
        new = {*solved[at]["rests"], *references(state["mind_map"], at)} - seen
        seen |= new
        queue += new
    return in_order(seen)


def _unknown(state: Mapping[str, Any], settings: CogGragSettings, root: Solution) -> Draft:
    """No answer, and the first question that had none."""
    nodes: Mapping[str, MindNode] = state["mind_map"]
    solved: Mapping[str, Solution] = state["solved"]
    order = [key for wave in plan(nodes).waves for key in wave]
    failed = next(key for key in order if key in solved and (key == ROOT or not solved[key]["answers"]))
    why = solved[failed]["why"] or root["why"] or "the evidence leaves it open"
    name = "" if failed == ROOT else f"sub-question {failed.partition('.')[2]} "
    reason = state["stopped"] or f'no answer to {name}"{solved[failed]["asked"]}": {why}'
    return unknown(reason, settings)
