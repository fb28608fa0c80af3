"""A local OpenAI-compatible model server for tests: scripted replies, faults, latency, and a history of its calls.

    with ModelServer(["hello", too_many(), "again"]) as server:
        model = ChatOpenAI(model="test", base_url=server.base_url, api_key="none")

As a process of its own, `python tests/model_server.py --history calls.jsonl` echoes what it is asked. It prints its base URL as
its first line and serves until it gets SIGINT or SIGTERM.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, TextIO

from known_roles import role_of
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import convert_to_messages
from local_http import InThread, LocalServer
from replies import Answer, Drop, Fault, Garbage, Hang, Raw, Reply

from thinkgraph.models.offline.rule_based import estimate_tokens
from thinkgraph.prompts.parsed import kind_asked

__all__ = ["ModelServer", "ServedCall", "answers_of", "asked_in_order", "asked_twice", "main"]

_CHUNK = 24


@dataclass
class ServedCall:
    """One request to /v1/chat/completions, and how it was answered."""

    number: int
    """Order of arrival, from 0."""
    received: float
    """Seconds since the epoch."""
    messages: list[dict[str, Any]]
    role: str
    """Role and kind as the prompt's words tell them; empty where they do not."""
    kind: str
    parameters: dict[str, Any]
    """The request's other fields (model, temperature, response_format …)."""
    in_flight: int
    """Calls being answered when this one came, itself included."""
    answered: float | None = None
    """None until the whole response is sent, and for good where the connection was dropped or hung up."""
    status: int = 0
    """That of a reply stands here from its first byte on: who has read the last one may look at once."""
    reply: str = ""

    @property
    def text(self) -> str:
        """The last message's text."""
        content = self.messages[-1].get("content") if self.messages else ""
        return content if isinstance(content, str) else json.dumps(content)


def asked_twice(calls: Sequence[ServedCall]) -> list[ServedCall]:
    """The first requests of those that were made again."""
    first: dict[str, ServedCall] = {}
    firsts = [first.setdefault(json.dumps(call.messages), call) for call in calls]
    return [one for one, call in zip(firsts, calls, strict=True) if one is not call]


def asked_in_order(calls: Sequence[ServedCall], question: str) -> list[list[str]]:
    """The prompts of questions that differ in their question marks alone, each question's in order of arrival.

    A prompt that was made again right away stands there once: what was in flight at a kill.
    """
    found: dict[str, list[str]] = {}
    for call in calls:
        prompt = json.dumps(call.messages)
        asked = max(re.findall(re.escape(question) + r"\?*", prompt), key=len)
        prompts = found.setdefault(asked, [])
        if prompts[-1:] != [prompt]:
            prompts.append(prompt)
    return list(found.values())


Script = Iterable[Answer] | Callable[[ServedCall], Answer]
"""Answers in order of arrival (the last one repeats), or a function from the call to its answer."""


