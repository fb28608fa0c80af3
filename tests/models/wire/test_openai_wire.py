"""What only OpenAI's API and its many likenesses do: refusals, reasoning, filters, streams that are none."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from models.wire.test_wires import ASKED, MODES, OPTIONS, SCHEMA, ask, serving
from models.wire.wires import RESPONSES, TEXT, USED, WIRES, Said, Wire

from thinkgraph.models.client import client_for
from thinkgraph.models.wire.forms import CallOptions, ModelReply

FILTERED = {"error": {"message": "The response was filtered", "type": None, "code": "content_filter", "status": 400}}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("schema", [SCHEMA, None], ids=["schema", "text"])
@pytest.mark.parametrize(
    ("wire", "named"),
    [(WIRES["openai"], True), (WIRES["openai"], False), (RESPONSES, False)],
    ids=["name", "object", "responses"],
)
def test_a_refusal_is_no_unreadable_reply(
    wire: Wire,
    named: bool,  # noqa: FBT001
    schema: Mapping[str, Any] | None,
    mode: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(WIRES, "openai", wire)
    with serving("openai", Said("stop", refusal="I cannot help."), monkeypatch, named=named) as (_, client):
        reply = ask(client, replace(OPTIONS, schema=schema), mode)
    assert reply == ModelReply("I cannot help.", *USED, finish="filtered")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("finish", RESPONSES.finishes)
def test_the_responses_api_has_schema_limit_and_temperature_and_its_reasons_to_end(
    finish: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(WIRES, "openai", RESPONSES)
    with serving("openai", Said(finish), monkeypatch, named=False) as (server, client):
        reply = ask(client, OPTIONS, mode)
        (body,) = server.bodies
    assert (reply.text, reply.finish) == (TEXT, RESPONSES.finishes[finish])
    assert (reply.input_tokens, reply.output_tokens) == USED
    assert (RESPONSES.schema(body), RESPONSES.limit(body), body["temperature"]) == (SCHEMA, 64, 0.4)


@pytest.mark.parametrize("mode", MODES)
def test_a_prompt_that_a_filter_refuses_is_an_empty_filtered_reply(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving("openai", Said("stop", error=(400, FILTERED)), monkeypatch) as (_, client):
        reply = ask(client, OPTIONS, mode)
    assert (reply.text, reply.finish, reply.output_tokens) == ("", "filtered", 0)
    assert client.refused == frozenset(), "nothing of the form was refused"


@pytest.mark.parametrize(
    ("name", "stage", "effort", "expected"),
    [
        ("gpt-5-mini", "explore", "auto", "minimal"),
        ("gpt-5.1", "explore", "auto", "none"),
        ("o3-mini", "explore", "auto", "low"),
        ("gpt-5-mini", "reason", "auto", "medium"),
        ("gpt-5-mini", "reason", "high", "high"),
        ("gpt-4o-mini", "reason", "high", None),
    ],
)
def test_a_reasoning_model_thinks_by_stage_and_has_no_temperature(
    name: str, stage: str, effort: str, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving("openai", Said("stop"), monkeypatch) as (server, _):
        client = client_for(f"openai:{name}")
        ask(client, CallOptions(0.4, SCHEMA, 64, 20.0, stage=stage, effort=effort), "sync")
        (body,) = server.bodies
    assert body.get("reasoning_effort") == expected
    assert ("temperature" in body) is (expected is None)
    assert body["max_completion_tokens"] == 64


@pytest.mark.parametrize("mode", MODES)
def test_a_response_that_breaks_off_is_a_failure_that_can_pass(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    events = RESPONSES.events(Said("stop"))[:-1]
    monkeypatch.setitem(WIRES, "openai", replace(RESPONSES, events=lambda _: events))
    with (
        serving("openai", Said("stop"), monkeypatch, named=False) as (_, client),
        pytest.raises(ConnectionError, match="in the middle"),
    ):
        ask(client, OPTIONS, mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_server_that_never_says_why_a_stream_ends_is_read(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said: Any = Said(None)  # type: ignore[arg-type]
    with serving("openai", said, monkeypatch) as (_, client):
        assert ask(client, OPTIONS, mode) == ModelReply(TEXT, *USED)


def test_many_calls_share_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving("openai", Said("stop"), monkeypatch) as (server, client):

        async def many() -> list[str]:
            replies = await asyncio.gather(*(client.ainvoke(ASKED, OPTIONS, {}) for _ in range(8)))
            await client.aclose()
            return [reply.text for reply in replies]

        assert len(set(asyncio.run(many()))) == 1
        assert len(server.bodies) == 8
