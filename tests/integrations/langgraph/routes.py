"""Every route of the LangGraph server's own description, as a request about things that somebody made."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
from cli.conftest import QUESTION
from integrations.langgraph.conftest import BM25

MARK = "the-mark-of-alice"
"""In everything of alice's that a route could show."""
_RUN = {"input": {"question": QUESTION}, "context": BM25}
_CLOCK = {"schedule": "0 0 1 1 *", **_RUN, "metadata": {"note": MARK}}
_THREAD, _ASSISTANT, _CRON = "/threads/{thread_id}", "/assistants/{assistant_id}", "/runs/crons/{cron_id}"
_ONE_RUN = f"{_THREAD}/runs/{{run_id}}"
_MCP = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "{assistant}", "arguments": _RUN["input"]},
}
_A2A = {
    "jsonrpc": "2.0",
    "id": "1",
    "method": "message/send",
    "params": {
        "message": {"role": "user", "kind": "message", "messageId": "1", "parts": [{"kind": "text", "text": QUESTION}]}
    },
}

ROUTES: dict[str, Any] = {
    "GET /": None,
    "GET /ok": None,
    "GET /openapi.json": None,
    "GET /info": None,
    "GET /metrics": None,
    "GET /docs": None,
    "POST /assistants": {"assistant_id": "{assistant_id}", "graph_id": "tog2", "if_exists": "do_nothing"},
    "POST /assistants/search": {"limit": 100},
    "POST /assistants/count": {},
    f"GET {_ASSISTANT}": None,
    f"GET {_ASSISTANT}/graph": None,
    f"GET {_ASSISTANT}/subgraphs": None,
    f"GET {_ASSISTANT}/subgraphs/{{namespace}}": None,
    f"GET {_ASSISTANT}/schemas": None,
    f"POST {_ASSISTANT}/versions": {},
    f"POST {_ASSISTANT}/latest": {"version": 1},
    f"PATCH {_ASSISTANT}": {"description": "changed"},
    "POST /threads": {"thread_id": "{thread_id}", "if_exists": "do_nothing"},
    "POST /threads/search": {"limit": 100},
    "POST /threads/count": {},
    f"GET {_THREAD}": None,
    f"GET {_THREAD}/storage": None,
    f"GET {_THREAD}/state": None,
    f"GET {_THREAD}/state/{{checkpoint_id}}": None,
    f"POST {_THREAD}/state/checkpoint": {"checkpoint": {"checkpoint_id": "{checkpoint_id}", "checkpoint_ns": ""}},
    f"POST {_THREAD}/state": {"values": {"question": "changed"}, "as_node": "begin"},
    f"GET {_THREAD}/history": None,
    f"POST {_THREAD}/history": {"limit": 5},
    f"POST {_THREAD}/copy": {},
    f"PATCH {_THREAD}": {"metadata": {"note": "changed"}},
    f"GET {_THREAD}/stream": None,
    f"POST {_THREAD}/stream/events": {"channels": ["values"]},
    f"POST {_THREAD}/commands": {"id": 1, "method": "run.start", "params": {"assistant_id": "tog2", **_RUN}},
    f"GET {_THREAD}/runs": None,
    f"POST {_THREAD}/runs": {"assistant_id": "tog2", **_RUN},
    f"POST {_THREAD}/runs/wait": {"assistant_id": "tog2", **_RUN},
    f"POST {_THREAD}/runs/stream": {"assistant_id": "tog2", **_RUN},
    f"GET {_ONE_RUN}": None,
    f"GET {_ONE_RUN}/join": None,
    f"GET {_ONE_RUN}/stream": None,
    "POST /threads/{waiting}/runs/{waiting_run}/cancel": {},
    f"POST {_THREAD}/runs/crons": {"assistant_id": "tog2", **_CLOCK},
    "POST /runs": {"assistant_id": "{assistant_id}", **_RUN},
    "POST /runs/wait": {"assistant_id": "{assistant_id}", **_RUN},
    "POST /runs/stream": {"assistant_id": "{assistant_id}", **_RUN},
    "POST /runs/batch": [{"assistant_id": "{assistant_id}", **_RUN}],
    "POST /runs/cancel": {"thread_id": "{waiting}", "run_ids": ["{other_run}"]},
    "POST /runs/crons": {"assistant_id": "{assistant_id}", **_CLOCK},
    "POST /runs/crons/search": {},
    "POST /runs/crons/count": {},
    f"GET {_CRON}": None,
    f"PATCH {_CRON}": {"enabled": False},
    "GET /store/items?namespace=users.alice.notes&key={key}": None,
    "POST /store/items/search": {"namespace_prefix": ["users", "alice"]},
    "PUT /store/items": {"namespace": ["users", "alice", "notes"], "key": "{key}", "value": {"note": "changed"}},
    "POST /store/namespaces": {},
    "DELETE /store/items": {"namespace": ["users", "alice", "notes"], "key": "{key}"},
    "POST /a2a/{assistant_id}": _A2A,
    "GET /a2a/{assistant_id}": None,
    "DELETE /a2a/{assistant_id}": None,
    "GET /a2a/{assistant_id}/.well-known/agent-card.json": None,
    "GET /a2a/{assistant_id}/.well-known/agent.json": None,
    "GET /.well-known/agent-card.json?assistant_id={assistant_id}": None,
    "POST /mcp/": _MCP,
    "GET /mcp/": None,
    "DELETE /mcp/": None,
    "POST /mcp": _MCP,
    "GET /mcp": None,
    "DELETE /mcp": None,
    "POST /ui/{assistant_id}": {"name": "none"},
    "GET /internal/debug/thread/{thread_id}": None,
    "POST /internal/truncate": {},
    "GET /deploy": None,
    "POST /deploy": {},
    "GET /deploy/{run_id}/stream": None,
    f"DELETE {_CRON}": None,
    f"DELETE {_ONE_RUN}": None,
    "POST /threads/prune": {"thread_ids": ["{waiting}"]},
    f"DELETE {_THREAD}": None,
    f"DELETE {_ASSISTANT}": None,
}
"""Method and path, with the body that goes there."""


