"""Calls of tools as servers send them: their arguments need be no JSON object."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, InvalidToolCall
from model_server import ModelServer
from models.test_client import ASKED, BARE, CALLED
from replies import Garbage

from thinkgraph.models.client import client_for
from thinkgraph.models.wire.forms import read_message


def test_a_call_whose_arguments_cannot_be_read_is_a_call_without() -> None:
    unread = InvalidToolCall(name="search", args='{"entity": "Pan', id="2", error="no JSON")
    reply = read_message(AIMessage(content="", tool_calls=[CALLED], invalid_tool_calls=[unread]), ASKED)
    assert [(call["args"], call["id"]) for call in reply.tool_calls] == [({"entity": "Panama"}, "call_1"), ({}, "2")]


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize(
    ("arguments", "args"),
    [
        ({"entity": "Panama"}, {"entity": "Panama"}),
        (json.dumps(json.dumps({"entity": "Panama"})), {"entity": "Panama"}),
        ('["Panama"]', {}),
        ('"Panama"', {}),
        ('{"entity": "Pan', {}),
        pytest.param("[" * 20_000, {}, id="deep"),
        (None, {}),
    ],
)
@pytest.mark.parametrize("whole", [True, False])
def test_arguments_that_are_no_object_are_the_tools_to_refuse(
    monkeypatch: pytest.MonkeyPatch,
    arguments: Any,
    args: dict[str, Any],
    whole: bool,  # noqa: FBT001
) -> None:
    message = {"role": "assistant", "content": None}
    message["tool_calls"] = [{"id": "1", "type": "function", "function": {"name": "search", "arguments": arguments}}]
    choice = {"index": 0, "message" if whole else "delta": message, "finish_reason": "tool_calls"}
    body = json.dumps({"id": "x", "choices": [choice]})
    with ModelServer([Garbage((body if whole else f"data: {body}\n\n").encode())]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        reply = client_for("openai:test").invoke(ASKED, BARE, {})
    assert list(reply.tool_calls) == [{"name": "search", "args": args, "id": "1"}]
