"""Our form of a request and of its reply, and LangChain's messages for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, messages_from_dict

from thinkgraph.models.failures import UnreadableResponseError
from thinkgraph.prompts.library import Message

MOST_TOKENS: Final = 10**9
"""A server that reports more cannot be right: its count is taken for none."""
CHARACTERS_PER_TOKEN = 4
"""Used only where a provider reports no usage."""

Finish = Literal["stop", "length", "filtered", "tools"]
"""Why a reply ends: by itself, at a limit, refused or filtered, or to have tools called."""

_FINISHES: Final[Mapping[str, Finish]] = {
    # OpenAI, Mistral and Ollama; Mistral; Anthropic and Gemini; OpenAI's responses; Anthropic.
    **dict.fromkeys(
        ("length", "model_length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"), "length"
    ),
    **dict.fromkeys(("content_filter", "refusal"), "filtered"),
    # Gemini.
    **dict.fromkeys(
        (
            *("safety", "recitation", "blocklist", "prohibited_content", "spii", "language"),
            *("image_safety", "image_prohibited_content", "image_recitation"),
        ),
        "filtered",
    ),
    **dict.fromkeys(("tool_calls", "tool_use", "function_call"), "tools"),
}
_FAILED: Final = (
    # Mistral; DeepSeek; Gemini.
    *("error", "insufficient_system_resource"),
    *("other", "malformed_response", "malformed_function_call", "unexpected_tool_call", "finish_reason_unspecified"),
)
"""Reasons that are the model's or the server's failure."""

_MESSAGE_TYPES: Mapping[str, type[BaseMessage]] = {
    "system": SystemMessage,
    "user": HumanMessage,
    "assistant": AIMessage,
}

PACKED: Literal["message"] = "message"
"""Role of a message that is given as JSON (`pack`), because it has more than a text."""


@dataclass(frozen=True)
class ModelReply:
    """What came back from one request."""

    text: str
    input_tokens: int
    output_tokens: int
    """Tokens of the reply, hidden reasoning included."""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    """Tools the model wants called (`name`, `args`, `id`), where it was given any."""
    finish: Finish = "stop"
    more: Mapping[str, Any] = field(default_factory=dict)
    """What a message that calls tools has beside its text; see `_more_than_text`."""


@dataclass(frozen=True)
class CallOptions:
    """How one request is made."""

    temperature: float | None
    schema: Mapping[str, Any] | None
    """JSON schema of the reply, None for plain text."""
    max_output_tokens: int | None
    timeout: float
    """Seconds until the first token, and seconds of silence between two tokens; in all at most twelve times as many."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """Tools the model may call, in OpenAI's form."""
    total: float | None = None
    """Seconds that the whole request may take; None for any."""
    stage: str = "reason"
    """`explore` or `reason`: how much a reasoning model thinks, where `effort` is "auto"."""
    effort: str = "auto"
    """`reasoning_effort` of a reasoning model."""
    fresh: bool = False
    """Whether an LLM cache will not do: it may have kept the failure after which this is asked again, or another sample."""


def pack(message: BaseMessage) -> Message:
    """Any LangChain message as one of our pairs, without the ids that differ from run to run."""
    kept = {"type": message.type, "content": message.content}
    for name in ("tool_calls", "tool_call_id", "name", "status", "additional_kwargs", "response_metadata"):
        if value := getattr(message, name, None):
            kept[name] = value
    return PACKED, json.dumps(kept, ensure_ascii=False, sort_keys=True)


def _unpacked(text: str) -> BaseMessage:
    kept = json.loads(text)
    return messages_from_dict([{"type": kept["type"], "data": kept}])[0]


def to_messages(messages: Sequence[Message]) -> list[BaseMessage]:
    """Our (role, text) pairs as LangChain messages."""
    return [_unpacked(text) if role == PACKED else _MESSAGE_TYPES[role](content=text) for role, text in messages]


