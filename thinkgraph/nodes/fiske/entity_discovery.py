"""The nodes behind the mapped relations (FiSKE section 3.4), and the e-mapping calls about them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from langgraph.types import Overwrite

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.reports import EXAMPLES, retrieved
from thinkgraph.nodes.fiske.e_mapping import named_nodes, unnamed_nodes
from thinkgraph.nodes.fiske.mapping import chunked, clues_by_option, completes_alone, group_of, live, offered
from thinkgraph.prompts.communities import Place
from thinkgraph.prompts.lines import described, triple_sentence
from thinkgraph.runtime import requests
from thinkgraph.state.fiske import Branch, Expansion, FiskeSettings, FiskeState, MappingCall, OfferedRelation, Option
from thinkgraph.state.knowledge import Neighbours, Step, Triple, other_end

_MAX_STATEMENTS = 4
"""Most statements about one node in a mapping call."""


class _Walk(NamedTuple):
    """A branch at a relation that maps clues."""

    branch: Branch
    group: str
    relation: OfferedRelation
    clues: list[int]

    @property
    def place(self) -> Place:
        return self.branch["entity"], self.relation["name"], self.relation["direction"]


_ByNode = Mapping[str, Mapping[str, Sequence[Triple]]]
"""Node and group to the triples that reach it."""


def entity_discovery(state: FiskeState, settings: FiskeSettings) -> Flow[Update]:
    """Fetch the nodes in one round trip, take exact names, and prepare calls for the others."""
    if state["stopped"]:
        return {}
    walks = _walks(state, settings)
    room = settings.candidates - sum(len(branch["arrivals"]) for branch in state["branches"].values())
    places = list(dict.fromkeys(walk.place for walk in walks)) if room > 0 else []
    steps = [Step(entity=entity, relation=relation, direction=direction) for entity, relation, direction in places]
    fetched = yield from requests.neighbours(steps, limit=_limit(walks, room), seed=settings.seed)
    found = dict(zip(places, fetched, strict=True))
    expansions, left_out = _expansions(walks, found, room, state, settings)
    triples = {triple["id"]: triple for near in fetched for triple in near["triples"]}
    labels: dict[str, str] = {}
    by_node: dict[str, dict[str, list[Triple]]] = defaultdict(lambda: defaultdict(list))
    for expansion in expansions:
        for node, key in zip(expansion["nodes"], expansion["triples"], strict=True):
            triple = triples[key]
            labels[node] = triple["object_label"] if expansion["direction"] == "out" else triple["subject_label"]
            by_node[node][expansion["group"]].append(triple)
    named = named_nodes(expansions, labels, state, settings)
    walked = dict.fromkeys(key for expansion in expansions for key in expansion["triples"])
    best = [triple_sentence(triples[key]) for key in list(walked)[:EXAMPLES]]
    yield from retrieved(state["round"], best, entities=len(labels), triples=len(walked))
    rest = unnamed_nodes(expansions, named, state, settings)
    notes = [f"round {state['round']}: {left_out} triples were not walked (candidate cap)"] if left_out else []
    if unasked := sum(len(nodes[settings.node_cap :]) for _, nodes in rest.values() if settings.node_cap):
        notes.append(f"round {state['round']}: {unasked} nodes were not asked about (node_cap)")
        rest = {group: (clues, nodes[: settings.node_cap]) for group, (clues, nodes) in rest.items()}
    return {
        "relations": {},
        "expansions": expansions,
        "labels": labels,
        "calls_to_make": (yield from _calls(rest, labels, by_node, state, settings)),
        "mapped": Overwrite(named.mapped),
        "notes": [*state["notes"], *notes],
    }


def _starts(state: FiskeState) -> set[str]:
    """The entities that the search started from."""
    return {branch["entity"] for branch in state["branches"].values() if not branch["round"]}


def _walks(state: FiskeState, settings: FiskeSettings) -> list[_Walk]:
    mapped = clues_by_option(state)
    walks: list[_Walk] = []
    for branch in live(state):
        group = group_of(branch, state, settings)
        mine = set(offered(branch, state, settings))
        here = [
            _Walk(branch, group, state["relations"][group][option], sorted(mine.intersection(clues)))
            for option, clues in mapped.get(group, {}).items()
            if option not in branch["walked"]
        ]
        # A statement that holds both ways is told in the direction of the search.
        here.sort(key=lambda walk: walk.relation["direction"] == "in")
        walks += [walk for walk in here if walk.clues]
    return walks


def _limit(walks: Sequence[_Walk], room: int) -> int:
    """Most triples to fetch of each step, so that all together fit the room."""
    relations = {(walk.group, *walk.place[1:]): walk.relation for walk in walks}.values()
    if sum(relation["count"] for relation in relations) <= room:
        return max(room, 1)
    # Small steps are fetched whole; the large ones divide what they leave.
    left, steps = room, sum(relation["entities"] for relation in relations)
    for relation in sorted(relations, key=lambda one: one["count"] / max(1, one["entities"])):
        share = left // max(1, steps)
        if relation["count"] > share * relation["entities"]:
            return max(1, share)
        left, steps = left - relation["count"], steps - relation["entities"]
    return max(room, 1)


def _expansions(
    walks: Sequence[_Walk], found: Mapping[Place, Neighbours], room: int, state: FiskeState, settings: FiskeSettings
) -> tuple[list[Expansion], int]:
    """What each walk reaches, and how many triples the candidate cap left out.

    Without `revisits`, no path returns to an entity that it has passed. An answer may be such an entity ("who wrote the films of their
    director"), but not the starting point, unless `start_answers` allows it.
    """
    expansions: list[Expansion] = []
    starts = _starts(state)
    left_out = 0
    for walk in walks:
        near = found.get(walk.place)
        if near is None:
            left_out += walk.relation["count"]
            continue
        branch = walk.branch
        passed = set() if settings.revisits else set(branch["on_path"])
        if completes_alone(branch, walk.clues, state["clues"], settings):
            passed = set() if settings.start_answers else set(branch["on_path"]) & starts
        ends = [(other_end(triple, branch["entity"]), triple) for triple in near["triples"]]
        # A loop does not return: the capital of Gibraltar is Gibraltar.
        forward = [(end, triple) for end, triple in ends if end not in passed or triple["subject"] == triple["object"]]
        total = near["total"] - (len(ends) - len(forward))
        kept = forward[: max(room, 0)]
        room -= len(kept)
        left_out += total - len(kept)
        if kept:
            expansions.append(
                Expansion(
                    branch=branch["id"],
                    group=walk.group,
                    relation=walk.relation["name"],
                    label=walk.relation["label"],
                    direction=walk.relation["direction"],
                    clues=walk.clues,
                    total=total,
                    nodes=[end for end, _ in kept],
                    triples=[triple["id"] for _, triple in kept],
                )
            )
    return expansions, left_out


def _calls(
    rest: Mapping[str, tuple[Sequence[int], Sequence[str]]],
    labels: Mapping[str, str],
    by_node: _ByNode,
    state: FiskeState,
    settings: FiskeSettings,
) -> Flow[list[MappingCall]]:
    """The calls for what names leave open. Lines tell a node's type, for a clue may be a kind of thing ("country")."""
    every = list(dict.fromkeys(node for _, nodes in rest.values() for node in nodes))
    known = (yield from requests.entities(every)) if settings.node_types else []
    types = {entity["id"]: entity["type"] for entity in known if entity and not entity["literal"]}
    starts = _starts(state)
    calls: list[MappingCall] = []
    for group, (clues, nodes) in rest.items():
        options = [
            Option(
                id=node,
                line=_line(
                    labels[node],
                    types.get(node, ""),
                    _reaching(node, group, by_node, starts, apart=settings.per_branch),
                ),
            )
            for node in nodes
        ]
        calls += chunked(group, clues, options, settings.chunk, state["backtracked"])
    return calls


def _reaching(node: str, group: str, by_node: _ByNode, starts: Collection[str], *, apart: bool) -> list[Triple]:
    """The triples that lead to a node: first those that the group itself walked, then those of the others, unless branches are asked about `apart`.

    Where branches meet, the statements of all describe the node. One triple for each group and relation is enough, and one more for each
    of the `starts`.
    """
    groups = [group, *(other for other in by_node[node] if other != group and not apart)]
    reaching: dict[tuple[str, str, str], Triple] = {}
    for one in groups:
        for triple in by_node[node][one]:
            source = other_end(triple, node)
            key = (one, triple["relation"], source if source in starts else "")
            # What holds both ways (borders) is stated once, in the direction of the search.
            if key not in reaching or reaching[key]["subject"] == node:
                reaching[key] = triple
    return list({triple["id"]: triple for triple in reaching.values()}.values())


def _line(label: str, kind: str, triples: Sequence[Triple]) -> str:
    """The node with its type and the statements that lead to it: `Bangui -- city; Central African Republic capital Bangui`."""
    statements = [triple_sentence(triple) for triple in triples]
    more = len(statements) - _MAX_STATEMENTS
    about = [*([kind] if kind else []), *statements[:_MAX_STATEMENTS], *([f"and {more} more"] if more > 0 else [])]
    return described(label, "; ".join(about))