class ModelServer(InThread):
    """Serves /v1/chat/completions (whole and streamed) and /v1/models on 127.0.0.1.

    Args:
        script: what to answer; see Script. None with `chat_model`.
        chat_model: a chat model that answers instead.
        latency: seconds before every answer.
        history: a file to which every finished call is appended as one JSON line.
        model: the name it lists and reports.
        port: 0 picks a free one.
    """

    def __init__(
        self,
        script: Script | None = None,
        *,
        chat_model: BaseChatModel | None = None,
        latency: float = 0.0,
        history: str | Path | None = None,
        model: str = "test-model",
        port: int = 0,
    ) -> None:
        if (script is None) == (chat_model is None):
            raise ValueError("ModelServer needs either a script or a chat model")
        self.model = model
        self.latency = latency
        self.calls: list[ServedCall] = []
        """Every call so far, in order of arrival."""
        self.max_in_flight = 0
        """The most calls answered at one time."""
        self._lock = threading.Lock()
        self._flying = 0
        self._answer = answers_of(chat_model) if chat_model is not None else _scripted(script or [])
        self._history: TextIO | None = None
        if history:
            self._history = Path(history).open("a", encoding="utf-8")  # noqa: SIM115 - closed by stop()
        super().__init__(port, _Handler)

    @property
    def base_url(self) -> str:
        """What to give a client as its base URL."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def stop(self) -> None:
        """See InThread; closes the history too."""
        super().stop()
        with self._lock:
            if self._history is not None:
                self._history.close()
                self._history = None

    def begin(self, request: Mapping[str, Any]) -> ServedCall:
        """Note a call's arrival."""
        messages = [message for message in request.get("messages", []) if isinstance(message, dict)]
        system = next((str(m.get("content")) for m in messages if m.get("role") in {"system", "developer"}), "")
        with self._lock:
            self._flying += 1
            self.max_in_flight = max(self.max_in_flight, self._flying)
            call = ServedCall(
                number=len(self.calls),
                received=time.time(),
                messages=messages,
                role=role_of(system),
                kind=kind_asked(system),
                parameters={name: value for name, value in request.items() if name != "messages"},
                in_flight=self._flying,
            )
            self.calls.append(call)
        return call

    def answer(self, call: ServedCall) -> Reply | Fault | Drop | Hang | Garbage | Raw:
        """What to send for a call, after the latency it takes."""
        answer = self._answer(call)
        reply = Reply(answer) if isinstance(answer, str) else answer
        wait = self.latency + (reply.latency if isinstance(reply, Reply | Fault) else 0.0)
        if isinstance(reply, Hang):
            wait = reply.seconds
        # A stop cuts the wait short, so that a server with hanging calls closes at once.
        self.wait(wait)
        return reply

    def end(self, call: ServedCall, status: int, reply: str, *, sent: bool) -> None:
        """Note how a call ended, and append it to the history file."""
        with self._lock:
            self._flying -= 1
            call.status, call.reply = status, reply
            call.answered = time.time() if sent else None
            if self._history is not None:
                self._history.write(json.dumps(asdict(call), ensure_ascii=False) + "\n")
                self._history.flush()


def _scripted(script: Script) -> Callable[[ServedCall], Answer]:
    if callable(script):
        return script
    lock = threading.Lock()
    rest: Iterator[Answer] = iter(script)
    last: list[Answer] = []

    def following(_call: ServedCall) -> Answer:
        with lock:
            found = next(rest, None)
            if found is None:
                return last[0] if last else Fault(500, "the script is empty")
            last[:] = [found]
            return found

    return following


def answers_of(model: BaseChatModel) -> Callable[[ServedCall], Reply]:
    """A script: what a chat model says to each call."""

    def answer(call: ServedCall) -> Reply:
        messages = convert_to_messages([{**m, "content": _content(m)} for m in call.messages])
        tools = call.parameters.get("tools")
        bound = model.bind_tools(tools) if tools else model
        message = bound.invoke(messages)
        usage = message.usage_metadata
        reply = Reply(str(message.text), tool_calls=[dict(wanted) for wanted in message.tool_calls])
        if usage is None:
            return reply
        return replace(reply, input_tokens=usage["input_tokens"], output_tokens=usage["output_tokens"])

    return answer


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))


