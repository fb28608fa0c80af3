"""The mind map: what it takes in, in which order its questions can be answered, how it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkgraph.nodes.coggrag.mind_map import acyclic, grow, plant
from thinkgraph.nodes.coggrag.tree import (
    ROOT,
    AnswerOrder,
    answer_order,
    draw,
    in_order,
    joined,
    listed,
    put_in,
    references,
    spelt_out,
    waiting,
)
from thinkgraph.state.coggrag import Attempt, CogGragSettings, MindNode, Solution, SubQuestion

SETTINGS = CogGragSettings()


def part(question: str, *refers: int, is_open: bool = False) -> SubQuestion:
    return SubQuestion(question=question, open=is_open, refers=list(refers))


def grown(*splits: dict[str, Sequence[SubQuestion]], question: str = "Root?", **settings: Any) -> tuple[Any, list[str]]:
    """The map after several levels of decomposition, and what was said."""
    given_settings = CogGragSettings(**settings)
    nodes: Any = {ROOT: plant(question, given_settings)}
    notes: list[str] = []
    for level in splits:
        growth = grow(nodes, level, given_settings)
        nodes = growth.nodes
        notes += growth.notes
    return nodes, notes


def solution(*answers: str, **more: Any) -> Solution:
    values: dict[str, Any] = {
        "asked": "",
        "wave": 1,
        "answers": list(answers),
        "attempts": [Attempt(answers=list(answers), right=None, judge="")],
        "verified": None,
        "supported": True,
        "cited": [],
        "moved": "",
        "rests": [],
        "entities": {},
        "chunks": [],
        "why": "" if answers else "nothing was found",
    }
    return Solution(**{**values, **more})


@pytest.mark.parametrize(
    ("refers", "kept", "broken"),
    [
        ([[2], [1]], [[], [1]], [(1, 2)]),
        ([[1], [2]], [[], []], [(1, 1), (2, 2)]),
        ([[3], [1], [2]], [[], [1], [2]], [(1, 3)]),
        ([[2], [3], []], [[2], [3], []], []),
        ([[], [1], [1, 2]], [[], [1], [1, 2]], []),
        # The reference to an earlier sibling (3 to 1) stays; what closes a circle with it goes.
        ([[2, 3], [3], [1]], [[2], [], [1]], [(1, 3), (2, 3)]),
    ],
)
def test_circles_are_broken_the_same_way_each_time(
    refers: list[list[int]], kept: list[list[int]], broken: list[tuple[int, int]]
) -> None:
    assert acyclic(refers) == (kept, broken)


@given(st.integers(1, 6).flatmap(lambda n: st.lists(st.lists(st.integers(1, n), max_size=4), min_size=n, max_size=n)))
def test_what_is_left_has_no_circle_and_nothing_is_lost_unsaid(refers: list[list[int]]) -> None:
    kept, broken = acyclic(refers)
    done: set[int] = set()
    for _ in refers:
        done |= {number for number, targets in enumerate(kept, start=1) if set(targets) <= done}
    assert len(done) == len(refers)
    edges = {(own, to) for own, targets in enumerate(kept, start=1) for to in targets}
    assert edges | set(broken) == {(own, to) for own, targets in enumerate(refers, start=1) for to in targets}
    assert not edges & set(broken)


def test_children_hang_under_their_question_and_refer_to_each_other() -> None:
    nodes, notes = grown({"0": [part("Who built it?"), part("Where was #1 born?", 1)]})
    assert in_order(nodes) == ["0", "0.1", "0.2"]
    assert nodes["0"]["state"] == "continue"
    assert nodes["0.2"] == MindNode(
        id="0.2", question="Where was #1 born?", level=1, state="end", parent="0", refers={"1": "0.1"}
    )
    assert waiting(nodes) == []
    assert notes == []


def test_a_reference_that_is_written_but_not_listed_counts() -> None:
    nodes, _ = grown({"0": [part("Who built it?"), part("Where was #1 born?"), part("Who is #9?")]})
    assert nodes["0.2"]["refers"] == {"1": "0.1"}
    assert nodes["0.3"]["refers"] == {}


def test_a_reference_needs_no_space_behind_it_in_scripts_that_have_none() -> None:
    nodes, _ = grown(
        {"0": [part("\u8c01\u5efa\u9020\u4e86\u5b83?"), part("#1\u7684\u9996\u90fd?"), part("Who had the #1st?")]}
    )
    assert [nodes[key]["refers"] for key in ("0.2", "0.3")] == [{"1": "0.1"}, {}]
    assert listed(nodes)[1][2] == "?2\u7684\u9996\u90fd?"
    assert put_in(nodes, "0.2", {"0.1": solution("\u4e2d\u56fd")}) == "\u4e2d\u56fd\u7684\u9996\u90fd?"


def test_a_number_of_the_question_itself_is_a_word_unless_it_is_listed() -> None:
    question = "Who wrote the #1 hit of the singer of Skyfall?"
    parts = [part("Who is the singer of Skyfall?"), part("Which song is her #1 hit?"), part("Who wrote #2?")]
    nodes, _ = grown({"0": parts}, question=question)
    assert [nodes[key]["refers"] for key in ("0.1", "0.2", "0.3")] == [{}, {}, {"2": "0.2"}]
    nodes, _ = grown({"0": [parts[0], part("Which song is the #1 hit?", 1)]}, question=question)
    assert nodes["0.2"]["refers"] == {"1": "0.1"}


def test_circles_are_said() -> None:
    nodes, notes = grown({"0": [part("What is #2?", 2), part("What is #1?", 1), part("What is #3?", 3)]})
    assert nodes["0.1"]["refers"] == {}
    assert nodes["0.2"]["refers"] == {"1": "0.1"}
    assert notes == [
        '"What is #2?" cannot wait for #2: that would be a circle',
        '"What is #3?" cannot wait for #3: that would be a circle',
    ]


def test_a_question_that_comes_back_is_simple() -> None:
    nodes, notes = grown({"0": [part("  root? ")]})
    assert list(nodes) == ["0"]
    assert nodes["0"]["state"] == "end"
    assert notes == []


def test_repeats_are_asked_once() -> None:
    nodes, notes = grown(
        {"0": [part("Who is A?", is_open=True), part("Who is  a"), part("Where was #2 born?", 2), part("Root")]},
        {"0.1": [part("Root?"), part("Who is A?"), part("Who knows A?")]},
    )
    assert in_order(nodes) == ["0", "0.1", "0.1.3", "0.3"]
    # The twin's number still leads to the one that stayed.
    assert nodes["0.3"]["refers"] == {"2": "0.1"}
    assert len([note for note in notes if "repeats a question above" in note]) == 3
    assert '"Who is a" stands there twice' in notes


@pytest.mark.parametrize(("one", "other"), [("C++", "C#"), ("the album +", "the album \u00f7")])
def test_names_told_apart_by_a_sign_alone_are_no_repeat(one: str, other: str) -> None:
    nodes, notes = grown(
        {"0": [part(f"Who made {one}?"), part(f"Who made {other}?"), part("Are #1 and #2 one?", 1, 2)]}
    )
    assert nodes["0.3"]["refers"] == {"1": "0.1", "2": "0.2"}
    assert notes == []


def test_the_same_words_about_other_answers_are_no_repeat() -> None:
    nodes, _ = grown(
        {"0": [part("Who is A?", is_open=True), part("Who is B?", is_open=True)]},
        {
            "0.1": [part("Where is A?"), part("Who rules #1?", 1)],
            "0.2": [part("Where is B?"), part("Who rules #1?", 1)],
        },
    )
    assert [nodes[key]["refers"] for key in ("0.1.2", "0.2.2")] == [{"1": "0.1.1"}, {"1": "0.2.1"}]


def test_a_question_asked_elsewhere_is_not_broken_down_again() -> None:
    nodes, notes = grown(
        {"0": [part("A?", is_open=True), part("B?", is_open=True)]}, {"0.1": [part("B?", is_open=True)]}
    )
    assert nodes["0.1.1"]["state"] == "end"
    assert notes == ['"B?" is not broken down: it stands elsewhere too']


def test_depth_and_number_are_limited() -> None:
    nodes, notes = grown({"0": [part("A?", is_open=True)]}, {"0.1": [part("B?", is_open=True)]}, depth=2)
    assert nodes["0.1.1"]["state"] == "end"
    assert notes == ['"B?" is not broken down: level 2 is the last']
    nodes, notes = grown({"0": [part(f"Number {n}?") for n in range(1, 9)]}, questions=4)
    assert in_order(nodes) == ["0", "0.1", "0.2", "0.3"]
    assert notes[0] == '"Number 4?" is beyond the limit of 4 questions'
    assert len(notes) == 5


def test_the_ablation_without_decomposition_is_the_question_alone() -> None:
    assert plant("q", CogGragSettings(decompose=False))["state"] == "end"
    assert plant("q", CogGragSettings(questions=1))["state"] == "end"


def test_an_unfinished_split_leaves_the_question_whole() -> None:
    nodes, _ = grown({"0": []})
    assert nodes["0"]["state"] == "end"


def test_questions_are_answered_bottom_up_and_side_by_side() -> None:
    nodes, _ = grown(
        {"0": [part("A?", is_open=True), part("B?", is_open=True), part("C?")]},
        {"0.1": [part("A1?"), part("A2?")], "0.2": [part("B1?")]},
    )
    order = answer_order(nodes)
    # C waits for the deeper level, whose answers it is to see.
    assert order.waves == [["0.1.1", "0.1.2", "0.2.1"], ["0.1", "0.2", "0.3"], ["0"]]
    assert order.sees["0.3"] == ["0.1.1", "0.1.2", "0.2.1"]
    assert order.sees["0"] == ["0.1", "0.1.1", "0.1.2", "0.2", "0.2.1", "0.3"]


def test_references_win_over_levels_and_are_inherited() -> None:
    nodes, _ = grown(
        {"0": [part("A?"), part("B of #1?", 1, is_open=True)]}, {"0.2": [part("B1?"), part("B2 of #1?", 1)]}
    )
    assert references(nodes, "0.2.1") == ["0.1"]
    assert references(nodes, "0.2.2") == ["0.1", "0.2.1"]
    order = answer_order(nodes)
    assert order.waves == [["0.1"], ["0.2.1"], ["0.2.2"], ["0.2"], ["0"]]
    assert order.sees["0.1"] == []


def test_families_that_would_wait_for_each_other_do_not() -> None:
    # Each of two questions that are referred to would wait for the other's dependants.
    nodes, notes = grown(
        {
            "0": [
                part("P of #2?", 2, is_open=True),
                part("Q?"),
                part("R of #4?", 4, is_open=True),
                part("S?"),
            ]
        },
        {"0.1": [part("p?")], "0.3": [part("r?")]},
    )
    assert notes == []
    order = answer_order(nodes)
    assert order.waves == [["0.2", "0.4"], ["0.1.1", "0.3.1"], ["0.1", "0.3"], ["0"]]
    assert order.sees["0.2"] == []


def chain_of(order: AnswerOrder) -> list[str]:
    return [key for wave in order.waves for key in wave]


@st.composite
def maps(draw_: st.DrawFn) -> Any:
    """Any mind map that decompositions could lead to."""
    nodes: Any = {ROOT: plant("Root?", SETTINGS)}
    for _ in range(3):
        splits = {}
        for key in waiting(nodes):
            count = draw_(st.integers(0, 4))
            splits[key] = [
                part(
                    f"{key} {n}?",
                    *draw_(st.lists(st.integers(1, max(count, 1)), max_size=2)),
                    is_open=draw_(st.booleans()),
                )
                for n in range(count)
            ]
        nodes = grow(nodes, splits, CogGragSettings(questions=20)).nodes
    return nodes


@given(maps())
def test_every_question_comes_once_after_all_that_it_needs(nodes: Any) -> None:
    order = answer_order(nodes)
    flat = chain_of(order)
    assert sorted(flat) == sorted(nodes)
    assert flat[-1] == ROOT
    assert order.waves[-1] == [ROOT]
    place = {key: number for number, wave in enumerate(order.waves) for key in wave}
    for key, node in nodes.items():
        below = [other for other in nodes if nodes[other]["parent"] == key]
        needs = {*below, *references(nodes, key)}
        assert needs <= set(order.sees[key])
        assert all(place[other] < place[key] for other in order.sees[key])
        # What it sees beside that is of a deeper level (section 4.3).
        assert all(nodes[other]["level"] > node["level"] for other in set(order.sees[key]) - needs)
    assert len(nodes) <= 20


@given(maps())
def test_whatever_is_ready_leads_to_the_root(nodes: Any) -> None:
    solved: dict[str, Solution] = {}
    rounds = 0
    while ROOT not in solved:
        now = answer_order(nodes).ready(solved)
        assert now
        solved.update(dict.fromkeys(now, solution("x")))
        rounds += 1
    assert rounds == len(answer_order(nodes).waves)


def test_waves_follow_levels_and_references_not_the_number_of_questions() -> None:
    for count in (2, 8, 14):
        flat, _ = grown({"0": [part(f"{n}?") for n in range(count)]})
        assert len(answer_order(flat).waves) == 2
        chained, _ = grown({"0": [part(f"{n}?", *([n] if n else [])) for n in range(count)]})
        assert len(answer_order(chained).waves) == count + 1


def test_references_are_put_into_words() -> None:
    nodes, _ = grown({"0": [part("Who built it?"), part("Where was #1 born?", 1), part("Who rules #2 and #7?", 2)]})
    ids, texts = listed(nodes)
    assert ids == ["0", "0.1", "0.2", "0.3"]
    assert texts == ["Root?", "Who built it?", "Where was ?2 born?", "Who rules ?3 and #7?"]
    assert spelt_out(nodes, "0.3") == (
        'Who rules [the answer to "Where was [the answer to "Who built it?"] born?"] and #7?'
    )
    solved = {"0.1": solution("Ann", "Bob", "Cy"), "0.2": solution()}
    assert put_in(nodes, "0.2", solved) == "Where was Ann, Bob and Cy born?"
    assert put_in(nodes, "0.3", solved) == "Who rules #2 and #7?"
    # What is broken down says its references in words; below it they are put in all the same.
    below, _ = grown(
        {"0": [part("Who built it?"), part("Where was #1 born?", 1, is_open=True)]},
        {"0.2": [part('Which town knows [the answer to "Who built it?"]?')]},
    )
    assert listed(below)[1][3] == "Which town knows ?2?"
    assert put_in(below, "0.2.1", solved) == "Which town knows Ann, Bob and Cy?"
    # Where the words for one reference stand within those for another, too.
    below, _ = grown(
        {"0": [part("Who built it?"), part("Where was #1 born?", 1), part("What links #1 to #2?", 1, 2, is_open=True)]},
        {"0.3": [part('Who rules [the answer to "Where was [the answer to "Who built it?"] born?"]?')]},
    )
    assert listed(below)[1][4] == "Who rules ?3?"
    assert put_in(below, "0.3.1", {"0.1": solution("Ann"), "0.2": solution("Rome")}) == "Who rules Rome?"
    many = {"0.1": solution(*(f"N{n}" for n in range(40)))}
    assert put_in(nodes, "0.2", many).endswith("N29 and 10 more born?")


def test_a_chain_of_as_many_questions_as_a_map_may_have_is_spelt_out() -> None:
    parts = [SubQuestion(question=f"Who is #{at}?", open=False, refers=[at] if at else []) for at in range(499)]
    settings = CogGragSettings(questions=500)
    nodes = grow({ROOT: plant("Who is last?", settings)}, {ROOT: parts}, settings).nodes
    assert len(nodes) == 500
    assert spelt_out(nodes, "0.499").startswith('Who is [the answer to "Who is [the answer to ')
    assert listed(nodes)[1][-1] == "Who is ?499?"


def test_questions_that_refer_to_all_before_them_are_spelt_out_once_each() -> None:
    every = [part(f"What follows from the first {n}?", *range(1, n + 1)) for n in range(40)]
    nodes, _ = grown({"0": every}, questions=50)
    assert listed(nodes)[1][40] == "What follows from the first 39?"


@pytest.mark.parametrize("number", ["01", "\u0661"])
def test_a_reference_in_any_digits_is_put_into_words(number: str) -> None:
    nodes, _ = grown({"0": [part("Who built it?"), part(f"Where was #{number} born?", 1)]})
    assert listed(nodes)[1][2] == "Where was ?2 born?"
    assert spelt_out(nodes, "0.2") == 'Where was [the answer to "Who built it?"] born?'
    assert put_in(nodes, "0.2", {"0.1": solution("Ann")}) == "Where was Ann born?"


def test_the_map_is_drawn_as_far_as_it_is_answered() -> None:
    nodes, _ = grown({"0": [part("Who built it?"), part("Where was #1 born?", 1)]})
    twice = [Attempt(answers=["Bob"], right=False, judge="verifier"), Attempt(answers=["Ann"], right=None, judge="")]
    solved = {"0.1": solution("Ann", attempts=twice, verified=False), "0.2": solution()}
    trace = draw(nodes, solved, {"local": [{"parts": ["it"], "of": ["0.1"], "level": "local"}]})
    assert trace["title"] == "mind map"
    assert [(line["level"], line["text"]) for line in trace["lines"]] == [
        (0, "Root?"),
        (1, "#1 Who built it? → Ann (unverified, 1 re-think)"),
        (1, "#2 Where was #1 born? → I don't know: nothing was found"),
    ]
    assert [node["parent"] for node in trace["data"]["nodes"]] == ["", "0", "0"]
    assert trace["data"]["nodes"][2]["refers"] == {"1": "0.1"}
    assert trace["data"]["nodes"][1]["attempts"] == twice
    assert trace["data"]["keys"][0]["parts"] == ["it"]


def test_a_long_question_leaves_room_for_its_outcome() -> None:
    nodes = {ROOT: plant("Why? " * 60, SETTINGS)}
    text = draw(nodes, {ROOT: solution("because", verified=True)}, {})["lines"][0]["text"]
    assert text.endswith("… → because (verified)")
    assert len(text) < 100
    assert draw(nodes, {}, {})["lines"][0]["text"].startswith("Why? Why?")


def test_of_a_long_list_thirty_answers_stand_in_a_question_and_the_number_of_others() -> None:
    assert joined(["Lima"]) == "Lima"
    assert joined([f"Land {n}" for n in range(30)]).endswith("Land 28 and Land 29")
    assert joined([f"Land {n}" for n in range(33)]).endswith("Land 28, Land 29 and 3 more")
