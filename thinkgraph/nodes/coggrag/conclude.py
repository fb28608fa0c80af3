"""The end of a wave of answers, and with the root's answer the end of the run."""

from __future__ import annotations

from langgraph.types import Overwrite

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.coggrag.retrieve import bounded
from thinkgraph.nodes.coggrag.tree import ROOT, answer_order, draw, in_order, needs, reachable, references
from thinkgraph.nodes.common.judging import EMPTY, UNDECIDED, supported, unknown, unsupported
from thinkgraph.nodes.common.reports import traced
from thinkgraph.nodes.doubt.judged import going_back, may_backtrack
from thinkgraph.runtime import requests
from thinkgraph.state.answer import Draft, Trace
from thinkgraph.state.coggrag import CogGragSettings, CogGragState
from thinkgraph.state.events import Verified

UNVERIFIED = "no verifier judged the answer right"


def trace(state: CogGragState) -> Trace:
    """The mind map as the answer carries it."""
    return draw(state["mind_map"], state["solved"], state["keys"])


def conclude(state: CogGragState, settings: CogGragSettings) -> Flow[Update]:
    """Report the wave's answers, keep the chunks they cite as evidence, and draft the run's answer from the root's.

    The questions of a wave end in any order: they are reported here, in that of the mind map.
    """
    solved = state["solved"]
    new = in_order(key for key, solution in solved.items() if solution["wave"] == state["round"])
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
    evidence = state["evidence"]
    if chunks := {item["id"]: item for key in new for item in solved[key]["chunks"]}:
        evidence = bounded({**evidence, **chunks}, solved, settings)
    update: Update = {"evidence": Overwrite(evidence)} if chunks else {}
    if ROOT in solved:
        draft = _draft({**state, "evidence": evidence}, settings)
        if draft["status"] != "unknown" or not may_backtrack(state, settings):
            return {**update, "draft": draft}
        update |= _gone_over(state) or _uprooted(state)
    # The answer brings the whole map itself.
    yield from traced(state["round"], "mind map", draw(state["mind_map"], solved, {})["lines"])
    return update


def _gone_over(state: CogGragState) -> Update:
    """Keep the mind map, and ask the questions that failed once more, with the questions they refer to and all that rest on them.

    A question failed if it has no answer, or one that a verifier judged wrong. Empty where that was done before, and where every
    sub-question failed: then the mind map is at fault.
    """
    nodes, solved = state["mind_map"], state["solved"]
    failed = {at for at in nodes if at not in solved or not solved[at]["answers"] or solved[at]["verified"] is False}
    asked = {nodes[at]["question"] for at in failed if at != ROOT or failed == {ROOT}}
    if nodes.keys() <= {*failed, ROOT} or asked <= set(state["tried"]):
        return {}
    again = {*failed, *(at for key in failed for at in nodes[key]["refers"].values())}
    rests = {at: reachable([at], lambda key: needs(nodes, key)) for at in solved}
    stands = {at: solved[at] for at in solved if again.isdisjoint(rests[at])}
    left = {at: missed for at, missed in state["unfollowed"].items() if at in stands}
    kept = {"solved": Overwrite(stands), "unfollowed": Overwrite(left)}
    return {**kept, "tried": [*state["tried"], *sorted(asked)], **going_back(state)}


def _uprooted(state: CogGragState) -> Update:
    """Drop the mind map, so that another one is planted. Its questions join `tried`, each as often as it was tried."""
    nodes = state["mind_map"]
    tried = [nodes[key]["question"] for key in in_order(nodes) if key != ROOT or len(nodes) == 1]
    empty: dict[str, object] = {name: Overwrite({}) for name in ("mind_map", "splits", "keys", "solved", "unfollowed")}
    return {**empty, "tried": [*state["tried"], *tried], **going_back(state)}


def _draft(state: CogGragState, settings: CogGragSettings) -> Draft:
    """The run's answer.

    `grounded`: triples, passages, or verified answers with evidence of their own support it, and no verifier had the last word
    against it or against an answer it rests on. `partial`: a verifier had, or an answer it rests on is in no evidence or had too many
    members to follow.
    With `backtracks`, an answer that a verifier judged wrong counts as none.
    """
    stopped, root = state["stopped"], state["solved"][ROOT]
    if not root["answers"] or root["answers"] == [UNDECIDED]:
        return unknown(_why_unknown(state), settings)
    cited = [key for key in root["cited"] if key in state["evidence"]]
    if not root["supported"] or not cited:
        return unsupported(root["answers"], settings, stopped)
    # A ceiling may have left the answer unjudged: then it is a best effort.
    if settings.backtracks and root["attempts"][-1]["right"] is False:
        return unknown(UNVERIFIED, settings, stopped)
    beside = ", and it was verified" if root["verified"] else ""
    below = [key for at in _below(state) for key in state["solved"][at]["cited"] if key in state["evidence"]]
    cited = list(dict.fromkeys([*cited, *below]))
    return supported(root["answers"], cited, root["instead_of"], stopped, fault=_fault(state), beside=beside)


def _fault(state: CogGragState) -> str:
    """Why the root's answer is no more than a best effort; empty where it is more."""
    solved, root = state["solved"], state["solved"][ROOT]
    if root["verified"] is False:
        return UNVERIFIED
    below = _below(state)
    for key in below:
        if solved[key]["verified"] is False:
            return f'it rests on an unverified answer to "{solved[key]["asked"]}"'
        if not solved[key]["supported"]:
            return f'the evidence does not hold the answer to "{solved[key]["asked"]}"'
    used = {at for key in below for at in references(state["mind_map"], key)}
    for key in below:
        if key in used and (missed := state["unfollowed"].get(key)):
            every = len(solved[key]["answers"])
            return f'{missed} of {every} answers to "{solved[key]["asked"]}" were not followed (follow)'
    return ""


def _below(state: CogGragState) -> list[str]:
    """Ids of the questions whose answers the root's rests on, directly or not."""
    solved = state["solved"]
    ends = solved[ROOT]["rests"]
    return in_order(reachable(ends, lambda key: [*solved[key]["rests"], *references(state["mind_map"], key)]))


def _why_unknown(state: CogGragState) -> str:
    """Why there is no answer: the ceiling, an empty knowledge base, or the first question without one."""
    if state["stopped"] or state["manifest"].get("empty"):
        return state["stopped"] or EMPTY
    solved = state["solved"]
    order = answer_order(state["mind_map"]).ids
    failed = next(key for key in order if key in solved and (key == ROOT or not solved[key]["answers"]))
    why = solved[failed]["why"] or solved[ROOT]["why"] or "the evidence leaves it open"
    name = "" if failed == ROOT else f"sub-question {failed.partition('.')[2]} "
    return f'no answer to {name}"{solved[failed]["asked"]}": {why}'
