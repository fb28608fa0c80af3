"""A request's arguments in each provider's own words: schema, limit, timeout, temperature, reasoning."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk

from thinkgraph.models.profiles import ChatProfile, Provider
from thinkgraph.models.wire.forms import CallOptions
from thinkgraph.prompts.forms import BOUNDS, without

Arguments = dict[str, Any]

_STRINGS = frozenset({"minLength", "maxLength"})
_NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_LISTS = frozenset({"minItems", "maxItems", "uniqueItems", "contains"})
_UNKNOWN: Final[Mapping[Provider, frozenset[str]]] = {
    "openai": _STRINGS | {"uniqueItems", "contains"},
    "anthropic": _STRINGS | _NUMBERS | _LISTS | {"pattern"},
    "google_genai": _STRINGS
    | {"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems", "contains", "pattern"},
}
"""Keywords of JSON schema that a provider refuses. The grammars of Ollama and Mistral take or overlook them."""
_LEAST = ("none", "minimal", "low")
"""Efforts of calls that explore, the first that a model takes."""
_CHUNK_READER: Final = "_convert_chunk_to_generation_chunk"
"""The method by which LangChain's OpenAI models read one chunk of a stream."""


def fitting(schema: Any, provider: Provider, refused: AbstractSet[str]) -> Any:
    """A schema without the keywords that the provider refuses, or without bounds where the server has refused those; what they said is
    checked when the reply is read.
    """
    return without(schema, BOUNDS if "bounds" in refused else _UNKNOWN.get(provider, frozenset()))


def effort_of(profile: ChatProfile, options: CallOptions) -> str | None:
    """How much a reasoning model is asked to think; None where nothing is said about it.

    "auto" is as little as the model takes for calls that explore, and "medium" for calls that reason. It says nothing to
    Anthropic and Mistral, whose models think as they were set up to.
    """
    if not profile.reasoning:
        return None
    if options.effort != "auto":
        return options.effort
    wanted = _LEAST if options.stage == "explore" else ("medium",)
    if profile.efforts:
        known = profile.provider in {"openai", "google_genai", "ollama"}
        return next((effort for effort in wanted if known and effort in profile.efforts), None)
    return wanted[-1] if profile.provider == "openai" else None


def prepared(
    model: BaseChatModel, profile: ChatProfile, options: CallOptions, refused: AbstractSet[str]
) -> tuple[BaseChatModel, Arguments]:
    """The model and the keyword arguments of one request.

    Args:
        model: LangChain's.
        profile: what is known of it.
        options: what the request is to have.
        refused: what the server has refused: "temperature", "schema", "bounds" (of the schema), "limit",
            "max_tokens", "effort", "usage".

    Returns:
        The model itself, or a copy where a request's own values can be given in no other way; its HTTP clients are shared.
    """
    asked: Arguments = {
        "temperature": options.temperature,
        "limit": options.max_output_tokens,
        "schema": None if options.schema is None else fitting(options.schema, profile.provider, refused),
        "effort": effort_of(profile, options),
        "timeout": options.timeout,
        "window": profile.window,
    }
    if not profile.temperature or (profile.reasoning and profile.provider == "openai"):
        asked["temperature"] = None
    if profile.structured == "none":
        asked["schema"] = None
    if profile.max_output and asked["limit"]:
        asked["limit"] = min(asked["limit"], profile.max_output)
    given = {
        name: value for name, value in asked.items() if value is not None and (name not in refused or name == "limit")
    }
    return _PROVIDERS[profile.provider](model, given, refused)


def _json_schema(schema: object) -> Arguments:
    return {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}}


def _renamed(given: Arguments, names: Mapping[str, str]) -> Arguments:
    return {names[name]: value for name, value in given.items() if name in names}


def _openai(model: BaseChatModel, given: Arguments, refused: AbstractSet[str]) -> tuple[BaseChatModel, Arguments]:
    names = {"temperature": "temperature", "timeout": "timeout", "effort": "reasoning_effort"}
    arguments, body = _renamed(given, names), Arguments()
    responses = getattr(model, "_use_responses_api", None)
    completions = responses is None or not responses({})
    if "schema" in given:
        # In extra_body the provider sees it and LangChain's slower parsing path does not.
        (body if completions else arguments)["response_format"] = _json_schema(given["schema"])
    if "limit" in given and "limit" not in refused:
        # LangChain sends it by the name that it holds to be right, mostly max_completion_tokens.
        arguments["max_tokens"] = given["limit"]
    elif "limit" in given and "max_tokens" not in refused:
        body["max_tokens"] = given["limit"]
    if body:
        arguments["extra_body"] = body
    if completions and streams(model):
        # OpenAI's responses have their usage unasked, and LangChain knows no such argument there.
        arguments["stream_usage"] = "usage" not in refused
    changed = Arguments()
    silence = "stream_chunk_timeout"
    if silence in type(model).model_fields and silence not in model.model_fields_set:
        # A ceiling of LangChain's on the time between two tokens, below ours.
        changed[silence] = None
    if (reader := getattr(model, _CHUNK_READER, None)) is not None:
        changed[_CHUNK_READER] = _keeping_refusals(reader)
    return model.model_copy(update=changed) if changed else model, arguments


