"""The page inside a chat host that shows MCP apps: a real server and client, and the bridge that hosts are built with."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import PROGRAM, environment
from node_packages import node_modules
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from ui.conftest import Browse, Seen, serving
from ui.test_hostile_page import QUESTION, SCRIPT, hostile_kb

from thinkgraph.integrations.mcp import apps

mcp = pytest.importorskip("mcp")

POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'none'; frame-src 'none'"
)
"""Of a host for a page that asks for nothing more; a frame with `srcdoc` takes it over."""
MODULES = {
    "@modelcontextprotocol/ext-apps/app-bridge": "@modelcontextprotocol/ext-apps/dist/src/app-bridge.js",
    "@modelcontextprotocol/client": "@modelcontextprotocol/client/dist/index.mjs",
    "@modelcontextprotocol/client/_shims": "@modelcontextprotocol/client/dist/shimsBrowser.mjs",
    "@modelcontextprotocol/core": "@modelcontextprotocol/core/dist/index.mjs",
    "@modelcontextprotocol/core/internal": "@modelcontextprotocol/core/dist/internal.mjs",
    "eventsource": "eventsource/dist/index.js",
    "eventsource-parser": "eventsource-parser/dist/index.js",
    "eventsource-parser/stream": "eventsource-parser/dist/stream.js",
    "pkce-challenge": "pkce-challenge/dist/index.browser.js",
    "zod/v4": "zod/v4/index.js",
}
HOST = (
    """<!doctype html><meta charset="utf-8"><title>host</title><link rel="icon" href="data:,"><style>iframe { width: 1200px; border: 0 }</style>
<script type="importmap">"""
    + json.dumps({"imports": {name: f"/node_modules/{path}" for name, path in MODULES.items()}})
    + """</script>
<script type="module">
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";
globalThis.show = async (html, hostContext) => {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.style.height = `${hostContext.containerDimensions?.height ?? 100}px`;
  document.body.replaceChildren(frame);
  const bridge = new AppBridge(null, { name: "host", version: "1" }, {}, { hostContext });
  globalThis.bridge = bridge;
  bridge.onsizechange = ({ height }) => { frame.style.height = `${height}px`; };
  const begun = new Promise((done) => { bridge.oninitialized = done; });
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = html;
  await begun;
};
</script>"""
)


def home(_request: Request) -> HTMLResponse:
    return HTMLResponse(HOST, headers={"content-security-policy": POLICY})


@pytest.fixture(scope="module")
def address(browser: Any) -> Iterator[str]:
    files = Mount("/node_modules", StaticFiles(directory=node_modules()))
    with serving(Starlette(routes=[Route("/", home), files])) as root:
        yield root


async def ask(kb: Path, *questions: str) -> tuple[str, list[dict[str, Any]]]:
    """What a host gets of the server: the page that `ask` names, and the results of calls."""
    arguments = [*PROGRAM[1:], "mcp", "--kb", str(kb), "--model", "offline"]
    server = mcp.StdioServerParameters(command=PROGRAM[0], args=arguments, env=environment())
    shows = mcp.client.advertise(apps.EXTENSION, {"mimeTypes": [apps.MIME_TYPE]})
    async with mcp.Client(mcp.stdio_client(server), read_timeout_seconds=60, extensions=[shows]) as client:
        tool = next(tool for tool in (await client.list_tools()).tools if tool.name == "ask")
        (page,) = (await client.read_resource(tool.meta["ui"]["resourceUri"])).contents
        results = [await client.call_tool("ask", {"question": question}) for question in questions]
        return page.text, [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in results]


def show(seen: Seen, html: str, **context: Any) -> Any:
    """Let the host show the page; gives the page."""
    # Not `wait_for_function`: it evaluates a text in the page when it looks again, which the page's policy refuses.
    seen.page.evaluate("async () => { while (!globalThis.show) await new Promise(requestAnimationFrame); }")
    seen.page.evaluate("([html, context]) => show(html, context)", [html, context])
    return seen.page.frame_locator("iframe")


def test_a_host_shows_the_walk_and_nothing_in_it_runs(browse: Browse, address: str, tmp_path: Path) -> None:
    with ThreadPoolExecutor() as pool:
        told = ask(hostile_kb(tmp_path), "What is the capital of Panama?", QUESTION, " ")
        html, (answered, unknown, refused) = pool.submit(asyncio.run, told).result()
    seen = browse(address)
    page = show(seen, html, theme="dark")
    tell = "([name, params]) => bridge[name](params)"
    seen.page.evaluate(tell, ["sendToolInput", {"arguments": {"question": QUESTION}}])
    page.get_by_text("Looking for an answer: ").wait_for()
    seen.page.evaluate(tell, ["sendToolResult", answered])
    part = page.locator("button.part", has_text="Panama City")
    part.click()
    assert page.locator(".cited-now").count() == 1
    assert page.locator("main script, main img, main svg[onload]").count() == 0
    assert page.locator(":root").evaluate("() => window.hurt") is None
    events = answered["_meta"][apps.EVENTS]
    assert page.locator(".moment").inner_text() == f"{len(events)} of {len(events)}"
    assert len(events) > 5
    assert seen.page.locator("iframe").bounding_box()["height"] == 720
    ground = page.locator("body")
    assert ground.evaluate("one => getComputedStyle(one).backgroundColor") == "rgb(18, 19, 26)"
    seen.page.wait_for_timeout(700)
    seen.shot("hosted")
    seen.page.evaluate(tell, ["setHostContext", {"theme": "light"}])
    page.locator(":root[style*='light']").wait_for()
    assert ground.evaluate("one => getComputedStyle(one).backgroundColor") == "rgb(251, 251, 253)"
    seen.page.evaluate(tell, ["sendToolResult", unknown])
    page.locator("h1", has_text=SCRIPT).wait_for()
    assert SCRIPT in page.locator(".panel").text_content(), "a passage's title"
    assert page.locator("main script, main img, main svg[onload]").count() == 0
    assert page.locator(":root").evaluate("() => window.hurt") is None

    # A host that keeps `_meta` to itself: the answer and its evidence.
    page = show(seen, html, containerDimensions={"height": 500})
    seen.page.evaluate(tell, ["sendToolResult", {**answered, "_meta": {}}])
    page.locator("button.part", has_text="Panama City").click()
    assert page.locator(".moment").inner_text() == "1 of 1"
    seen.page.evaluate(tell, ["sendToolResult", refused])
    page.get_by_text("the question is empty").wait_for()
    seen.page.evaluate(tell, ["sendToolCancelled", {"reason": "the user"}])
    page.get_by_text("The question was withdrawn.").wait_for()
    assert seen.page.evaluate(tell, ["teardownResource", {}]) == {}
