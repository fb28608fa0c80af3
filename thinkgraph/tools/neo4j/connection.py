"""`neo4j://user:password@host:7687/database?option=value…`: where a database is, how its graph is read, and its driver.

Fixed queries in, plain rows out; every failure is one line that says what to do.
"""

from __future__ import annotations

import logging
import os
import re
import ssl
import threading
import weakref
from collections.abc import Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from thinkgraph.errors import KnowledgeError, StoreError, first_line
from thinkgraph.tools.linking.names import well_formed
from thinkgraph.tools.protocols import Closing, closed_on_error

if TYPE_CHECKING:
    import neo4j

SCHEMES = ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc")
"""What the driver takes: `neo4j` asks a cluster for a reader, `bolt` talks to one server; `+s` is TLS, `+ssc` TLS that accepts a
self-signed certificate."""

DEFAULT_PORT = 7687
NONE = "none"
"""The value of an option that switches something off."""

_FORM = "write neo4j://user:password@host:7687/database, with @ : / ? # % in the password percent-encoded"
_SPEC = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
_HOST = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\s:/@\[\]]+)(?::(?P<port>\d{1,5}))?")
_ENVIRONMENT = ("NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_DATABASE")
_MOST_SECONDS = 3600.0
_LAST_PORT = 65535

ROLES = ("id", "name", "alias", "description", "text", "passage", "literal", "hide")
"""Options that say how the graph is read; what none of them says is guessed from samples."""
_NUMBERS = ("timeout", "scan")


@dataclass(frozen=True)
class Address:
    """Host, database, credentials and options of a database. Its `repr` and `str` leave the password out."""

    scheme: str
    host: str
    port: int
    database: str | None
    """None: the server's default."""
    user: str | None
    password: str | None = field(repr=False)
    mapping: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """How the graph is read, where the address says so: by option (`ROLES`), lists of `Label.property` or `property` (of every
    label); `literal` and `hide` take labels, `hide` also types of relationships. An empty list: there is none."""
    vectors: str | None = None
    """Name of the vector index to use; "none": use none; None: those whose vectors match the encoder."""
    timeout: float = 30.0
    """Seconds a query may take."""
    scan: float = 5.0
    """Seconds a search through names that no index covers may take."""

    @property
    def uri(self) -> str:
        """What the driver is given."""
        return f"{self.scheme}://{self.host}:{self.port}"

    @property
    def place(self) -> str:
        """Host and port, for messages."""
        return f"{self.host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.uri}/{self.database or ''}"


def parse_address(spec: str) -> Address:
    """Read an address; what it leaves out comes from NEO4J_USERNAME, NEO4J_PASSWORD and NEO4J_DATABASE.

    Raises:
        KnowledgeError: it cannot be read, or names the database that holds no graph; the message never repeats user or password.
    """
    found = _SPEC.fullmatch(spec.strip())
    if not found or found["scheme"].lower() not in SCHEMES:
        raise KnowledgeError(f"this is no address of a Neo4j database; {_FORM}")
    rest, _, query = found["rest"].partition("?")
    authority, _, path = rest.partition("/")
    login, at, place = authority.rpartition("@")
    host = _HOST.fullmatch(place)
    if not host or "@" in path + query or not 0 < int(host["port"] or DEFAULT_PORT) <= _LAST_PORT:
        raise KnowledgeError(f"the address of the Neo4j database cannot be read; {_FORM}")
    user, colon, password = login.partition(":")
    own_user, own_password, own_database = (os.environ.get(name) or None for name in _ENVIRONMENT)
    database = unquote(path.strip("/")) or own_database
    if database and database.lower() == "system":
        raise KnowledgeError("the database 'system' of Neo4j holds no graph; name another: …:7687/DATABASE")
    options = _options(query)
    return Address(
        scheme=found["scheme"].lower(),
        host=host["host"],
        port=int(host["port"] or DEFAULT_PORT),
        database=database,
        user=(unquote(user) or None) if at else own_user,
        # A user of the address may have the password in the environment, which is where a password belongs.
        password=unquote(password) if colon else own_password,
        mapping={role: tuple(options[role]) for role in ROLES if role in options},
        vectors=options.get("vectors", [None])[0],
        **{name: _seconds(name, options[name][0]) for name in _NUMBERS if name in options},
    )


