"""Models with others to fall back to, rate limiters and caches: what LangChain offers is honoured."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.globals import set_llm_cache
from langchain_core.rate_limiters import InMemoryRateLimiter
from langchain_core.runnables import RunnableLambda
from langgraph.errors import GraphInterrupt
from models.by_hand import Hand, a_scope
from models.test_calls import GOOD, a_question
from models.test_client import ASKED, BARE, Loud

from thinkgraph.errors import ModelError, UsageError
from thinkgraph.models.calls import call_model
from thinkgraph.models.client import client_for


class RefusedError(Exception):
    """A failure that stays."""

    status_code = 401


def three() -> Any:
    first, *others = (Loud(model_name=name, seen=[], loops=[]) for name in ("fake", "second", "third"))
    return first.with_fallbacks(others)


def test_each_model_is_a_client_of_its_own() -> None:
    assert [client.name for client in client_for(three()).chain()] == ["fake", "second", "third"]


def test_the_next_model_is_asked_where_one_fails_for_good_and_the_usage_names_it() -> None:
    scope = a_scope(three(), call_retries=0)
    hand = Hand(RefusedError("no key"), TimeoutError(), GOOD)
    assert not hand.run(call_model(a_question(), scope)).fell_back
    assert [call.client.name for call in hand.calls] == ["fake", "second", "third"]
    (record,) = scope.records.values()
    assert (record["model"], record["attempts"], record["cost"]) == ("third", 3, 0.0)
    with pytest.raises(ModelError, match="model third failed"):
        Hand(*(RefusedError("no key") for _ in range(3))).run(call_model(a_question(), a_scope(three())))


def test_a_failure_that_only_an_own_model_knows_falls_back_too() -> None:
    class GatewayError(Exception):
        """Of a company's own client: no status, no name that tells."""

    hand = Hand(GatewayError("quota of the team is used up"), GOOD)
    assert not hand.run(call_model(a_question(), a_scope(three()))).fell_back
    assert [call.client.name for call in hand.calls] == ["fake", "second"]
    with pytest.raises(GatewayError):
        Hand(*(GatewayError() for _ in range(3))).run(call_model(a_question(), a_scope(three())))


@pytest.mark.parametrize("error", [GraphInterrupt(), UsageError("not recorded")])
def test_a_pause_and_an_error_of_ours_rise_whatever_stands_behind(error: Exception) -> None:
    hand = Hand(error, GOOD)
    with pytest.raises(type(error)):
        hand.run(call_model(a_question(), a_scope(three())))
    assert [call.client.name for call in hand.calls] == ["fake"]


def test_only_chat_models_may_be_fallen_back_to() -> None:
    with pytest.raises(UsageError, match="is a LangChain chat model"):
        client_for(Loud().with_fallbacks([RunnableLambda(str)]))  # type: ignore[arg-type]


class Slow(InMemoryRateLimiter):
    """Lets a request through after longer than its time until the first token."""

    def acquire(self, *, blocking: bool = True) -> bool:
        time.sleep(1)
        return blocking

    async def aacquire(self, *, blocking: bool = True) -> bool:
        await asyncio.sleep(1)
        return blocking


async def test_the_time_of_a_request_begins_behind_the_models_rate_limiter() -> None:
    options = type(BARE)(None, None, None, 0.6)
    client = client_for(Loud(rate_limiter=Slow(requests_per_second=1), seen=[], loops=[]))
    assert client.invoke(ASKED, options, {}).text == "words"  # type: ignore[arg-type]
    client = client_for(Loud(rate_limiter=Slow(requests_per_second=1), seen=[], loops=[]))
    assert (await client.ainvoke(ASKED, options, {})).text == "words"  # type: ignore[arg-type]


@pytest.fixture
def llm_cache() -> Iterator[None]:
    set_llm_cache(InMemoryCache())
    yield
    set_llm_cache(None)


@pytest.mark.usefixtures("llm_cache")
def test_langchains_cache_answers_a_second_time() -> None:
    model = Loud(seen=[], loops=[])
    replies = [client_for(model).invoke(ASKED, BARE, {}) for _ in range(3)]  # type: ignore[arg-type]
    assert (len(model.seen), {reply.text for reply in replies}) == (1, {"words"})


async def test_a_models_own_cache_answers_a_second_time() -> None:
    model = Loud(cache=InMemoryCache(), seen=[], loops=[])
    client = client_for(model)
    replies = [await client.ainvoke(ASKED, BARE, {}) for _ in range(3)]  # type: ignore[arg-type]
    assert (len(model.seen), {reply.text for reply in replies}) == (1, {"words"})
    assert min(replies[0].input_tokens, replies[0].output_tokens) > 0
    assert [(reply.input_tokens, reply.output_tokens) for reply in replies[1:]] == [(0, 0)] * 2, "nobody paid for them"


@pytest.mark.usefixtures("llm_cache")
def test_a_request_made_again_after_a_failure_is_not_answered_by_a_cache() -> None:
    model = Loud(seen=[], loops=[])
    client = client_for(model)
    for fresh in (False, False, True):
        assert client.invoke(ASKED, replace(BARE, fresh=fresh), {}).text == "words"  # type: ignore[arg-type]
    assert len(model.seen) == 2
