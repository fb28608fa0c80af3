"""Entity-based mapping (FiSKE section 3.4, second step of a round): which remaining clues do the nodes reached map?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph.types import Overwrite

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.fiske.clues import marked
from thinkgraph.nodes.fiske.mapping import chunked, group_of, live, mapped_by_group, offered
from thinkgraph.nodes.fiske.r_mapping import option_id
from thinkgraph.prompts.lines import entity_line, triple_sentence
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.events import Retrieved
from thinkgraph.state.fiske import Branch, FiskeSettings, Mapped, MappingCall, Offer, Option, Pair, Reach
from thinkgraph.state.knowledge import Entity, Neighbours, Step, Triple, other_end
from thinkgraph.tools.linking.names import normal_name

_TOLD = 4
"""Most statements told of one node in a mapping call."""

_Walk = tuple[Branch, Offer, list[int]]
"""A branch, a relation mapped at its entity, and the clues mapped to it."""
_Rest = tuple[str, list[int], list[str]]
"""A group, the clues and the nodes that are left for the model."""


@dataclass
class _Nodes:
    """The nodes of a round by id."""

    labels: dict[str, str] = field(default_factory=dict)
    ways: dict[str, dict[str, list[Triple]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    """Group, then node, to the triples that reach it."""


def reach(state: Mapping[str, Any], settings: FiskeSettings) -> Flow[Update]:
    """Walk every mapped relation of every live branch in one round trip; take what exact names map; ask for the rest."""
    if state["stopped"]:
        return {"phase": "done"}
    walks = _walks(state, settings)
    room = settings.candidates - sum(len(branch["ways"]) for branch in state["branches"].values())
    limit = _limit(walks, room)
    steps = {_place(walk): _step(walk) for walk in walks} if room > 0 else {}
    found = dict(
        zip(steps, (yield from requests.neighbours(list(steps.values()), limit=limit, seed=settings.seed)), strict=True)
    )
    nodes = _Nodes()
    reached, left_out = _reached(walks, found, nodes, room, state, settings)
    notes = [f"round {state['round']}: {left_out} triples were not walked (candidate cap)"] if left_out else []
    exact, rest = _by_name(reached, nodes, state, settings)
    yield from _report(state["round"], nodes)
    calls = yield from _calls(rest, nodes, settings)
    return {
        "phase": "nodes",
        "reached": reached,
        "labels": nodes.labels,
        "calls_to_make": calls,
        "mapped": Overwrite(exact),
        "offers": [],
        "notes": [*state["notes"], *notes],
    }


def _walks(state: Mapping[str, Any], settings: FiskeSettings) -> list[_Walk]:
    offers = {(offer["group"], option_id(offer["relation"], offer["direction"])): offer for offer in state["offers"]}
    mapped = mapped_by_group(state)
    walks = []
    for branch in live(state):
        group = group_of(branch, state, settings)
        mine = set(offered(branch, state, settings))
        here = [(offers[group, option], mine.intersection(clues)) for option, clues in mapped.get(group, {}).items()]
        # A statement that holds both ways is told from where the search came.
        here.sort(key=lambda entry: entry[0]["direction"] == "in")
        walks += [(branch, offer, sorted(clues)) for offer, clues in here if clues]
    return walks


def _place(walk: _Walk) -> tuple[str, str]:
    branch, offer, _ = walk
    return branch["entity"], option_id(offer["relation"], offer["direction"])


def _step(walk: _Walk) -> Step:
    branch, offer, _ = walk
    return Step(entity=branch["entity"], relation=offer["relation"], direction=offer["direction"])


def _limit(walks: Sequence[_Walk], room: int) -> int:
    """Triples to fetch of each step: all, unless they are more than there is room for."""
    offers = {(offer["group"], option_id(offer["relation"], offer["direction"])): offer for _, offer, _ in walks}
    if sum(offer["count"] for offer in offers.values()) <= room:
        return max(room, 1)
    # Small steps whole: what they leave of their share goes to the large ones.
    left, steps = room, sum(offer["entities"] for offer in offers.values())
    for offer in sorted(offers.values(), key=lambda offer: offer["count"] / max(1, offer["entities"])):
        share = left // max(1, steps)
        if offer["count"] > share * offer["entities"]:
            return max(1, share)
        left, steps = left - offer["count"], steps - offer["entities"]
    return max(room, 1)


def _reached(
    walks: Sequence[_Walk],
    found: Mapping[tuple[str, str], Neighbours],
    nodes: _Nodes,
    room: int,
    state: Mapping[str, Any],
    settings: FiskeSettings,
) -> tuple[list[Reach], int]:
    """What each step reaches, and how many triples the cap left out.

    No path goes on through an entity that it has passed. An answer may be one ("who wrote the films of their director"), but
    never the starting point.
    """
    reached: list[Reach] = []
    starts = {branch["entity"] for branch in state["branches"].values() if not branch["round"]}
    left_out = 0
    for branch, offer, clues in walks:
        place = (branch["entity"], option_id(offer["relation"], offer["direction"]))
        tails = found.get(place)
        if tails is None:
            left_out += offer["count"]
            continue
        ends = [(other_end(triple, branch["entity"]), triple) for triple in tails["triples"]]
        last = answers_all(branch, clues, state["clues"], settings)
        passed = branch["on_path"]
        if last:
            passed = [] if settings.start_answers else sorted(starts.intersection(passed))
        # A loop is no way back: the capital of Gibraltar is Gibraltar.
        forward = [(end, triple) for end, triple in ends if end not in passed or triple["subject"] == triple["object"]]
        total = tails["total"] - (len(ends) - len(forward))
        kept = forward[: max(room, 0)]
        room -= len(kept)
        left_out += total - len(kept)
        if not kept:
            continue
        group = group_of(branch, state, settings)
        for end, triple in kept:
            nodes.labels[end] = triple["object_label"] if offer["direction"] == "out" else triple["subject_label"]
            nodes.ways[group][end].append(triple)
        reached.append(
            Reach(
                branch=branch["id"],
                group=group,
                relation=offer["relation"],
                label=offer["label"],
                direction=offer["direction"],
                clues=clues,
                total=total,
                nodes=[end for end, _ in kept],
                triples=[triple["id"] for _, triple in kept],
            )
        )
    return reached, left_out


def by_relations(reached: Sequence[Reach], settings: FiskeSettings) -> dict[tuple[str, str], set[int]]:
    """For each branch and node, the clues mapped to the relations by which the branch reaches the node (`meant_step`)."""
    found: dict[tuple[str, str], set[int]] = defaultdict(set)
    for step in reached if settings.meant_step else ():
        for node in step["nodes"]:
            found[step["branch"], node].update(step["clues"])
    return found


def told_by(step: Reach, node: str, found: Sequence[int], known: Mapping[tuple[str, str], set[int]]) -> list[int]:
    """The clues that a node maps on this step: not one that another relation to the same node stands for.

    A film that somebody both directed and wrote meets the clue "directed by" as what was directed, not as what was written.
    """
    return [clue for clue in found if clue in step["clues"] or clue not in known.get((step["branch"], node), ())]


def answers_all(branch: Branch, mapped: Sequence[int], clues: Sequence[str], settings: FiskeSettings) -> bool:
    """The multi-answer rule: one clue is left and the relation maps it, so that every node it reaches is an answer.

    It reads the record of mapped clues, as the ending flag does, also where mapping calls do not (`stateful` off).
    """
    if not settings.multi_answer or len(branch["remaining"]) != 1:
        return False
    return branch["remaining"][0] in marked(clues, mapped, branch["explored"]).values()


def _by_name(
    reached: Sequence[Reach], nodes: _Nodes, state: Mapping[str, Any], settings: FiskeSettings
) -> tuple[dict[str, Mapped], list[_Rest]]:
    """Nodes that are a clue by name, and for each group the clues and nodes that are left for the model.

    A clue that is a node's name is settled for its branch, and the node for all clues. Where a branch is complete already
    and the ending flag will stop the others, nodes are offered only if a reply about them can complete one too.
    """
    branches: Mapping[str, Branch] = state["branches"]
    clues: Sequence[str] = state["clues"]
    names = {number: normal_name(text) for number, text in enumerate(clues, start=1)}
    same = {number: set(state["matches"].get(str(number), ())) for number in names}
    exact: dict[str, dict[tuple[int, str], None]] = defaultdict(dict)
    by_step: list[dict[str, list[int]]] = []
    settled: dict[str, set[int]] = defaultdict(set)
    complete = False
    known = by_relations(reached, settings)
    for step in reached:
        branch = branches[step["branch"]]
        here: dict[str, list[int]] = {}
        for node in step["nodes"] if settings.exact_names else ():
            label = normal_name(nodes.labels[node])
            found = [n for n in offered(branch, state, settings) if node in same[n] or names[n] == label]
            if found:
                # "Album" settles nothing for "album", which may be a kind of thing: only what is written as a name does.
                meant = [n for n in found if _is_name(clues[n - 1])]
                if meant:
                    here[node] = found
                    settled[step["branch"]].update(meant)
                exact[step["group"]].update(dict.fromkeys((number, node) for number in found))
                both = [*step["clues"], *told_by(step, node, found, known)]
                marks = marked(clues, both, branch["explored"]).values()
                complete = complete or not set(branch["remaining"]) - set(marks)
        by_step.append(here)
        complete = complete or answers_all(branch, step["clues"], clues, settings)
    only_complete = complete and settings.ending_flag and settings.stateful
    open_clues: dict[str, set[int]] = defaultdict(set)
    open_nodes: dict[str, dict[str, None]] = defaultdict(dict)
    for step, here in zip(reached, by_step, strict=True):
        branch = branches[step["branch"]]
        if answers_all(branch, step["clues"], clues, settings):
            continue
        rest = set(offered(branch, state, settings)) - settled[step["branch"]]
        by_relation = marked(clues, step["clues"], branch["explored"]).values()
        if not rest or (only_complete and not set(branch["remaining"]) <= {*rest, *by_relation}):
            continue
        open_clues[step["group"]] |= rest
        open_nodes[step["group"]].update(dict.fromkeys(node for node in step["nodes"] if node not in here))
    taken = {
        group: Mapped(group=group, pairs=[Pair(clue=number, option=node) for number, node in pairs])
        for group, pairs in exact.items()
    }
    return taken, [(group, sorted(open_clues[group]), list(ids)) for group, ids in open_nodes.items() if ids]


def _is_name(clue: str) -> bool:
    """Whether a clue is written as a name is: with a capital, or in a script that has none."""
    return any(letter.isupper() for letter in clue) or not any(letter.islower() for letter in clue)


def _calls(rest: Sequence[_Rest], nodes: _Nodes, settings: FiskeSettings) -> Flow[list[MappingCall]]:
    """The calls for what names leave open. A node's type is told too, for a clue may be a kind of thing ("country")."""
    every = list(dict.fromkeys(node for *_, ids in rest for node in ids))
    known = (yield from requests.entities(every)) if settings.node_types else []
    types = {entity["id"]: entity["type"] for entity in known if entity and not entity["literal"]}
    calls: list[MappingCall] = []
    for group, clues, ids in rest:
        options = [
            Option(id=node, line=_line(node, nodes.labels[node], types.get(node, ""), nodes.ways[group][node]))
            for node in ids
        ]
        calls += chunked(group, clues, options, settings)
    return calls


def _line(node: str, label: str, kind: str, ways: Sequence[Triple]) -> str:
    """The node with its type and what led to it, one statement of each relation:
    `Bangui -- city; Central African Republic capital Bangui`.
    """
    by_relation: dict[str, Triple] = {}
    for triple in ways:
        known = by_relation.setdefault(triple["relation"], triple)
        # What holds both ways (borders) is said once, read from where the search came.
        if known["subject"] == node:
            by_relation[triple["relation"]] = triple
    told = [triple_sentence(triple) for triple in by_relation.values()][:_TOLD]
    about = "; ".join([kind, *told] if kind else told) + (
        f"; and {len(by_relation) - _TOLD} more" if len(by_relation) > _TOLD else ""
    )
    return entity_line(Entity(id=node, label=label, type="", description=about, literal=False))


def _report(number: int, nodes: _Nodes) -> Flow[None]:
    triples = {triple["id"]: triple for ways in nodes.ways.values() for found in ways.values() for triple in found}
    yield from requests.emit(
        Retrieved(
            type="retrieved",
            round=number,
            entities=len(nodes.labels),
            triples=len(triples),
            passages=0,
            ranked=0,
            best=[triple_sentence(triple) for triple in list(triples.values())[:5]],
        )
    )
