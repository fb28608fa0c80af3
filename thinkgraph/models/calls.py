"""One model call from question to parsed reply: budget, journal, window, retries, one repair, deterministic fallback, usage."""

from __future__ import annotations

import hashlib
import json
import time
from asyncio import CancelledError
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeAlias, TypeVar, cast

from langchain_core.messages import AIMessage, ToolCall
from langgraph.errors import GraphBubbleUp

from thinkgraph.errors import ModelError, ThinkGraphError, first_line
from thinkgraph.models.budget import BudgetSpentError, Ledger
from thinkgraph.models.client import ChatClient
from thinkgraph.models.failures import MAX_WAIT, Failure, classify
from thinkgraph.models.journal import Journal, RawReply
from thinkgraph.models.ops import Blocking, Flow, Op, SendRequest, Sleep
from thinkgraph.models.records import Tally, answered, call_record
from thinkgraph.models.roles import Models
from thinkgraph.models.window import FittedPrompt, Rank, TooLong, fit, shorten, too_long, weigh, weigh_all
from thinkgraph.models.wire.forms import CallOptions, Finish, ModelReply
from thinkgraph.prompts.files import Profile
from thinkgraph.prompts.kinds import Kind, Shape
from thinkgraph.prompts.library import Message, Prompt, PromptLibrary
from thinkgraph.prompts.reading import BadReplyError, before_circles, is_whole, strip_thinking
from thinkgraph.prompts.tasks import Task
from thinkgraph.state.events import Called, Event, Waiting
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
    task: Task | None = None
    """What is asked, where it is not what the settings say: a part of a claim is a question."""
    spare: int = 0
    """Calls that must remain possible after this one."""
    temperature: float | None = None
    """Overrides the stage's temperature."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """Tools the model may call instead of replying; see `turn`."""
    rank: Mapping[str, Rank] = field(default_factory=dict)
    """For an input, numbers of its lines, the most useful first; without it they are useful in their order. What does not fit
    the model's window is left out from the end."""


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
    """The place in the run: node, round, how often the search has gone back, and part. The same after a resume."""
    settings: RunSettings
    ledger: Ledger
    emit: Callable[[Event], None]
    records: dict[str, CallRecord] = field(default_factory=dict)
    within: str = ""
    """Where the run was called, for one within another graph: an agent may ask the same thing twice on its thread."""


def prompt_profile(prompt: Prompt, models: Models, settings: RunSettings) -> Profile:
    """For which size of model a prompt is rendered: as the settings say, else that of the model that answers it."""
    if settings.prompt_profile != "auto":
        return settings.prompt_profile
    return models.of(prompt).profile.size


def rendered(
    prompt: Prompt, inputs: Mapping[str, str], shape: Shape, models: Models, settings: RunSettings
) -> list[Message]:
    """The messages of a call as settings and model want them; see `Prompt.render`."""
    return prompt.render(
        inputs,
        shape,
        shots=settings.shots,
        profile=prompt_profile(prompt, models, settings),
        memory=settings.offers_memory,
        task=settings.task,
    )


REASONS_FIRST = 8
"""`reply_factor` of a model that was seen to reason, unasked, until its limit was reached."""
_TOOL_TOKENS = 1000
"""Output tokens at least where the model may call tools."""

_Write: TypeAlias = Callable[[float | None], FittedPrompt]
"""Writes the prompt of a call for a room; see `window.fit`."""


@dataclass(frozen=True)
class _Reply:
    """A reply with what belongs to it."""

    raw: RawReply
    record: CallRecord
    replayed: bool
    shape: Shape
    """What the prompt that was sent showed."""

    @property
    def finish(self) -> Finish:
        return self.raw.get("finish", "stop")


def call_model(request: ModelCall[T], scope: CallScope) -> Flow[CallResult[T]]:
    """Make one call.

    Raises:
        BudgetSpentError: a ceiling leaves no room.
        ModelError: the model cannot be reached or refuses.
    """
    prompt = scope.prompts.get(request.role)
    settings = scope.settings
    profile = prompt_profile(prompt, scope.models, settings)
    shape = prompt.shaped(request.shape, profile)
    request = request if shape is request.shape else replace(request, shape=shape)

    def render(inputs: Mapping[str, str], shape: Shape, shots: int) -> list[Message]:
        memory, task = settings.offers_memory, request.task or settings.task
        return prompt.render(inputs, shape, shots=shots, profile=profile, memory=memory, task=task)

    whole = FittedPrompt(render(request.inputs, shape, settings.shots), shape)

    def write(room: float | None) -> FittedPrompt:
        return fit(whole, render, request.inputs, shots=settings.shots, room=room, rank=request.rank)

    value = yield from _exchange(
        request, write, scope, lambda reply: request.kind.parse(reply.raw["text"], reply.shape)
    )
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

    def read(reply: _Reply) -> AIMessage:
        calls = reply.raw.get("tool_calls", [])
        text = reply.raw["text"]
        if not calls:
            request.kind.parse(text, reply.shape)
        message = {"content": text, **reply.raw.get("more", {})}
        return AIMessage(**message, tool_calls=[cast("ToolCall", dict(call)) for call in calls])

    whole = FittedPrompt(messages, request.shape)
    message = yield from _exchange(request, lambda room: shorten(whole, room), scope, read)
    return message or AIMessage(content=json.dumps(_fallback(request)))


