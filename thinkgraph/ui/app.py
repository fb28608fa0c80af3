"""The page's ASGI application: its files, its interface in JSON, and a run's events as they come."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from thinkgraph.cli.kb.info import indexed
from thinkgraph.cli.show import json_text
from thinkgraph.errors import KnowledgeError, ThinkGraphError, UsageError
from thinkgraph.graphs.registry import find_method
from thinkgraph.integrations.langchain.lookups import LookUp, look_ups
from thinkgraph.integrations.mcp.tools import CLIENT_SETTINGS, checked
from thinkgraph.plot.picture import picture_of
from thinkgraph.plot.svg import svg_of
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.settings import resolve_settings
from thinkgraph.tools.addresses import redacted
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.ui.live import told
from thinkgraph.ui.runs import Desk, Served
from thinkgraph.ui.security import LOCAL, Guard
from thinkgraph.ui.share import page_of_run
from thinkgraph.ui.walk import bounded
from thinkgraph.version import VERSION

STATIC = Path(__file__).parent / "static"
MOST_BYTES = 100_000
"""Longest request."""

Work = Callable[[Desk, Request, dict[str, Any]], Any]


def create_app(
    opened: Callable[[], Served],
    *,
    token: str,
    cookie: str = "thinkgraph",
    hosts: Collection[str] = LOCAL,
    desk: Desk | None = None,
) -> Starlette:
    """The page as an ASGI application.

    Args:
        opened: gives what is served; called once, at the first request that needs it.
        token: opens the page (`/?token=…`); without the cookie that it sets, nothing is to be had.
        cookie: name of that cookie.
        hosts: names under which the page may be asked for.
        desk: the one to use; by default it is made with what `opened` gives.
    """
    desks: list[Desk] = [desk] if desk else []
    opening = threading.Lock()

    def found() -> Desk:
        with opening:
            if not desks:
                desks.append(Desk(opened()))
            return desks[0]

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        for one in desks:
            await run_in_threadpool(one.close)

    def api(work: Work) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            return await _worked(found, work, request)

        return endpoint

    async def events(request: Request) -> Response:
        return await _followed(found, request)

    routes = [
        Route("/", _index),
        Route("/api/about", api(_about)),
        Route("/api/indexed", api(_indexed)),
        Route("/api/estimate", api(lambda desk, _, given: {"words": desk.estimate(given)}), methods=["POST"]),
        Route("/api/runs", api(lambda desk, *_: bounded(desk.history()[:200], 300))),
        Route("/api/runs", api(lambda desk, _, given: {"thread": desk.ask(given)}), methods=["POST"]),
        Route("/api/runs/{thread}", api(lambda desk, request, _: desk.run(request.path_params["thread"]))),
        Route("/api/runs/{thread}/events", events),
        Route("/api/runs/{thread}/moments", api(_moments)),
        Route("/api/runs/{thread}/{doing:str}", api(_do), methods=["POST"]),
        Route("/api/runs/{thread}/{file:str}", api(_file)),
        Route("/api/look/{name}", api(_look), methods=["POST"]),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    guard = Middleware(Guard, token=token, cookie=cookie, hosts=hosts)
    return Starlette(routes=routes, middleware=[guard], lifespan=lifespan)


async def _index(_request: Request) -> Response:
    return FileResponse(STATIC / "index.html", headers={"cache-control": "no-store"})


async def _worked(desk: Callable[[], Desk], work: Work, request: Request) -> Response:
    """An answer of the interface; what went wrong is one line."""
    try:
        given = await _body(request)
        found = await run_in_threadpool(lambda: work(desk(), request, given))
    except Exception as error:  # noqa: BLE001 - it is told, and in the log
        return JSONResponse(
            {"error": told(request.url.path, error)}, 400 if isinstance(error, ThinkGraphError) else 500
        )
    if isinstance(found, Response):
        return found
    return Response(_json(found), media_type="application/json", headers={"cache-control": "no-store"})


async def _body(request: Request) -> dict[str, Any]:
    if request.method == "GET":
        return {}
    parts, size = [], 0
    try:
        async for part in request.stream():
            parts.append(part)
            size += len(part)
            if size > MOST_BYTES:
                raise UsageError(f"a request has at most {MOST_BYTES:,} bytes")
    except ClientDisconnect:
        raise UsageError("the request was cut off") from None
    try:
        body = json.loads(b"".join(parts) or b"{}")
    except (ValueError, RecursionError):
        raise UsageError("the request is no JSON") from None
    if not isinstance(body, dict):
        raise UsageError("the request is a JSON object")
    return body


async def _followed(desk: Callable[[], Desk], request: Request) -> Response:
    """A run's events from a number on as server-sent events, until it rests."""
    given = request.headers.get("last-event-id") or request.query_params.get("after", "")
    after = int(given) + 1 if re.fullmatch(r"\d{1,9}", given) else 0
    found = await run_in_threadpool(desk)
    live = found.live(request.path_params["thread"])
    if live is None:
        return Response(status_code=204)  # tells the browser not to ask again

    async def sent() -> AsyncIterator[str]:
        async for one in live.follow(after):
            yield ": alive\n\n" if one is None else f"id: {one[0]}\ndata: {_json(one[1])}\n\n"
        if live.done:
            yield "event: rest\ndata: {}\n\n"

    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(sent(), media_type="text/event-stream", headers=headers)


