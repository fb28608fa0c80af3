"""What a page is told of a run, for every method; and that what is vendored is what was fetched."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import CASES, Case
from langgraph.checkpoint.memory import InMemorySaver

import thinkgraph as tg
from thinkgraph.ui.share import page_for_hosts, page_of_run
from thinkgraph.ui.walk import Recorder, bounded

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "thinkgraph" / "ui" / "static"
MOST_BYTES = 600_000


def events_of(case: Case) -> list[dict[str, Any]]:
    """Every event of a run that answers a case."""
    knowledge = case.knowledge()
    graph = tg.build(
        case.method,
        knowledge=knowledge,
        model=FakeModel(case.replies),
        settings=dict(case.settings),
        checkpointer=InMemorySaver(),
    )
    recorder = Recorder(knowledge)
    config: Any = {"configurable": {"thread_id": "1"}}
    stream = graph.stream({"question": case.question}, config, stream_mode=["custom", "updates"])
    events = [event for mode, part in stream for event in recorder.read(mode, part)]
    return [*events, recorder.finished(graph.get_state(config).values["answer"])]


@pytest.mark.parametrize("name", sorted(name for name, case in CASES.items() if case.status == "grounded"))
def test_every_cited_triple_and_passage_was_shown_on_the_way(name: str) -> None:
    events = events_of(CASES[name])
    walked = [event for event in events if event["type"] == "walked"]
    shown = [triple["id"] for event in walked for triple in event["triples"]]
    assert len(shown) == len(set(shown)), "each is sent once"
    evidence = events[-1]["answer"]["evidence"]
    assert {triple["id"] for triple in evidence["triples"]} <= set(shown)
    passages = {passage["id"] for event in walked for passage in event["passages"]}
    assert {passage["id"] for passage in evidence["passages"]} <= passages


def test_communities_clues_and_mind_maps_are_told() -> None:
    told = {
        name: [event for event in events_of(CASES[name]) if event["type"] == "walked"]
        for name in ("fasttog", "fiske", "coggrag")
    }
    assert any(event["boxes"] for event in told["fasttog"])
    assert [row["status"] for row in next(e["clues"] for e in reversed(told["fiske"]) if e["clues"])].count("mapped")
    questions = next(event["questions"] for event in reversed(told["coggrag"]) if event["questions"])
    assert questions[0]["parent"] == ""
    assert all(one["solved"] for one in questions)


def test_a_recorder_that_goes_on_repeats_nothing() -> None:
    case = CASES["tog2"]
    events = events_of(case)
    recorder = Recorder(case.knowledge(), events)
    triples = [triple["id"] for event in events if event["type"] == "walked" for triple in event["triples"]]
    update = {"entity_prune": {"hops": [{"triples": triples}], "round": 1}}
    assert list(recorder.read("updates", update)) == []


def test_long_texts_are_cut_wherever_they_stand() -> None:
    assert bounded({"a": ["x" * 10, ("y" * 10,)], "b": 3}, 5) == {"a": ["xxxx…", ["yyyy…"]], "b": 3}


def test_a_shared_page_names_what_may_run_and_fetches_nothing() -> None:
    page = page_of_run({"question": "<b>", "method": "m", "model": "m", "status": "unknown", "events": []})
    assert "default-src 'none'" in page
    assert page.count("'sha256-") == 3
    assert "import " not in page.split("'use strict'")[1]
    assert "<title>&lt;b&gt;</title>" in page
    hosted = page_for_hosts()
    assert "import " not in hosted.split("'use strict'")[1]
    assert "<script type=" not in hosted


def test_what_is_vendored_is_what_was_fetched_and_small() -> None:
    spec = importlib.util.spec_from_file_location("vendor_ui", ROOT / "scripts" / "vendor_ui.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.changed() == []
    licences = (STATIC / "vendor" / "LICENSES.txt").read_text("utf-8")
    assert all(name in licences for name in ("cytoscape ", "cytoscape-fcose ", "@dagrejs/dagre "))
    assert sum(path.stat().st_size for path in STATIC.rglob("*") if path.is_file()) <= MOST_BYTES


def test_the_modules_name_no_other_place() -> None:
    for path in STATIC.glob("*"):
        text = path.read_text("utf-8") if path.is_file() else ""
        found = text.replace("http://www.w3.org/2000/svg", "")
        assert "://" not in found, path
        assert "innerHTML" not in found, path


def test_a_notebook_shows_an_answer_in_a_frame_that_reaches_nothing() -> None:
    answer = events_of(CASES["tog2"])[-1]["answer"]
    shown = tg.show(answer)._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert 'sandbox="allow-scripts"' in shown
    assert shown.count('"') == 12, "the page ends no attribute"


def test_a_page_is_saved_whole(tmp_path: Path) -> None:
    answer = events_of(CASES["tog2"])[-1]["answer"]
    file = tg.save_page(answer, tmp_path / "why.html")
    assert answer["text"] in file.read_text("utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["why.html"]
    with pytest.raises(tg.ThinkGraphError, match="cannot be written"):
        tg.save_page(answer, tmp_path / "nowhere" / "why.html")
