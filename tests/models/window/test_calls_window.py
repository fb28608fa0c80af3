"""One model call against the window: prompts that do not fit, and replies that end at their limit."""

from __future__ import annotations

from typing import Any

import pytest
from models.by_hand import Hand, a_scope, events_of
from models.test_calls import GOOD, ROLE, Failed, a_question, ended, only

from thinkgraph.errors import ModelError
from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.calls import CallResult, CallScope, ModelCall, call_model
from thinkgraph.models.client import ChatClient
from thinkgraph.models.journal import MemoryJournal
from thinkgraph.models.wire.forms import ModelReply
from thinkgraph.prompts.kinds import PICK, Shape

LLAMA = "Error code: 400 - {'error': {'code': 400, 'type': 'exceed_context_size_error', 'n_prompt_tokens': %d, 'n_ctx': %d}}"


def long_question(lines: int = 200, **options: Any) -> ModelCall[Any]:
    shown = "\n".join(f"[{number}] Panama -- country {number}" for number in range(1, lines + 1))
    return a_question(inputs={"question": "Which?", "options": shown}, shape=Shape(options=lines), **options)


def client_of(scope: CallScope) -> ChatClient:
    return scope.models.of(scope.prompts.get(ROLE))


def test_a_refused_prompt_is_cut_and_asked_again_and_the_refusal_counts_for_nothing() -> None:
    scope, hand = a_scope(call_retries=0, max_calls=2), Hand(Failed(400, LLAMA % (3600, 2048)), GOOD)
    assert hand.run(call_model(long_question(), scope)) == CallResult([2], fell_back=False)
    assert client_of(scope).window == 2048
    first, second = (len(call.messages[-1][1].splitlines()) for call in hand.calls)
    record = only(scope)
    assert record["left_out"] == first - second > 0
    assert (record["attempts"], record["repair"]) == (1, False)
    assert events_of(scope)[0]["left_out"] == record["left_out"]
    # The next long prompt is cut before it is sent.
    hand = Hand(GOOD)
    hand.run(call_model(long_question(key="b"), scope))
    assert len(hand.calls[0].messages[-1][1].splitlines()) < first


def test_a_number_that_was_not_shown_is_out_of_range() -> None:
    hand = Hand(Failed(400, LLAMA % (3600, 2048)), '{"numbers": [2, 200]}')
    assert hand.run(call_model(long_question(), a_scope())).value == [2]


def test_refusals_without_numbers_make_the_prompt_shorter_each_time() -> None:
    refusal = Failed(400, "the input length exceeds the context length")
    scope, hand = a_scope(), Hand(refusal, refusal, refusal, GOOD)
    hand.run(call_model(long_question(), scope))
    lengths = [len(call.messages[-1][1]) for call in hand.calls]
    assert lengths == sorted(set(lengths), reverse=True)


def test_a_prompt_that_is_refused_inside_the_window_lowers_it_for_every_call() -> None:
    refusal, good = Failed(400, "context_length_exceeded"), ModelReply(GOOD, 0, 10)
    scope, sent = a_scope(), []
    for key in ("a", "b", "c"):
        hand = Hand(refusal, good)
        hand.run(call_model(long_question(400, key=key), scope))
        sent.append(len(hand.calls[0].messages[-1][1]))
    assert sent == sorted(set(sent), reverse=True), "each call begins with a shorter prompt than was refused before"


def test_a_window_too_small_for_the_shortest_prompt_is_said() -> None:
    hand = Hand(*[Failed(400, LLAMA % (3600, 32))] * 9)
    with pytest.raises(ModelError, match=r"does not fit its window of 32 tokens.*larger one"):
        hand.run(call_model(long_question(), a_scope()))
    assert len(hand.calls) < 9


