"""Several models to choose from: what the page offers, that each answers, and how they are compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from model_server import ModelServer
from starlette.testclient import TestClient
from ui.conftest import QUESTION, TOKEN, Browse, app_of, ended, open_page, served

from thinkgraph.cli.main import main
from thinkgraph.models.offline import OfflineChatModel
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.ui import served as mounted
from thinkgraph.ui.runs import Served

KEY = "sk-of-nobody-else"
LARGE = "openai:large"
NAMES = ["openai:small", LARGE, "offline"]
ALL = "async () => (await (await fetch('api/runs')).json()).length"


@pytest.fixture
def several(world: Knowledge, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """Two models of one server beside the offline one."""
    with ModelServer(chat_model=OfflineChatModel()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield replace(served(world, NAMES[0]), more_models=NAMES[1:2])


def test_each_model_can_be_asked_and_no_key_is_told(several: Served) -> None:
    with TestClient(app_of(several), base_url="http://127.0.0.1:8421") as client:
        client.get(f"/?token={TOKEN}")
        assert client.get("/api/about").json()["models"] == NAMES
        threads = {
            name: client.post("/api/runs", json={"question": QUESTION, "model": name}).json()["thread"]
            for name in NAMES
        }
        for name, thread in threads.items():
            run = ended(client, thread)
            assert run["model"] == name
            assert run["events"][-1]["answer"]["model"] == name
        told = [client.get(f"/api/runs/{threads[LARGE]}/{file}").text for file in ("share.html", "run.json")]
        assert KEY not in "".join([client.get("/api/about").text, *told])
        wrong = client.post("/api/runs", json={"question": QUESTION, "model": "openai:huge"})
        assert f"known: {', '.join(NAMES)}" in wrong.json()["error"]


def test_a_model_that_cannot_be_used_is_named_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ui", "--no-browser", "--model", "offline", "--model", "nobody:none"]) != 0
    said = capsys.readouterr().err
    assert "error: " in said
    assert "nobody" in said


def test_a_server_names_its_models_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THINKGRAPH_MODEL", "offline")
    monkeypatch.setenv(mounted.MODELS, "openai:small, openai:large")
    found = mounted.opened()
    with found.knowledge:
        assert list(found.models) == ["offline", "openai:small", LARGE]


def test_models_are_compared_with_their_evidence_and_cost(browse: Browse, several: Served) -> None:
    with open_page(browse, app_of(several)) as seen:
        page = seen.page
        page.get_by_label("Question", exact=True).fill(QUESTION)
        page.get_by_text("Compare with").click()
        page.locator(".tick", has_text=LARGE).locator("input").check()
        page.get_by_role("button", name="Ask", exact=True).click()
        page.locator(".figures .chip").nth(1).wait_for(timeout=40_000)
        heads = page.locator(".figures thead th").all_inner_texts()
        assert heads == ["Run", "Answer", "Status", "Evidence", "Time", "Cost"]
        for name, row in zip(NAMES[:2], page.locator(".figures tbody tr").all(), strict=True):
            words = dict(zip(heads, row.locator("th, td").all_inner_texts(), strict=True))
            assert name in words["Run"]
            assert words["Evidence"].endswith((" line", " lines"))
            assert "calls · " in words["Cost"]
            assert "tokens" in words["Cost"]
        seen.shot("models")


def test_no_run_is_started_that_could_not_be_shown(browse: Browse, several: Served) -> None:
    with open_page(browse, app_of(several)) as seen:
        page = seen.page
        page.get_by_label("Question", exact=True).fill(QUESTION)
        page.get_by_text("Compare with").click()
        ticks = page.locator(".tick input")
        assert ticks.count() == 6
        for tick in ticks.all():
            tick.check()
        page.get_by_role("button", name="Ask", exact=True).click()
        page.get_by_role("alert").get_by_text("untick 2").wait_for()
        assert page.evaluate(ALL) == 0
        for tick in ticks.all()[:2]:
            tick.uncheck()
        page.get_by_role("button", name="Ask", exact=True).click()
        page.locator(".figures .chip").nth(4).wait_for(timeout=40_000)
        assert page.locator(".column").count() == page.evaluate(ALL) == 5
