"""`thinkgraph ui` as a process of its own: its address, who is let in, and its end."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from cli.conftest import PROGRAM, environment
from model_server import ModelServer
from replies import Hang
from ui.conftest import QUESTION

from thinkgraph.cli.main import main
from thinkgraph.ingest.build import build_kb

ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+/)\?token=(\S+)")


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The page over two knowledge bases with two models, of which one does not answer."""
    (tmp_path / "rows.tsv").write_text("Panama\tcapital\tPanama City\n", "utf-8")
    build_kb(tmp_path / "small", triples=[tmp_path / "rows.tsv"])
    words = ["ui", "--no-browser", "--port", "0", "--model", "offline", "--model", "openai:test"]
    words += ["--kb", "world", "--kb", str(tmp_path / "small")]
    with ModelServer(lambda _: Hang()) as server:
        env = environment({"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"})
        with subprocess.Popen([*PROGRAM, *words], env=env, stderr=subprocess.PIPE, text=True) as started:
            yield started
            started.kill()


def test_it_prints_its_address_lets_in_who_has_it_and_ends_at_ctrl_c(process: Any) -> None:
    found = next(filter(None, map(ADDRESS.search, process.stderr)))
    root, token = found.groups()
    with httpx.Client(base_url=root, trust_env=False) as client:
        assert client.get("/").status_code == 401
        assert client.get("/", params={"token": "wrong"}).status_code == 401
        page = client.get("/", params={"token": token}, follow_redirects=True)
        assert (page.status_code, page.url.query) == (200, b"")
        assert "<title>thinkgraph</title>" in page.text
        about = client.get("/api/about").json()
        assert about["models"] == ["offline", "openai:test"]
        assert [one["name"] for one in about["knowledge"]] == ["world", "small"]
        for foreign in ({"origin": "http://evil.example"}, {"host": "evil.example"}):
            assert client.get("/api/about", headers=foreign).status_code == 403
        assert "thread" in client.post("/api/runs", json={"question": QUESTION}).json()
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=30)
    assert process.returncode == 130
    assert rest == "thinkgraph: error: interrupted; unfinished runs are kept\n"


def test_ctrl_c_ends_a_page_that_watches_a_run_without_a_word_more(process: Any) -> None:
    root, token = next(filter(None, map(ADDRESS.search, process.stderr))).groups()
    with httpx.Client(base_url=root, trust_env=False) as client:
        client.get("/", params={"token": token}, follow_redirects=True)
        asked = {"question": QUESTION, "method": "coggrag", "model": "openai:test"}
        thread = client.post("/api/runs", json=asked).json()["thread"]
        with client.stream("GET", f"/api/runs/{thread}/events") as followed:
            lines = followed.iter_lines()
            assert next(lines) == "id: 0"
            process.send_signal(signal.SIGINT)
            assert "event: rest" not in list(lines), "the run has not come to rest"
    _, rest = process.communicate(timeout=30)
    assert process.returncode == 130
    assert rest == "thinkgraph: error: interrupted; unfinished runs are kept\n"


def test_without_a_web_server_it_says_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["ui", "--no-browser"]) == 2
    assert "needs a web server: pip install 'thinkgraph[ui]'" in capsys.readouterr().err