def _fallback(request: ModelCall[T]) -> T:
    return request.fallback() if callable(request.fallback) else request.fallback


def _exchange(request: ModelCall[Any], write: _Write, scope: CallScope, read: Callable[[_Reply], R]) -> Flow[R | None]:
    """What `read` makes of the reply, or of the one that is asked for after it; None where the fallback must stand.

    A reply that cannot be read is repaired. One that its limit cut off is asked for again with a larger one, unless it repeats itself.
    """
    prompt = scope.prompts.get(request.role)
    client = scope.models.of(prompt)
    options = _options(request, scope, prompt)
    reply = yield from _reply(request, scope, client, options, write)
    for again in (False, True):
        try:
            _check_end(reply)
            value = read(reply)
        except BadReplyError as error:
            problem = str(error)
        else:
            scope.emit(_called(reply.record, replayed=reply.replayed, problem=""))
            return value
        scope.emit(_called(reply.record, replayed=reply.replayed, problem=problem))
        if again or reply.finish == "filtered":
            break
        more: list[Message] = []
        said = before_circles(reply.raw["text"])
        if reply.finish == "length" and said == reply.raw["text"]:
            if not _can_grow(client, options, reply.raw):
                break
        else:
            words = f"That reply cannot be used: {problem}. {request.kind.instruction(request.shape)}"
            more = [("assistant", said[:4000] or "(empty)"), ("user", words)]
        try:
            longer = _options(request, scope, prompt, longer=not more)
            reply = yield from _reply(request, scope, client, longer, write, more=more, repair=True)
        except BudgetSpentError:
            break  # the first reply was paid for; without room for another the fallback stands
    reply.record["fallback"] = True
    scope.emit(_called(reply.record, replayed=True, problem=f"fallback taken: {problem}"))
    return None


def _check_end(reply: _Reply) -> None:
    """Raises BadReplyError where a reply did not end by itself: what is there of it must not pass for the whole."""
    if reply.finish == "filtered":
        raise BadReplyError("the provider's content filter withheld the reply")
    if reply.finish == "length" and not is_whole(reply.raw["text"]):
        circles = " and repeats itself" if before_circles(reply.raw["text"]) != reply.raw["text"] else ""
        raise BadReplyError(f"the reply was cut off at its limit ({reply.raw['output_tokens']} tokens){circles}")


def _can_grow(client: ChatClient, options: CallOptions, raw: RawReply) -> bool:
    """Whether a larger limit can be had for a reply that was cut off.

    A model that reached its limit before its reply began reasons first: its replies need a larger one from now on.
    """
    limit = options.max_output_tokens or 0
    before = _limit(client, limit)
    if not strip_thinking(raw["text"]) and raw["output_tokens"]:
        client.reply_factor = max(client.reply_factor, REASONS_FIRST)
    return _limit(client, 2 * limit) > before


def _called(record: CallRecord, *, replayed: bool, problem: str) -> Called:
    return Called(
        type="called",
        role=record["role"],
        model=record["model"],
        seconds=record["seconds"],
        attempts=record["attempts"],
        input_tokens=record["input_tokens"],
        output_tokens=record["output_tokens"],
        replayed=replayed,
        problem=problem,
        left_out=record.get("left_out", 0),
    )


def _options(request: ModelCall[Any], scope: CallScope, prompt: Prompt, *, longer: bool = False) -> CallOptions:
    """The options of a call for a model that does not reason first and whose window is large enough; `longer` doubles the limit
    on the reply.
    """
    settings = scope.settings
    temperature = request.temperature
    explore = prompt.stage == "explore"
    if temperature is None:
        temperature = settings.temperature_explore if explore else settings.temperature_reason
    limit = settings.max_output_tokens
    if limit is None:
        limit = max(request.kind.tokens(request.shape), _TOOL_TOKENS if request.tools else 0)
    return CallOptions(
        temperature=temperature,
        # With tools the form is asked for in words: a schema would forbid calling them.
        schema=None if request.tools else request.kind.schema(request.shape),
        max_output_tokens=2 * limit if longer else limit,
        timeout=settings.call_timeout,
        total=scope.ledger.time_left(),
        tools=request.tools,
        stage=prompt.stage,
        effort=settings.reasoning_effort_explore if explore else settings.reasoning_effort_reason,
    )


