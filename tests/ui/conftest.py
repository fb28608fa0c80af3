"""The page over `world` with the offline model, served by uvicorn; and headless Chromium, where there is one."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import uvicorn
from starlette.applications import Starlette
from starlette.testclient import TestClient

from thinkgraph.cli.runs import RunOptions
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.ui.app import create_app
from thinkgraph.ui.runs import Served

TOKEN = "the-token"  # noqa: S105 - of a page of this process
REQUIRED = "THINKGRAPH_UI_TESTS"
SHOTS = os.environ.get("THINKGRAPH_UI_SHOTS")
"""A folder where tests leave pictures of what they see, for whoever wants to look."""
METHODS = ("tog2", "fasttog", "fiske", "coggrag", "rag")
QUESTION = "What is the capital of Suriname?"


def served(knowledge: Knowledge, model: str = "offline", **settings: Mapping[str, Any]) -> Served:
    """What a page serves: every method of METHODS, some with settings of their own."""
    options = RunOptions(
        method="tog2",
        model=model,
        kb="world",
        text=None,
        trust_embedder=False,
        settings={},
        prompts=None,
        prices=None,
    )
    return Served(knowledge, options, {name: dict(settings.get(name, {})) for name in METHODS})


def app_of(found: Served) -> Starlette:
    """The page's application."""
    return create_app(lambda: found, token=TOKEN)


@pytest.fixture(scope="session")
def world() -> Iterator[Knowledge]:
    with Knowledge.open("world") as knowledge:
        yield knowledge


@pytest.fixture
def client(world: Knowledge) -> Iterator[TestClient]:
    """A browser that has opened the page."""
    with TestClient(app_of(served(world)), base_url="http://127.0.0.1:8421") as opened:
        assert opened.get(f"/?token={TOKEN}").status_code == 200
        yield opened


def ended(client: TestClient, thread: str, seconds: float = 60) -> dict[str, Any]:
    """The run when nothing works on it any more."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        run = client.get(f"/api/runs/{thread}").json()
        if not run["working"]:
            return run
        time.sleep(0.05)
    raise AssertionError(f"run {thread} did not end")


@contextmanager
def serving(app: Starlette) -> Iterator[str]:
    """The application on a port of this machine; gives its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    server.capture_signals = _nothing
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def chromium() -> str:
    """The browser's program; skips where there is none, unless it must be there."""
    # The shell first: with each new page the whole browser loads an address bar and its menus, which cost as much as the page.
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    try:
        import playwright.sync_api
    except ImportError:
        found = None
    else:
        del playwright
    if found is None:
        if os.environ.get(REQUIRED) == "required":
            pytest.fail("the browser tests need Debian's package chromium-headless-shell or chromium, and playwright")
        pytest.skip("no Chromium, or no playwright")
    return found


@dataclass
class Seen:
    """A browser's page, and what it complained of."""

    page: Any
    complaints: list[str]

    def shot(self, name: str) -> None:
        """Leave a picture, where somebody wants to look."""
        if SHOTS:
            self.page.screenshot(path=str(Path(SHOTS) / f"{name}.png"))


def start(seen: Seen, question: str = QUESTION, method: str = "tog2") -> None:
    """Ask, and wait for nothing."""
    page = seen.page
    page.get_by_label("Question", exact=True).fill(question)
    page.get_by_label("Method").select_option(method)
    page.get_by_role("button", name="Ask", exact=True).click()


def ask(seen: Seen, question: str = QUESTION, method: str = "tog2") -> None:
    """Ask, and wait for the answer."""
    start(seen, question, method)
    seen.page.get_by_role("heading", name="Answer", exact=True).first.wait_for()
    seen.page.wait_for_timeout(700)


Browse = Callable[..., Any]


# Not for the whole session: while Playwright's event loop runs, no other test can run one of its own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@contextmanager
def open_page(browse: Browse, app: Starlette, **options: Any) -> Iterator[Seen]:
    """A page of an application on a server of its own."""
    with serving(app) as root:
        seen = browse(f"{root}/?token={TOKEN}", **options)
        yield seen
        # A page that still asks when its server is gone complains of it.
        seen.page.context.close()


@pytest.fixture
def browse(browser: Any) -> Iterator[Browse]:
    """Opens pages; at the end none of them may have complained."""
    every: list[tuple[Any, Seen]] = []

    def opened(address: str, **options: Any) -> Seen:
        context = browser.new_context(**{"viewport": {"width": 1360, "height": 860}, **options})
        page = context.new_page()
        page.set_default_timeout(20_000)
        seen = Seen(page, [])
        page.on("console", lambda said: said.type in {"error", "warning"} and seen.complaints.append(said.text))
        page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        page.goto(address)
        every.append((context, seen))
        return seen

    yield opened
    for context, seen in every:
        context.close()
        assert not seen.complaints
