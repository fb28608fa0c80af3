"""The few things that flows ask their driver to carry out. Flows are generators; only drivers do I/O."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from thinkgraph.models.client import CallOptions, ChatClient
from thinkgraph.prompts.library import Message

T = TypeVar("T")


@dataclass(frozen=True)
class Blocking:
    """Run a blocking function: here in the sync driver, in a thread in the async one. Sends back its result."""

    function: Callable[[], Any]


@dataclass(frozen=True)
class CallModel:
    """Send one request to a model. Sends back a `Reply`; failures are thrown into the flow."""

    client: ChatClient
    messages: Sequence[Message]
    options: CallOptions
    role: str


@dataclass(frozen=True)
class Sleep:
    """Wait."""

    seconds: float


@dataclass(frozen=True)
class Gather:
    """Run flows side by side. Sends back their results in order; the first failure is thrown when all have ended."""

    flows: Sequence[Generator[Any, Any, Any]]


@dataclass(frozen=True)
class Talk:
    """Run something that makes model calls of its own accord, as an agent does. Sends back its result.

    Both functions are given what carries a flow out, in the driver's own way, and call it for each of their calls.
    """

    run: Callable[[Callable[[Generator[Any, Any, Any]], Any]], Any]
    arun: Callable[[Callable[[Generator[Any, Any, Any]], Awaitable[Any]]], Awaitable[Any]]


Op = Blocking | CallModel | Sleep | Gather | Talk
Flow = Generator[Op, Any, T]
