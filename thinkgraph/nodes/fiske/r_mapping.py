"""Relation-based mapping (FiSKE section 3.4): which remaining clues do the relations of the branches' entities map?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.fiske.mapping import map_chunk
from thinkgraph.state.fiske import CluePair, FiskeSettings, MappingTask, OfferedRelation
from thinkgraph.tools.linking.names import normal_name

_MOST_RELATIONS = 3
"""Most relations that a small model is asked for: where it may list more, it lists nearly all (benchmarks/results/prompts.md)."""


def r_mapping(state: MappingTask, settings: FiskeSettings) -> Flow[Update]:
    """Map clues to the relations of one chunk: one model call. The state is the payload of one Send."""
    return (yield from map_chunk("fiske.r_mapping", state, settings, most=_MOST_RELATIONS))


def named_relations(clues: Mapping[int, str], relations: Mapping[str, OfferedRelation]) -> list[CluePair]:
    """The pairs of a clue and a relation that have the same name."""
    names = {number: normal_name(text) for number, text in clues.items()}
    return [
        CluePair(clue=number, option=option)
        for option, relation in relations.items()
        for number, name in names.items()
        if name in {normal_name(relation["label"]), normal_name(relation["name"])}
    ]


def unnamed(
    clues: Sequence[int], pairs: Sequence[CluePair], options: Mapping[str, Sequence[str]]
) -> tuple[list[int], set[str]]:
    """The clues and relations that exact names leave for the model.

    A clue that names a relation of one branch is settled there. It may still map another relation elsewhere. Both are empty
    where nothing is left to ask.

    Args:
        clues: the clues that the group is offered.
        pairs: those with the same name.
        options: branch to the relations that it is offered.
    """
    named: dict[str, set[int]] = defaultdict(set)
    for pair in pairs:
        named[pair["option"]].add(pair["clue"])
    open_clues: set[int] = set()
    open_options: set[str] = set()
    for here in options.values():
        settled = {number for option in here for number in named.get(option, ())}
        rest = [option for option in here if option not in named]
        if rest and len(settled) < len(clues):
            open_clues.update(number for number in clues if number not in settled)
            open_options.update(rest)
    return sorted(open_clues), open_options
