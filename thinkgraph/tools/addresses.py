"""Addresses of knowledge bases with a user's name and password in them: never shown, never written down."""

from __future__ import annotations

import re

from thinkgraph.errors import KnowledgeError

HIDDEN = "***"
"""Stands where an option's secret was."""

_LOGIN = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]*://[^/?#:@\s]*):[^/?#\s]*@")
_SECRET = re.compile(r"([?&](?:[\w.-]*(?:password|passwd|secret|token|api_?key|auth)[\w.-]*)=)[^&#\s]*", re.IGNORECASE)


def redacted(address: str) -> str:
    """The address without its password, and with `***` for whatever its options call a secret."""
    return _SECRET.sub(rf"\g<1>{HIDDEN}", _LOGIN.sub(_without_password, address))


def _without_password(login: re.Match[str]) -> str:
    before = login[1]
    return before if before.endswith("/") else f"{before}@"


def noted(address: str) -> str:
    """An address as it was noted with a run, where it can be used again.

    Raises:
        KnowledgeError: an option's secret is missing from it.
    """
    if f"={HIDDEN}" in address:
        raise KnowledgeError(f"secrets of addresses are not kept with runs ({address}): give --kb again")
    return address