def _key(request: ModelCall[Any], scope: CallScope, model: str, said: Sequence[Message], options: CallOptions) -> str:
    """Under which the journal keeps a reply of the model to this."""
    identity = [scope.thread, scope.run, request.role, scope.place, request.key, request.sample]
    if scope.within:
        identity.append(scope.within)
    parameters = [model, options.temperature, options.schema, options.max_output_tokens, *map(dict, options.tools)]
    whole = json.dumps([identity, list(said), parameters], ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:24]


def _reply(
    request: ModelCall[Any],
    scope: CallScope,
    client: ChatClient,
    options: CallOptions,
    write: _Write,
    *,
    more: Sequence[Message] = (),
    repair: bool = False,
) -> Flow[_Reply]:
    """The reply from the journal or from the model: `more` follows the prompt."""
    # The whole prompt, whatever fits the window: a resumed run does not know yet how much that is.
    key = _key(request, scope, client.name, [*write(None).messages, *more], options)
    journal = scope.journal
    found: RawReply | None = None
    if journal is not None:
        found = yield Blocking(lambda: journal.get(scope.thread, key))
    tally = Tally()
    if found and found.get("unanswered"):
        tally.attempts = found["attempts"]
        # What this execution of the node tried is counted already.
        scope.ledger.replay(attempts=0 if key in scope.records else tally.attempts, tokens=0, cost=0.0)
        found = None
    problem: BaseException | None = None
    raw = found
    if raw is None:
        try:
            raw = yield from _request(request, scope, client, (write, more), options, tally)
        # A run that is cancelled, as beside a branch that failed, has sent what it has sent: the ceilings count it.
        except (Exception, CancelledError, KeyboardInterrupt) as error:
            if not tally.attempts:
                raise
            raw, problem = tally.unanswered(client.name), error
        if journal is not None:
            kept = raw
            yield Blocking(lambda: journal.put(scope.thread, key, kept))
    record = call_record(key, raw, scope.models.price(raw["model"]), role=request.role, node=scope.node, repair=repair)
    scope.records[key] = record
    if problem is not None:
        raise problem
    if found:
        tokens = raw["input_tokens"] + raw["output_tokens"]
        scope.ledger.replay(attempts=raw["attempts"], tokens=tokens, cost=record["cost"])
    shape = request.shape
    if shown := raw.get("shown"):
        shape = replace(shape, **cast("dict[str, Any]", {**shown, "unseen": tuple(shown["unseen"])}))
    return _Reply(raw, record, found is not None, shape)


