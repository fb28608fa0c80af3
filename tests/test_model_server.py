from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import model_server
import openai
import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from model_server import ModelServer
from replies import Drop, Garbage, Hang, Raw, Reply, server_error, thinking, too_many, unsupported

from thinkgraph.eval.perfect.chooser import PerfectChooser
from thinkgraph.prompts.kinds import KINDS, Shape
from thinkgraph.prompts.library import PromptLibrary

PROMPT = PromptLibrary().get("tog2.topic_prune")
SYSTEM = PROMPT.render(dict.fromkeys(PROMPT.places, ""), Shape())[0][1]


def client(server: ModelServer, **options: object) -> ChatOpenAI:
    own = httpx.Client()  # closed by the test that makes it leak-free: ChatOpenAI shares clients otherwise
    return ChatOpenAI(
        model="test-model", base_url=server.base_url, api_key="none", max_retries=0, http_client=own, **options
    )


@pytest.fixture
def ask():
    made: list[httpx.Client] = []

    def make(server: ModelServer, **options: object) -> ChatOpenAI:
        model = client(server, **options)
        made.append(model.http_client)
        return model

    yield make
    for each in made:
        each.close()


def test_answers_in_order_and_reports_usage(ask) -> None:
    with ModelServer(["one", Reply("two", 7, 3)]) as server:
        model = ask(server, temperature=0.4)
        assert model.invoke("hello").text == "one"
        second = model.invoke([SystemMessage(SYSTEM), HumanMessage("again")])
        assert (second.text, second.usage_metadata["total_tokens"]) == ("two", 10)
        assert model.invoke("more").text == "two", "the last answer repeats"
    first, marked, _ = server.calls
    assert first.parameters["temperature"] == 0.4
    assert first.answered >= first.received
    assert (marked.role, marked.kind, marked.text, marked.status) == ("tog2.topic_prune", "pick", "again", 200)
    assert (first.role, first.reply) == ("", "one")


def test_streams(ask) -> None:
    text = "a text that is longer than one piece of the stream, with ü"
    with ModelServer([text]) as server:
        pieces = list(ask(server, stream_usage=True).stream("go"))
    assert "".join(piece.text for piece in pieces) == text
    assert len([piece for piece in pieces if piece.text]) > 1
    assert sum(piece.usage_metadata["output_tokens"] for piece in pieces if piece.usage_metadata) == 15


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (too_many(2), openai.RateLimitError),
        (server_error(), openai.InternalServerError),
        (unsupported("response_format"), openai.BadRequestError),
        (unsupported("temperature"), openai.BadRequestError),
        (Drop("head"), openai.APIConnectionError),
        (Drop("body"), openai.APIConnectionError),
    ],
)
def test_faults_reach_the_client(ask, fault, error) -> None:
    with ModelServer([fault, "fine"]) as server:
        model = ask(server)
        with pytest.raises((error, httpx.HTTPError)) as caught:
            model.invoke("x")
        assert model.invoke("y").text == "fine"
    if isinstance(caught.value, openai.RateLimitError):
        assert caught.value.response.headers["retry-after"] == "2"
    if isinstance(caught.value, openai.BadRequestError):
        assert "not supported" in str(caught.value)
    if isinstance(fault, Drop):
        assert server.calls[0].answered is None


def test_hang_times_out_and_does_not_delay_the_stop(ask) -> None:
    with ModelServer([Hang()]) as server:
        with pytest.raises(openai.APITimeoutError):
            ask(server, timeout=0.2).invoke("x")
        stopping = time.monotonic()
    assert time.monotonic() - stopping < 2


def test_odd_bodies(ask) -> None:
    with ModelServer([Garbage(), "", thinking("done")]) as server:
        model = ask(server)
        with pytest.raises((ValueError, openai.OpenAIError, AttributeError, TypeError)):
            model.invoke("x")
        assert model.invoke("x").text == ""
        assert model.invoke("x").text.startswith("<think>")


def test_answers_by_function(ask) -> None:
    with ModelServer(lambda call: f"{call.number}:{call.text}") as server:
        model = ask(server)
        assert [model.invoke(word).text for word in ("a", "b")] == ["0:a", "1:b"]


async def test_64_at_once() -> None:
    with ModelServer(["ok"], latency=2) as server:
        async with httpx.AsyncClient(limits=httpx.Limits(max_connections=80), timeout=30) as own:
            model = ChatOpenAI(
                model="m",
                base_url=server.base_url,
                api_key="none",
                max_retries=0,
                http_async_client=own,
                http_client=None,
            )
            texts = await asyncio.gather(*(model.ainvoke("x") for _ in range(64)))
    assert [message.text for message in texts] == ["ok"] * 64
    assert server.max_in_flight == max(call.in_flight for call in server.calls) >= 48


def test_lists_its_model_and_refuses_other_paths() -> None:
    with ModelServer(["x"], model="mine") as server, httpx.Client() as web:
        assert web.get(f"{server.base_url}/models").json()["data"][0]["id"] == "mine"
        assert web.get(f"{server.base_url}/other").status_code == 404
        assert web.post(f"{server.base_url}/embeddings", json={}).status_code == 404
        assert web.post(f"{server.base_url}/chat/completions", content=b"{").status_code == 400
    assert server.calls == []


def test_plays_a_model(ask) -> None:
    with ModelServer(chat_model=PerfectChooser({})) as server:
        model = ask(server)
        message = model.invoke([SystemMessage(KINDS["pick"].instruction(Shape())), HumanMessage("## Question\nWho?")])
    assert json.loads(message.text) == {"numbers": []}
    assert message.usage_metadata["input_tokens"] > 0


def test_needs_exactly_one_source_of_answers() -> None:
    with pytest.raises(ValueError, match="either a script or a chat model"):
        ModelServer()


def test_runs_as_a_process(ask, tmp_path: Path) -> None:
    history = tmp_path / "calls.jsonl"
    command = [sys.executable, model_server.__file__, "--history", str(history)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        base = process.stdout.readline().strip()
        with httpx.Client() as web:
            body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
            reply = web.post(f"{base}/chat/completions", json=body, timeout=10).json()
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    assert reply["choices"][0]["message"]["content"] == "hi"
    assert json.loads(history.read_text())["reply"] == "hi"


def test_bytes_of_ones_own() -> None:
    def pieces(stream: bytes) -> list[bytes]:
        return [b"HTTP/1.1 200 OK\r\nX-Mine: yes\r\n\r\n", stream[:20]]

    asked = {"messages": [{"role": "user", "content": "hello"}], "stream": True}
    with ModelServer([Raw(pieces, Reply("one")), Raw(pieces, Reply("one"), reset=True)]) as server:
        said = httpx.post(f"{server.base_url}/chat/completions", json=asked)
        assert (said.headers["X-Mine"], said.content) == ("yes", b'data: {"id": "chatcm')
        with pytest.raises(httpx.ReadError):
            httpx.post(f"{server.base_url}/chat/completions", json=asked)
