"""A PostgreSQL server for tests: Debian's programs over a folder of their own, gone with the test.

Where PostgreSQL or its driver is not installed the tests are skipped with the reason; with THINKGRAPH_POSTGRES_TESTS=required they
fail instead.
"""

from __future__ import annotations

import importlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from required import without


def _programs() -> Path:
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)
    return folders[0].parent if folders else _without("PostgreSQL is not installed (Debian: postgresql)")


def _without(reason: str) -> NoReturn:
    without("THINKGRAPH_POSTGRES_TESTS", reason)


def _as_who() -> dict[str, Any]:
    """PostgreSQL refuses to run as root."""
    return {"user": "nobody", "group": "nogroup"} if os.getuid() == 0 else {}


@contextmanager
def running() -> Iterator[str]:
    """The address of a fresh server's database, with the tables of LangGraph's checkpointer and store."""
    try:
        # Without libpq the driver is there and cannot be imported.
        importlib.import_module("langgraph.checkpoint.postgres")
    except ImportError as error:
        _without(f"the extra `postgres` is not installed, or lacks libpq: {str(error).splitlines()[0]}")
    programs = _programs()
    # A short path, outside of pytest's private folder, which another user may enter.
    folder = Path(tempfile.mkdtemp(prefix="thinkgraph-postgres-", dir="/tmp"))
    folder.chmod(0o777)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = folder / "data"
    options: dict[str, Any] = {"cwd": "/", **_as_who()}
    made = [programs / "initdb", "-D", data, "-U", "owner", "-A", "trust", "--no-sync"]
    subprocess.run(made, check=True, capture_output=True, **options)
    words = [programs / "postgres", "-D", data, "-p", str(port), "-k", folder, "-c", "listen_addresses=127.0.0.1"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(words, **quiet, **options) as server:
        try:
            address = f"postgresql://owner@127.0.0.1:{port}/postgres"
            _prepare(address)
            yield address
        finally:
            # SIGINT ends connections that are still open too.
            server.send_signal(2)
            server.wait(30)
            shutil.rmtree(folder, ignore_errors=True)


def _prepare(address: str) -> None:
    """Wait for the server, and make the tables."""
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.store.postgres import PostgresStore

    end = time.monotonic() + 60
    while True:
        try:
            with PostgresSaver.from_conn_string(address) as saver, PostgresStore.from_conn_string(address) as store:
                saver.setup()
                store.setup()
                return
        except psycopg.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
