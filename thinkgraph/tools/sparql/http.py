"""Asks a SPARQL endpoint over HTTP: politely, with patience for what passes, and one clear line for what does not."""

from __future__ import annotations

import email.utils
import json
import random
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from thinkgraph.errors import StoreError
from thinkgraph.tools.linking.names import well_formed
from thinkgraph.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    import httpx

Row = dict[str, dict[str, Any]]
"""One solution: what each variable is bound to, as SPARQL 1.1 Query Results JSON has it."""

_ACCEPT = "application/sparql-results+json, application/json;q=0.9"
_LONGEST_WAIT = 60.0
_FIRST_WAIT = 0.5
_OK, _PART = 200, 206
_TOO_MANY, _TOO_LARGE, _TOO_LONG, _SERVER_FAULT = 429, 413, 414, 500
_REFUSED, _NO_ACCESS, _REDIRECTED = 400, (401, 403, 407), range(300, 400)
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
    """The endpoint will not have the query (status 400)."""


class SlowError(StoreError):
    """The endpoint, or our patience with it, ran out of time."""


@dataclass(frozen=True, kw_only=True)
class Manners:
    """How an endpoint is asked."""

    timeout: float = 60.0
    """Seconds one request may take."""
    retries: int = 3
    """Further tries of a request that failed in a way that can pass."""
    rate: float = 5.0
    """Requests a second at most; 0: no limit."""
    concurrency: int = 2
    """Requests at one time at most."""
    agent: str = ""
    """User agent; by default ours, with the contact."""
    contact: str = ""
    """Where an operator can write to whom asks: an address of a page or an e-mail address."""
    max_bytes: int = 64_000_000
    """The longest answer that is read."""


