"""What is known of a model before it is asked: its provider, its window, whether it reasons, how large it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, get_args

from langchain_core.language_models import BaseChatModel

from thinkgraph.errors import UsageError
from thinkgraph.prompts.files import PROFILES, Profile

Provider = Literal["openai", "anthropic", "ollama", "google_genai", "mistralai", "other"]
"""Whose request fields a model understands."""
Structured = Literal["native", "none"]

_CLASSES: Final[Mapping[str, Provider]] = {
    "BaseChatOpenAI": "openai",
    "ChatAnthropic": "anthropic",
    "ChatOllama": "ollama",
    "ChatGoogleGenerativeAI": "google_genai",
    "ChatMistralAI": "mistralai",
}
_OLLAMA_WINDOW: Final = 8192
"""Asked of Ollama where no window is given: left to itself it takes one that nobody tells, and cuts prompts to it without a word."""
_SMALL = 8.5
"""Models of at most so many billion parameters are small."""
_PARAMETERS = re.compile(r"(?<![\w.])(?:(\d+(?:\.\d+)?)b|\d{2,}m)(?![a-z0-9])", re.IGNORECASE)
"""The number of parameters in a name: "qwen2.5-coder-1.5b", "llama3.1:8b", "gemma3:270m"; "1m" is the length of a window."""
_REASONS = re.compile(r"^(o\d|gpt-5)(?!.*chat)")
"""OpenAI's reasoning models, for names that LangChain does not know."""
_THINKS: Final = (
    (re.compile(r"(?:.*/)?gpt-oss"), ("low", "medium", "high")),
    (re.compile(r"(?:.*/)?(?:qwen3(?::(?!.*instruct)|$)|deepseek-(?:r1|v3\.1))"), ("none", "medium")),
)
"""Ollama's reasoning models: each thinks at length unless it is told how much."""


@dataclass(frozen=True)
class ChatProfile:
    """What is known of a model. What is not known is None, and the model is used without it."""

    provider: Provider = "other"
    window: int | None = None
    """Tokens of prompt and reply that the model can read."""
    max_output: int | None = None
    """Tokens of the longest reply."""
    structured: Structured = "native"
    """Whether replies are asked for by JSON schema, in the provider's own field, or in words only."""
    reasoning: bool = False
    """Whether it thinks before it replies, in tokens that nobody sees."""
    efforts: tuple[str, ...] = ()
    """Values of `reasoning_effort` that it takes; empty where unknown."""
    temperature: bool = True
    """Whether it takes a temperature."""
    size: Profile = "standard"
    """`small`: at most about eight billion parameters."""


_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "provider": get_args(Provider),
    "structured": get_args(Structured),
    "size": PROFILES,
}


def check_profiles(value: object, where: str) -> dict[str, dict[str, Any]]:
    """The user's own knowledge of models, by model name.

    Args:
        value: a table for each name: `{"openai:qwen2.5-coder-1.5b": {"window": 8192, "reasoning": False}}`.
        where: what gave it, for errors.

    Returns:
        The same, with values that `ChatProfile` takes.

    Raises:
        UsageError: an unknown key, or a value of another kind.
    """
    if not isinstance(value, Mapping):
        raise UsageError(f"{where}: 'models' holds a table for each model ([models.\"openai:x\"]), not {value!r:.80}")
    table: dict[str, dict[str, Any]] = {}
    for model, given in value.items():
        if not isinstance(given, Mapping):
            raise UsageError(f"{where}: 'models.{model}' is a table like {{ window = 8192 }}, not {given!r:.80}")
        table[str(model)] = {key: _checked(key, one, f"{where}: 'models.{model}.{key}'") for key, one in given.items()}
    return table


def _checked(key: str, value: Any, what: str) -> Any:
    known = [field.name for field in fields(ChatProfile)]
    if key not in known:
        raise UsageError(f"{what}: there is no such key; known: {', '.join(known)}")
    if key in _KINDS:
        if value not in _KINDS[key]:
            raise UsageError(f"{what} is one of {', '.join(_KINDS[key])}, not {value!r:.80}")
    elif key in {"window", "max_output"}:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise UsageError(f"{what} is a number of tokens above 0, not {value!r:.80}")
    elif key == "efforts":
        if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
            raise UsageError(f"{what} is a list of texts, not {value!r:.80}")
        return tuple(value)
    elif not isinstance(value, bool):
        raise UsageError(f"{what} is true or false, not {value!r:.80}")
    return value


def named_profile(name: str) -> ChatProfile:
    """What a name alone tells: "provider:name" of a model that has not been made, or the name of one that has."""
    provider, colon, model = name.partition(":")
    known = colon and provider in get_args(Provider)
    found = [float(billions or 0) for billions in _PARAMETERS.findall(name)]
    return ChatProfile(
        provider=provider if known else "other",  # type: ignore[arg-type]
        window=_OLLAMA_WINDOW if provider == "ollama" else None,
        reasoning=bool(_REASONS.match(model or name)),
        size="small" if found and max(found) <= _SMALL else "standard",
    )


def profile_of(model: BaseChatModel, name: str) -> ChatProfile:
    """What LangChain knows of a model, and its class and name tell. Nothing is asked of a server."""
    kinds = (_CLASSES.get(base.__name__) for base in type(model).__mro__)
    by_name = named_profile(name)
    known: Mapping[str, Any] = getattr(model, "profile", None) or {}
    provider: Provider = next((kind for kind in kinds if kind), "other")
    # Every request to Ollama says how much it is to read, whatever the model could.
    usual = _OLLAMA_WINDOW if provider == "ollama" else known.get("max_input_tokens")
    efforts = tuple(known.get("reasoning_effort_levels") or ())
    if provider == "ollama" and getattr(model, "reasoning", None) is None:
        thinks = (levels for names, levels in _THINKS if names.match(name.removeprefix("ollama:")))
        efforts = next(thinks, efforts)
    return replace(
        by_name,
        provider=provider,
        window=getattr(model, "num_ctx", None) or usual,
        max_output=known.get("max_output_tokens"),
        reasoning=bool(known.get("reasoning_output", by_name.reasoning or efforts)),
        efforts=efforts,
        temperature=bool(known.get("temperature", True)),
    )