def _json(value: Any) -> str:
    """JSON on one line; what is no whole character, as broken labels have it, stays readable by being escaped."""
    return json_text(value, ensure_ascii=True, separators=(",", ":"))


def _about(desk: Desk, _request: Request, _given: dict[str, Any]) -> dict[str, Any]:
    """What the page may be asked, and with what."""
    served = desk.served
    return {
        "version": VERSION,
        "knowledge": [{"kb": kb, **_counts(knowledge)} for kb, (_, knowledge) in served.bases.items()],
        "models": list(served.models),
        "methods": [_method(name, fixed, served.asks(name)) for name, fixed in served.fixed.items()],
    }


def _counts(knowledge: Knowledge) -> dict[str, Any]:
    """What a knowledge base holds; of one that cannot be read why, so that the others and the runs can still be seen."""
    counts, problem = dict.fromkeys(("entities", "triples", "relations", "passages"), -1), ""
    try:
        graph, text = knowledge.graph.info(), knowledge.text
        counts = {name: graph[name] for name in ("entities", "triples", "relations")}
        counts["passages"] = text.info()["passages"] if text else 0
    except KnowledgeError as error:
        problem = told("/api/about", error)
    name = bounded(redacted(knowledge.name), 200)
    return {"name": name, **counts, "problem": problem, "looks": list(look_ups(knowledge))}


def _base(desk: Desk, request: Request) -> tuple[str, Knowledge]:
    """The knowledge base that a request is about: the one it names (`of`), that of a run, or the default."""
    name, thread = (request.query_params.get(key, "") for key in ("of", "run"))
    return desk.base_of(thread) if thread else desk.served.base(name)


def _indexed(desk: Desk, request: Request, _given: dict[str, Any]) -> dict[str, Any]:
    """What `thinkgraph kb info` says of a knowledge base."""
    kb, knowledge = _base(desk, request)
    lines = indexed(knowledge, kb, desk.served.options["text"])
    return {"lines": [bounded(redacted(line)) for line in lines]}


def _method(name: str, fixed: Mapping[str, Any], asks: Mapping[str, Any]) -> dict[str, Any]:
    """A method with the settings that a page may choose, as their schema has them."""
    method = find_method(name)
    schema = method.settings.model_json_schema()["properties"]
    values = resolve_settings(method.settings, {**fixed, **asks}).model_dump()
    free = [one for one in CLIENT_SETTINGS if one in schema and (one.startswith("max_") or one not in fixed)]
    settings = {one: {**schema[one], "default": values[one]} for one in (*asks, *free)}
    return {"name": name, "title": method.title, "summary": method.summary, "settings": settings}


def _do(desk: Desk, request: Request, given: dict[str, Any]) -> dict[str, Any]:
    thread, doing = request.path_params["thread"], request.path_params["doing"]
    match doing:
        case "stop":
            desk.stop(thread)
        case "resume":
            desk.resume(thread)
        case "fork":
            return {"thread": desk.fork(thread, given)}
        case "reply":
            if not isinstance(reply := given.get("reply"), str) or not reply.strip():
                raise UsageError("the reply is empty")
            desk.resume(thread, reply)
        case _:
            raise UsageError(f"a run is stopped, resumed, replied to or forked, not '{one_line(doing)}'")
    return {"thread": thread}


def _moments(desk: Desk, request: Request, _given: dict[str, Any]) -> Any:
    return bounded(desk.moments(request.path_params["thread"]))


def _file(desk: Desk, request: Request, _given: dict[str, Any]) -> Response:
    """A run to keep or to send: a page, a picture, or its events."""
    thread, file = request.path_params["thread"], request.path_params["file"]
    match file:
        case "share.html":
            body, kind = page_of_run(desk.run(thread)), "text/html; charset=utf-8"
        case "picture.svg":
            answer = desk.answer(thread)
            body, kind = svg_of(answer, picture_of(answer)), "image/svg+xml"
        case "run.json":
            body, kind = json_text(desk.run(thread), ensure_ascii=True, indent=1), "application/json"
        case _:
            raise UsageError(f"a run is shared as share.html, picture.svg or run.json, not as '{one_line(file)}'")
    # As a file: the browser saves it and does not show it as a page of ours.
    name = f"{thread}-{file}"
    # A header has no other letters than Latin ones (RFC 6266).
    named = f'filename="{name}"' if name.isascii() else f"filename*=UTF-8''{quote(name)}"
    headers = {"content-disposition": f"attachment; {named}", "cache-control": "no-store"}
    return Response(body, media_type=kind, headers=headers)


def _look(desk: Desk, request: Request, given: dict[str, Any]) -> Any:
    """One of the look-ups that tools have, by the same arguments."""
    (_, knowledge), name = _base(desk, request), request.path_params["name"]
    if name not in look_ups(knowledge):
        raise UsageError(f"there is no look-up '{one_line(name)}' here; known: {', '.join(look_ups(knowledge))}")
    return bounded(dict(cast("LookUp", checked(name, given)).look_up(knowledge)))
