"""SELECT queries over HTTP: at a bounded rate, with retries of what can pass and one line of error for the rest."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import urlsplit

import httpx
import tenacity

from thinkgraph.errors import StoreError, first_line
from thinkgraph.models.failures import MAX_WAIT, retry_after
from thinkgraph.tools.linking.names import well_formed
from thinkgraph.version import VERSION

Bindings = dict[str, dict[str, Any]]
"""One solution: what each variable is bound to, as SPARQL 1.1 Query Results JSON has it."""

_ACCEPT = "application/sparql-results+json, application/json;q=0.9"
_BACKOFF = tenacity.wait_exponential(multiplier=0.5, max=MAX_WAIT) + tenacity.wait_random(0, 0.5)
"""Seconds before a retry where the endpoint names none."""
_OK, _PART = 200, 206
_TOO_MANY, _REFUSED, _NO_ACCESS, _TOO_LONG = 429, 400, (401, 403, 407), (413, 414)
_GATEWAY_WAITED = 504
_OUT_OF_TIME = (
    "timeoutexception",
    "timed out",
    "timeout",
    "time limit",
    "exceeded the limit",
    "estimated execution time",
)
_LONGEST_LINE = 160


class RefusedError(StoreError):
    """The endpoint refused the query (status 400)."""


class SlowError(StoreError):
    """The endpoint ran out of time, or did not answer within `RequestPolicy.timeout`."""


class _PassingError(Exception):
    """A failure that may be gone at the next attempt."""

    def __init__(self, message: str, wait: float | None = None, *, slow: bool = False) -> None:
        super().__init__(message)
        self.wait = wait
        """Seconds that the endpoint asked to wait."""
        self.slow = slow


@dataclass(frozen=True, kw_only=True)
class RequestPolicy:
    """Limits on the requests to an endpoint, and who they say they come from."""

    timeout: float = 60.0
    """Seconds one request may take."""
    retries: int = 3
    """Further attempts of a request that failed in a way that can pass."""
    rate: float = 5.0
    """Requests a second at most; 0: no limit."""
    concurrency: int = 2
    """Requests at one time at most."""
    agent: str = ""
    """User agent; by default ours, with the contact."""
    contact: str = ""
    """Where the endpoint's operator can reach the user: an e-mail address or the address of a page."""
    max_bytes: int = 64_000_000
    """Length of the longest answer that is read."""


