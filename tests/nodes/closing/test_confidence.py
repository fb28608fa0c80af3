"""How sure an answer is: which signals it has, how they count, and what is withheld."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from triples import triple

from thinkgraph.nodes.closing.confidence import WEIGHTS, confidence, signals_of, sure_enough, withheld
from thinkgraph.nodes.common.evidence_lines import Texts
from thinkgraph.state.answer import Draft, Status
from thinkgraph.state.evidence import EvidenceItem, Path, chunk_item, path_item
from thinkgraph.state.knowledge import Passage, Triple
from thinkgraph.state.settings import RunSettings

FIRST = ("Volga", "ends in", "Russia")
THEN = ("Russia", "currency", "ruble")
ASKED = "Which currency is used where the Volga ends?"


def walk(*steps: tuple[str, str, str]) -> tuple[list[EvidenceItem], dict[str, Triple]]:
    """One path from the first step's subject, and its statements."""
    every = [triple(*step) for step in steps]
    path = Path(start=steps[0][0], triples=[one["id"] for one in every[:-1]])
    return [path_item("p1", path, [every[-1]["id"]], total=1)], {one["id"]: one for one in every}


def signals(
    question: str,
    answers: Sequence[str],
    *steps: tuple[str, str, str],
    text: str = "",
    status: Status = "grounded",
    **state: Any,
) -> dict[str, float]:
    """Those of an answer that cites a path of these steps, or a passage of this text."""
    items, triples = walk(*steps) if steps else ([], {})
    passages: Mapping[str, Passage] = {}
    if text:
        items.append(chunk_item("d1", 0, len(text), entity="Volga"))
        passages = {"d1": Passage(id="d1", title="Volga", section="", text=text, entities=["Volga"], fields={})}
    draft = Draft(answers=list(answers), status=status, reason="", cited=[item["id"] for item in items])
    run: Any = {"question": question, **state}
    return signals_of(draft, run, items, Texts(triples, passages))


def test_every_signal_has_a_weight_and_speaks_one_way() -> None:
    assert signals(ASKED, ["ruble"], FIRST, THEN).keys() == WEIGHTS.keys()
    against = {"doubted", "went_back", "asked_about"}
    assert all(weight <= 0 if name in against else weight >= 0 for name, weight in WEIGHTS.items())


def test_a_walk_that_the_question_names_speaks_for_its_end() -> None:
    found = signals(ASKED, ["ruble"], FIRST, THEN)
    assert {name for name, value in found.items() if value > 0} == {
        "grounded", "readable", "of_kind", "covered", "at_end"
    }  # fmt: skip
    # "used" is no relation's word.
    assert found["covered"] == pytest.approx(2 / 3, abs=1e-3)
    assert signals(ASKED, ["Russia"], FIRST)["covered"] == pytest.approx(1 / 3, abs=1e-3)


@pytest.mark.parametrize(
    ("worse", "than"),
    [
        (signals(ASKED, ["ruble"], FIRST, THEN, status="partial"), signals(ASKED, ["ruble"], FIRST, THEN)),
        (signals(ASKED, ["Russia"], FIRST, THEN), signals(ASKED, ["ruble"], FIRST, THEN)),
        (signals(ASKED, ["Volga"], FIRST, THEN), signals(ASKED, ["Russia"], FIRST, THEN)),
        (signals(ASKED, ["5"], ("Volga", "length", "5")), signals(ASKED, ["Russia"], FIRST)),
        (signals(ASKED, ["Russia"], FIRST), signals(ASKED, ["Russia"], FIRST, solved={"0": {"verified": True}})),
    ],
    ids=["partial", "on the way", "asked about", "a number", "not verified"],
)  # fmt: skip
def test_less_speaks_for_some_answers_than_for_others(worse: dict[str, float], than: dict[str, float]) -> None:
    low, high = confidence(worse), confidence(than)
    assert low is not None
    assert high is not None
    assert low < high


