"""What a model server can do wrong: each fault is made of the reply that would have been right."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from replies import Answer, Drop, Fault, Garbage, Hang, Raw, Reply, thinking

Make = Callable[[Reply], Answer]
INVENTED = "Atlantis"
"""What no answer may say: faults say it."""
_SAYS = {"sufficient": True, "answers": [INVENTED], "evidence": [1]}
_STATUS = (300, 302, 307, 400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 413, 415, 418, 422, 424, 425, 429, 451, 499,
           500, 501, 502, 503, 504, 507, 520, 522, 524, 529, 599, 999)  # fmt: skip
_WAITS = ("0", "1", "-5", "1e300", "nan", "soon", "Wed, 21 Oct 2015 07:28:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT")
_MEGABYTE = 1_000_000


def _head(kind: str = "text/event-stream", *more: str, status: str = "200 OK") -> bytes:
    return "\r\n".join((f"HTTP/1.1 {status}", f"Content-Type: {kind}", *more, "", "")).encode("latin-1")


def _raw(pieces: Callable[[bytes], Iterable[bytes]], *, pause: float = 0.0, reset: bool = False) -> Make:
    return lambda reply: Raw(pieces, reply, pause, reset)


def _body(change: Callable[[bytes], bytes], *more: str, kind: str = "text/event-stream", reset: bool = False) -> Make:
    """A response of status 200 with what becomes of the right body."""
    return _raw(lambda body: [_head(kind, *more), change(body)], reset=reset)


def _text(text: str | Callable[[str], str], tokens: int | None = None) -> Make:
    """Another reply, sent as it should be."""
    return lambda reply: replace(reply, text=text if isinstance(text, str) else text(reply.text), output_tokens=tokens)


def _events(*values: Any) -> Make:
    """These events, and no others."""
    said = b"".join(
        b"data: " + (one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n\n" for one in values
    )
    return _body(lambda _: said + b"data: [DONE]\n\n")


def _chunk(delta: Any, finish: str | None = "stop", **more: Any) -> dict[str, Any]:
    return {"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def _for_ever(piece: bytes, head: bytes) -> Make:
    def pieces(_: bytes) -> Iterator[bytes]:
        yield head
        while True:
            yield piece

    return lambda reply: Raw(pieces, reply, 0.0 if len(piece) > 1000 else 0.2)


_SAYING = json.dumps(_chunk({"content": json.dumps(_SAYS)})).encode()
_HALF = json.dumps(_SAYS)[:-12]


def _of_status() -> Iterator[tuple[str, Make]]:
    for status in _STATUS:
        yield f"status {status}", lambda _, status=status: Fault(status, f"no, {INVENTED}")
    for wait in _WAITS:
        yield f"429, Retry-After {wait}", lambda _, wait=wait: Fault(429, "slow down", headers={"Retry-After": wait})
    yield "503, Retry-After 0", lambda _: Fault(503, "busy", headers={"Retry-After": "0"})
    yield "quota is spent", lambda _: Fault(429, "You exceeded your current quota", "insufficient_quota")
    yield "content filter", lambda _: Fault(400, "content management policy", "content_filter")
    yield "window of 1 token", lambda _: Fault(400, "maximum context length is 1 tokens", "context_length_exceeded")
    yield "window, no number", lambda _: Fault(400, "the prompt is too long", "context_length_exceeded")
    yield (
        "refuses response_format",
        lambda _: Fault(400, "Unsupported parameter: 'response_format'", "unsupported_parameter"),
    )
    yield (
        "refuses what nobody sent",
        lambda _: Fault(400, "Unsupported parameter: 'frobnicate'", "unsupported_parameter"),
    )
    yield "a refusal of 3 MB", lambda _: Fault(400, "x" * 3 * _MEGABYTE)
    yield "a refusal of many lines", lambda _: Fault(500, "Traceback (most recent call last):\n  File\n" * 50)
    yield "page with status 502", _raw(lambda _: [_head("text/html", status="502 Bad Gateway"), b"<html>busy</html>"])
    yield "204", _raw(lambda _: [_head(status="204 No Content")])
    yield (
        "redirect to itself",
        _raw(lambda _: [_head("text/html", "Location: /v1/chat/completions", status="307 Temporary")]),
    )
    yield "100 without end", _for_ever(b"HTTP/1.1 100 Continue\r\n\r\n", b"")


def _of_transport() -> Iterator[tuple[str, Make]]:
    yield "closed before the head", lambda _: Drop("head")
    yield "closed in the body", lambda _: Drop("body")
    yield "hangs", lambda _: Hang(30)
    for name, count in (("status line", 6), ("head", 30)):
        yield f"closed in the {name}", _raw(lambda _, count=count: [_head()[:count]])
        yield f"reset in the {name}", _raw(lambda _, count=count: [_head()[:count]], reset=True)
    yield "reset at once", _raw(lambda _: [], reset=True)
    for share in (0, 30, 60, 95):
        yield f"closed at {share} % of the body", _body(lambda body, share=share: body[: len(body) * share // 100])
        yield (
            f"reset at {share} % of the body",
            _body(lambda body, share=share: body[: len(body) * share // 100], reset=True),
        )
    yield "closed before DONE", _body(lambda body: body.removesuffix(b"data: [DONE]\n\n"))
    yield "shorter than its length", _body(lambda body: body[:-1], "Content-Length: 999999")
    yield "longer than its length", _body(lambda body: body, "Content-Length: 50")
    yield "length of no number", _body(lambda body: body, "Content-Length: many")
    yield "negative length", _body(lambda body: body, "Content-Length: -1")
    yield "two lengths", _body(lambda body: body, "Content-Length: 3", "Content-Length: 50")
    yield "wrong chunks", _body(lambda body: b"zz\r\n" + body, "Transfer-Encoding: chunked")
    yield "a chunk without end", _body(lambda body: b"ffffffff\r\n" + body, "Transfer-Encoding: chunked")
    yield "unknown transfer", _body(lambda body: body, "Transfer-Encoding: telepathy")
    yield "not HTTP", _raw(lambda _: [b"SSH-2.0-OpenSSH_9.2\r\n"])
    yield "HTTP/0.9", _raw(lambda body: [body])
    yield "a header of 1 MB", _body(lambda body: body, "X: " + "x" * _MEGABYTE)
    yield "10,000 headers", _body(lambda body: body, *(f"X-{n}: x" for n in range(10_000)))
    yield "header without colon", _body(lambda body: body, "colon")
    yield "drips bytes", _for_ever(b"x", _head())
    yield "drips comments", _for_ever(b": still here\n\n", _head())
    yield "drips its head", _for_ever(b"x", b"HTTP/1.1 200 OK\r\nX: ")
    yield "flood of lines", _for_ever(b"x\n" * 50_000, _head())
    yield "flood without a line", _for_ever(b"x" * 100_000, _head())


def _of_encoding() -> Iterator[tuple[str, Make]]:
    yield "gzip that is none", _body(lambda body: body, "Content-Encoding: gzip")
    yield "gzip cut off", _body(lambda body: gzip.compress(body)[:-20], "Content-Encoding: gzip")
    yield "gzip, flipped", _body(lambda body: gzip.compress(body)[:30] + b"\0" * 20, "Content-Encoding: gzip")
    yield "gzip bomb", _body(lambda _: gzip.compress(b"x" * 200 * _MEGABYTE, 1), "Content-Encoding: gzip")
    yield "deflate that is none", _body(lambda body: body, "Content-Encoding: deflate")
    yield "br that is none", _body(lambda body: body, "Content-Encoding: br")
    yield "packed twice, said once", _body(lambda body: zlib.compress(zlib.compress(body)), "Content-Encoding: deflate")
    yield "unknown encoding", _body(lambda body: body, "Content-Encoding: rot13")
    yield "an image", _body(lambda _: b"\x89PNG\r\n\x1a\n" + bytes(200), kind="image/png")
    yield "right, as text/plain", _body(lambda body: body, kind="text/plain")
    yield (
        "right, as UTF-16",
        _body(lambda body: body.decode().encode("utf-16"), kind="text/event-stream; charset=utf-16"),
    )
    yield "no content type", _raw(lambda body: [b"HTTP/1.1 200 OK\r\n\r\n", body])
    yield "byte order mark", _body(lambda body: b"\xef\xbb\xbf" + body)
    yield "not UTF-8", _body(lambda body: body.replace(b'"content": "', b'"content": "\xff\xfe'))
    yield "NULs between", _body(lambda body: body.replace(b"\n\n", b"\0\n\n"))
    yield "bytes", lambda _: Garbage()
    yield "a page with status 200", lambda _: Garbage(b"<html>sign in</html>")
    yield "empty", lambda _: Garbage(b"")
    yield "null", lambda _: Garbage(b"null")
    yield "a list", lambda _: Garbage(b"[]")
    yield "an object", lambda _: Garbage(json.dumps(_SAYS).encode())
    yield "an error with status 200", lambda _: Garbage(b'{"error": {"message": "overloaded", "code": 503}}')
    yield "100,000 brackets", lambda _: Garbage(b"[" * 100_000)


def _of_stream() -> Iterator[tuple[str, Make]]:
    yield (
        "an error in the stream",
        _body(lambda body: body[:200] + b'\n\ndata: {"error": {"message": "server_error"}}\n\n'),
    )
    yield "no choices", _events({"id": "x", "choices": []})
    yield "choices are null", _events({"id": "x", "choices": None})
    yield "choices are a number", _events({"choices": 5})
    yield "delta is a number", _events({"choices": [{"delta": 5}]})
    yield "content is a number", _events(_chunk({"content": 7}))
    yield "content is a list", _events(_chunk({"content": [INVENTED]}))
    yield "content is an object", _events(_chunk({"content": {"text": INVENTED}}))
    yield "index of 10^5000", _events(b'{"choices": [{"index": ' + b"9" * 5000 + b"}]}")
    yield "half a character", _events(_chunk({"content": "\ud83d"}))
    yield "events twice", _body(lambda body: body.removesuffix(b"data: [DONE]\n\n") + body)
    yield "events in reverse", _body(lambda body: b"\n\n".join(body.split(b"\n\n")[::-1]))
    yield "every other event", _body(lambda body: b"\n\n".join(body.split(b"\n\n")[::2]) + b"\n\ndata: [DONE]\n\n")
    yield "two choices", _events({"choices": [{"index": 1, "delta": {"content": INVENTED}, "finish_reason": "stop"}]})
    yield "said by the user", _events(_chunk({"role": "user", "content": "{"}))
    yield (
        "a tool nobody has",
        lambda reply: replace(reply, tool_calls=[{"name": "rm", "args": {"path": "/"}, "id": "1"}]),
    )
    yield "a tool without name", _events(_chunk({"tool_calls": [{"index": {}}]}))
    yield "refused", _events(_chunk({"refusal": f"I cannot say {INVENTED}", "content": None}))
    yield "filtered", _events(_chunk({"content": _HALF}, "content_filter"))
    yield "cut at its limit", _events(_chunk({"content": _HALF}, "length"))
    yield "unknown finish", _events(_chunk({"content": _HALF}, "tired"))
    for name, count in (
        ("10^30", 10**30),
        ("-5", -5),
        ("1.5", 1.5),
        ("text", "many"),
        ("null", None),
        ("10^4000", 10**4000),
    ):
        usage = {"prompt_tokens": count, "completion_tokens": count, "total_tokens": count}
        yield f"usage {name}", lambda reply, usage=usage: Raw(_with_usage(usage), reply)
    yield "usage NaN", _body(lambda body: body.replace(b'"prompt_tokens": 1', b'"prompt_tokens": NaN, "x": 1'))
    yield "usage is a list", lambda reply: Raw(_with_usage([1]), reply)


def _with_usage(usage: Any) -> Callable[[bytes], Iterable[bytes]]:
    def pieces(body: bytes) -> list[bytes]:
        kept = [event for event in body.split(b"\n\n") if b'"usage"' not in event]
        return [
            _head(),
            b"\n\n".join([*kept[:-2], b"data: " + json.dumps({"choices": [], "usage": usage}).encode(), *kept[-2:]]),
        ]

    return pieces


def _of_text() -> Iterator[tuple[str, Make]]:
    yield "no text", _text("")
    yield "blanks", _text(" \n\t " * 50)
    yield "refusal", _text("I'm sorry, but I can't help with that.")
    yield "prose", _text(f"The answer is clearly {INVENTED}, see option 1.")
    yield "JSON cut off", _text(lambda text: text[: len(text) * 2 // 3])
    yield "invented, cut off", _text(_HALF)
    yield "wrong JSON", _text(lambda text: text.replace('"', "'").replace(":", "="))
    yield "wrong schema", _text(json.dumps({"result": {"answer": INVENTED, "confidence": 1}}))
    yield "a list of it", _text(lambda text: f"[{text}, {text}]")
    yield "numbers out of range", _text('{"numbers": [999], "scores": [[999, 10]], "pairs": [[99, 99]]}')
    yield "wrong types", _text('{"sufficient": "perhaps", "answers": {"a": 1}, "evidence": "all", "numbers": "x"}')
    yield "the prompt's schema", _text('{"type": "object", "properties": {"answers": {"type": "array"}}}')
    yield "invented, nothing cited", _text(json.dumps({**_SAYS, "evidence": []}))
    yield "invented, wrong citation", _text(json.dumps({**_SAYS, "evidence": [999]}))
    yield "2 MB", _text("x " * _MEGABYTE)
    yield "20 MB of right reply", _text(lambda text: text + " " * 20 * _MEGABYTE)
    yield "900 lists deep", _text("[" * 900 + "]" * 900)
    yield "thoughts", _text(lambda text: thinking(text, INVENTED))
    yield "thoughts without end", _text(f"<think>{INVENTED} " * 500)
    yield "the same for ever", _text("and so on " * 20_000)
    yield "in fences", _text(lambda text: f"Sure!\n```json\n{text}\n```\nHope this helps.")
    yield "control characters", _text(lambda text: "\x1b[31m\x07" + text)


def faults() -> dict[str, Make]:
    """Every fault by its name."""
    kinds = (_of_status(), _of_transport(), _of_encoding(), _of_stream(), _of_text())
    return {name: make for kind in kinds for name, make in kind}
