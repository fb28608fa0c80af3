"""Addresses of knowledge bases with a user's name and password in them: never shown, never written down."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from thinkgraph.errors import KnowledgeError, UsageError

HIDDEN = "***"
"""Stands where an option's secret was."""

# A password may hold what should have been percent-encoded. What looks like a port is one.
_LOGIN = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]*://(?!\[)[^/?#:@\s]*):(?:[^/?#\s]*|(?!\d*[/?#])\S*?)@")
_SECRET = re.compile(
    r"([?&](?:[\w.-]*(?:password|passwd|secret|token|api[_-]?key|auth)[\w.-]*)=)[^&#\s]*", re.IGNORECASE
)


def redacted(address: str) -> str:
    """The address without its password, and with `***` for whatever its options call a secret."""
    bare = _LOGIN.sub(lambda login: login[1] if login[1].endswith("/") else f"{login[1]}@", address)
    return _SECRET.sub(rf"\g<1>{HIDDEN}", bare)


def local_path(given: Path | str, what: str) -> Path:
    """A path of this machine, with the home folder for `~`; `what` it is, a file or a folder, is for the error.

    Raises:
        UsageError: it is an address (as a path, its password would be shown), or neither a text nor a path.
    """
    if not isinstance(given, str | os.PathLike):
        raise UsageError(f"{what} is named by a text or a path, not {given!r:.80}")
    if "://" in str(given):
        raise UsageError(f"{redacted(str(given))} is an address: name {what} of this machine")
    return Path(given).expanduser()


def local_paths(given: Iterable[Path | str], what: str) -> list[Path]:
    """Several of them, each of which is `what`.

    Raises:
        UsageError: one stands alone (a text is a list of letters, too), or cannot be used.
    """
    if isinstance(given, str | os.PathLike):
        raise UsageError(f"paths are given in a list: [{redacted(str(given))!r}], where it is one")
    return [local_path(path, what) for path in given]


def noted(address: str) -> str:
    """An address as it was noted with a run, where it can be used again.

    Raises:
        KnowledgeError: an option's secret is missing from it.
    """
    if f"={HIDDEN}" in address:
        raise KnowledgeError(f"secrets of addresses are not kept with runs ({address}): give --kb again")
    return address