def test_a_resumed_run_finds_the_reply_to_a_cut_prompt() -> None:
    journal = MemoryJournal()
    first = a_scope(journal=journal)
    reply = '{"numbers": [2, 200]}'
    Hand(Failed(400, LLAMA % (3600, 2048)), reply).run(call_model(long_question(), first))
    again, hand = a_scope(journal=journal), Hand()
    assert hand.run(call_model(long_question(), again)).value == [2]
    assert again.records == first.records


def test_a_reply_cut_off_is_asked_for_again_with_twice_the_limit() -> None:
    scope, hand = a_scope(), Hand(ended('{"numbers": [1', "length"), GOOD)
    assert hand.run(call_model(a_question(), scope)) == CallResult([2], fell_back=False)
    first, second = hand.calls
    assert first.messages == second.messages, "no repair"
    limits = [call.options.max_output_tokens or 0 for call in hand.calls]
    assert limits[1] == 2 * limits[0] > 0
    assert [record.get("finish") for record in scope.records.values()] == ["length", None]
    assert "cut off at its limit" in events_of(scope)[0]["problem"]


def test_a_reply_that_repeats_itself_until_it_is_cut_off_is_repaired() -> None:
    once = "The question asks for the country that borders Portugal, which is Spain. "
    scope, hand = a_scope(), Hand(ended('{"numbers": [], "why": "' + 9 * once, "length"), GOOD)
    assert hand.run(call_model(a_question(), scope)) == CallResult([2], fell_back=False)
    first, second = hand.calls
    assert first.options.max_output_tokens == second.options.max_output_tokens
    assert [role for role, _ in second.messages[len(first.messages) :]] == ["assistant", "user"]
    assert second.messages[-2][1].count(once.strip()) == 1
    assert "and repeats itself" in second.messages[-1][1]


def test_a_reply_cut_off_twice_ends_in_the_fallback_also_after_a_kill() -> None:
    journal = MemoryJournal()
    cut = ended('{"numbers": [[1, 2], [2', "length")
    scope = a_scope(journal=journal)
    assert Hand(cut, cut).run(call_model(a_question(), scope)) == CallResult([1], fell_back=True)
    again = a_scope(journal=journal)
    assert Hand().run(call_model(a_question(), again)) == CallResult([1], fell_back=True)
    assert again.records == scope.records


def test_a_whole_object_that_ends_at_the_limit_is_read() -> None:
    assert Hand(ended(GOOD + "\n\n\n", "length")).run(call_model(a_question(), a_scope())).value == [2]


def test_a_model_that_reasons_first_gets_more_room_from_then_on() -> None:
    scope, hand = a_scope(), Hand(ended("", "length", 60), GOOD, GOOD)
    hand.run(call_model(a_question(), scope))
    hand.run(call_model(a_question(key="b"), scope))
    before, _, after = (call.options.max_output_tokens or 0 for call in hand.calls)
    assert after == 8 * before


def test_no_reply_may_take_more_than_half_of_the_window() -> None:
    scope, hand = a_scope(max_output_tokens=4000), Hand(ended('{"numbers": [', "length"))
    client_of(scope).window = 1000
    assert hand.run(call_model(a_question(), scope)) == CallResult([1], fell_back=True)
    assert [call.options.max_output_tokens for call in hand.calls] == [500], "a larger limit cannot be had"


def test_a_withheld_reply_is_not_asked_for_again() -> None:
    scope, hand = a_scope(), Hand(ended("", "filtered", 0))
    assert hand.run(call_model(a_question(), scope)) == CallResult([1], fell_back=True)
    assert (only(scope)["fallback"], only(scope)["finish"]) == (True, "filtered")
    assert "content filter" in events_of(scope)[-1]["problem"]


def test_room_is_kept_for_the_reply_that_is_asked_for() -> None:
    with pytest.raises(BudgetSpentError):
        Hand().run(call_model(a_question(), a_scope(max_tokens=3000, max_output_tokens=2900)))
    scope, hand = a_scope(max_tokens=3000), Hand(GOOD)
    hand.run(call_model(a_question(), scope))
    assert hand.calls[0].options.max_output_tokens == PICK.tokens(Shape(options=2))
