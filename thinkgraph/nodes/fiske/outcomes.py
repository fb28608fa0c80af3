"""Outcomes of a round (FiSKE section 3.4) and the ending flag (section 3.5): which branches go on, end, are complete."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.types import Overwrite

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.fiske.clue_table import clue_lines, clue_table
from thinkgraph.nodes.fiske.clues import marked
from thinkgraph.nodes.fiske.e_mapping import answers_all, by_relations, told_by
from thinkgraph.nodes.fiske.mapping import live, mapped_by_group, offered
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.answer import PrunedNote
from thinkgraph.state.events import Pruned, Scored, Traced
from thinkgraph.state.fiske import Branch, FiskeSettings, Mark, Reach, Status, Way

NO_RELATION = "no relation maps a clue"
NO_NODE = "no node maps a clue"
OTHER_COMPLETE = "another branch mapped every clue"
ROUNDS_OVER = "as many rounds as clues were made"
KEPT_STARTS = 20
"""Starting points that led nowhere and are kept for the record all the same."""
_SHOWN = 30
"""Most branches of each sort named in a progress event."""


def close_unasked(state: Mapping[str, Any], settings: FiskeSettings) -> Flow[Update]:
    """Close the round where it has no call left to make."""
    if state["phase"] != "nodes" or state["calls_to_make"]:
        return {}
    return (yield from close_round(state, settings))


def close_round(state: Mapping[str, Any], settings: FiskeSettings) -> Flow[Update]:
    """Add (e, r, e') to the paths whose r and e' map clues; end what maps nothing; read the ending flag."""
    explored = live(state)
    made = _successors(state, settings)
    last = state["round"] >= len(state["clues"])
    # Without state every clue is offered again, and without the flag nobody looks whether all are mapped.
    noticed = settings.stateful or settings.ending_flag
    stops = settings.ending_flag and any(not branch["remaining"] for branch in made)
    for branch in made:
        if not branch["remaining"] and noticed:
            branch["status"] = "complete"
        elif stops or last:
            branch["status"], branch["why"] = "ended", OTHER_COMPLETE if stops else ROUNDS_OVER
    parents = {way["branch"] for branch in made for way in branch["ways"]}
    walked = {step["branch"] for step in state["reached"]}
    before = [_after(branch, parents, walked) for branch in explored]
    changed = {branch["id"]: branch for branch in [*before, *made]}
    branches = {**state["branches"], **changed}
    table = clue_table(state["clues"], list(branches.values()))
    ended = [branch for branch in [*before, *made] if branch["status"] in {"ended", "gone"}]
    alive = [branch for branch in made if branch["status"] in {"live", "complete"}]
    yield from _report(state, alive, ended, stops=stops)
    yield from requests.emit(Traced(type="traced", round=state["round"], title="clues", lines=clue_lines(table)))
    note = PrunedNote(
        round=state["round"],
        what="branches",
        kept=len(alive),
        dropped=len(ended),
        examples=[f"{branch['label']}: {branch['why']}" for branch in ended[:5]],
    )
    return {
        "phase": "closed",
        "branches": changed,
        "reached": [],
        "labels": {},
        "calls_to_make": [],
        "mapped": Overwrite({}),
        "table": table,
        "pruned": [note],
    }


def _after(branch: Branch, parents: set[str], walked: set[str]) -> Branch:
    """A branch of the round, now that it is over."""
    if branch["id"] in parents:
        return {**branch, "status": "walked"}
    # A starting point that led nowhere has no path: state keeps the best ones for the record, and forgets the others.
    status: Status = "ended" if branch["ways"] or int(branch["id"]) <= KEPT_STARTS else "gone"
    return {**branch, "status": status, "why": NO_NODE if branch["id"] in walked else NO_RELATION}


def _successors(state: Mapping[str, Any], settings: FiskeSettings) -> list[Branch]:
    """The branches that the round's outcomes make; those at the same entity with the same remaining clues are one."""
    branches: Mapping[str, Branch] = state["branches"]
    clues: Sequence[str] = state["clues"]
    mapped = mapped_by_group(state)
    made: dict[tuple[str, tuple[int, ...]], Branch] = {}
    number = 1 + max(map(int, branches), default=0)
    steps: Sequence[Reach] = state["reached"]
    known = by_relations(steps, settings)
    for step in steps:
        parent = branches[step["branch"]]
        every = answers_all(parent, step["clues"], clues, settings)
        by_node = mapped.get(step["group"], {})
        mine = set(offered(parent, state, settings))
        for node, triple in zip(step["nodes"], step["triples"], strict=True):
            here = told_by(step, node, [number for number in by_node.get(node, ()) if number in mine], known)
            if not here and not every:
                continue
            marks = _marks(parent, step, here, state["labels"][node], clues)
            newly = {mark["clue"] for mark in marks}
            remaining = [n for n in parent["remaining"] if n not in newly]
            key = (node, tuple(remaining))
            branch = made.get(key)
            if branch is None:
                branch = made[key] = Branch(
                    id=str(number + len(made)),
                    entity=node,
                    label=state["labels"][node],
                    round=state["round"],
                    status="live",
                    why="",
                    explored=sorted({*parent["explored"], *newly}),
                    remaining=remaining,
                    ways=[],
                    on_path=[*parent["on_path"], node],
                    marks=[],
                )
            branch["ways"].append(
                Way(
                    branch=parent["id"],
                    relation=step["relation"],
                    direction=step["direction"],
                    triple=triple,
                    total=step["total"],
                )
            )
            branch["on_path"] = [one for one in branch["on_path"] if one == node or one in parent["on_path"]]
            branch["marks"] += [mark for mark in marks if mark not in branch["marks"]]
    return list(made.values())


def _marks(parent: Branch, step: Reach, by_node: Sequence[int], label: str, clues: Sequence[str]) -> list[Mark]:
    """What one step maps: a clue that maps both the relation and the node is one clue, two different ones are both."""
    marks: list[Mark] = []
    for number in marked(clues, step["clues"], parent["explored"]).values():
        mark = Mark(clue=number, kind="relation", label=step["label"], direction=step["direction"])
        marks += [mark] if mark not in marks else []
    for number in marked(clues, by_node, parent["explored"]).values():
        mark = Mark(clue=number, kind="entity", label=label, direction="out")
        marks += [mark] if mark not in marks else []
    return marks


def _report(state: Mapping[str, Any], alive: Sequence[Branch], ended: Sequence[Branch], *, stops: bool) -> Flow[None]:
    whole = max(len(state["clues"]), 1)
    reasons: dict[str, int] = defaultdict(int)
    for branch in ended:
        reasons[branch["why"]] += 1
    kept = [b for b in alive if b["status"] == "complete"] if stops else list(alive)

    def scored(branches: Sequence[Branch]) -> list[Scored]:
        return [
            Scored(label=branch["label"], score=round(len(branch["explored"]) / whole, 2))
            for branch in branches[:_SHOWN]
        ]

    yield from requests.emit(
        Pruned(
            type="pruned",
            what="branches",
            round=state["round"],
            kept=scored(kept),
            dropped=scored(ended),
            reason="; ".join(f"{count}: {why}" for why, count in reasons.items()),
        )
    )
