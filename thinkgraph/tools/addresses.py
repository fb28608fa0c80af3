"""Addresses of knowledge bases with a user's name and password in them: never shown, never written down."""

from __future__ import annotations

import os
import re
from urllib.parse import quote

from thinkgraph.errors import KnowledgeError

HIDDEN = "***"
"""Stands where a password was."""
PASSWORD_VARIABLE = "THINKGRAPH_KB_PASSWORD"  # noqa: S105 - the name of the variable
"""Where a password comes from that the address does not have."""

_LOGIN = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]*://[^/?#:@\s]*):([^/?#\s]*)@")
_SECRET = re.compile(r"([?&](?:[\w.-]*(?:password|passwd|secret|token|api_?key|auth)[\w.-]*)=)[^&#\s]*", re.IGNORECASE)


def redacted(address: str) -> str:
    """The address with `***` for its password and for whatever its options call a secret."""
    return _SECRET.sub(rf"\g<1>{HIDDEN}", _LOGIN.sub(rf"\1:{HIDDEN}@", address))


def restored(address: str) -> str:
    """A noted address with the environment's password where one was taken out.

    Raises:
        KnowledgeError: the environment has none, or another secret is missing.
    """
    own = os.environ.get(PASSWORD_VARIABLE)
    found = address.replace(f":{HIDDEN}@", f":{quote(own, safe='')}@", 1) if own else address
    if is_redacted(found):
        raise KnowledgeError(
            f"secrets of addresses are not kept with runs: give --kb again (or set {PASSWORD_VARIABLE})"
        )
    return found


def has_secret(address: str) -> bool:
    """Whether something in it must not be written down."""
    return redacted(address) != address


def is_redacted(address: str) -> bool:
    """Whether a secret was taken out of it."""
    return f":{HIDDEN}@" in address or f"={HIDDEN}" in address


def password_of(given: str | None) -> str | None:
    """The password to use: what the address has, unless that was taken out or never there; then the environment's."""
    return given if given and given != HIDDEN else os.environ.get(PASSWORD_VARIABLE) or None
