"""One client for every sort of model: its arguments, what it learns, its models per event loop."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel, SimpleChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from model_server import ModelServer
from models.wire.wires import Said, WireServer, wire_of
from pydantic import SecretStr
from replies import Garbage
from replies import Reply as ServedReply

from thinkgraph.errors import ModelError, UsageError
from thinkgraph.models.client import ChatClient, client_for
from thinkgraph.models.profiles import profile_of
from thinkgraph.models.wire.arguments import prepared
from thinkgraph.models.wire.forms import CallOptions, ModelReply, pack, read_message
from thinkgraph.prompts.library import Message

FULL = CallOptions(temperature=0.4, schema={"type": "object"}, max_output_tokens=64, timeout=5)
BARE = CallOptions(temperature=None, schema=None, max_output_tokens=None, timeout=5)
ASKED = [("system", "s" * 10), ("user", "u" * 11)]
CALLED = ToolCall(name="search", args={"entity": "Panama"}, id="call_1")


class Loud(BaseChatModel):
    """Keeps what it was asked; bound to the first event loop that uses it, as HTTP clients are."""

    model_name: str = "loud"
    reply: Any = "words"
    usage: Any = None
    wait: float = 0.0
    seen: list[Any] = []  # noqa: RUF012 - pydantic copies it
    loops: list[Any] = []  # noqa: RUF012

    @property
    def _llm_type(self) -> str:
        return "loud"

    def _result(self, messages: list[BaseMessage], arguments: dict[str, Any]) -> ChatResult:
        self.seen.append((messages, arguments))
        message = AIMessage(content=self.reply, usage_metadata=self.usage)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _generate(self, messages: list[BaseMessage], *_: Any, **arguments: Any) -> ChatResult:
        return self._result(messages, arguments)

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **arguments: Any) -> ChatResult:
        loop = asyncio.get_running_loop()
        if self.loops and self.loops[0] is not loop:
            raise RuntimeError("bound to a different event loop")
        self.loops[:] = [loop]
        await asyncio.sleep(self.wait)
        return self._result(messages, arguments)


class BaseChatOpenAI(Loud):
    """Named as the base of OpenAI's models is."""


def sent_with(client: ChatClient, options: CallOptions = FULL) -> set[str]:
    """What a request of a client holds."""
    _, arguments = prepared(client.made(), client.profile, options, client.refused)
    return {*arguments, *arguments.pop("extra_body", {})} - {"extra_body"}


@pytest.mark.parametrize(
    ("refusals", "gone"),
    [
        (["Unsupported value: 'temperature' does not support 0.4"], {"temperature"}),
        (["Invalid parameter: 'response_format' of type 'json_schema' is not supported"], {"response_format"}),
        (["This model has no structured outputs"], {"response_format"}),
        (["JSON mode is not enabled for this model"], {"response_format"}),
        (["max_completion_tokens: Extra inputs are not permitted"], set()),
        (["Unknown field max_completion_tokens", "max_tokens: not permitted"], {"max_tokens"}),
        (["Unrecognized request argument supplied: stream_options"], set()),
    ],
)
def test_a_refusal_teaches_once(refusals: list[str], gone: set[str]) -> None:
    client = client_for(BaseChatOpenAI())
    before = sent_with(client)
    assert {"temperature", "timeout", "max_tokens", "response_format"} <= before
    assert all(client.learn_from(refusal) for refusal in refusals)
    assert before - sent_with(client) == gone


def test_the_limit_goes_on_under_its_other_name_until_that_is_refused_too() -> None:
    client = client_for(BaseChatOpenAI())
    for place in ("max_tokens", "extra_body"):
        _, arguments = prepared(client.made(), client.profile, FULL, client.refused)
        assert arguments[place] == 64 or arguments[place]["max_tokens"] == 64
        assert client.learn_from("max_completion_tokens is not supported")
    assert not client.learn_from("max_completion_tokens is not supported"), "it was not sent any more"


