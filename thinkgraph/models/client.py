"""One chat model behind one small interface, sync and async, whatever LangChain integration it comes from."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import re
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, messages_from_dict
from langchain_core.outputs import ChatResult
from langchain_core.rate_limiters import BaseRateLimiter, InMemoryRateLimiter
from langchain_core.runnables import Runnable, RunnableConfig

from thinkgraph.errors import ModelError, UsageError
from thinkgraph.prompts.library import Message

if TYPE_CHECKING:
    from langchain_openai import ChatOpenAI

CHARACTERS_PER_TOKEN = 4
"""Used only where a provider reports no usage."""

_WEB_ADDRESS = re.compile(r"https?://[^/\s]+")

_MESSAGE_TYPES: Mapping[str, type[BaseMessage]] = {
    "system": SystemMessage,
    "user": HumanMessage,
    "assistant": AIMessage,
}


@dataclass(frozen=True)
class ModelReply:
    """What came back from one request."""

    text: str
    input_tokens: int
    output_tokens: int
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    """Tools the model wants called (`name`, `args`, `id`), where it was given any."""


@dataclass(frozen=True)
class CallOptions:
    """How one request is made."""

    temperature: float | None
    schema: Mapping[str, Any] | None
    """JSON schema of the reply, None for plain text."""
    max_output_tokens: int | None
    timeout: float
    """Seconds."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """Tools the model may call, in OpenAI's form."""


PACKED: Literal["message"] = "message"
"""Role of a message that is given as JSON (`pack`), because it has more than a text."""


def pack(message: BaseMessage) -> Message:
    """Any LangChain message as one of our pairs, without the ids that differ from run to run."""
    kept = {"type": message.type, "content": str(message.text)}
    for name in ("tool_calls", "tool_call_id", "name", "status"):
        if value := getattr(message, name, None):
            kept[name] = value
    return PACKED, json.dumps(kept, ensure_ascii=False, sort_keys=True)


def _unpacked(text: str) -> BaseMessage:
    kept = json.loads(text)
    return messages_from_dict([{"type": kept["type"], "data": kept}])[0]


def to_messages(messages: Sequence[Message]) -> list[BaseMessage]:
    """Our (role, text) pairs as LangChain messages."""
    return [_unpacked(text) if role == PACKED else _MESSAGE_TYPES[role](content=text) for role, text in messages]


