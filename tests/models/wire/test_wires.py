"""Every provider's LangChain package against a server that speaks as the provider does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from models.wire.wires import PIECES, TEXT, USED, WIRES, Said, Wire, WireServer, wire_of

from thinkgraph.models.client import ChatClient, client_for
from thinkgraph.models.failures import UnreadableResponseError, classify
from thinkgraph.models.wire import watch
from thinkgraph.models.wire.forms import CallOptions, ModelReply

SCHEMA = {
    "type": "object",
    "properties": {"numbers": {"type": "array", "items": {"type": "integer", "minimum": 1}, "maxItems": 3}},
    "required": ["numbers"],
    "additionalProperties": False,
}
ASKED: Any = [("system", "You count."), ("user", "Count to two.")]
OPTIONS = CallOptions(0.4, SCHEMA, 64, 20.0)
MODES = ("sync", "async")

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore:Inheritance class AiohttpClientSession"),
    pytest.mark.parametrize("provider", WIRES),
]


@contextmanager
def serving(
    provider: str, said: Said, monkeypatch: pytest.MonkeyPatch, *, named: bool = True
) -> Iterator[tuple[WireServer, ChatClient]]:
    """A server that says this, and a client of it."""
    wire = wire_of(provider)
    with WireServer(wire, said) as server:
        for name, value in wire.environment.items():
            monkeypatch.setenv(name, value.format(url=server.url))
        yield server, client_for(wire.name if named else wire.make(server.url))


def ask(client: ChatClient, options: CallOptions, mode: str) -> ModelReply:
    """Ask in a thread, or on an event loop of its own."""
    if mode == "sync":
        return client.invoke(ASKED, options, {})

    async def once() -> ModelReply:
        try:
            return await client.ainvoke(ASKED, options, {})
        finally:
            await client.aclose()

    return asyncio.run(once())


def ended(wire: Wire, ours: str) -> str:
    """The provider's first word for one of ours."""
    return next(word for word, meaning in wire.finishes.items() if meaning == ours)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("named", [True, False], ids=["name", "object"])
