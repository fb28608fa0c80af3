"""What only Ollama does: it reads as much of a prompt as it is asked to, and cuts the rest off without a word."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from models.by_hand import Hand, a_scope
from models.test_calls import GOOD
from models.window.test_calls_window import long_question
from models.wire.test_wires import ASKED, OPTIONS
from models.wire.wires import Said, WireServer, wire_of

from thinkgraph.models.calls import call_model
from thinkgraph.models.client import ChatClient, client_for
from thinkgraph.models.window import weigh_all


def window_sent(server: WireServer, client: ChatClient) -> Any:
    """`num_ctx` of one request."""
    client.invoke(ASKED, OPTIONS, {})
    return server.bodies[-1]["options"]["num_ctx"]


@pytest.mark.parametrize(("given", "window"), [({}, 8192), ({"window": 16384}, 16384)], ids=["unknown", "given"])
def test_a_name_is_asked_for_the_window_that_prompts_are_cut_to(
    given: dict[str, Any], window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with WireServer(wire_of("ollama"), Said("stop")) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        client = client_for("ollama:m", {"ollama:m": given})
        assert client.window == window, "also before it is made"
        assert window_sent(server, client) == client.window == window


@pytest.mark.parametrize(
    ("num_ctx", "given", "window"), [(None, {}, 8192), (4096, {}, 4096), (None, {"window": 2048}, 2048)]
)
def test_an_object_is_asked_for_its_own_window(num_ctx: int | None, given: dict[str, Any], window: int) -> None:
    wire = wire_of("ollama")
    with WireServer(wire, Said("stop")) as server:
        made = wire.make(server.url).model_copy(update={"num_ctx": num_ctx})
        client = client_for(made, {"m": given})
        assert window_sent(server, client) == client.window == window
    assert getattr(made, "num_ctx", None) == num_ctx, "it is not changed itself"


@pytest.mark.parametrize(
    ("name", "picks", "reasons"),
    [
        ("qwen3:8b", False, True),
        ("deepseek-r1", False, True),
        ("gpt-oss:20b", "low", "medium"),
        ("qwen3:4b-instruct", None, None),
        ("qwen3-coder:30b", None, None),
        ("llama3.1:70b", None, None),
    ],
)
def test_a_model_that_thinks_is_told_how_much(
    name: str, picks: Any, reasons: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with WireServer(wire_of("ollama"), Said("stop")) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        client = client_for(f"ollama:{name}")
        for stage in ("explore", "reason"):
            client.invoke(ASKED, replace(OPTIONS, stage=stage, effort="auto"), {})
        assert [body.get("think") for body in server.bodies] == [picks, reasons]
        assert all(body["options"]["temperature"] == OPTIONS.temperature for body in server.bodies)


def test_an_object_thinks_as_it_was_made_to() -> None:
    wire = wire_of("ollama")
    with WireServer(wire, Said("stop")) as server:
        made = wire.make(server.url).model_copy(update={"model": "qwen3:8b", "reasoning": True})
        client_for(made).invoke(ASKED, replace(OPTIONS, stage="explore", effort="auto"), {})
    assert server.bodies[-1]["think"] is True


def test_what_does_not_think_after_all_is_told_nothing() -> None:
    client = client_for("ollama:qwen3:8b")
    assert client.learn_from('"qwen3:8b" does not support thinking')
    assert client.refused == {"effort"}


def test_the_first_prompt_of_a_name_fits_already() -> None:
    scope, hand = a_scope("ollama:m"), Hand(GOOD)
    hand.run(call_model(long_question(3000), scope))
    (sent,) = hand.calls
    assert 4096 < weigh_all(sent.messages) + (sent.options.max_output_tokens or 0) <= 8192