def test_a_refusal_of_something_else_teaches_nothing() -> None:
    client = client_for(BaseChatOpenAI())
    assert not client.learn_from("your prompt is too long")
    assert client.refused == frozenset()


def test_a_request_sent_before_another_learnt_is_made_again() -> None:
    client = client_for(BaseChatOpenAI())
    sent = client.learnt
    assert client.learn_from("no temperature", sent)
    assert client.learn_from("no temperature", sent)
    assert not client.learn_from("no temperature", client.learnt)
    sent, refusal = client.learnt, "max_tokens is too large: 900. This model supports at most 128 completion tokens"
    assert client.learn_from(refusal, sent)
    assert client.learn_from(refusal, sent)
    assert not client.learn_from(refusal, client.learnt)


@pytest.mark.parametrize(
    "refusal",
    [
        "max_tokens is too large: 900. This model supports at most 32 completion tokens, whereas you provided 900.",
        "'max_completion_tokens': max_tokens: 900 > 32, which is the maximum allowed number of output tokens",
        "`max_completion_tokens` must be less than or equal to `32`, the maximum value for `max_completion_tokens`",
        "Invalid max_tokens value, the valid range of max_tokens is [1, 32]",
    ],
)
def test_a_limit_that_is_too_large_is_lowered_and_still_sent(refusal: str) -> None:
    client = client_for(BaseChatOpenAI())
    assert client.learn_from(refusal)
    assert client.refused == frozenset()
    _, arguments = prepared(client.made(), client.profile, FULL, client.refused)
    assert arguments["max_tokens"] == 32
    assert not client.learn_from("max_tokens is too large: 32"), "without a number nothing can be done"
    assert client.learn_from("Unsupported parameter: 'max_completion_tokens'")
    _, arguments = prepared(client.made(), client.profile, FULL, client.refused)
    assert arguments["extra_body"]["max_tokens"] == 32


def test_messages_and_arguments_reach_the_model() -> None:
    model = Loud(seen=[], loops=[])
    reply = ChatClient("m", lambda: model).invoke([("system", "a"), ("user", "b"), ("assistant", "c")], FULL, {})
    (messages, arguments) = model.seen[0]
    assert [(m.type, m.content) for m in messages] == [("system", "a"), ("human", "b"), ("ai", "c")]
    assert arguments == {"temperature": 0.4, "stop": None}
    assert reply.text == "words"


def test_a_reply_that_was_not_streamed_needs_no_reason_to_end() -> None:
    reply = client_for(BaseChatOpenAI(seen=[], loops=[])).invoke(ASKED, BARE, {})  # type: ignore[arg-type]
    assert (reply.text, reply.finish) == ("words", "stop")


def test_usage_is_the_providers_and_else_an_estimate() -> None:
    told = Loud(usage={"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}, seen=[], loops=[])
    assert ChatClient("m", lambda: told).invoke(ASKED, BARE, {}) == ModelReply("words", 7, 2)  # type: ignore[arg-type]
    silent = Loud(seen=[], loops=[])
    assert ChatClient("m", lambda: silent).invoke(ASKED, BARE, {}) == ModelReply("words", 6, 2)  # type: ignore[arg-type]


def test_parts_of_a_reply_are_put_together_and_thoughts_left_out() -> None:
    parts = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    model = Loud(reply=parts, seen=[], loops=[])
    assert ChatClient("m", lambda: model).invoke(ASKED, BARE, {}).text == "ab"  # type: ignore[arg-type]


def test_half_a_character_does_not_come_through() -> None:
    model = Loud(reply="a\ud83d", seen=[], loops=[])
    ChatClient("m", lambda: model).invoke(ASKED, BARE, {}).text.encode("utf-8")  # type: ignore[arg-type]


def makes(made: list[Loud]) -> Callable[[], Loud]:
    def make() -> Loud:
        made.append(Loud(seen=[], loops=[]))
        return made[-1]

    return make


def test_each_event_loop_has_a_model_of_its_own() -> None:
    made: list[Loud] = []
    client = ChatClient("m", makes(made))

    async def twice() -> list[ModelReply]:
        first = await client.ainvoke(ASKED, BARE, {})  # type: ignore[arg-type]
        return [first, *await asyncio.gather(*(client.ainvoke(ASKED, BARE, {}) for _ in range(5)))]  # type: ignore[arg-type]

    for _ in range(3):
        assert len(asyncio.run(twice())) == 6
    assert [len(model.seen) for model in made] == [6, 6, 6]
    assert len(client._by_loop) <= 1, "models of loops that are gone are let go"


def test_all_threads_share_one_model() -> None:
    made: list[Loud] = []
    client = ChatClient("m", makes(made))
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda _: client.invoke(ASKED, BARE, {}), range(64)))  # type: ignore[arg-type]
    assert len(made) == 1


