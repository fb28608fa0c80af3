"""`thinkgraph mcp` in a process of its own, asked by the official SDK's client over standard input and output."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, get_args

import pytest
from cli.conftest import ANSWER, MODEL, PROGRAM, QUESTION, environment
from fakes import FakeModel
from graphs.cases import CASES, small_knowledge
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client import advertise
from model_server import ModelServer

from thinkgraph.cli.main import main
from thinkgraph.errors import SettingsError, UsageError
from thinkgraph.graphs.build import offline_model
from thinkgraph.graphs.registry import NAMES, find_method
from thinkgraph.integrations.mcp import apps
from thinkgraph.integrations.mcp.server import check_installed
from thinkgraph.integrations.mcp.tools import ARGUMENTS, CLIENT_SETTINGS, Tools
from thinkgraph.models.offline import OfflineChatModel
from thinkgraph.models.roles import Models
from thinkgraph.ui.share import page_for_hosts

Connect = Callable[..., AbstractAsyncContextManager[Client]]
NOISY = """
import os
from thinkgraph.integrations.mcp import tools
call = tools.Tools.call
async def noisy(self, *given):
    print("noise")
    os.system("echo child; cat")
    return await call(self, *given)
tools.Tools.call = noisy
from thinkgraph.cli.main import entry
entry()
"""


@pytest.fixture(scope="module")
def slow() -> Iterator[ModelServer]:
    with ModelServer(chat_model=OfflineChatModel(), latency=0.3) as server:
        yield server


@pytest.fixture
def connect(kb: str, slow: ModelServer) -> Connect:
    @asynccontextmanager
    async def start(*flags: str, url: str = "", program: str = "", shows: bool = False) -> AsyncIterator[Client]:
        env = environment({"OPENAI_BASE_URL": url or slow.base_url})
        words = [*PROGRAM[:2], "-c", program] if program else PROGRAM
        arguments = [*words[1:], "mcp", "--kb", kb, "--model", MODEL, *flags]
        server = StdioServerParameters(command=words[0], args=arguments, env=env)
        more = [advertise(apps.EXTENSION, {"mimeTypes": [apps.MIME_TYPE]})] if shows else []
        async with Client(stdio_client(server), read_timeout_seconds=60, extensions=more) as client:
            yield client

    return start


def text(result: Any) -> str:
    return "\n".join(part.text for part in result.content)


async def refused(client: Client, tool: str, arguments: dict[str, Any]) -> str:
    """The one line of a tool's error."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    line = text(result)
    assert "\n" not in line
    assert "Traceback" not in line
    return line


async def test_list_and_call(connect: Connect) -> None:
    async with connect("--method", "tog2,direct", "--set", "tog2.width=2", "--set", "max_calls=20") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        # The small knowledge base has no passages.
        assert list(tools) == ["ask", "find_entities", "relations_of", "neighbours"]
        assert tools["ask"].input_schema["properties"]["method"]["enum"] == ["tog2", "direct", None]
        assert tools["ask"].input_schema["required"] == ["question"]
        assert all(tool.description for tool in tools.values())

        steps: list[tuple[float, str | None]] = []

        async def told(done: float, _total: float | None, step: str | None) -> None:
            steps.append((done, step))

        asked = {"question": QUESTION, "settings": {"relations": 4}}
        answer = await client.call_tool("ask", asked, progress_callback=told)
        assert not answer.is_error, text(answer)
        assert answer.structured_content["answers"] == [ANSWER]
        assert text(answer).splitlines()[0] == ANSWER
        assert [done for done, _ in steps] == list(range(1, len(steps) + 1))
        names = [step for _, step in steps]
        assert (names[0], names[-1]) == ("begin", "answer")
        assert "relation_prune" in names
        assert "Status: grounded" in text(answer)
        assert "(Panama) -[capital]-> (Panama City)" in text(answer)
        other = await client.call_tool("ask", {"question": QUESTION, "method": "direct"})
        assert other.structured_content["method"] == "direct"
        nulls = await client.call_tool("ask", {"question": QUESTION, "method": "direct", "settings": None})
        assert nulls.structured_content["answers"] == other.structured_content["answers"]

        found = await client.call_tool("find_entities", {"text": "Panama"})
        assert found.structured_content["entities"][0]["id"] in text(found)
        entity = found.structured_content["entities"][0]["id"]
        relations = await client.call_tool("relations_of", {"entity": entity})
        assert {one["label"] for one in relations.structured_content["relations"]} >= {"capital", "borders"}
        near = await client.call_tool("neighbours", {"entity": "Panama", "relation": "borders", "direction": "out"})
        assert {one["object_label"] for one in near.structured_content["triples"]} == {"Colombia", "Costa Rica"}

        for tool, arguments, words in (
            ("ask", {}, "ask needs 'question'; known: question, method, settings"),
            ("ask", {"question": QUESTION, "mehtod": "x"}, "ask takes no 'mehtod'"),
            ("ask", {"question": " "}, "the question is empty"),
            ("ask", {"question": QUESTION, "method": "cot"}, "this server has no method 'cot'; known: tog2, direct"),
            (
                "ask",
                {"question": QUESTION, "settings": {"widht": 1}},
                "there is no setting 'widht'; did you mean 'width'?",
            ),
            ("ask", {"question": QUESTION, "settings": {"width": 5}}, "setting 'width' was fixed at 2"),
            ("ask", {"question": QUESTION, "settings": {"max_calls": 21}}, "'max_calls' can only be lowered"),
            ("ask", {"question": QUESTION, "settings": {"max_calls": None}}, "this server allows 20"),
            (
                "neighbours",
                {"entity": "Panama", "limit": 0},
                "neighbours: 'limit': Input should be greater than or equal",
            ),
            ("relations_of", {"entity": "Nar\nnia"}, "there is no entity 'Nar nia'"),
            ("search_passages", {"query": "x"}, "there is no tool 'search_passages'; known: ask, "),
        ):
            assert words in await refused(client, tool, arguments)
        within = {"width": 2, "max_calls": 19, "relations": 4, "ranker": "dense"}
        assert not (await client.call_tool("ask", {"question": QUESTION, "settings": within})).is_error


