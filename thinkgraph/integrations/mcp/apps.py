"""The page of an answer as an MCP app (extension `io.modelcontextprotocol/ui`), in the protocol's own names.

A host that shows apps finds the page's address with the tool `ask`, reads it as a resource, and hands it the tool's result. For any
other host the result is what it was: a text and JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

EXTENSION = "io.modelcontextprotocol/ui"
MIME_TYPE = "text/html;profile=mcp-app"
ADDRESS = "ui://thinkgraph/answer.html"
EVENTS = "thinkgraph/events"
"""Where a result's `_meta`, which no model reads, has the events of the run."""

TOOL_META = {"ui": {"resourceUri": ADDRESS}}
PAGE_META = {"ui": {"prefersBorder": True}}
PAGE = {
    "uri": ADDRESS,
    "name": "answer",
    "title": "The walk to an answer",
    "description": "The page of a run: the graph that it walked, and what each part of the answer stands on.",
    "mimeType": MIME_TYPE,
    "_meta": PAGE_META,
}


def shows_apps(capabilities: Any) -> bool:
    """Whether a client says of itself that it shows apps."""
    found = getattr(capabilities, "extensions", None)
    told = found.get(EXTENSION) if isinstance(found, Mapping) else None
    kinds = told.get("mimeTypes") if isinstance(told, Mapping) else None
    return isinstance(kinds, Sequence) and MIME_TYPE in kinds
