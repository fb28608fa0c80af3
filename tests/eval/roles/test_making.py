from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from thinkgraph.errors import UsageError
from thinkgraph.eval.bench_setup import bench_model, load_questions
from thinkgraph.eval.gold import Gold
from thinkgraph.eval.perfect.chooser import PerfectChooser
from thinkgraph.eval.questions import Question
from thinkgraph.eval.roles.asking import put_to
from thinkgraph.eval.roles.cases import Case, first_of_each, read_cases, save_cases, sort_of
from thinkgraph.eval.roles.lines import another_order, lines_of, reordered, replaced
from thinkgraph.eval.roles.main_path import MAIN_PATH
from thinkgraph.eval.roles.making import Maker
from thinkgraph.eval.roles.recording import Oracle, Recorded
from thinkgraph.eval.roles.sampling import can_have_cases, in_turn, make_cases
from thinkgraph.eval.roles.table import rows_of
from thinkgraph.graphs.build import offline_model
from thinkgraph.models.roles import Models
from thinkgraph.prompts.kinds import Judgement, Shape
from thinkgraph.prompts.library import PromptLibrary, builtin_roles
from thinkgraph.prompts.lines import numbered
from thinkgraph.state.settings import RunSettings
from thinkgraph.tools.knowledge import Knowledge

pytestmark = pytest.mark.xdist_group("role_cases")
"""The cases are made once, by one worker."""
ROLES = (
    "tog2.relation_prune",
    "fiske.extract_clues",
    "fiske.r_mapping",
    "fiske.conclude",
    "coggrag.decompose",
    "coggrag.verify",
)
SETTINGS = RunSettings(max_calls=None)


@pytest.fixture(scope="module")
def world(by_words: None) -> Knowledge:
    return Knowledge.open("world")


@pytest.fixture(scope="module")
def cases(world: Knowledge) -> list[Case]:
    questions = load_questions("world")
    chooser = bench_model("perfect", questions, world)
    assert isinstance(chooser, PerfectChooser)
    return make_cases(in_turn(questions), ROLES, knowledge=world, chooser=chooser, cases=4, seed=0)


def put(model: str, cases: list[Case], world: Knowledge, folder: Path | None = None):
    made = bench_model(model, load_questions("world"), world)
    models = Models(made, offline=offline_model(world))
    return put_to(model, models, cases, knowledge=world, prompts=PromptLibrary(), settings=SETTINGS, folder=folder)


def test_every_role_has_its_cases_and_judges_have_both_sorts(cases: list[Case]) -> None:
    by_role = {role: [case for case in cases if case.role == role] for role in ROLES}
    assert {role: len(found) for role, found in by_role.items()} == dict.fromkeys(ROLES, 4)
    assert sorted(case.right["sufficient"] for case in by_role["fiske.conclude"]) == [False, False, True, True]
    assert sorted(case.right["right"] for case in by_role["coggrag.verify"]) == [False, False, True, True]
    assert len({case.id for case in cases}) == len(cases)


def test_evidence_that_does_not_suffice_has_no_gold_line(cases: list[Case]) -> None:
    judged = [case for case in cases if case.role == "fiske.conclude"]
    gold = {
        (case.question, line)
        for case in judged
        if case.right["sufficient"]
        for line in lines_of(case.inputs["evidence"])
        if any(f"({answer})" in line for answer in case.right["answers"])
    }
    assert gold
    for case in judged:
        if not case.right["sufficient"]:
            shown = lines_of(case.inputs["evidence"])
            assert shown
            assert not gold & {(case.question, line) for line in shown}
            assert case.bounds.evidence == len(shown)


def test_perfect_is_right_everywhere_and_less_so_where_it_errs(cases: list[Case], world: Knowledge) -> None:
    asked = {name: put(name, cases, world) for name in ("perfect", "perfect:0.5", "offline")}
    rows = rows_of(cases, asked, PromptLibrary())
    whole = [row for row in rows if row["model"] == "perfect"]
    for row in whole:
        told = [row[name] for name in ("recall", "precision", "none", "same", "can", "must")]
        assert [share for share in told if share is not None] == pytest.approx(
            [1.0] * sum(s is not None for s in told)
        ), row
        assert row["wrong"] in {None, 0.0}
        assert row["readable"] == 1.0
        assert row["holds"]
    half = [row for row in rows if row["model"] == "perfect:0.5"]
    assert sum(row["holds"] for row in half) < len(half)
    assert len(rows) == 3 * len(ROLES)