async def test_a_call_that_takes_too_long_is_ended() -> None:
    client = ChatClient("m", lambda: Loud(wait=30.0, seen=[], loops=[]))
    with pytest.raises(TimeoutError):
        await client.ainvoke(ASKED, CallOptions(None, None, None, 0.02), {})  # type: ignore[arg-type]


class Slow(SimpleChatModel):
    """A model with blocking code alone."""

    @property
    def _llm_type(self) -> str:
        return "slow"

    def _call(self, *_: Any, **__: Any) -> str:
        time.sleep(0.5)
        return "late"

    _agenerate = BaseChatModel._agenerate


async def test_a_model_without_asynchronous_code_is_ended_too() -> None:
    client, options = client_for(Slow()), CallOptions(None, None, None, 0.02)
    with pytest.raises(TimeoutError):
        client.invoke(ASKED, options, {})  # type: ignore[arg-type]
    with pytest.raises(TimeoutError):
        await client.ainvoke(ASKED, options, {})  # type: ignore[arg-type]


class Telling(BaseChatModel):
    """A model with blocking code alone, which tells its tokens itself, as LangChain advises."""

    told: list[str] = []  # noqa: RUF012 - pydantic copies it

    @property
    def _llm_type(self) -> str:
        return "telling"

    def _generate(self, _: Any, stop: Any = None, run_manager: Any = None, **__: Any) -> ChatResult:
        for token in ("one ", "two ", "three"):
            time.sleep(0.4)
            run_manager.on_llm_new_token(token)
            self.told.append(token)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content="".join(self.told)))])


async def test_a_model_without_asynchronous_code_may_tell_its_tokens() -> None:
    reply = await client_for(Telling()).ainvoke(ASKED, replace(BARE, timeout=1), {})  # type: ignore[arg-type]
    assert reply.text == "one two three", "each token gives it time for the next"
    late = Telling()
    with pytest.raises(TimeoutError):
        await client_for(late).ainvoke(ASKED, replace(BARE, timeout=5, total=0.6), {})  # type: ignore[arg-type]
    await asyncio.sleep(1)
    assert len(late.told) < len(reply.text.split()), "nobody waits for the rest"


def test_a_timeout_of_the_users_own_is_kept() -> None:
    mistral = pytest.importorskip("langchain_mistralai").ChatMistralAI
    for own, sent in ((None, 300.0), (7, 7.0)):
        model = mistral(api_key=SecretStr("x"), **({} if own is None else {"timeout": own}))
        asked: Any
        asked, _ = prepared(model, profile_of(model, "m"), CallOptions(None, None, None, 300.0), frozenset())
        assert asked.client.timeout.read == asked.async_client.timeout.read == sent
        assert model.client.timeout.read == (own or 120.0), "the user's model stays as it is"


def test_nothing_is_made_before_the_first_call() -> None:
    assert client_for("anthropic:claude").name == "anthropic:claude"
    assert client_for("openai:gpt-4o-mini").profile.provider == "openai"


