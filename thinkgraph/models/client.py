"""One chat model behind one small interface, sync and async, whatever LangChain integration it comes from."""

from __future__ import annotations

import asyncio
import functools
import re
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from langchain_core.globals import get_llm_cache
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.rate_limiters import BaseRateLimiter, InMemoryRateLimiter
from langchain_core.runnables import Runnable, RunnableConfig, RunnableWithFallbacks
from langchain_core.runnables.config import merge_configs
from pydantic import ValidationError

from thinkgraph.errors import ModelError, UsageError, first_line
from thinkgraph.models.failures import classify
from thinkgraph.models.profiles import ChatProfile, named_profile, profile_of
from thinkgraph.models.recorded import Recording
from thinkgraph.models.window import Gauge
from thinkgraph.models.wire.arguments import prepared
from thinkgraph.models.wire.forms import CallOptions, ModelReply, read_message, reply_of, to_messages
from thinkgraph.models.wire.lean_openai import make_openai
from thinkgraph.models.wire.served import served_window
from thinkgraph.models.wire.watch import HeldLimiter, OversizedReplyError, Watch
from thinkgraph.prompts.library import Message

ChatModel = BaseChatModel | RunnableWithFallbacks[Any, Any]
"""A LangChain chat model, or one with others to fall back to (`with_fallbacks`)."""

_REFUSALS: Final[Mapping[str, tuple[str, ...]]] = {
    "effort": ("reasoning_effort", "reasoning.effort", "effort", "thinking_level", "does not support thinking"),
    "temperature": ("temperature",),
    "usage": ("stream_options", "include_usage"),
    # llama.cpp's grammar counts repetitions.
    "bounds": (
        *(f"{end}{of}" for end in ("max", "min") for of in ("items", "length", "imum'")),
        "number of repetitions",
    ),
    "schema": ("response_format", "response format", "json", "structured", "schema", "output_config"),
    # LangChain sends it by its new name, of which not every server has heard.
    "limit": ("max_tokens", "max_completion_tokens"),
    "max_tokens": ("max_tokens", "max_completion_tokens"),
}
"""What a request can go without, and the words by which a refusal names it."""
_TOO_LARGE: Final = re.compile(
    r"max[_ ]?(?:(?:completion|output)[_ ]?)?tokens.*?(?:too large|at most|less than|range|\d > \d)"
)
"""A refusal of the limit's value, which the server knows under the name it was sent by."""
_LONGEST: Final = re.compile(r"(?:at most|less than or equal to|\d >|\[\d+,)\W{0,2}(\d[\d,]*)")
"""The longest reply in tokens, as such a refusal tells it: "at most 128", "900 > 128", "[1, 128]"."""


