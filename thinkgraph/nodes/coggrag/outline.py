"""The mind map drawn: an outline for people, and all of it for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from thinkgraph.nodes.coggrag.tree import ROOT, Nodes, in_order
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.answer import Trace, TraceLine
from thinkgraph.state.coggrag import DrawnNode, MapKey, MindNode, Solution

_SHOWN = 5
"""Answers on one line."""
_ROOM = 64
"""Most characters of a question with an outcome on its line, so that both fit a terminal."""


def draw(nodes: Nodes, solved: Mapping[str, Solution], keys: Mapping[str, Sequence[MapKey]]) -> Trace:
    """The mind map as it stands, with the outcomes so far by question and the extracted keys by level."""
    lines = []
    for key in in_order(nodes):
        number = "" if key == ROOT else f"#{key.rpartition('.')[2]} "
        text = f"{number}{nodes[key]['question']}"
        if key in solved:
            text = f"{text if len(text) <= _ROOM else text[: _ROOM - 1] + '…'} → {outcome(solved[key])}"
        lines.append(TraceLine(level=nodes[key]["level"], text=text))
    drawn = [_drawn(nodes[key], solved.get(key)) for key in in_order(nodes)]
    return Trace(
        title="mind map", lines=lines, data={"nodes": drawn, "keys": [key for level in keys.values() for key in level]}
    )


def outcome(solution: Solution) -> str:
    """`Kampala (verified)`, or "I don't know" and why."""
    answers = solution["answers"]
    if not answers:
        return f"I don't know: {solution['why']}"
    shown = "; ".join(map(one_line, answers[:_SHOWN]))
    more = f" and {len(answers) - _SHOWN} more" if len(answers) > _SHOWN else ""
    words = []
    if solution["verified"] is not None:
        words.append("verified" if solution["verified"] else "unverified")
    if again := len(solution["attempts"]) - 1:
        words.append(f"{again} re-think" + ("s" if again > 1 else ""))
    if not solution["supported"]:
        words.append("not in the evidence")
    return shown + more + (f" ({', '.join(words)})" if words else "")


def _drawn(node: MindNode, solution: Solution | None) -> DrawnNode:
    return DrawnNode(
        **node,
        asked=solution["asked"] if solution else "",
        answers=solution["answers"] if solution else [],
        attempts=solution["attempts"] if solution else [],
        verified=solution["verified"] if solution else None,
        supported=bool(solution and solution["supported"]),
        rests=solution["rests"] if solution else [],
        why=solution["why"] if solution else "",
    )
