"""Ctrl-C while a graph runs."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

INTERRUPTED = 130


@contextlib.contextmanager
def leaving_at_once(words: str) -> Iterator[None]:
    """Within the block Ctrl-C ends the process now, whatever its threads wait for.

    Python would first join the threads that wait for a model's reply, for minutes perhaps. Nothing is lost by not waiting:
    steps and replies are on disk as soon as they exist, and a killed run resumes.

    Args:
        words: what is said on stderr.
    """

    def leave(_signal: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(OSError):
            os.write(2, f"thinkgraph: error: {words}\n".encode())
        os._exit(INTERRUPTED)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
