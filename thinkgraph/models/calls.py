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
R = TypeVar("R")

Fallback: TypeAlias = T | Callable[[], T]
"""A value, or a function that makes it when it is needed (most calls never need it)."""


@dataclass(frozen=True)
class CallResult(Generic[T]):
    """The value of a call, and whether it is the fallback."""

    value: T
    fell_back: bool


@dataclass(frozen=True, kw_only=True)
class ModelCall(Op[CallResult[T]]):
    """A call that a flow wants made. The driver sends back a `CallResult`."""

    kind: Kind[T]
    """The kind of reply; the role's prompt has the same."""
    role: str
    inputs: Mapping[str, str]
    """What the prompt's places are filled with."""
    shape: Shape = field(default_factory=Shape)
    fallback: Fallback[T]
    """The value where even the repaired reply cannot be read. It must not depend on a model."""
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
    """What the calls of one node execution share, and their records."""

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


def call_model(request: ModelCall[T], scope: CallScope) -> Flow[CallResult[T]]:
    """Make one call.

    Raises:
        BudgetSpentError: a ceiling leaves no room.
        ModelError: the model cannot be reached or refuses.
    """
    prompt = scope.prompts.get(request.role)
    messages = prompt.render(request.inputs, request.shape, shots=scope.settings.shots)
    value = yield from _exchange(request, messages, scope, lambda raw: request.kind.parse(raw["text"], request.shape))
    if value is None:
        return CallResult(_fallback(request), fell_back=True)
    return CallResult(value, fell_back=False)


def turn(request: ModelCall[Any], messages: Sequence[Message], scope: CallScope) -> Flow[AIMessage]:
    """One turn of a conversation with tools: the tools the model wants called, or its reply in the role's kind.

    As `call_model`, with one repair; a reply that cannot be read even then becomes the fallback (a dict), as JSON. The
    messages are the conversation so far; the request's inputs are not used.

    Raises:
        BudgetSpentError: a ceiling leaves no room.
        ModelError: the model cannot be reached, refuses, or takes no tools.
    """

    def read(raw: RawReply) -> AIMessage:
        calls = raw.get("tool_calls", [])
        if not calls:
            request.kind.parse(raw["text"], request.shape)
        return AIMessage(content=raw["text"], tool_calls=[cast("ToolCall", dict(call)) for call in calls])

    message = yield from _exchange(request, messages, scope, read)
    return message or AIMessage(content=json.dumps(_fallback(request)))


def _fallback(request: ModelCall[T]) -> T:
    return request.fallback() if callable(request.fallback) else request.fallback


def _exchange(
    request: ModelCall[Any], messages: Sequence[Message], scope: CallScope, read: Callable[[RawReply], R]
) -> Flow[R | None]:
    """What `read` makes of the reply, or of the one repair; None where the fallback must stand."""
    raw, record, replayed = yield from _reply(request, scope, messages, repair=False)
    for repaired in (False, True):
        try:
            value = read(raw)
        except BadReplyError as error:
            problem = str(error)
        else:
            scope.emit(_called(record, replayed=replayed, problem=""))
            return value
        scope.emit(_called(record, replayed=replayed, problem=problem))
        if repaired:
            break
        words = f"That reply cannot be used: {problem}. {request.kind.instruction(request.shape)}"
        again: list[Message] = [*messages, ("assistant", raw["text"][:4000] or "(empty)"), ("user", words)]
        try:
            raw, record, replayed = yield from _reply(request, scope, again, repair=True)
        except BudgetSpentError:
            break  # the first reply was paid for; without room for a repair the fallback stands
    record["fallback"] = True
    scope.emit(_called(record, replayed=False, problem=f"fallback taken: {problem}"))
    return None


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
    request: ModelCall[Any], scope: CallScope, messages: Sequence[Message], *, repair: bool
) -> Flow[tuple[RawReply, CallRecord, bool]]:
    """The reply from the journal or from the model, its record, and whether it came from the journal."""
    prompt = scope.prompts.get(request.role)
    client = scope.models.of(prompt)
    options = _options(request, scope, prompt)
    identity = [scope.thread, scope.run, request.role, scope.place, request.key, request.sample]
    if scope.within:
        identity.append(scope.within)
    parameters = [client.name, options.temperature, options.schema, options.max_output_tokens]
    parameters += [dict(tool) for tool in options.tools]
    said = json.dumps([identity, messages, parameters], ensure_ascii=False, sort_keys=True)
    key = hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:24]
    price_in, price_out = scope.models.price(client) or (0.0, 0.0)
    journal = scope.journal
    found: RawReply | None = None
    if journal is not None:
        found = yield Blocking(lambda: journal.get(scope.thread, key))
    raw = found or (yield from _request(request, scope, client, messages, options, (price_in, price_out)))
    cost = raw["input_tokens"] * price_in + raw["output_tokens"] * price_out
    if found:
        tokens = raw["input_tokens"] + raw["output_tokens"]
        scope.ledger.replay(attempts=raw["attempts"], tokens=tokens, cost=cost)
    elif journal is not None:
        yield Blocking(lambda: journal.put(scope.thread, key, raw))
    record = CallRecord(
        id=key,
        role=request.role,
        node=scope.node,
        model=raw["model"],
        attempts=raw["attempts"],
        input_tokens=raw["input_tokens"],
        output_tokens=raw["output_tokens"],
        cost=cost,
        seconds=raw["seconds"],
        repair=repair,
        fallback=False,
    )
    scope.records[key] = record
    return raw, record, found is not None


def _request(
    request: ModelCall[Any],
    scope: CallScope,
    client: ChatClient,
    messages: Sequence[Message],
    options: CallOptions,
    prices: tuple[float, float],
) -> Flow[RawReply]:
    """Ask the model, and again while the failure may pass."""
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
            break
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
    cost = reply.input_tokens * prices[0] + reply.output_tokens * prices[1]
    scope.ledger.settle(reserved, tokens=reply.input_tokens + reply.output_tokens, cost=cost)
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
