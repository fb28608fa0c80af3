"""The search agent with models that think before they call a tool, over their LangChain packages."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from graphs.cases import america
from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.memory import InMemorySaver
from models.wire.wires import RESPONSES, Said, WireServer, wire_of

import thinkgraph as tg

ANSWER = '{"sufficient": true, "answers": ["Panama City"], "evidence": [1]}'
SEARCH = {"entity": "Panama", "direction": "out", "relations": ["capital"]}
THOUGHT, SIGNATURE = "The capital is asked.", "c2lnbmVk"


def _anthropic() -> list[bytes]:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-m", "content": []}
    thinking = {"type": "thinking", "thinking": "", "signature": ""}
    call = {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {}}
    deltas = [
        (0, {"type": "thinking_delta", "thinking": THOUGHT}),
        (0, {"type": "signature_delta", "signature": SIGNATURE}),
        (1, {"type": "input_json_delta", "partial_json": json.dumps(SEARCH)}),
    ]
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "usage": {"input_tokens": 9, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": thinking},
        *({"type": "content_block_delta", "index": index, "delta": delta} for index, delta in deltas[:2]),
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": call},
        {"type": "content_block_delta", "index": 1, "delta": deltas[2][1]},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]


def _responses() -> list[bytes]:
    thought = {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": THOUGHT}]}
    call = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "search", "status": "completed"}
    made = {**call, "arguments": json.dumps(SEARCH)}
    response = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": [], "tools": []}
    begun = {**response, "parallel_tool_calls": True, "tool_choice": "auto", "status": "in_progress"}
    counts = {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 4}}
    ended = {**begun, "status": "completed", "output": [thought, made], "usage": {**counts, **details}}
    summary = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": {**thought, "summary": []}},
        {
            "type": "response.reasoning_summary_part.added",
            **summary,
            "part": {"type": "summary_text", "text": ""},
        },
        {"type": "response.reasoning_summary_text.delta", **summary, "delta": THOUGHT},
        {"type": "response.output_item.done", "output_index": 0, "item": thought},
        {"type": "response.output_item.added", "output_index": 1, "item": {**call, "arguments": ""}},
        {
            "type": "response.function_call_arguments.delta",
            "item_id": "fc_1",
            "output_index": 1,
            "delta": made["arguments"],
        },
        {"type": "response.output_item.done", "output_index": 1, "item": made},
        {"type": "response.completed", "response": ended},
    ]
    return [
        f"data: {json.dumps({**event, 'sequence_number': number})}\n\n".encode() for number, event in enumerate(events)
    ]


def _google() -> list[bytes]:
    parts = [
        {"text": THOUGHT, "thought": True},
        {"functionCall": {"name": "search", "args": SEARCH}, "thoughtSignature": SIGNATURE},
    ]
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 9, "thoughtsTokenCount": 4, "totalTokenCount": 22}
    candidate = {"content": {"parts": parts, "role": "model"}, "index": 0, "finishReason": "STOP"}
    return [
        f"data: {json.dumps({'candidates': [candidate], 'usageMetadata': usage, 'modelVersion': 'm'})}\n\n".encode()
    ]


def _claudes(body: Mapping[str, Any]) -> Sequence[Any]:
    called = [message for message in body["messages"] if message["role"] == "assistant"][-1]
    return [part["type"] for part in called["content"]] + [called["content"][0].get("signature")]


def _openais(body: Mapping[str, Any]) -> Sequence[Any]:
    return [(item["type"], item["id"]) for item in body["input"] if item.get("type") in {"reasoning", "function_call"}]


def _geminis(body: Mapping[str, Any]) -> Sequence[Any]:
    called = [content for content in body["contents"] if content["role"] == "model"][-1]
    return [part["thoughtSignature"] for part in called["parts"] if "functionCall" in part]


FORMS: Mapping[str, tuple[Callable[[], list[bytes]], Callable[[Mapping[str, Any]], Sequence[Any]], Sequence[Any]]]
FORMS = {
    "anthropic": (_anthropic, _claudes, ["thinking", "tool_use", SIGNATURE]),
    "openai_responses": (_responses, _openais, [("reasoning", "rs_1"), ("function_call", "fc_1")]),
    "google_genai": (_google, _geminis, [SIGNATURE]),
}
"""By provider: a turn that thinks and calls the tool, how the next request tells that turn, and what must stand there."""


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore:Inheritance class AiohttpClientSession")
@pytest.mark.parametrize("provider", FORMS)
def test_the_thoughts_before_a_call_go_back_with_it_also_from_the_journal(provider: str, tmp_path: Path) -> None:
    """Claude's service refuses a conversation without them ("Expected `thinking`, but found `tool_use`")."""
    wire = RESPONSES if provider == "openai_responses" else wire_of(provider)
    calls, told, expected = FORMS[provider]
    script = iter([calls(), wire.events(Said("stop", [ANSWER]))])
    with WireServer(replace(wire, events=lambda _: next(script)), Said("stop")) as server:
        model = _thinking(provider, wire.make(server.url))
        journal = tg.SqliteJournal(tmp_path / "journal.sqlite")
        for run in range(2):
            graph = tg.build(
                "search_agent", knowledge=america(), model=model, journal=journal, checkpointer=InMemorySaver()
            )
            question = {"question": "What is the capital of Panama?"}
            answer = graph.invoke(question, {"configurable": {"thread_id": "t"}})["answer"]
            assert (answer["answers"], answer["status"]) == (["Panama City"], "grounded")
            assert len(server.bodies) == 2, f"run {run}"
        assert told(server.bodies[1]) == expected


def _thinking(provider: str, model: BaseChatModel) -> BaseChatModel:
    return (
        model.model_copy(update={"thinking": {"type": "enabled", "budget_tokens": 1024}})
        if provider == "anthropic"
        else model
    )
