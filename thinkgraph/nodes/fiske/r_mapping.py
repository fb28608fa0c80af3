"""Relation-based mapping (FiSKE section 3.4, first step of a round): which remaining clues do the relations map?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.types import Overwrite

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.fiske.mapping import chunked, group_of, live, offered
from thinkgraph.prompts.lines import relation_line, safe_label
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.fiske import Branch, FiskeSettings, Mapped, MappingCall, Offer, Option, Pair
from thinkgraph.state.knowledge import Relation
from thinkgraph.tools.linking.names import normal_name


def option_id(relation: str, direction: str) -> str:
    """A relation and its direction as one id."""
    return f"{direction}|{relation}"


def open_round(state: Mapping[str, Any], settings: FiskeSettings) -> Flow[Update]:
    """Start a round, if one is to come: the relations of all live branches' entities in one round trip, what exact names
    map, and the calls that map the rest.
    """
    branches = live(state)
    if state["phase"] == "nodes":
        # Replies of the open round are still to come.
        return {}
    if state["stopped"] or not branches:
        return {"phase": "done"}
    found = yield from requests.relations(list(dict.fromkeys(branch["entity"] for branch in branches)))
    edges = {entity[0]["entity"]: entity for entity in found if entity}
    groups: dict[str, list[Branch]] = defaultdict(list)
    for branch in branches:
        groups[group_of(branch, state, settings)].append(branch)
    offers: list[Offer] = []
    calls: list[MappingCall] = []
    exact: dict[str, Mapped] = {}
    for group, members in groups.items():
        clues = sorted({number for branch in members for number in offered(branch, state, settings)})
        distinct, examples = _distinct(group, members, edges)
        offers += distinct.values()
        pairs, open_clues, open_options = _by_name(clues, members, edges, distinct, state, settings)
        if pairs:
            exact[group] = Mapped(group=group, pairs=pairs)
        options = [Option(id=key, line=_line(distinct[key], examples[key])) for key in distinct if key in open_options]
        calls += chunked(group, open_clues, options, settings)
    return {
        "round": state["round"] + 1,
        "phase": "relations",
        "offers": offers,
        "calls_to_make": calls,
        "mapped": Overwrite(exact),
    }


def _distinct(
    group: str, members: Sequence[Branch], edges: Mapping[str, Sequence[Relation]]
) -> tuple[dict[str, Offer], dict[str, str]]:
    """The distinct relations of a group's entities, and the label of the first entity that has each."""
    found: dict[str, Offer] = {}
    examples: dict[str, str] = {}
    seen: set[str] = set()
    for branch in members:
        if branch["entity"] in seen:
            continue
        seen.add(branch["entity"])
        for edge in edges.get(branch["entity"], ()):
            key = option_id(edge["name"], edge["direction"])
            known = found.get(key)
            if known is None:
                examples[key] = branch["label"]
                found[key] = Offer(
                    group=group,
                    relation=edge["name"],
                    label=edge["label"],
                    direction=edge["direction"],
                    count=edge["count"],
                    entities=1,
                )
            else:
                known["count"] += edge["count"]
                known["entities"] += 1
    return found, examples


def _line(offer: Offer, example: str) -> str:
    """The relation at its entity; where several entities have it, at the first of them "and so many more"."""
    label = f"{safe_label(example)} and {offer['entities'] - 1} more" if offer["entities"] > 1 else example
    edge = Relation(
        entity="", name=offer["relation"], label=offer["label"], direction=offer["direction"], count=offer["count"]
    )
    return relation_line(edge, label)


def _by_name(
    clues: Sequence[int],
    members: Sequence[Branch],
    edges: Mapping[str, Sequence[Relation]],
    distinct: Mapping[str, Offer],
    state: Mapping[str, Any],
    settings: FiskeSettings,
) -> tuple[list[Pair], list[int], set[str]]:
    """Pairs whose names are equal; the clues and the relations that are left for the model, if both are.

    A clue that is a relation's name at some entity is settled there and may still map another relation elsewhere.
    """
    names = {number: normal_name(state["clues"][number - 1]) for number in clues}
    pairs: list[Pair] = []
    if settings.exact_names:
        pairs = [
            Pair(clue=number, option=key)
            for key, offer in distinct.items()
            for number, name in names.items()
            if name in {normal_name(offer["label"]), normal_name(offer["relation"])}
        ]
    by_option: dict[str, set[int]] = defaultdict(set)
    for pair in pairs:
        by_option[pair["option"]].add(pair["clue"])
    open_clues: set[int] = set()
    open_options: set[str] = set()
    for entity in {branch["entity"] for branch in members}:
        here = [option_id(edge["name"], edge["direction"]) for edge in edges.get(entity, ())]
        settled = {number for key in here for number in by_option.get(key, ())}
        rest = [key for key in here if key not in by_option]
        if rest and len(settled) < len(names):
            open_clues |= names.keys() - settled
            open_options.update(rest)
    return pairs, [number for number in clues if number in open_clues], open_options