async def test_the_page_of_an_answer_for_hosts_that_show_it(connect: Connect) -> None:
    flags = ("--set", "ranker=bm25")
    async with connect(*flags, shows=True) as client:
        assert apps.EXTENSION in client.server_capabilities.extensions
        (listed,) = (await client.list_resources()).resources
        tools = {tool.name: tool.meta for tool in (await client.list_tools()).tools}
        assert tools.pop("ask") == {"ui": {"resourceUri": listed.uri}}
        assert set(tools.values()) == {None}
        assert (listed.uri, listed.mime_type) == (apps.ADDRESS, apps.MIME_TYPE)
        (page,) = (await client.read_resource(listed.uri)).contents
        assert (page.uri, page.mime_type, page.meta) == (apps.ADDRESS, apps.MIME_TYPE, apps.PAGE_META)
        assert page.text == page_for_hosts()
        assert "default-src 'none'" in page.text
        with pytest.raises(
            Exception, match=r"there is no resource 'ui://nowhere'; known: ui://thinkgraph/answer\.html"
        ):
            await client.read_resource("ui://nowhere")
        shown = await client.call_tool("ask", {"question": QUESTION})
        looked = await client.call_tool("find_entities", {"text": "Panama"})
    async with connect(*flags) as client:
        plain = await client.call_tool("ask", {"question": QUESTION})
    events = shown.meta[apps.EVENTS]
    assert {"started", "walked", "answered", "finished"} <= {event["type"] for event in events}
    assert events[-1]["answer"]["answers"] == [ANSWER]
    assert text(shown) == text(plain)
    assert shown.structured_content["evidence"] == plain.structured_content["evidence"]
    assert apps.EVENTS not in {**(plain.meta or {}), **(looked.meta or {})}


async def test_two_calls_at_once(connect: Connect, slow: ModelServer) -> None:
    since = len(slow.calls)
    async with connect("--set", "ranker=bm25") as client:
        first, second, looked = await asyncio.gather(
            client.call_tool("ask", {"question": QUESTION}),
            client.call_tool("ask", {"question": "What is the capital of Colombia?"}),
            client.call_tool("find_entities", {"text": "Panama"}),
        )
    assert (first.structured_content["answers"], second.structured_content["answers"]) == ([ANSWER], ["Bogota"])
    assert looked.structured_content["entities"]
    assert max(call.in_flight for call in slow.calls[since:]) > 1


async def test_a_dead_model_server(connect: Connect) -> None:
    with ModelServer(chat_model=OfflineChatModel()) as gone:
        url = gone.base_url
    async with connect("--set", "ranker=bm25", "--set", "call_retries=0", url=url) as client:
        assert f"model {MODEL} failed: " in await refused(client, "ask", {"question": QUESTION})
        # The server goes on.
        assert not (await client.call_tool("find_entities", {"text": "Panama"})).is_error


def test_nothing_but_the_protocol_on_stdout(kb: str) -> None:
    said = [
        {"id": 1, "method": "initialize", "params": _HELLO},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "find_entities", "arguments": {"text": "Panama"}}},
    ]
    command = [*PROGRAM[:2], "-c", NOISY, "mcp", "--kb", kb]
    with subprocess.Popen(
        command, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write("".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in said))
        process.stdin.flush()
        replies = {reply["id"]: reply["result"] for reply in (json.loads(process.stdout.readline()) for _ in "12")}
        process.stdin.close()
        assert process.stdout.read() == ""
        assert process.stderr.read().splitlines() == ["noise", "child"]
        assert process.wait(30) == 0
    assert replies[1]["serverInfo"]["name"] == "thinkgraph"
    assert replies[2]["structuredContent"]["entities"]


