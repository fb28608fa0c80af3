"""Who may see the page: whoever holds its token, from the machine's own names, by the page itself and no other site's."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection, Mapping

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""The names by which a browser on this machine reaches it."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_CLOSED = "open the address that was printed when the page was started: it holds the page's token"


class Guard:
    """Refuses requests without the page's cookie, for other hosts' names, or from other sites' pages."""

    def __init__(self, app: ASGIApp, *, token: str, cookie: str, hosts: Collection[str] = LOCAL) -> None:
        """Guard an application.

        Args:
            app: what is guarded.
            token: given once in the address (`?token=…`), which sets the cookie.
            cookie: its name; cookies are shared by the ports of a host.
            hosts: the names under which it may be asked for, at any port.
        """
        self._app = app
        self._token = token
        self._cookie = cookie
        self._hosts = frozenset(map(_name, hosts))
        self._session = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            # Without a word of ours a server takes it for a fault, and logs it.
            await send({"type": "websocket.close"})
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        headers = Headers(scope=scope)
        if problem := self._foreign(headers, scope):
            await JSONResponse({"error": problem}, 403)(scope, receive, guarded)
        elif given := QueryParams(scope.get("query_string", b"")).get("token"):
            await self._open(given, scope, receive, guarded)
        elif not self._known(cookie_parser(headers.get("cookie", ""))):
            await JSONResponse({"error": _CLOSED}, 401)(scope, receive, guarded)
        else:
            await self._app(scope, receive, guarded)

    def _foreign(self, headers: Headers, scope: Scope) -> str:
        host = headers.get("host", "")
        if _name(host) not in self._hosts:
            return "this page is not served under that name"
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            return "requests of other sites are refused"
        if headers.get("sec-fetch-site", "same-origin") == "cross-site" and scope["method"] != "GET":
            return "requests of other sites are refused"
        kind = headers.get("content-type", "").partition(";")[0].strip().casefold()
        if scope["method"] not in {"GET", "HEAD"} and kind != "application/json":
            return "requests that change something are JSON"
        return ""

    def _known(self, cookies: Mapping[str, str]) -> bool:
        return hmac.compare_digest(cookies.get(self._cookie, "").encode(), self._session.encode())

    async def _open(self, given: str, scope: Scope, receive: Receive, send: Send) -> None:
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            await JSONResponse({"error": _CLOSED}, 401)(scope, receive, send)
            return
        # Back to the same place: the token stays in no history and no referrer.
        home = RedirectResponse(scope.get("root_path", "") + "/", 303)
        home.set_cookie(self._cookie, self._session, httponly=True, samesite="strict", path="/")
        await home(scope, receive, send)


def _name(host: str) -> str:
    """A host without its port."""
    name = host.casefold()
    return name.rpartition(":")[0] if name.rpartition(":")[2].isdigit() else name
