"""Which failures are tried again: what can pass, and only that."""

from __future__ import annotations

import datetime as dt
import email.utils
import json
import urllib.error
from collections.abc import Callable
from typing import Any

import httpx
import openai
import pytest

from thinkgraph.errors import ModelError
from thinkgraph.models.failures import MAX_WAIT, UnreadableResponseError, classify, words_of

REQUEST = httpx.Request("POST", "http://model/v1")


def answered(status: int, text: str = "no", headers: dict[str, str] | None = None) -> httpx.HTTPStatusError:
    response = httpx.Response(status, headers=headers, request=REQUEST)
    return httpx.HTTPStatusError(text, request=REQUEST, response=response)


def of_openai(
    kind: str, status: int, text: str = "no", headers: dict[str, str] | None = None, body: Any = None
) -> Exception:
    response: Any = httpx.Response(status, headers=headers, request=REQUEST)
    made: Exception = getattr(openai, kind)(text, response=response, body=body)
    return made


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529])
def test_a_status_that_can_pass(status: int) -> None:
    failure = classify(answered(status))
    assert failure is not None
    assert (failure.passing, failure.refused, failure.retry_after) == (True, False, None)
    assert f"HTTP {status}" in failure.message


@pytest.mark.parametrize(
    ("status", "refused"), [(400, True), (422, True), (401, False), (403, False), (404, False), (413, False)]
)
def test_a_status_that_cannot_pass(status: int, refused: bool) -> None:  # noqa: FBT001
    failure = classify(answered(status))
    assert failure is not None
    assert (failure.passing, failure.refused) == (False, refused)


@pytest.mark.parametrize(
    ("error", "passing", "refused"),
    [
        (of_openai("RateLimitError", 429), True, False),
        (of_openai("InternalServerError", 500), True, False),
        (of_openai("ConflictError", 409), True, False),
        (of_openai("BadRequestError", 400), False, True),
        (of_openai("UnprocessableEntityError", 422), False, True),
        (of_openai("AuthenticationError", 401), False, False),
        (of_openai("PermissionDeniedError", 403), False, False),
        (of_openai("NotFoundError", 404), False, False),
        (openai.APIConnectionError(request=REQUEST), True, False),  # type: ignore[arg-type]
        (openai.APITimeoutError(request=REQUEST), True, False),  # type: ignore[arg-type]
        (openai.APIError("odd", REQUEST, body=None), False, False),  # type: ignore[arg-type]
        (httpx.ConnectError("refused"), True, False),
        (httpx.ConnectTimeout("slow"), True, False),
        (httpx.ReadTimeout("slow"), True, False),
        (httpx.PoolTimeout("full"), True, False),
        (httpx.ReadError("reset"), True, False),
        (httpx.WriteError("broken pipe"), True, False),
        (httpx.CloseError("closed"), True, False),
        (httpx.RemoteProtocolError("hung up"), True, False),
        (httpx.UnsupportedProtocol("ftp"), False, False),
        (TimeoutError(), True, False),
        (ConnectionResetError("reset"), True, False),
        (BrokenPipeError(), True, False),
        (OSError("network is unreachable"), True, False),
        (urllib.error.URLError("no route"), True, False),
        (FileNotFoundError("cacert.pem"), False, False),
        (PermissionError("cacert.pem"), False, False),
        (json.JSONDecodeError("no", "<html>", 0), True, False),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), True, False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_failures_of_the_request(error: Exception, passing: bool, refused: bool) -> None:  # noqa: FBT001
    failure = classify(error)
    assert failure is not None
    assert (failure.passing, failure.refused) == (passing, refused)
    assert failure.message
    assert "\n" not in failure.message


@pytest.mark.parametrize(
    "error",
    [
        ZeroDivisionError(),
        KeyError("x"),
        TypeError("bad argument"),
        AttributeError("x"),
        ModelError("said"),
        RuntimeError(),
    ],
)
def test_a_bug_is_no_failure_of_the_request(error: Exception) -> None:
    assert classify(error) is None


SPENT = {"message": "You exceeded your current quota, please check your plan.", "code": "insufficient_quota"}


@pytest.mark.parametrize(
    "error",
    [of_openai("RateLimitError", 429, body=SPENT), answered(429, json.dumps({"error": SPENT}))],
    ids=["openai", "httpx"],
)
def test_money_that_is_used_up_does_not_come_back(error: Exception) -> None:
    failure = classify(error)
    assert failure is not None
    assert not failure.passing
    assert "check your plan" in failure.message


def in_a_while(seconds: float) -> str:
    return email.utils.format_datetime(dt.datetime.now(dt.UTC) + dt.timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        ("7", 7, 7),
        ("0.5", 0.5, 0.5),
        ("-3", 0, 0),
        ("100000", MAX_WAIT, MAX_WAIT),
        ("inf", MAX_WAIT, MAX_WAIT),
        ("nan", 0, 0),
        (lambda: in_a_while(20), 15, 20),
        (lambda: in_a_while(-20), 0, 0),
        (lambda: in_a_while(9999), MAX_WAIT, MAX_WAIT),
    ],
)
@pytest.mark.parametrize("name", ["retry-after", "Retry-After"])
def test_the_wait_that_a_server_asks_for(value: str | Callable[[], str], low: float, high: float, name: str) -> None:
    said = value if isinstance(value, str) else value()
    for error in (answered(429, headers={name: said}), of_openai("RateLimitError", 429, headers={name: said})):
        failure = classify(error)
        assert failure is not None
        assert failure.retry_after is not None
        assert low <= failure.retry_after <= high


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after-ms": "1500"}, 1.5),
        ({"Retry-After-Ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after-ms": "9999999"}, MAX_WAIT),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2),
        ({"retry-after-ms": "soon"}, None),
    ],
)
def test_a_wait_may_be_told_in_milliseconds(headers: dict[str, str], wait: float | None) -> None:
    failure = classify(answered(429, headers=headers))
    assert failure is not None
    assert failure.retry_after == wait