def _keeping_refusals(reader: Callable[..., Any]) -> Callable[..., Any]:
    """A reader of chunks that keeps `delta.refusal`, which LangChain's leaves out: OpenAI ends a refusal with "stop", so a reply without
    its words is an empty one. They are put where LangChain has those of a whole reply, and it adds the parts up.
    """

    @functools.wraps(reader)
    def read(chunk: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        made = reader(chunk, *args, **kwargs)
        delta = next((choice.get("delta") for choice in chunk.get("choices") or ()), None)
        refusal = (delta or {}).get("refusal")
        if made is not None and refusal and isinstance(made.message, AIMessageChunk):
            made.message.additional_kwargs["refusal"] = refusal
        return made

    return read


def _anthropic(model: BaseChatModel, given: Arguments, _: AbstractSet[str]) -> tuple[BaseChatModel, Arguments]:
    names = {"temperature": "temperature", "timeout": "timeout", "limit": "max_tokens", "effort": "reasoning_effort"}
    arguments = _renamed(given, names)
    if thinking := getattr(model, "thinking", None):
        arguments.pop("temperature", None)
        if "limit" in given:
            # Thoughts count too: a limit that is not above their budget is refused.
            arguments["max_tokens"] = given["limit"] + thinking.get("budget_tokens", 0)
    if "schema" in given:
        arguments["output_config"] = {"format": {"type": "json_schema", "schema": given["schema"]}}
    return model, arguments


def _ollama(model: BaseChatModel, given: Arguments, _: AbstractSet[str]) -> tuple[BaseChatModel, Arguments]:
    # As arguments, `options` would take the place of all that the model was made with (seed, top_k …).
    options = {"temperature": "temperature", "limit": "num_predict", "window": "num_ctx"}
    model = model.model_copy(update=_renamed(given, options))
    arguments = _renamed(given, {"schema": "format"})
    if "effort" in given:
        levels = "gpt-oss" in str(getattr(model, "model", ""))
        arguments["reasoning"] = given["effort"] if levels else given["effort"] != "none"
    return model, arguments


def _google(model: BaseChatModel, given: Arguments, _: AbstractSet[str]) -> tuple[BaseChatModel, Arguments]:
    names = {"limit": "max_output_tokens", "schema": "response_json_schema", "effort": "reasoning_effort"}
    arguments = _renamed(given, {**names, "temperature": "temperature", "timeout": "timeout"})
    if "schema" in given:
        arguments["response_mime_type"] = "application/json"
    return model, arguments


def _mistral(model: BaseChatModel, given: Arguments, _: AbstractSet[str]) -> tuple[BaseChatModel, Arguments]:
    names = {"temperature": "temperature", "limit": "max_tokens", "effort": "reasoning_effort"}
    arguments = _renamed(given, names)
    if "schema" in given:
        arguments["response_format"] = _json_schema(given["schema"])
    changed = Arguments()
    if "timeout" in given and "timeout" not in model.model_fields_set:
        # LangChain's usual two minutes would end a request before our own limits do.
        changed = {name: _patient(getattr(model, name), given["timeout"]) for name in ("client", "async_client")}
    return model.model_copy(update=changed) if changed else model, arguments


def _patient(client: Any, seconds: float) -> Any:
    """An HTTP client with a timeout of its own, over the same connections."""
    other = copy.copy(client)
    other.timeout = seconds
    return other


def _other(model: BaseChatModel, given: Arguments, _: AbstractSet[str]) -> tuple[BaseChatModel, Arguments]:
    arguments = _renamed(given, {"temperature": "temperature"})
    if "limit" in given and "max_tokens" in type(model).model_fields:
        arguments["max_tokens"] = given["limit"]
    if "schema" in given:
        arguments |= _bound_schema(model, given["schema"])
    return model, arguments


_PROVIDERS: Final[
    Mapping[Provider, Callable[[BaseChatModel, Arguments, AbstractSet[str]], tuple[BaseChatModel, Arguments]]]
] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "ollama": _ollama,
    "google_genai": _google,
    "mistralai": _mistral,
    "other": _other,
}


def _bound_schema(model: BaseChatModel, schema: Mapping[str, Any]) -> Arguments:
    """What a class of its own binds for a schema; nothing where it has no such way, or goes by tools."""
    if type(model).with_structured_output is BaseChatModel.with_structured_output:
        return {}
    try:
        made: Any = model.with_structured_output({"title": "reply", **schema}, method="json_schema", include_raw=True)
        bound = dict(made.first.steps__["raw"].kwargs)
    except Exception:  # noqa: BLE001 - every package says in its own way that it cannot: the form is asked for in words
        return {}
    return {} if "tools" in bound else {key: value for key, value in bound.items() if not key.startswith("ls_")}


def streams(model: BaseChatModel) -> bool:
    """Whether a model may stream: its user may have switched that off."""
    off = "streaming" in model.model_fields_set and getattr(model, "streaming", None) is False
    return not off and not model.disable_streaming
