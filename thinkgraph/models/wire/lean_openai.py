"""ChatOpenAI for names "openai:…": the same requests and results, streamed, for less of the processor's time."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult

from thinkgraph.errors import ModelError
from thinkgraph.models.failures import UnreadableResponseError, words_of
from thinkgraph.models.wire.body import Lines, ashorten_refusal, shorten_refusal
from thinkgraph.models.wire.watch import Watch

if TYPE_CHECKING:
    from langchain_openai import ChatOpenAI

_WEB_ADDRESS = re.compile(r"https?://[^/\s]+")


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    """Any form may come where a chunk should be: what cannot be read is the server's fault, not ours."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise UnreadableResponseError(str(error)) from error


class _Gathered:
    """A streamed completion put together, as the server would have sent it whole."""

    def __init__(self, watch: Watch | None) -> None:
        self._watch = watch
        self._lines = Lines()
        self._rest: list[str] = []
        self._texts: dict[str, list[str]] = {"content": [], "refusal": []}
        self._calls: list[dict[str, Any]] = []
        self._open: dict[int, dict[str, Any]] = {}
        """By index, the call whose pieces come."""
        self._completion: dict[str, Any] = {}
        self._finish: str | None = None
        self._ended = False

    @_reading()
    def add(self, piece: bytes) -> None:
        """Take a piece of the response.

        Raises:
            TimeoutError: nobody waits for it any more.
            ConnectionError: it is too long.
            UnreadableResponseError: it is no chat completion.
        """
        if self._watch is not None:
            self._watch.check()
        for line in self._lines.add(piece):
            self._line(line)

    def _line(self, line: str) -> None:
        """Take one line: an event of a stream, or a part of a whole body."""
        if not line.startswith("data:"):
            # A line that begins with a colon is a comment.
            self._rest.extend([line] * (not line.startswith(":")))
            return
        data = line[5:].strip()
        if data == "[DONE]":
            self._ended = True
            return
        chunk = _loaded(data)
        self._completion.update({key: value for key, value in chunk.items() if value is not None and key != "choices"})
        said = ""
        for choice in chunk.get("choices") or ():
            self._completion.update({"error": choice["error"]} if choice.get("error") else {})
            if not choice.get("index"):
                self._finish = choice.get("finish_reason") or self._finish
                said += self._take(choice.get("delta") or {})
        if self._watch is not None:
            self._watch.pulse(said)

    def _take(self, delta: Mapping[str, Any]) -> str:
        said = {name: _text(delta.get(name)) for name in self._texts}
        for name, text in said.items():
            self._texts[name].append(text)
        for call in delta.get("tool_calls") or ():
            at, told = call.get("index") or 0, call.get("function") or {}
            known = self._open.get(at)
            # Some servers give every call the index 0; only the first piece of a call has its name.
            if known is None or (known["name"] and told.get("name") and call.get("id") not in {None, known["id"]}):
                known = self._open[at] = {"id": None, "name": "", "arguments": ""}
                self._calls.append(known)
            known["id"] = call.get("id") or known["id"]
            for name in ("name", "arguments"):
                part = told.get(name) or ""
                known[name] += part if isinstance(part, str) else json.dumps(part)
        return said["content"]

    @_reading()
    def completion(self) -> Any:
        """The whole completion.

        Raises:
            ConnectionError: the stream broke off.
            UnreadableResponseError: it is no chat completion.
        """
        self._line(self._lines.last())
        if not self._completion and not self._ended:
            # A server that does not stream: whatever it sent is the completion, or no JSON.
            whole = _loaded("\n".join(self._rest))
            if not isinstance(whole, dict):
                return whole
            if fault := _fault(whole):
                return {"error": fault}
            for choice in whole.get("choices") or ():
                for call in choice["message"].get("tool_calls") or ():
                    call["function"]["arguments"] = _arguments(call["function"].get("arguments"))
            return whole
        if not self._finish and (fault := _fault(self._completion)):
            return {"error": fault}
        if not (self._finish or self._ended):
            raise ConnectionError("the stream ended in the middle of the reply")
        refused = "".join(self._texts["refusal"])
        message: dict[str, Any] = {"role": "assistant", "content": refused or "".join(self._texts["content"])}
        for call in self._calls:
            call["arguments"] = _arguments(call["arguments"])
        if self._calls:
            message["tool_calls"] = [
                {"id": call.pop("id"), "type": "function", "function": call} for call in self._calls
            ]
        # LangChain does not read a refusal, which OpenAI ends with "stop".
        choice = {"index": 0, "message": message, "finish_reason": "refusal" if refused else self._finish}
        return {**self._completion, "choices": [choice]}


