"""Ceilings hold whatever runs side by side."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkgraph.models.budget import BudgetSpentError, Ledger, estimate_tokens, remaining, shares
from thinkgraph.state.base import Quota
from thinkgraph.state.settings import RunSettings
from thinkgraph.state.usage import CallRecord, WorkRecord

OPEN = Quota(calls=None, tokens=None, cost=None, seconds=None)


def ledger(**quota: Any) -> Ledger:
    limits = {f"max_{name}": value for name, value in quota.items() if value}
    return Ledger(Quota(**{**OPEN, **quota}), RunSettings.model_validate({"max_calls": None, **limits}))


def record(**changes: Any) -> CallRecord:
    base = CallRecord(
        id="a", role="r", node="n", model="m", attempts=1, input_tokens=0, output_tokens=0, cost=0.0, seconds=0.0,
        repair=False, fallback=False,
    )  # fmt: skip
    return CallRecord(**{**base, **changes})


def spend(book: Ledger, *, tokens: int, cost: float) -> int:
    """50 threads take what they can get; how many calls were made."""
    start = threading.Barrier(50)

    def work(_: int) -> int:
        start.wait()
        made = 0
        for _ in range(20):
            try:
                room = book.reserve(characters=30, price=(0.01, 0.0))
            except BudgetSpentError:
                continue
            made += 1
            book.settle(room, tokens=tokens, cost=cost)
        return made

    with ThreadPoolExecutor(50) as pool:
        return sum(pool.map(work, range(50)))


def test_fifty_threads_never_pass_the_ceiling_on_calls() -> None:
    assert spend(ledger(calls=30), tokens=10, cost=0.1) == 30


def test_fifty_threads_never_pass_the_ceiling_on_tokens() -> None:
    assert spend(ledger(tokens=1000), tokens=10, cost=0.1) == 100


def test_fifty_threads_never_pass_the_ceiling_on_money() -> None:
    assert spend(ledger(cost=5.05), tokens=10, cost=0.1) == 50


def test_room_is_taken_before_the_call_and_given_back_after_it() -> None:
    book = ledger(tokens=25)
    first, _ = book.reserve(characters=30), book.reserve(characters=30)
    with pytest.raises(BudgetSpentError, match="25 tokens"):
        book.reserve(characters=30)
    book.settle(first, tokens=1, cost=0.0)
    book.reserve(characters=30)


def test_the_limit_on_output_is_part_of_the_room() -> None:
    book = Ledger(Quota(calls=None, tokens=100, cost=None, seconds=None), RunSettings(max_tokens=100))
    with pytest.raises(BudgetSpentError):
        book.reserve(characters=30, output=95)
    assert book.reserve(characters=15, output=95).tokens == 100


def test_a_refused_request_gives_its_call_back_too() -> None:
    book = ledger(calls=1, tokens=100)
    book.refund(book.reserve(characters=150, output=50))
    assert book.reserve(characters=150, output=50).tokens == 100


def test_a_failed_request_gives_its_tokens_back_but_counts_as_a_call() -> None:
    book = ledger(calls=1, tokens=10)
    book.settle(book.reserve(characters=30), tokens=0, cost=0.0)
    with pytest.raises(BudgetSpentError, match="1 calls"):
        book.reserve(characters=3)


def test_a_large_ceiling_is_said_as_it_was_set() -> None:
    assert BudgetSpentError("tokens", 1_234_567).reason == "budget: the ceiling of 1234567 tokens is reached"


def test_spare_calls_are_left() -> None:
    book = ledger(calls=3)
    book.reserve(characters=1, spare=2)
    with pytest.raises(BudgetSpentError):
        book.reserve(characters=1, spare=2)
    book.reserve(characters=1, spare=1)
    book.reserve(characters=1)
    with pytest.raises(BudgetSpentError):
        book.reserve(characters=1)


def test_a_replay_counts_as_it_did_when_it_was_paid() -> None:
    book = ledger(calls=5, tokens=100, cost=1.0)
    book.replay(attempts=4, tokens=60, cost=0.5)
    with pytest.raises(BudgetSpentError, match="100 tokens"):
        book.reserve(characters=150)
    with pytest.raises(BudgetSpentError, match="1 US dollars"):
        book.reserve(characters=30, price=(0.06, 0.0))
    book.reserve(characters=3)
    with pytest.raises(BudgetSpentError, match="5 calls"):
        book.reserve(characters=3)


def test_time_is_a_ceiling_too(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    book = ledger(seconds=5)
    assert book.time_left() == 5
    book.reserve(characters=1)
    now[0] += 5
    assert book.time_left() == 0
    with pytest.raises(BudgetSpentError, match="5 seconds"):
        book.reserve(characters=1)
    assert ledger().time_left() is None


def test_no_ceiling_is_no_ceiling() -> None:
    book = ledger()
    for _ in range(1000):
        book.reserve(characters=10**9, price=(1.0, 0.0), spare=10**6)


@given(
    st.none() | st.integers(0, 500),
    st.none() | st.integers(0, 10**6),
    st.none() | st.floats(0, 100),
    st.integers(0, 60),
    st.integers(0, 5),
)
def test_shares_together_never_exceed_what_is_left(
    calls: int | None, tokens: int | None, cost: float | None, parts: int, keep: int
) -> None:
    cut = shares(Quota(calls=calls, tokens=tokens, cost=cost, seconds=9.0), parts, keep=keep)
    assert len(cut) == max(parts, 1)
    assert [share["seconds"] for share in cut] == [9.0] * len(cut), "the tasks run side by side"
    if calls is None:
        assert all(share["calls"] is None for share in cut)
    else:
        counts = [share["calls"] or 0 for share in cut]
        assert sum(counts) == max(0, calls - keep)
        assert max(counts) - min(counts) <= 1
        assert counts == sorted(counts, reverse=True)
    if tokens is not None:
        assert sum(share["tokens"] or 0 for share in cut) == tokens
    if cost is not None:
        assert sum(share["cost"] or 0.0 for share in cut) <= cost * (1 + 1e-9)


def test_what_remains_counts_every_attempt_token_and_cent() -> None:
    settings = RunSettings(max_calls=10, max_tokens=100, max_cost=1.0, max_seconds=60)
    calls = {
        "a": record(attempts=3, input_tokens=30, output_tokens=10, cost=0.25),
        "b": record(attempts=1, input_tokens=5, output_tokens=5, cost=0.25, fallback=True),
    }
    work = {
        name: WorkRecord(node="n", started=start, ended=end, store_round_trips=0, encoder_texts=0)
        for name, start, end in (("a", 0.0, 10.0), ("b", 5.0, 20.0), ("c", 100.0, 110.0))
    }
    assert remaining(settings, calls, work) == Quota(calls=6, tokens=50, cost=0.5, seconds=30.0)


def test_what_remains_is_never_less_than_nothing() -> None:
    settings = RunSettings(max_calls=1, max_tokens=1, max_cost=0.1, max_seconds=1)
    used = {"a": record(attempts=5, input_tokens=9, cost=9.0)}
    assert remaining(settings, used, {}) == Quota(calls=0, tokens=0, cost=0.0, seconds=1.0)
    assert remaining(RunSettings(max_calls=None), used, {}) == OPEN


def test_tokens_are_estimated_upward() -> None:
    assert [estimate_tokens(n) for n in (0, 1, 3, 4)] == [0, 1, 1, 2]


@given(st.integers(1, 60), st.integers(1, 9), st.integers(0, 2), st.lists(st.integers(1, 40), min_size=1, max_size=9))
def test_shares_that_are_raised_never_pass_the_highest_ceiling(
    calls: int, parts: int, keep: int, raises: list[int]
) -> None:
    limits = RunSettings(max_calls=calls)
    made = 0
    for place, share in enumerate(shares(Quota(**{**OPEN, "calls": calls}), parts, keep=keep)):
        book = Ledger(share, limits)
        assert book.parts == parts
        # The tasks need not be told the same.
        book.extend("calls", RunSettings(max_calls=calls + raises[place % len(raises)]))
        while True:
            try:
                book.reserve(characters=1)
            except BudgetSpentError:
                break
            made += 1
    assert made <= max(0, calls - keep) + max(raises)


def test_a_share_of_a_share_is_one_of_all_of_them() -> None:
    cut = shares(shares(Quota(**{**OPEN, "calls": 12}), 3)[0], 2)
    assert [share.get("parts") for share in cut] == [6, 6]


@pytest.mark.parametrize(("name", "got"), [("tokens", 150), ("cost", 1.5), ("seconds", 2.0)])
def test_every_ceiling_can_be_raised(name: Any, got: float) -> None:
    old, new = {"tokens": (100, 200), "cost": (1.0, 2.0), "seconds": (1.0, 2.0)}[name]
    share = shares(Quota(**{**OPEN, name: old * 2}), 2)[0]
    share[name] = old
    book = Ledger(share, RunSettings.model_validate({f"max_{name}": old}))
    book.extend(name, RunSettings.model_validate({f"max_{name}": new}))
    # Tokens and money are shared by the two; time is not.
    assert book._quota[name] == got
