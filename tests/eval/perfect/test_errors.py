"""The errors of a chooser: where, how and how often."""

from __future__ import annotations

import pytest
from eval.perfect.chooser_kit import GOLDS, hop, raw, reason

from thinkgraph.errors import UsageError
from thinkgraph.eval.perfect.chooser import PerfectChooser
from thinkgraph.eval.perfect.errors import Slip, parse_slips, slips_at
from thinkgraph.prompts.lines import path_line

BUYER = "capital of the biggest buyer from Kenya?"
OPTIONS = "[1] (Kenya) -[largest city]-> x1\n[2] (Kenya) -[import partner]-> x2\n[3] (Kenya) -[export partner]-> x2"
ASKED = f"## Question\n{BUYER}\n\n## Options\n{OPTIONS}"
PATH = path_line("Kenya", hop("Kenya", "export_partner")[:1] + hop("Uganda", "capital"))
NEAR = path_line("Kenya", hop("Kenya", "shares_border_with")[1:])


def test_errors_are_read_from_the_name_of_the_model() -> None:
    assert parse_slips("", "perfect") == ()
    assert parse_slips("0.2", "m") == (Slip(0.2),)
    assert parse_slips("pick=0.2, judge=0.1", "m") == (Slip(0.2, "pick"), Slip(0.1, "judge"))
    assert parse_slips("confusable=0.2", "m") == (Slip(0.2, "", "confusable"),)
    assert parse_slips("tog2.reason/bridge=1", "m") == (Slip(1.0, "tog2.reason", "bridge"),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2", "must be a number from 0 to 1"),
        ("x", "must be a number from 0 to 1"),
        ("pick=", "must be a number from 0 to 1"),
        ("0.1,", "must be a number from 0 to 1"),
        ("nan", "must be a number from 0 to 1"),
        ("guess=0.1", "'guess' is no role, no kind of reply"),
        ("pick/often=0.1", "'often' is no way to err"),
        ("pick/=0.1", "is no way to err"),
        ("=0.1", "is no way to err"),
    ],
)
def test_errors_that_cannot_be_read_are_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_slips(text, "perfect:" + text)


def test_the_nearest_rule_holds_and_ways_go_to_the_kinds_that_have_them() -> None:
    slips = parse_slips("0.1,pick=0.2,tog2=0.3,tog2.reason=0.4,early=0.5", "m")
    assert slips_at(slips, "tog2.reason", "judge") == [Slip(0.4, "tog2.reason")]
    assert slips_at(slips, "tog2.topic_prune", "pick") == [Slip(0.2, "pick")]
    assert slips_at(slips, "tog2.relation_prune", "score") == [Slip(0.3, "tog2")]
    assert slips_at(slips, "fiske.conclude", "judge") == [Slip(0.1), Slip(0.5, "", "early")]
    assert slips_at(slips, "fiske.r_mapping", "pairs") == [Slip(0.1)]


@pytest.mark.parametrize(
    ("way", "numbers"), [("confusable", [2]), ("missing", []), ("extra", [1, 2, 3]), ("none", []), ("early", [3])]
)
def test_choices_err_in_their_ways(way: str, numbers: list[int]) -> None:
    slips = parse_slips(f"{way}=1", "m")
    chooser = PerfectChooser(GOLDS, slips=slips, near=lambda _, texts: ["partner" in text for text in texts])
    assert sorted(raw(chooser, "pick", ASKED)) == numbers


def test_judgements_err_in_their_ways() -> None:
    def judged(way: str, *lines: str) -> tuple[bool, list[str], list[int]]:
        found = reason(PerfectChooser(GOLDS, slips=[Slip(1.0, "judge", way)]), BUYER, *lines)  # type: ignore[arg-type]
        return found["sufficient"], found["answers"], found["evidence"]

    right = (True, ["Kampala"], [1])
    assert judged("never", PATH) == (False, [], [])
    assert judged("citation", PATH, NEAR) == (True, ["Kampala"], [2])
    assert judged("citation", PATH) == right
    assert judged("early", PATH) == right
    sufficient, answers, cited = judged("early", NEAR)
    assert (sufficient, cited, answers[0] in {"Kenya", "Tanzania"}) == (True, [1], True)
    sufficient, answers, _ = judged("name", PATH, NEAR)
    assert sufficient
    assert answers[0] in {"Kenya", "Uganda", "Tanzania"}
    assert judged("elsewhere", PATH, NEAR) == (True, ["Tanzania"], [1])
    assert judged("elsewhere", PATH) == right
    assert judged("number", PATH, NEAR) == right, "the right answer is no number"
    for way in ("bridge", "name"):
        assert judged(way, NEAR)[:2] == (False, [])
    assert judged("bridge", PATH, NEAR)[1][0] in {"Kenya", "Uganda"}


def test_a_confusable_answer_is_the_shown_thing_nearest_to_the_right_one() -> None:
    def near(wanted: str, texts: list[str]) -> list[float]:
        assert wanted == "Kampala"
        return [float(text == "Tanzania") for text in texts]

    chooser = PerfectChooser(GOLDS, slips=[Slip(1.0, "", "confusable")], near=near)
    assert reason(chooser, BUYER, PATH, NEAR)["answers"] == ["Tanzania"]
