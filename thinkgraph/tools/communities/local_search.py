"""Local community search, the part without I/O (FastToG, section "Local Community Search").

The statements that a store returns become a local graph. A detector partitions it into cells. The cells next to the current community
become candidates, and the coarse prune keeps some of them. Everything is a function of its arguments and a seed.
"""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from thinkgraph.state.knowledge import Triple, both_ends
from thinkgraph.tools.communities.detectors import Cells, Links, modularity

CoarsePrune = Literal["fair", "modularity", "random", "off"]


def membership(nodes: Iterable[str]) -> str:
    """The id of a community, in the history too: a digest of its nodes, whatever their order."""
    return "c" + hashlib.sha256("\n".join(sorted(nodes)).encode("utf-8", "replace")).hexdigest()[:16]


def draw(seed: int, *parts: str) -> float:
    """A number in [0, 1) that depends on nothing but its arguments."""
    digest = hashlib.sha256("\0".join([str(seed), *parts]).encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


@dataclass
class Local:
    """The surroundings of one community as they are sampled, hop by hop."""

    centre: tuple[str, ...]
    """Ids of the nodes of the current community c."""
    literals: set[str] = field(default_factory=set)
    """Nodes known to be literal values. No hop starts from them."""
    nodes: dict[str, None] = field(default_factory=dict)
    """Every node kept, the centre first, in the order found."""
    triples: dict[str, Triple] = field(default_factory=dict)
    frontier: list[str] = field(default_factory=list)
    """The nodes the next hop starts from."""

    def __post_init__(self) -> None:
        self.nodes = dict.fromkeys(self.centre)
        self.frontier = [node for node in self.centre if node not in self.literals]

    def take(self, triples: Iterable[Triple], *, share: float, most: int | None, seed: int) -> None:
        """One hop: of the new nodes that these triples reach, keep each with probability `share` (ρ^(h−1)), at most `most` of them.

        The draw of a node depends on the seed, the centre and the node alone, so a larger cap only ever adds nodes.
        """
        where = membership(self.centre)
        luck: dict[str, float] = {}
        for triple in triples:
            if triple["literal"]:
                self.literals.add(triple["object"])
            self.triples[triple["id"]] = triple
            for node in both_ends(triple):
                if node not in self.nodes and node not in luck:
                    luck[node] = draw(seed, where, node)
        lucky = sorted((node for node in luck if luck[node] < share), key=lambda node: (luck[node], node))
        best = set(lucky[:most])
        kept = [node for node in luck if node in best]
        self.nodes.update(dict.fromkeys(kept))
        self.frontier = [node for node in kept if node not in self.literals]

    def room(self, most: int | None) -> int | None:
        """How many more nodes fit under a cap on all but the centre; None: any number."""
        return None if most is None else max(0, most + len(self.centre) - len(self.nodes))


@dataclass(frozen=True)
class Cell:
    """A candidate community: the nodes of one cell, without those of the current community."""

    nodes: tuple[str, ...]
    triples: tuple[Triple, ...]
    """Those among its nodes."""
    joining: tuple[Triple, ...]
    """Those that join it to the chain so far."""
    modularity: float

    @property
    def id(self) -> str:
        """See `membership`."""
        return membership(self.nodes)


class LocalGraph:
    """The subgraph that the kept nodes induce."""

    def __init__(self, local: Local, triples: Iterable[Triple], chain: Collection[str] = ()) -> None:
        """Keep what lies among the nodes.

        Args:
            local: the nodes, and the triples met on the way.
            triples: the induced edges, as the store gives them (they may reach beyond this graph).
            chain: nodes of the chain so far, beside the centre: what joins a cell to any of them belongs to its text.
        """
        self.centre = local.centre
        self.nodes = list(local.nodes)
        self._before = {*local.centre, *chain}
        within = self._before.union(self.nodes)
        every = {**local.triples, **{triple["id"]: triple for triple in triples}}
        self.triples = [triple for triple in every.values() if within.issuperset(both_ends(triple))]
        place = {node: at for at, node in enumerate(self.nodes)}
        ends = map(both_ends, self.triples)
        self.links = Links.of(len(self.nodes), [(place[a], place[b]) for a, b in ends if a in place and b in place])
        self._place = place

    def candidates(self, cells: Cells, *, known: Collection[str] = ()) -> list[Cell]:
        """The cells next to the centre, of a partition of `links`, without the centre's nodes, by their first node.

        `known` are the ids of the triples that the chain states already.
        """
        centre, stated = {self._place[node] for node in self.centre}, frozenset(known)
        near = {other for node in centre for other in self.links.near[node]}
        touching: dict[str, list[Triple]] = {}
        for triple in self.triples:
            if triple["id"] not in stated:
                for node in dict.fromkeys(both_ends(triple)):
                    touching.setdefault(node, []).append(triple)
        rests = ([node for node in cell if node not in centre] for cell in cells)
        found = (self._cell([self.nodes[node] for node in rest], touching) for rest in rests if near.intersection(rest))
        return [cell for cell in found if cell.nodes]

    def _cell(self, nodes: Sequence[str], touching: Mapping[str, Sequence[Triple]]) -> Cell:
        """A cell with its triples. A node in none of them has no text and is left out."""
        members = set(nodes)
        inside: dict[str, Triple] = {}
        joining: dict[str, Triple] = {}
        for triple in (triple for node in nodes for triple in touching.get(node, ())):
            ends = set(both_ends(triple))
            if ends <= members:
                inside[triple["id"]] = triple
            elif ends & self._before:
                joining[triple["id"]] = triple
        named = {end for triple in (*inside.values(), *joining.values()) for end in both_ends(triple)}
        kept = tuple(node for node in nodes if node in named)
        value = modularity(self.links, [self._place[node] for node in kept])
        return Cell(kept, tuple(inside.values()), tuple(joining.values()), value)


def coarse_prune(
    cells: Sequence[Cell], how: CoarsePrune, *, keep: int, seed: int, salt: str = "", centre: Sequence[str] = ()
) -> list[Cell]:
    """The `keep` cells of the highest modularity, best first (equation 5), or as many at random (the control).

    Args:
        cells: the candidates.
        how: `fair` lets the nodes of the centre take turns, and at each node its relations, each with the best cell that it joins; `off`
            keeps all, best first.
        keep: k.
        seed: of the random control.
        salt: tells searches with one seed apart.
        centre: nodes of the community that the cells lie next to.

    Returns:
        The cells kept, best first; with `random` in random order.
    """
    ranked = sorted(cells, key=lambda cell: (-cell.modularity, cell.id))
    if how == "off" or len(ranked) <= keep:
        return ranked
    if how == "modularity":
        return ranked[:keep]
    if how == "random":
        return random.Random(f"{seed}\0{salt}").sample(ranked, keep)  # noqa: S311 - reproducible, not secret
    kept = set(itertools.islice(taking_turns(_beside(node, ranked) for node in centre), keep))
    return [cell for cell in ranked if cell.id in kept]


def _beside(node: str, ranked: Sequence[Cell]) -> list[str]:
    """Ids of the cells joined to a node: the best of each relation, then the second best."""
    rows: dict[tuple[str, bool], list[str]] = {}
    for cell in ranked:
        for triple in cell.joining:
            if node in both_ends(triple):
                rows.setdefault((triple["relation"], triple["subject"] == node), []).append(cell.id)
    return list(taking_turns(rows.values()))


def taking_turns(rows: Iterable[Sequence[str]]) -> dict[str, None]:
    """The entries of all rows, each once: the first of each row, then the second of each, so that no row crowds out another."""
    turns = itertools.chain.from_iterable(itertools.zip_longest(*rows))
    return dict.fromkeys(one for one in turns if one is not None)