@dataclass
class ChatClient:
    """A model with what is known of it and what its server has refused.

    Args of the constructor:
        name: how it is named in usage, manifest and answer.
        make: makes the LangChain model; called once per event loop, because HTTP clients cannot change loops.
        profile: what is known of it; completed when the model is made.
        given: what the user says of it, which wins over all else.
    """

    name: str
    make: Callable[[], BaseChatModel]
    profile: ChatProfile = field(default_factory=ChatProfile)
    given: Mapping[str, Any] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    """What its server does not take, as far as it is known: see `prepared`."""
    reply_factor: int = 1
    """How many times as long as its text a reply may get: models that reason first need several."""
    gauge: Gauge = field(default_factory=Gauge, repr=False)
    limiter: BaseRateLimiter | None = None
    """Asked before every request."""
    own: bool = False
    """Whether the models are made here, and their connections therefore closed here."""
    fallback: ChatClient | None = None
    """Asked where this one fails for good."""
    recording: Recording | None = None
    """Where its replies are kept, or come from."""
    _window: int | None = field(default=None, repr=False)
    looked_up: bool = field(default=False, repr=False)
    """Whether its window has been looked up, or need not be."""
    _sync: BaseChatModel | None = field(default=None, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, BaseChatModel] = field(
        default_factory=weakref.WeakKeyDictionary, repr=False
    )

    def __post_init__(self) -> None:
        self.profile = replace(self.profile, **self.given)

    def chain(self) -> Iterator[ChatClient]:
        """This client and those it falls back to, in turn."""
        client: ChatClient | None = self
        while client is not None:
            yield client
            client = client.fallback

    @property
    def window(self) -> int | None:
        """Tokens that prompt and reply may have together: as a refusal said, else as its profile knows."""
        return self._window or self.profile.window

    @window.setter
    def window(self, tokens: int) -> None:
        self._window = tokens

    def look_up_window(self) -> None:
        """Make the model, and ask its server for a window that nobody knows. It blocks; a replayed model has no server.

        Raises:
            ModelError: see `made`.
        """
        self.looked_up = True
        if self.recording is not None and self.recording.replays:
            return
        model = self.made()
        if self.window is None:
            self._window = served_window(model)

    @property
    def learnt(self) -> tuple[frozenset[str], int | None]:
        """What refusals have taught so far: what the server does not take, and the longest reply in tokens."""
        return self.refused, self.given.get("max_output")

    def learn_from(self, problem: str, sent: tuple[frozenset[str], int | None] | None = None) -> bool:
        """After a refused request: drop the parameter the refusal names, or lower a limit that is too large.

        Args:
            problem: the refusal.
            sent: `learnt` as it was when the request was made: where another request has learnt something since, this
                one tries again with what is known now.

        Returns:
            Whether trying again makes sense.
        """
        if sent is not None and sent != self.learnt:
            return True
        text = problem.casefold()
        if _TOO_LARGE.search(text):
            return self._lower_limit(text)
        for what, words in _REFUSALS.items():
            if what not in self.refused and any(word in text for word in words):
                self.refused |= {what}
                return True
        return False

    def _lower_limit(self, refusal: str) -> bool:
        """Keep to the longest reply that a refusal tells. False where it tells none, or none shorter than is known."""
        found = _LONGEST.search(refusal)
        longest = int(found[1].replace(",", "")) if found else 0
        if not 0 < longest < (self.profile.max_output or longest + 1):
            return False
        self.given = {**self.given, "max_output": longest}
        self.profile = replace(self.profile, max_output=longest)
        return True

    def made(self) -> BaseChatModel:
        """The LangChain model for calls that wait; made at the first one.

        Raises:
            ModelError: the provider's package or key is missing, or the name cannot be understood.
        """
        with self._lock:
            # One for all threads: a model with weights would be loaded once for each.
            self._sync = self._sync or self._new()
            return self._sync

    def _new(self) -> BaseChatModel:
        model = self.make()
        self.profile = replace(profile_of(model, self.name), **self.given)
        return model

    def invoke(self, messages: Sequence[Message], options: CallOptions, config: RunnableConfig) -> ModelReply:
        """Send one request and wait for it."""
        if self.limiter is not None:
            self.limiter.acquire()
        model, asked, watch = self.made(), to_messages(messages), Watch(options)
        bound, arguments = self._bound(model, options, watch)
        call = functools.partial(bound.invoke, asked, merge_configs(config, {"callbacks": [watch]}), **arguments)
        try:
            return self._read(watch.run(call), messages, watch)
        except Exception as error:
            if reply := _ended(error, watch, messages):
                return reply
            raise

    async def ainvoke(self, messages: Sequence[Message], options: CallOptions, config: RunnableConfig) -> ModelReply:
        """Send one request without blocking the loop."""
        model = await self._of_this_loop()
        if self.limiter is not None:
            await self.limiter.aacquire()
        asked, watch = to_messages(messages), Watch(options)
        bound, arguments = self._bound(model, options, watch)
        try:
            call = bound.ainvoke(asked, merge_configs(config, {"callbacks": [watch]}), **arguments)
            return self._read(await watch.arun(call), messages, watch)
        except Exception as error:
            if reply := _ended(error, watch, messages):
                return reply
            raise

    def _read(self, message: BaseMessage, sent: Sequence[Message], watch: Watch) -> ModelReply:
        """The reply in a message; every provider that is known says in a stream why it ends."""
        return read_message(message, sent, ends=watch.streamed and self.profile.provider != "other")

    async def _of_this_loop(self) -> BaseChatModel:
        loop = asyncio.get_running_loop()
        model = self._by_loop.get(loop)
        if model is None:
            for gone in [known for known in list(self._by_loop) if known.is_closed()]:
                # A model's connections may hold on to their loop, which then never goes by itself.
                self._by_loop.pop(gone, None)
            # Making a client reads certificates from disk, which must not block the loop.
            model = self._by_loop.setdefault(loop, await asyncio.to_thread(self._new))
        return model

    def _bound(
        self, model: BaseChatModel, options: CallOptions, watch: Watch
    ) -> tuple[Runnable[Any, BaseMessage], dict[str, Any]]:
        """The model with its tools, and the arguments of the request."""
        model, arguments = prepared(model, self.profile, options, self.refused)
        if model.rate_limiter is not None:
            model = model.model_copy(update={"rate_limiter": HeldLimiter(model.rate_limiter, watch)})
        if options.fresh and (model.cache or get_llm_cache() is not None):
            model = model.model_copy(update={"cache": False})
        if not options.tools:
            return model, arguments
        try:
            return model.bind_tools([dict(tool) for tool in options.tools]), arguments
        except NotImplementedError:
            raise ModelError(f"model {self.name} takes no tools: this method needs one that does") from None

    async def aclose(self) -> None:
        """Close this event loop's connections, where the model was made here; the next request opens new ones."""
        model = self._by_loop.pop(asyncio.get_running_loop(), None)
        client = getattr(model, "http_async_client", None)
        if self.own and client is not None:
            await client.aclose()


