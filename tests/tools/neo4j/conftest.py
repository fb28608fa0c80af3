"""A real Neo4j server for the tests of this folder: one for the whole session, which holds one content at a time.

THINKGRAPH_TEST_NEO4J=bolt://user:password@host:7687 points them to a server that runs already, whose database must be empty
(it is filled and emptied). Where no server can be had they are skipped with the reason; with
THINKGRAPH_NEO4J_TESTS=required they fail instead.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import os
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from required import without

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

from cli.conftest import Done  # noqa: E402 - the path comes first
from neo4j_server import Neo4jServer, ServerError  # noqa: E402 - as above

from thinkgraph.cli.main import main  # noqa: E402 - as above
from thinkgraph.tools.neo4j.connection import Address, parse_address  # noqa: E402 - as above

HERE = Path(__file__).parent
PASSWORD = "it's a s3cret/@:?#"  # noqa: S105 - made up, and odd on purpose
QUOTED = "it%27s%20a%20s3cret%2F%40%3A%3F%23"


LAST = ("test_samples.py", "test_tutorial.py", "test_neo4j_runs.py", "test_neo4j_faults.py")
"""Come last, in this order: what asks the same content in a row, and what kills the server last of all. A new content, and a new
server, plans every query anew, which costs more than its answer."""


# Before pytest-xdist reads the marks, also where this folder is named on the command line.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Community servers have one database: with `--dist loadgroup` one worker runs all tests over it, on one server."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("neo4j"))
    items.sort(key=lambda item: LAST.index(item.path.name) if item.path.name in LAST else -1)


class Database:
    """The server's one database, and what it holds at present."""

    def __init__(self, spec: str, server: Neo4jServer | None, session: str) -> None:
        self.spec = spec
        """Address with user and password."""
        self.server = server
        """None: it is somebody else's and must not be stopped."""
        self._session = session
        name = hashlib.sha256(self.address.place.encode()).hexdigest()[:16]
        self._lock = Path(tempfile.gettempdir()) / f"thinkgraph-neo4j-{name}.lock"

    @property
    def address(self) -> Address:
        return parse_address(self.spec)

    @property
    def plain(self) -> str:
        """Address without user and password."""
        return f"{self.address.scheme}://{self.address.place}"

    def run(self, query: str, **parameters: Any) -> list[list[Any]]:
        """Write or read as the owner."""
        import neo4j

        address = self.address
        auth = (address.user, address.password or "") if address.user else None
        with (
            neo4j.GraphDatabase.driver(address.uri, auth=auth, notifications_min_severity="OFF") as driver,
            driver.session(database=address.database or "neo4j") as session,
        ):
            return [list(record.values()) for record in session.run(query, parameters)]

    def empty(self) -> None:
        for (name,) in self.run("SHOW CONSTRAINTS YIELD name"):
            self.run(f"DROP CONSTRAINT `{name}`")
        for (name,) in self.run("SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP' RETURN name"):
            self.run(f"DROP INDEX `{name}`")
        self.run("MATCH (n) CALL { WITH n DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS")

    def script(self, path: Path) -> None:
        """Run a Cypher script."""
        for statement in path.read_text("utf-8").split(";\n"):
            lines = [line for line in statement.splitlines() if not line.strip().startswith("//")]
            if "".join(lines).strip():
                self.run("\n".join(lines))

    def settled(self) -> None:
        """Wait until the indexes are there and know what was written."""
        self.run("CALL db.awaitIndexes(120)")
        if self.run("SHOW FULLTEXT INDEXES YIELD name"):
            self.run("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")

    @contextlib.contextmanager
    def holding(self, name: str, load: Callable[[Database], None]) -> Iterator[None]:
        """Have the database hold what `load` puts into it; loaded only if something else was there."""
        with self._lock.open("a+") as file:
            # Workers that share a server take turns.
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            if file.read() != f"{self._session} {name}":
                file.truncate(0)
                self.empty()
                load(self)
                self.settled()
                file.seek(0)
                file.write(f"{self._session} {name}")
                file.flush()
            yield

    def forget(self) -> None:
        """Make sure that the next content is loaded anew."""
        self._lock.write_text("")


@pytest.fixture(scope="session")
def neo4j_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """The server of this session; skipped, or failed where it is required, if there is none."""
    session = getattr(request.config, "workerinput", {}).get("testrunuid", uuid.uuid4().hex)
    given = os.environ.get("THINKGRAPH_TEST_NEO4J")
    if given:
        database = Database(given, None, session)
        if database.run("MATCH (n) RETURN 1 LIMIT 1"):
            pytest.fail("the database of THINKGRAPH_TEST_NEO4J is not empty; the tests empty it: name one that is")
        yield database
        database.empty()
        database.forget()
        return
    server = Neo4jServer(tmp_path_factory.mktemp("neo4j"), password=PASSWORD)
    try:
        server.start()
    except ServerError as error:
        without("THINKGRAPH_NEO4J_TESTS", f"no Neo4j server: {error}")
    try:
        yield Database(f"bolt://neo4j:{QUOTED}@127.0.0.1:{server.port}", server, session)
    finally:
        # Its folder goes with the session: nothing has to be put away.
        server.kill()


def cli_run(*words: str) -> Done:
    """The command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as stop:
            code = int(stop.code or 0)
    return Done(code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module", autouse=True)
def no_credentials() -> Iterator[None]:
    """Nobody's own database, and not for stores that several tests share either."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_DATABASE"):
            patch.delenv(name, raising=False)
        yield