SHOWN = {
    *("POST /assistants", "POST /assistants/search", f"GET {_ASSISTANT}", f"POST {_ASSISTANT}/versions"),
    *(
        "POST /threads/search",
        f"GET {_THREAD}",
        f"GET {_THREAD}/state",
        f"POST {_THREAD}/history",
        f"GET {_THREAD}/runs",
    ),
    *("POST /runs/crons/search", f"GET {_CRON}", f"GET {_ONE_RUN}"),
    *("GET /store/items?namespace=users.alice.notes&key={key}", "POST /store/items/search"),
}
"""Where the one who made it sees the mark."""
NOT_OURS = {route for route in ROUTES if route.split()[1].startswith(("/internal", "/deploy"))}
"""Routes of the development server's own, which ask for no user."""
NOT_THERE = {
    "GET /mcp",
    "GET /mcp/",
    "DELETE /mcp",
    "DELETE /mcp/",
    "DELETE /a2a/{assistant_id}",
    "POST /ui/{assistant_id}",
}
"""Described, and of no use to anybody here."""


def template(route: str) -> str:
    """A route with its placeholders nameless, as a description may call them otherwise."""
    return re.sub(r"\{[^}]*\}", "{}", route.partition("?")[0])


@dataclass
class Reply:
    """What came back."""

    status: int
    body: str
    ended: bool

    @property
    def refused(self) -> bool:
        """By status, in the words of a protocol that has its own, or by a stream that ends before it began."""
        if self.status not in {200, 204, 400}:
            return self.status in {403, 404, 405, 409}
        if self.body.startswith("{"):
            told = json.loads(self.body)
            return bool(told.get("error") or told.get("type") == "error")
        return "event: error" in self.body or (self.status == 200 and self.ended and not self.body)


def ask(client: httpx.Client, route: str, ids: Mapping[str, str]) -> Reply:
    """Send a route's request with these ids in it; a stream that does not end is read for a second."""
    body = json.dumps(ROUTES[route])
    for name, value in ids.items():
        route, body = route.replace(f"{{{name}}}", value), body.replace(f"{{{name}}}", value)
    method, _, path = route.partition(" ")
    content = None if body == "null" else body
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    read, ended = b"", True
    with client.stream(method, path, content=content, headers=headers, follow_redirects=True) as reply:
        try:
            for part in reply.iter_bytes():
                read += part
        except httpx.ReadTimeout:
            ended = False
    return Reply(reply.status_code, read.decode("utf-8", "replace"), ended)
