"""FiSKE doubts: it goes back to what it did not walk, then asks for other clues, and judges again what does not fit (METHODS: FiSKE)."""

from __future__ import annotations

from typing import Any

import pytest
from graphs.fiske.fiske_kit import BUYER, ask, asked, everything, first_of, knowledge, mapping, row

from thinkgraph.prompts.parsed import ParsedPrompt

UNFIT = "the question asks for a person, and 52 is a number"
AGAIN = "; it was given again all the same"
NEVER = {"sufficient": False, "answers": [], "evidence": []}


def sure_of(*ends: str) -> Any:
    """Sufficient as soon as these are among the ends of the evidence lines: they are the answers then."""

    def reply(prompt: ParsedPrompt) -> Any:
        found = everything(prompt)
        return {**found, "answers": list(ends)} if set(ends) <= set(found["answers"]) else NEVER

    return reply


def relations(prompt: ParsedPrompt) -> list[str]:
    return [item.step[1] for item in prompt.lines("options")]


def test_a_branch_that_mapped_a_wrong_relation_goes_on_without_it() -> None:
    replies = {
        "fiske.r_mapping": first_of(("buyer", "population"), ("buyer", "export partner")),
        "fiske.conclude": sure_of("Uganda", "Peru"),
    }
    answer, model = ask(["Kenya", "buyer"], replies=replies, backtracks=2)
    assert model.roles == ["fiske.extract_clues", *["fiske.r_mapping", "fiske.conclude"] * 2]
    assert (answer["answers"], answer["status"], answer["rounds"]) == (["Uganda", "Peru"], "grounded", 2)
    first, second = asked(model, "r_mapping")
    assert relations(second) == [name for name in reversed(relations(first)) if name != "population"]
    assert [item.text for item in second.lines("clues")] == ["buyer"]
    # The record tells both ways.
    assert [target["label"] for target in row(answer, 2)["targets"]] == ["population", "export partner"]
    once, _ = ask(["Kenya", "buyer"], replies=replies, backtracks=0)
    assert once["status"] == "unknown"


def test_a_branch_that_a_name_leads_on_asks_about_nothing_else_until_it_led_nowhere() -> None:
    clues, wanted = ["Kenya", "population", "seat"], ("seat", "capital")
    answer, model = ask(clues, wanted, replies={"fiske.conclude": sure_of("Nairobi")}, backtracks=1)
    assert (answer["answers"], answer["status"]) == (["Nairobi"], "partial")
    assert model.roles[:3] == ["fiske.extract_clues", "fiske.e_mapping", "fiske.r_mapping"]
    assert [item.text for item in asked(model, "r_mapping")[0].lines("clues")] == ["seat"]
    _, once = ask(clues, wanted, backtracks=0)
    assert once.roles[1] == "fiske.r_mapping", "there is no way back to it"


def test_relation_discovery_takes_a_relation_that_a_clue_names_without_asking() -> None:
    rows = [("Kenya", "capital", "Nairobi"), ("capital", "tagged", "Letters"), ("capital", "shape", "Round")]
    answer, model = ask(["Kenya", "capital"], kb=knowledge(rows), backtracks=1)
    assert (answer["answers"], model.roles) == (["Nairobi"], ["fiske.extract_clues", "fiske.conclude"])
    _, model = ask(["Kenya", "capital"], kb=knowledge(rows), backtracks=0)
    assert [item.text for item in asked(model, "r_mapping")[0].lines("clues")] == ["Kenya"]


def test_relation_discovery_offers_a_relation_again_whose_nodes_mapped_nothing() -> None:
    replies = {"fiske.e_mapping": {"pairs": []}}
    _, model = ask(["Kenya", "buyer", "shape"], *BUYER, replies=replies, backtracks=1)
    first, second = asked(model, "r_mapping")
    assert "export partner" in relations(first)
    assert relations(second) == list(reversed(relations(first)))
    assert len(asked(model, "e_mapping")) == 2, "its nodes may have been mapped wrongly"