def test_every_request_has_schema_limit_and_temperature_and_every_reply_its_usage(
    provider: str,
    named: bool,  # noqa: FBT001
    mode: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wire = wire_of(provider)
    with serving(provider, Said(ended(wire, "stop")), monkeypatch, named=named) as (server, client):
        reply = ask(client, OPTIONS, mode)
        (body,) = server.bodies
    assert client.profile.provider == provider
    assert reply == ModelReply(TEXT, *USED)
    assert (wire.limit(body), wire.temperature(body)) == (64, 0.4)
    sent = wire.schema(body)
    assert (sent["type"], sent["required"], sent["properties"]["numbers"]["type"]) == ("object", ["numbers"], "array")
    refused = provider == "anthropic"
    assert ("maxItems" in sent["properties"]["numbers"]) is not refused
    assert ("minimum" in sent["properties"]["numbers"]["items"]) is not refused
    if provider == "ollama":
        assert body["options"]["num_ctx"] == client.window == (8192 if named else 4096), "what the object was made with"


def can_pass(error: Exception) -> bool:
    """Whether a failure can pass later."""
    failure = classify(error)
    return failure is not None and failure.passing


def end_of(client: ChatClient, mode: str) -> str:
    """Why a reply ends, "failed" where it is a failure that can pass."""
    try:
        return ask(client, OPTIONS, mode).finish
    except UnreadableResponseError as error:
        return "failed" if can_pass(error) else "failed for good"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("named", [True, False], ids=["name", "object"])
def test_every_reason_to_end_is_understood(
    provider: str,
    named: bool,  # noqa: FBT001
    mode: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = {}
    wire = wire_of(provider)
    for reason in wire.finishes:
        with serving(provider, Said(reason), monkeypatch, named=named) as (_, client):
            found[reason] = end_of(client, mode)
    assert found == wire.finishes


def after_two_pieces(wire: Wire) -> int:
    """How many events a reply has up to its second piece of text."""
    return next(n for n, event in enumerate(wire.events(Said("stop"))) if PIECES[1][-1:].encode() in event and n) + 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("named", [True, False], ids=["name", "object"])
def test_a_stream_that_closes_without_a_reason_to_end_is_a_failure_that_can_pass(
    provider: str,
    named: bool,  # noqa: FBT001
    mode: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wire = wire_of(provider)
    events = wire.events(Said(ended(wire, "stop")))[: after_two_pieces(wire)]
    monkeypatch.setitem(WIRES, provider, replace(wire, events=lambda _: events))
    with (
        serving(provider, Said("stop"), monkeypatch, named=named) as (_, client),
        pytest.raises(ConnectionError, match="in the middle of the reply") as raised,
    ):
        ask(client, OPTIONS, mode)
    assert can_pass(raised.value)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stall", [0, 1], ids=["before the first token", "in the middle"])
@pytest.mark.parametrize("named", [True, False], ids=["name", "object"])
def test_a_server_that_falls_silent_does_not_hold_a_call(
    provider: str,
    named: bool,  # noqa: FBT001
    stall: int,
    mode: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = Said("stop", stall=stall)
    with (
        serving(provider, said, monkeypatch, named=named) as (_, client),
        pytest.raises(Exception) as raised,
    ):
        # The server would hold its connection for a minute, and the test for its own limit.
        ask(client, replace(OPTIONS, timeout=0.4), mode)
    assert can_pass(raised.value)


@pytest.mark.parametrize("mode", MODES)
def test_a_server_that_drips_ends_with_the_time_for_the_whole(
    provider: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = wire_of(provider)
    # The event of one piece of text, again and again.
    said = Said(ended(wire, "stop"), stall=after_two_pieces(wire), drip=0.05)
    with serving(provider, said, monkeypatch, named=False) as (_, client), pytest.raises(TimeoutError):
        ask(client, replace(OPTIONS, timeout=30.0, total=0.8), mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_slow_first_token_is_no_failure(provider: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wire = wire_of(provider)
    with serving(provider, Said(ended(wire, "stop")), monkeypatch, named=False) as (server, client):
        events = wire.events(server.said)
        monkeypatch.setattr(server, "wire", replace(wire, events=lambda _: server.wait(0.6) or events))
        if provider == "mistralai":
            # In place of LangChain's own two minutes.
            made: Any = client.made()
            made.client.timeout = made.async_client.timeout = 0.2
        assert ask(client, replace(OPTIONS, timeout=30.0), mode).text == TEXT


@pytest.mark.parametrize("mode", MODES)
def test_an_endless_reply_is_cut_off(provider: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LONGEST_REPLY", 1000)
    wire = wire_of(provider)
    with serving(provider, Said(ended(wire, "stop"), pieces=["x" * 600] * 50), monkeypatch, named=False) as (_, client):
        reply = ask(client, OPTIONS, mode)
    assert (reply.text, reply.finish) == ("x" * 1000, "length")


@pytest.mark.parametrize("mode", MODES)
def test_a_full_server_is_asked_again(provider: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = {"error": {"message": "overloaded", "type": "overloaded_error", "code": 503, "status": "UNAVAILABLE"}}
    with (
        serving(provider, Said("stop", error=(503, busy)), monkeypatch) as (_, client),
        pytest.raises(Exception) as raised,
    ):
        ask(client, OPTIONS, mode)
    assert can_pass(raised.value)


@pytest.mark.parametrize("mode", MODES)
def test_a_page_in_place_of_a_reply_is_a_failure_that_can_pass(
    provider: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = wire_of(provider)
    with serving(provider, Said(ended(wire, "stop")), monkeypatch, named=False) as (server, client):
        page = replace(wire, events=lambda _: [b"<html><body>Log in</body></html>\n"], kind="text/html")
        monkeypatch.setattr(server, "wire", page)
        with pytest.raises(Exception) as raised:
            ask(client, OPTIONS, mode)
    assert can_pass(raised.value)
