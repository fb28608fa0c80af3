"""A local server that streams as each provider's API does, and the five providers' forms."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from local_http import InThread, LocalServer
from pydantic import SecretStr

TEXT = '{"numbers": [1, 2]}'
PIECES = [TEXT[:6], TEXT[6:11], TEXT[11:]]
USED = (21, 9)
"""Tokens that every server reports, hidden ones included."""


@dataclass(frozen=True)
class Said:
    """What a server says: pieces of text, the provider's word for why it ends, and where it stalls."""

    finish: str
    pieces: Sequence[str] = tuple(PIECES)
    refusal: str = ""
    stall: int | None = None
    """Send so many events, then nothing more."""
    drip: float | None = None
    """Send the first events, and then one again for ever, every so many seconds."""
    error: tuple[int, Mapping[str, Any]] | None = None
    """A status and a body instead."""


@dataclass(frozen=True)
class Wire:
    """A provider's API, as far as one streamed reply goes."""

    name: str
    environment: Mapping[str, str]
    """`{url}` stands for the server's address."""
    make: Callable[[str], BaseChatModel]
    events: Callable[[Said], list[bytes]]
    schema: Callable[[Mapping[str, Any]], Any]
    limit: Callable[[Mapping[str, Any]], Any]
    temperature: Callable[[Mapping[str, Any]], Any]
    finishes: Mapping[str, str]
    """The provider's words, and ours; `failed` is no end of a reply."""
    kind: str = "text/event-stream"


def _sse(*values: Any, done: bool = False) -> list[bytes]:
    events = [f"data: {json.dumps(value)}\n\n".encode() for value in values]
    return [*events, b"data: [DONE]\n\n"] if done else events


def _openai_events(said: Said) -> list[bytes]:
    head = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "service_tier": "default",
    }

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {
            **head,
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
            "usage": None,
        }

    name = "refusal" if said.refusal else "content"
    pieces = [said.refusal[:5], said.refusal[5:]] if said.refusal else said.pieces
    details = {"completion_tokens_details": {"reasoning_tokens": 4}}
    usage = {"prompt_tokens": USED[0], "completion_tokens": USED[1], "total_tokens": sum(USED), **details}
    chunks = [chunk({"role": "assistant", "content": "", "refusal": None}), *(chunk({name: piece}) for piece in pieces)]
    return _sse(*chunks, chunk({}, said.finish), {**head, "choices": [], "usage": usage}, done=True)


def _responses_events(said: Said) -> list[bytes]:
    kind = "completed" if said.finish == "stop" else "incomplete"
    details = None if said.finish == "stop" else {"reason": said.finish}
    counts = {"input_tokens": USED[0], "output_tokens": USED[1], "total_tokens": sum(USED)}
    hidden = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 4}}
    empty = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": [], "tools": []}
    begun = {**empty, "parallel_tool_calls": True, "tool_choice": "auto", "status": "in_progress"}
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    if said.refusal:
        part = {"type": "refusal", "refusal": said.refusal}
        deltas = [{"type": "response.refusal.delta", **place, "delta": said.refusal}]
        done = {"type": "response.refusal.done", **place, "refusal": said.refusal}
    else:
        text = "".join(said.pieces)
        part = {"type": "output_text", "text": text, "annotations": []}
        deltas = [{"type": "response.output_text.delta", **place, "delta": piece} for piece in said.pieces]
        done = {"type": "response.output_text.done", **place, "text": text}
    output = [{**item, "status": kind, "content": [part]}]
    ended = {**begun, "status": kind, "incomplete_details": details, "output": output, "usage": {**counts, **hidden}}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *deltas,
        done,
        {"type": f"response.{kind}", "response": ended},
    ]
    return _sse(*({**event, "sequence_number": number} for number, event in enumerate(events)))


def _mistral_events(said: Said) -> list[bytes]:
    head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}

    def chunk(text: str, finish: str | None = None, **more: Any) -> dict[str, Any]:
        delta = {"role": "assistant", "content": text}
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}

    usage = {"prompt_tokens": USED[0], "completion_tokens": USED[1], "total_tokens": sum(USED)}
    return _sse(chunk(""), *map(chunk, said.pieces), chunk("", said.finish, usage=usage), done=True)


