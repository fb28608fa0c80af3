"""The time a request may take: until its first token, between two tokens, and in all."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Final, TypeVar
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.rate_limiters import BaseRateLimiter

from thinkgraph.models.wire.forms import CallOptions

T = TypeVar("T")

LONGEST_REPLY: Final = 400_000
"""Characters of a reply that are kept; what goes on beyond them is ended."""
MOST_SILENCES: Final = 12
"""A request takes at most so many times its timeout, however often it gives a sign of life."""
_NEVER: Final = float("inf")


class OversizedReplyError(Exception):
    """A reply went beyond `LONGEST_REPLY`."""


class Watch(BaseCallbackHandler):
    """Notes every token of one request, and says when the request is late.

    LangChain streams a call inside, with its cache and its rate limiter, where a handler has the methods `tap_output_…`.
    """

    run_inline = True
    raise_error = True

    def __init__(self, options: CallOptions) -> None:
        self._silence = options.timeout
        now = time.monotonic()
        self._end = _NEVER if options.total is None else now + options.total
        self._last = self._due = _NEVER
        self._size = 0
        self._pieces: list[str] = []
        self._moved: Callable[[], None] = lambda: None
        self.given_up = False
        self.streamed = False
        """Whether LangChain streamed any of the reply."""
        self.begin()

    def begin(self) -> None:
        """Count the request's time from now on."""
        self._last = min(time.monotonic() + MOST_SILENCES * self._silence, self._end)
        self._wait()

    def _wait(self) -> None:
        self._due = min(time.monotonic() + self._silence, self._last)
        self._moved()

    def hold(self) -> None:
        """Count no time until `begin`, but that of the whole."""
        self._due = self._end

    def pulse(self, text: str = "") -> None:
        """Note a token.

        Raises:
            TimeoutError: nobody waits for the reply any more.
            OversizedReplyError: it is too long.
        """
        self.check()
        self._size += len(text)
        if text:
            self._pieces.append(text)
        if self._size > LONGEST_REPLY:
            raise OversizedReplyError
        self._wait()

    def check(self) -> None:
        """Raises TimeoutError where nobody waits for the reply any more."""
        if self.given_up:
            raise TimeoutError("no reply in time")

    @property
    def text(self) -> str:
        """What came so far, at most `LONGEST_REPLY` characters."""
        return "".join(self._pieces)[:LONGEST_REPLY]

    def run(self, work: Callable[[], T]) -> T:
        """Do blocking work in a thread of its own, and wait for it here while it is in time.

        A thread that is late ends at what it is sent next, or when its client gives up. The model's own blocking client is used, with
        the proxies and certificates it was given.

        Raises:
            TimeoutError: it is late.
        """
        done = threading.Event()
        results: list[T] = []
        failures: list[BaseException] = []

        def carry() -> None:
            try:
                results.append(work())
            except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
                failures.append(error)
            finally:
                done.set()

        context = contextvars.copy_context()
        threading.Thread(target=functools.partial(context.run, carry), name="thinkgraph-call", daemon=True).start()
        try:
            while not done.wait(min(max(self._due - time.monotonic(), 0.0), 60.0)):
                if time.monotonic() >= self._due:
                    raise TimeoutError("no reply in time")
        finally:
            self.given_up = not done.is_set()
        if failures:
            raise failures[0]
        return results[0]

    async def arun(self, work: Awaitable[T]) -> T:
        """Await work while it is in time.

        Raises:
            TimeoutError: it is late.
        """
        loop, here = asyncio.get_running_loop(), threading.get_ident()
        async with asyncio.timeout(None) as timer:

            def reschedule() -> None:
                if not self.given_up and not timer.expired():
                    timer.reschedule(None if self._due == _NEVER else loop.time() + self._due - time.monotonic())

            def moved() -> None:
                # A model without asynchronous code tells its tokens from a thread of its own.
                if threading.get_ident() == here:
                    reschedule()
                else:
                    loop.call_soon_threadsafe(reschedule)

            self._moved = moved
            moved()
            try:
                return await work
            finally:
                self.given_up = True

    @property
    def ignore_chat_model(self) -> bool:
        """The start of a call says nothing, and costs the text of its messages."""
        return True

    def on_llm_new_token(self, token: Any, **_: Any) -> None:
        """See BaseCallbackHandler; some models give a token as a list of parts."""
        self.streamed = True
        parts = token if isinstance(token, list) else [token]
        self.pulse("".join(str(part.get("text", "")) if isinstance(part, dict) else str(part) for part in parts))

    def tap_output_aiter(self, run_id: UUID, output: AsyncIterator[T]) -> AsyncIterator[T]:
        """Marks a handler that wants tokens."""
        del run_id
        return output

    def tap_output_iter(self, run_id: UUID, output: Iterator[T]) -> Iterator[T]:
        """As `tap_output_aiter`."""
        del run_id
        return output


class HeldLimiter(BaseRateLimiter):
    """A model's own rate limiter. The time until the first token starts when it lets the request through."""

    def __init__(self, limiter: BaseRateLimiter, watch: Watch) -> None:
        self._limiter = limiter
        self._watch = watch
        watch.hold()

    def acquire(self, *, blocking: bool = True) -> bool:
        """See BaseRateLimiter."""
        got = self._limiter.acquire(blocking=blocking)
        self._watch.begin()
        return got

    async def aacquire(self, *, blocking: bool = True) -> bool:
        """See BaseRateLimiter."""
        got = await self._limiter.aacquire(blocking=blocking)
        self._watch.begin()
        return got
