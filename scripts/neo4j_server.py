"""A real Neo4j community server without Docker and without an installation: for the tests, the examples and trying things.

    scripts/neo4j-server --load examples/neo4j/movies.cypher
    thinkgraph ask --kb bolt://127.0.0.1:7687 "Who wrote the film that Tony Scott directed?"
    NEO4J_ADMIN="scripts/neo4j-server admin DIR" sh FOLDER/import.sh      # what `kb export --format neo4j-csv` wrote

Needs Java 17 or newer. The server's jars (123 MB) come from Maven Central the first time, with `mvn`, and are kept in the
user's cache (THINKGRAPH_NEO4J_CACHE names another folder). The server listens on 127.0.0.1 only and ends with this process.
Standard library only, so that any Python runs it.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

HERE = Path(__file__).resolve().parent / "neo4j"
START_SECONDS = 300.0
FETCH_SECONDS = 1200.0
QUICK = [
    "-XX:TieredStopAtLevel=1",
    "-XX:ReservedCodeCacheSize=240m",
    "-Xshare:auto",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
]
"""Flags of Java for a fast start: no optimising compiler, and no verifying of the same jars time and again. Its code has the room
that it has beside an optimising compiler, since in a fifth of that it is thrown away and compiled anew."""


class ServerError(RuntimeError):
    """There is no server to be had here; the message says what is missing."""


def cache_folder() -> Path:
    """Where the jars are kept: THINKGRAPH_NEO4J_CACHE, else the user's cache."""
    own = os.environ.get("THINKGRAPH_NEO4J_CACHE")
    if own:
        return Path(own).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "thinkgraph" / "neo4j"


def version() -> str:
    """The version of Neo4j that the pom names."""
    found = re.search(r"<neo4j\.version>(.+?)</neo4j\.version>", (HERE / "pom.xml").read_text("utf-8"))
    assert found  # noqa: S101 - the file lies beside this one
    return found[1]


