"""A server that sends without end, or what is no completion: the call fails in time, in a line, and keeps no thread."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from local_http import InThread
from models.test_client import ASKED, BARE

from thinkgraph.models.client import client_for
from thinkgraph.models.failures import classify
from thinkgraph.models.wire import body, watch

SHORT = replace(BARE, timeout=0.6)
MODES = ("sync", "async")


def chunk(text: Any, **more: Any) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": "stop" if more else None}
    return b"data: " + json.dumps({"id": "x", "model": "m", "choices": [choice], **more}).encode() + b"\n\n"


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Nothing."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        server: Endless = self.server.owner  # type: ignore[attr-defined]
        self.send_response(server.status)
        self.send_header("Content-Type", "text/event-stream")
        if server.encoding:
            self.send_header("Content-Encoding", server.encoding)
        self.end_headers()
        while not server.stopping:
            self.wfile.write(server.piece)
            if not server.again:
                break
            time.sleep(server.pause)


class Endless(InThread):
    """Sends the same piece again and again."""

    def __init__(
        self, piece: bytes, *, pause: float = 0.0, status: int = 200, again: bool = True, encoding: str = ""
    ) -> None:
        super().__init__(0, _Handler)
        self.piece, self.pause, self.status, self.again, self.encoding = piece, pause, status, again, encoding

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()


@pytest.fixture
def failed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Asks a server; the message of the failure, and whether it can pass."""

    def ask(server: Endless, mode: str, options: Any = SHORT, *, named: bool = True) -> tuple[str, bool]:
        with server:
            monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.port}/v1")
            client = client_for("openai:m" if named else ChatOpenAI(model="m", max_retries=0))
            try:
                reply = (
                    asyncio.run(client.ainvoke(ASKED, options, {}))
                    if mode == "async"
                    else client.invoke(ASKED, options, {})
                )
            except Exception as error:
                failure = classify(error)
                if failure is None:
                    raise
            else:
                pytest.fail(f"a reply: {reply}")
            _no_thread_waits()
            return failure.message, failure.passing

    return ask


def _no_thread_waits() -> None:
    until = time.monotonic() + 20
    while any(thread.name == "thinkgraph-call" for thread in threading.enumerate()):
        assert time.monotonic() < until, "a call goes on that nobody waits for"
        time.sleep(0.02)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "piece", [b"x", b": still here\n\n", chunk(""), chunk("a")], ids=["byte", "comment", "empty", "token"]
)
def test_a_server_that_drips_is_left_in_time(failed: Any, piece: bytes, mode: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(watch, "MOST_SILENCES", 2)
    began = time.monotonic()
    assert failed(Endless(piece, pause=0.05), mode) == ("TimeoutError: no reply in time", True)
    assert time.monotonic() - began < 30
    total = replace(SHORT, timeout=100, total=0.6)
    assert failed(Endless(piece, pause=0.05), mode, total) == ("TimeoutError: no reply in time", True)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("piece", [b"x" * 5000, b"x\n" * 2500, chunk("") * 50], ids=["line", "lines", "chunks"])
def test_a_response_without_end_is_refused_at_its_cap(failed: Any, piece: bytes, mode: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(body, "LONGEST_RESPONSE", 100_000)
    said, passing = failed(Endless(piece), mode, BARE)
    assert (said, passing) == ("ConnectionError: the response is longer than 100,000 bytes", True)


@pytest.mark.parametrize("mode", MODES)
def test_a_small_response_that_unpacks_to_a_large_one_is_refused(failed: Any, mode: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(body, "LONGEST_RESPONSE", 100_000)
    bomb = gzip.compress(b"x" * 1_000_000)
    assert len(bomb) < 2000
    said, _ = failed(Endless(bomb, again=False, encoding="gzip"), mode, BARE)
    assert said == "ConnectionError: the response is longer than 100,000 bytes"


@pytest.mark.parametrize("mode", MODES)
def test_of_a_refusal_only_the_beginning_is_read(failed: Any, mode: str) -> None:
    said, passing = failed(Endless(b'{"error": "no such model"} ' + b" " * 4000, status=404), mode, BARE)
    assert "404" in said
    assert not passing


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "events",
    [
        b"data: 5\n\n",
        b"data: " + b"[" * 100_000 + b"\n\n",
        b"[" * 100_000,
        b'data: {"choices": 5}\n\n',
        b'data: {"choices": [5]}\n\n',
        b'data: {"choices": [{"delta": 5}]}\n\n',
        b'data: {"choices": [{"delta": {"tool_calls": [{"index": {}}]}}]}\n\n',
        b'data: {"choices": [{"index": ' + b"9" * 5000 + b"}]}\n\n",
        chunk(5),
        chunk(["a"]),
        chunk("a", usage="x"),
        chunk("a", usage={"prompt_tokens_details": 5}),
        b'data: {"choi',
        b"",
        b"\xff\xfe",
    ],
)
def test_what_is_no_completion_fails_in_a_line_and_is_asked_for_again(failed: Any, events: bytes, mode: str) -> None:
    said, passing = failed(Endless(events, again=False), mode, BARE)
    assert said.startswith(("the response is no chat completion: ", "ConnectionError: the stream ended"))
    assert passing


@pytest.mark.parametrize("mode", MODES)
def test_a_body_that_is_not_compressed_as_it_says_is_asked_for_again(failed: Any, mode: str) -> None:
    said, passing = failed(Endless(chunk("a"), again=False, encoding="gzip"), mode, BARE)
    assert "DecodingError" in said
    assert passing


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("piece", "encoding"),
    [
        (b"", ""),
        (b'{"id": "x", "cho', ""),
        (b"<html>busy</html>", ""),
        (b'data: {"choi', ""),
        (b'data: {"choi\n\n', ""),
        (b"data: [DONE]\n\n", ""),
        (b"\xff\xfe{\x00", ""),
        (b"no gzip", "gzip"),
        (gzip.compress(chunk("a"))[:-20], "gzip"),
    ],
    ids=["empty", "cut", "page", "cut-line", "cut-event", "done", "bytes", "no-gzip", "cut-gzip"],
)
def test_a_chat_model_of_ones_own_is_asked_again_too(
    failed: Any, piece: bytes, encoding: str, mode: str, monkeypatch: Any
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    said, passing = failed(Endless(piece, again=False, encoding=encoding), mode, BARE, named=False)
    assert said
    assert passing


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("status", "sent", "said"),
    [
        (404, '{"detail": "Not Found"}', "Error code: 404 - Not Found"),
        (404, '{"error": "no such model"}', "Error code: 404 - no such model"),
        (404, '[{"error": {"message": "no such model"}}]', "Error code: 404 - no such model"),
        (422, '{"detail": [{"loc": ["body", "top_k"], "msg": "too many"}]}', "Error code: 422 - body.top_k: too many"),
        (502, "<html><title>502 Bad Gateway</title><hr></html>", "Error code: 502 - 502 Bad Gateway"),
        (
            400,
            '{"error": {"message": "Provider returned error", "metadata": {"raw": "no response_format here"}}}',
            "Error code: 400 - Provider returned error: no response_format here",
        ),
        (400, '{"error": {"message": "no", "metadata": {"raw": {"detail": "top_k"}}}}', "Error code: 400 - no: top_k"),
        (404, "", "Error code: 404"),
        (404, '{"detail": null}', 'Error code: 404 - {"detail": null}'),
    ],
)
def test_a_refusal_is_told_in_its_own_words(failed: Any, status: int, sent: str, said: str, mode: str) -> None:
    assert failed(Endless(sent.encode(), status=status, again=False), mode)[0] == said
