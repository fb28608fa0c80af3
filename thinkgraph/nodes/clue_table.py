"""FiSKE's record of clues: unexplored, or mapped to which relation or entity, by which branch, in which round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thinkgraph.state.answer import Trace, TraceLine
from thinkgraph.state.fiske import MAX_ROWS, MAX_TARGETS, Branch, BranchRow, ClueRow, Target

_LISTED = 4
"""Targets of one sort named in one line."""


def ancestors(branches: Mapping[str, Branch], ends: Sequence[Branch]) -> list[Branch]:
    """The branches on the paths to `ends`, those included, in the order they came to be."""
    found: dict[str, Branch] = {}
    queue = list(ends)
    while queue:
        branch = queue.pop()
        if branch["id"] not in found:
            found[branch["id"]] = branch
            queue += [branches[way["branch"]] for way in branch["ways"]]
    return sorted(found.values(), key=lambda branch: int(branch["id"]))


def clue_table(clues: Sequence[str], branches: Sequence[Branch]) -> list[ClueRow]:
    """One row per clue. Where some branch is complete, what its paths mapped comes first."""
    by_id = {branch["id"]: branch for branch in branches}
    complete = ancestors(by_id, [branch for branch in branches if branch["status"] == "complete"])
    first = {branch["id"] for branch in complete}
    targets: dict[int, dict[tuple[str, str, str], Target]] = {number: {} for number in range(1, len(clues) + 1)}
    for branch in [*complete, *(branch for branch in branches if branch["id"] not in first)]:
        for mark in branch["marks"]:
            place = (mark["kind"], mark["label"], mark["direction"])
            known = targets[mark["clue"]].get(place)
            if known is not None:
                known["branches"] += 1
                continue
            targets[mark["clue"]][place] = Target(
                kind=mark["kind"],
                label=mark["label"],
                direction=mark["direction"],
                round=branch["round"],
                branch=branch["id"],
                branches=1,
            )
    return [
        ClueRow(
            number=number,
            text=clues[number - 1],
            status="mapped" if found else "unexplored",
            targets=list(found.values())[:MAX_TARGETS],
            total=len(found),
        )
        for number, found in targets.items()
    ]


def _target(target: Target) -> str:
    if target["kind"] == "relation":
        return f"-[{target['label']}]->" if target["direction"] == "out" else f"<-[{target['label']}]-"
    return target["label"]


def _where(target: Target) -> str:
    more = f" and {target['branches'] - 1} more" if target["branches"] > 1 else ""
    when = f"round {target['round']}, " if target["round"] else "start, "
    return f"{when}branch {target['branch']}{more}"


def clue_lines(table: Sequence[ClueRow]) -> list[TraceLine]:
    """The table as an outline: a line for every clue, and under it what it was mapped to, by which branch and when."""
    lines: list[TraceLine] = []
    for row in table:
        head = f"{row['number']} {row['text']}"
        if not row["targets"]:
            lines.append(TraceLine(level=0, text=f"{head}: unexplored"))
            continue
        shown = row["targets"][:_LISTED]
        words = [f"{_target(target)} ({_where(target)})" for target in shown]
        rest = row["total"] - len(shown)
        lines.append(
            TraceLine(level=0, text=f"{head}: {', '.join(words)}" + (f", and {rest} more" if rest > 0 else ""))
        )
    return lines


def trace(state: Mapping[str, Any]) -> Trace:
    """The record as an answer carries it; see `thinkgraph.state.fiske` for `data`."""
    branches: list[Branch] = list(state["branches"].values())
    table = clue_table(state["clues"], branches)
    order = {"complete": 0, "live": 1, "ended": 2, "walked": 3}
    shown = sorted(branches, key=lambda b: (order[b["status"]], -len(b["explored"]), int(b["id"])))[:MAX_ROWS]
    complete = any(branch["status"] == "complete" for branch in branches)
    outcome = "everything" if not state["manifest"]["settings"]["ending_flag"] else "complete" if complete else "failed"
    return Trace(
        title="clues" if table else "",
        lines=clue_lines(table),
        data={
            "outcome": outcome,
            "rounds": state["round"],
            "clues": table,
            "branches": [_row(branch) for branch in shown],
            "more": len(branches) - len(shown),
        },
    )


def _row(branch: Branch) -> BranchRow:
    return BranchRow(
        id=branch["id"],
        entity=branch["entity"],
        label=branch["label"],
        round=branch["round"],
        status=branch["status"],
        why=branch["why"],
        explored=branch["explored"],
        remaining=branch["remaining"],
        came_from=[way["branch"] for way in branch["ways"]],
    )
