"""What a store remembers of answers, bounded in number and age."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from typing import Generic, TypeVar

V = TypeVar("V")


class Remembered(Generic[V]):
    """The last `size` values, each for `seconds`; safe to share between threads."""

    def __init__(self, size: int, seconds: float) -> None:
        self._size = size
        self._seconds = seconds
        self._values: OrderedDict[str, tuple[float, V]] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, keys: Iterable[str]) -> dict[str, V]:
        """The values of those keys that are remembered."""
        now = time.monotonic()
        with self._lock:
            return {
                key: found[1] for key in keys if (found := self._values.get(key)) and now - found[0] < self._seconds
            }

    def add(self, key: str, value: V) -> None:
        """Remember a value."""
        with self._lock:
            self._values[key] = (time.monotonic(), value)
            self._values.move_to_end(key)
            while len(self._values) > self._size:
                self._values.popitem(last=False)
