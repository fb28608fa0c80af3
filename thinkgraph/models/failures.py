"""Which failures of a model call can pass, and which cannot. LangGraph's default retries 400s and misses httpx 429s."""

from __future__ import annotations

import email.utils
import json
import os
import re
import time
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

_PASSING_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, *range(520, 525), 529})
"""520 to 524 are Cloudflare's: the server behind it is down, or was too slow."""
_PASSING_NAMES = ("timeout", "decodingerror", "connection", "connect", "networkerror", "remoteprotocol", "overloaded")
_PASSING_WORDS = ("overloaded", "rate_limit", "rate limit", "server_error", "api_error", "unavailable", "throttl")
"""Failures that a server tells in the middle of a stream, whose status is 200."""
_SPENT = ("insufficient_quota",)
"""How providers name, by the status of too many requests, that the money is used up."""
_FILTERS = ("content_filter", "content_policy", "responsibleaipolicy", "content management policy", "usage policy")
"""How providers name a prompt that their filters refuse."""
_PROVIDERS = frozenset(
    (
        "openai",
        "httpx",
        "httpx2",
        "httpcore",
        "anthropic",
        "google",
        "ollama",
        "mistralai",
        "groq",
        "cohere",
        "botocore",
    )
) | frozenset(
    ("langchain_openai", "langchain_anthropic", "langchain_google_genai", "langchain_ollama", "langchain_mistralai")
)
"""Packages whose exceptions come from the request."""
_READERS = {"_create_chat_result", "generate_from_stream", "agenerate_from_stream"}
"""Functions of LangChain that put a reply together of what came."""
_UNREAD = {"SSEError", "UnknownApiResponseError"}
"""What the packages under Mistral's and Gemini's models raise over a page of a proxy."""
_LOCAL = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)
"""Faults of this machine (a certificate that is not there): trying again cannot help."""
_SECRET = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
"""Ends of the names of variables whose values nobody should read."""
_SHORTEST_SECRET = 6
_LOGIN = re.compile(r"(?<=://)[^/?#@\s]+@")
"""Name and password in an address."""
_TAG = re.compile(r"<(style|script)\b.*?</\1\s*>|<[^<>]*>", re.DOTALL | re.IGNORECASE)
_RETRY_DELAY = re.compile(r"""['"]retryDelay['"]:\s*['"](\d+(?:\.\d+)?)s""")
"""How long to wait, as Gemini tells it in a body."""
_DEEPEST = 4
"""Levels below which a body's own words are not looked for."""
MAX_WAIT = 60.0
"""Longest wait before a retry, in seconds, whatever Retry-After asks for."""


class UnreadableResponseError(Exception):
    """A response of status 200 is no chat completion."""


@dataclass(frozen=True)
class Failure:
    """What is known about a failed request."""

    message: str
    """One line."""
    passing: bool
    """Whether the same request may succeed later."""
    refused: bool = False
    """Whether the server understood the request and refused its form (400, 422): a parameter may be at fault."""
    retry_after: float | None = None
    """Seconds the server asked to wait."""
    filtered: bool = False
    """Whether the provider's filter refused the content."""


def _told(said: object) -> str:
    """What a server or a library says, in one line of bounded length, without the keys and logins that some repeat."""
    text = _LOGIN.sub("", str(said))
    for name, value in os.environ.items():
        if name.endswith(_SECRET) and len(value.strip()) >= _SHORTEST_SECRET:
            text = text.replace(value.strip(), "(hidden)")
    return " ".join(text.split())[:300]


def words_of(body: Any, deepest: int = _DEEPEST) -> str:
    """What a body says of a failure, in the forms of OpenAI, FastAPI, OpenRouter and of pages; the whole of one in another form."""
    if isinstance(body, str):
        return _TAG.sub(" ", body) if body.lstrip().startswith("<") else body
    if isinstance(body, list) and body and deepest:
        return "; ".join(words_of(one, deepest - 1) for one in body[:5])
    told = body if isinstance(body, Mapping) and deepest else {}
    found = [one for name in ("error", "message", "detail", "msg") if (one := told.get(name)) and one is not True]
    if not found:
        return json.dumps(body, ensure_ascii=False)
    # FastAPI says where in the request, and OpenRouter what the provider behind it said.
    where, behind = told.get("loc"), told.get("metadata")
    said = [".".join(map(str, where)) if isinstance(where, list) else "", words_of(found[0], deepest - 1)]
    if isinstance(behind, Mapping) and behind.get("raw"):
        said.append(words_of(behind["raw"], deepest - 1))
    return ": ".join(part for part in said if part)


def _text_of(error: Exception, status: int | None) -> str:
    """What a failure says; OpenAI's SDK tells of a body only its `error.message`, Anthropic's the whole."""
    body = getattr(error, "body", None)
    if status is not None and body and type(error).__module__.startswith(("openai", "anthropic")):
        return _told(f"Error code: {status} - {words_of(body)}")
    return _told(error) or ("no reply in time" if isinstance(error, TimeoutError) else type(error).__name__)


