"""Who may ask: bearer tokens from the environment. What nobody allowed is refused, and what somebody made is theirs alone.

THINKGRAPH_TOKENS holds `name=token` pairs, separated by white space. Put your own check (a JWT, your user database) into
`_user`; the rest can stay.
"""

from __future__ import annotations

import hmac
import os
from typing import Any

from langgraph_sdk import Auth
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

auth = Auth()
Context = Auth.types.AuthContext
_ASK = "give a token: Authorization: Bearer …"


def _user(authorization: str | None) -> str | None:
    """Whose token an `Authorization: Bearer …` header holds."""
    scheme, _, given = (authorization or "").partition(" ")
    pairs = (word.partition("=") for word in os.environ.get("THINKGRAPH_TOKENS", "").split())
    if scheme.casefold() == "bearer":
        for name, _, token in pairs:
            if name and token and hmac.compare_digest(given.strip().encode(), token.encode()):
                return name
    return None


@auth.authenticate
async def authenticate(authorization: str | None) -> Auth.types.MinimalUserDict:
    """The user of a request; one without a token is refused."""
    if (name := _user(authorization)) is None:
        raise Auth.exceptions.HTTPException(status_code=401, detail=_ASK)
    return {"identity": name}


@auth.on
async def nobody(ctx: Context, value: dict[str, Any]) -> bool:  # noqa: ARG001 - the server passes both by name
    """What no handler below allows is refused."""
    return False


@auth.on.threads
async def own_threads(ctx: Context, value: dict[str, Any]) -> dict[str, str]:
    """Threads and their runs are their maker's."""
    return _sign(ctx, value)


@auth.on.crons
async def own_crons(ctx: Context, value: dict[str, Any]) -> dict[str, str]:
    """So are questions asked by the clock, which run as the one who set them."""
    payload = value.get("payload") or {}
    asked_as = (payload.get("config") or {}).get("configurable") or {}
    for name in [name for name in asked_as if name.startswith("langgraph_auth")]:
        del asked_as[name]
    return _sign(ctx, value)


@auth.on.assistants
async def own_assistants(ctx: Context, value: dict[str, Any]) -> dict[str, Any]:
    """So are assistants; those of langgraph.json are everybody's to use and nobody's to change."""
    mine = _sign(ctx, value)
    if ctx.action in {"read", "search"}:
        return {"$or": [mine, {"created_by": "system"}]}
    return mine


@auth.on.store
async def own_items(ctx: Context, value: dict[str, Any]) -> None:
    """Every namespace begins with its user: the journal and other users' items lie outside."""
    # The server refuses periods in a namespace, and an address for a name has them.
    home = ("users", ctx.user.identity.replace("%", "%25").replace(".", "%2E"))
    asked = tuple(value.get("namespace") or ())
    value["namespace"] = asked if asked[:2] == home else (*home, *asked)


def _sign(ctx: Context, value: dict[str, Any]) -> dict[str, str]:
    """Write the user on what is made or changed; what else it finds must bear that name."""
    mine = {"owner": ctx.user.identity}
    if ctx.action in {"create", "create_run", "update"}:
        given = value.get("metadata")
        if given is not None or ctx.action != "update":
            metadata = value.setdefault("metadata", {})
            # "system" would make it everybody's.
            metadata.pop("created_by", None)
            metadata.update(mine)
    return mine


class Gate:
    """No route without a token, and none of the development server's own: anybody could empty or deploy it by them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it."""
        if scope["type"] in {"http", "websocket"} and not scope.get("root_path", "").startswith("/noauth"):
            path, who = scope["path"], _user(Headers(scope=scope).get("authorization"))
            status = 404 if path.startswith(("/internal", "/deploy")) else 401 if who is None else None
            if status and path != "/ok" and scope.get("method") != "OPTIONS":
                detail = _ASK if status == 401 else "Not Found"
                await JSONResponse({"detail": detail}, status)(scope, receive, send)
                return
        await self._app(scope, receive, send)


app = Starlette(middleware=[Middleware(Gate)])