def test_relation_discovery_leaves_a_relation_that_one_branch_walked_open_to_another() -> None:
    rows = [("Kenya", "sells_to", "Uganda"), ("Kenya", "buys_from", "Uganda"), ("Uganda", "capital", "Kampala")]
    wanted = ("partner", "sells to"), ("partner", "buys from"), ("seat", "capital")

    def partner(prompt: ParsedPrompt) -> Any:
        """One way from Kenya at a time."""
        pairs = mapping(*wanted)(prompt)["pairs"]
        kenya = {item.number for item in prompt.lines("options") if "(Kenya) -" in item.text}
        return {"pairs": [pair for pair in pairs if pair[1] in kenya][:1] or pairs}

    def bought(prompt: ParsedPrompt) -> Any:
        return everything(prompt) if "buys from" in prompt.text("evidence") else NEVER

    answer, _ = ask(
        ["Kenya", "partner", "seat"],
        kb=knowledge(rows),
        replies={"fiske.r_mapping": partner, "fiske.e_mapping": mapping(*wanted), "fiske.conclude": bought},
        backtracks=1,
    )
    assert answer["answers"] == ["Kampala"]
    assert [path["text"] for path in answer["evidence"]["paths"]] == [
        "(Kenya) -[sells to]-> (Uganda) -[capital]-> (Kampala)",
        "(Kenya) -[buys from]-> (Uganda) -[capital]-> (Kampala)",
    ]


def test_a_complete_branch_whose_entity_may_be_wrong_is_open_again() -> None:
    wanted = ("buyer", "export partner"), ("leader", "Uganda"), ("leader", "head of state")
    answer, model = ask(["Kenya", "buyer", "leader"], *wanted, replies={"fiske.conclude": sure_of("Ayo")}, backtracks=2)
    assert (answer["answers"], answer["status"]) == (["Ayo"], "grounded")
    assert "(Kenya) -[export partner]-> (Uganda) -[head of state]-> (Ayo)" in [
        path["text"] for path in answer["evidence"]["paths"]
    ]
    branches = answer["trace"]["data"]["branches"]
    uganda = next(one for one in branches if one["label"] == "Uganda" and one["round"])
    assert (uganda["status"], uganda["explored"], uganda["remaining"]) == ("walked", [1, 2], [3])
    assert [target["label"] for target in row(answer, 3)["targets"]] == ["head of state"], "the wrong mark is gone"
    assert model.roles.count("fiske.extract_clues") == 1


def clues_in_turn(*sets: list[str]) -> Any:
    """The set of clues that follows the sets which led nowhere."""

    def reply(prompt: ParsedPrompt) -> Any:
        tried = {item.text for item in prompt.lines("clues that led nowhere")}
        return {"keywords": next((one for one in sets if not set(one) <= tried), sets[-1])}

    return reply


def test_the_second_time_clues_are_asked_for_anew_and_it_starts_over() -> None:
    replies = {"fiske.extract_clues": clues_in_turn(["Kenya", "shape"], ["Kenya", "capital"])}
    answer, model = ask([], replies=replies, backtracks=2)
    assert model.roles == [
        "fiske.extract_clues",
        "fiske.r_mapping",
        "fiske.r_mapping",
        "fiske.extract_clues",
        "fiske.conclude",
    ]
    first, second = asked(model, "extract_clues")
    assert first.text("clues that led nowhere") == ""
    assert [item.text for item in second.lines("clues that led nowhere")] == ["Kenya", "shape"]
    assert (answer["answers"], answer["status"]) == (["Nairobi"], "grounded")
    data = answer["trace"]["data"]
    assert [clue["text"] for clue in data["clues"]] == ["Kenya", "capital"]
    assert [one["label"] for one in data["branches"]] == ["Nairobi", "Kenya"], "those of the first clues are gone"
    once, _ = ask([], replies=replies, backtracks=1)
    assert once["status"] == "unknown"


