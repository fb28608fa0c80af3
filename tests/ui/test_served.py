"""The page on a LangGraph server: mounted below /page, with a token of its own, over what the environment configures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from thinkgraph.ui import served

ROOT = Path(__file__).parents[2]


def test_the_configuration_names_the_application_and_the_example_with_tokens_does_not() -> None:
    named = json.loads((ROOT / "langgraph.json").read_text("utf-8"))["http"]["app"]
    assert (ROOT / named.partition(":")[0]).is_file()
    assert named.endswith("thinkgraph/ui/served.py:app")
    example = json.loads((ROOT / "examples" / "auth" / "langgraph.json").read_text("utf-8"))
    assert example["http"]["app"] == "./auth.py:app"


def test_it_lies_below_page_and_asks_for_its_own_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(served.TOKEN, "mine")
    monkeypatch.setenv(served.HOSTS, "graphs.example")
    monkeypatch.setenv("THINKGRAPH_MODEL", "offline")
    with TestClient(served.make_app(), base_url="http://graphs.example") as client:
        assert client.get("/page/").status_code == 401
        assert client.get("/page/?token=mine").url.path == "/page/"
        assert "thinkgraph" in client.get("/page/").text
        assert client.get("/page/static/app.js").status_code == 200
        assert client.get("/page/api/about").json()["models"] == ["offline"]
        assert client.get("/page/", headers={"host": "other.example"}).status_code == 403
        assert client.get("/").status_code == 404


def test_a_host_may_be_named_with_its_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(served.TOKEN, "mine")
    monkeypatch.setenv(served.HOSTS, "graphs.example:2024,[fd00::1]:2024")
    for base in ("http://graphs.example:2024", "http://[fd00::1]:2024"):
        assert TestClient(served.make_app(), base_url=base).get("/page/?token=mine").status_code == 200