def _anthropic_events(said: Said) -> list[bytes]:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-m", "content": []}
    begun = {
        **message,
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": USED[0], "output_tokens": 1},
    }
    ended = {"stop_reason": said.finish, "stop_sequence": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
            for piece in said.pieces
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"input_tokens": USED[0], "output_tokens": USED[1]}},
        {"type": "message_stop"},
    ]
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]


def _ollama_events(said: Said) -> list[bytes]:
    head = {"model": "m", "created_at": "2026-01-01T00:00:00.000000Z"}
    parts = [{**head, "message": {"role": "assistant", "content": piece}, "done": False} for piece in said.pieces]
    counts = {"prompt_eval_count": USED[0], "eval_count": USED[1], "total_duration": 9, "load_duration": 1}
    last = {**head, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": said.finish, **counts}
    return [(json.dumps(part) + "\n").encode() for part in (*parts, last)]


def _google_events(said: Said) -> list[bytes]:
    def chunk(text: str, **more: Any) -> dict[str, Any]:
        content = {"parts": [{"text": text}], "role": "model"}
        usage = {"promptTokenCount": USED[0], "totalTokenCount": USED[0]}
        return {"candidates": [{"content": content, "index": 0, **more}], "usageMetadata": usage, "modelVersion": "m"}

    counts = {"promptTokenCount": USED[0], "candidatesTokenCount": USED[1] - 4, "thoughtsTokenCount": 4}
    usage = {**counts, "totalTokenCount": sum(USED)}
    if said.finish.startswith("blocked "):
        feedback = {"blockReason": said.finish.removeprefix("blocked ")}
        return _sse({"promptFeedback": feedback, "usageMetadata": {"promptTokenCount": USED[0]}, "modelVersion": "m"})
    return _sse(*map(chunk, said.pieces), {**chunk("", finishReason=said.finish), "usageMetadata": usage})


def _openai(url: str) -> BaseChatModel:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="m", base_url=f"{url}/v1", api_key=SecretStr("k"), max_retries=0)


def _responses(url: str) -> BaseChatModel:
    from langchain_openai import ChatOpenAI

    key = SecretStr("k")
    return ChatOpenAI(model="m", base_url=f"{url}/v1", api_key=key, max_retries=0, use_responses_api=True)


def _anthropic(url: str) -> BaseChatModel:
    from langchain_anthropic import ChatAnthropic

    return ChatAnthropic(
        model_name="claude-m", base_url=url, api_key=SecretStr("k"), max_retries=0, timeout=None, stop=None
    )


def _ollama(url: str) -> BaseChatModel:
    from langchain_ollama import ChatOllama

    return ChatOllama(model="m", base_url=url, num_ctx=4096)


def _google(url: str) -> BaseChatModel:
    from langchain_google_genai import ChatGoogleGenerativeAI

    return ChatGoogleGenerativeAI(model="gemini-2.5-flash", base_url=url, google_api_key=SecretStr("k"), max_retries=1)


def _mistral(url: str) -> BaseChatModel:
    from langchain_mistralai import ChatMistralAI

    return ChatMistralAI(model_name="m", endpoint=f"{url}/v1", api_key=SecretStr("k"), max_retries=1)


def _form(body: Mapping[str, Any]) -> Any:
    return body["response_format"]["json_schema"]["schema"]


