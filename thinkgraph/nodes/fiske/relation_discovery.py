"""A round begins (FiSKE section 3.4): the relations of the live branches' entities, and the r-mapping calls about them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from langgraph.types import Overwrite

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.fiske.mapping import chunked, group_of, live, offered, option_id
from thinkgraph.nodes.fiske.r_mapping import named_relations, unnamed
from thinkgraph.prompts.lines import relation_line, safe_label
from thinkgraph.runtime import requests
from thinkgraph.state.fiske import Branch, FiskeSettings, FiskeState, Mapped, MappingCall, OfferedRelation, Option
from thinkgraph.state.knowledge import Relation
from thinkgraph.tools.linking.names import is_name


def relation_discovery(state: FiskeState, settings: FiskeSettings) -> Flow[Update]:
    """Read the relations of all live branches in one round trip, take exact names, and prepare calls for the others."""
    branches = live(state)
    entities = list(dict.fromkeys(branch["entity"] for branch in branches))
    edges = dict(zip(entities, (yield from requests.relations(entities)), strict=True))
    groups: dict[str, list[Branch]] = defaultdict(list)
    for branch in branches:
        groups[group_of(branch, state, settings)].append(branch)
    relations = {group: _distinct(members, edges) for group, members in groups.items()}
    clues = {
        group: sorted({number for branch in members for number in offered(branch, state, settings)})
        for group, members in groups.items()
    }
    exact: dict[str, Mapped] = {}
    for group in groups if settings.exact_names else ():
        texts = {number: state["clues"][number - 1] for number in clues[group]}
        if pairs := named_relations(texts, relations[group]):
            exact[group] = Mapped(group=group, pairs=pairs)
    named = {*state["named"], *(pair["clue"] for one in exact.values() for pair in one["pairs"])}
    settled = _settled(named, state, settings)
    calls: list[MappingCall] = []
    for group, members in groups.items():
        labels = {branch["entity"]: branch["label"] for branch in members}
        here = {branch["id"]: list(_open(branch, edges)) for branch in members}
        pairs = exact[group]["pairs"] if group in exact else []
        # A clue that names a relation here tells the way without a call. Other relations are asked about only if it led nowhere.
        asked = [] if settled and pairs else [number for number in clues[group] if number not in settled]
        open_clues, open_options = unnamed(asked, pairs, here)
        options = [
            Option(id=option, line=_line(offer, labels[offer["entity"]]))
            for option, offer in relations[group].items()
            if option in open_options
        ]
        calls += chunked(group, open_clues, options, settings.chunk, state["backtracked"])
    return {
        "round": state["round"] + 1,
        "relations": relations,
        "named": sorted(named),
        "calls_to_make": calls,
        "mapped": Overwrite(exact),
    }


def _settled(named: Collection[int], state: FiskeState, settings: FiskeSettings) -> set[int]:
    """The clues that are names of relations met so far or of entities. Empty if none is a relation's name, if the search has gone back, or
    if it cannot go back.
    """
    if not named or not settings.backtracks or state["backtracked"]:
        return set()
    entities = (int(number) for number in state["matches"] if is_name(state["clues"][int(number) - 1]))
    return {*named, *entities}


def _distinct(members: Sequence[Branch], edges: Mapping[str, Sequence[Relation]]) -> dict[str, OfferedRelation]:
    """The distinct relations of a group's entities by option id."""
    found: dict[str, OfferedRelation] = {}
    here = {(branch["entity"], option): edge for branch in members for option, edge in _open(branch, edges).items()}
    for (_, option), edge in here.items():
        if option in found:
            found[option]["count"] += edge["count"]
            found[option]["entities"] += 1
        else:
            found[option] = OfferedRelation(**edge, entities=1)
    return found


def _open(branch: Branch, edges: Mapping[str, Sequence[Relation]]) -> dict[str, Relation]:
    """The relations at a branch that it has not walked, by option id."""
    near = {option_id(edge["name"], edge["direction"]): edge for edge in edges[branch["entity"]]}
    return {option: edge for option, edge in near.items() if option not in branch["walked"]}


def _line(offer: OfferedRelation, first: str) -> str:
    """The relation at its entity; where several entities have it, at the first "and so many more"."""
    label = f"{safe_label(first)} and {offer['entities'] - 1} more" if offer["entities"] > 1 else first
    return relation_line(offer, label)