def test_a_model_given_as_an_object_keeps_its_name_and_sort() -> None:
    plain, openai = client_for(Loud()), client_for(BaseChatOpenAI())
    assert (plain.name, plain.profile.provider, openai.profile.provider) == ("loud", "other", "openai")
    model = Loud()
    assert client_for(model).make() is model


@pytest.mark.parametrize("name", ["gpt-4o-mini", "openai:", ""])
def test_a_name_without_provider_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="must be named provider:name"):
        client_for(name)


def test_a_missing_key_or_provider_is_said_in_one_line() -> None:
    for name, said in (
        ("openai:gpt-4o-mini", "OPENAI_API_KEY"),
        ("azure_openai:gpt-4o", "AZURE_OPENAI_API_KEY"),
        ("nobody:model", "nobody:model"),
    ):
        with pytest.raises(ModelError, match=said) as raised:
            client_for(name).invoke(ASKED, BARE, {})  # type: ignore[arg-type]
        assert "\n" not in str(raised.value)


def test_what_claude_thinks_has_room_beside_its_reply() -> None:
    wire = wire_of("anthropic")
    with WireServer(wire, Said("end_turn")) as server:
        model = wire.make(server.url).model_copy(update={"thinking": {"type": "enabled", "budget_tokens": 2000}})
        client_for(model).invoke(ASKED, replace(BARE, max_output_tokens=300), {})  # type: ignore[arg-type]
        (body,) = server.bodies
    assert body["max_tokens"] == 2300, "a limit that is not above the budget is refused"


def test_a_key_that_pydantic_misses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("langchain_google_genai")
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ModelError, match="GOOGLE_API_KEY"):
        client_for("google_genai:gemini-2.5-flash").made()


def test_openai_models_never_retry_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    client = client_for("openai:gpt-4o-mini")
    first, second = client.make(), client.make()
    assert getattr(first, "max_retries", None) == 0
    assert getattr(first, "http_async_client", 1) is not getattr(second, "http_async_client", 1)


async def test_the_short_way_to_openai_sends_and_brings_back_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Message] = [("system", "a"), ("user", "b"), pack(AIMessage(content="", tool_calls=[CALLED]))]
    options = replace(FULL, tools=({"type": "function", "function": {"name": "search", "parameters": {}}},))
    with ModelServer(lambda _call: ServedReply("words", tool_calls=[CALLED])) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        ours = client_for("openai:test")
        plain = ChatOpenAI(
            model="test", base_url=server.base_url, api_key=SecretStr("none"), max_retries=0, use_responses_api=False
        )
        theirs = client_for(plain)
        replies = [client.invoke(asked, options, {}) for client in (ours, theirs)]
        replies += [await client.ainvoke(asked, options, {}) for client in (ours, theirs)]
        await ours.aclose()
    assert len({repr(reply) for reply in replies}) == 1
    sent = [(call.messages, call.parameters) for call in server.calls]
    assert [call == sent[1] for call in sent] == [True] * 4
    assert [message["role"] for message in sent[0][0]] == ["system", "user", "assistant"]