class SparqlClient:
    """One endpoint. Safe to use from several threads; close it."""

    def __init__(
        self,
        url: str,
        policy: RequestPolicy,
        *,
        login: tuple[str, str] | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> None:
        """Send queries to `url` by POST, with user and password, and `parameters` as further form fields."""
        self.url = url
        self.host = urlsplit(url).netloc.rpartition("@")[2]
        self.name = f"the SPARQL endpoint {self.host}"
        self._policy = policy
        self._parameters = dict(parameters or {})
        self._slots = threading.BoundedSemaphore(policy.concurrency)
        self._lock = threading.Lock()
        self._next = 0.0
        """Time of the next request, on the monotonic clock."""
        self._closed = False
        contact = f"; {policy.contact}" if policy.contact else ""
        agent = policy.agent or f"thinkgraph/{VERSION} (SPARQL client{contact})"
        try:
            self._http = httpx.Client(
                auth=login,
                headers={"Accept": _ACCEPT, "User-Agent": agent},
                timeout=httpx.Timeout(policy.timeout, connect=min(policy.timeout, 15.0)),
                follow_redirects=False,
                limits=httpx.Limits(max_connections=policy.concurrency, keepalive_expiry=20.0),
            )
        except (OSError, ValueError, httpx.InvalidURL) as error:
            raise StoreError(
                f"{self.name} cannot be asked ({first_line(error)}): check HTTP_PROXY, HTTPS_PROXY, NO_PROXY and SSL_CERT_FILE"
            ) from None
        self._retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_PassingError),
            stop=tenacity.stop_after_attempt(policy.retries + 1),
            wait=_wait,
            retry_error_callback=_give_up,
        )

    def close(self) -> None:
        """End the connections. Later queries raise `StoreError`."""
        self._closed = True
        self._http.close()

    def select(self, query: str, *, page: bool = False) -> list[Bindings]:
        """The solutions of a SELECT query, or with `page` one page of them, which may be shorter than its limit.

        Raises:
            RefusedError: the endpoint says that the query is wrong.
            SlowError: it ran out of time.
            StoreError: it cannot be reached, refuses, or answers with something else; one line.
        """
        if self._closed:
            raise StoreError(f"{self.name} is closed; open it again")
        return self._retrying(self._once, query, page=page)

    def _once(self, query: str, *, page: bool) -> list[Bindings]:
        data = {"query": query, **self._parameters}
        try:
            # A request takes its slot before its time: requests that waited for a slot are not sent in one burst.
            with self._slots:
                self._wait_for_turn()
                with self._http.stream("POST", self.url, data=data) as response:
                    body = self._read(response)
        except httpx.TimeoutException:
            raise _PassingError(
                f"{self.name} did not answer within {self._policy.timeout:g} s; ask for less, or give it longer (timeout=)",
                slow=True,
            ) from None
        except (httpx.RequestError, httpx.StreamError, RuntimeError, UnicodeError) as error:
            if self._closed:
                raise StoreError(f"{self.name} is closed; open it again") from None
            if isinstance(error, StoreError):
                raise
            broken = isinstance(error, httpx.RemoteProtocolError | httpx.ReadError)
            text = first_line(error)
            if "CERTIFICATE_VERIFY_FAILED" in text:
                text += "; if you trust it, have SSL_CERT_FILE name its certificate"
            raise _PassingError(f"{self.name} {'broke off' if broken else 'cannot be reached'}: {text}") from None
        self._check(response, body)
        return self._rows(response, body, page=page)

    def _wait_for_turn(self) -> None:
        with self._lock:
            now = time.monotonic()
            start = max(now, self._next)
            self._next = start + (1 / self._policy.rate if self._policy.rate else 0.0)
        if start > now:
            time.sleep(start - now)

    def _read(self, response: httpx.Response) -> bytes:
        parts: list[bytes] = []
        size = 0
        until = time.monotonic() + self._policy.timeout
        for part in response.iter_bytes():
            size += len(part)
            if size > self._policy.max_bytes:
                raise StoreError(f"{self.name} sent more than {self._policy.max_bytes:,} bytes; lower page= or batch=")
            # httpx limits the wait for each piece; a server that drips would hold us for ever.
            if time.monotonic() > until:
                raise _PassingError(
                    f"{self.name} did not finish its answer within {self._policy.timeout:g} s", slow=True
                )
            parts.append(part)
        return b"".join(parts)

    def _check(self, response: httpx.Response, body: bytes) -> None:
        """Raise for whatever is no answer."""
        status = response.status_code
        if status in (_OK, _PART):
            return
        said = _said(response, body)
        told = any(word in said.casefold() for word in _OUT_OF_TIME)
        # A gateway's page may not say it; QLever says it under the status of too many requests.
        late = status == _GATEWAY_WAITED or (status == _TOO_MANY and "timed out" in said.casefold())
        if late or (told and response.is_server_error):
            # The same query would run out of the same time again.
            raise SlowError(f"{self.name} ran out of its time (status {status}{said}): ask for less (bound=, limit)")
        if response.is_server_error or status == _TOO_MANY:
            wait = retry_after(response.headers.get("retry-after"), response.headers.get("date"))
            if wait is not None and wait > MAX_WAIT:
                raise StoreError(f"{self.name} asks to be left alone for {wait:,.0f} s (status {status})")
            what = "too many requests" if status == _TOO_MANY else "a fault of its own"
            raise _PassingError(f"{self.name} reports {what} (status {status}{said})", wait)
        if status == _REFUSED:
            raise RefusedError(f"{self.name} refuses the query (status 400{said}): is the profile right?")
        if status in _NO_ACCESS:
            raise StoreError(
                f"{self.name} refuses access (status {status}{said}): check user and password (runs keep none; SPARQL_PASSWORD gives it)"
            )
        if status in _TOO_LONG:
            raise StoreError(f"the query is too long for {self.name} (status {status}): lower batch=")
        if response.has_redirect_location:
            target = well_formed(response.headers["location"][:_LONGEST_LINE])
            raise StoreError(
                f"{self.host} redirects to {target!r} (status {status}): give that address if it is the SPARQL endpoint; "
                "a login page cannot be passed here"
            )
        raise StoreError(f"{self.host} is no SPARQL endpoint at this path: status {status}{said}")

    def _rows(self, response: httpx.Response, body: bytes, *, page: bool) -> list[Bindings]:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().casefold()
        if kind and not kind.endswith("json"):
            raise StoreError(
                f"{self.host} answers with {well_formed(kind)[:60]!r}, not with SPARQL JSON: is the path that of its endpoint?"
            )
        if response.headers.get("x-sql-state", "").upper() == "S1TAT":
            raise StoreError(f"{self.name} stopped early (anytime query): ask for less (bound=, batch=)")
        try:
            answer = json.loads(body)
            rows = [
                {str(name): dict(binding) for name, binding in row.items()} for row in answer["results"]["bindings"]
            ]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise StoreError(
                f"{self.name} sent no valid SPARQL JSON ({len(body):,} bytes, perhaps cut off when it "
                f"ran out of time){_said(response, body[-300:])}"
            ) from None
        most = response.headers.get("x-sparql-maxrows", "")
        cut = most.isdecimal() and 0 < int(most) <= len(rows)
        # Virtuoso says so by a status of its own, whatever it was that ran out.
        if not page and (cut or response.status_code == _PART):
            told = f" (at most {most} rows)" if most.isdecimal() else ""
            raise StoreError(f"{self.name} sent only a part of its answer{told}: lower page= or batch=")
        return rows


def _wait(state: tenacity.RetryCallState) -> float:
    """Seconds before the next attempt."""
    error = state.outcome and state.outcome.exception()
    return error.wait if isinstance(error, _PassingError) and error.wait is not None else _BACKOFF(state)


def _give_up(state: tenacity.RetryCallState) -> NoReturn:
    """Raise the last attempt's failure as a `StoreError`."""
    error = state.outcome and state.outcome.exception()
    tried = f" (tried {state.attempt_number} times)" if state.attempt_number > 1 else ""
    raise (SlowError if isinstance(error, _PassingError) and error.slow else StoreError)(f"{error}{tried}")


def _said(response: httpx.Response, body: bytes) -> str:
    """What a failing server says, short and on one line; nothing of a page."""
    text = " ".join(body[:2_000].decode("utf-8", "replace").split())
    if not text or text.startswith("<") or "html" in response.headers.get("content-type", ""):
        return ""
    return f": {text[:_LONGEST_LINE]}"
