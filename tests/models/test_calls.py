"""One model call, driven by hand: journal, repair, fallback, retries, budget, refused parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx
import pytest
from fakes import FakeModel
from models.by_hand import Hand, a_scope, events_of

from thinkgraph.errors import ModelError
from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.calls import CallResult, CallScope, ModelCall, call_model, prompt_profile, rendered
from thinkgraph.models.journal import MemoryJournal, RawReply
from thinkgraph.models.wire.forms import ModelReply
from thinkgraph.prompts.kinds import PICK, TEXT, Shape
from thinkgraph.runtime.driver import Driver
from thinkgraph.state.usage import summarise

ROLE = "tog2.topic_prune"
GOOD, BAD = '{"numbers": [2]}', "I would take the second."


def a_question(**options: Any) -> ModelCall[Any]:
    inputs = {"question": "Which?", "options": "[1] a\n[2] b"}
    return ModelCall(
        **{"kind": PICK, "role": ROLE, "inputs": inputs, "shape": Shape(options=2), "fallback": [1], **options}
    )


class Failed(Exception):  # noqa: N818
    """A failure as SDKs raise it."""

    def __init__(self, status: int, message: str = "no", headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status_code = status
        self.response = httpx.Response(status, headers=headers)


def ended(text: str, finish: Any, tokens: int = 10) -> ModelReply:
    return ModelReply(text, 100, tokens, finish=finish)


def only(scope: CallScope) -> Any:
    (record,) = scope.records.values()
    return record


def test_a_good_reply_is_parsed_recorded_and_told() -> None:
    scope, hand = a_scope(), Hand(GOOD)
    assert hand.run(call_model(a_question(), scope)) == CallResult([2], fell_back=False)
    record = only(scope)
    assert (record["role"], record["model"], record["attempts"], record["node"]) == (ROLE, "fake", 1, "node")
    assert (record["input_tokens"], record["output_tokens"], record["repair"], record["fallback"]) == (
        100,
        10,
        False,
        False,
    )
    assert record["cost"] == pytest.approx(120e-6)
    (event,) = events_of(scope)
    assert (event["type"], event["replayed"], event["problem"]) == ("called", False, "")


def test_the_request_carries_stage_temperature_schema_and_limits() -> None:
    hand = Hand(GOOD, GOOD, GOOD)
    settings = {"temperature_explore": 0.3, "temperature_reason": 0.1, "max_output_tokens": 64, "call_timeout": 7}
    hand.run(call_model(a_question(), a_scope(**settings)))
    hand.run(call_model(a_question(temperature=0.9), a_scope(**settings)))
    options = hand.calls[0].options
    assert (options.temperature, options.max_output_tokens, options.timeout) == (0.3, 64, 7)
    assert options.schema is not None
    assert hand.calls[1].options.temperature == 0.9
    hand.script = ["words"]
    words = a_question(kind=TEXT, role="tog2.query_reform", inputs={"question": "q", "clues": "c"}, fallback="")
    hand.run(call_model(words, a_scope(**settings)))
    assert (hand.calls[2].options.temperature, hand.calls[2].options.schema) == (0.1, None)


def test_no_call_waits_longer_than_the_time_that_is_left() -> None:
    hand = Hand(GOOD)
    hand.run(call_model(a_question(), a_scope(max_seconds=3, call_timeout=100)))
    total = hand.calls[0].options.total
    assert total is not None
    assert 2 < total <= 3


def test_a_reply_is_journalled_before_it_is_parsed() -> None:
    journal = MemoryJournal()
    scope, hand = a_scope(journal=journal), Hand(BAD)
    flow = call_model(a_question(), scope)
    answer = None
    for _ in range(3):  # look it up, call, keep it
        answer = hand._carry_out(flow.send(answer))
    flow.close()  # killed before anything was parsed
    assert hand.order == ["Blocking", "SendRequest", "Blocking"]
    assert [raw["text"] for raw in journal._replies.values()] == [BAD]


def test_a_replay_makes_no_call_and_counts_once() -> None:
    journal = MemoryJournal()
    first = a_scope(journal=journal, max_calls=2)
    Hand(GOOD).run(call_model(a_question(), first))
    again = a_scope(journal=journal, max_calls=2)
    hand = Hand()
    assert hand.run(call_model(a_question(), again)) == CallResult([2], fell_back=False)
    assert hand.calls == []
    assert again.records == first.records
    assert events_of(again)[0]["replayed"] is True
    Hand(GOOD).run(call_model(a_question(key="other"), again))
    with pytest.raises(BudgetSpentError):
        Hand(GOOD).run(call_model(a_question(key="third"), again))


@pytest.mark.parametrize(
    ("change", "settings"),
    [
        ({"key": "k"}, {}),
        ({"sample": 2}, {}),
        ({"temperature": 0.9}, {}),
        ({"shape": Shape(options=2, explain=True)}, {}),
        ({"inputs": {"question": "What?", "options": "[1] a"}}, {}),
        ({}, {"max_output_tokens": 99}),
        ({}, {"run": 2}),
        ({}, {"temperature_explore": 1.0}),
        ({}, {"model": FakeModel({}, model_name="other")}),
    ],
)
def test_whatever_differs_is_asked_anew(change: dict[str, Any], settings: dict[str, Any]) -> None:
    journal = MemoryJournal()
    Hand(GOOD).run(call_model(a_question(), a_scope(journal=journal)))
    hand = Hand(GOOD)
    hand.run(call_model(a_question(**change), a_scope(journal=journal, **settings)))
    assert len(hand.calls) == 1


def test_an_unreadable_reply_is_repaired_once() -> None:
    scope, hand = a_scope(), Hand(BAD, GOOD)
    assert hand.run(call_model(a_question(), scope)) == CallResult([2], fell_back=False)
    assert [record["repair"] for record in scope.records.values()] == [False, True]
    assert not any(record["fallback"] for record in scope.records.values())
    before, after = (call.messages for call in hand.calls)
    assert after[: len(before)] == before
    assert after[len(before)] == ("assistant", BAD)
    assert "no JSON object" in after[-1][1]
    assert '{"numbers": [2, 5]}' in after[-1][1], "the form is said again"


def test_two_unreadable_replies_end_in_the_fallback() -> None:
    scope, hand = a_scope(), Hand(BAD, "")
    assert hand.run(call_model(a_question(), scope)) == CallResult([1], fell_back=True)
    assert [(r["repair"], r["fallback"]) for r in scope.records.values()] == [(False, False), (True, True)]
    *replies, stands = events_of(scope)
    assert "no JSON object" in replies[0]["problem"]
    assert stands["problem"].startswith("fallback taken: ")
    assert [event["replayed"] for event in (*replies, stands)] == [False, False, True], "a reply is counted once"


def test_a_fallback_that_must_be_made_is_made_only_when_it_is_needed() -> None:
    made: list[int] = []

    def fallback() -> list[int]:
        made.append(1)
        return [1]

    assert Hand(GOOD).run(call_model(a_question(fallback=fallback), a_scope())) == CallResult([2], fell_back=False)
    assert made == []
    assert Hand(BAD, BAD).run(call_model(a_question(fallback=fallback), a_scope())) == CallResult([1], fell_back=True)
    assert made == [1]


def test_an_empty_reply_can_be_sent_back() -> None:
    hand = Hand("", GOOD)
    hand.run(call_model(a_question(), a_scope()))
    assert ("assistant", "(empty)") in hand.calls[1].messages


def test_both_replies_are_replayed_after_a_kill() -> None:
    journal = MemoryJournal()
    first = a_scope(journal=journal)
    Hand(BAD, BAD).run(call_model(a_question(), first))
    again = a_scope(journal=journal)
    assert Hand().run(call_model(a_question(), again)) == CallResult([1], fell_back=True)
    assert again.records == first.records


def test_without_room_for_a_repair_the_fallback_stands() -> None:
    scope, hand = a_scope(max_calls=1), Hand(BAD)
    assert hand.run(call_model(a_question(), scope)) == CallResult([1], fell_back=True)
    assert only(scope)["fallback"] is True


def test_a_fallback_is_marked_on_its_own_call() -> None:
    scope = a_scope(max_calls=2)
    slow = call_model(a_question(key="slow"), scope)
    hand = Hand(BAD)
    answer = None
    for _ in range(4):  # look it up, call, keep it; look up the repair's reply
        answer = hand._carry_out(slow.send(answer))
    # Before its repair is asked for, another call of the same node takes the last room.
    Hand(GOOD).run(call_model(a_question(key="quick"), scope))
    with pytest.raises(StopIteration) as stop:
        slow.send(answer)
    assert stop.value.value.fell_back
    texts = {scope.journal.get("thread", key)["text"]: r["fallback"] for key, r in scope.records.items()}  # type: ignore[union-attr,index]
    assert texts == {BAD: True, GOOD: False}


def test_what_can_pass_is_tried_again_and_every_attempt_counts() -> None:
    scope, hand = a_scope(call_retries=3), Hand(Failed(500), TimeoutError(), Failed(429), GOOD)
    hand.run(call_model(a_question(), scope))
    assert only(scope)["attempts"] == 4
    assert hand.slept == [0.5, 1.0, 2.0]


def test_the_servers_own_wait_is_kept_to() -> None:
    hand = Hand(Failed(429, headers={"Retry-After": "7"}), Failed(503, headers={"retry-after": "0"}), GOOD)
    scope = a_scope()
    hand.run(call_model(a_question(), scope))
    assert hand.slept == [7.0, 0.0]
    waiting = [event for event in events_of(scope) if event["type"] == "waiting"]
    assert [(event["seconds"], event["reason"][:8]) for event in waiting] == [(7.0, "HTTP 429"), (0.0, "HTTP 503")]


def test_no_wait_passes_the_ceiling_on_time() -> None:
    hand = Hand(Failed(429, headers={"Retry-After": "50"}), GOOD)
    hand.run(call_model(a_question(), a_scope(max_seconds=2)))
    assert hand.slept == [pytest.approx(2, abs=0.5)]


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (Failed(401, "bad key\nno"), "model fake failed: HTTP 401: bad key no"),
        (Failed(404, "no such model"), "model fake failed: HTTP 404: no such model"),
        (Failed(400, "too long"), "model fake failed: HTTP 400: too long"),
    ],
)
def test_what_cannot_pass_is_said_in_one_line(failure: Failed, message: str) -> None:
    hand = Hand(failure)
    with pytest.raises(ModelError) as raised:
        hand.run(call_model(a_question(), a_scope()))
    assert str(raised.value) == message
    assert len(hand.calls) == 1


def test_what_keeps_failing_is_given_up() -> None:
    hand = Hand(*[Failed(500, "down")] * 3)
    with pytest.raises(ModelError, match="failed after 3 attempts: HTTP 500: down"):
        hand.run(call_model(a_question(), a_scope(call_retries=2)))
    assert [call.options.fresh for call in hand.calls] == [False, True, True]


def test_a_bug_rises_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        Hand(ZeroDivisionError()).run(call_model(a_question(), a_scope()))


def test_retries_stop_at_the_ceiling_on_calls() -> None:
    hand = Hand(*[Failed(500)] * 2)
    with pytest.raises(BudgetSpentError, match="ceiling of 2 calls"):
        hand.run(call_model(a_question(), a_scope(max_calls=2, call_retries=9)))
    assert len(hand.calls) == 2


@pytest.mark.parametrize(
    ("failures", "settings", "error"),
    [
        ([Failed(500)] * 2, {"max_calls": 2, "call_retries": 9}, BudgetSpentError),
        ([Failed(500)] * 3, {"max_calls": 5, "call_retries": 2}, ModelError),
        ([Failed(500), Failed(401)], {"max_calls": 5}, ModelError),
    ],
    ids=["ceiling", "given up", "refused"],
)
def test_attempts_without_a_reply_count_also_after_a_resume(
    failures: list[Exception], settings: dict[str, Any], error: type[Exception]
) -> None:
    journal, made = MemoryJournal(), len(failures)
    scope, hand = a_scope(journal=journal, **settings), Hand(*failures)
    with pytest.raises(error):
        hand.run(call_model(a_question(), scope))
    assert (only(scope)["attempts"], only(scope)["unanswered"]) == (made, True)
    # Asked again in the same execution (a ceiling was raised): nothing counts twice.
    scope.ledger.extend("calls", scope.settings.model_copy(update={"max_calls": settings["max_calls"] + 1}))
    with pytest.raises(ModelError):
        Hand(Failed(401)).run(call_model(a_question(), scope))
    assert only(scope)["attempts"] == made + 1
    # As many as there are left, in an execution after a kill or an error.
    left = settings["max_calls"] + 1 - made - 1
    again = a_scope(journal=journal, **{**settings, "max_calls": settings["max_calls"] + 1, "call_retries": 9})
    hand = Hand(*[Failed(500)] * left)
    with pytest.raises(BudgetSpentError):
        hand.run(call_model(a_question(), again))
    assert len(hand.calls) == left
    assert only(again)["attempts"] == settings["max_calls"] + 1
    assert summarise(again.records, {})["total"]["calls"] == settings["max_calls"] + 1
    # And those before a reply are part of it.
    last = a_scope(journal=journal)
    Hand(GOOD).run(call_model(a_question(), last))
    assert only(last)["attempts"] == settings["max_calls"] + 2
    assert "unanswered" not in only(last)


def test_what_was_never_sent_is_not_recorded() -> None:
    journal = MemoryJournal()
    scope = a_scope(journal=journal, max_calls=1)
    with pytest.raises(BudgetSpentError):
        Hand().run(call_model(a_question(spare=1), scope))
    assert (scope.records, journal._replies) == ({}, {})


def test_spare_calls_are_left() -> None:
    scope = a_scope(max_calls=2)
    with pytest.raises(BudgetSpentError):
        Hand().run(call_model(a_question(spare=2), scope))
    Hand(GOOD).run(call_model(a_question(spare=1), scope))
    Hand(GOOD).run(call_model(a_question(key="closing"), scope))


def test_refused_parameters_are_dropped_and_the_request_made_again() -> None:
    scope = a_scope()
    refusals = [Failed(400, "Unsupported value: 'temperature'"), Failed(422, "unknown field response_format")]
    hand = Hand(*refusals, Failed(400, "use max_completion_tokens, not max_tokens"), GOOD)
    hand.run(call_model(a_question(), scope))
    assert scope.models.of(scope.prompts.get(ROLE)).refused == {"temperature", "schema", "limit"}
    assert only(scope)["attempts"] == 4, "each may be billed"
    assert hand.slept == []


def test_no_reply_is_asked_for_that_is_longer_than_a_refusal_said() -> None:
    scope = a_scope(max_output_tokens=900)
    refusal = Failed(400, "max_tokens is too large: 900. This model supports at most 128 completion tokens")
    hand = Hand(refusal, ended('{"numbers": [', "length"), GOOD)
    hand.run(call_model(a_question(), scope))
    hand.run(call_model(a_question(key="b"), scope))
    limits = [call.options.max_output_tokens for call in hand.calls]
    assert limits == [900, 128, 128], "and none is asked for again with a larger limit that cannot be had"


def test_requests_refused_side_by_side_are_all_made_again() -> None:
    scope = a_scope()
    hands = [Hand(Failed(400, "no temperature"), GOOD) for _ in range(3)]
    flows = [call_model(a_question(key=str(n)), scope) for n in range(3)]
    ops = [(flow, hand, flow.send(hand._carry_out(next(flow)))) for flow, hand in zip(flows, hands, strict=True)]
    # All three requests are under way before the first refusal comes back.
    for flow, hand, op in ops:
        hand.calls.append(op)
        again = flow.throw(hand.script.pop(0))  # type: ignore[arg-type]
        answer = hand._carry_out(again)
        with pytest.raises(StopIteration) as stop:
            flow.send(hand._carry_out(flow.send(answer)))
        assert stop.value.value == CallResult([2], fell_back=False)


def test_a_request_refused_for_good_is_not_made_again() -> None:
    refusal = Failed(400, "no temperature")
    hand = Hand(refusal, refusal)
    with pytest.raises(ModelError):
        hand.run(call_model(a_question(), a_scope()))
    assert len(hand.calls) == 2


def test_room_is_taken_for_scripts_that_use_more_tokens() -> None:
    inputs = {"question": "問" * 3000, "options": "[1] a"}
    with pytest.raises(BudgetSpentError, match="2000 tokens"):
        Hand().run(call_model(a_question(inputs=inputs), a_scope(max_tokens=2000)))


def test_what_a_reply_really_used_is_what_counts() -> None:
    scope = a_scope(max_tokens=5000)
    Hand(ModelReply(GOOD, 4900, 10)).run(call_model(a_question(), scope))
    with pytest.raises(BudgetSpentError, match="5000 tokens"):
        Hand().run(call_model(a_question(key="b"), scope))


def test_without_a_journal_the_call_is_made_at_once() -> None:
    scope, hand = a_scope(), Hand(GOOD)
    scope.journal = None
    hand.run(call_model(a_question(), scope))
    assert hand.order == ["SendRequest"]


async def test_both_drivers_carry_a_call_out_alike() -> None:
    results = []
    for mode in ("sync", "async"):
        model = FakeModel({ROLE: lambda prompt: {"numbers": [2]} if prompt.lines("options") else BAD})
        scope = a_scope(model)
        flow = call_model(a_question(), scope)
        value = Driver({}).drive(flow) if mode == "sync" else await Driver({}).adrive(flow)
        results.append((value, list(scope.records), model.roles))
    assert results[0] == results[1]
    assert results[0][0] == CallResult([2], fell_back=False)


def test_a_kept_reply_of_any_text_is_read_back() -> None:
    journal = MemoryJournal()
    kept = RawReply(text=GOOD, model="m", input_tokens=1, output_tokens=1, attempts=3, seconds=0.0)
    scope = a_scope(journal=journal)
    flow = call_model(a_question(), scope)
    flow.send(None)
    with pytest.raises(StopIteration) as stop:
        flow.send(kept)
    assert stop.value.value.value == [2]
    assert only(scope)["attempts"] == 3


@pytest.mark.parametrize(
    ("wanted", "size", "got"),
    [
        ("auto", None, "standard"),
        ("auto", "small", "small"),
        ("standard", "small", "standard"),
        ("small", None, "small"),
    ],
)
def test_the_profile_is_the_settings_else_the_model_s(wanted: str, size: Any, got: str) -> None:
    scope = a_scope(prompt_profile=wanted)
    prompt = scope.prompts.get("tog2.relation_prune")
    if size:
        client = scope.models.of(prompt)
        client.profile = replace(client.profile, size=size)
    assert prompt_profile(prompt, scope.models, scope.settings) == got
    inputs = {**dict.fromkeys(prompt.places, ""), "options": "[1] (Osk) -[source]-> x1"}
    shown = rendered(prompt, inputs, Shape(options=1), scope.models, scope.settings)[-1][1]
    assert ("(Osk) source: (1 thing)" in shown) == (got == "small")
