"""Entity-based mapping (FiSKE section 3.4): which remaining clues do the nodes reached map?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.fiske.mapping import map_chunk, marked, offered, unasked
from thinkgraph.state.fiske import CluePair, Expansion, FiskeSettings, FiskeState, Mapped, MappingTask
from thinkgraph.tools.linking.names import is_name, normal_name

_MOST_NODES = 10
"""Most nodes that the encoder chooses: it costs nothing to keep a few more than the question needs (benchmarks/results/prompts.md)."""


def e_mapping(state: MappingTask, settings: FiskeSettings) -> Flow[Update]:
    """Map clues to the nodes of one chunk: one model call. The state is the payload of one Send."""
    return (yield from map_chunk("fiske.e_mapping", state, settings, most=_MOST_NODES))


def clues_on_path(expansions: Sequence[Expansion], settings: FiskeSettings) -> dict[tuple[str, str], set[int]]:
    """For each branch and node, the clues mapped to the relations that lead from one to the other (`meant_step`)."""
    found: dict[tuple[str, str], set[int]] = defaultdict(set)
    for expansion in expansions if settings.meant_step else ():
        for node in expansion["nodes"]:
            found[expansion["branch"], node].update(expansion["clues"])
    return found


def meant_here(
    expansion: Expansion,
    node: str,
    found: Sequence[int],
    on_path: Mapping[tuple[str, str], set[int]],
    named: Collection[int],
) -> list[int]:
    """The clues that a node maps on this relation.

    A clue that belongs to another relation is left out: that relation leads to the same node and maps the clue, or the clue is its name.
    A film that somebody directed and wrote maps the clue "directed by" as what was directed, not as what was written. `named` are
    the clues that are names of relations: a film does not map "has genre", its relation does.
    """
    other = on_path.get((expansion["branch"], node), set()).union(named).difference(expansion["clues"])
    return [clue for clue in found if clue not in other]


@dataclass
class NamedNodes:
    """The nodes that have the same name as a clue."""

    pairs: dict[str, dict[tuple[int, str], None]] = field(default_factory=lambda: defaultdict(dict))
    """By group, (clue, node)."""
    nodes: list[set[str]] = field(default_factory=list)
    """For each expansion, the nodes that need no call."""
    settled: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """By branch, the clues that need no call."""
    complete: bool = False
    """Whether some branch has mapped every clue without a call."""

    @property
    def mapped(self) -> dict[str, Mapped]:
        """The pairs by group."""
        return {
            group: Mapped(group=group, pairs=[CluePair(clue=number, option=node) for number, node in pairs])
            for group, pairs in self.pairs.items()
            if pairs
        }


def named_nodes(
    expansions: Sequence[Expansion], labels: Mapping[str, str], state: FiskeState, settings: FiskeSettings
) -> NamedNodes:
    """Map clues to the nodes whose name or alias they are. The clue is then settled for its branch, and the node for all."""
    clues = state["clues"]
    names = {number: normal_name(text) for number, text in enumerate(clues, start=1)}
    matches = {number: set(state["matches"].get(str(number), ())) for number in names}
    on_path = clues_on_path(expansions, settings)
    named = NamedNodes()
    for expansion in expansions:
        branch = state["branches"][expansion["branch"]]
        numbers = offered(branch, state, settings)
        named.nodes.append(set())
        for node in expansion["nodes"] if settings.exact_names else ():
            label = normal_name(labels[node])
            found = [number for number in numbers if node in matches[number] or names[number] == label]
            # "Album" does not settle "album", which may be a kind of thing.
            if sure := [number for number in found if is_name(clues[number - 1])]:
                named.nodes[-1].add(node)
                named.settled[branch["id"]].update(sure)
            named.pairs[expansion["group"]].update(dict.fromkeys((number, node) for number in found))
            mapped = [*expansion["clues"], *meant_here(expansion, node, found, on_path, ())]
            marks = marked(clues, mapped, branch["explored"]).values()
            named.complete |= bool(found) and not set(branch["remaining"]) - set(marks)
        named.complete |= unasked(branch, expansion["clues"], clues, settings)
    return named


def unnamed_nodes(
    expansions: Sequence[Expansion], named: NamedNodes, state: FiskeState, settings: FiskeSettings
) -> dict[str, tuple[list[int], list[str]]]:
    """For each group, the clues and nodes that exact names leave for the model.

    Where a branch is complete and the ending flag will stop the others, only nodes that can complete one too are offered.
    """
    only_complete = named.complete and settings.ending_flag and settings.stateful
    clues: dict[str, set[int]] = defaultdict(set)
    nodes: dict[str, dict[str, None]] = defaultdict(dict)
    for expansion, taken in zip(expansions, named.nodes, strict=True):
        branch, group = state["branches"][expansion["branch"]], expansion["group"]
        if unasked(branch, expansion["clues"], state["clues"], settings):
            continue
        rest = set(offered(branch, state, settings)) - named.settled[branch["id"]]
        by_relation = marked(state["clues"], expansion["clues"], branch["explored"]).values()
        if not rest or (only_complete and not set(branch["remaining"]) <= {*rest, *by_relation}):
            continue
        clues[group] |= rest
        nodes[group].update(dict.fromkeys(node for node in expansion["nodes"] if node not in taken))
    return {group: (sorted(clues[group]), list(ids)) for group, ids in nodes.items() if ids}