def _ended(error: Exception, watch: Watch, sent: Sequence[Message]) -> ModelReply | None:
    """The reply that a failure stands for: one cut off where it was too long, or an empty one that was filtered."""
    if isinstance(error, OversizedReplyError):
        return reply_of(watch.text, sent, "length")
    failure = classify(error)
    return reply_of("", sent, "filtered") if failure is not None and failure.filtered else None


def client_for(model: str | ChatModel, profiles: Mapping[str, Mapping[str, Any]] | None = None) -> ChatClient:
    """A client for a model named "provider:name" or given as an object.

    Args:
        model: the name, a LangChain chat model, or one with others to fall back to, of which each gets a client of its own.
        profiles: what the user says of models, by name; see `check_profiles`.

    Raises:
        UsageError: neither, or a name of another form.
    """
    if isinstance(model, RunnableWithFallbacks):
        first, *others = (client_for(cast("BaseChatModel", one), profiles) for one in model.runnables)
        for other in others:
            list(first.chain())[-1].fallback = other
        return first
    if isinstance(model, BaseChatModel):
        kind = type(model).__name__
        name = str(
            getattr(model, "model_name", None) or getattr(model, "model", None) or getattr(model, "name", None) or kind
        )
        return ChatClient(name, lambda: model, profile_of(model, name), (profiles or {}).get(name, {}))
    if not isinstance(model, str):
        raise UsageError(f"a model is named provider:name, or is a LangChain chat model, not {model!r:.80}")
    provider, _, name = model.partition(":")
    if not name:
        raise UsageError(f"model '{model}' must be named provider:name, for example openai:gpt-4o-mini (or 'offline')")
    make = functools.partial(make_openai, name) if provider == "openai" else functools.partial(_make, model)
    known = named_profile(model), (profiles or {}).get(model, {})
    return ChatClient(model, make, *known, own=provider == "openai")


def _make(model: str) -> BaseChatModel:
    from langchain.chat_models import init_chat_model

    try:
        made: BaseChatModel = init_chat_model(model)
    except ImportError as error:
        raise ModelError(f"model '{model}' needs a package that is not installed: {error}") from None
    except Exception as error:  # noqa: BLE001 - each provider's package says in its own way that its key is missing
        # The first line of pydantic's only counts the faults.
        told = str(error.errors()[0]["msg"]) if isinstance(error, ValidationError) else error
        if "Supported providers" in str(error):
            told = "LangChain has no such provider; a server that speaks OpenAI's protocol is openai:NAME at OPENAI_BASE_URL"
        raise ModelError(f"model '{model}' cannot be set up: {first_line(told)}") from None
    if hasattr(made, "max_retries"):
        made.max_retries = 0
    return made


def rate_limiter(requests_per_second: float | None) -> BaseRateLimiter | None:
    """What holds requests to models to a rate; None where there is none."""
    if requests_per_second is None:
        return None
    return InMemoryRateLimiter(
        requests_per_second=requests_per_second,
        check_every_n_seconds=0.01,
        max_bucket_size=max(1.0, requests_per_second),
    )
