"""One model call from question to parsed reply: budget, journal, retries, one repair, deterministic fallback, usage."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar, cast

from langchain_core.messages import AIMessage, ToolCall

from thinkgraph.errors import ModelError
from thinkgraph.models.budget import BudgetSpentError, Ledger
from thinkgraph.models.client import CallOptions, ChatClient, ModelReply
from thinkgraph.models.failures import MAX_WAIT, classify
from thinkgraph.models.journal import Journal, RawReply
from thinkgraph.models.ops import Blocking, Flow, Op, SendRequest, Sleep
from thinkgraph.models.roles import Models
from thinkgraph.prompts.kinds import Kind, Shape
from thinkgraph.prompts.library import Message, Prompt, PromptLibrary
from thinkgraph.prompts.reading import BadReplyError
from thinkgraph.state.events import Called, Event
from thinkgraph.state.settings import RunSettings
from thinkgraph.state.usage import CallRecord

T = TypeVar("T")

Fallback: TypeAlias = T | Callable[[], T]
"""A value, or a function that makes it when it is needed: few calls ever do."""


@dataclass(frozen=True)
class CallResult(Generic[T]):
    """What a call came to."""

    value: T
    fell_back: bool


@dataclass(frozen=True, kw_only=True)
class ModelCall(Op[CallResult[T]]):
    """A call that a flow wants made: asked, journalled, read, repaired once. The driver sends back a `CallResult`."""

    kind: Kind[T]
    """The kind of reply; the role's prompt has the same."""
    role: str
    inputs: Mapping[str, str]
    """What the prompt's places are filled with."""
    shape: Shape = field(default_factory=Shape)
    fallback: Fallback[T]
    """The reply's value when even the repaired reply cannot be read, or a function that makes it then (most calls never
    need it): must not depend on a model.
    """
    key: str = ""
    """Tells calls of one node execution apart (an entity's id, a chunk's number)."""
    sample: int = 0
    """Tells self-consistency samples apart: equal prompts, different replies."""
    spare: int = 0
    """Calls that must remain possible after this one."""
    temperature: float | None = None
    """Overrides the stage's temperature."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """Tools the model may call instead of replying; see `turn`."""


@dataclass
class CallScope:
    """Where calls of one node execution happen, and where their records gather."""

    models: Models
    prompts: PromptLibrary
    journal: Journal | None
    thread: str
    run: int
    node: str
    place: str
    """Node and round: the place in the graph, the same after a resume."""
    settings: RunSettings
    ledger: Ledger
    emit: Callable[[Event], None]
    records: dict[str, CallRecord] = field(default_factory=dict)
    within: str = ""
    """Where the run was called, for one within another graph: an agent may ask the same thing twice on its thread."""


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace")).hexdigest()[
        :24
    ]


def call_model(request: ModelCall[T], scope: CallScope) -> Flow[CallResult[T]]:
    """Make one call.

    Raises:
        BudgetSpentError: a ceiling leaves no room.
        ModelError: the model cannot be reached or refuses.
    """
    prompt = scope.prompts.get(request.role)
    client = scope.models.of(prompt)
    messages = prompt.render(request.inputs, request.shape, shots=scope.settings.shots)
    problem = ""
    last: CallRecord | None = None
    for repair in (False, True):
        try:
            raw, record, replayed = yield from _reply(request, scope, prompt, client, messages, repair=repair)
        except BudgetSpentError:
            if not repair:
                raise
            # The first reply was paid for; without room for a repair its fallback stands.
            break
        last = record
        try:
            value = request.kind.parse(raw["text"], request.shape)
        except BadReplyError as error:
            problem = str(error)
            scope.emit(_called(record, replayed=replayed, problem=problem))
            messages = [
                *messages,
                ("assistant", raw["text"][:4000] or "(empty)"),
                ("user", f"That reply cannot be used: {problem}. {request.kind.instruction(request.shape)}"),
            ]
            continue
        scope.emit(_called(record, replayed=replayed, problem=""))
        return CallResult(value, fell_back=False)
    if last is None:
        raise AssertionError("the first call either replies or raises")
    last["fallback"] = True
    scope.emit(_called(last, replayed=False, problem=f"fallback taken: {problem}"))
    return CallResult(_fallback(request), fell_back=True)


def _fallback(request: ModelCall[T]) -> T:
    return request.fallback() if callable(request.fallback) else request.fallback


def turn(request: ModelCall[Any], messages: Sequence[Message], scope: CallScope) -> Flow[AIMessage]:
    """One turn of a conversation with tools: the tools the model wants called, or its reply in the role's kind.

    As `call_model`, with one repair; a reply that cannot be read even then becomes the fallback, as JSON.

    Args:
        request: role, shape, fallback (a dict in the form of the kind) and tools; its inputs are not used.
        messages: the conversation so far.
        scope: where it happens.

    Raises:
        BudgetSpentError: a ceiling leaves no room.
        ModelError: the model cannot be reached, refuses, or takes no tools.
    """
    prompt = scope.prompts.get(request.role)
    client = scope.models.of(prompt)
    raw, record, replayed = yield from _reply(request, scope, prompt, client, messages, repair=False)
    for repaired in (False, True):
        if raw.get("tool_calls"):
            scope.emit(_called(record, replayed=replayed, problem=""))
            return AIMessage(
                content=raw["text"], tool_calls=[cast("ToolCall", dict(call)) for call in raw["tool_calls"]]
            )
        try:
            request.kind.parse(raw["text"], request.shape)
        except BadReplyError as error:
            problem = str(error)
        else:
            scope.emit(_called(record, replayed=replayed, problem=""))
            return AIMessage(content=raw["text"])
        scope.emit(_called(record, replayed=replayed, problem=problem))
        if repaired:
            break
        words = f"That reply cannot be used: {problem}. {request.kind.instruction(request.shape)}"
        again: list[Message] = [*messages, ("assistant", raw["text"][:4000] or "(empty)"), ("user", words)]
        try:
            raw, record, replayed = yield from _reply(request, scope, prompt, client, again, repair=True)
        except BudgetSpentError:
            # The first reply was paid for; without room for a repair its fallback stands.
            break
    record["fallback"] = True
    scope.emit(_called(record, replayed=False, problem=f"fallback taken: {problem}"))
    return AIMessage(content=json.dumps(_fallback(request)))


def _called(record: CallRecord, *, replayed: bool, problem: str) -> Called:
    return Called(
        type="called",
        role=record["role"],
        model=record["model"],
        seconds=record["seconds"],
        input_tokens=record["input_tokens"],
        output_tokens=record["output_tokens"],
        replayed=replayed,
        problem=problem,
    )


def _options(request: ModelCall[Any], scope: CallScope, prompt: Prompt) -> CallOptions:
    settings = scope.settings
    temperature = request.temperature
    if temperature is None:
        explore = prompt.stage == "explore"
        temperature = settings.temperature_explore if explore else settings.temperature_reason
    left = scope.ledger.time_left()
    return CallOptions(
        temperature=temperature,
        # With tools the form is asked for in words: a schema would forbid calling them.
        schema=None if request.tools else request.kind.schema(request.shape),
        max_output_tokens=settings.max_output_tokens,
        timeout=settings.call_timeout if left is None else max(0.1, min(settings.call_timeout, left)),
        tools=request.tools,
    )


def _reply(
    request: ModelCall[Any],
    scope: CallScope,
    prompt: Prompt,
    client: ChatClient,
    messages: Sequence[Message],
    *,
    repair: bool,
) -> Flow[tuple[RawReply, CallRecord, bool]]:
    options = _options(request, scope, prompt)
    identity = [scope.thread, scope.run, request.role, scope.place, request.key, request.sample]
    if scope.within:
        identity.append(scope.within)
    parameters = [client.name, options.temperature, options.schema, options.max_output_tokens]
    parameters += [dict(tool) for tool in options.tools]
    key = _digest([identity, messages, parameters])
    price_in, price_out = scope.models.price(client) or (0.0, 0.0)
    raw: RawReply | None = None
    journal = scope.journal
    if journal is not None:
        raw = yield Blocking(lambda: journal.get(scope.thread, key))
    replayed = raw is not None
    if raw is not None:
        tokens = raw["input_tokens"] + raw["output_tokens"]
        cost = raw["input_tokens"] * price_in + raw["output_tokens"] * price_out
        scope.ledger.replay(attempts=raw["attempts"], tokens=tokens, cost=cost)
    else:
        raw = yield from _request(request, scope, client, messages, options, (price_in, price_out))
        if journal is not None:
            kept = raw
            yield Blocking(lambda: journal.put(scope.thread, key, kept))
    record = CallRecord(
        id=key,
        role=request.role,
        node=scope.node,
        model=raw["model"],
        attempts=raw["attempts"],
        input_tokens=raw["input_tokens"],
        output_tokens=raw["output_tokens"],
        cost=raw["input_tokens"] * price_in + raw["output_tokens"] * price_out,
        seconds=raw["seconds"],
        repair=repair,
        fallback=False,
    )
    scope.records[key] = record
    return raw, record, replayed


def _request(
    request: ModelCall[Any],
    scope: CallScope,
    client: ChatClient,
    messages: Sequence[Message],
    options: CallOptions,
    prices: tuple[float, float],
) -> Flow[RawReply]:
    # Counted in bytes: scripts of three bytes a character have about a token for each.
    characters = sum(len(text.encode("utf-8", "replace")) for _, text in messages)
    began = time.monotonic()
    attempts = 0
    failures = 0
    while True:
        # A retried attempt takes room of its own: it may be billed, and it counts.
        reserved = scope.ledger.reserve(
            characters=characters, spare=request.spare, price_in=prices[0], price_out=prices[1]
        )
        attempts += 1
        sent = client.taken
        try:
            reply: ModelReply = yield SendRequest(client, messages, options, request.role)
        except Exception as error:
            # Only failures of the request itself are handled; anything else is a bug and rises.
            failure = classify(error)
            if failure is None:
                raise
            scope.ledger.settle(reserved, tokens=0, cost=0.0)
            if failure.refused and client.learn_from(failure.message, sent):
                continue
            failures += 1
            if not failure.passing or failures > scope.settings.call_retries:
                tries = f" after {attempts} attempts" if attempts > 1 else ""
                raise ModelError(f"model {client.name} failed{tries}: {failure.message}") from error
            wait = failure.retry_after if failure.retry_after is not None else min(0.5 * 2 ** (failures - 1), MAX_WAIT)
            left = scope.ledger.time_left()
            # Never past the ceiling on time: the next reservation says that it is reached.
            yield Sleep(wait if left is None else min(wait, left))
            continue
        tokens = reply.input_tokens + reply.output_tokens
        cost = reply.input_tokens * prices[0] + reply.output_tokens * prices[1]
        scope.ledger.settle(reserved, tokens=tokens, cost=cost)
        raw = RawReply(
            text=reply.text,
            model=client.name,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            attempts=attempts,
            seconds=round(time.monotonic() - began, 4),
        )
        if reply.tool_calls:
            raw["tool_calls"] = [dict(call) for call in reply.tool_calls]
        return raw
