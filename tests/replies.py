"""What the model server can be told to answer: texts and faults."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Where = Literal["head", "body"]


@dataclass(frozen=True)
class Reply:
    """A text, as the model would say it."""

    text: str
    input_tokens: int | None = None
    """None: estimated from the request's characters."""
    output_tokens: int | None = None
    latency: float = 0.0
    """Seconds before it is sent, added to the server's own."""
    tool_calls: Sequence[Mapping[str, Any]] = ()
    """Tools the model wants called: `name`, `args` (an object), `id`."""
    cut: bool = False
    """Whether the limit on its length ended it."""

    @property
    def finish(self) -> str:
        """OpenAI's reason why the reply ends."""
        return "tool_calls" if self.tool_calls else "length" if self.cut else "stop"

    def message(self) -> dict[str, Any]:
        """The message in OpenAI's form."""
        said: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.tool_calls:
            said["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": json.dumps(call["args"], ensure_ascii=False)},
                }
                for call in self.tool_calls
            ]
        return said


@dataclass(frozen=True)
class Fault:
    """An error response, with the code and message an OpenAI-compatible server would send."""

    status: int
    message: str
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    latency: float = 0.0
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the error."""

    def body(self) -> dict[str, Any]:
        """The JSON body of the response."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {"message": self.message, "type": kind, "param": None, "code": self.code or None, **self.more}}


@dataclass(frozen=True)
class Drop:
    """Close the connection: before the head of the response, or in the midst of its body."""

    at: Where = "body"


@dataclass(frozen=True)
class Hang:
    """Send nothing for so many seconds (or until the server stops), then close the connection."""

    seconds: float = 3600.0


@dataclass(frozen=True)
class Garbage:
    """A response of status 200 whose body is no JSON."""

    body: bytes = b"<html>upstream said \xff\xfe"


@dataclass(frozen=True)
class Raw:
    """Bytes straight into the connection, in place of a response: it is closed after them."""

    pieces: Callable[[bytes], Iterable[bytes]]
    """What to send, the status line first, made of the body that `of` would be streamed as."""
    of: Reply
    pause: float = 0.0
    """Seconds after every piece."""
    reset: bool = False
    """Whether the connection is reset in the end, not closed."""


Answer = str | Reply | Fault | Drop | Hang | Garbage | Raw
"""A plain string is a Reply without more."""


def too_many(retry_after: float | None = 0.0) -> Fault:
    """429, with Retry-After unless that is None."""
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
    return Fault(429, "Rate limit reached for requests", "rate_limit_exceeded", headers)


def server_error(status: int = 500) -> Fault:
    """A failure of the server's own."""
    return Fault(status, "The server had an error while processing your request")


def unsupported(parameter: str) -> Fault:
    """400, as a model answers that does not know `response_format`, or refuses `temperature`."""
    return Fault(
        400, f"Unsupported parameter: '{parameter}' is not supported with this model.", "unsupported_parameter"
    )


def thinking(text: str, thought: str = "Let me look at option [1] {first}.") -> str:
    """A reply behind the thoughts that a reasoning model writes first."""
    return f"<think>\n{thought}\n</think>\n\n{text}"