def _limit(client: ChatClient, limit: int) -> int:
    """The limit on a reply's length as this model needs it: no more than it writes; half of the window is the prompt's."""
    limit *= client.reply_factor
    if client.profile.max_output is not None:
        limit = min(limit, client.profile.max_output)
    return limit if client.window is None else max(1, min(limit, client.window // 2))


def _learn_window(client: ChatClient, refusal: TooLong, weight: float, limit: int) -> None:
    """Learn from a refusal how large the window is and how many tokens the model makes of a text.

    Args:
        client: the model's.
        refusal: what the server said.
        weight: that of the prompt, with what providers count beside it.
        limit: tokens that the reply might have had.
    """
    tokens = refusal.prompt or client.gauge.tokens(weight)
    if refusal.window is not None:
        client.window = refusal.window
    elif client.window is None:
        client.window = max(1, tokens * 3 // 4)
    elif tokens <= client.window:
        # Prompt and reply were to fit, and did not: the window is smaller than was assumed.
        client.window = max(1, min(client.window, tokens + limit) * 3 // 4)
    if refusal.prompt is not None:
        client.gauge.saw(weight, refusal.prompt, sure=True)


def _does_not_fit(client: ChatClient, role: str) -> ModelError:
    return ModelError(
        f"model {client.name}: the prompt of {role} does not fit its window of {client.window} tokens even with a line for "
        "each list: give the server a larger one (llama.cpp: -c, Ollama: num_ctx), or take another model"
    )


def _request(
    request: ModelCall[Any],
    scope: CallScope,
    client: ChatClient,
    writing: tuple[_Write, Sequence[Message]],
    options: CallOptions,
    tally: Tally,
) -> Flow[RawReply]:
    """Ask the model: shorter where its window is too small, and again while the failure may pass."""
    write, more = writing
    # Providers count schema and tools too, and so does what follows the prompt.
    beside = weigh(json.dumps([options.schema, [dict(tool) for tool in options.tools]])) + weigh_all(more)
    began, failures = time.monotonic(), 0
    most: float | None = None
    refused: tuple[float, int] | None = None
    while True:
        if not client.looked_up:
            yield Blocking(client.look_up_window)
        price = scope.models.price(client.name) or (0.0, 0.0)
        limit = _limit(client, options.max_output_tokens or 0)
        room = None if client.window is None else client.gauge.room(client.window - limit) - beside
        written = write(room if most is None or room is None else min(room, most))
        messages, weight = [*written.messages, *more], written.weight
        if refused == (weight, limit):
            raise _does_not_fit(client, request.role)
        # A retried attempt takes room of its own: it may be billed, and it counts.
        reserved = scope.ledger.reserve(characters=_bytes(messages), output=limit, spare=request.spare, price=price)
        tally.attempts += 1
        sent, told = client.learnt, replace(options, max_output_tokens=limit, fresh=failures > 0 or request.sample > 1)
        try:
            reply = yield from _sent(client, messages, told, request.role)
            break
        except Exception as error:
            # Only failures of the request itself are handled; anything else is a bug and rises.
            failure = classify(error) or _own_failure(error, client)
            if failure is None:
                raise
            if refusal := too_long(f"{error} {getattr(error, 'body', '')}"):
                # No server bills a prompt that it did not take.
                scope.ledger.refund(reserved)
                tally.attempts -= 1
                _learn_window(client, refusal, weight + beside, limit)
                # Where the numbers are not known, or did not help, each prompt is shorter than the last.
                most = 0.85 * weight if refused or None in {refusal.window, refusal.prompt} else None
                refused = weight, limit
                continue
            scope.ledger.settle(reserved, tokens=0, cost=0.0)
            if failure.refused and client.learn_from(failure.message, sent):
                continue
            failures += 1
            if failure.passing and failures <= scope.settings.call_retries:
                yield from _pause(request.role, client.name, failure, failures, scope)
            elif client.fallback is not None:
                client, failures, most, refused = client.fallback, 0, None, None
            else:
                raise _failed(client, failure, tally.attempts) from error
    cost = reply.input_tokens * price[0] + reply.output_tokens * price[1]
    scope.ledger.settle(reserved, tokens=reply.input_tokens + reply.output_tokens, cost=cost)
    client.gauge.saw(weight + beside, reply.input_tokens)
    return answered(reply, written, client.name, attempts=tally.attempts, seconds=round(time.monotonic() - began, 4))


def _sent(client: ChatClient, messages: Sequence[Message], options: CallOptions, role: str) -> Flow[ModelReply]:
    """The reply of the model, or that of its recording."""
    recording, began = client.recording, time.monotonic()
    if recording is not None and (kept := recording.take(messages, options)) is not None:
        return kept
    if recording is not None and recording.replays:
        raise recording.missing(role, messages)
    reply: ModelReply = yield SendRequest(client, messages, options, role)
    if recording is not None:
        recording.add(messages, options, reply, role=role, seconds=time.monotonic() - began)
    return reply


def _own_failure(error: Exception, client: ChatClient) -> Failure | None:
    """A failure that only the model's own package knows, where another model is named for it. A pause of the graph is none."""
    if client.fallback is None or isinstance(error, GraphBubbleUp | ThinkGraphError):
        return None
    return Failure(first_line(error), passing=False)


def _failed(client: ChatClient, failure: Failure, attempts: int) -> ModelError:
    tries = f" after {attempts} attempts" if attempts > 1 else ""
    return ModelError(f"model {client.name} failed{tries}: {failure.message}")


def _pause(role: str, model: str, failure: Failure, failures: int, scope: CallScope) -> Flow[None]:
    """Wait after a failure that may pass."""
    wait = failure.retry_after if failure.retry_after is not None else min(0.5 * 2 ** (failures - 1), MAX_WAIT)
    if (left := scope.ledger.time_left()) is not None:
        # Never past the ceiling on time: the next reservation says that it is reached.
        wait = min(wait, left)
    scope.emit(Waiting(type="waiting", role=role, model=model, seconds=wait, reason=failure.message))
    yield Sleep(wait)


def _bytes(messages: Sequence[Message]) -> int:
    """Length in bytes: scripts of three bytes a character have about a token for each."""
    return sum(len(text.encode("utf-8", "replace")) for _, text in messages)