class SparqlClient:
    """One endpoint. Safe to use from several threads; close it."""

    def __init__(
        self,
        url: str,
        manners: Manners,
        *,
        login: tuple[str, str] | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> None:
        """Speak to `url` by POST; `parameters` are sent along with every query."""
        import httpx

        self.url = url
        self.host = urlsplit(url).netloc.rpartition("@")[2]
        self.requests = 0
        """Requests sent so far, those tried again included."""
        self._manners = manners
        self._parameters = dict(parameters or {})
        self._slots = threading.BoundedSemaphore(manners.concurrency)
        self._lock = threading.Lock()
        self._next = 0.0
        self._closed = False
        self._jitter = random.Random()  # noqa: S311 - spreads requests, hides nothing
        note = f"; {manners.contact}" if manners.contact else ""
        agent = manners.agent or f"thinkgraph/{VERSION} (SPARQL client{note})"
        self._http = httpx.Client(
            auth=login,
            headers={"Accept": _ACCEPT, "User-Agent": agent},
            timeout=httpx.Timeout(manners.timeout, connect=min(manners.timeout, 15.0)),
            follow_redirects=False,
            limits=httpx.Limits(max_connections=manners.concurrency, keepalive_expiry=20.0),
        )

    def close(self) -> None:
        """End the connections; asking afterwards raises `StoreError`."""
        self._closed = True
        self._http.close()

    def select(self, query: str, *, page: bool = False) -> list[Row]:
        """The solutions of a SELECT query; of a page, as many as the endpoint likes to send.

        Raises:
            RefusedError: the endpoint says that the query is wrong.
            StoreError: it cannot be reached, refuses, or answers with something else; one line.
        """
        if self._closed:
            raise StoreError(f"the SPARQL endpoint {self.host} is closed; open it again")
        for attempt in range(self._manners.retries + 1):
            try:
                return self._once(query, page=page)
            except _PassingError as error:
                if attempt == self._manners.retries:
                    tried = f" (tried {attempt + 1} times)" if attempt else ""
                    raise (SlowError if error.slow else StoreError)(f"{error}{tried}") from None
                wait = error.wait if error.wait is not None else _FIRST_WAIT * 2**attempt * (1 + self._jitter.random())
            time.sleep(min(wait, _LONGEST_WAIT))
        raise AssertionError("unreachable")

    def _once(self, query: str, *, page: bool) -> list[Row]:
        import httpx

        name = f"the SPARQL endpoint {self.host}"
        with self._turn():
            try:
                with self._send(query) as response:
                    body = self._read(response)
            except httpx.TimeoutException:
                raise _PassingError(
                    f"{name} did not answer within {self._manners.timeout:g} s; ask for less, or give it longer (timeout=)",
                    slow=True,
                ) from None
            except (httpx.RequestError, httpx.StreamError, RuntimeError) as error:
                if self._closed:
                    raise StoreError(f"{name} is closed; open it again") from None
                if isinstance(error, StoreError):
                    raise
                broken = isinstance(error, httpx.RemoteProtocolError | httpx.ReadError)
                raise _PassingError(
                    f"{name} {'broke off' if broken else 'cannot be reached'}: {_line(error)}"
                ) from None
        self._check(response, body)
        return self._rows(response, body, page=page)

    def _send(self, query: str) -> AbstractContextManager[httpx.Response]:
        data = {"query": query, **self._parameters}
        return self._http.stream("POST", self.url, data=data)

    def _read(self, response: httpx.Response) -> bytes:
        parts: list[bytes] = []
        size = 0
        until = time.monotonic() + self._manners.timeout
        for part in response.iter_bytes():
            size += len(part)
            if size > self._manners.max_bytes:
                raise StoreError(
                    f"the SPARQL endpoint {self.host} sent more than {self._manners.max_bytes:,} bytes; lower page= or batch="
                )
            # httpx limits the wait for each piece; a server that drips would hold us for ever.
            if time.monotonic() > until:
                raise _PassingError(
                    f"the SPARQL endpoint {self.host} did not finish its answer within {self._manners.timeout:g} s",
                    slow=True,
                )
            parts.append(part)
        return b"".join(parts)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for a free slot and for the time of the next request."""
        with self._slots:
            with self._lock:
                now = time.monotonic()
                start = max(now, self._next)
                self._next = start + (1 / self._manners.rate if self._manners.rate else 0.0)
                self.requests += 1
            if start > now:
                time.sleep(start - now)
            yield

    def _check(self, response: httpx.Response, body: bytes) -> None:
        """Raise for whatever is no answer."""
        status = response.status_code
        if status in (_OK, _PART):
            return
        said = _said(response, body)
        host = self.host
        if status in _REDIRECTED:
            target = response.headers.get("location", "")[:_LONGEST_LINE]
            raise StoreError(
                f"{host} redirects to {well_formed(target)!r} (status {status}): give that address if it is the SPARQL "
                "endpoint; a login page cannot be passed here"
            )
        if status in _NO_ACCESS:
            raise StoreError(
                f"the SPARQL endpoint {host} refuses access (status {status}{said}): check user and password (runs keep none; SPARQL_PASSWORD gives it)"
            )
        if status in (_TOO_LARGE, _TOO_LONG):
            raise StoreError(f"the query is too long for the SPARQL endpoint {host} (status {status}): lower batch=")
        if status == _REFUSED:
            raise RefusedError(
                f"the SPARQL endpoint {host} refuses the query (status 400{said}): is the profile right?"
            )
        if status == _TOO_MANY or status >= _SERVER_FAULT:
            if status >= _SERVER_FAULT and any(word in said.casefold() for word in _OUT_OF_TIME):
                # The same query would run out of the same time again.
                raise SlowError(
                    f"the SPARQL endpoint {host} ran out of its time (status {status}{said}): ask for less (bound=, limit)"
                )
            wait = _wait(response.headers.get("retry-after"))
            if wait is not None and wait > _LONGEST_WAIT:
                raise StoreError(
                    f"the SPARQL endpoint {host} asks to be left alone for {wait:,.0f} s (status {status})"
                )
            what = "too many requests" if status == _TOO_MANY else "a fault of its own"
            raise _PassingError(f"the SPARQL endpoint {host} reports {what} (status {status}{said})", wait)
        raise StoreError(f"{host} is no SPARQL endpoint at this path: status {status}{said}")

    def _rows(self, response: httpx.Response, body: bytes, *, page: bool) -> list[Row]:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().casefold()
        if kind and not kind.endswith("json"):
            raise StoreError(
                f"{self.host} answers with {well_formed(kind)[:60]!r}, not with SPARQL JSON: is the path that of its endpoint?"
            )
        if response.headers.get("x-sql-state", "").upper() == "S1TAT":
            raise StoreError(
                f"the SPARQL endpoint {self.host} stopped early (anytime query): ask for less (bound=, batch=)"
            )
        try:
            answer = json.loads(body)
            rows = [
                {str(name): dict(binding) for name, binding in row.items()} for row in answer["results"]["bindings"]
            ]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise StoreError(
                f"the SPARQL endpoint {self.host} sent no valid SPARQL JSON ({len(body):,} bytes, perhaps cut off when it "
                f"ran out of time){_said(response, body[-300:])}"
            ) from None
        most = response.headers.get("x-sparql-maxrows", "")
        cut = most.isdecimal() and 0 < int(most) <= len(rows)
        # Virtuoso says so by a status of its own, whatever it was that ran out.
        if not page and (cut or response.status_code == _PART):
            told = f" (at most {most} rows)" if most.isdecimal() else ""
            raise StoreError(
                f"the SPARQL endpoint {self.host} sent only a part of its answer{told}: lower page= or batch="
            )
        return rows


class _PassingError(Exception):
    """A failure that may be gone at the next try."""

    def __init__(self, message: str, wait: float | None = None, *, slow: bool = False) -> None:
        super().__init__(message)
        self.wait = wait
        self.slow = slow


def _wait(header: str | None) -> float | None:
    """Seconds in a Retry-After header, which may be a date."""
    if not header:
        return None
    try:
        return max(float(header), 0.0)
    except ValueError:
        pass
    try:
        return max(email.utils.parsedate_to_datetime(header).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError):
        return None


def _said(response: httpx.Response, body: bytes) -> str:
    """What a failing server says, short and on one line; nothing of a page."""
    text = " ".join(body[:2_000].decode("utf-8", "replace").split())
    if not text or text.startswith("<") or "html" in response.headers.get("content-type", ""):
        return ""
    return f": {text[:_LONGEST_LINE]}"


def _line(error: Exception) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:_LONGEST_LINE]
