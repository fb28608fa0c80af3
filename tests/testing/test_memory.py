"""The stores in memory that other tests stand on."""

from __future__ import annotations

import pytest

from thinkgraph.state.knowledge import Passage, Step
from thinkgraph.testing.memory import MemoryGraphStore, MemoryTextStore


@pytest.fixture
def graph() -> MemoryGraphStore:
    rows = [
        ("pan", "capital", "city"),
        ("pan", "capital", "city"),
        ("pan", "borders", "col"),
        ("col", "borders", "pan"),
        ("pan", "is_part_of", "pan"),
        ("pan", "founded", "1903", {"by": "treaty", "on": "3 November"}),
        *(("hub", "has", f"leaf{number:03}") for number in range(50)),
    ]
    return MemoryGraphStore(
        rows,
        literals=["founded"],
        labels={"pan": "Panama", "city": "Panama City", "col": "Colombia"},
        descriptions={"pan": "country"},
        aliases={"pan": ["Republic of Panama"], "col": ["panama"]},
    )


def test_equal_rows_are_one_triple_and_literals_are_apart(graph: MemoryGraphStore) -> None:
    info = graph.info()
    assert (info["triples"], info["entities"], info["literals"], info["relations"]) == (55, 54, 1, 5)
    founded = graph.neighbours([Step(entity="pan", relation="founded", direction="out")])[0]["triples"][0]
    assert (founded["object"], founded["object_label"], founded["literal"]) == ('"1903"', "1903", True)
    assert founded["qualifiers"] == [["by", "treaty"], ["on", "3 November"]]


def test_the_fingerprint_follows_the_content() -> None:
    base = MemoryGraphStore([("a", "r", "b")]).info()["fingerprint"]
    assert base == MemoryGraphStore([("a", "r", "b"), ("a", "r", "b")]).info()["fingerprint"]
    assert base != MemoryGraphStore([("a", "r", "c")]).info()["fingerprint"]
    assert base != MemoryGraphStore([("a", "r", "b")], labels={"a": "A"}).info()["fingerprint"]
    assert base != MemoryGraphStore([("a", "r", "b", {"q": "v"})]).info()["fingerprint"]


def test_answers_come_in_the_order_asked_and_unknown_ids_are_none(graph: MemoryGraphStore) -> None:
    found = graph.entities(["col", "nowhere", "pan"])
    assert [entity and entity["label"] for entity in found] == ["Colombia", None, "Panama"]
    key = graph.neighbourhood(["city"])[0]["triples"][0]["id"]
    triples = graph.triples(["nowhere", key])
    assert triples[0] is None
    assert triples[1] is not None
    assert triples[1]["object"] == "city"


def test_a_name_finds_labels_before_aliases(graph: MemoryGraphStore) -> None:
    (found, alias, none) = graph.lookup(["PANAMA ", "republic of panama", "atlantis"])
    assert [(match["entity"]["id"], match["method"]) for match in found] == [("pan", "exact"), ("col", "alias")]
    assert [match["entity"]["id"] for match in alias] == ["pan"]
    assert none == []
    assert graph.lookup(["1903"]) == [[]], "values are no entities to start from"


def test_search_is_best_first(graph: MemoryGraphStore) -> None:
    (words,) = graph.search(["panama city lights"], limit=2)
    assert words[0]["entity"]["id"] == "city"
    assert len(words) == 2
    (fuzzy,) = graph.search(["Colombai"], fuzzy=True)
    assert (fuzzy[0]["entity"]["id"], fuzzy[0]["method"]) == ("col", "fuzzy")


def test_relations_are_counted_by_direction(graph: MemoryGraphStore) -> None:
    (edges, none) = graph.relations(["pan", "nowhere"])
    counts = {(edge["name"], edge["direction"]): edge["count"] for edge in edges}
    assert counts[("borders", "out")] == counts[("borders", "in")] == 1
    assert counts[("is_part_of", "out")] == counts[("is_part_of", "in")] == 1
    assert {edge["label"] for edge in edges} >= {"is part of"}
    assert none == []


def test_a_hop_goes_one_way(graph: MemoryGraphStore) -> None:
    out, back = graph.neighbours([Step(entity="pan", relation="borders", direction=way) for way in ("out", "in")])
    assert [(t["subject"], t["object"]) for t in out["triples"]] == [("pan", "col")]
    assert [(t["subject"], t["object"]) for t in back["triples"]] == [("col", "pan")]


def test_a_hub_is_sampled_by_seed(graph: MemoryGraphStore) -> None:
    def ends(seed: int) -> list[str]:
        found = graph.neighbours([Step(entity="hub", relation="has", direction="out")], limit=5, seed=seed)[0]
        assert found["total"] == 50
        return [triple["object"] for triple in found["triples"]]

    assert len(set(ends(1))) == 5
    assert ends(1) == ends(1)
    assert ends(1) != ends(2)
    assert graph.neighbourhood(["hub"], limit=50)[0]["total"] == len(
        graph.neighbourhood(["hub"], limit=50)[0]["triples"]
    )


def test_edges_among_have_both_ends_inside(graph: MemoryGraphStore) -> None:
    found = {(t["subject"], t["relation"], t["object"]) for t in graph.edges_among(["pan", "col"])}
    assert found == {("pan", "borders", "col"), ("col", "borders", "pan"), ("pan", "is_part_of", "pan")}
    assert len(graph.edges_among(["pan", "col"], limit=1)) == 1


def a_passage(key: str, entities: list[str], text: str) -> Passage:
    return Passage(id=key, entities=entities, title=key, section="", text=text)


def test_passages_are_found_by_id_entity_and_words() -> None:
    store = MemoryTextStore([a_passage("p1", ["a"], "red bridge"), a_passage("p2", ["a", "b"], "blue bridge tower")])
    assert [p and p["id"] for p in store.passages(["p2", "x"])] == ["p2", None]
    assert [hit["passage"]["id"] for hit in store.passages_of(["b", "a"], "tower")] == ["p2", "p1"]
    assert store.passages_of(["nowhere"], "tower") == []
    assert [len(hits) for hits in store.search(["bridge", "red"], limit=1)] == [1, 1]
    info = store.info()
    assert (info["passages"], info["entities"]) == (2, 2)
    assert info["fingerprint"] != MemoryTextStore([]).info()["fingerprint"]