def _event(value: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


@dataclass
class _Outcome:
    status: int = 200
    text: str = ""
    sent: bool = False
    parts: list[str] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LocalServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""

    def do_GET(self) -> None:
        """List the one model."""
        if self.path.rstrip("/") != "/v1/models":
            self._json(404, {"error": {"message": f"no such path: {self.path}", "type": "invalid_request_error"}})
            return
        self._json(200, {"object": "list", "data": [{"id": self.server.owner.model, "object": "model", "created": 0}]})

    def do_POST(self) -> None:
        """Answer one call."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.rstrip("/") != "/v1/chat/completions":
            self._json(404, {"error": {"message": f"no such path: {self.path}", "type": "invalid_request_error"}})
            return
        try:
            request = json.loads(body)
        except ValueError:
            request = None
        if not isinstance(request, dict):
            self._json(400, {"error": {"message": "the body is not a JSON object", "type": "invalid_request_error"}})
            return
        owner: ModelServer = self.server.owner
        call = owner.begin(request)
        outcome = _Outcome()
        try:
            self._send(owner.answer(call), call, outcome)
            outcome.sent = outcome.status != 0
        except ConnectionError:
            self.close_connection = True
        finally:
            owner.end(call, outcome.status, outcome.text, sent=outcome.sent)

    def _send(self, reply: Reply | Fault | Drop | Hang | Garbage | Raw, call: ServedCall, outcome: _Outcome) -> None:
        match reply:
            case Reply():
                call.status, outcome.text = outcome.status, reply.text
                if call.parameters.get("stream"):
                    self._stream(reply, call)
                else:
                    self._json(200, self._completion(reply, call))
            case Fault():
                outcome.status = reply.status
                self._json(reply.status, reply.body(), reply.headers)
            case Garbage():
                self._bytes(200, reply.body, "application/json")
            case Drop():
                outcome.status = 0
                self._drop(reply)
            case Raw():
                self.close_connection = True
                self._raw(reply, call)
            case Hang():
                outcome.status = 0
                self.close_connection = True

    def _drop(self, drop: Drop) -> None:
        self.close_connection = True
        if drop.at == "body":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"id": "chatcmpl-0", "cho')
            self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

    def _usage(self, reply: Reply, call: ServedCall) -> dict[str, int]:
        asked, said = reply.input_tokens, reply.output_tokens
        if asked is None:
            asked = sum(estimate_tokens(_content(message)) for message in call.messages)
        if said is None:
            said = estimate_tokens(reply.text)
        return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}

    def _completion(self, reply: Reply, call: ServedCall) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{call.number}",
            "object": "chat.completion",
            "created": int(call.received),
            "model": self.server.owner.model,
            "choices": [{"index": 0, "message": reply.message(), "finish_reason": reply.finish}],
            "usage": self._usage(reply, call),
        }

    def _stream(self, reply: Reply, call: ServedCall) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in self._events(reply, call):
            self._piece(event)
        self._piece(b"")

    def _events(self, reply: Reply, call: ServedCall) -> Iterator[bytes]:
        """The events of a streamed reply."""
        head = {
            "id": f"chatcmpl-{call.number}",
            "object": "chat.completion.chunk",
            "created": int(call.received),
            "model": self.server.owner.model,
        }
        pieces = [reply.text[at : at + _CHUNK] for at in range(0, len(reply.text), _CHUNK)] or [""]
        deltas: list[dict[str, Any]] = [
            {"role": "assistant", "content": ""},
            *({"content": piece} for piece in pieces),
            *({"tool_calls": [{"index": n, **call}]} for n, call in enumerate(reply.message().get("tool_calls", []))),
            {},
        ]
        for n, delta in enumerate(deltas):
            finish = reply.finish if n == len(deltas) - 1 else None
            yield _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
        if (call.parameters.get("stream_options") or {}).get("include_usage"):
            yield _event({**head, "choices": [], "usage": self._usage(reply, call)})
        yield b"data: [DONE]\n\n"

    def _raw(self, raw: Raw, call: ServedCall) -> None:
        for piece in raw.pieces(b"".join(self._events(raw.of, call))):
            self.wfile.write(piece)
            if self.server.owner.wait(raw.pause):
                break
        if raw.reset:
            # Closed with time 0 to linger, a connection is reset.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def _piece(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _json(self, status: int, value: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        self._bytes(status, json.dumps(value).encode(), "application/json", headers)

    def _bytes(self, status: int, body: bytes, kind: str, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve from the command line until stopped."""
    parser = argparse.ArgumentParser(prog="model_server", description="A local model server for tests.")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free port")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before every answer")
    parser.add_argument("--history", type=Path, help="append every call to this JSONL file")
    options = parser.parse_args(arguments)
    server = ModelServer(lambda call: call.text, port=options.port, latency=options.latency, history=options.history)
    stopped = threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stopped.set())
    with server:
        sys.stdout.write(server.base_url + "\n")
        sys.stdout.flush()
        stopped.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
