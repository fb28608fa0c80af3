"""Opens an address `sparql+https://host/path?profile=wikidata&…`."""

from __future__ import annotations

import dataclasses
import ipaddress
import os
import re
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from thinkgraph.errors import KnowledgeError
from thinkgraph.tools.addresses import redacted
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.protocols import Embedder, closed_on_error
from thinkgraph.tools.sparql.http import RequestPolicy
from thinkgraph.tools.sparql.profiles import PROFILES
from thinkgraph.tools.sparql.store import SparqlGraphStore

_SCHEMES = {"sparql+http": "http", "sparql+https": "https"}
_LOCAL_CONCURRENCY = 8
PASSWORD_VARIABLE = "SPARQL_PASSWORD"  # noqa: S105 - the name of the variable
"""The variable with the password of a user whose address has none."""
_THEIRS = "x-"
"""Prefix of an option that is sent to the server."""


class _Option(NamedTuple):
    """What may stand for an option of an address."""

    form: str
    """A regular expression; case does not matter."""
    says: str
    """The form in words."""
    read: Callable[[str], Any] = str


def _one_of(*known: str) -> _Option:
    return _Option("|".join(known), f"one of {', '.join(known)}", str.lower)


_YES, _NO = "yes|true|1|on", "no|false|0|off"
_SWITCH = _Option(f"{_YES}|{_NO}", "yes or no", lambda text: text.casefold() in _YES.split("|"))
_FROM_0 = _Option(r"\d+", "a whole number from 0", int)
_FROM_1 = _Option(r"0*[1-9]\d*", "a whole number from 1", int)
_LINE = _Option(r"[ -~]*", "a line of ASCII")
_TEXT = _Option(r"(?s:.*)", "a text")

_STORE = {
    "profile": _one_of(*sorted(PROFILES)),
    "language": _Option(
        r"[\s,]*[a-z0-9-]+(?:\s*,[\s,]*[a-z0-9-]+)*[\s,]*",
        "language codes with commas between them, the best first",
        lambda text: tuple(re.findall(r"[A-Za-z0-9-]+", text)),
    ),
    "names": _one_of("local", "server"),
    "search": _one_of("entitysearch", "bif", "jena", "none"),
    "qualifiers": _SWITCH,
    "counts": _Option(
        f"total|{_YES}|{_NO}",
        "yes or no, or total",
        lambda text: {"total": "total"}.get(text.casefold(), "all" if _SWITCH.read(text) else "none"),
    ),
    "bound": _FROM_0,
    "batch": _FROM_1,
    "page": _FROM_1,
    "literal_length": _FROM_1,
    "max_names": _FROM_1,
    "version": _TEXT,
    "name": _TEXT,
}
_POLICY = {
    # There are times that no socket can count.
    "timeout": _Option(r"(?=.*[1-9])(?:0*\d{1,6}|\d{0,6}\.\d+)", "a number above 0 and below 1000000", float),
    "retries": _FROM_0,
    "rate": _Option(r"\d*\.?\d+", "a number from 0", float),
    "concurrency": _FROM_1,
    "agent": _LINE,
    "contact": _LINE,
}


def sparql_store(spec: str) -> SparqlGraphStore:
    """The store of an address. No request is sent yet.

    Raises:
        KnowledgeError: the address or one of its options is wrong.
    """
    try:
        parts = urlsplit(spec)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or not host.isprintable() or any(c in host for c in ' <>"'):
        raise KnowledgeError(f"{redacted(spec)} is no address: write sparql+https://host/path?profile=…")
    options: dict[str, Any] = {}
    theirs: dict[str, str] = {}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        option = _STORE.get(name) or _POLICY.get(name)
        if name.startswith(_THEIRS):
            theirs[name.removeprefix(_THEIRS)] = value
        elif option is None:
            names = ", ".join(sorted({*_STORE, *_POLICY}))
            raise KnowledgeError(
                f"{name!r} is no option of a SPARQL address (known: {names}; x-NAME is sent on to the server)"
            )
        elif not re.fullmatch(option.form, value, re.IGNORECASE | re.ASCII):
            raise KnowledgeError(f"the option {name} of a SPARQL address is {option.says}, not {value[:60]!r}")
        else:
            options["languages" if name == "language" else name] = option.read(value)
    policy = {name: options.pop(name) for name in _POLICY if name in options}
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
    store = sparql_store(spec)
    with closed_on_error(store.close):
        return Knowledge(graph=store, embedder=embedder, close_stores=True)