def test_doubt_and_ways_back_never_raise_it() -> None:
    plain = confidence(signals(ASKED, ["Russia"], FIRST))
    doubted = signals(ASKED, ["Russia"], FIRST, doubted=["a", "b", "c", "d"], backtracked=9)
    assert (doubted["doubted"], doubted["went_back"]) == (3.0, 3.0)
    assert plain is not None
    assert (confidence(doubted) or 1.0) <= plain


def test_where_an_answer_stands() -> None:
    text = signals(ASKED, ["taiga"], text="Along the Volga lies taiga, where its course ends.")
    assert (text["concluded"], text["at_end"]) == (0.0, 0.0)
    assert text["covered"] > signals(ASKED, ["taiga"], text="Its course ends there. Taiga is near.")["covered"]
    count = signals("How many rivers end in Russia?", ["1"], FIRST)
    assert (count["concluded"], count["of_kind"]) == (1.0, 1.0)
    year = signals("When did the Volga freeze?", ["May 1968"], ("Volga", "frozen in", "May 1968"))
    assert (year["of_kind"], year["at_end"]) == (1.0, 1.0)


def test_what_a_comparison_names_may_be_its_answer() -> None:
    question = "Which river is longer, the Volga or the Oka?"
    assert signals(question, ["Volga"], ("Volga", "length", "9"))["asked_about"] == 0.0
    assert signals("Where does the Volga end?", ["Volga"], FIRST)["asked_about"] == 1.0


def test_only_the_way_to_an_answer_counts_of_a_community() -> None:
    every = [triple(*FIRST), triple(*THEN), triple("Russia", "head of state", "Ada Lund")]
    community: Any = {"id": "m", "kind": "community", "score": 1.0, "round": 1, "triples": [one["id"] for one in every]}
    draft = Draft(answers=["Ada Lund"], status="grounded", reason="", cited=["m"])
    run: Any = {"question": ASKED}
    found = signals_of(draft, run, [community], Texts({one["id"]: one for one in every}, {}))
    assert found["covered"] == pytest.approx(1 / 3, abs=1e-3)


@pytest.mark.parametrize("question", ["Russia has which currency?", "What is the currency of Russia?"])
def test_names_are_no_words_to_be_covered_wherever_they_stand(question: str) -> None:
    assert signals(question, ["ruble"], THEN)["covered"] == 1.0


def test_samples_that_agree_are_the_confidence_of_memory() -> None:
    samples = {str(at): {"answers": [answer]} for at, answer in enumerate(["Oslo", "Oslo", "Bergen", "Oslo"])}
    assert confidence(signals("Capital?", ["Oslo"], status="memory", samples=samples)) == 0.75
    assert confidence(signals("Capital?", ["Oslo"], status="memory")) is None
    assert confidence(signals("Capital?", [], status="unknown")) is None


@pytest.mark.parametrize(
    ("sure", "least", "given"), [(0.5, 0.5, True), (0.49, 0.5, False), (None, 0.1, False), (None, 0.0, True)]
)
def test_what_is_not_sure_enough_is_withheld(sure: float | None, least: float, given: bool) -> None:  # noqa: FBT001
    draft = Draft(answers=["Oslo"], status="memory", reason="", cited=[])
    assert sure_enough(draft, sure, RunSettings(min_confidence=least)) is given


def test_what_is_withheld_says_why() -> None:
    settings = RunSettings(min_confidence=0.5)
    said = withheld(0.31, settings)
    assert (said["status"], said["answers"], said["cited"]) == ("unknown", [], [])
    assert said["reason"] == "the answer found has confidence 0.31, and min_confidence is 0.5"
    assert withheld(None, settings)["reason"].startswith("nothing says how sure the answer found is, and ")
    assert withheld(0.31, RunSettings(min_confidence=0.5, task="fact"))["answers"] == ["NOT ENOUGH INFO"]
