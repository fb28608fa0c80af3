"""FastToG doubts: it goes back to headers that it did not choose, and judges again what does not fit (METHODS: FastToG)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from graphs.fasttog.fasttog_kit import NEVER, Script, answer_with, ask, chains, every, graph_of, holding, names

from thinkgraph.graphs.fasttog import bound
from thinkgraph.nodes.fasttog.backtrack import LEFT
from thinkgraph.nodes.fasttog.community_search import NOTHING_NEAR
from thinkgraph.prompts.parsed import ParsedPrompt
from thinkgraph.state.fasttog import FastTogSettings

WHERE = "Where does Start lead?"
FORK = [("Start", "to", "Left"), ("Left", "to", "Wrong"), ("Start", "to", "Right"), ("Right", "to", "Goal")]
TOWN = [("Osk", "population", "5000"), ("Osk", "mayor", "Ann")]
UNFIT = "the question asks for a person, and 5000 is a number"
AGAIN = "; it was given again all the same"


def in_turn(*scripts: Script) -> Script:
    """The first script for the first prompt, and so on; the last one for all that follow."""
    left: Iterator[Script] = iter(scripts)
    now = scripts[-1]

    def reply(prompt: ParsedPrompt) -> Any:
        return next(left, now)(prompt)

    return reply


def offered(model: Any, role: str = "fasttog.header_choice") -> list[list[str]]:
    """By prompt, the ends of the statements offered."""
    return [
        [item.triples[0].object for item in prompt.lines("options")] for prompt in model.asked if prompt.role == role
    ]


def test_backtrack_finds_the_answer_behind_another_header() -> None:
    replies = {
        "fasttog.extract_subjects": names("Start"),
        "fasttog.header_choice": in_turn(holding("Left"), holding("Right")),
        "fasttog.reason": answer_with("Goal"),
    }
    answer, model = ask(WHERE, replies, graph_of(*FORK), width=1, backtracks=2)
    assert (answer["answers"], answer["status"]) == (["Goal"], "grounded")
    assert chains(answer) == [[["Left"], ["Wrong"]], [["Right"], ["Goal"]]]
    found = answer["trace"]["data"]["chains"]
    assert [chain["chain"] for chain in found] == [1, 2], "chains keep their numbers"
    assert [c["what"] for c in found[1]["communities"]] == ["header", "chosen"]
    assert found[0]["ended"] == NOTHING_NEAR
    texts = [path["text"] for path in answer["evidence"]["paths"]]
    assert texts == ["(Start) -[to]-> (Right), ... and 1 more", "(Right) -[to]-> (Goal)"], (
        "the left chain is no evidence of it"
    )
    assert model.roles.count("fasttog.header_choice") == 2
    assert [item.label for item in model.asked[-1].lines("entities")] == ["Start"]
    once, _ = ask(WHERE, {**replies, "fasttog.header_choice": holding("Left")}, graph_of(*FORK), width=1, backtracks=0)
    assert once["status"] == "unknown"


def test_chains_that_were_left_are_in_the_trace_and_their_ends_are_not_offered_again() -> None:
    rows = [("Start", "to", end) for end in ("One", "Two", "Three", "Four")]
    replies = {"fasttog.extract_subjects": names("Start"), "fasttog.header_choice": lambda _: {"numbers": [1]}}
    answer, model = ask(WHERE, replies, graph_of(*rows), width=1, depth=0, backtracks=2)
    seen = offered(model)
    assert [len(options) for options in seen] == [4, 3, 2]
    assert seen[1] == [end for end in reversed(seen[0]) if end != seen[0][0]], "and in another order"
    heads = [chain[0][0] for chain in chains(answer)]
    assert heads == [options[0] for options in seen]
    assert [chain["ended"] for chain in answer["trace"]["data"]["chains"]] == [LEFT, LEFT, ""]
    assert f"chain 1 from Start ({LEFT})" in [line["text"] for line in answer["trace"]["lines"]]


def test_a_way_that_was_left_may_be_gone_again_to_another_end() -> None:
    rows = [("Start", "to", "Way"), ("Way", "to", "Wrong"), ("Way", "to", "Goal")]
    replies = {
        "fasttog.extract_subjects": names("Start"),
        "fasttog.community_prune": holding("Wrong", "Goal"),
        "fasttog.reason": answer_with("Goal"),
    }
    answer, model = ask(WHERE, replies, graph_of(*rows), depth=1, backtracks=1)
    assert answer["answers"] == ["Goal"]
    assert chains(answer) == [[["Way"], ["Wrong"]], [["Way"], ["Goal"]]]
    # The header that both chains have is known: it is not judged alone again.
    assert model.roles.count("fasttog.reason") == 3
    shown = [item.text for item in model.asked[-1].lines("evidence")]
    assert len(shown) == len(set(shown)) == 3
    assert len(answer["evidence"]["paths"]) == 2


def test_a_community_of_two_chains_is_shown_once_with_all_that_joins_it() -> None:
    rows = [("Start", "to", "A"), ("Start", "to", "B"), ("A", "to", "X"), ("B", "near", "A")]
    replies = {
        "fasttog.extract_subjects": names("Start"),
        "fasttog.header_choice": in_turn(holding("A"), holding("B")),
        "fasttog.community_prune": holding("X", "A"),
        "fasttog.reason": answer_with("A", "B"),
    }
    answer, model = ask(WHERE, replies, graph_of(*rows), width=1, depth=1, backtracks=1)
    assert chains(answer) == [[["A"], ["X"]], [["B"], ["A"]]]
    lines = (
        next(one for one in reversed(model.asked) if "Chain 1" in one.text("evidence")).text("evidence").splitlines()
    )
    assert [line for line in lines if line.startswith("Chain")] == ["Chain 1:", "Chain 2:"]
    (both,) = [line for line in lines if "Start) -[to]-> (A)" in line or "(A) <-[to]- (Start)" in line]
    assert "near" in both
    triples = {(one["subject"], one["object"]) for one in answer["evidence"]["triples"]}
    assert {("B", "A"), ("Start", "B")} <= triples
    assert ("A", "X") not in triples


def test_what_the_question_names_joins_the_subjects() -> None:
    rows = [("Left", "to", "One"), ("Right", "to", "Goal"), ("Rightful", "to", "Else")]
    replies = {"fasttog.extract_subjects": names("Left"), "fasttog.reason": answer_with("Goal")}
    question = "Where do Left and Right lead?"
    answer, _ = ask(question, replies, graph_of(*rows), depth=1, backtracks=1)
    assert [start["label"] for start in answer["trace"]["data"]["start"]] == ["Left", "Right"]
    assert answer["answers"] == ["Goal"]
    answer, _ = ask(question, replies, graph_of(*rows), depth=1, backtracks=1, subjects=1)
    assert [start["label"] for start in answer["trace"]["data"]["start"]] == ["Left"]


@pytest.mark.parametrize("backtracks", [0, 1, 2, 3])
def test_backtrack_goes_so_often_and_no_more(backtracks: int) -> None:
    rows = [(f"n{i}", "to", f"n{j}") for i in range(12) for j in range(12) if i < j]
    settings = {"width": 2, "depth": 2, "backtracks": backtracks}
    answer, model = ask("Where?", {"fasttog.extract_subjects": names("n0")}, graph_of(*rows), **settings)
    assert answer["status"] == "unknown"
    assert model.roles.count("fasttog.header_choice") == 1 + backtracks
    assert answer["rounds"] == 2 * (1 + backtracks), "the depth counts from where the search went back"
    assert len(model.roles) <= bound(FastTogSettings(community_size=1, **settings), answer)


def test_what_was_judged_is_not_judged_again() -> None:
    replies = {"fasttog.extract_subjects": names("Start"), "fasttog.header_choice": in_turn(every, holding())}
    _, model = ask(WHERE, replies, graph_of(*FORK), depth=0, backtracks=2)
    assert model.roles.count("fasttog.reason") == 1
    _, model = ask(WHERE, {**replies, "fasttog.header_choice": holding()}, graph_of(*FORK), backtracks=2)
    assert model.roles == ["fasttog.extract_subjects", *["fasttog.header_choice"] * 3]


def test_chains_that_did_not_grow_are_left_without_another_judgement_until_the_last() -> None:
    replies = {
        "fasttog.extract_subjects": names("Start"),
        "fasttog.header_choice": in_turn(holding("Left"), holding("Right")),
        "fasttog.community_prune": holding(),
    }
    answer, model = ask(WHERE, replies, graph_of(*FORK), width=1, ask_lone=True, backtracks=1)
    once = ["fasttog.header_choice", "fasttog.reason", "fasttog.community_prune"]
    assert model.roles == ["fasttog.extract_subjects", *once, *once, "fasttog.reason"]
    assert answer["status"] == "unknown"


def test_a_likely_answer_is_asked_for_where_going_back_finds_no_header() -> None:
    replies = {
        "fasttog.extract_subjects": names("Start"),
        "fasttog.header_choice": in_turn(holding("Left"), holding()),
        "fasttog.community_prune": holding(),
        "fasttog.reason": lambda _: {"sufficient": False, "answers": ["Left"], "evidence": [1]},
    }
    answer, model = ask(WHERE, replies, graph_of(*FORK), width=1, ask_lone=True, backtracks=1)
    assert (answer["answers"], answer["status"]) == (["Left"], "partial")
    assert model.roles[-2:] == ["fasttog.header_choice", "fasttog.reason"]


def mayor(prompt: ParsedPrompt) -> Any:
    """The number at first, the mayor once that is doubted."""
    wanted = "Ann" if "5000" in prompt.text("doubted answer") else "5000"
    return answer_with(wanted)(prompt)


def test_an_answer_that_does_not_fit_is_judged_a_second_time() -> None:
    kb = graph_of(*TOWN, literals=["population"])
    replies = {"fasttog.extract_subjects": names("Osk"), "fasttog.reason": mayor}
    answer, model = ask("Who is the mayor of Osk?", replies, kb, backtracks=1)
    assert model.roles[-2:] == ["fasttog.reason"] * 2
    first, second = model.asked[-2:]
    assert first.text("doubted answer") == ""
    assert [item.text for item in second.lines("doubted answer")] == [UNFIT]
    assert first.text("evidence") == second.text("evidence")
    assert (answer["answers"], answer["status"], answer["rounds"]) == (["Ann"], "grounded", 0)


def test_an_answer_that_never_fits_ends_unknown_with_the_reason() -> None:
    kb = graph_of(*TOWN, ("Osk", "in", "Varn"), literals=["population"])
    replies = {"fasttog.extract_subjects": names("Osk"), "fasttog.reason": answer_with("5000")}
    question = "Who is the mayor of Osk?"
    answer, model = ask(question, replies, kb, backtracks=2)
    assert (answer["status"], answer["answers"], answer["reason"]) == ("unknown", [], f"{UNFIT}{AGAIN}")
    assert len(model.roles) <= bound(FastTogSettings(community_size=1), answer)
    # Said too where the last round gives no answer at all.
    given = in_turn(answer_with("5000"), lambda _: NEVER)
    answer, _ = ask(question, {**replies, "fasttog.reason": given}, kb, backtracks=1)
    assert (answer["status"], answer["reason"]) == ("unknown", UNFIT)
    answer, model = ask(question, replies, kb, backtracks=0)
    assert (answer["status"], answer["answers"]) == ("partial", ["5000"])
    assert model.roles.count("fasttog.reason") == 1


def test_memory_is_asked_once_where_going_back_did_not_help() -> None:
    known = {"sufficient": True, "answers": ["Goal"], "evidence": []}
    replies = {"fasttog.extract_subjects": names("Start"), "recall.direct": known}
    answer, model = ask(WHERE, replies, graph_of(*FORK), depth=1, width=1, backtracks=2, own_knowledge=True)
    assert answer["status"] == "memory"
    assert model.roles.count("recall.direct") == 1
    assert model.roles[-1] == "recall.direct"


def test_what_spoke_against_an_answer_is_told_where_memory_has_none_either() -> None:
    """Its reason was that the evidence does not hold the answer, as if none had been given."""
    kb = graph_of(*TOWN, ("Osk", "in", "Varn"), literals=["population"])
    replies = {"fasttog.extract_subjects": names("Osk"), "fasttog.reason": answer_with("5000")}
    answer, model = ask("Who is the mayor of Osk?", replies, kb, backtracks=1, own_knowledge=True)
    assert model.roles[-1] == "recall.direct"
    assert (answer["status"], answer["answers"], answer["reason"]) == ("unknown", [], f"{UNFIT}{AGAIN}")


def test_evidence_stays_within_what_a_run_can_hold() -> None:
    rows = [("Start", "to", f"n{i}") for i in range(150)]
    replies = {"fasttog.extract_subjects": names("Start"), "fasttog.reason": NEVER}
    answer, model = ask(WHERE, replies, graph_of(*rows), width=12, depth=0, backtracks=9)
    assert len(chains(answer)) == 120
    assert len(model.asked[-1].lines("evidence")) == 95
