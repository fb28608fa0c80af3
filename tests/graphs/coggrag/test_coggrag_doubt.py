"""CogGRAG in doubt: what is thought over without the verifier, and the way back to another mind map (METHODS: Doubt)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from fakes import FakeModel
from graphs.coggrag.coggrag_kit import ANSWERS, DOUBT, KEYS, SPLIT, TWO_HOPS, ask, asked, events_of, holding, script

from thinkgraph.prompts.parsed import ParsedPrompt

FIRST, SECOND = "Which country has the highest point Baru?", "What is the capital of Panama?"
ASTRAY = ["Which sea is near Baru?", "Which town lies at that sea?"]
SILENT: Mapping[str, Any] = {"sufficient": False, "answers": [], "evidence": []}
WRONG: Mapping[str, Any] = {"right": False}
CALLS = ("reason", "verify", "rethink")


def doubting(question: str, replies: Mapping[str, Any], **settings: Any) -> tuple[Any, FakeModel]:
    return ask(question, replies, **{**DOUBT, **settings})


def steps(model: FakeModel, question: str) -> list[str]:
    """The calls made for one question, in their order."""
    roles = [(prompt.role.split(".")[1], prompt.text("question")) for prompt in model.asked]
    return [role for role, about in roles if about == question and role in CALLS]


def prompts(model: FakeModel, role: str) -> list[ParsedPrompt]:
    return [prompt for prompt in model.asked if prompt.role == f"coggrag.{role}"]


def astray(times: int) -> Any:
    """A decomposition that asks for the wrong things so many times."""
    right = script()["coggrag.decompose"]
    left = [times]

    def decompose(prompt: ParsedPrompt) -> Any:
        left[0] -= 1
        if left[0] < 0:
            return right(prompt)
        return {"questions": [{"question": text, "open": False, "refers": []} for text in ASTRAY]}

    return decompose


def keys_of(prompt: ParsedPrompt) -> Any:
    """Keys for the mind map that leads to the answer; for another one, keys that name nothing."""
    led = any(FIRST in item.text for item in prompt.lines("questions"))
    return {"keys": list(KEYS) if led else [{"key": ["?2", "near", "?3"], "of": [2]}]}


def straying(times: int) -> dict[str, Any]:
    return script(decompose=astray(times), extract_keys_local=keys_of, extract_keys_global=keys_of)


# --- the way back ---------------------------------------------------------------------------------------------------


def test_another_decomposition_finds_the_answer() -> None:
    answer, model = doubting(TWO_HOPS, straying(1))
    assert (answer["answers"], answer["status"]) == (["Panama City"], "grounded")
    first, again = prompts(model, "decompose")
    assert "sub-questions that led nowhere" not in first.sections
    assert [item.text for item in again.lines("sub-questions that led nowhere")] == ASTRAY
    # The trace is that of the mind map that led to the answer.
    assert [node["question"] for node in answer["trace"]["data"]["nodes"]] == [
        TWO_HOPS,
        FIRST,
        "What is the capital of #1?",
    ]
    # Global keys are extracted once: on the way back the questions' own names stand in for them.
    assert [len(prompts(model, f"extract_keys_{level}")) for level in ("local", "global")] == [2, 1]


@pytest.mark.parametrize("backtracks", [0, 1, 2, 3])
def test_it_goes_back_as_often_as_it_may(backtracks: int) -> None:
    answer, model = doubting(TWO_HOPS, straying(9), backtracks=backtracks)
    assert (answer["status"], answer["answers"]) == ("unknown", [])
    assert 'no answer to sub-question 1 "Which sea is near Baru?"' in answer["reason"]
    assert len(prompts(model, "decompose")) == 1 + backtracks


def test_what_was_given_up_is_told_as_progress_and_forgotten() -> None:
    events = events_of(TWO_HOPS, straying(1), **DOUBT)
    maps = [[line["text"] for line in event["lines"]] for event in events if event["type"] == "traced"]
    assert any(text.startswith(f"#1 {ASTRAY[0]} → I don't know") for lines in maps for text in lines)
    assert [event["answers"] for event in events if event["type"] == "verified"][-1] == ["Panama City"]


def test_names_that_no_key_has_are_looked_up_on_the_way_back() -> None:
    unreadable = {"keys": [{"key": ["?2", "near", "?3"], "of": [2]}]}
    replies = script(extract_keys_local=unreadable, extract_keys_global=unreadable)
    assert doubting(TWO_HOPS, replies, backtracks=0, own_names=False)[0]["status"] == "unknown"
    answer, model = doubting(TWO_HOPS, replies, own_names=False)
    assert (answer["answers"], answer["status"]) == (["Panama City"], "grounded")
    assert len(prompts(model, "decompose")) == 2
    # A question without a key that names something is looked up by its own names at once.
    assert doubting(TWO_HOPS, replies, backtracks=0)[0]["answers"] == ["Panama City"]


def silent_at_first(**times: int) -> dict[str, Any]:
    """Replies of a model that gives some questions no answer so many times, by their names here."""
    right = script()["coggrag.reason"]
    left = {globals()[name]: often for name, often in times.items()}

    def reason(prompt: ParsedPrompt) -> Any:
        question = prompt.text("question")
        left[question] = left.get(question, 0) - 1
        return right(prompt) if left[question] < 0 else SILENT

    return {"reason": reason, "rethink": reason}


def test_the_same_mind_map_is_gone_over_before_another_one() -> None:
    answer, model = doubting(TWO_HOPS, script(**silent_at_first(SECOND=2, TWO_HOPS=1)), backtracks=1)
    assert (answer["answers"], answer["status"]) == (["Panama City"], "grounded")
    assert [len(prompts(model, role)) for role in ("decompose", "extract_keys_local")] == [1, 1]
    # What the silent question refers to is asked again, too.
    assert steps(model, FIRST) == ["reason", "reason"]
    assert steps(model, SECOND) == ["reason", "rethink", "reason"]


def test_what_nothing_speaks_against_stands_and_a_second_failure_needs_another_mind_map() -> None:
    splits = {TWO_HOPS: [(FIRST, ()), (ASTRAY[0], ())]}
    replies = script(splits, **silent_at_first(TWO_HOPS=9))
    _, model = doubting(TWO_HOPS, replies, backtracks=1)
    assert (steps(model, FIRST), steps(model, ASTRAY[0])) == (["reason"], ["reason", "rethink"] * 2)
    assert len(prompts(model, "decompose")) == 1
    _, model = doubting(TWO_HOPS, replies, backtracks=2)
    assert [item.text for item in prompts(model, "decompose")[1].lines("sub-questions that led nowhere")] == [
        ASTRAY[0],
        FIRST,
        ASTRAY[0],
    ]


def test_a_root_alone_in_doubt_is_asked_alone() -> None:
    _, model = doubting(TWO_HOPS, script(**silent_at_first(TWO_HOPS=9)), backtracks=1)
    assert (steps(model, FIRST), steps(model, SECOND)) == (["reason"], ["reason"])
    assert steps(model, TWO_HOPS) == ["reason", "rethink"] * 2


def test_a_question_that_was_not_broken_down_gets_another_mind_map_first() -> None:
    replies = script({}, **silent_at_first(TWO_HOPS=9))
    _, model = doubting(TWO_HOPS, replies, backtracks=1)
    assert (steps(model, TWO_HOPS), len(prompts(model, "decompose"))) == (["reason", "reason", "rethink"], 2)
    _, model = doubting(TWO_HOPS, replies, backtracks=1, decompose=False)
    assert steps(model, TWO_HOPS) == ["reason", "rethink"] * 2


# --- a question in doubt --------------------------------------------------------------------------------------------


def said(role: str, answers: Mapping[str, list[str]]) -> dict[str, Any]:
    """Replies of a model that answers some questions otherwise in one role."""
    return {role: script(answers={**ANSWERS, **answers})[f"coggrag.{role}"]}


def test_a_doubted_answer_is_wrong_without_a_call_and_its_reason_is_told() -> None:
    answer, model = doubting(TWO_HOPS, script(**said("reason", {SECOND: ["Panama"]})))
    assert (answer["answers"], answer["status"]) == (["Panama City"], "grounded")
    assert steps(model, SECOND) == ["reason", "rethink"]
    (again,) = prompts(model, "rethink")
    assert "asks for capital, and Panama is" in again.text("doubted answer")
    assert prompts(model, "reason")[1].sections.keys() == again.sections.keys() - {"doubted answer"}
    attempts = answer["trace"]["data"]["nodes"][2]["attempts"]
    assert [(one["answers"], one["right"], one["judge"]) for one in attempts] == [
        (["Panama"], False, "evidence"),
        # The question names the relation that leads to it.
        (["Panama City"], None, ""),
    ]


def test_a_wrong_count_is_thought_over_with_the_length_of_the_list() -> None:
    question = "How many countries does Panama border?"

    def counting(number: str) -> Any:
        return lambda prompt: {"sufficient": True, "answers": [number], "evidence": holding(prompt, ["Colombia)"])}

    keys = [{"key": ["Panama", "borders", "?2"], "of": [1]}]
    for second in ("2", "9"):
        replies = script({}, keys, reason=counting("9"), rethink=counting(second))
        answer, model = doubting(question, replies)
        assert (answer["answers"], answer["status"]) == (["2"], "grounded")
        (again,) = prompts(model, "rethink")
        assert again.text("doubted answer") == "the lines cited list 2, not 9"
        assert prompts(model, "verify") == []


@pytest.mark.parametrize("rethinks", [1, 3])
@pytest.mark.parametrize("verify", [True, False])
def test_an_answer_that_stays_in_doubt_is_none(rethinks: int, verify: bool) -> None:  # noqa: FBT001
    replies = script(answers={**ANSWERS, TWO_HOPS: ["Panama"]})
    answer, model = doubting(TWO_HOPS, replies, rethinks=rethinks, verify=verify, backtracks=1)
    assert (answer["status"], answer["answers"]) == ("unknown", [])
    assert "the question asks for capital, and Panama is" in answer["reason"]
    # Once for each mind map.
    assert steps(model, TWO_HOPS) == 2 * ["reason", *["rethink"] * (rethinks if verify else 0)]


def test_a_question_without_an_answer_is_thought_over_without_the_verifier() -> None:
    silent = script()["coggrag.reason"]

    def reason(prompt: ParsedPrompt) -> Any:
        return SILENT if prompt.text("question") == SECOND else silent(prompt)

    answer, model = doubting(TWO_HOPS, script(reason=reason))
    assert (answer["answers"], answer["status"]) == (["Panama City"], "grounded")
    assert steps(model, SECOND) == ["reason", "rethink"]
    answer, model = doubting(TWO_HOPS, script(reason=reason), backtracks=0)
    assert steps(model, SECOND) == ["reason"]


def test_a_question_below_which_an_answer_is_missing_is_not_thought_over() -> None:
    _, model = doubting(TWO_HOPS, script(reason=SILENT, rethink=SILENT), backtracks=1)
    assert steps(model, FIRST) == 2 * ["reason", "rethink"]
    assert steps(model, TWO_HOPS) == 2 * ["reason"]


@pytest.mark.parametrize("rethinks", [1, 2])
def test_the_last_answer_is_verified_too(rethinks: int) -> None:
    answer, model = doubting(TWO_HOPS, script(verify=WRONG), rethinks=rethinks, backtracks=1, skip_settled=False)
    assert (answer["status"], answer["answers"]) == ("unknown", [])
    assert "no verifier judged the answer right" in answer["reason"]
    # Once for each mind map.
    assert steps(model, TWO_HOPS) == 2 * [*["reason", "verify"], *["rethink", "verify"] * rethinks]


def test_a_sub_question_of_a_claim_is_doubted_and_the_claim_is_not() -> None:
    claim = "Panama City is the capital of Panama."
    splits = {claim: [(SECOND, ())]}
    keys = [{"key": ["Panama", "capital", "?2"], "of": [2]}]
    right = script(splits, keys)

    def reason(prompt: ParsedPrompt) -> Any:
        lines = [item.number for item in prompt.lines("evidence")]
        if prompt.text("question") == claim:
            return {"sufficient": True, "answers": ["SUPPORTS"], "evidence": lines}
        return {"sufficient": True, "answers": ["Panama"], "evidence": lines}

    answer, model = doubting(claim, {**right, "coggrag.reason": reason}, task="fact")
    assert (answer["answers"], answer["status"]) == (["SUPPORTS"], "grounded")
    assert steps(model, SECOND) == ["reason", "rethink"]
    assert steps(model, claim) == ["reason", "verify"]


# --- what it costs --------------------------------------------------------------------------------------------------


def test_an_answer_is_not_verified_whose_relation_the_question_names() -> None:
    some = script()["coggrag.reason"]

    def whole_way(prompt: ParsedPrompt) -> Any:
        return {**some(prompt), "evidence": [item.number for item in prompt.lines("evidence")]}

    answer, model = doubting(TWO_HOPS, script(reason=whole_way, verify=WRONG))
    assert (answer["answers"], answer["status"]) == (["Panama City"], "grounded")
    assert "verified" not in answer["reason"]
    assert "coggrag.verify" not in model.roles
    # Nor does it cost anything else.
    _, paper = doubting(TWO_HOPS, script(reason=whole_way), backtracks=0)
    assert Counter(paper.roles) - Counter(model.roles) == {"coggrag.verify": 3}


def test_an_answer_is_verified_whose_statements_do_not_come_near_what_the_question_names() -> None:
    answer, model = doubting(TWO_HOPS, script())
    assert [steps(model, one) for one in (FIRST, SECOND, TWO_HOPS)] == [["reason"], ["reason"], ["reason", "verify"]]
    assert answer["reason"].endswith("and it was verified")
    # Only the capital's line was cited, and it says nothing of Baru; the answer brings what led there.
    assert [one["object_label"] for one in answer["evidence"]["triples"]] == ["Panama City", "Baru"]
    _, model = doubting(TWO_HOPS, script(), verify_paths=False)
    assert "coggrag.verify" not in model.roles


def test_an_answer_that_leaves_out_an_end_of_its_path_is_verified_all_the_same() -> None:
    borders = "Which countries touch Panama?"
    keys = [{"key": ["Panama", "borders", "?1"], "of": [1]}]
    for answers, calls in ((["Colombia"], 1), (["Colombia", "Costa Rica"], 0)):
        replies = script({}, keys, {borders: answers})
        assert [
            doubting(borders, replies, verify_paths=paths)[1].roles.count("coggrag.verify") for paths in (True, False)
        ] == [1, calls]


def test_the_only_name_in_a_question_that_is_not_broken_down_is_its_key() -> None:
    keys, capital = [{"key": ["Panama", "capital", "?1"], "of": [1]}], "What is the capital of Panama?"
    for question, lone, calls in (
        (capital, False, 0),
        (capital, True, 1),
        ("What is the capital of Panama, not Colombia?", False, 1),
        ("What is the capital of it?", False, 1),
    ):
        answer, model = doubting(question, script({}, keys, {question: ["Panama City"]}), lone_keys=lone)
        assert (answer["answers"], answer["status"]) == (["Panama City"], "grounded")
        assert model.roles.count("coggrag.extract_keys_local") == calls
    # Where nothing leads back, or more names may stand behind those that were found, the model is asked.
    for settings in ({"backtracks": 0}, {"names": 1}):
        assert "coggrag.extract_keys_local" in doubting(capital, script({}, keys, {}), **settings)[1].roles[:2]


def test_keys_are_extracted_on_the_way_back_of_a_lone_question() -> None:
    capital = "What is the capital of Panama?"
    _, model = doubting(capital, script({}, [{"key": ["Panama", "capital", "?1"], "of": [1]}], {}))
    first, *later = (index for index, role in enumerate(model.roles) if role == "coggrag.decompose")
    assert "coggrag.extract_keys_local" not in model.roles[first : later[0]]
    assert model.roles[later[0] + 1] == "coggrag.extract_keys_local"


def test_doubt_costs_nothing_where_the_verifier_is_asked() -> None:
    calls = [Counter(doubting(TWO_HOPS, script(), backtracks=often, skip_settled=False)[1].roles) for often in (0, 2)]
    assert calls[0] == calls[1]
    assert sum(calls[0].values()) == 9


def test_without_doubt_the_calls_are_the_papers() -> None:
    replies = script(answers={**ANSWERS, TWO_HOPS: ["Panama"]}, verify=WRONG)
    answer, model = doubting(TWO_HOPS, replies, backtracks=0)
    assert (answer["status"], answer["answers"]) == ("partial", ["Panama"])
    for question in (FIRST, SECOND, TWO_HOPS):
        assert steps(model, question) == ["reason", "verify", "rethink"]
    assert len(model.asked) == 1 + 2 + 3 * 3
    assert asked(model, "decompose") == [TWO_HOPS]
    assert not any(
        prompt.sections.keys() & {"doubted answer", "sub-questions that led nowhere"} for prompt in model.asked
    )


@pytest.mark.parametrize("ceiling", range(1, 40))
def test_ceilings_hold_on_every_way_back(ceiling: int) -> None:
    answer, model = doubting(TWO_HOPS, straying(2), max_calls=ceiling)
    assert answer["usage"]["total"]["calls"] == len(model.asked) <= ceiling
    if answer["status"] == "grounded":
        assert answer["answers"] == ["Panama City"]
    else:
        assert f"the ceiling of {ceiling} calls is reached" in answer["reason"]


@pytest.mark.parametrize("ceiling", range(1, 10))
def test_an_answer_that_a_ceiling_left_unjudged_is_a_best_effort(ceiling: int) -> None:
    question = "Which capital has Panama, whose highest point is Baru?"
    replies = script(
        {question: SPLIT[TWO_HOPS]}, [*KEYS, {"key": ["Panama", "capital"], "of": [1]}], {question: ["Panama City"]}
    )
    answer, model = doubting(question, replies, max_calls=ceiling, skip_settled=False)
    assert len(model.asked) <= ceiling
    assert answer["answers"] == ["Panama City"]
    # The first call of all is the root's.
    assert answer["status"] == ("partial" if ceiling == 1 else "grounded")


def test_a_doubted_answer_that_a_ceiling_left_is_none() -> None:
    question = "What is the capital of Panama?"
    replies = script({}, [{"key": ["Panama", "capital", "?1"], "of": [1]}], {question: ["Panama"]})
    answer, model = doubting(question, replies, max_calls=1)
    assert [role.split(".")[1] for role in model.roles] == ["reason"]
    assert (answer["status"], answer["answers"]) == ("unknown", [])
    assert "the ceiling of 1 calls is reached" in answer["reason"]
