"""FiSKE's record of clues: unexplored, or mapped to which relation or entity, by which branch, in which round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thinkgraph.state.answer import Trace, TraceLine
from thinkgraph.state.fiske import MAX_ROWS, MAX_TARGETS, Branch, BranchHead, ClueRow, FiskeState, Target

_LISTED = 4
"""Targets of one clue that have a line, and ends named in it."""
_NUMBERED = 2
"""Branches named in a line."""


def ancestors(branches: Mapping[str, Branch], ends: Sequence[Branch]) -> list[Branch]:
    """The branches on the paths to `ends`, those included, in the order they came to be."""
    found: dict[str, Branch] = {}
    queue = list(ends)
    while queue:
        branch = queue.pop()
        if branch["id"] not in found:
            found[branch["id"]] = branch
            queue += [branches[arrival["branch"]] for arrival in branch["arrivals"]]
    return sorted(found.values(), key=lambda branch: int(branch["id"]))


def unfit(state: FiskeState) -> str:
    """What does not fit together in the branches of a state that was edited; empty where all does."""
    branches: Mapping[str, Branch] = state.get("branches") or {}
    numbers = {"matches": {int(number) for number in state.get("matches") or () if number.isdecimal()}}
    numbers |= {"calls_to_make": {number for call in state.get("calls_to_make") or () for number in call["clues"]}}
    for key, branch in branches.items():
        if branch["id"] != key or not key.isdecimal():
            return f"'branches.{key}.id': a branch's id is its key, a number (it is {branch['id']!r})"
        came = [one["branch"] for one in branch["arrivals"]]
        if lost := next(
            (one for one in came if one not in branches or branches[one]["round"] >= branch["round"]), None
        ):
            return f"'branches.{key}.arrivals': there is no branch '{lost}' of an earlier round"
        marks = (mark["clue"] for mark in branch["marks"])
        numbers[f"branches.{key}"] = {*branch["explored"], *branch["remaining"], *marks}
    numbers |= {f"expansions.{at}": set(one["clues"]) for at, one in enumerate(state.get("expansions") or ())}
    known = range(1, len(state.get("clues") or ()) + 1)
    for name, used in numbers.items():
        if strange := sorted(used.difference(known)):
            return f"'clues': there is no clue {strange[0]}, which '{name}' names (there are {len(known)})"
    return _unfit_walks(state)


def _unfit_walks(state: FiskeState) -> str:
    """As `unfit`, in what the open round maps and reaches."""
    expansions = state.get("expansions") or ()
    for at, expansion in enumerate(expansions):
        if lost := next((node for node in expansion["nodes"] if node not in state["labels"]), None):
            return f"'expansions.{at}.nodes': 'labels' has no '{lost}'"
        if len(expansion["triples"]) != len(expansion["nodes"]):
            return f"'expansions.{at}.triples': one for each node ({len(expansion['nodes'])})"
        if expansion["branch"] not in (state.get("branches") or {}):
            return f"'expansions.{at}.branch': there is no branch '{expansion['branch']}'"
    if expansions:  # the options are nodes now
        return ""
    wanted = [(call["group"], option["id"]) for call in state.get("calls_to_make") or () for option in call["options"]]
    wanted += [(one["group"], pair["option"]) for one in (state.get("mapped") or {}).values() for pair in one["pairs"]]
    relations = state.get("relations") or {}
    lacking = (
        f"'relations.{group}': there is no '{key}'" for group, key in wanted if key not in relations.get(group, {})
    )
    return next(lacking, "")


def clue_table(clues: Sequence[str], branches: Sequence[Branch]) -> list[ClueRow]:
    """One row per clue. Where some branch is complete, what its paths mapped comes first."""
    by_id = {branch["id"]: branch for branch in branches}
    complete = ancestors(by_id, [branch for branch in branches if branch["status"] == "complete"])
    first = {branch["id"] for branch in complete}
    targets: dict[int, dict[tuple[int, str, str, str], Target]] = {number: {} for number in range(1, len(clues) + 1)}
    for branch in [*complete, *(branch for branch in branches if branch["id"] not in first)]:
        by_relation = {mark["clue"] for mark in branch["marks"] if mark["kind"] == "relation"}
        for mark in branch["marks"]:
            if mark["kind"] == "entity" and mark["clue"] in by_relation:
                # One clue for a relation and its end: the end stands with the relation.
                continue
            label = mark["label"] if mark["kind"] == "relation" else ""
            place = (branch["round"], mark["kind"], label, mark["direction"])
            target = targets[mark["clue"]].setdefault(
                place,
                Target(
                    kind=mark["kind"],
                    label=label,
                    direction=mark["direction"],
                    ends=[],
                    round=branch["round"],
                    branches=[],
                    total=0,
                ),
            )
            target["total"] += 1
            if target["total"] <= MAX_TARGETS:
                target["branches"].append(branch["id"])
                target["ends"].append(branch["label"])
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


def _some(words: Sequence[str], total: int, most: int) -> str:
    more = total - min(len(words), most)
    return ", ".join(words[:most]) + (f" and {more} more" if more > 0 else "")


def _target(target: Target) -> str:
    """`-[capital]-> Bogota, Lima (round 2, branches 5, 6)`, shortened where they are many."""
    ids = _some(target["branches"], target["total"], _NUMBERED)
    when = f"round {target['round']}" if target["round"] else "start"
    where = f"({when}, {'branches' if target['total'] > 1 else 'branch'} {ids})"
    ends = _some(target["ends"], target["total"], _LISTED)
    if target["kind"] != "relation":
        return f"{ends} {where}"
    name = target["label"]
    return f"-[{name}]-> {ends} {where}" if target["direction"] == "out" else f"<-[{name}]- {ends} {where}"


def clue_lines(table: Sequence[ClueRow]) -> list[TraceLine]:
    """The table as an outline: a line for every clue; where it was mapped to several things, a line for each under it."""
    lines: list[TraceLine] = []
    for row in table:
        head = f"{row['number']} {row['text']}:"
        if row["total"] < 2:  # noqa: PLR2004 - several
            words = _target(row["targets"][0]) if row["targets"] else "unexplored"
            lines.append(TraceLine(level=0, text=f"{head} {words}"))
            continue
        lines.append(TraceLine(level=0, text=f"{head} mapped in {row['total']} ways"))
        lines += [TraceLine(level=1, text=_target(target)) for target in row["targets"][:_LISTED]]
        rest = row["total"] - _LISTED
        lines += [TraceLine(level=1, text=f"and {rest} more")] if rest > 0 else []
    return lines


def trace(state: FiskeState) -> Trace:
    """The record as an answer carries it; see `thinkgraph.state.fiske` for `data`."""
    branches = list(state["branches"].values())
    table = clue_table(state["clues"], branches)
    order = {"complete": 0, "live": 1, "ended": 2, "walked": 3}
    shown = sorted(branches, key=lambda b: (order[b["status"]], -len(b["explored"]), int(b["id"])))[:MAX_ROWS]
    complete = not state["stopped"] and any(branch["status"] == "complete" for branch in branches)
    outcome = "everything" if not state["manifest"]["settings"]["ending_flag"] else "complete" if complete else "failed"
    return Trace(
        title="clues" if table else "",
        lines=clue_lines(table),
        data={
            "outcome": outcome,
            "rounds": state["round"],
            "clues": table,
            "branches": [_row(branch, state["stopped"]) for branch in shown],
            "more": len(branches) - len(shown),
        },
    )


def _row(branch: Branch, stopped: str) -> dict[str, Any]:
    """See `thinkgraph.state.fiske`."""
    row: dict[str, Any] = {key: value for key, value in branch.items() if key in BranchHead.__annotations__}
    if branch["status"] == "live":
        # A ceiling leaves branches in the midst of a round.
        row |= {"status": "ended", "why": stopped}
    return {**row, "came_from": [arrival["branch"] for arrival in branch["arrivals"]]}
