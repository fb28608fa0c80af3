"""Labels, passages and questions are other people's text: whatever stands in them, the page shows it and does nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from ui.conftest import TOKEN, Browse, app_of, ended, open_page, served

from thinkgraph.ingest.build import build_kb
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.ui.share import page_of_run

SCRIPT = "<script>window.hurt=1</script>"
IMAGE = "<img src=x onerror=window.hurt=1>"
TERMINAL = "\x1b[31mred"
TURNED = "\u202egnp.exe\u061c"
HIDDEN = {"\x1b", "\r", "\u202e", "\u061c"}
HUGE = "y" * 1_000_000
QUESTION = f"What is the capital of Panama? {SCRIPT} {TURNED} {TERMINAL}"
ROWS = [
    ("Panama", "capital", "Panama City"),
    ("Panama", SCRIPT, IMAGE),
    ("Panama", "borders", TURNED),
    ("Panama", "flag", TERMINAL),
    ("Panama", "motto", HUGE),
    ("Panama", "quote", "</script><svg onload=window.hurt=1>"),
    ("Panama", "mark", "`${window.hurt=1}` {{7*7}}"),
]
PASSAGE = f"{IMAGE} The capital of Panama is Panama City. {TURNED} {TERMINAL}\r\n{HUGE[:600_000]}"


def hostile_kb(folder: Path) -> Path:
    """A knowledge base with such labels, and a passage."""
    rows = [{"subject": s, "relation": r, "object": o} for s, r, o in ROWS]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    texts = [
        {
            "id": "p1",
            "entities": ["Panama"],
            "title": f"{SCRIPT} {TERMINAL}",
            "text": PASSAGE,
        }
    ]
    (folder / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in texts), "utf-8")
    build_kb(folder / "kb", triples=[folder / "rows.jsonl"], passages=[folder / "texts.jsonl"])
    return folder / "kb"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Knowledge]:
    with Knowledge.open(hostile_kb(tmp_path_factory.mktemp("hostile"))) as knowledge:
        yield knowledge


def test_what_goes_to_the_browser_is_bounded(hostile: Knowledge) -> None:
    with TestClient(app_of(served(hostile)), base_url="http://127.0.0.1:8421") as client:
        client.get(f"/?token={TOKEN}")
        thread = client.post("/api/runs", json={"question": QUESTION}).json()["thread"]
        ended(client, thread)
        assert len(client.get(f"/api/runs/{thread}").content) < 500_000
        near = client.post("/api/look/neighbours", json={"entity": "Panama"})
        assert len(near.content) < 50_000


def test_nothing_that_stands_in_a_graph_runs(hostile: Knowledge, browse: Browse, tmp_path: Path) -> None:
    def unhurt(page: Any) -> None:
        assert page.evaluate("window.hurt") is None
        assert page.locator("main script:not([type]), main img, main svg[onload]").count() == 0
        assert not HIDDEN & set(page.locator("body").inner_text())

    with open_page(browse, app_of(served(hostile))) as seen:
        page = seen.page
        page.get_by_label("Question", exact=True).fill(QUESTION)
        page.get_by_role("button", name="Ask", exact=True).click()
        page.locator(".answer").wait_for()
        page.get_by_text("The graph as a list").click()
        page.get_by_text("Passages read").click()
        page.locator(".passages h4", has_text=SCRIPT).first.wait_for()
        unhurt(page)
        shown = page.locator("h1").inner_text()
        assert SCRIPT in shown
        assert shown.endswith("\ufffd[31mred")
        assert page.locator(".passages").evaluate("one => one.scrollWidth <= one.clientWidth"), "long words are broken"
        page.get_by_role("link", name="Knowledge").click()
        page.get_by_label("Find entities").fill(f"Panama {SCRIPT}")
        page.keyboard.press("Enter")
        page.locator(".panel h2").wait_for()
        page.wait_for_timeout(500)
        unhurt(page)


def test_a_question_of_a_megabyte_is_refused_in_a_line(hostile: Knowledge, browse: Browse) -> None:
    with open_page(browse, app_of(served(hostile))) as seen:
        page = seen.page
        page.get_by_label("Question", exact=True).fill(f"{TERMINAL} {HUGE}")
        page.get_by_role("button", name="Ask", exact=True).click()
        problem = page.locator(".ask .problem")
        problem.wait_for()
        assert problem.inner_text() == "a request has at most 100,000 bytes"
        (refused,) = seen.complaints
        assert "status of 400" in refused
        seen.complaints.clear()


def test_a_shared_file_holds_it_as_text(browse: Browse, tmp_path: Path) -> None:
    evil = f"{SCRIPT}</script><!--<script>{TURNED}"
    triple = {
        "id": evil, "subject": "a", "relation": "r", "object": "b", "subject_label": evil, "relation_label": evil,
        "object_label": HUGE[:5_000], "literal": False, "qualifiers": [[evil, evil]],
    }  # fmt: skip
    walked = {
        "type": "walked", "step": "x", "round": 1, "starts": [{"id": "a", "label": evil, "description": evil}], "triples": [triple], "more": 0,
        "evidence": [evil], "passages": [{"id": evil, "title": evil, "section": "", "text": f"{evil}\r\n{TERMINAL}\rend", "start": 0, "end": 5}], "boxes": [],
        "clues": None, "questions": None, "cost": 0.0, "at": 1.0,
    }  # fmt: skip
    told = {"type": "constructor", "at": 2.0}
    run = {"question": evil, "method": evil, "model": evil, "status": evil, "events": [walked, told]}
    file = tmp_path / "evil.html"
    file.write_text(page_of_run(run), "utf-8")
    page = browse(file.as_uri(), offline=True).page
    page.locator("h1").wait_for()
    assert page.evaluate("window.hurt") is None
    assert page.locator("h1").inner_text().startswith(SCRIPT)
    page.get_by_text("Passages read").wait_for()
    (passage,) = page.locator(".passages .passage p").all_inner_texts()
    assert passage.endswith("gnp.exe\ufffd\n\ufffd[31mred\ufffdend"), "the end of a line is no mark"
