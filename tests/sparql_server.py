"""A local SPARQL 1.1 server for tests: real HTTP over a graph in memory, with scripted faults and a history of its calls.

with SparqlServer(turtle) as server:
    store = SparqlGraphStore(server.url)
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

from local_http import InThread, LocalServer
from replies import Drop, Fault, Garbage, Hang

PATH = "/sparql"
JSON = "application/sparql-results+json"
_OK, _BAD, _NOWHERE, _BROKEN = 200, 400, 404, 500


@dataclass(frozen=True)
class Page:
    """A response of any status, kind and headers in place of the answer."""

    body: bytes
    status: int = 200
    kind: str = "text/html"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CutOff:
    """The answer itself, cut off after so many bytes, though announced whole (`length`) or as if that were all."""

    after: int
    announced: bool = False


@dataclass
class AskedQuery:
    """One request, and how it was answered."""

    number: int
    """Order of arrival, from 0."""
    received: float
    """Seconds of the monotonic clock."""
    query: str
    headers: dict[str, str]
    in_flight: int
    """Requests being answered when this one came, itself included."""
    status: int = 0
    """0 where the connection was dropped."""


Trouble = Fault | Drop | Hang | Garbage | Page | CutOff | None
"""What is done to a request; None: it is answered."""


class SparqlServer(InThread):
    """Answers SELECT and ASK by POST and GET at `/sparql` on 127.0.0.1.

    Args:
        data: the graph, as Turtle (N-Triples is Turtle).
        troubles: what happens to the requests in order of arrival (then they are answered), or a function from a
            request to what happens to it.
        latency: seconds before every answer.
        port: 0 picks a free one.
    """

    def __init__(
        self,
        data: str | bytes,
        *,
        troubles: Iterable[Trouble] | Callable[[AskedQuery], Trouble] = (),
        latency: float = 0.0,
        port: int = 0,
    ) -> None:
        import pyoxigraph

        self._store = pyoxigraph.Store()
        body = data.encode() if isinstance(data, str) else data
        # Lenient: a graph may hold IRIs that a query cannot.
        self._store.bulk_load(body, format=pyoxigraph.RdfFormat.TURTLE, lenient=True)
        self.latency = latency
        self.calls: list[AskedQuery] = []
        """Every request so far, in order of arrival."""
        self.max_in_flight = 0
        self.change(troubles)
        self._lock = threading.Lock()
        self._flying = 0
        super().__init__(port, _Handler)

    @property
    def url(self) -> str:
        """The endpoint's address."""
        return f"http://127.0.0.1:{self._http.server_address[1]}{PATH}"

    def change(self, troubles: Iterable[Trouble] | Callable[[AskedQuery], Trouble]) -> None:
        """Let other things happen from now on."""
        if callable(troubles):
            self._trouble = troubles
            return
        rest: Iterator[Trouble] = iter(troubles)
        self._trouble = lambda _: next(rest, None)

    def begin(self, query: str, headers: dict[str, str]) -> tuple[AskedQuery, Trouble]:
        """Note a request, and what is to happen to it, after the latency."""
        with self._lock:
            self._flying += 1
            self.max_in_flight = max(self.max_in_flight, self._flying)
            call = AskedQuery(len(self.calls), time.monotonic(), query, headers, self._flying)
            self.calls.append(call)
            trouble = self._trouble(call)
        self._stopping.wait(trouble.seconds if isinstance(trouble, Hang) else self.latency)
        return call, trouble

    def end(self) -> None:
        """Note that a request was answered."""
        with self._lock:
            self._flying -= 1

    def answer(self, query: str) -> bytes:
        """The answer as SPARQL JSON.

        Raises:
            SyntaxError: the query is none.
        """
        import pyoxigraph

        if "SERVICE <" in query:
            raise SyntaxError("other services are not asked from here")
        results = self._store.query(query)
        if isinstance(results, pyoxigraph.QueryTriples):
            raise SyntaxError("only SELECT and ASK are answered")  # noqa: TRY004 - of the query
        return results.serialize(format=pyoxigraph.QueryResultsFormat.JSON) or b""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LocalServer
    _call: AskedQuery | None = None

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""

    def do_GET(self) -> None:
        """A query in the address."""
        self._take(parse_qs(urlsplit(self.path).query).get("query", [""])[0])

    def do_POST(self) -> None:
        """A query as a form, or as it is."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode("utf-8", "replace")
        kind = (self.headers.get("Content-Type") or "").partition(";")[0]
        self._take(body if kind == "application/sparql-query" else parse_qs(body).get("query", [""])[0])

    def _take(self, query: str) -> None:
        if urlsplit(self.path).path != PATH:
            self._send(_NOWHERE, b"no such path", "text/plain")
            return
        owner: SparqlServer = self.server.owner
        self._call, trouble = owner.begin(query, dict(self.headers.items()))
        try:
            self._respond(owner, query, trouble)
        except ConnectionError:
            self.close_connection = True
        finally:
            owner.end()

    def _respond(self, owner: SparqlServer, query: str, trouble: Trouble) -> None:
        match trouble:
            case Fault():
                trouble = Page(trouble.message.encode(), trouble.status, "text/plain", dict(trouble.headers))
            case Garbage():
                trouble = Page(trouble.body, kind=JSON)
            case Drop() | Hang():
                self.close_connection = True
                if isinstance(trouble, Drop) and trouble.at == "body":
                    self._send(_OK, b'{"head": {"vars"', JSON, {"Content-Length": "1000"})
                self.connection.shutdown(socket.SHUT_RDWR)
                return
        if isinstance(trouble, Page):
            self._send(trouble.status, trouble.body, trouble.kind, trouble.headers)
            return
        try:
            body = owner.answer(query)
        except (SyntaxError, ValueError, RuntimeError, OSError) as error:
            self._send(_BAD if isinstance(error, SyntaxError) else _BROKEN, str(error).encode(), "text/plain")
            return
        if isinstance(trouble, CutOff):
            length = {"Content-Length": str(len(body))} if trouble.announced else {}
            self.close_connection = True
            self._send(_OK, body[: trouble.after], JSON, length)
            return
        self._send(_OK, body, JSON)

    def _send(self, status: int, body: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        if self._call is not None:
            self._call.status = status
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
