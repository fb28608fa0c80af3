"""Community detection: every detector partitions, keeps to the limit along its own steps, and does the same in every process."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest

from thinkgraph.tools.communities.detectors import (
    DETECTORS,
    Links,
    betweenness,
    components,
    detect,
    girvan_newman,
    hierarchical,
    louvain,
    modularity,
    pivots,
)

NAMES = sorted(DETECTORS)
LIMITS = (1, 2, 3, 4, 8, 100)


def links_of(graph: nx.Graph) -> Links:
    return Links.of(len(graph), list(graph.edges))


def graphs() -> list[nx.Graph]:
    """Sparse, dense, disconnected, stars, trees, rings, cliques, none at all."""
    found = [nx.gnm_random_graph(6 + seed, 4 + 2 * seed, seed=seed) for seed in range(12)]
    found += [nx.empty_graph(0), nx.empty_graph(1), nx.empty_graph(5), nx.path_graph(2), nx.path_graph(11)]
    found += [nx.star_graph(9), nx.complete_graph(7), nx.ring_of_cliques(4, 5), nx.balanced_tree(3, 3)]
    found.append(nx.disjoint_union_all([nx.star_graph(4), nx.complete_graph(5), nx.path_graph(3), nx.empty_graph(2)]))
    found.append(nx.barbell_graph(5, 2))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_partition_that_keeps_to_the_limit(name: str) -> None:
    for graph in graphs():
        links = links_of(graph)
        for most in LIMITS:
            cells = detect(name, links, most=most, seed=1)
            assert sorted(node for cell in cells for node in cell) == list(range(len(links)))
            assert all(0 < len(cell) <= most for cell in cells)
            assert cells == detect(name, links, most=most, seed=1)


@pytest.mark.parametrize("name", NAMES)
def test_modularities_of_the_communities_add_up_to_the_partitions(name: str) -> None:
    """Σ Q(c) / 2m is what networkx gives for the partition (equations 3 and 4)."""
    for graph in graphs():
        links = links_of(graph)
        if not links.edges:
            assert modularity(links, range(len(links))) == 0
            continue
        cells = detect(name, links, most=4, seed=2)
        total = sum(modularity(links, cell) for cell in cells) / (2 * links.edges)
        assert total == pytest.approx(nx.community.modularity(graph, cells))


def test_betweenness_is_networkx() -> None:
    for graph in graphs():
        links = links_of(graph)
        mine: dict[tuple[int, int], float] = {}
        for cell in components(links.near, range(len(links))):
            mine.update(betweenness([set(near) for near in links.near], cell))
        theirs = {tuple(sorted(e)): v for e, v in nx.edge_betweenness_centrality(graph, normalized=False).items()}
        assert mine == pytest.approx(theirs)


def test_girvan_newman_stops_at_the_first_partition_that_fits() -> None:
    """Where no two edges tie, the steps are those of networkx."""
    compared = 0
    for seed in range(60):
        graph = nx.gnm_random_graph(10, 13, seed=seed)
        if not nx.is_connected(graph) or _ties(graph):
            continue
        for most in (3, 5):
            steps = nx.community.girvan_newman(graph)
            expected = next(cells for cells in steps if max(map(len, cells)) <= most)
            mine = girvan_newman(links_of(graph), most, 0)
            assert sorted(map(sorted, mine)) == sorted(map(sorted, expected))
            compared += 1
    assert compared >= 2


def _ties(graph: nx.Graph) -> bool:
    """Whether on the way to communities of 3 two edges ever tie for the highest betweenness."""
    rest = graph.copy()
    while max(map(len, nx.connected_components(rest))) > 3:
        values = sorted(nx.edge_betweenness_centrality(rest, normalized=False).items(), key=lambda pair: -pair[1])
        if len(values) > 1 and values[0][1] - values[1][1] < 1e-6:
            return True
        rest.remove_edge(*values[0][0])
    return False


def test_louvain_without_a_limit_finds_what_networkx_finds() -> None:
    for graph in [nx.ring_of_cliques(6, 5), nx.karate_club_graph(), nx.barbell_graph(8, 0)]:
        mine = nx.community.modularity(graph, louvain(links_of(graph), len(graph), 0), weight=None)
        theirs = nx.community.modularity(
            graph, nx.community.louvain_communities(graph, weight=None, seed=0), weight=None
        )
        assert mine >= theirs - 0.03


def test_louvain_refuses_moves_instead_of_walking_back() -> None:
    """Cliques larger than the limit are not shattered into single nodes."""
    links = links_of(nx.ring_of_cliques(6, 5))
    for seed in range(5):
        cells = detect("louvain", links, most=4, seed=seed)
        assert sum(len(cell) == 1 for cell in cells) <= 8
        assert sum(modularity(links, cell) for cell in cells) > 0.4 * 2 * links.edges


def test_agglomeration_goes_as_far_as_every_community_fits() -> None:
    """Of three cliques of three both limits 3 and 4 make three communities: the next step would join two of them."""
    links = links_of(nx.ring_of_cliques(3, 3))
    cliques = [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert sorted(map(sorted, hierarchical(links, 3, 0))) == cliques
    assert sorted(map(sorted, hierarchical(links, 4, 0))) == cliques
    # A later step would fit again, but there is no way past one that does not.
    mixed = links_of(nx.disjoint_union(nx.complete_graph(5), nx.path_graph(2)))
    assert max(map(len, hierarchical(mixed, 4, 0))) <= 4


def test_what_is_not_connected_is_not_joined() -> None:
    """But for the control, nothing joins what has nothing in common."""
    links = links_of(nx.empty_graph(6))
    for name in NAMES:
        if name != "random":
            assert detect(name, links, most=4, seed=0) == [[node] for node in range(6)]
    assert max(map(len, detect("random", links, most=4, seed=0))) == 4


def test_seeds_matter_where_there_is_chance() -> None:
    links = links_of(nx.gnm_random_graph(40, 100, seed=3))
    for name in ("random", "louvain"):
        assert len({str(detect(name, links, most=4, seed=seed)) for seed in range(6)}) > 1


def test_a_partition_is_the_same_in_every_process() -> None:
    """No hash order, no clock."""
    code = (
        "import random\n"
        "from thinkgraph.tools.communities.detectors import *\n"
        "rng = random.Random(5)\n"
        "links = Links.of(40, [(rng.randrange(40), rng.randrange(40)) for _ in range(90)])\n"
        "print([detect(name, links, most=4, seed=7) for name in sorted(DETECTORS)])\n"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hashing},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hashing in ("0", "1", "2")
    }
    assert len(said) == 1
    rng = random.Random(5)
    links = Links.of(40, [(rng.randrange(40), rng.randrange(40)) for _ in range(90)])
    assert said == {f"{[detect(name, links, most=4, seed=7) for name in NAMES]}\n"}


def test_repeated_pairs_and_loops_are_no_edges() -> None:
    links = Links.of(3, [(0, 1), (1, 0), (0, 1), (2, 2)])
    assert links.edges == 1
    assert links.near == [[1], [0], []]


@pytest.mark.parametrize("seed", range(5))
def test_pivots_are_those_of_a_pivoted_qr(seed: int) -> None:
    linalg = pytest.importorskip("scipy.linalg")
    matrix = np.random.default_rng(seed).normal(size=(4 + seed, 30))
    expected = linalg.qr(matrix, pivoting=True)[2][: 4 + seed]
    before = matrix.copy()
    assert pivots(matrix, 4 + seed) == expected.tolist()
    assert (matrix == before).all()