def test_a_case_file_holds_the_cases_whole(cases: list[Case], tmp_path: Path) -> None:
    save_cases(tmp_path / "cases.jsonl", cases)
    assert read_cases(tmp_path / "cases.jsonl") == cases
    two = first_of_each(cases, ["coggrag.verify"], 2)
    assert [case.right["right"] for case in two] == [True, False]
    with pytest.raises(UsageError, match=r"these cases have none of rank\.texts"):
        first_of_each(cases, ["rank.texts"], 2)
    (tmp_path / "bad.jsonl").write_text('{"id": "a"}\n', "utf-8")
    with pytest.raises(UsageError, match=r'bad.jsonl, line 1: field "inputs" is missing'):
        read_cases(tmp_path / "bad.jsonl")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, 'line 2: field "id" repeats "a"'),
        (
            {"id": "b", "right": {}},
            'line 2: field "right" must have choices',
        ),
        (
            {"id": "b", "role": "recall.cot", "right": {"sufficient": True, "answers": ["x"], "aliases": [[], []]}},
            "one list of aliases for each",
        ),
        # These ended as internal errors.
        ({"id": "b", "right": {"choices": 5}}, "field \"right\" is wrong under 'choices'"),
        ({"id": "b", "right": {"choices": [[1, 2, 3]]}}, "field \"right\" is wrong under 'choices'"),
        (
            {"id": "b", "right": {"sufficient": True, "answers": None, "aliases": [["x"]]}},
            "field \"right\" is wrong under 'answers'",
        ),
        (
            {"id": "b", "right": {"sufficient": True, "answers": ["x"], "aliases": None}},
            "field \"right\" is wrong under 'aliases'",
        ),
        ({"id": "b", "right": {"right": "yes"}}, "field \"right\" is wrong under 'right'"),
        ({"id": "b", "role": "rag.reason"}, 'field "inputs" must hold evidence'),
        ({"id": "b", "role": "recall.cot"}, 'field "right" must have aliases, answers, sufficient'),
        (
            {"id": "b", "role": "coggrag.decompose", "right": {"names": [], "words": []}},
            'field "right" must have least, most, refers',
        ),
        ({"id": "b", "role": "fiske.r_mapping"}, 'field "inputs" must hold clues'),
        ({"id": "b", "right": {"choices": [3]}}, "must choose by the numbers of its lines: 3 is none"),
        ({"id": "b", "right": {"choices": [[1, 2]]}}, r"must choose by the numbers of its lines: \[1, 2\] is none"),
        ({"id": "b", "order": [2, 2]}, 'field "order" must be a list of the options\' numbers'),
        ({"id": "b", "order": [[1], 2]}, 'field "order" must be a list of the options\' numbers'),
    ],
)
def test_a_case_that_cannot_be_scored_is_named(tmp_path: Path, change: dict[str, Any], fault: str) -> None:
    inputs = {"question": "Who?", "options": "[1] (A)\n[2] (B)"}
    case = {"id": "a", "role": "tog2.topic_prune", "question": "q", "type": "", "inputs": inputs, "shape": {}}
    rows: list[dict[str, Any]] = [{**case, "right": {"choices": [1]}, "order": [2, 1]}]
    rows.append({**rows[0], **change})
    file = tmp_path / "cases.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with pytest.raises(UsageError, match=fault):
        read_cases(file)


def test_a_second_order_shows_the_same_options(cases: list[Case]) -> None:
    ordered = [case for case in cases if case.order]
    assert {case.role for case in ordered} == {"tog2.relation_prune", "fiske.r_mapping"}
    for case in ordered:
        turned = lines_of(reordered(case.inputs["options"], case.order))
        assert sorted(turned) == sorted(lines_of(case.inputs["options"]))
        assert turned[case.order.index(1)] == lines_of(case.inputs["options"])[0]