def test_a_text_that_ends_within_a_character_is_answered(kb: str) -> None:
    # As a client writes one that it cut in the midst of an emoji; the second line has a whole one.
    calls = [
        {"id": number, "method": "tools/call", "params": {"name": "find_entities", "arguments": {"text": text}}}
        for number, text in ((2, "Panama \ud83d"), (3, "Panama \ud83d\ude00"))
    ]
    said = [{"id": 1, "method": "initialize", "params": _HELLO}, {"method": "notifications/initialized"}, *calls]
    command = [*PROGRAM, "mcp", "--kb", kb]
    with subprocess.Popen(
        command, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        # A line that is not answered is waited for no longer.
        patience = threading.Timer(60, process.kill)
        patience.start()
        process.stdin.write("".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in said))
        process.stdin.flush()
        replies = {reply["id"]: reply["result"] for reply in (json.loads(process.stdout.readline()) for _ in "123")}
        patience.cancel()
        process.stdin.close()
        assert process.wait(30) == 0
    for number in (2, 3):
        assert replies[number]["structuredContent"]["entities"][0]["label"] == "Panama"


def test_a_client_that_has_gone_is_no_internal_error(kb: str) -> None:
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _HELLO}
    with subprocess.Popen(
        [*PROGRAM, "mcp", "--kb", kb],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        _, said = process.communicate(json.dumps(hello) + "\n", timeout=60)
    assert said == "thinkgraph mcp: WARNING the client has gone\n"
    assert process.returncode == 0


_HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (["--kb", "/nowhere"], 3, "/nowhere"),
        (["--method", "tog2,nonsense"], 2, "there is no method 'nonsense'"),
        (["--set", "width=0"], 2, "setting 'width'"),
        (["--set", "nonsense=1"], 2, "has a setting 'nonsense'"),
        (["--model", "nonsense:x"], 4, "model 'nonsense:x' cannot be set up: LangChain has no such provider"),
        (["--model", "openai:x"], 4, "needs OPENAI_API_KEY"),
    ],
)
def test_it_does_not_start_with_wrong_flags(
    flags: list[str],
    code: int,
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert main(["mcp", *flags]) == code
    done = capsys.readouterr()
    assert done.out == ""
    assert words in done.err
    assert done.err.count("\n") == 1


def test_without_the_sdk(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel", None)
    assert main(["mcp"]) == 2
    assert "pip install 'thinkgraph[mcp]'" in capsys.readouterr().err
    monkeypatch.undo()
    check_installed()


def test_a_client_names_no_path_no_model_and_no_timeout() -> None:
    texts = {
        (method, name)
        for method in NAMES
        for name in CLIENT_SETTINGS
        if str in get_args(field := getattr(find_method(method).settings.model_fields.get(name), "annotation", None))
        or field is str
    }
    assert not texts, "a text may name anything"
    assert not [name for name in CLIENT_SETTINGS if "timeout" in name or "ranker" in name]


async def test_what_is_not_the_client_s_is_refused_before_anything_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    base, case = small_knowledge(), CASES["tog2"]
    tools = Tools(base, Models(FakeModel(case.replies), offline=offline_model(base)), {"tog2": {}, "fasttog": {}})
    monkeypatch.setattr(tools, "_graph", lambda _: pytest.fail("a graph was built"))
    for method, settings in (
        ("tog2", {"ranker": "cross-encoder:/etc"}),
        ("tog2", {"ranker": "cross-encoder"}),
        ("tog2", {"call_timeout": 3600}),
        ("tog2", {"preset": "paper"}),
        ("tog2", {"own_knowledge": True}),
        ("tog2", {"width": 2, "max_question": 100_000}),
        ("fasttog", {"community_text": "g2t:/etc"}),
    ):
        with pytest.raises(SettingsError, match="is the server's to choose; a client's: max_calls"):
            await tools.call("ask", {"question": case.question, "method": method, "settings": settings})


async def test_passages_have_their_tools() -> None:
    base, case = small_knowledge(), CASES["tog2"]
    models = Models(FakeModel(case.replies), offline=offline_model(base))
    tools = Tools(base, models, {"tog2": {"ranker": "bm25", **case.settings}})
    assert tools.names == list(ARGUMENTS)
    text, _ = await tools.call("passages_of", {"entities": ["Panama"], "query": "voting"})
    assert text.startswith("text | Panama | Voting")
    assert 'id "p1"' in text
    _, found = await tools.call("search_passages", {"query": "ranges", "limit": 2})
    assert found["passages"]
    text, answer = await tools.call("ask", {"question": case.question})
    assert text.startswith("18\n")
    assert '(passage "p1") Panama / Voting:' in text
    assert answer["answers"] == case.answers
    with pytest.raises(UsageError, match="ask_user"):
        await tools.call("ask", {"question": case.question, "settings": {"ask_user": "budget", "max_calls": 1}})
