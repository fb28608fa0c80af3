"""One thread for all encoders.

A thread that calls PyTorch keeps helper threads of its own for good, and the memory that it freed: sixty-four of them kept gigabytes.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


@functools.cache
def _pool(_process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="thinkgraph-encoder")


def in_encoder_thread(function: Callable[[], T]) -> T:
    """What `function` returns or raises, called in the encoders' thread; it must not call this again."""
    # A forked process has none of its parent's threads.
    return _pool(os.getpid()).submit(function).result()
