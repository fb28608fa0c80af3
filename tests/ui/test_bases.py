"""Several knowledge bases to choose from: each run, look-up and change has its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from graphs.cases import ROWS
from starlette.testclient import TestClient
from ui.conftest import QUESTION, TOKEN, Browse, app_of, ended, open_page, served

from thinkgraph.cli.main import main
from thinkgraph.errors import StoreError
from thinkgraph.ingest.build import build_kb
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.ui.runs import Served

PANAMA = "What is the capital of Panama?"


@pytest.fixture
def several(world: Knowledge, tmp_path: Path) -> Iterator[Served]:
    """`world` and a small one, whose Panama has a capital of its own."""
    rows = [*ROWS, ("Panama", "capital of old", "Portobelo")]
    (tmp_path / "rows.tsv").write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")
    build_kb(tmp_path / "small", triples=[tmp_path / "rows.tsv"])
    with Knowledge.open(tmp_path / "small") as small:
        yield replace(served(world), more_knowledge={str(tmp_path / "small"): small})


def test_a_run_stays_with_the_knowledge_it_was_asked_of(several: Served) -> None:
    with TestClient(app_of(several), base_url="http://127.0.0.1:8421") as client:
        client.get(f"/?token={TOKEN}")
        bases = client.get("/api/about").json()["knowledge"]
        assert [one["name"] for one in bases] == ["world", "small"]
        small = bases[1]["kb"]
        asked = {"question": PANAMA, "knowledge": small, "settings": {"max_calls": 60}}
        assert client.post("/api/estimate", json=asked).json()["words"]
        thread = client.post("/api/runs", json=asked).json()["thread"]
        run = ended(client, thread)
        assert run["knowledge"] == small
        assert run["events"][-1]["answer"]["answers"] == ["Panama City"]
        first = client.get(f"/api/runs/{thread}/moments").json()[0]["id"]
        forked = client.post(f"/api/runs/{thread}/fork", json={"checkpoint": first, "question": PANAMA}).json()
        assert ended(client, forked["thread"])["knowledge"] == small
        assert (
            ended(client, client.post("/api/runs", json={"question": QUESTION}).json()["thread"])["knowledge"]
            == "world"
        )
        for query, count in ((f"?of={small}", 0), (f"?run={thread}", 0), ("", 1)):
            found = client.post(f"/api/look/find_entities{query}", json={"text": "Suriname"}).json()["entities"]
            assert [one["label"] for one in found].count("Suriname") == count
        assert client.get(f"/api/indexed?of={small}").json()["lines"][0].split() == ["name", "small"]
        for path, body in (
            ("/api/runs", {"question": PANAMA, "knowledge": "/etc"}),
            ("/api/look/find_entities?of=/etc", {"text": "x"}),
        ):
            assert "no knowledge '/etc'" in client.post(path, json=body).json()["error"]


def test_a_base_that_cannot_be_read_leaves_the_others(
    several: Served, browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = "the server of small does not answer"
    (base,) = several.more_knowledge.values()
    monkeypatch.setattr(base.graph, "info", Mock(side_effect=StoreError(gone)))
    with open_page(browse, app_of(several)) as seen:
        page = seen.page
        page.get_by_label("Knowledge", exact=True).select_option("small")
        page.get_by_text(f"small · {gone}").wait_for()
        page.get_by_label("Knowledge", exact=True).select_option("world")
        page.get_by_text("world · 3,140 entities").wait_for()


def test_what_is_indexed_is_not_told_of_another_base_in_its_place(several: Served, tmp_path: Path) -> None:
    folder = tmp_path / "small"
    (tmp_path / "more.tsv").write_text("Panama\tborders\tColombia\n", "utf-8")
    with TestClient(app_of(several), base_url="http://127.0.0.1:8421") as client:
        client.get(f"/?token={TOKEN}")
        build_kb(folder, triples=[tmp_path / "more.tsv"], replace=True)
        told = client.get(f"/api/indexed?of={folder}").json()
    assert told == {"error": f"{folder} was replaced while it was open; open the knowledge base again"}


def test_passages_from_elsewhere_are_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ui", "--no-browser", "--kb", "world", "--kb", "x", "--text", "chroma:y?collection=z&entity=e"]) == 2
    assert "give --kb once" in capsys.readouterr().err


def test_ask_and_knowledge_offer_them(browse: Browse, several: Served) -> None:
    with open_page(browse, app_of(several)) as seen:
        page = seen.page
        page.get_by_label("Question", exact=True).fill(PANAMA)
        page.get_by_label("Knowledge", exact=True).select_option("small")
        assert "small · " in page.locator("form.ask").inner_text()
        seen.shot("bases-ask")
        page.get_by_role("button", name="Ask", exact=True).click()
        page.locator(".answer .part").first.wait_for()
        assert "Panama City" in page.locator(".answer").inner_text()
        page.get_by_role("link", name="Knowledge").click()
        page.get_by_text("What is indexed").click()
        page.locator(".indexed pre", has_text="embedder").wait_for()
        assert "1,185 of 1,185 passages" in page.locator(".indexed").inner_text()
        page.get_by_label("Knowledge base").select_option("small")
        page.get_by_label("Find entities").fill("Panama")
        page.get_by_role("button", name="Find").click()
        page.locator(".panel", has_text="Portobelo").wait_for()
        page.get_by_text("What is indexed").click()
        page.locator(".indexed pre", has_text="passages     none").wait_for()
        seen.shot("bases-knowledge")
        page.get_by_label("Find entities").fill("Zzyzx")
        page.get_by_role("button", name="Find").click()
        page.get_by_text("Nothing of that name.").wait_for()
        assert page.locator(".panel").inner_text() == ""
        assert page.locator(".picture .hint").is_visible()