def test_the_halves_share_no_question_whatever_the_seed() -> None:
    questions = load_questions("world")
    first = {question.id for question in in_turn(questions, half="choose", seed=1)}
    second = {question.id for question in in_turn(questions, half="hold-out", seed=2)}
    assert not first & second
    assert len(first) + len(second) == len(questions)
    types = [question.type for question in in_turn(questions)]
    assert len(set(types[: len(set(types))])) == len(set(types))


def test_the_main_path_can_be_measured() -> None:
    assert all(sort_of(PromptLibrary().get(role)) for role in MAIN_PATH)


class _Judges:
    """Knows which line holds a question's answer: the one about its country's capital."""

    prompts = PromptLibrary()

    def __call__(self, role: str, inputs: Mapping[str, str], shape: Shape) -> Judgement:
        del role, shape
        country = inputs["question"].rpartition(" ")[2].rstrip("?")
        lines = enumerate(lines_of(inputs["evidence"]), start=1)
        held = [number for number, line in lines if line.startswith(f"({country}) -[capital]")]
        return Judgement(
            sufficient=bool(held), answers=[f"City of {country}"] * bool(held), evidence=held, clues="", query=""
        )


def test_gold_lines_are_replaced_by_the_nearest_of_other_questions_by_words() -> None:
    countries = ("Panama", "Peru", "Chile", "Cuba")
    questions = [
        Question(f"q{at}", f"What is the capital of {name}?", (f"City of {name}",)) for at, name in enumerate(countries)
    ]
    # Another question's evidence names each country and the word capital, in one line among eight.
    evidence = {
        question.id: numbered(
            [
                f"({countries[at]}) -[capital]-> (City of {countries[at]})",
                f"({countries[at - 1]}) -[former capital]-> (Old Town {at})",
                *(f"(River {at}{other}) -[mouth]-> (Sea {other})" for other in range(6)),
            ]
        )
        for at, question in enumerate(questions)
    }
    golds = {question.id: Gold(question.question, question.answers, "chain") for question in questions}
    role = "kg_rag.reason"
    maker = Maker([role], golds, cast("Oracle", _Judges()), cases=8, seed=0)
    for question in questions:
        inputs = {"question": question.question, "evidence": evidence[question.id], "task": ""}
        maker.add(question, [Recorded(role, inputs, Shape(evidence=8))])
    cut = [case for case in maker.cases() if "/cut" in case.id]
    assert [case.question for case in cut] == [question.id for question in questions]
    for at, case in enumerate(cut):
        own = lines_of(evidence[case.question])[1:]
        near = f"({countries[at]}) -[former capital]-> (Old Town {(at + 1) % len(countries)})"
        assert lines_of(case.inputs["evidence"]) == [*own, near]


def test_roles_that_no_run_here_gives_cases_of_are_known() -> None:
    measured = [PromptLibrary().get(role) for role in builtin_roles()]
    never = {prompt.role for prompt in measured if sort_of(prompt) and not can_have_cases(prompt)}
    assert never == {"closing.verify", "recall.cot", "recall.direct", "search_agent.search", "tog2.precheck"}


def test_lines_are_replaced_and_numbered_anew() -> None:
    block = "Chain 1:\n[1] a\n[2] b\nChain 2:\n[3] c"
    assert replaced(block, [2]) == "Chain 1:\n[1] a\nChain 2:\n[2] c"
    assert replaced(block, [3], ["d"]) == "Chain 1:\n[1] a\n[2] b\nChain 2:\n[3] d"
    assert replaced(block, [1, 2]) == "Chain 2:\n[1] c"
    assert replaced(block, [1, 2, 3]) == ""
    assert reordered("[1] a\n[2] b\n[3] c", (3, 1, 2)) == "[1] c\n[2] a\n[3] b"
    assert another_order(2, random.Random(0)) == (2, 1)
    assert another_order(1, random.Random(0)) == ()


def test_decisions_that_a_run_joins_are_measured_apart_and_joined(world: Knowledge) -> None:
    questions = load_questions("world")
    chooser = bench_model("perfect", questions, world)
    assert isinstance(chooser, PerfectChooser)
    for role in ("tog2.relation_prune", "tog2.steer", "tog.entity_prune"):
        made = make_cases(in_turn(questions), [role], knowledge=world, chooser=chooser, cases=2, seed=0)
        assert [case.role for case in made] == [role] * 2
