"""An HTTP server of threads on 127.0.0.1 that can be stopped at once, whatever its clients do."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

_POLL = 0.05
"""Seconds between two looks at whether to stop."""


def self_signed(folder: Path) -> ssl.SSLContext:
    """What a server on this machine needs for TLS, with a new certificate of its own: the file `cert` in the folder."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    made += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run([*made, "-keyout", folder / "key", "-out", folder / "cert"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert", folder / "key")
    return context


class LocalServer(ThreadingHTTPServer):
    """Serves with a handler class; knows its open connections. `owner` is for the handler."""

    daemon_threads = False
    block_on_close = True
    request_queue_size = 256

    def __init__(self, port: int, handler: type[BaseHTTPRequestHandler], owner: Any) -> None:
        self.owner = owner
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__(("127.0.0.1", port), handler)

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection and remember it."""
        connection, address = super().get_request()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._open_lock:
            self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection and close it."""
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        """End idle keep-alive connections, whose threads would wait for a next request for ever."""
        with self._open_lock:
            connections = list(self._open)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # the client was faster

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error of the server; anything else is shown."""
        if not isinstance(sys.exception(), ConnectionError | BrokenPipeError):
            super().handle_error(request, client_address)


class InThread:
    """What serves from a thread of its own until it is stopped: the base of the servers of this package."""

    def __init__(self, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        self._stopping = threading.Event()
        self._http = LocalServer(port, handler, self)
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._http.server_address[1])

    def start(self) -> Self:
        """Serve from a thread of its own."""
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": _POLL}, daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop serving, close every connection and wait for the threads. May be called twice."""
        self._stopping.set()
        if self._thread is not None:
            self._http.shutdown()
            self._thread.join()
            self._thread = None
        self._http.close_connections()
        self._http.server_close()

    def wait(self, seconds: float) -> bool:
        """Wait, but not past a stop: whether it is stopped."""
        return self._stopping.wait(seconds)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