def test_a_name_that_the_clues_leave_out_is_one_once_they_led_nowhere() -> None:
    replies = {"fiske.extract_clues": {"keywords": ["capital"]}}
    answer, _ = ask([], replies=replies, question="What is the capital of Kenya?", backtracks=2)
    assert (answer["answers"], answer["status"]) == (["Nairobi"], "grounded")
    assert [clue["text"] for clue in answer["trace"]["data"]["clues"]] == ["Kenya", "capital"]
    once, _ = ask([], replies=replies, question="What is the capital of Kenya?", backtracks=0)
    assert once["status"] == "unknown"


def test_a_name_within_another_word_of_a_clue_is_left_out_too() -> None:
    kb = knowledge([("Oman", "capital", "Muscat"), ("Kenya", "capital", "Nairobi")])
    replies = {"fiske.extract_clues": {"keywords": ["Romance", "capital"]}}
    answer, _ = ask([], kb=kb, replies=replies, question="Romance in the capital of Oman?", backtracks=2)
    assert [clue["text"] for clue in answer["trace"]["data"]["clues"]] == ["Oman", "Romance", "capital"]


def test_clues_that_are_names_alone_get_the_other_words_of_the_question() -> None:
    question = "Who holds the highest office of the buyer of Kenya's tea?"
    replies = {"fiske.extract_clues": {"keywords": ["Kenya"]}}
    answer, _ = ask([], replies=replies, question=question, backtracks=2)
    assert [clue["text"] for clue in answer["trace"]["data"]["clues"]] == [
        "Kenya",
        "holds",
        "highest office",
        "buyer",
        "tea",
    ]
    once, _ = ask([], replies=replies, question=question, backtracks=0)
    assert once["reason"].startswith("the clues name entities and nothing to look for at them")


def test_a_node_does_not_map_the_name_of_a_relation_that_it_was_not_reached_by() -> None:
    kb = knowledge(
        [("Kenya", "export_partner", "Uganda"), ("Kenya", "capital", "Nairobi"), ("Uganda", "capital", "Kampala")]
    )
    wrong = mapping(("buyer", "Uganda"), ("capital", "Uganda"))
    replies = {"fiske.e_mapping": wrong, "fiske.r_mapping": mapping(("buyer", "export partner"))}
    answer, _ = ask(["Kenya", "buyer", "capital"], kb=kb, replies=replies, backtracks=0, multi_answer=False)
    assert "Uganda" not in {end for target in row(answer, 3)["targets"] for end in target["ends"]}
    loose, _ = ask(
        ["Kenya", "buyer", "capital"], kb=kb, replies=replies, backtracks=0, multi_answer=False, meant_step=False
    )
    assert "Uganda" in {end for target in row(loose, 3)["targets"] for end in target["ends"]}


def test_clues_that_lead_nowhere_add_up_and_nothing_to_explore_asks_at_once() -> None:
    sets = ["Xyzzy", "qwrtp"], ["Blorp"], ["Kenya", "capital"]
    answer, model = ask([], replies={"fiske.extract_clues": clues_in_turn(*sets)}, backtracks=2)
    assert answer["answers"] == ["Nairobi"]
    last = asked(model, "extract_clues")[-1]
    assert [item.text for item in last.lines("clues that led nowhere")] == ["Xyzzy", "qwrtp", "Blorp"]


@pytest.mark.parametrize("reply", ["no idea", {"keywords": ["Kenya", "shape"]}])
def test_clues_asked_for_anew_that_are_none_or_the_same_change_nothing(reply: Any) -> None:
    def clues(prompt: ParsedPrompt) -> Any:
        return reply if prompt.lines("clues that led nowhere") else {"keywords": ["Kenya", "shape"]}

    answer, _ = ask([], replies={"fiske.extract_clues": clues}, backtracks=2)
    assert answer["status"] == "unknown"
    assert answer["reason"] == "the exploration failed: no path maps every clue, and none maps clue 2 (shape)"
    assert [clue["text"] for clue in answer["trace"]["data"]["clues"]] == ["Kenya", "shape"]


