"""The end of a round: its outcomes (FiSKE section 3.4) and the end of all branches once one is complete (section 3.5; the
"ending flag" of table 6).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from langgraph.types import Overwrite

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.reports import EXAMPLES, pruned, traced
from thinkgraph.nodes.doubt.judged import rounds_since
from thinkgraph.nodes.fiske.clue_table import clue_lines, clue_table
from thinkgraph.nodes.fiske.e_mapping import clues_on_path, meant_here
from thinkgraph.nodes.fiske.mapping import clues_by_option, completes_alone, live, marked, offered, option_id
from thinkgraph.state.answer import PrunedNote
from thinkgraph.state.fiske import Arrival, Branch, BranchStatus, Expansion, FiskeSettings, FiskeState, Mark

NO_RELATION = "no relation maps a clue"
NO_NODE = "no node maps a clue"
OTHER_COMPLETE = "another branch mapped every clue"
ROUNDS_OVER = "as many rounds as clues were made"
KEPT_STARTS = 20
"""Starting points that led nowhere but stay in the record."""
_MAX_REPORTED = 30
"""Most branches of each sort named in a progress event."""


def outcomes(state: FiskeState, settings: FiskeSettings) -> Flow[Update]:
    """Add (e, r, e') to the paths whose r and e' map clues, end the branches that map nothing, read the ending flag."""
    explored = live(state)
    made = _successors(state, settings)
    last = rounds_since(state) >= len(state["clues"])
    # Without both settings all clues are offered again and nobody checks whether all are mapped.
    ends = settings.stateful or settings.ending_flag
    stops = settings.ending_flag and any(not branch["remaining"] for branch in made)
    for branch in made:
        if ends and not branch["remaining"]:
            branch["status"] = "complete"
        elif stops or last:
            branch["status"], branch["why"] = "ended", OTHER_COMPLETE if stops else ROUNDS_OVER
    met = {one["branch"] for one in state["expansions"]}
    walked: dict[str, dict[str, None]] = defaultdict(dict)
    for arrival in (arrival for branch in made for arrival in branch["arrivals"]):
        walked[arrival["branch"]][option_id(arrival["relation"], arrival["direction"])] = None
    changed = [*(_after(branch, met, list(walked.get(branch["id"], ()))) for branch in explored), *made]
    branches = {branch["id"]: branch for branch in changed}
    table = clue_table(state["clues"], list({**state["branches"], **branches}.values()))
    kept = [branch for branch in made if branch["status"] in {"live", "complete"}]
    ended = [branch for branch in changed if branch["status"] in {"ended", "gone"}]
    yield from _report(state, kept, ended)
    yield from traced(state["round"], "clues", clue_lines(table))
    examples = [f"{branch['label']}: {branch['why']}" for branch in ended[:EXAMPLES]]
    note = PrunedNote(round=state["round"], what="branches", kept=len(kept), dropped=len(ended), examples=examples)
    return {
        "branches": branches,
        "expansions": [],
        "labels": {},
        "calls_to_make": [],
        "mapped": Overwrite({}),
        "table": table,
        "pruned": [note],
    }


def _after(branch: Branch, met: set[str], walked: Sequence[str]) -> Branch:
    """A branch as its round leaves it. `walked` are its relations that led on; `met` are the branches with a relation that led to nodes."""
    branch = {**branch, "walked": [*branch["walked"], *walked]}
    if walked:
        return {**branch, "status": "walked"}
    # A starting point that led nowhere has no path. State keeps the best ones for the record and drops the others.
    status: BranchStatus = "ended" if branch["arrivals"] or int(branch["id"]) <= KEPT_STARTS else "gone"
    return {**branch, "status": status, "why": NO_NODE if branch["id"] in met else NO_RELATION}


def _successors(state: FiskeState, settings: FiskeSettings) -> list[Branch]:
    """The branches that the round's outcomes make. Without `per_branch`, those at the same entity with the same remaining clues are merged."""
    clues = state["clues"]
    mapped = clues_by_option(state)
    on_path = clues_on_path(state["expansions"], settings)
    named = state["named"] if settings.meant_step else ()
    made: dict[tuple[str, tuple[int, ...], str], Branch] = {}
    mapping = _mapping_branches(state, settings) if settings.multi_answer_asks else ()
    first = 1 + max(map(int, state["branches"]), default=0)
    for expansion in state["expansions"]:
        parent = state["branches"][expansion["branch"]]
        every = parent["id"] not in mapping and completes_alone(parent, expansion["clues"], clues, settings)
        alone = "|".join((parent["id"], expansion["direction"], expansion["relation"])) if settings.per_branch else ""
        by_node = mapped.get(expansion["group"], {})
        mine = set(offered(parent, state, settings))
        for node, triple in zip(expansion["nodes"], expansion["triples"], strict=True):
            found = [number for number in by_node.get(node, ()) if number in mine]
            here = meant_here(expansion, node, found, on_path, named)
            if not here and not every:
                continue
            marks = _marks(parent, expansion, here, state["labels"][node], clues)
            newly = {mark["clue"] for mark in marks}
            remaining = [number for number in parent["remaining"] if number not in newly]
            branch = made.setdefault(
                (node, tuple(remaining), alone),
                Branch(
                    id=str(first + len(made)),
                    entity=node,
                    label=state["labels"][node],
                    round=state["round"],
                    status="live",
                    why="",
                    explored=sorted({*parent["explored"], *newly}),
                    remaining=remaining,
                    arrivals=[],
                    on_path=[*parent["on_path"], node],
                    marks=[],
                    walked=[],
                ),
            )
            arrival = Arrival(
                branch=parent["id"],
                relation=expansion["relation"],
                direction=expansion["direction"],
                triple=triple,
                total=expansion["total"],
            )
            branch["arrivals"].append(arrival)
            branch["on_path"] = [one for one in branch["on_path"] if one == node or one in parent["on_path"]]
            branch["marks"] += [mark for mark in marks if mark not in branch["marks"]]
    return list(made.values())


def _mapping_branches(state: FiskeState, settings: FiskeSettings) -> set[str]:
    """Ids of the branches for which some node maps a clue."""
    mapped = clues_by_option(state)
    offers = {branch["id"]: set(offered(branch, state, settings)) for branch in live(state)}
    return {
        expansion["branch"]
        for expansion in state["expansions"]
        for node in expansion["nodes"]
        if offers[expansion["branch"]].intersection(mapped[expansion["group"]].get(node, ()))
    }


def _marks(
    parent: Branch, expansion: Expansion, by_node: Sequence[int], label: str, clues: Sequence[str]
) -> list[Mark]:
    """What one step maps: a clue that maps both the relation and the node counts once, two different clues count both."""
    by_relation = dict.fromkeys(marked(clues, expansion["clues"], parent["explored"]).values())
    by_entity = dict.fromkeys(marked(clues, by_node, parent["explored"]).values())
    return [
        *(
            Mark(clue=number, kind="relation", label=expansion["label"], direction=expansion["direction"])
            for number in by_relation
        ),
        *(Mark(clue=number, kind="entity", label=label, direction="out") for number in by_entity),
    ]


def _report(state: FiskeState, kept: Sequence[Branch], ended: Sequence[Branch]) -> Flow[None]:
    def scored(branches: Sequence[Branch]) -> list[tuple[str, float]]:
        clues = max(len(state["clues"]), 1)
        return [(branch["label"], round(len(branch["explored"]) / clues, 2)) for branch in branches[:_MAX_REPORTED]]

    reasons = Counter(branch["why"] for branch in ended)
    why = "; ".join(f"{count}: {reason}" for reason, count in reasons.items())
    yield from pruned("branches", state["round"], scored(kept), scored(ended), why)
