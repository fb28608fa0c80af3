"""Requests to models held to one rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langchain_core.rate_limiters import BaseRateLimiter


def limiter(rate: float | None) -> BaseRateLimiter | None:
    """What holds requests to a rate a second; None: nothing does."""
    if rate is None:
        return None
    from langchain_core.rate_limiters import InMemoryRateLimiter

    return InMemoryRateLimiter(requests_per_second=rate, check_every_n_seconds=0.01, max_bucket_size=max(1.0, rate))
