"""Opens an address `sparql+https://host/path?profile=wikidata&…`."""

from __future__ import annotations

import dataclasses
import ipaddress
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from thinkgraph.errors import KnowledgeError
from thinkgraph.tools.addresses import redacted
from thinkgraph.tools.sparql.http import RequestPolicy
from thinkgraph.tools.sparql.profiles import PROFILES

if TYPE_CHECKING:
    from thinkgraph.tools.knowledge import Knowledge
    from thinkgraph.tools.protocols import Embedder
    from thinkgraph.tools.sparql.store import SparqlGraphStore

_SCHEMES = {"sparql+http": "http", "sparql+https": "https"}
_YES, _NO = {"yes", "true", "1", "on"}, {"no", "false", "0", "off"}
_LOCAL_CONCURRENCY = 8
PASSWORD_VARIABLE = "SPARQL_PASSWORD"  # noqa: S105 - the name of the variable
"""The variable with the password of a user whose address has none."""
_THEIRS = "x-"
"""Prefix of an option that is sent to the server."""


def _switch(text: str) -> bool:
    if text.casefold() not in _YES | _NO:
        raise ValueError("yes or no")
    return text.casefold() in _YES


def _counts(text: str) -> str:
    if text.casefold() == "total":
        return "total"
    return "all" if _switch(text) else "none"


def _whole(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise ValueError(f"a whole number from {least}")
        return int(text)

    return read


def _number(*, above: bool) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not (0 < number < float("inf") if above else 0 <= number < float("inf")):
            raise ValueError(f"a number {'above' if above else 'from'} 0")
        return number

    return read


def _one_of(*known: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in known:
            raise ValueError(f"one of {', '.join(known)}")
        return text

    return read


def _languages(text: str) -> list[str]:
    found = [part.strip() for part in text.split(",") if part.strip()]
    if not found or not all(part.replace("-", "").isascii() and part.replace("-", "").isalnum() for part in found):
        raise ValueError("language codes with commas between them, the best first")
    return found


def _line(text: str) -> str:
    if not text.isprintable() or not text.isascii():
        raise ValueError("a line of ASCII")
    return text


_STORE: dict[str, Callable[[str], Any]] = {
    "profile": _one_of(*sorted(PROFILES)),
    "language": _languages,
    "names": _one_of("local", "server"),
    "search": _one_of("entitysearch", "bif", "jena", "none"),
    "qualifiers": _switch,
    "counts": _counts,
    "bound": _whole(0),
    "batch": _whole(1),
    "page": _whole(1),
    "literal_length": _whole(1),
    "max_names": _whole(1),
    "version": str,
    "name": str,
}
_POLICY: dict[str, Callable[[str], Any]] = {
    "timeout": _number(above=True),
    "retries": _whole(0),
    "rate": _number(above=False),
    "concurrency": _whole(1),
    "agent": _line,
    "contact": _line,
}
_NAMED = {"language": "languages", "qualifiers": "statements"}


def sparql_store(spec: str) -> SparqlGraphStore:
    """The store of an address. No request is sent yet.

    Raises:
        KnowledgeError: the address or one of its options is wrong.
    """
    from thinkgraph.tools.sparql.store import SparqlGraphStore

    shown = redacted(spec)
    try:
        parts = urlsplit(spec)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
        parts = urlsplit("")
    if not host or not host.isprintable() or any(c in host for c in ' <>"'):
        raise KnowledgeError(f"{shown} is no address: write sparql+https://host/path?profile=…")
    options: dict[str, Any] = {}
    policy: dict[str, Any] = {}
    theirs: dict[str, str] = {}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        known = _STORE.get(name) or _POLICY.get(name)
        if name.startswith(_THEIRS):
            theirs[name.removeprefix(_THEIRS)] = value
        elif known is None:
            names = ", ".join(sorted({*_STORE, *_POLICY}))
            raise KnowledgeError(
                f"{name!r} is no option of a SPARQL address (known: {names}; x-NAME is sent on to the server)"
            )
        else:
            try:
                found = known(value)
            except ValueError as error:
                raise KnowledgeError(f"the option {name} of a SPARQL address is {error}, not {value[:60]!r}") from None
            if name in _POLICY:
                policy[name] = found
            else:
                options[_NAMED.get(name, name)] = found
    where = f"[{host}]" if ":" in host else host
    url = f"{_SCHEMES[parts.scheme]}://{where}{f':{port}' if port else ''}{parts.path or '/'}"
    polite = RequestPolicy(rate=0, concurrency=_LOCAL_CONCURRENCY) if _is_here(host) else RequestPolicy()
    return SparqlGraphStore(
        url,
        policy=dataclasses.replace(polite, **policy),
        login=_login(parts.username, parts.password),
        parameters=theirs,
        **options,
    )


def _login(user: str | None, password: str | None) -> tuple[str, str] | None:
    """User and password. The password comes from the environment if the address has none."""
    if not user:
        return None
    return unquote(user), unquote(password) if password else os.environ.get(PASSWORD_VARIABLE, "")


def _is_here(host: str) -> bool:
    """Whether the server runs on this machine, which needs no limit on the rate."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def open_sparql(spec: str, *, embedder: Embedder | None = None) -> Knowledge:
    """A knowledge base over an endpoint. A first request finds out whether the endpoint answers.

    Raises:
        KnowledgeError: the address is wrong.
        StoreError: the endpoint cannot be reached or is none.
    """
    from thinkgraph.tools.knowledge import Knowledge

    store = sparql_store(spec)
    try:
        return Knowledge(graph=store, embedder=embedder, close_stores=True)
    except BaseException:
        store.close()
        raise
