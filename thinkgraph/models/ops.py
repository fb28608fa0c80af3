"""The one language of flows: generators that yield operations and are sent their results. Only a driver does I/O.

Nodes and model calls are both flows. `thinkgraph.runtime.driver.Driver` carries their operations out, in a thread or on an
event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from thinkgraph.models.client import ChatClient
from thinkgraph.models.wire.forms import CallOptions
from thinkgraph.prompts.library import Message

T = TypeVar("T")


class Op(Generic[T]):
    """An operation; the driver sends back a `T`, or throws the failure into the flow."""


Flow = Generator[Op[Any], Any, T]
"""A generator that yields operations and returns a `T`."""
Update = dict[str, Any]
"""What a node writes to the run's state."""
NodeFunction = Callable[[Any, Any], Flow[Update]]
"""A graph node: from state and settings to an update."""


@dataclass(frozen=True)
class Blocking(Op[T]):
    """Run a blocking function: in this thread, or in a pool's beside an event loop."""

    function: Callable[[], T]


@dataclass(frozen=True)
class SendRequest(Op[Any]):
    """Send one request to a model. Sends back a `ModelReply`."""

    client: ChatClient
    messages: Sequence[Message]
    options: CallOptions
    role: str


@dataclass(frozen=True)
class Sleep(Op[None]):
    """Wait."""

    seconds: float


@dataclass(frozen=True)
class Gather(Op[list[Any]]):
    """Run flows side by side. Sends back their results in order; the first failure is thrown when all have ended."""

    flows: Sequence[Flow[Any]]