def _answer(error: BaseException) -> Any:
    """The response that a failure carries; botocore's is a dict."""
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):
        told = response.get("ResponseMetadata") or {}
        return SimpleNamespace(status_code=told.get("HTTPStatusCode"), headers=told.get("HTTPHeaders"))
    return response


def _status(error: BaseException) -> int | None:
    for holder in (error, _answer(error)):
        for name in ("status_code", "status", "http_status", "code"):
            value = getattr(holder, name, None)
            # A stream that fails in the middle began with 200, or has no status (-1).
            if isinstance(value, int) and 300 <= value < 600:  # noqa: PLR2004 - statuses of failures
                return value
    return None


def _wait(error: BaseException) -> float | None:
    headers: Any = getattr(_answer(error), "headers", None) or getattr(error, "headers", None) or {}
    said = {str(name).casefold(): headers[name] for name in headers}
    wait = retry_after(said.get("retry-after"), said.get("date"))
    # OpenAI's and Azure's own, and the more exact one.
    if (exact := retry_after(said.get("retry-after-ms"))) is not None:
        wait = exact / 1000
    if wait is None and (told := _RETRY_DELAY.search(f"{error} {getattr(error, 'body', '')}")):
        wait = float(told[1])
    return None if wait is None else min(wait, MAX_WAIT)


def retry_after(header: object, now: object = None) -> float | None:
    """Seconds that a Retry-After header asks to wait; None where it is no number and no date.

    Args:
        header: its value.
        now: that of the Date header, by which a date is told: the server's clock need not be ours.
    """
    try:
        return max(0.0, float(str(header)))
    except ValueError:
        pass
    until = _date(header)
    return None if until is None else max(0.0, until - (_date(now) or time.time()))


def _date(header: object) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(str(header)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def _reached(error: BaseException) -> str:
    """The address a request was sent to, without credentials and query; empty where it is not known."""
    try:
        url = error.request.url  # type: ignore[attr-defined]
        return f"{url.scheme}://{url.netloc.decode()}{url.path}"
    except (AttributeError, RuntimeError, ValueError):
        return ""


def _innermost(error: BaseException) -> str:
    """What the operating system said, below the wrappers of SDK and HTTP client ("Connection refused")."""
    found = str(error)
    while error.__cause__ is not None:
        error = error.__cause__
        found = str(error) or found
    return _told(found)


def _of_response(error: BaseException) -> bool:
    """Whether a client failed over what the server had sent with status 200: cut off, empty, or of another form."""
    if isinstance(error, UnreadableResponseError | json.JSONDecodeError | UnicodeDecodeError):
        return True
    if type(error).__name__ in _UNREAD:
        return True
    # LangChain's models say so by errors of every kind (ValueError, TypeError, KeyError …), which are bugs anywhere else.
    return any(frame.f_code.co_name in _READERS for frame, _ in traceback.walk_tb(error.__traceback__))


def _unreadable(error: Exception, text: str) -> Failure:
    """A response of status 200 that is no chat completion: a page, nothing, or an error of a server behind the server."""
    said = error.args[0] if error.args else None
    code = str(said.get("code", said.get("status"))) if isinstance(said, Mapping) else ""
    status = int(code) if re.fullmatch(r"[1-5][0-9]{2}", code) else None
    if isinstance(said, Mapping):
        text = _told(words_of(said))
    number = "" if status is None else f" (code {status})"
    passing = status is None or status in _PASSING_STATUS
    message = f"the response is no chat completion: {text}{number}"
    return Failure(message, passing, refused=status in {400, 422})


def classify(error: Exception) -> Failure | None:
    """What a failed model request means; None if the exception does not come from the request (a bug: let it rise)."""
    status = _status(error)
    text = _text_of(error, status)
    if status is not None:
        message = f"HTTP {status}: {text}" if str(status) not in text else text
        refused = status in {400, 422}
        filtered = refused and _named(_FILTERS, error, text)
        passing = status in _PASSING_STATUS and not _named(_SPENT, error, text)
        return Failure(message, passing, refused and not filtered, _wait(error), filtered)
    # httpx and the SDKs wrap timeouts and dropped connections in classes of their own.
    names = " ".join(base.__name__.casefold() for base in type(error).__mro__)
    if isinstance(error, OSError | TimeoutError) or any(name in names for name in _PASSING_NAMES):
        inner, where = _innermost(error), _reached(error)
        detail = f"{text} ({inner})" if inner not in text else text
        at = f" [{where}]" if where else ""
        return Failure(f"{type(error).__name__}: {detail}{at}", passing=not isinstance(error, _LOCAL))
    if _of_response(error):
        return _unreadable(error, text)
    module = type(error).__module__.partition(".")[0]
    if module not in _PROVIDERS:
        return None
    # What Ollama's server says in the middle of a reply has the status -1.
    in_reply = getattr(error, "status_code", None) == -1
    return Failure(f"{type(error).__name__}: {text}", passing=in_reply or _named(_PASSING_WORDS, error, text))


def _named(words: Iterable[str], error: Exception, text: str) -> bool:
    """Whether a failure's text, type or code holds one of the words."""
    told = " ".join((text, str(getattr(error, "code", "")), str(getattr(error, "type", "")))).casefold()
    return any(word in told for word in words)
