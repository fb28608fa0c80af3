"""The window that a server tells of itself."""

from __future__ import annotations

import json
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from local_http import InThread
from models.by_hand import Hand, a_scope
from models.test_calls import a_question

from thinkgraph.models import client as client_module
from thinkgraph.models.calls import call_model
from thinkgraph.models.client import client_for
from thinkgraph.models.window import weigh_all
from thinkgraph.prompts.kinds import Shape


class Teller(InThread):
    """Answers GET requests of one path, to those with the key."""

    def __init__(self, path: str, body: object) -> None:
        self.path, self.body = path, body
        self.asked: list[str] = []
        super().__init__(0, _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: Any

    def do_GET(self) -> None:
        told: Teller = self.server.owner
        told.asked.append(self.path)
        known = self.path == told.path and self.headers["Authorization"] == "Bearer secret"
        self.send_response(200 if known else 404)
        self.end_headers()
        self.wfile.write(json.dumps(told.body).encode() if known else b"no such page")

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@pytest.mark.parametrize(
    ("path", "body", "window"),
    [
        ("/props", {"default_generation_settings": {"n_ctx": 6144}}, 6144),
        ("/v1/models", {"data": [{"id": "other", "max_model_len": 1}, {"id": "test", "max_model_len": 6144}]}, 6144),
        ("/v1/models", {"data": [{"id": "test", "context_length": 6144}]}, 6144),
        (
            "/api/v0/models",
            {"data": [{"id": "test", "loaded_context_length": 6144, "max_context_length": 32768}]},
            6144,
        ),
        ("/v1/models", {"data": []}, None),
        ("/v1/models", {"data": ["test"]}, None),
        ("/props", [], None),
        ("/nothing", {}, None),
    ],
)
def test_a_server_tells_its_window(
    monkeypatch: pytest.MonkeyPatch, path: str, body: object, window: int | None
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with Teller(path, body) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.port}/v1")
        client = client_for("openai:test")
        client.look_up_window()
    assert client.window == window


def test_a_server_is_not_asked_for_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    with Teller("/props", {"default_generation_settings": {"n_ctx": 6144}}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.port}/v1")
        client = client_for("openai:test", {"openai:test": {"window": 2048}})
        client.look_up_window()
    assert (client.window, server.asked) == (2048, [])


def test_a_server_that_cannot_be_reached_tells_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    client = client_for("openai:test")
    client.look_up_window()
    assert client.window is None


def test_the_first_prompt_keeps_to_the_window_and_the_server_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    scope, asked = a_scope(), []
    (model,) = scope.models.clients()
    model.looked_up = False
    monkeypatch.setattr(client_module, "served_window", lambda *_: asked.append(1) or 1000)
    inputs = {"question": "Which?", "options": "\n".join(f"[{number}] a town on the Osk" for number in range(1, 401))}
    request = a_question(inputs=inputs, shape=Shape(options=400))
    hand = Hand(*['{"numbers": [1]}'] * 2)
    for key in ("a", "b"):
        hand.run(call_model(replace(request, key=key), scope))
    assert len(asked) == 1
    assert weigh_all(hand.calls[0].messages) < 1000