WIRES = {
    "openai": Wire(
        name="openai:m",
        environment={"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": "k"},
        make=_openai,
        events=_openai_events,
        schema=_form,
        limit=lambda body: body["max_completion_tokens"],
        temperature=lambda body: body["temperature"],
        finishes={
            "stop": "stop",
            "length": "length",
            "content_filter": "filtered",
            "tool_calls": "tools",
            "function_call": "tools",
            "insufficient_system_resource": "failed",
        },
    ),
    "anthropic": Wire(
        name="anthropic:claude-m",
        environment={"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_KEY": "k"},
        make=_anthropic,
        events=_anthropic_events,
        schema=lambda body: body["output_config"]["format"]["schema"],
        limit=lambda body: body["max_tokens"],
        temperature=lambda body: body["temperature"],
        finishes={
            "end_turn": "stop",
            "stop_sequence": "stop",
            "max_tokens": "length",
            "refusal": "filtered",
            "model_context_window_exceeded": "length",
            "tool_use": "tools",
            "pause_turn": "stop",
        },
    ),
    "ollama": Wire(
        name="ollama:m",
        environment={"OLLAMA_HOST": "{url}"},
        make=_ollama,
        events=_ollama_events,
        schema=lambda body: body["format"],
        limit=lambda body: body["options"]["num_predict"],
        temperature=lambda body: body["options"]["temperature"],
        finishes={"stop": "stop", "length": "length"},
        kind="application/x-ndjson",
    ),
    "google_genai": Wire(
        name="google_genai:gemini-2.5-flash",
        environment={"GOOGLE_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": "{url}"},
        make=_google,
        events=_google_events,
        schema=lambda body: body["generationConfig"]["responseJsonSchema"],
        limit=lambda body: body["generationConfig"]["maxOutputTokens"],
        temperature=lambda body: body["generationConfig"]["temperature"],
        finishes={
            "STOP": "stop",
            "MAX_TOKENS": "length",
            "SAFETY": "filtered",
            "RECITATION": "filtered",
            "PROHIBITED_CONTENT": "filtered",
            "BLOCKLIST": "filtered",
            "SPII": "filtered",
            "LANGUAGE": "filtered",
            "IMAGE_SAFETY": "filtered",
            "IMAGE_PROHIBITED_CONTENT": "filtered",
            "blocked PROHIBITED_CONTENT": "filtered",
            "blocked OTHER": "filtered",
            "OTHER": "failed",
            "MALFORMED_RESPONSE": "failed",
            "MALFORMED_FUNCTION_CALL": "failed",
            "UNEXPECTED_TOOL_CALL": "failed",
            "FINISH_REASON_UNSPECIFIED": "failed",
        },
    ),
    "mistralai": Wire(
        name="mistralai:m",
        environment={"MISTRAL_BASE_URL": "{url}/v1", "MISTRAL_API_KEY": "k"},
        make=_mistral,
        events=_mistral_events,
        schema=_form,
        limit=lambda body: body["max_tokens"],
        temperature=lambda body: body["temperature"],
        finishes={
            "stop": "stop",
            "length": "length",
            "model_length": "length",
            "tool_calls": "tools",
            "error": "failed",
        },
    ),
}

RESPONSES = replace(
    WIRES["openai"],
    make=_responses,
    events=_responses_events,
    schema=lambda body: body["text"]["format"]["schema"],
    limit=lambda body: body["max_output_tokens"],
    finishes={"stop": "stop", "max_output_tokens": "length", "content_filter": "filtered"},
)
"""OpenAI's other API."""


class WireServer(InThread):
    """Answers every POST as a provider would, and keeps the bodies."""

    def __init__(self, wire: Wire, said: Said) -> None:
        self.wire = wire
        self.said = said
        self.bodies: list[dict[str, Any]] = []
        super().__init__(0, _Handler)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"


class _Handler(BaseHTTPRequestHandler):
    server: LocalServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""

    def do_POST(self) -> None:
        """Stream one reply."""
        owner: WireServer = self.server.owner
        said = owner.said
        owner.bodies.append(json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0))))
        status, body = said.error or (200, None)
        self.send_response(status)
        self.send_header("Content-Type", owner.wire.kind if body is None else "application/json")
        self.end_headers()
        if body is not None:
            self.wfile.write(json.dumps(body).encode())
            return
        events = owner.wire.events(said)
        for event in events[: said.stall]:
            self.wfile.write(event)
        if said.stall is not None and said.drip is None:
            owner.wait(60)
        while said.drip is not None and not owner.wait(said.drip):
            self.wfile.write(events[(said.stall or 1) - 1])


def wire_of(provider: str) -> Wire:
    """A provider's wire, where its LangChain package is installed: the wheel's environments have OpenAI's alone."""
    pytest.importorskip(f"langchain_{provider}")
    return WIRES[provider]
