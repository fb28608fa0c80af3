"""GRBench's graphs: the shape that its authors' notebooks write, with facts from the examples in their prompts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from thinkgraph.errors import KnowledgeError
from thinkgraph.ingest.build import build_kb
from thinkgraph.ingest.readers import nodes
from thinkgraph.state.knowledge import Step
from thinkgraph.tools.sqlite.graph import SqliteGraphStore

TITLE = "Mass Accretion Rates in Self-Regulated Disks of T Tauri Stars"
GRAPH: dict[str, dict[str, Any]] = {
    "paper_nodes": {
        "2090642949": {
            "features": {"title": TITLE, "abstract": "x " * 2_000, "year": 1998, "label": ["Physics", "Astronomy"]},
            "neighbors": {"author": ["2234"], "venue": ["1980519"], "reference": [], "cited_by": {"3": ["3101448248"]}},
        },
        "3101448248": {
            "features": {"title": "Strongly Interacting Higgs Sector in the Minimal Standard Model", "year": "1993"},
            "neighbors": {"author": []},
        },
    },
    "author_nodes": {"2234": {"features": {"name": ""}, "neighbors": {"paper": ["2090642949"]}}},
    "venue_nodes": {"1980519": {"features": {"name": "the astrophysical journal"}, "neighbors": {}}},
}


def _built(folder: Path, file: Path) -> tuple[SqliteGraphStore, dict[str, int]]:
    report = build_kb(folder / "kb", triples=[file], index=False)
    return SqliteGraphStore(folder / "kb" / "graph.sqlite"), report.rejected


@pytest.mark.parametrize("name", ["graph.json", "graph.json.gz"])
@pytest.mark.parametrize("block", [7, 1 << 20])
def test_a_graph_as_published(tmp_path: Path, name: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "_BLOCK", block)
    text = json.dumps(GRAPH, indent=4).encode()
    file = tmp_path / name
    file.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    store, rejected = _built(tmp_path, file)
    with store:
        ids = ["2090642949", "1980519", "2234"]
        found = [(e["label"], e["type"]) for e in store.entities(ids) if e]
        assert found == [(TITLE, "paper"), ("the astrophysical journal", "venue"), ("2234", "author")]
        edges = {(r["name"], r["direction"]): r["count"] for r in store.relations(["2090642949"])[0]}
        assert edges == {
            ("author", "out"): 1,
            ("venue", "out"): 1,
            ("cited_by", "out"): 1,
            ("year", "out"): 1,
            ("label", "out"): 2,
            ("paper", "in"): 1,
        }
        (cited,) = store.neighbours([{"entity": "2090642949", "relation": "cited_by", "direction": "out"}])
        assert [(t["object"], t["qualifiers"]) for t in cited["triples"]] == [("3101448248", [["count", "3"]])]
        (year,) = store.neighbours([{"entity": "2090642949", "relation": "year", "direction": "out"}])
        assert [(t["object"], t["literal"]) for t in year["triples"]] == [("literal:1998", True)]
    assert rejected == {"long text": 1}


def test_the_shop_s_graph(tmp_path: Path) -> None:
    """Relations and facts as published runs over it show them."""
    twine, straws = "Denim Blue Baker's Twine, 240 Yard Spool", "Kikkerland Biodegradable Paper Straws, Blue and White Striped, Box of 144"  # fmt: skip
    graph = {
        "item_nodes": {
            "B1": {"features": {"title": twine}, "neighbors": {"brand": ["9"], "also_bought_item": ["B2"]}},
            "B2": {"features": {"title": straws}, "neighbors": {"also_bought_item": []}},
        },
        "brand_nodes": {"9": {"features": {"name": "The Twinery"}, "neighbors": {"item": ["B1"]}}},
    }
    file = tmp_path / "graph.json"
    file.write_text(json.dumps(graph), "utf-8")
    store, rejected = _built(tmp_path, file)
    with store:
        steps: list[Step] = [
            {"entity": "B1", "relation": name, "direction": "out"} for name in ("brand", "also_bought_item")
        ]
        found = [[t["object_label"] for t in near["triples"]] for near in store.neighbours(steps)]
    assert found == [["The Twinery"], [straws]]
    assert rejected == {}


def test_a_graph_that_is_cut_off_is_told_and_gives_what_came_before(tmp_path: Path) -> None:
    text = json.dumps(GRAPH, indent=4)
    file = tmp_path / "graph.json"
    file.write_text(text[: text.index('"venue_nodes"') - 40], "utf-8")
    store, rejected = _built(tmp_path, file)
    with store:
        (paper,) = store.entities(["2090642949"])
        assert paper
        assert paper["label"] == TITLE
    assert rejected == {"long text": 1, "cut off": 1}


def test_what_is_no_node_is_told(tmp_path: Path) -> None:
    file = tmp_path / "graph.json"
    file.write_text(json.dumps({"paper_nodes": {**GRAPH["paper_nodes"], "7": ["x"]}}), "utf-8")
    store, rejected = _built(tmp_path, file)
    with store:
        assert store.entities(["7"]) == [None]
    assert rejected == {"long text": 1, "malformed": 1}


def test_names_that_cannot_be_kept_stop_nothing(tmp_path: Path) -> None:
    """Half a character in an id ended the build with a traceback; an empty one became an entity without an id."""
    half = {"features": {"\ud800": 5, "year": 1998}, "neighbors": {"": ["b"], "cites": {"\ud800": ["b"]}}}
    file = tmp_path / "graph.json"
    file.write_text(json.dumps({"x_nodes": {"": half, "\ud800": half, "a\0": half}}))
    store, rejected = _built(tmp_path, file)
    with store:
        assert rejected == {"malformed": 2}
        found = [(edge["name"], edge["count"]) for edge in store.relations(["a"])[0]]
        assert sorted(found) == [("cites", 1), ("unnamed", 2), ("year", 1)]


@pytest.mark.parametrize(
    "text", ['{"paper_nodes": {', '{"paper_nodes": {"1": {"features": {"name": "a"}, "neighbors": {}}}}']
)
def test_a_graph_without_an_edge_is_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "graph.json"
    file.write_text(text, "utf-8")
    with pytest.raises(KnowledgeError, match=r"no triple could be read from graph\.json") as raised:
        build_kb(tmp_path / "kb", triples=[file], index=False)
    assert "\n" not in str(raised.value)


def test_a_node_without_an_end_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "LINE_LIMIT", 1_000)
    monkeypatch.setattr(nodes, "_BLOCK", 100)
    file = tmp_path / "graph.json"
    file.write_text('{"paper_nodes": {"1": {"features": {"title": "' + "x" * 10_000, "utf-8")
    with pytest.raises(KnowledgeError, match="a node is longer than"):
        build_kb(tmp_path / "kb", triples=[file], index=False)
