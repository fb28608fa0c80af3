"""What a run's models were asked and what they said, word for word: heard through LangChain's callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult
from typing_extensions import TypedDict

LONGEST = 30_000
"""Longest text of a prompt or a reply that is kept for a page, in characters."""


class Said(TypedDict):
    """A message of a prompt."""

    role: str
    text: str


class Prompted(TypedDict):
    """A prompt and its raw reply, before it was parsed. A reply out of the journal was not asked for again."""

    type: Literal["prompted"]
    role: str
    messages: list[Said]
    reply: str


class Listener(BaseCallbackHandler):
    """Tells of each call of a chat model, when its reply is there."""

    run_inline = True

    def __init__(self, tell: Callable[[Prompted], None]) -> None:
        self._tell = tell
        self._asked: dict[UUID, Prompted] = {}

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002 - LangChain passes it
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        **kwargs: Any,  # noqa: ARG002 - as above
    ) -> None:
        """A call begins."""
        said = [Said(role=one.type, text=str(one.text)) for one in messages[0]]
        self._asked[run_id] = Prompted(type="prompted", role=_role(tags or []), messages=said, reply="")

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002 - as above
        """Its reply is there."""
        if asked := self._asked.pop(run_id, None):
            first = response.generations[0][0] if response.generations and response.generations[0] else None
            self._tell({**asked, "reply": first.text if first else ""})

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002 - as above
        """There will be none."""
        self._asked.pop(run_id, None)


def _role(tags: list[str]) -> str:
    """The role among a call's tags: it follows the one that keeps the call out of token streams."""
    after = tags[tags.index("nostream") + 1 :] if "nostream" in tags else tags
    return after[0] if after else ""
