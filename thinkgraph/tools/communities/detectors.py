"""Community detection under a size limit (FastToG, section "Community Detection on Subgraph"): five detectors, one interface.

The limit is met along each algorithm's own steps, at the coarsest partition in which every community fits:
agglomerative, the last such step; Girvan–Newman, the first; Louvain's steps are node moves, and a move that would make a
community too large is refused; spectral clustering has no steps, so what is too large is split again.

They are written here, with NumPy, because libraries do not apply a limit within an algorithm: networkx's Louvain refuses no move, and
SciPy's linkage joins equally near nodes (the leaves around a hub) into one large cluster first, so that it would have to stop at single
nodes. networkx's Girvan–Newman finds the same partitions (a test compares betweenness with it) in thirty
times the time on 100 nodes.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DetectorName = Literal["louvain", "girvan_newman", "hierarchical", "spectral", "random"]
Cells = list[list[int]]
"""A partition: every node in exactly one cell."""

_CLOSE = 1e-9
"""Values nearer to one another than this are ties."""


@dataclass(frozen=True)
class Links:
    """A simple graph: undirected, unweighted, without loops. Nodes are numbers from 0."""

    near: Sequence[Sequence[int]]
    """For every node its neighbours, ascending."""

    @cached_property
    def edges(self) -> int:
        """m: how many edges there are."""
        return sum(map(len, self.near)) // 2

    def __len__(self) -> int:
        return len(self.near)

    @classmethod
    def of(cls, size: int, pairs: Sequence[tuple[int, int]]) -> Links:
        """From pairs of nodes; repeated pairs count once, loops not at all."""
        near: list[set[int]] = [set() for _ in range(size)]
        for one, other in pairs:
            if one != other:
                near[one].add(other)
                near[other].add(one)
        return cls([sorted(found) for found in near])


Detector = Callable[[Links, int, int], Cells]
"""(graph, most nodes of a community, seed) to a partition; the same for the same arguments, in every process."""


def detect(name: DetectorName, links: Links, *, most: int, seed: int) -> Cells:
    """Partition a graph into communities of at most `most` nodes: nodes ascending, communities by their first node.

    Raises:
        KeyError: there is no such detector.
    """
    detector = DETECTORS[name]
    cells = [[node] for node in range(len(links))] if most == 1 else detector(links, most, seed)
    return sorted(sorted(cell) for cell in cells if cell)


def modularity(links: Links, cell: Sequence[int]) -> float:
    """Q(c) = Σin − (Σtot)²/(2m) (equation 4): Σin counts edges inside from both ends, Σtot is the sum of degrees.

    The paper calls both sums a number of edges. Only as counted here do they give, summed over a partition and divided by 2m, the
    partition's modularity (equations 1 and 3). 0 for a graph without edges.
    """
    if not links.edges:
        return 0.0
    members = set(cell)
    inside = sum(len(members.intersection(links.near[node])) for node in members)
    total = sum(len(links.near[node]) for node in members)
    return inside - total**2 / (2 * links.edges)


def components(near: Sequence[Collection[int]], nodes: Sequence[int]) -> Cells:
    """The connected components of the graph that `nodes` induce, by their first node."""
    left = dict.fromkeys(nodes)
    found: Cells = []
    while left:
        first = next(iter(left))
        del left[first]
        cell = [first]
        for node in cell:
            for other in near[node]:
                if other in left:
                    del left[other]
                    cell.append(other)
        found.append(sorted(cell))
    return found


def _matrix(near: Sequence[Collection[int]], cell: Sequence[int]) -> NDArray[np.float64]:
    """The adjacency matrix of the graph that `cell` induces, in the order of its nodes."""
    import numpy as np

    place = {node: at for at, node in enumerate(cell)}
    matrix = np.zeros((len(cell), len(cell)))
    for node in cell:
        matrix[place[node], [place[other] for other in near[node] if other in place]] = 1.0
    return matrix


# --- Louvain --------------------------------------------------------------------------------------------------------


def louvain(links: Links, most: int, seed: int) -> Cells:
    """Blondel et al. 2008; a move into a community that would then be too large is refused."""
    rng = random.Random(seed)  # noqa: S311 - reproducible, not secret
    cells = [[node] for node in range(len(links))]
    while links.edges:
        home = _moved(links, cells, most, rng)
        groups: dict[int, list[int]] = {}
        for cell, at in zip(cells, home, strict=True):
            groups.setdefault(at, []).extend(cell)
        if len(groups) == len(cells):
            break
        cells = list(groups.values())
    return cells


def _moved(links: Links, cells: Cells, most: int, rng: random.Random) -> list[int]:
    """Move cells to the neighbouring community of the best gain until none moves; gives the community of each."""
    of = {node: at for at, cell in enumerate(cells) for node in cell}
    # For every cell its neighbours with the number of edges between them; itself left out.
    weights = [
        Counter(of[o] for node in cell for o in links.near[node] if of[o] != at) for at, cell in enumerate(cells)
    ]
    degrees = [sum(len(links.near[node]) for node in cell) for cell in cells]
    home = list(range(len(cells)))
    total, size = list(degrees), list(map(len, cells))
    order = list(home)
    rng.shuffle(order)
    moving = True
    while moving:
        moving = False
        for unit in order:
            at, degree = home[unit], degrees[unit]
            inside = {at: 0}
            for other, weight in weights[unit].items():
                inside[home[other]] = inside.get(home[other], 0) + weight
            total[at] -= degree
            size[at] -= len(cells[unit])
            best, gain = at, -math.inf
            for place, weight in inside.items():
                better = weight - total[place] * degree / (2 * links.edges)
                if better > gain + _CLOSE and size[place] + len(cells[unit]) <= most:
                    best, gain = place, better
            total[best] += degree
            size[best] += len(cells[unit])
            moving = moving or best != at
            home[unit] = best
    return home


# --- Girvan–Newman --------------------------------------------------------------------------------------------------


def girvan_newman(links: Links, most: int, _seed: int) -> Cells:
    """Girvan and Newman 2002: the edge of the highest betweenness goes, one after the other, until every component fits."""
    near = [set(found) for found in links.near]
    pieces = [(cell, _busiest(near, cell)) for cell in components(links.near, range(len(links)))]
    while any(len(cell) > most for cell, _ in pieces):
        # Of equals the piece found first: the steps never depend on anything but the graph.
        place = max(range(len(pieces)), key=lambda at: (round(pieces[at][1][0], 6), -at))
        cell, (_, one, other) = pieces.pop(place)
        near[one].discard(other)
        near[other].discard(one)
        parts = components(near, cell)
        pieces += [(part, _busiest(near, part)) for part in parts]
    return [cell for cell, _ in pieces]


def _busiest(near: Sequence[set[int]], cell: Sequence[int]) -> tuple[float, int, int]:
    """The edge of the highest betweenness in one component, with its betweenness; (-1, …) where there is no edge."""
    between = betweenness(near, cell)
    if not between:
        return -1.0, cell[0], cell[0]
    top = max(between.values())
    one, other = min(edge for edge, value in between.items() if value >= top - _CLOSE)
    return top, one, other


def betweenness(near: Sequence[set[int]], cell: Sequence[int]) -> dict[tuple[int, int], float]:
    """Edge betweenness within one component (Brandes), every pair of nodes counted once; all sources walk at once."""
    import numpy as np

    links = _matrix(near, cell)
    # For every source the shortest paths to the nodes of each depth.
    levels = [np.eye(len(cell))]
    reached = levels[0] > 0
    while (ways := (levels[-1] @ links) * ~reached).any():
        reached |= ways > 0
        levels.append(ways)
    flow = np.zeros_like(links)
    owed = np.zeros_like(links)
    for before, ways in reversed([*pairwise(levels)]):
        share = np.divide(1.0 + owed, ways, out=np.zeros_like(ways), where=ways > 0)
        flow += before.T @ share
        owed = before * (share @ links)
    flow = (flow + flow.T) * links / 2
    ones, others = np.nonzero(np.triu(links))
    edges = zip(ones.tolist(), others.tolist(), flow[ones, others].tolist(), strict=True)
    return {(cell[one], cell[other]): value for one, other, value in edges}


# --- agglomerative --------------------------------------------------------------------------------------------------


def hierarchical(links: Links, most: int, _seed: int) -> Cells:
    """Agglomerative clustering, average linkage, by the Jaccard distance of closed neighbourhoods.

    The partition is the last one in which every community fits. Of equally near pairs the smaller are joined first.
    Communities without a common neighbour are never joined.
    """
    import numpy as np

    size = len(links)
    rows = np.eye(size) + _matrix(links.near, range(size))
    common = rows @ rows.T
    degrees = rows.sum(axis=1)
    apart = 1.0 - common / (degrees[:, None] + degrees[None, :] - common)
    np.fill_diagonal(apart, np.inf)
    cells: list[list[int]] = [[node] for node in range(size)]
    counts = np.ones(size)
    while True:
        nearest = float(apart.min()) if size else np.inf
        if nearest >= 1.0 - _CLOSE:
            break
        together = np.where(apart <= nearest + _CLOSE, counts[:, None] + counts[None, :], np.inf)
        one, other = divmod(int(together.argmin()), size)
        if together[one, other] > most:
            break
        merged = (counts[one] * apart[one] + counts[other] * apart[other]) / (counts[one] + counts[other])
        apart[one] = apart[:, one] = merged
        apart[other] = apart[:, other] = np.inf
        apart[one, one] = np.inf
        counts[one] += counts[other]
        cells[one] += cells[other]
        cells[other] = []
    return [cell for cell in cells if cell]


# --- spectral -------------------------------------------------------------------------------------------------------


def spectral(links: Links, most: int, _seed: int) -> Cells:
    """Spectral clustering of every component into as few clusters as could fit; clusters that do not fit are split again."""
    done: Cells = []
    waiting = components(links.near, range(len(links)))
    while waiting:
        cell = waiting.pop()
        if len(cell) <= most:
            done.append(cell)
            continue
        parts = _spectral_split(links, cell, -(-len(cell) // most))
        if max(map(len, parts)) == len(cell):  # no eigenvector tells its nodes apart
            parts = [cell[at : at + most] for at in range(0, len(cell), most)]
        waiting += [piece for part in parts for piece in (components(links.near, part) if len(part) > most else [part])]
    return done


def _spectral_split(links: Links, cell: Sequence[int], clusters: int) -> Cells:
    """The clusters of one connected cell: eigenvectors of the normalised Laplacian (Ng, Jordan and Weiss 2002), and labels
    from a pivoted QR of them (Damle, Minden and Ying 2019), which needs no random start.
    """
    import numpy as np

    matrix = _matrix(links.near, cell)
    scale = 1.0 / np.sqrt(matrix.sum(axis=1))
    _, vectors = np.linalg.eigh(scale[:, None] * matrix * scale[None, :])
    top = vectors[:, -clusters:]
    left, _, right = np.linalg.svd(top[pivots(top.T, clusters)].T)
    labels = np.abs(top @ (left @ right)).argmax(axis=1)
    parts: dict[int, list[int]] = {}
    for node, label in zip(cell, labels.tolist(), strict=True):
        parts.setdefault(label, []).append(node)
    return list(parts.values())


def pivots(matrix: NDArray[np.float64], several: int) -> list[int]:
    """The columns that a pivoted QR takes first: each time the one of which most is left after those before."""
    rest = matrix.copy()
    chosen: list[int] = []
    for _ in range(several):
        lengths = (rest * rest).sum(axis=0)
        chosen.append(int(lengths.argmax()))
        way = rest[:, chosen[-1]] / max(lengths[chosen[-1]], 1e-300) ** 0.5
        rest -= way[:, None] * (way @ rest)
    return chosen


# --- control --------------------------------------------------------------------------------------------------------


def at_random(links: Links, most: int, seed: int) -> Cells:
    """Nodes in random groups of the largest size allowed: the control."""
    nodes = list(range(len(links)))
    random.Random(seed).shuffle(nodes)  # noqa: S311 - reproducible, not secret
    return [nodes[at : at + most] for at in range(0, len(nodes), most)]


DETECTORS: Mapping[str, Detector] = {
    "louvain": louvain,
    "girvan_newman": girvan_newman,
    "hierarchical": hierarchical,
    "spectral": spectral,
    "random": at_random,
}
"""Every detector by its name."""