def read_message(message: BaseMessage, sent: Sequence[Message], *, ends: bool = False) -> ModelReply:
    """What a LangChain message says, with its usage and why it ends.

    Args:
        message: the model's.
        sent: what it replies to, from which its tokens are estimated where the provider does not count.
        ends: whether a reason to end always comes: without one, the reply broke off.

    Raises:
        ConnectionError: it broke off.
        UnreadableResponseError: the model or the server failed at it.
    """
    usage = getattr(message, "usage_metadata", None)
    # Arguments that are no JSON are none: the tool then tells the model what it lacks.
    unread = [{**call, "args": {}} for call in getattr(message, "invalid_tool_calls", ()) if call["name"]]
    calls = tuple(
        {"name": call["name"], "args": call["args"], "id": call["id"]}
        for call in [*getattr(message, "tool_calls", ()), *unread]
    )
    asked, said = _counted(usage or {})
    refusal = _refusal(message)
    finish = "filtered" if refusal is not None else _finish(message.response_metadata, called=bool(calls), ends=ends)
    # The text of a list of parts leaves thoughts out.
    reply = reply_of(refusal or str(message.text), sent, finish, asked=asked, said=said, calls=calls)
    # So LangChain marks a reply from its cache, for which nobody paid.
    cached = (usage or {}).get("total_cost") == 0
    reply = replace(reply, more=_more_than_text(message)) if calls else reply
    return replace(reply, input_tokens=0, output_tokens=0) if cached else reply


def _more_than_text(message: BaseMessage) -> Mapping[str, Any]:
    """What a provider wants back with the calls of its model: Claude refuses calls without the thoughts that led to them."""
    told = message.response_metadata
    found = {
        "content": message.content if isinstance(message.content, list) else None,
        "additional_kwargs": {name: value for name, value in message.additional_kwargs.items() if value is not None},
    }
    if not any(found.values()):
        return {}
    # By these LangChain knows another provider's message.
    origin = {name: told[name] for name in ("model_provider", "output_version") if name in told}
    return {name: value for name, value in {**found, "response_metadata": origin}.items() if value}


def reply_of(
    text: str,
    sent: Sequence[Message],
    finish: Finish,
    *,
    asked: int | None = None,
    said: int | None = None,
    calls: tuple[Mapping[str, Any], ...] = (),
) -> ModelReply:
    """A reply, its tokens estimated where the provider does not count them."""
    # Half a character (a reply cut off) can be neither sent back nor stored.
    text = text.encode("utf-8", "replace").decode("utf-8")
    # Nothing asked has no tokens, and a ceiling must not wait for a server that does not count.
    asked = asked or -(-sum(len(part) for _, part in sent) // CHARACTERS_PER_TOKEN)
    if said is None or not (said or calls):
        said = -(-len(text) // CHARACTERS_PER_TOKEN)
    return ModelReply(text, asked, said, calls, finish)


def _counted(usage: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Tokens of the prompt and of the reply, hidden reasoning included; None where the provider does not count.

    OpenAI's output tokens hold it. Others count it beside them: it then stands in the total, or is more than the output.
    """
    asked, said, total = (_tokens(usage.get(name)) for name in ("input_tokens", "output_tokens", "total_tokens"))
    if said is None:
        return asked, said
    hidden = _tokens((usage.get("output_token_details") or {}).get("reasoning")) or 0
    told = said + hidden if hidden > said else said
    return asked, max(told, (total or 0) - asked) if asked else told


def _tokens(value: object) -> int | None:
    """A count of tokens as a server reports it; None for what is none (missing, in words, below zero, beyond any)."""
    try:
        count = int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return None
    return count if 0 <= count <= MOST_TOKENS else None


def _refusal(message: BaseMessage) -> str | None:
    """The words of a refusal, which OpenAI sends in a field of their own; None where there is none."""
    if said := message.additional_kwargs.get("refusal"):
        return str(said)
    parts = message.content if isinstance(message.content, list) else ()
    found = [part for part in parts if isinstance(part, dict) and part.get("type") == "refusal"]
    return str(found[-1].get("refusal") or "") if found else None


def _finish(told: Mapping[str, Any], *, called: bool, ends: bool) -> Finish:
    """Why a reply ends, in each provider's words."""
    details = told.get("incomplete_details") or {}
    feedback = told.get("prompt_feedback") or {}
    if feedback.get("block_reason"):
        return "filtered"  # Gemini refused the prompt
    # The status is that of OpenAI's responses.
    names = ("finish_reason", "stop_reason", "done_reason", "status")
    reason = str(details.get("reason") or next((told[name] for name in names if told.get(name)), "")).casefold()
    if ends and not reason:
        raise ConnectionError("the stream ended in the middle of the reply")
    if reason.startswith(_FAILED):
        raise UnreadableResponseError(f"it ended with '{reason}'")
    # LangChain adds chunks up, and the words of two that name a reason ("STOPSTOP").
    found = next((finish for word, finish in _FINISHES.items() if reason.startswith(word)), None)
    return "tools" if called and found != "length" else found or "stop"