def _loaded(text: str) -> Any:
    """The JSON of a text; where it is none, the words of an error say more than what is wrong with them as JSON."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise UnreadableResponseError(words_of(text[:4000]).strip() or "it is empty") from None


def _fault(whole: Mapping[str, Any]) -> Any:
    """What a server says in place of a completion: an error, that of a choice (OpenRouter), or words (FastAPI and others)."""
    choices = whole.get("choices") or ()
    told = next((one["error"] for one in (whole, *choices) if one.get("error")), None)
    return told or (whole if not choices and (whole.get("message") or whole.get("detail")) else None)


def _arguments(given: Any) -> str:
    """A call's arguments as the JSON of an object, which some servers send as it is, or as JSON in JSON.

    Where they are none, of an empty one: the tool then tells the model what it lacks.
    """
    value = given
    with contextlib.suppress(json.JSONDecodeError, RecursionError):
        while isinstance(value, str):
            value = json.loads(value)
    return json.dumps(value if isinstance(value, dict) else {})


def _text(said: Any) -> str:
    """The text of a piece, which Mistral sends as a list of parts where its model thinks: thoughts are left out."""
    return "".join(part.get("text") or "" for part in said) if isinstance(said, list) else said or ""


def _watch_of(manager: CallbackManagerForLLMRun | AsyncCallbackManagerForLLMRun | None) -> Watch | None:
    handlers: Iterable[Any] = manager.handlers if manager else ()
    return next((handler for handler in handlers if isinstance(handler, Watch)), None)


@functools.cache
def _chat_openai() -> type[ChatOpenAI]:
    from langchain_openai import ChatOpenAI

    class Lean(ChatOpenAI):
        """ChatOpenAI without three costs of a call; the request and the result are the same.

        The SDK walks through every message by its type annotations, to rename fields that no chat message has. What is in
        `extra_body` it sends as it is. It builds a typed object of every chunk of a stream. And LangChain makes a message of
        each, and a sum of them.
        """

        def _should_stream(self, **_: Any) -> bool:
            # `_generate` streams by itself.
            return False

        def _get_request_payload(self, *args: Any, stream_usage: bool = True, **kwargs: Any) -> dict[str, Any]:
            payload = super()._get_request_payload(*args, **kwargs)
            body = {**(payload.get("extra_body") or {}), "messages": payload["messages"], "stream": True}
            if stream_usage:
                body["stream_options"] = {"include_usage": True}
            payload.pop("stream", None)
            return {**payload, "messages": [], "extra_body": body}

        def _generate(
            self,
            messages: list[BaseMessage],
            stop: list[str] | None = None,
            run_manager: CallbackManagerForLLMRun | None = None,
            **kwargs: Any,
        ) -> ChatResult:
            payload = self._get_request_payload(messages, stop=stop, **kwargs)
            gathered = _Gathered(_watch_of(run_manager))
            with self.client.with_streaming_response.create(**payload) as response:
                for piece in response.iter_bytes():
                    gathered.add(piece)
            return self._create_chat_result(gathered.completion())

        async def _agenerate(
            self,
            messages: list[BaseMessage],
            stop: list[str] | None = None,
            run_manager: AsyncCallbackManagerForLLMRun | None = None,
            **kwargs: Any,
        ) -> ChatResult:
            payload = self._get_request_payload(messages, stop=stop, **kwargs)
            gathered = _Gathered(_watch_of(run_manager))
            async with self.async_client.with_streaming_response.create(**payload) as response:
                async for piece in response.iter_bytes():
                    gathered.add(piece)
            return self._create_chat_result(gathered.completion())

        def _create_chat_result(self, *args: Any, **kwargs: Any) -> ChatResult:
            result = super()._create_chat_result(*args, **kwargs)
            if not result.generations:
                raise ValueError("it holds no choices")
            return result

    # Usage and traces name a model by its class.
    Lean.__name__ = Lean.__qualname__ = "ChatOpenAI"
    return Lean


def make_openai(name: str) -> BaseChatModel:
    """The model of a name, without "openai:".

    Raises:
        ModelError: the environment holds no key and no address, or one that cannot be.
    """
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
        client = DefaultHttpxClient(event_hooks={"response": [shorten_refusal]})
        async_client = DefaultAsyncHttpxClient(event_hooks={"response": [ashorten_refusal]})
    except (ValueError, ImportError, OSError) as error:
        # A proxy or a certificate file that the environment names.
        raise ModelError(f"model 'openai:{name}' cannot be set up: {error}") from None
    model = _chat_openai()(
        model=name,
        api_key=SecretStr(key),
        max_retries=0,
        use_responses_api=False,
        stream_chunk_timeout=None,
        http_client=client,
        http_async_client=async_client,
    )
    # Nobody closes a chat model: its connections end with it.
    weakref.finalize(model, client.close)
    return model
