"""Chat models that code plays instead of weights: what the offline model and the test doubles have in common.

A played model reads the rendered prompt back with the grammar of `thinkgraph.prompts.lines`, and writes a reply in the
form of the prompt's kind. It knows kinds, never roles, so a new method needs no new model.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult

from thinkgraph.prompts.kinds import LIKELY
from thinkgraph.prompts.lines import ParsedPrompt, parse_prompt

CHARS_PER_TOKEN = 4
"""Token counts of played models are estimates: characters divided by this, rounded up."""

_LABELS = re.compile(
    r"The only answers allowed are: (.+?)\.(?: Do not explain\.| Put one sentence| Put the steps|\s*$)", re.MULTILINE
)
_FIELD = re.compile(r'"(clues|query)": "\.\.\."')


@dataclass(frozen=True)
class Call:
    """One model call, read back from its messages."""

    prompt: ParsedPrompt
    labels: tuple[str, ...]
    """Judge: the only answers allowed; empty: any."""
    fields: tuple[str, ...]
    """Judge: which of `clues` and `query` are asked for."""
    likely: bool
    """Judge: whether a likely answer is asked for where there is no sure one."""
    explain: bool
    """Whether a sentence of explanation is asked for."""
    text: str
    """The last user message, whole."""


def message_text(message: BaseMessage) -> str:
    """The text of a message, whether its content is a string or a list of parts."""
    return str(message.text)


def read_call(messages: Sequence[BaseMessage]) -> Call:
    """Read a rendered prompt back: the first system message and the last message, which is the question to answer."""
    system = next((message_text(message) for message in messages if message.type == "system"), "")
    user = message_text(messages[-1]) if messages else ""
    form = system[system.rfind("Reply with one JSON object") :] if "Reply with one JSON object" in system else ""
    labels = _LABELS.search(form)
    return Call(
        prompt=parse_prompt(system, user),
        labels=tuple(labels[1].split(", ")) if labels else (),
        fields=tuple(dict.fromkeys(_FIELD.findall(form))),
        likely=LIKELY in form,
        explain='as "why"' in form,
        text=user,
    )


def estimate_tokens(text: str) -> int:
    """A token count for a model that has no tokens: ceil(characters / 4)."""
    return math.ceil(len(text) / CHARS_PER_TOKEN)


def judgement(
    call: Call,
    answers: Sequence[str] = (),
    evidence: Sequence[int] = (),
    *,
    clues: str = "",
    query: str = "",
    likely: Sequence[str] = (),
) -> dict[str, Any]:
    """A judge reply: sufficient where there are answers; clues and query only where the call asks for them, and `likely`
    answers only where it asks for these.
    """
    reply: dict[str, Any] = {
        "sufficient": bool(answers),
        "answers": list(answers or (likely if call.likely else ())),
        "evidence": sorted(dict.fromkeys(evidence)),
    }
    if not answers:
        extra = {"clues": clues, "query": query}
        reply.update({name: extra[name] for name in call.fields})
    return reply


class PlayedChatModel(BaseChatModel):
    """A chat model whose replies are computed by `play`. Token counts are estimates (characters / 4)."""

    model: str = "played"
    """The name it reports."""

    @abstractmethod
    def play(self, call: Call) -> dict[str, Any] | str:
        """The reply to one call: an object in the form of its kind, or plain text for the kind `text`."""

    @property
    def _llm_type(self) -> str:
        return f"thinkgraph-{self.model}"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        del stop, run_manager, kwargs
        call = read_call(messages)
        reply = self.play(call)
        if isinstance(reply, dict):
            if call.explain:
                reply = {"why": "Played by rule.", **reply}
            text = json.dumps(reply, ensure_ascii=False)
        else:
            text = reply
        asked = sum(estimate_tokens(message_text(message)) for message in messages)
        said = estimate_tokens(text)
        usage = UsageMetadata(input_tokens=asked, output_tokens=said, total_tokens=asked + said)
        message = AIMessage(
            content=text,
            usage_metadata=usage,
            response_metadata={"model_name": self.model, "finish_reason": "stop", "token_counts": "estimated"},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        del run_manager
        # A reply may encode sentences for a while: the event loop must not wait for it.
        return await asyncio.to_thread(self._generate, messages, stop, None, **kwargs)