def _read(message: BaseMessage, sent: Sequence[Message]) -> ModelReply:
    # Half a character (a reply cut off) can be neither sent back nor stored.
    text = str(message.text).encode("utf-8", "replace").decode("utf-8")
    usage = getattr(message, "usage_metadata", None)
    calls = tuple(
        {"name": call["name"], "args": call["args"], "id": call["id"]} for call in getattr(message, "tool_calls", ())
    )
    asked, said = (_tokens((usage or {}).get(name)) for name in ("input_tokens", "output_tokens"))
    # Nothing asked has no tokens, and a ceiling must not wait for a server that does not count.
    asked = asked or -(-sum(len(part) for _, part in sent) // CHARACTERS_PER_TOKEN)
    if said is None or not (said or calls):
        said = -(-len(text) // CHARACTERS_PER_TOKEN)
    return ModelReply(text, asked, said, calls)


def _tokens(value: object) -> int | None:
    """A count of tokens as a server reports it; None for what is none (missing, in words, below zero)."""
    try:
        count = int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return None
    return count if count >= 0 else None


def _with_tools(model: BaseChatModel, options: CallOptions, name: str) -> Runnable[Any, BaseMessage]:
    if not options.tools:
        return model
    try:
        return model.bind_tools([dict(tool) for tool in options.tools])
    except NotImplementedError:
        raise ModelError(f"model {name} takes no tools: this method needs one that does") from None


@dataclass
class ChatClient:
    """A model with what we have learnt about it: whether it takes a temperature, a schema, a limit on its output.

    Args of the constructor:
        name: how it is named in usage, manifest and answer.
        make: makes the LangChain model; called once per event loop, because HTTP clients cannot change loops.
        openai: whether OpenAI's request fields (`response_format`) are understood.
    """

    name: str
    make: Callable[[], BaseChatModel]
    openai: bool = False
    takes_temperature: bool = True
    takes_schema: bool = True
    takes_limit: bool = True
    limiter: BaseRateLimiter | None = None
    """Asked before every request."""
    own: bool = False
    """Whether the models are made here, and their connections therefore closed here."""
    _sync: BaseChatModel | None = field(default=None, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, BaseChatModel] = field(
        default_factory=weakref.WeakKeyDictionary, repr=False
    )

    def arguments(self, options: CallOptions) -> dict[str, Any]:
        """Keyword arguments of the request, as far as this model takes them."""
        arguments: dict[str, Any] = {}
        if options.temperature is not None and self.takes_temperature:
            arguments["temperature"] = options.temperature
        if not self.openai:
            return arguments
        arguments["timeout"] = options.timeout
        if options.schema is not None and self.takes_schema:
            form = {"name": "reply", "strict": True, "schema": options.schema}
            # In extra_body the provider sees it and LangChain's slower parsing path does not.
            arguments["extra_body"] = {"response_format": {"type": "json_schema", "json_schema": form}}
        if options.max_output_tokens is not None and self.takes_limit:
            arguments["max_tokens"] = options.max_output_tokens
        return arguments

    @property
    def taken(self) -> tuple[bool, bool, bool]:
        """What is known to be taken: temperature, schema, limit on the output."""
        return self.takes_temperature, self.takes_schema, self.takes_limit

    def learn_from(self, problem: str, sent: tuple[bool, bool, bool] | None = None) -> bool:
        """After a refused request: drop the parameter the refusal names. True if trying again makes sense.

        Args:
            problem: the refusal.
            sent: `taken` as it was when the request was made: where another request has learnt something since, this
                one tries again with what is known now.
        """
        if sent is not None and sent != self.taken:
            return True
        text = problem.casefold()
        if self.takes_temperature and "temperature" in text:
            self.takes_temperature = False
            return True
        if self.takes_schema and any(
            word in text for word in ("response_format", "response format", "json", "structured", "schema")
        ):
            self.takes_schema = False
            return True
        # LangChain sends it by its new name, of which not every server has heard.
        if self.takes_limit and ("max_tokens" in text or "max_completion_tokens" in text):
            self.takes_limit = False
            return True
        return False

    def made(self) -> BaseChatModel:
        """The LangChain model for calls that wait; made at the first one.

        Raises:
            ModelError: the provider's package or key is missing, or the name cannot be understood.
        """
        with self._lock:
            # One for all threads: a model with weights would be loaded once for each.
            self._sync = self._sync or self.make()
            return self._sync

    def invoke(self, messages: Sequence[Message], options: CallOptions, config: RunnableConfig) -> ModelReply:
        """Send one request and wait for it."""
        if self.limiter is not None:
            self.limiter.acquire()
        bound = _with_tools(self.made(), options, self.name)
        return _read(bound.invoke(to_messages(messages), config, **self.arguments(options)), messages)

    async def ainvoke(self, messages: Sequence[Message], options: CallOptions, config: RunnableConfig) -> ModelReply:
        """Send one request without blocking the loop."""
        loop = asyncio.get_running_loop()
        model = self._by_loop.get(loop)
        if model is None:
            for gone in [known for known in list(self._by_loop) if known.is_closed()]:
                # A model's connections may hold on to their loop, which then never goes by itself.
                self._by_loop.pop(gone, None)
            # Making a client reads certificates from disk, which must not block the loop.
            model = self._by_loop.setdefault(loop, await asyncio.to_thread(self.make))
        if self.limiter is not None:
            await self.limiter.aacquire()
        bound = _with_tools(model, options, self.name)
        call = bound.ainvoke(to_messages(messages), config, **self.arguments(options))
        async with asyncio.timeout(options.timeout):
            return _read(await call, messages)

    async def aclose(self) -> None:
        """Close this event loop's connections, where the model was made here; the next request opens new ones."""
        model = self._by_loop.pop(asyncio.get_running_loop(), None)
        client = getattr(model, "http_async_client", None)
        if self.own and client is not None:
            await client.aclose()


def client_for(model: str | BaseChatModel) -> ChatClient:
    """A client for a model named "provider:name" or given as an object.

    Raises:
        UsageError: neither, or a name of another form.
        ModelError: the provider's package or key is missing, or the name cannot be understood.
    """
    if isinstance(model, BaseChatModel):
        kind = type(model).__name__
        name = (
            getattr(model, "model_name", None) or getattr(model, "model", None) or getattr(model, "name", None) or kind
        )
        openai = any(base.__name__ == "BaseChatOpenAI" for base in type(model).__mro__)
        return ChatClient(str(name), lambda: model, openai=openai)
    if not isinstance(model, str):
        raise UsageError(f"a model is named provider:name, or is a LangChain chat model, not {model!r:.80}")
    provider, _, name = model.partition(":")
    if not name:
        raise UsageError(f"model '{model}' must be named provider:name, for example openai:gpt-4o-mini (or 'offline')")
    if provider == "openai":
        return ChatClient(model, lambda: _openai(name), openai=True, own=True)

    def make() -> BaseChatModel:
        from langchain.chat_models import init_chat_model

        try:
            made = init_chat_model(model)
        except ImportError as error:
            raise ModelError(f"model '{model}' needs a package that is not installed: {error}") from None
        except ValueError as error:
            raise ModelError(f"model '{model}' cannot be set up: {str(error).splitlines()[0]}") from None
        if hasattr(made, "max_retries"):
            made.max_retries = 0
        return made

    return ChatClient(model, make)


@functools.cache
def _chat_openai() -> type[ChatOpenAI]:
    from langchain_openai import ChatOpenAI

    class Lean(ChatOpenAI):
        """ChatOpenAI without two costs of a call; the request and the result are the same.

        The SDK walks through every message by its type annotations, to rename fields that no chat message has: 40 % of a
        call's processor time. What is in `extra_body` it sends as it is. And LangChain hands every reply to a thread to be
        put into its own form, which waits for the interpreter's lock longer than it works.
        """

        def _get_request_payload(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
            payload = super()._get_request_payload(*args, **kwargs)
            body = {**(payload.get("extra_body") or {}), "messages": payload["messages"]}
            return {**payload, "messages": [], "extra_body": body}

        async def _agenerate(
            self,
            messages: list[BaseMessage],
            stop: list[str] | None = None,
            run_manager: AsyncCallbackManagerForLLMRun | None = None,
            **kwargs: Any,
        ) -> ChatResult:
            del run_manager
            payload = self._get_request_payload(messages, stop=stop, **kwargs)
            return self._create_chat_result(await self.async_client.create(**payload))

        def _create_chat_result(self, *args: Any, **kwargs: Any) -> ChatResult:
            result = super()._create_chat_result(*args, **kwargs)
            if not result.generations:
                raise ValueError("it holds no choices")
            return result

    # Usage and traces name a model by its class.
    Lean.__name__ = Lean.__qualname__ = "ChatOpenAI"
    return Lean


def _openai(name: str) -> BaseChatModel:
    if not os.environ.get("OPENAI_API_KEY") and not os.environ.get("OPENAI_BASE_URL"):
        raise ModelError("model 'openai:…' needs OPENAI_API_KEY (or OPENAI_BASE_URL of a server that takes none)")
    key, base = (os.environ.get("OPENAI_API_KEY") or "none").strip(), os.environ.get("OPENAI_BASE_URL") or ""
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ModelError("OPENAI_API_KEY holds a space, a line break or a letter that no key has: set it again")
    if base and not _WEB_ADDRESS.match(base):
        raise ModelError("OPENAI_BASE_URL must be an address like http://127.0.0.1:8000/v1")
    from openai import DefaultAsyncHttpxClient, DefaultHttpxClient
    from pydantic import SecretStr

    # Clients of our own per instance: the ones LangChain shares are bound to the first event loop that used them.
    try:
        client, async_client = DefaultHttpxClient(), DefaultAsyncHttpxClient()
    except (ValueError, ImportError, OSError) as error:
        # A proxy or a certificate file that the environment names.
        raise ModelError(f"model 'openai:{name}' cannot be set up: {error}") from None
    model = _chat_openai()(
        model=name,
        api_key=SecretStr(key),
        max_retries=0,
        use_responses_api=False,
        stream_usage=True,
        http_client=client,
        http_async_client=async_client,
    )
    # Nobody closes a chat model: its connections end with it.
    weakref.finalize(model, client.close)
    return model


def rate_limiter(requests_per_second: float | None) -> BaseRateLimiter | None:
    """What holds requests to models to a rate; None where there is none."""
    if requests_per_second is None:
        return None
    return InMemoryRateLimiter(
        requests_per_second=requests_per_second,
        check_every_n_seconds=0.01,
        max_bucket_size=max(1.0, requests_per_second),
    )
