"""A chat model for tests that answers by role and keeps what it was asked."""

from __future__ import annotations

import asyncio
import io
import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from known_roles import role_of
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field, PrivateAttr

from thinkgraph.models.offline.rule_based import conversation, tool_calls
from thinkgraph.prompts.parsed import ParsedPrompt, parse_prompt

_STANDS_IN = {"tog2.steer": "tog2.reason", "fasttog.steer": "fasttog.reason"}
"""Whose script serves a role without one: a judgement without scores, after which relation prune is asked."""
Script = str | dict[str, Any] | Callable[[ParsedPrompt], Any]


class FakeModel(BaseChatModel):
    """Replies by role: a value (dicts become JSON), or a function of the parsed prompt."""

    replies: Mapping[str, Any]
    latency: float = 0.0
    model_name: str = "fake"
    asked: list[ParsedPrompt] = Field(default_factory=list)
    most_at_once: list[int] = Field(default_factory=lambda: [0])
    _now: int = 0
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    def __init__(self, replies: Mapping[str, Script], latency: float = 0.0, **options: Any) -> None:
        super().__init__(replies=replies, latency=latency, **options)  # type: ignore[call-arg]

    @property
    def _llm_type(self) -> str:
        return "fake"

    def _reply(self, messages: list[BaseMessage]) -> ChatResult:
        repair = messages[-1].type == "human" and len(messages) > 1 and "## Question" not in str(messages[-1].content)
        user = str(messages[-1].content) if repair else conversation(messages)[1]
        system = str(messages[0].content)
        parsed = parse_prompt(system, user, role_of(system))
        self.asked.append(parsed)
        script = self.replies[
            _STANDS_IN.get(parsed.role, parsed.role) if parsed.role not in self.replies else parsed.role
        ]
        value = script(parsed) if callable(script) else script
        searches = value.get("search", ()) if isinstance(value, dict) else ()
        text = "" if searches else value if isinstance(value, str) else json.dumps(value)
        message = AIMessage(
            content=text,
            tool_calls=tool_calls(searches, messages),
            usage_metadata={"input_tokens": 100, "output_tokens": 10, "total_tokens": 110},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self.bind(tools=tools)

    def _enter(self) -> None:
        with self._lock:
            self._now += 1
            self.most_at_once[0] = max(self.most_at_once[0], self._now)

    def _leave(self) -> None:
        with self._lock:
            self._now -= 1

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self._enter()
        try:
            time.sleep(self.latency)
            return self._reply(messages)
        finally:
            self._leave()

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self._enter()
        try:
            await asyncio.sleep(self.latency)
            return self._reply(messages)
        finally:
            self._leave()

    @property
    def roles(self) -> list[str]:
        """Roles asked, in order."""
        return [prompt.role for prompt in self.asked]


class Terminal(io.StringIO):
    """Keeps what is written to it as a terminal."""

    def isatty(self) -> bool:
        return True
