"""Reads `neo4j://user:password@host:7687/database?option=value…`: where the database is, and how its graph is read."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from urllib.parse import unquote

from thinkgraph.errors import KnowledgeError

SCHEMES = ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc")
"""What the driver takes: `neo4j` asks a cluster for a reader, `bolt` talks to one server; `+s` is TLS, `+ssc` TLS with a
certificate that nobody signed."""

DEFAULT_PORT = 7687
NONE = "none"
"""The value of an option that switches something off."""

_FORM = "write neo4j://user:password@host:7687/database, with @ : / ? # % in the password percent-encoded"
_SPEC = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
_HOST = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\s:/@\[\]]+)(?::(?P<port>\d{1,5}))?")
_ENVIRONMENT = ("NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_DATABASE")
_MOST_SECONDS = 3600.0
_LAST_PORT = 65535

_ROLES = ("id", "name", "alias", "description", "text", "passage", "literal", "hide")
_NUMBERS = {"timeout": 30.0, "scan": 5.0}


@dataclass(frozen=True)
class Mapping:
    """How the owner wants the graph read, where the guess from its schema is not good enough.

    Each is a list of `Label.property` or `property` (of every label); `literal` and `hide` take labels, `hide` also types of
    relationships. None leaves the guess alone; an empty list says that there is none.
    """

    id: tuple[str, ...] | None = None
    """Property that identifies an entity outside the database; it must be indexed."""
    name: tuple[str, ...] | None = None
    """Property that names an entity; `first+last` puts two together."""
    alias: tuple[str, ...] | None = None
    description: tuple[str, ...] | None = None
    text: tuple[str, ...] | None = None
    """Long text of an entity: its passages."""
    passage: tuple[str, ...] | None = None
    """`Label.property`: the nodes of this label are passages about the entities they are linked to."""
    literal: tuple[str, ...] | None = None
    """Label of nodes that are values, not things."""
    hide: tuple[str, ...] | None = None
    """Labels and types of relationships that are no part of the knowledge."""


@dataclass(frozen=True)
class Address:
    """Where a database is and how to get in. Its `repr` and `str` hold no password."""

    scheme: str
    host: str
    port: int
    database: str | None
    """None: the server's default."""
    user: str | None
    password: str | None = field(repr=False)
    mapping: Mapping = field(default_factory=Mapping)
    vectors: str | None = None
    """Name of a vector index to be used whatever it was made with; "none": use none; None: the one that fits."""
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
        KnowledgeError: it cannot be read; the message never repeats what stands before the host.
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
    options = _options(query)
    return Address(
        scheme=found["scheme"].lower(),
        host=host["host"],
        port=int(host["port"] or DEFAULT_PORT),
        database=unquote(path.strip("/")) or own_database,
        user=(unquote(user) or None) if at else own_user,
        # A user of the address may have the password in the environment, which is where a password belongs.
        password=unquote(password) if colon else own_password,
        mapping=Mapping(**{role: tuple(options[role]) for role in _ROLES if role in options}),
        vectors=options.get("vectors", [None])[0],
        **{name: _seconds(name, options[name][0]) for name in _NUMBERS if name in options},
    )


def _options(query: str) -> dict[str, list[str]]:
    options: dict[str, list[str]] = {}
    for pair in query.split("&") if query else []:
        name, equals, value = pair.partition("=")
        name = unquote(name).strip()
        if name not in {*_ROLES, *_NUMBERS, "vectors"}:
            known = ", ".join([*_ROLES, "vectors", *_NUMBERS])
            raise KnowledgeError(f"there is no option '{name[:40]}' for a Neo4j knowledge base; known: {known}")
        values = [part for part in (unquote(one).strip() for one in value.split(",")) if part]
        if not equals or not values:
            raise KnowledgeError(f"the option '{name}' of the Neo4j knowledge base has no value (none switches it off)")
        if name in {*_NUMBERS, "vectors"} and (len(values) > 1 or name in options):
            raise KnowledgeError(f"the option '{name}' of the Neo4j knowledge base takes one value")
        options.setdefault(name, []).extend(values)
    for name, values in options.items():
        if name in _ROLES and NONE in values:
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