GEMINI = [{"error": {"code": 429, "details": [{"@type": "…RetryInfo", "retryDelay": "36.5s"}]}}]


@pytest.mark.parametrize(
    "error",
    [of_openai("RateLimitError", 429, body=GEMINI), answered(429, f"429 RESOURCE_EXHAUSTED. {GEMINI[0]}")],
    ids=["openai", "gemini"],
)
def test_a_wait_may_be_told_in_the_body(error: Exception) -> None:
    failure = classify(error)
    assert failure is not None
    assert failure.retry_after == 36.5


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"error": True, "message": "no slot is free"}, "no slot is free"),
        ("<html><style>\nb { color: red }</style><SCRIPT>f()</SCRIPT><b>Log in</b>", " Log in "),
    ],
)
def test_the_words_of_a_body(body: Any, says: str) -> None:
    assert words_of(body).strip() == says.strip()


def test_an_error_of_anthropic_is_told_by_its_words() -> None:
    anthropic = pytest.importorskip("anthropic")
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    response = httpx.Response(529, request=REQUEST)
    failure = classify(anthropic.APIStatusError(f"Error code: 529 - {body}", response=response, body=body))
    assert failure is not None
    assert failure.message == "Error code: 529 - Overloaded"


def test_what_ollama_says_in_the_middle_of_a_reply_can_pass() -> None:
    ollama = pytest.importorskip("ollama")
    failure = classify(ollama.ResponseError("CUDA error: out of memory"))
    assert failure is not None
    assert failure.passing


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_date_to_wait_for_is_told_by_the_servers_clock(hours: int) -> None:
    theirs = dt.datetime.now(dt.UTC) + dt.timedelta(hours=hours)
    dates = [email.utils.format_datetime(one, usegmt=True) for one in (theirs, theirs + dt.timedelta(seconds=7))]
    failure = classify(answered(429, headers={"Date": dates[0], "Retry-After": dates[1]}))
    assert failure is not None
    assert failure.retry_after == 7


def test_headers_may_be_a_plain_dict() -> None:
    error = answered(429)
    error.response = None  # type: ignore[assignment]
    error.status_code = 429  # type: ignore[attr-defined]
    error.headers = {"Retry-After": 3}  # type: ignore[attr-defined]
    failure = classify(error)
    assert failure is not None
    assert failure.retry_after == 3


def test_a_key_that_a_server_repeats_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-test-0123456789-" + "x" * 400
    monkeypatch.setenv("OPENAI_API_KEY", key)
    for error in (answered(401, f"Incorrect API key: {key}."), OSError(f"no header {key}."), json_error(key)):
        failure = classify(error)
        assert failure is not None
        assert "(hidden)" in failure.message
        assert key[:12] not in failure.message


def test_a_login_in_an_address_is_hidden() -> None:
    """The client repeats the whole address."""
    request = httpx.Request("POST", "http://ann:s3cret@model/v1?x=a@b")
    with pytest.raises(httpx.HTTPStatusError) as failed:
        httpx.Response(401, request=request).raise_for_status()
    failure = classify(failed.value)
    assert failure is not None
    assert "http://model/v1?x=a@b" in failure.message


class BedrockError(Exception):
    """As botocore's `ClientError`, whose response is a dict."""

    __module__ = "botocore.exceptions"

    def __init__(self, code: str, **told: Any) -> None:
        super().__init__(f"An error occurred ({code}) when calling the Converse operation: Please wait.")
        self.response = {"Error": {"Code": code}, **told}


@pytest.mark.parametrize(
    ("code", "status", "passing", "refused"),
    [
        ("ThrottlingException", 429, True, False),
        ("ValidationException", 400, False, True),
        ("AccessDeniedException", 403, False, False),
        ("throttlingException", None, True, False),
        ("validationException", None, False, False),
    ],
)
def test_failures_of_bedrock(code: str, status: int | None, passing: bool, refused: bool) -> None:  # noqa: FBT001
    """In the middle of a stream they have no status."""
    told = {"ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": {"retry-after": "3"}}} if status else {}
    failure = classify(BedrockError(code, **told))
    assert failure is not None
    assert (failure.passing, failure.refused, failure.retry_after) == (passing, refused, 3 if status else None)


def json_error(key: str) -> Exception:
    return UnreadableResponseError({"message": f"the key {key}. is wrong"})


@pytest.mark.parametrize("value", ["soon", "", "Wed, 99 Foo 2026 99:99:99 GMT"])
def test_a_wait_nobody_can_read_is_none(value: str) -> None:
    failure = classify(answered(429, headers={"retry-after": value}))
    assert failure is not None
    assert failure.retry_after is None


def test_the_message_is_one_short_line_with_its_cause() -> None:
    failure = classify(answered(500, "line\n\tone " + "x" * 5000))
    assert failure is not None
    assert failure.message.startswith("HTTP 500: line one x")
    assert len(failure.message) < 400
    error = openai.APIConnectionError(request=REQUEST)  # type: ignore[arg-type]
    error.__cause__ = OSError("name or service not known")
    said = classify(error)
    assert said is not None
    assert "name or service not known" in said.message