@pytest.mark.parametrize(
    ("deltas", "text", "called"),
    [
        # Mistral's, where its model thinks.
        ([{"content": [{"type": "thinking", "thinking": [{"text": "hm"}]}]}, {"content": "Panama"}], "Panama", []),
        ([{"content": [{"type": "text", "text": "Pan"}]}, {"content": "ama"}], "Panama", []),
        # Gemini's way to call several tools.
        (
            [
                {"tool_calls": [{"index": 0, "id": name, "function": {"name": name, "arguments": "{}"}}]}
                for name in "ab"
            ],
            "",
            ["a", "b"],
        ),
        # An id of its own for each piece, as some releases of vLLM give.
        (
            [
                {"tool_calls": [{"index": 0, "id": "1", "function": {"name": "a", "arguments": "{"}}]},
                {"tool_calls": [{"index": 0, "id": "2", "function": {"arguments": "}"}}]},
            ],
            "",
            ["a"],
        ),
    ],
)
@pytest.mark.parametrize("index", [0, None])
def test_a_stream_in_another_form_is_read(
    monkeypatch: pytest.MonkeyPatch, deltas: list[Any], text: str, called: list[str], index: int | None
) -> None:
    end = {"index": index, "delta": {}, "finish_reason": "stop"}
    choices = [*({"index": index, "delta": delta} for delta in deltas), end]
    body = "".join(f"data: {json.dumps({'id': 'x', 'choices': [choice]})}\n\n" for choice in choices)
    with ModelServer([Garbage(f"{body}data: [DONE]\n\n".encode())]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        reply = client_for("openai:test").invoke(ASKED, BARE, {})  # type: ignore[arg-type]
    assert (reply.text, [call["name"] for call in reply.tool_calls]) == (text, called)


@pytest.mark.parametrize(
    "usage",
    [
        *({}, {"prompt_tokens": None, "completion_tokens": None}, {"prompt_tokens": 0, "completion_tokens": 0}),
        *({"prompt_tokens": -100, "completion_tokens": -5}, {"prompt_tokens": "many", "completion_tokens": "few"}),
        # More than LangGraph can keep in a checkpoint.
        *({"prompt_tokens": 10**30, "completion_tokens": 10**300}, {"prompt_tokens": 1e300, "completion_tokens": 1e18}),
    ],
)
async def test_tokens_that_a_server_does_not_count_are_estimated(usage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    message = {"role": "assistant", "content": "12345678"}
    body = json.dumps({"id": "x", "model": "m", "choices": [{"index": 0, "message": message}], "usage": usage})
    with ModelServer([Garbage(body.encode())]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        client = client_for("openai:test")
        replies = [client.invoke([("user", "a" * 40)], BARE, {}), await client.ainvoke([("user", "a" * 40)], BARE, {})]
        await client.aclose()
    assert [(reply.input_tokens, reply.output_tokens) for reply in replies] == [(10, 2)] * 2


def test_bounds_go_before_the_schema_where_a_provider_refuses_them() -> None:
    client = client_for(ChatOpenAI(model="m", api_key=SecretStr("k")))
    options = CallOptions(0.0, {"type": "array", "maxItems": 3, "items": {"type": "integer"}}, None, 5.0)

    def sent() -> Any:
        _, arguments = prepared(client.made(), client.profile, options, client.refused)
        return arguments.get("extra_body", {}).get("response_format", {}).get("json_schema", {}).get("schema")

    assert sent()["maxItems"] == 3
    assert client.learn_from("Invalid schema for response_format 'reply': 'maxItems' is not permitted.")
    assert sent() == {"type": "array", "items": {"type": "integer"}}
    assert client.learn_from("response_format is not supported")
    assert sent() is None


@pytest.mark.parametrize(
    ("usage", "said"),
    [
        ({"output_tokens": 50, "total_tokens": 60, "output_token_details": {"reasoning": 40}}, 50),
        ({"output_tokens": 10, "total_tokens": 60, "output_token_details": {"reasoning": 40}}, 50),
        ({"output_tokens": 10, "total_tokens": 20, "output_token_details": {"reasoning": 40}}, 50),
        ({"output_tokens": 10, "total_tokens": 60}, 50),
        ({"output_tokens": 10, "total_tokens": 0}, 10),
    ],
    ids=["within (OpenAI)", "beside, in the total", "beside, nowhere else", "in the total alone", "a total of nothing"],
)
def test_hidden_reasoning_counts_as_output(usage: dict[str, Any], said: int) -> None:
    message = AIMessage("words", usage_metadata={"input_tokens": 10, **usage})
    assert read_message(message, [("user", "hello")]).output_tokens == said
