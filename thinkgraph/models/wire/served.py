"""The window that an OpenAI-compatible server tells of itself."""

from __future__ import annotations

from typing import Any, Final

from langchain_core.language_models import BaseChatModel

_PATIENCE: Final = 5.0
"""Seconds for each question. A server that takes longer tells its window by refusing a prompt."""
_TELLS_NONE: Final = "api.openai.com"
_NAMES: Final = ("max_model_len", "loaded_context_length", "context_window", "context_length")
"""The window of a model in a list: vLLM's, LM Studio's, Groq's and OpenRouter's word."""


def served_window(model: BaseChatModel) -> int | None:
    """The window in tokens, as llama.cpp's /props, /models, or LM Studio's own list of models tells it; None where none does.

    Only models with OpenAI's client have a server that is asked.
    """
    client: Any = getattr(model, "root_client", None)
    if client is None or client.base_url.host == _TELLS_NONE:
        return None
    import httpx
    import openai

    base = str(client.base_url).rstrip("/")
    root = base.removesuffix("/v1")
    places = ((f"{root}/props", _in_props), (f"{base}/models", _in_models), (f"{root}/api/v0/models", _in_models))
    for url, find in places:
        try:
            # With the keys, proxies and certificates of the model's own requests.
            reply = client.get(url, cast_to=httpx.Response, options={"timeout": _PATIENCE, "max_retries": 0})
            found = find(reply.json(), getattr(model, "model_name", ""))
        except (openai.OpenAIError, ValueError, TypeError, KeyError, AttributeError):
            continue
        if isinstance(found, int) and found > 0:
            return found
    return None


def _in_props(value: Any, _: str) -> Any:
    return value["default_generation_settings"]["n_ctx"]


def _in_models(value: Any, model: str) -> Any:
    entry = next(one for one in [*value["data"], {}] if one.get("id", model) == model)
    return next((entry[name] for name in _NAMES if entry.get(name)), None)