def test_without_clues_there_is_nothing_to_go_back_to() -> None:
    answer, model = ask([], replies={"fiske.extract_clues": "no idea"}, backtracks=2)
    assert answer["reason"].startswith("no clues could be read from the question; ")
    assert len(model.asked) == 2, "the reply and its repair"


@pytest.mark.parametrize("backtracks", [0, 1, 2])
def test_it_goes_back_so_often_and_no_more(backtracks: int) -> None:
    answer, model = ask(["Kenya", "shape"], backtracks=backtracks)
    assert answer["status"] == "unknown"
    assert len(asked(model, "r_mapping")) == 1 + backtracks
    assert len(asked(model, "extract_clues")) == 1 + (backtracks == 2)


def test_evidence_that_was_judged_is_not_judged_again() -> None:
    _, model = ask(["Kenya", "capital"], replies={"fiske.conclude": NEVER}, backtracks=2)
    assert len(asked(model, "conclude")) == 2, "once, and once for a likely answer after going back"


def leader(prompt: ParsedPrompt) -> Any:
    """The number at first, the head of state once that is doubted."""
    wanted = "Ayo" if "52" in prompt.text("doubted answer") else "52"
    return {"sufficient": True, "answers": [wanted], "evidence": [1, 2]}


def test_an_answer_that_does_not_fit_is_judged_a_second_time() -> None:
    kb = knowledge([("Kenya", "population", "52"), ("Kenya", "head_of_state", "Ayo")])
    wanted = ("leader", "population"), ("leader", "head of state")
    answer, model = ask(
        ["Kenya", "leader"],
        *wanted,
        kb=kb,
        replies={"fiske.conclude": leader},
        question="Who leads Kenya?",
        backtracks=2,
    )
    first, second = asked(model, "conclude")
    assert first.text("doubted answer") == ""
    assert [item.text for item in second.lines("doubted answer")] == [UNFIT]
    assert first.text("evidence") == second.text("evidence")
    assert (answer["answers"], answer["status"], answer["rounds"]) == (["Ayo"], "grounded", 1)


def test_an_answer_that_never_fits_ends_unknown_with_the_reason() -> None:
    asks: dict[str, Any] = {"question": "Who leads Kenya?"}
    answer, model = ask(["Kenya", "population"], **asks, backtracks=2)
    assert (answer["status"], answer["answers"], answer["reason"]) == ("unknown", [], f"{UNFIT}{AGAIN}")
    assert len(asked(model, "conclude")) == 4, (
        "three times, and once for a likely answer after going back, with the doubt told"
    )
    assert answer["evidence"]["triples"] == []
    answer, model = ask(["Kenya", "population"], **asks, backtracks=0)
    assert (answer["status"], answer["answers"]) == ("partial", ["52"])
    assert model.roles == ["fiske.extract_clues", "fiske.conclude"], "exactly the paper's calls"


def test_memory_is_asked_once_where_going_back_did_not_help() -> None:
    answer, model = ask(["Kenya", "shape"], own_knowledge=True, backtracks=2)
    assert (answer["status"], answer["answers"]) == ("memory", ["from memory"])
    assert model.roles.count("recall.direct") == 1
    assert model.roles[-1] == "recall.direct"
    found, model = ask(["Kenya", "capital"], own_knowledge=True, io=True, backtracks=2)
    assert found["answers"] == ["Nairobi", "from memory"]
    assert model.roles == ["fiske.extract_clues", "fiske.conclude", "recall.direct"]


def test_a_spent_ceiling_does_not_go_back() -> None:
    answer, model = ask(["Kenya", "shape"], max_calls=2, chunk=1, backtracks=2)
    assert "budget: the ceiling of 2 calls is reached" in answer["reason"]
    assert len(model.asked) <= 2