def _options(query: str) -> dict[str, list[str]]:
    options: dict[str, list[str]] = {}
    for pair in query.split("&") if query else []:
        name, equals, value = pair.partition("=")
        name = unquote(name).strip()
        if name not in {*ROLES, *_NUMBERS, "vectors"}:
            known = ", ".join([*ROLES, "vectors", *_NUMBERS])
            raise KnowledgeError(f"there is no option '{name[:40]}' for a Neo4j knowledge base; known: {known}")
        values = [part for part in (unquote(one).strip() for one in value.split(",")) if part]
        if not equals or not values:
            raise KnowledgeError(f"the option '{name}' of the Neo4j knowledge base has no value (none switches it off)")
        if name in {*_NUMBERS, "vectors"} and (len(values) > 1 or name in options):
            raise KnowledgeError(f"the option '{name}' of the Neo4j knowledge base takes one value")
        options.setdefault(name, []).extend(values)
    for name, values in options.items():
        if name in ROLES and NONE in values:
            if len(values) > 1:
                raise KnowledgeError(f"the option '{name}' of the Neo4j knowledge base says none and more")
            values.clear()
    return options


def _seconds(name: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= _MOST_SECONDS:
        raise KnowledgeError(
            f"the option '{name}' takes a number of seconds up to {_MOST_SECONDS:.0f}, not '{text[:40]}'"
        )
    return seconds


OLDEST = (5, 7)
"""The first release whose Bolt (5.2) can be told to send no notifications."""
_PINNED = (5, 26)
_CONNECT_SECONDS = 10.0
_POOL_SECONDS = 15.0
_IDLE_SECONDS = 60.0
_ROWS_AT_ONCE = 10_000
_GRACE = 15.0
"""Seconds beside those that the server is given for a query: one that is stopped does not end what takes too long. The driver's own
limits come first."""

Row = list[Any]


class TimedOutError(StoreError):
    """A query took longer than it may."""


class Connection(Closing):
    """A database that is read and, except by an export, never written to. Safe from several threads. Close it."""

    def __init__(self, address: Address, *, writes: bool = False) -> None:
        """Connect and make sure that there is a database to be read.

        Args:
            address: where it is.
            writes: whether it may be written to (`kb export`); queries then read what this connection wrote.

        Raises:
            KnowledgeError: it cannot be reached or entered, is not there, or is of a release that is too old.
        """
        import neo4j

        self.address = address
        self._mode = neo4j.WRITE_ACCESS if writes else neo4j.READ_ACCESS
        self._closed = False
        auth = (address.user, address.password or "") if address.user else None
        # The driver logs what is raised here as well.
        logging.getLogger("neo4j").addHandler(logging.NullHandler())
        try:
            driver = neo4j.GraphDatabase.driver(
                address.uri,
                auth=auth,
                connection_timeout=_CONNECT_SECONDS,
                connection_acquisition_timeout=_POOL_SECONDS,
                liveness_check_timeout=_IDLE_SECONDS,
                notifications_min_severity="OFF",
                user_agent="thinkgraph",
                telemetry_disabled=True,
            )
        except (ValueError, neo4j.exceptions.Neo4jError, neo4j.exceptions.DriverError) as error:
            raise KnowledgeError(f"the address of the Neo4j database cannot be used: {first_line(error)}") from None
        self._driver = driver
        self._finalizer = weakref.finalize(self, driver.close)
        self.database = address.database
        self._prefix = ""
        self.version: tuple[int, ...] = ()
        self.edition = ""
        self.store_id = ""
        with closed_on_error(self.close):
            self._greet()

    def close(self) -> None:
        """Close all connections; later queries raise `StoreError`."""
        self._closed = True
        self._finalizer()

    def _greet(self) -> None:
        ((release, edition, store, database),) = self.rows(
            "CALL dbms.components() YIELD name AS part, versions, edition WHERE part = 'Neo4j Kernel' "
            "CALL db.info() YIELD id, name RETURN versions[0], edition, id, name"
        )
        self.version = tuple(int(number) for number in re.findall(r"\d+", release)[:2])
        if self.version < OLDEST:
            raise KnowledgeError(f"Neo4j at {self.address.place} is of release {release}; 5.7 or newer is needed")
        self.edition, self.store_id, self.database = str(edition), str(store), str(database)
        # The language of our queries, whatever the database's default is.
        self._prefix = "CYPHER 5 " if self.version >= _PINNED else ""

    def rows(
        self, query: str, parameters: Mapping[str, Any] | None = None, *, seconds: float | None = None
    ) -> list[Row]:
        """The rows of one query, whole, in one round trip. A connection that has gone stale is tried once again.

        Args:
            query: fixed text of ours.
            parameters: everything that comes from outside.
            seconds: how long it may take; by default the address's `timeout`.

        Raises:
            TimedOutError: it took longer.
            StoreError: the server failed, refused or is gone.
        """
        import neo4j

        limit = self.address.timeout if seconds is None else seconds
        text = neo4j.Query(self._prefix + query, timeout=limit)
        given: dict[str, Any] = _cleaned(parameters or {})
        # Before there was an answer no connection can have gone stale: what fails is not there.
        attempts = 2 if self.edition else 1
        while True:
            if self._closed:
                raise StoreError(f"the Neo4j database at {self.address.place} is closed; open the knowledge base again")
            attempts -= 1
            try:
                return self._answered(text, given, limit)
            except (neo4j.exceptions.Neo4jError, neo4j.exceptions.DriverError, OSError) as error:
                if not attempts or isinstance(error, OSError) or not error.is_retryable():
                    raise self._failed(error, limit) from error

    def _answered(self, query: neo4j.Query, parameters: dict[str, Any], seconds: float) -> list[Row]:
        """The rows of one query. The driver would wait for ever for a server that says nothing; a thread of its own does."""
        rows: Future[list[Row]] = Future()

        def ask() -> None:
            try:
                with self._driver.session(
                    database=self.database, default_access_mode=self._mode, fetch_size=_ROWS_AT_ONCE
                ) as session:
                    found = session.run(query, parameters).values()
                # Only now: the next query takes the same connection.
                rows.set_result(found)
            except BaseException as error:  # noqa: BLE001 - it is the caller's
                rows.set_exception(error)

        threading.Thread(target=ask, daemon=True).start()
        if not wait([rows], seconds + _GRACE).done:
            raise TimedOutError(
                f"Neo4j at {self.address.place} said nothing for {seconds + _GRACE:g} seconds; try again when it answers, "
                "or allow more with ?timeout=SECONDS"
            )
        return rows.result()

    def _failed(self, error: Exception, seconds: float) -> StoreError:
        place, user = self.address.place, self.address.user
        code = str(getattr(error, "code", "") or "")
        message = first_line(getattr(error, "message", "") or error)
        if "schema index" in message:
            # One that was there when the schema was looked at.
            message += "; open the knowledge base again, or resume the run"
        if "TransactionTimedOut" in code:
            return TimedOutError(
                f"a query took Neo4j at {place} more than {seconds:g} seconds; allow more with ?timeout=SECONDS"
            )
        login = "wants a user and a password: neo4j://user@host, NEO4J_USERNAME and NEO4J_PASSWORD"
        if user:
            login = f"does not let '{user}' in: check user and password (neo4j://user:password@…, or NEO4J_PASSWORD)"
        absent = f"has no database '{self.database or '(the default)'}' that is online; name another: …:7687/DATABASE"
        said = {
            "AuthenticationRateLimit": f"refuses '{user}' for a while, after too many wrong passwords: wait and try again",
            "Unauthorized": login,
            "TokenExpired": login,
            "CredentialsExpired": login,
            ".Security.": f"forbids '{user}' to read this: {message}",
            "DatabaseNotFound": absent,
            "DatabaseUnavailable": absent,
            ".": f"failed ({code.rpartition('.')[2]}): {message}",
            "": f"cannot be reached: {self._unreachable(error)}",
        }
        return StoreError(f"Neo4j at {place} {next(text for part, text in said.items() if part in code)}")

    def _unreachable(self, error: BaseException) -> str:  # noqa: PLR0911 - a table
        causes = _causes(error)
        message = first_line(next((cause for cause in reversed(causes) if str(cause)), error))
        scheme, tls, _ = self.address.scheme.partition("+")
        text = " ".join(map(str, causes))
        if any(isinstance(cause, TimeoutError) for cause in causes) and "handshake" in text.lower():
            return "it takes connections and says nothing; look at the server, and try again when it answers"
        if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
            return f"its certificate is not trusted ({message}); {scheme}+ssc:// accepts a self-signed one"
        if tls and any(isinstance(cause, ssl.SSLError | ConnectionResetError | EOFError) for cause in causes):
            return f"it does not speak TLS ({message}); try {scheme}:// without +s"
        if tls and "encrypted" in text:
            return f"no TLS connection came about ({message}); is it there, and does it speak TLS?"
        if "HTTP" in text:
            return "what answers there is a web server, not Bolt; the port of Bolt is 7687 by default"
        if "not support" in text:
            return f"its release is too old ({message}); 5.7 or newer is needed"
        if "handshake" in text.lower() or "protocol" in text.lower():
            return f"what answers there speaks no plain Bolt ({message}); if it wants TLS, use {scheme}+s://"
        return f"{message}; is the server running, and is this its address?"


def _cleaned(value: Any) -> Any:
    """A parameter with U+FFFD for lone surrogates."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, Mapping):
        return {name: _cleaned(part) for name, part in value.items()}
    return [_cleaned(part) for part in value] if isinstance(value, list | tuple) else value


def _causes(error: BaseException | None) -> list[BaseException]:
    """An error, what caused it, and what a group of errors holds."""
    if error is None:
        return []
    parts = (*getattr(error, "exceptions", ()), error.__cause__ or error.__context__)
    return [error, *(cause for part in parts for cause in _causes(part))]
