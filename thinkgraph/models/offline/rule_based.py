"""Rule-based chat models: code computes the reply, there are no weights. The offline model and the perfect chooser are two.

A rule-based model parses the rendered prompt with the grammar of `thinkgraph.prompts.lines` and writes a reply in the form
of the prompt's kind. It knows kinds, never roles, so a new method needs no new model.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool

from thinkgraph.prompts.forms import LIKELIEST, LIKELY
from thinkgraph.prompts.library import builtin_roles
from thinkgraph.prompts.parsed import ParsedPrompt, parse_prompt

_LABELS = re.compile(r"The only answers allowed are: ([^.]+)\.")
_FIELD = re.compile(r'"(clues|query)": "\.\.\."')


@dataclass(frozen=True)
class Call:
    """One model call, parsed from its messages."""

    prompt: ParsedPrompt
    labels: tuple[str, ...]
    """Judge: the only answers allowed; empty means any answer."""
    fields: tuple[str, ...]
    """Judge: which of `clues` and `query` the prompt asks for."""
    likely: bool
    """Judge: whether the prompt asks for a likely answer where the evidence is not sufficient."""
    triples: bool
    """Keys: whether the prompt asks for whole triples only."""
    steers: bool
    """Judge: whether the prompt asks for scores of its options where the evidence is not sufficient."""
    explain: bool
    """Whether the prompt asks for a sentence of explanation."""
    text: str
    """The whole last user message."""


def read_call(system: str, user: str, role: str = "") -> Call:
    """Parse a rendered prompt: its system message and its last message, which holds the question to answer.

    The role is empty where it is not told: prompts do not say it.
    """
    _, asked, form = system.rpartition("Reply with one JSON object")
    form = form if asked else ""
    labels = _LABELS.search(form)
    return Call(
        prompt=parse_prompt(system, user, role),
        labels=tuple(labels[1].split(", ")) if labels else (),
        fields=tuple(dict.fromkeys(_FIELD.findall(form))),
        likely=LIKELY in form or LIKELIEST in form,
        triples="Each key is [subject, relation, object]" in form,
        steers="If the evidence is sufficient, leave that list empty" in form,
        explain='as "why"' in form,
        text=user,
    )


def _system(messages: Sequence[BaseMessage]) -> str:
    return next((str(message.text) for message in messages if message.type == "system"), "")


def role_told(run: CallbackManagerForLLMRun | None) -> str:
    """The role that a request is tagged with; empty where there is none."""
    return next((tag for tag in (run.tags if run else ()) if tag in builtin_roles()), "")


def conversation(messages: Sequence[BaseMessage]) -> tuple[str, str]:
    """System message and question of a conversation with tools; the tools' results stand under `## Evidence`."""
    asked = [str(message.text) for message in messages if message.type == "human"]
    found = "\n".join(str(message.text) for message in messages if message.type == "tool")
    # A request to repair a reply comes after the question and does not repeat it.
    question = next((text for text in reversed(asked) if "## Question" in text), asked[-1] if asked else "")
    return _system(messages), f"{question}\n\n## Evidence\n{found}" if found else question


def tool_calls(searches: Sequence[Mapping[str, Any]], messages: Sequence[BaseMessage]) -> list[ToolCall]:
    """Calls of the tool `search`. Their ids depend on the conversation alone."""
    before = sum(len(message.tool_calls) for message in messages if isinstance(message, AIMessage))
    return [
        ToolCall(name="search", args=dict(args), id=f"call_{number}")
        for number, args in enumerate(searches, start=before + 1)
    ]


def estimate_tokens(text: str) -> int:
    """A token count for a model without tokens: characters / 4, rounded up."""
    return -(-len(text) // 4)


def judgement(
    call: Call,
    answers: Sequence[str] = (),
    evidence: Sequence[int] = (),
    *,
    clues: str = "",
    query: str = "",
    likely: Sequence[str] = (),
    scores: Sequence[Sequence[float]] = (),
) -> dict[str, Any]:
    """A judge reply, sufficient if there are answers; clues, query, likely answers and scores are given where the call asks for them."""
    reply: dict[str, Any] = {
        "sufficient": bool(answers),
        "answers": list(answers or (likely if call.likely else ())),
        "evidence": sorted(dict.fromkeys(evidence)),
    }
    if not answers:
        extra = {"clues": clues, "query": query}
        reply.update({name: extra[name] for name in call.fields})
    return {**reply, "scores": [] if answers else [list(pair) for pair in scores]} if call.steers else reply


class RuleBasedChatModel(BaseChatModel):
    """A chat model whose replies `reply_to` computes. Token counts are estimates (characters / 4)."""

    model: str = "rule-based"
    """The name it reports."""

    @abstractmethod
    def reply_to(self, call: Call) -> dict[str, Any] | str:
        """The reply to one call: an object in the form of its kind, or plain text for the kind `text`."""

    def search_turn(self, call: Call, searched: Sequence[Mapping[str, Any]]) -> dict[str, Any] | str:
        """One turn of a conversation with the tool `search`.

        Args:
            call: the question, with what the tool has answered so far under `## Evidence`.
            searched: arguments of the calls made so far.

        Returns:
            {"search": [arguments, …]} to call the tool, else the reply.
        """
        del searched
        return self.reply_to(call)

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        """See BaseChatModel. The one tool that rule-based models call is `search`."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

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
        del stop
        role = role_told(run_manager)
        wanted: list[ToolCall] = []
        if kwargs.get("tools"):
            call = read_call(*conversation(messages), role)
            made = [one["args"] for message in messages if isinstance(message, AIMessage) for one in message.tool_calls]
            reply = self.search_turn(call, made)
            if isinstance(reply, dict) and "search" in reply:
                wanted, reply = tool_calls(reply["search"], messages), ""
        else:
            call = read_call(_system(messages), str(messages[-1].text), role)
            reply = self.reply_to(call)
        if isinstance(reply, dict) and call.explain:
            reply = {"why": "By rule.", **reply}
        text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
        asked = sum(estimate_tokens(str(message.text)) for message in messages)
        said = estimate_tokens(text + "".join(json.dumps(one["args"], ensure_ascii=False) for one in wanted))
        usage = UsageMetadata(input_tokens=asked, output_tokens=said, total_tokens=asked + said)
        message = AIMessage(
            content=text,
            tool_calls=wanted,
            usage_metadata=usage,
            response_metadata={"model_name": self.model, "finish_reason": "stop", "token_counts": "estimated"},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])
