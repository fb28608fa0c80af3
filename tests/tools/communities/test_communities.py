"""Local community search: sampling, candidates, coarse prune, and what it costs at a hub."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from built_graph import built_graph

from thinkgraph.ingest.readers.files import in_batches
from thinkgraph.models.ops import Blocking, Flow
from thinkgraph.nodes.fasttog.community_search import SearchOrigin, SearchResult, local_search
from thinkgraph.state.fasttog import FastTogSettings
from thinkgraph.testing.memory import MemoryGraphStore
from thinkgraph.tools.communities.local_search import Cell, CoarsePrune, coarse_prune, draw, membership
from thinkgraph.tools.protocols import GraphStore
from thinkgraph.tools.sqlite.graph import SqliteGraphStore

HUB = 50_000


class Counting:
    """A store that counts its round trips and what it hands over."""

    def __init__(self, store: GraphStore) -> None:
        self.store = store
        self.calls: list[str] = []
        self.triples = 0

    def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        method = method.removeprefix("graph.")
        self.calls.append(method)
        result = getattr(self.store, method)(*arguments, **options)
        if method != "relations":
            lists = method in {"neighbourhood", "neighbours"}
            self.triples += sum(len(one["triples"]) for one in result) if lists else len(result)
        return result


def carry_out(steps: Flow[Any], store: Counting) -> Any:
    reply: Any = None
    while True:
        try:
            request = steps.send(reply)
        except StopIteration as stop:
            return stop.value
        reply = request.function() if isinstance(request, Blocking) else request.function(store)


def search(
    store: GraphStore | Counting, *centres: Sequence[str], history: Sequence[str] = (), **settings: Any
) -> list[SearchResult]:
    counting = store if isinstance(store, Counting) else Counting(store)
    origins = [SearchOrigin(tuple(centre)) for centre in centres]
    found: list[SearchResult] = carry_out(
        local_search(origins, list(history), FastTogSettings.model_validate(settings)), counting
    )
    return found


def nodes(found: SearchResult) -> list[set[str]]:
    return [set(cell.nodes) for cell in found.cells]


def star(rays: int) -> MemoryGraphStore:
    """A hub, each of its neighbours with one more of its own."""
    rows = [("hub", "near", f"n{i}") for i in range(rays)] + [(f"n{i}", "near", f"far{i}") for i in range(rays)]
    return MemoryGraphStore(rows)


@pytest.mark.parametrize("hops", [1, 2, 3, 5])
def test_a_search_costs_one_round_trip_per_hop_and_one_for_the_edges(hops: int) -> None:
    rows = [(f"n{i}", "next", f"n{i + 1}") for i in range(50)] + [(f"n{i}", "over", f"n{i + 7}") for i in range(40)]
    store = Counting(MemoryGraphStore(rows))
    search(store, ["n3"], ["n20", "n21"], ["n40"], hops=hops, decay=1.0)
    assert store.calls == ["neighbourhood"] * hops + ["edges_among"], "for three searches together"


def test_single_nodes_need_one_hop_alone() -> None:
    store = Counting(star(10))
    (found,) = search(store, ["hub"], hops=4, community_size=1)
    assert store.calls == ["neighbourhood", "edges_among"]
    assert sorted(map(sorted, nodes(found))) == sorted([f"n{i}"] for i in range(10))


def test_hop_one_is_kept_whole_and_later_hops_with_the_decay() -> None:
    store = star(400)
    (found,) = search(store, ["hub"], decay=0.25, coarse="off", node_cap=None, graph_cap=None)
    kept = set().union(*nodes(found))
    assert {f"n{i}" for i in range(400)} <= kept
    far = sum(node.startswith("far") for node in kept)
    assert 60 <= far <= 140, "a quarter of 400"
    (none,) = search(store, ["hub"], decay=0.0001, coarse="off", graph_cap=None)
    assert all(node.startswith("n") for cell in nodes(none) for node in cell)


def test_caps_hold_and_a_larger_cap_only_adds() -> None:
    store = star(300)
    sizes: list[set[str]] = []
    for cap in (10, 50, 100):
        (found,) = search(store, ["hub"], hop_cap=cap, decay=0.5, coarse="off")
        first = {node for cell in nodes(found) for node in cell if node.startswith("n")}
        assert len(first) == cap
        sizes.append(first)
    assert sizes[0] < sizes[1] < sizes[2]
    (found,) = search(store, ["hub"], graph_cap=40, decay=1.0, coarse="off")
    assert found.nodes == 41, "the centre beside them"
    (found,) = search(store, ["hub"], node_cap=25, decay=1.0, hops=1, coarse="off")
    assert found.nodes == 26


def test_a_sample_depends_on_the_seed_and_on_nothing_else() -> None:
    store = star(200)
    one, same, other = (search(store, ["hub"], hop_cap=30, seed=seed)[0] for seed in (1, 1, 2))
    assert nodes(one) == nodes(same)
    assert nodes(one) != nodes(other)
    # In company it is what it is alone.
    assert nodes(search(store, ["n3"], ["hub"], hop_cap=30, seed=1)[1]) == nodes(one)
    assert 0 <= draw(1, "a", "b") < 1
    assert draw(1, "a", "b") != draw(2, "a", "b") != draw(1, "ab", "")


def test_a_search_is_the_same_in_every_process() -> None:
    code = (
        "from tools.communities.test_communities import *\n"
        "print([[c.nodes for c in f.cells] for f in search(star(90), ['hub'], ['n1'], hop_cap=40, decay=0.5)])"
    )
    root = Path(__file__).parents[2]
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": hashing},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hashing in ("0", "1")
    }
    assert len(said) == 1


TOWNS = [
    ("a", "road", "b"),
    ("b", "road", "c"),
    ("c", "road", "a"),
    ("c", "road", "d"),
    ("d", "road", "e"),
    ("e", "road", "f"),
    ("f", "road", "d"),
    ("x", "road", "y"),
]


def test_candidates_lie_one_hop_away_and_do_not_hold_where_one_stands() -> None:
    (found,) = search(MemoryGraphStore(TOWNS), ["a"], hops=5, decay=1.0, coarse="off")
    assert nodes(found) == [{"b", "c"}], "its own cell without itself; the cell beyond is two hops away"
    (cell,) = found.cells
    assert {(t["subject"], t["object"]) for t in cell.triples} == {("b", "c")}
    assert {(t["subject"], t["object"]) for t in cell.joining} == {("a", "b"), ("c", "a")}
    (found,) = search(MemoryGraphStore(TOWNS), ["b", "c"], hops=5, decay=1.0, coarse="off")
    assert sorted(map(sorted, nodes(found))) == [["a"], ["d", "e", "f"]]


def test_history_is_kept_by_membership() -> None:
    """A community that was chosen does not come back; one that shares a node with it does."""
    store = MemoryGraphStore(TOWNS)
    old = [membership(["f", "d", "e"])]
    (found,) = search(store, ["b", "c"], history=old, hops=5, decay=1.0, coarse="off")
    assert nodes(found) == [{"a"}]
    (found,) = search(store, ["b", "c"], history=[membership(["d"])], hops=5, decay=1.0, coarse="off")
    assert {"d", "e", "f"} in nodes(found)
    assert membership(["b", "a"]) == membership(["a", "b"]) != membership(["ab"])


def test_small_and_broken_graphs_still_give_candidates() -> None:
    (found,) = search(MemoryGraphStore([("a", "r", "b")]), ["a"])
    assert nodes(found) == [{"b"}]
    (found,) = search(MemoryGraphStore([("a", "r", "b"), ("x", "r", "y")]), ["a", "x"])
    assert sorted(map(sorted, nodes(found))) == [["b"], ["y"]]
    for detector in ("louvain", "girvan_newman", "hierarchical", "spectral", "random"):
        for size in (1, 2, 4, 8):
            (found,) = search(MemoryGraphStore(TOWNS), ["a"], detector=detector, community_size=size)
            assert found.cells, (detector, size)


def test_nothing_around_gives_no_candidates() -> None:
    store = Counting(MemoryGraphStore([("a", "r", "a"), ("x", "r", "y")]))
    assert [found.cells for found in search(store, ["a"], ["nobody"])] == [[], []]
    assert store.calls == ["neighbourhood"]


def test_literals_are_reached_and_not_walked_on() -> None:
    rows = [("a", "born", "1900"), ("b", "born", "1900"), ("b", "knows", "c")]
    store = MemoryGraphStore(rows, literals=["born"])
    (found,) = search(store, ["a"], decay=1.0, coarse="off")
    assert [[store.entities([n])[0]["label"] for n in cell.nodes] for cell in found.cells] == [["1900"]]  # type: ignore[index]
    number = found.cells[0].nodes[0]
    origin = SearchOrigin((number,), frozenset([number]))
    counting = Counting(store)
    (beyond,) = carry_out(local_search([origin], [], FastTogSettings()), counting)
    assert beyond.cells == []
    assert counting.calls == []


def test_every_edge_that_joins_a_candidate_to_its_chain_is_its_own() -> None:
    """Loops, several triples between the same two, and edges to earlier communities of the chain, but none told before."""
    rows = [
        ("s", "starts", "a"),
        ("a", "near", "b"),
        ("a", "likes", "b"),
        ("b", "is", "b"),
        ("b", "knows", "s"),
        ("b", "knows", "elsewhere"),
    ]
    store = MemoryGraphStore(rows)
    counting = Counting(store)
    told = {t["id"] for t in store.edges_among(["s", "a"])}
    origin = SearchOrigin(("a",), chain=frozenset(["s"]), known=frozenset(told))
    (found,) = carry_out(local_search([origin], [], FastTogSettings(community_size=1)), counting)
    cell = next(cell for cell in found.cells if "b" in cell.nodes)
    assert {(t["subject"], t["relation"], t["object"]) for t in cell.joining} == {
        ("a", "near", "b"),
        ("a", "likes", "b"),
        ("b", "knows", "s"),
    }
    assert [(t["subject"], t["object"]) for t in cell.triples] == [("b", "b")]


def a_cell(name: str, value: float) -> Cell:
    return Cell((name,), (), (), value)


def test_coarse_prune() -> None:
    cells = [a_cell(f"c{i}", float(i % 7)) for i in range(50)]
    kept = coarse_prune(cells, "modularity", keep=10, seed=0)
    assert [cell.modularity for cell in kept] == sorted((cell.modularity for cell in cells), reverse=True)[:10]
    assert coarse_prune(list(reversed(cells)), "modularity", keep=10, seed=0) == kept, "ties do not hang on the order"
    assert len(coarse_prune(cells, "off", keep=10, seed=0)) == 50
    drawn = coarse_prune(cells, "random", keep=10, seed=0)
    assert len({cell.nodes for cell in drawn}) == 10
    assert drawn == coarse_prune(cells, "random", keep=10, seed=0)
    assert drawn != coarse_prune(cells, "random", keep=10, seed=1)
    assert drawn != coarse_prune(cells, "random", keep=10, seed=0, salt="another search")
    assert coarse_prune([], "modularity", keep=3, seed=0) == []


def test_a_fair_coarse_prune_keeps_the_best_beside_each_node_of_the_centre() -> None:
    hub, small = [("hub", "near", f"h{i}") for i in range(30)], [("small", "near", f"s{i}") for i in range(3)]
    (found,) = search(MemoryGraphStore([*hub, *small]), ["hub", "small"], community_size=1, coarse="off")
    ranked = [dataclasses.replace(cell, modularity=cell.modularity + ("h" in cell.nodes[0])) for cell in found.cells]

    def kept(how: CoarsePrune, keep: int) -> list[str]:
        cells = coarse_prune(ranked, how, keep=keep, seed=0, centre=["hub", "small"])
        assert [cell.modularity for cell in cells] == sorted((cell.modularity for cell in cells), reverse=True)
        return [cell.nodes[0][0] for cell in cells]

    assert kept("modularity", 8) == ["h"] * 8
    assert kept("fair", 8) == ["h"] * 5 + ["s"] * 3
    assert kept("fair", 3) == ["h"] * 2 + ["s"]
    assert kept("fair", 100) == ["h"] * 30 + ["s"] * 3


def test_a_long_list_at_a_hub_crowds_out_no_short_one() -> None:
    rows = [(f"n{i}", "near", "hub") for i in range(HUB // 10)]
    store = Counting(MemoryGraphStore([*rows, ("hub", "capital", "city"), ("hub", "head", "person")]))
    (found,) = search(store, ["hub"])
    assert {"city", "person"} <= set().union(*nodes(found))
    assert len(found.cells) == 200
    assert found.nodes == 601, "as many as a sample of all has"
    assert store.triples <= 3 * 601 + 2_000


def test_the_cells_of_a_short_list_are_kept_beside_those_of_a_long_one() -> None:
    rows = [(f"n{i}", "near", "hub") for i in range(400)]
    (found,) = search(MemoryGraphStore([*rows, ("hub", "capital", "city")]), ["hub"], candidates=8)
    assert {"city"} in nodes(found)
    assert len(found.cells) == 8


@pytest.fixture(scope="module")
def hubs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hub with 50,000 neighbours and one with 5,000, in a built graph."""
    path = tmp_path_factory.mktemp("hubs") / "graph.sqlite"
    rows = [("big", "near", f"b{i}", (), None) for i in range(HUB)]
    rows += [(f"b{i}", "next", f"b{i + 1}", (), None) for i in range(HUB - 1)]
    rows += [("small", "near", f"s{i}", (), None) for i in range(HUB // 10)]
    rows += [(f"s{i}", "next", f"s{i + 1}", (), None) for i in range(HUB // 10 - 1)]
    built_graph(path, in_batches(rows))
    return path


def test_a_hub_costs_no_more_than_its_caps(hubs: Path) -> None:
    """n+1 round trips and one for its relations, the caps honoured, and memory that does not grow with the hub."""
    peaks: dict[str, int] = {}
    with SqliteGraphStore(hubs) as store:
        search(store, ["small"])  # what is loaded once is not the search's
        for hub in ("small", "big"):
            counting = Counting(store)
            tracemalloc.start()
            (found,) = search(counting, [hub], node_cap=500, graph_cap=800, hops=2)
            peaks[hub] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert counting.calls == ["neighbourhood", "relations", "neighbourhood", "edges_among"]
            assert found.nodes <= 801
            assert len(found.cells) <= 200
            assert counting.triples <= 500 + 2_000 + 3 * 801
    assert peaks["big"] < 1.5 * peaks["small"]


def test_a_wide_frontier_is_read_thinly(hubs: Path) -> None:
    with SqliteGraphStore(hubs) as store:
        counting = Counting(store)
        search(counting, ["big"], node_cap=5_000, graph_cap=5_000, hops=2, decay=1.0)
        assert counting.calls == ["neighbourhood", "relations", "neighbourhood", "edges_among"]
        assert counting.triples <= 5_000 + 5_000 + 2 * 5_001 + 2_000