def find_java() -> str:
    """The Java that runs the server.

    Raises:
        ServerError: there is none, or it is older than 17.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else None
    java = java or shutil.which("java")
    if java is None:
        raise ServerError("there is no Java: install a JRE of version 17 or newer (Debian: openjdk-17-jre-headless)")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', said)
    if not found or int(found[1]) < 17:
        raise ServerError(f"{java} is not Java 17 or newer (Debian: openjdk-17-jre-headless)")
    return java


def fetch_jars() -> Path:
    """The folder of the server's jars, fetched from Maven Central if they are not there yet.

    Raises:
        ServerError: there is no Maven, or Maven Central cannot be reached.
    """
    base = cache_folder()
    folder = base / f"lib-{version()}"
    if folder.is_dir():
        return folder
    base.mkdir(parents=True, exist_ok=True)
    with (base / "lock").open("w") as lock:
        # Several test processes may start at once: one fetches, the others wait.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.is_dir():
            return folder
        maven = shutil.which("mvn")
        if maven is None:
            raise ServerError("there is no Maven to fetch Neo4j's jars with: install it (Debian: maven)")
        part = base / f"{folder.name}.part"
        shutil.rmtree(part, ignore_errors=True)
        command = [maven, "-q", "-B", "-f", str(HERE / "pom.xml"), "dependency:copy-dependencies"]
        try:
            done = subprocess.run(
                [*command, f"-DoutputDirectory={part}"],
                capture_output=True,
                text=True,
                timeout=FETCH_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ServerError("Maven Central did not hand over Neo4j's jars in time") from None
        if done.returncode or not part.is_dir():
            line = next((line for line in done.stdout.splitlines() if "ERROR" in line), "Maven failed")
            raise ServerError(f"Neo4j's jars cannot be fetched: {line[:300]}")
        part.rename(folder)
    return folder


def admin(home: Path, *words: str) -> None:
    """Run `neo4j-admin WORDS…` for a server's folder (`database import …`, `database dump …`); the server must be stopped.

    Raises:
        ServerError: it fails, or there is no Java.
    """
    java, jars = find_java(), fetch_jars()
    (home / "conf").mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [java, "-cp", f"{jars}/*", "org.neo4j.cli.AdminTool", *words],
        cwd=home,  # an import leaves its report where it runs
        env={**os.environ, "NEO4J_HOME": str(home), "NEO4J_CONF": str(home / "conf")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ServerError(f"neo4j-admin failed: {(done.stderr.strip() or done.stdout.strip())[-400:]}")


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Neo4jServer:
    """One server over one folder. It ends with this process, even if that is killed. Use as a context manager."""

    def __init__(
        self,
        folder: Path,
        *,
        port: int = 0,
        password: str = "",
        read_only: bool = False,
        heap: str = "512m",
        page_cache_mb: int = 64,
        quick: bool = True,
        scripts: Sequence[Path] = (),
    ) -> None:
        """Start nothing yet.

        Args:
            folder: where the database lies; made if it is not there.
            port: 0 for any free one.
            password: of the user "neo4j"; empty: no authentication.
            read_only: let the server refuse every write.
            heap: of the Java machine.
            page_cache_mb: for the store's pages.
            quick: start fast rather than run fast (no optimising compiler, no verifier): for tests.
            scripts: Cypher to run first if the database is empty.
        """
        self.folder = folder
        self.port = port or free_port()
        self.password = password
        self.read_only = read_only
        self._heap = heap
        self._pages = page_cache_mb
        self._quick = quick
        self._scripts = [script.resolve() for script in scripts]
        self._process: subprocess.Popen[str] | None = None

    @property
    def address(self) -> str:
        """Its address, with the password if it has one."""
        user = f"neo4j:{self.password}@" if self.password else ""
        return f"bolt://{user}127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it and wait until it answers.

        Raises:
            ServerError: it cannot be started here.
        """
        java, jars = find_java(), fetch_jars()
        self.folder.mkdir(parents=True, exist_ok=True)
        flags = [
            f"-Xmx{self._heap}",
            "-XX:+UseSerialGC",
            *(QUICK if self._quick else []),
        ]
        words = [str(self.folder), str(self.port), *map(str, self._scripts)]
        self._process = process = subprocess.Popen(
            [java, *flags, "-cp", f"{jars}/*", str(HERE / "Neo4jServer.java"), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **self._environment()},
            # Ctrl-C is for the process that started it, which then ends it in order.
            start_new_session=True,
        )
        # One that never answers is killed, which ends the loop below.
        watch = threading.Timer(START_SECONDS, process.kill)
        watch.start()
        try:
            said: list[str] = []
            for line in process.stdout or ():
                if line.strip() == "ready":
                    return
                said.append(line.strip())
                sys.stderr.write(line if "not empty" in line else "")
        finally:
            watch.cancel()
        self.stop()
        causes = [line for line in said if "Exception" in line or "Error" in line]
        raise ServerError(f"Neo4j did not start: {(causes or said or ['it said nothing'])[-1][:400]}")

    def _environment(self) -> Mapping[str, str]:
        return {
            "SERVER_PASSWORD": self.password,
            "SERVER_READ_ONLY": "1" if self.read_only else "",
            "SERVER_PAGE_CACHE_MB": str(self._pages),
        }

    def wait(self) -> None:
        """Wait until it ends."""
        if self._process is not None:
            self._process.wait()

    def stop(self) -> None:
        """End it in order; one that is not running is no error."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            if process.stdin is not None:
                process.stdin.close()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def kill(self) -> None:
        """End it as a power cut would; `start` brings it back over the same folder."""
        if self._process is not None:
            self._process.kill()
        self.stop()


def main() -> int:
    """Run a server until Ctrl-C, or `neo4j-server admin DIR WORDS…`."""
    if sys.argv[1:2] == ["admin"]:
        try:
            admin(Path(sys.argv[2]).resolve(), *sys.argv[3:])
        except (ServerError, IndexError) as error:
            print(f"neo4j-server: error: {error}", file=sys.stderr)
            return 1
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--folder", type=Path, metavar="DIR", help="keep the database here (default: a folder that goes again)"
    )
    parser.add_argument("--port", type=int, default=7687, help="default 7687; 0 for any free one")
    parser.add_argument("--password", default="", help="of the user neo4j (default: nobody is asked)")
    parser.add_argument("--read-only", action="store_true", help="refuse every write")
    parser.add_argument("--heap", default="1g", help="memory of the Java machine (default 1g)")
    parser.add_argument("--page-cache-mb", type=int, default=256, help="memory for the store's pages (default 256)")
    parser.add_argument(
        "--load", type=Path, nargs="+", default=[], metavar="FILE", help="Cypher scripts for an empty database"
    )
    parser.add_argument("--fetch", action="store_true", help="only fetch the jars, if they are not there yet")
    args = parser.parse_args()
    if args.fetch:
        try:
            find_java()
            print(fetch_jars())
        except ServerError as error:
            print(f"neo4j-server: error: {error}", file=sys.stderr)
            return 1
        return 0
    for script in args.load:
        if not script.is_file():
            parser.error(f"there is no file {script}")
    with contextlib.ExitStack() as stack:
        folder = args.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="neo4j-")))
        server = Neo4jServer(
            folder.resolve(),
            port=args.port,
            password=args.password,
            read_only=args.read_only,
            heap=args.heap,
            page_cache_mb=args.page_cache_mb,
            quick=False,
            scripts=args.load,
        )
        began = time.monotonic()
        try:
            stack.enter_context(server)
        except ServerError as error:
            print(f"neo4j-server: error: {error}", file=sys.stderr)
            return 1
        # Never the password: a terminal is looked at.
        print(
            f"bolt://127.0.0.1:{server.port} is ready after {time.monotonic() - began:.0f} s; Ctrl-C ends it",
            flush=True,
        )
        with contextlib.suppress(KeyboardInterrupt):
            server.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
