"""Who may ask: bearer tokens from the environment, and everybody's threads are their own.

THINKGRAPH_TOKENS holds `name=token` pairs, separated by white space. Put your own check (a JWT, your user database) into
`authenticate`; the rest can stay.
"""

from __future__ import annotations

import hmac
import os
from typing import Any

from langgraph_sdk import Auth

auth = Auth()


def _users() -> list[tuple[str, str]]:
    """Names and tokens."""
    pairs = (word.partition("=") for word in os.environ.get("THINKGRAPH_TOKENS", "").split())
    return [(name, token) for name, _, token in pairs if name and token]


@auth.authenticate
async def authenticate(authorization: str | None) -> Auth.types.MinimalUserDict:
    """The user of an `Authorization: Bearer …` header; anybody else is refused."""
    scheme, _, given = (authorization or "").partition(" ")
    if scheme.casefold() == "bearer":
        for name, token in _users():
            if hmac.compare_digest(given.strip().encode(), token.encode()):
                return {"identity": name}
    raise Auth.exceptions.HTTPException(status_code=401, detail="give a token: Authorization: Bearer …")


@auth.on.threads
async def own_threads(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> dict[str, str]:
    """A new thread is its maker's; nobody else sees it."""
    mine = {"owner": ctx.user.identity}
    value.setdefault("metadata", {}).update(mine)
    return mine
