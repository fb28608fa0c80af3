"""FiSKE's answers: whole sets, caps and ceilings, ablations, memory, verdicts, the clue table (METHODS: FiSKE, 4 and 5)."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import FakeModel
from graphs.fiske.fiske_kit import BUYER, TRADE, ask, asked, everything, knowledge, mapping, members
from langgraph.checkpoint.memory import InMemorySaver

import thinkgraph as tg
from thinkgraph.errors import SettingsError
from thinkgraph.state.fiske import FiskeSettings
from thinkgraph.state.settings import resolve_settings


def test_a_set_of_eighty_comes_back_whole_on_one_line() -> None:
    answer, model = ask(["League", "member of"], kb=knowledge(members(80)))
    assert answer["answers"] == [f"Member {n:03}" for n in range(80)]
    assert answer["status"] == "grounded"
    assert answer["reason"] == "the evidence holds the answer"
    assert len(asked(model, "conclude")[0].lines("evidence")) == 1
    assert len(answer["evidence"]["triples"]) == 80


def test_a_set_of_eighty_in_the_middle_comes_back_whole_and_in_few_calls() -> None:
    answer, model = ask(["League", "member of", "capital"], ("member of", "member of"), kb=knowledge(members(80)))
    assert answer["answers"] == [f"City {n:03}" for n in range(80)]
    assert answer["reason"] == "the evidence holds the answer"
    assert len(answer["evidence"]["triples"]) == 160
    assert (
        model.roles == ["fiske.extract_clues", "fiske.r_mapping", "fiske.e_mapping", "fiske.conclude"]
        or len(model.asked) <= 4
    )


def test_a_set_beyond_the_cap_is_cut_and_said() -> None:
    answer, _ = ask(["League", "member of"], kb=knowledge(members(80)), candidates=50)
    assert len(answer["answers"]) == 50
    assert "round 1: 30 triples were not walked (candidate cap)" in answer["reason"]
    assert "... and 30 more" in answer["evidence"]["paths"][0]["text"]
    starved, _ = ask(
        ["League", "member of", "capital"], ("member of", "member of"), kb=knowledge(members(80)), candidates=80
    )
    assert "(candidate cap)" in starved["reason"]


def test_a_small_relation_beside_a_large_one_leaves_it_its_places() -> None:
    rows = [("League", "member", f"M{n}") for n in range(90)] + [("League", "founder", f"F{n}") for n in range(2)]
    clues, wanted = ["League", "belongs"], (("belongs", "member"), ("belongs", "founder"))
    answer, _ = ask(clues, *wanted, kb=knowledge(rows), candidates=80)
    assert len(answer["answers"]) == 80
    assert sum(one.startswith("F") for one in answer["answers"]) == 2
    assert "round 1: 12 triples were not walked (candidate cap)" in answer["reason"]


def test_conclude_shortens_then_cuts_evidence_that_does_not_fit_and_says_so() -> None:
    clues, wanted = ["League", "member of", "capital"], ("member of", "member of")
    full, whole = ask(clues, wanted, kb=knowledge(members(60)))
    assert (
        asked(whole, "conclude")[0].lines("evidence")[0].text
        == "(League) <-[member of]- (Member 000) -[capital]-> (City 000)"
    )
    short, shortened = ask(clues, wanted, kb=knowledge(members(60)), evidence_tokens=1300)
    lines = [item.text for item in asked(shortened, "conclude")[0].lines("evidence")]
    assert "(Member 000) -[capital]-> (City 000)" in lines
    assert len([line for line in lines if "capital" in line]) == 60
    # What is cited is the whole path all the same.
    assert "(League) <-[member of]- (Member 000) -[capital]-> (City 000)" in [
        p["text"] for p in short["evidence"]["paths"]
    ]
    cut, few = ask(clues, wanted, kb=knowledge(members(60)), evidence_tokens=300)
    assert len(asked(few, "conclude")[0].lines("evidence")) < 60
    assert "did not fit (evidence_tokens)" in cut["reason"]
    assert full["reason"] == short["reason"] == "the evidence holds the answer"
    listed, _ = ask(["League", "member of"], kb=knowledge(members(200)), evidence_tokens=200)
    assert "1 of the lists of the evidence were cut to fit (evidence_tokens)" in listed["reason"]
    # A long list gives way before any line does.
    rows = [*members(200), ("League", "seat", "Osk"), ("League", "founded", "1911")]
    answer, model = ask(
        ["League", "what"],
        *(("what", word) for word in ("member of", "seat", "founded")),
        kb=knowledge(rows),
        evidence_tokens=200,
    )
    assert len(asked(model, "conclude")[0].lines("evidence")) == 3
    assert {"Osk", "1911"} <= set(answer["answers"])


def test_the_nodes_of_a_round_come_in_one_round_trip() -> None:
    saver = InMemorySaver()
    model = FakeModel(
        {
            "fiske.extract_clues": {"keywords": ["League", "member of", "capital"]},
            "fiske.e_mapping": mapping(("member of", "member of")),
            "fiske.r_mapping": {"pairs": []},
            "fiske.conclude": everything,
        }
    )
    graph = tg.build("fiske", knowledge=knowledge(members(30)), model=model, checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "1"}}
    graph.invoke({"question": "?x"}, config)
    trips = {place: work["store_round_trips"] for place, work in graph.get_state(config).values["work"].items()}
    # Names, then relations; nodes and their types; the next relations, nodes; the evidence, cited once more at the end,
    # where what the question names is looked for too: it is not written like a name.
    assert {place: count for place, count in trips.items() if count} == {
        "starting_points/0": 1,
        "relation_discovery/0": 1,
        "entity_discovery/1": 2,
        "relation_discovery/1": 1,
        "entity_discovery/2": 1,
        "conclude/2": 1,
        "answer/2": 2,
    }


def test_the_ceiling_of_thirty_holds_under_concurrency_and_is_said() -> None:
    rows = [("Hub", f"relation {n:02}", f"End {n}") for n in range(60)]
    answer, model = ask(["Hub", "something", "else"], kb=knowledge(rows), chunk=1)
    assert len(model.asked) == 29, "the last is kept for answering"
    assert answer["usage"]["total"]["calls"] == 29
    assert answer["status"] == "unknown"
    assert "budget: the ceiling of 30 calls is reached" in answer["reason"]
    hub = answer["trace"]["data"]["branches"][0]
    assert (hub["status"], hub["why"]) == ("ended", "budget: the ceiling of 30 calls is reached")
    answer, model = ask(["Hub", "something", "else"], kb=knowledge(rows), chunk=1, own_knowledge=True)
    assert model.roles.count("recall.direct") == 1
    assert len(model.asked) == 30
    assert (answer["status"], answer["answers"]) == ("memory", ["from memory"])


def test_a_spent_ceiling_fails_the_exploration_even_with_a_path() -> None:
    rows = [("a1", "go", "X"), *(("a2", "go", f"Y{n}") for n in range(20))]
    kb = knowledge(rows, labels={"a1": "A", "a2": "A"})
    settings: dict[str, Any] = {"kb": kb, "max_calls": 5, "chunk": 1}
    off, model = ask(["A", "go", "X"], **settings, partial_evidence=False)
    assert (off["status"], len(model.asked)) == ("unknown", 4)
    assert off["reason"] == "the exploration failed (budget: the ceiling of 5 calls is reached)"
    assert off["trace"]["data"]["outcome"] == "failed"
    on, model = ask(["A", "go", "X"], **settings)
    assert (on["status"], on["answers"], len(model.asked)) == ("partial", ["A", "X"], 5)
    assert "budget: the ceiling of 5 calls is reached" in on["reason"]


def test_without_state_every_clue_is_offered_again() -> None:
    _, model = ask(["Kenya", "buyer", "seat", "leader"], *BUYER, ("leader", "mayor"), stateful=False)
    offered = [[item.text for item in prompt.lines("clues")] for prompt in asked(model, "r_mapping")]
    assert offered == [["Kenya", "buyer", "seat", "leader"]] * len(offered)
    _, model = ask(["Kenya", "buyer", "seat", "leader"], *BUYER, ("leader", "mayor"))
    offered = [[item.text for item in prompt.lines("clues")] for prompt in asked(model, "r_mapping")]
    assert all("Kenya" not in texts for texts in offered)
    assert ["leader"] in offered


def test_without_the_ending_flag_everything_is_explored_and_used() -> None:
    clues = ["Kenya", "buyer", "Uganda", "seat"]
    on, _ = ask(clues, *BUYER, kb=knowledge(TRADE))
    off, _ = ask(clues, *BUYER, kb=knowledge(TRADE), ending_flag=False)
    assert on["answers"] == ["Kampala"]
    assert set(off["answers"]) > {"Kampala"}, "what incomplete branches retrieved is shown too"
    failed, model = ask(["Kenya", "shape"], ending_flag=False, own_knowledge=True)
    assert "recall.direct" not in model.roles, "no direct fallback"
    assert failed["status"] == "unknown"


def test_conclude_answers_a_failed_exploration_from_memory_only_if_allowed() -> None:
    off, model = ask(["Kenya", "buyer", "shape"], *BUYER, partial_evidence=False)
    assert off["status"] == "unknown"
    assert "fiske.conclude" not in model.roles
    on, model = ask(["Kenya", "buyer", "shape"], *BUYER, preset="paper")
    assert (on["status"], on["answers"]) == ("memory", ["from memory"])
    assert model.roles[-1] == "recall.direct"
    assert on["evidence"] == {"triples": [], "passages": [], "paths": []}
    assert "fiske.conclude" not in model.roles, "one closing call"


SHORT = {"sufficient": False, "answers": [], "evidence": []}


def test_a_closing_call_whose_evidence_falls_short_answers_from_memory() -> None:
    known = {"sufficient": True, "answers": ["Mombasa"], "evidence": []}
    answer, model = ask(["Kenya", "capital"], replies={"fiske.conclude": known}, own_knowledge=True)
    assert (answer["status"], answer["answers"]) == ("memory", ["Mombasa"])
    assert "recall.direct" not in model.roles, "the closing call gave it"
    unsure = {**known, "sufficient": False}
    answer, _ = ask(["Kenya", "capital"], replies={"fiske.conclude": unsure}, own_knowledge=True)
    assert (answer["status"], answer["answers"]) == ("memory", ["Mombasa"])
    answer, _ = ask(["Kenya", "capital"], replies={"fiske.conclude": known})
    assert answer["status"] == "unknown"


def test_a_failed_exploration_asks_the_model_whatever_partial_lines_there_are() -> None:
    clues, replies = ["Kenya", "buyer", "shape"], {"fiske.conclude": SHORT}
    off, _ = ask(clues, *BUYER, replies=replies)
    on, model = ask(clues, *BUYER, replies=replies, own_knowledge=True)
    assert off["status"] == "unknown"
    assert (on["status"], on["answers"]) == ("memory", ["from memory"])
    assert model.roles[-2:] == ["fiske.conclude", "recall.direct"]


COMPARED = {"fiske.conclude": {"sufficient": True, "answers": ["Kenya"], "evidence": [1, 2]}}


def test_partial_evidence_of_several_branches_together() -> None:
    clues = ["Kenya", "Uganda", "population"]
    answer, model = ask(clues, ("population", "population"), replies=COMPARED)
    lines = [item.text for item in asked(model, "conclude")[0].lines("evidence")]
    assert sorted(lines) == ["(Kenya) -[population]-> (52)", "(Uganda) -[population]-> (49)"]
    assert (answer["answers"], answer["status"]) == (["Kenya"], "grounded")
    assert "by several paths together" in answer["reason"]
    answer, _ = ask([*clues, "area"], ("population", "population"), replies=COMPARED)
    assert answer["status"] == "partial"
    assert "no path maps clue 4 (area)" in answer["reason"]
    answer, _ = ask(clues, ("population", "population"), replies=COMPARED, partial_evidence=False)
    assert answer["status"] == "unknown"


def test_one_clue_said_of_two_things_is_mapped_when_both_branches_mapped_it() -> None:
    clues = ["Kenya", "population", "Uganda", "population"]
    answer, _ = ask(clues, ("population", "population"), replies=COMPARED)
    assert (answer["answers"], answer["status"]) == (["Kenya"], "grounded")
    answer, _ = ask([*clues, "population"], ("population", "population"), replies=COMPARED)
    assert "no path maps clue 5 (population)" in answer["reason"]


@pytest.mark.parametrize(("cited", "status"), [([1], "grounded"), ([], "unknown")])
def test_a_verdict_counts_only_with_a_path_that_supports_it(cited: list[int], status: str) -> None:
    verdict = {"fiske.conclude": {"sufficient": True, "answers": ["true"], "evidence": cited}}
    answer, model = ask(["Kenya", "export partner", "Uganda"], replies=verdict, task="truth")
    assert answer["status"] == status
    assert answer["answers"] == (["true"] if cited else [])
    assert "The only answers allowed" not in asked(model, "conclude")[0].text("evidence")
    none, _ = ask(["Kenya", "shape", "Nairobi"], task="fact")
    assert (none["answers"], none["status"]) == (["NOT ENOUGH INFO"], "unknown")


def test_the_io_answer_is_merged_and_marked() -> None:
    with pytest.raises(SettingsError, match="io merges an answer from memory"):
        resolve_settings(FiskeSettings, {"io": True})
    settings = {"own_knowledge": True, "io": True}
    answer, model = ask(["Kenya", "capital"], **settings)
    assert answer["answers"] == ["Nairobi", "from memory"]
    assert answer["status"] == "memory"
    assert answer["reason"].endswith("from the model's own knowledge: from memory")
    assert answer["evidence"]["paths"][0]["text"] == "(Kenya) -[capital]-> (Nairobi)"
    assert sorted(model.roles[1:]) == ["fiske.conclude", "recall.direct"]
    same = {"recall.direct": {"sufficient": True, "answers": ["nairobi"], "evidence": []}}
    answer, _ = ask(["Kenya", "capital"], replies=same, **settings)
    assert (answer["answers"], answer["status"]) == (["Nairobi"], "grounded")
    failed, model = ask(["Xyzzy"], **settings)
    assert failed["answers"] == ["from memory"]
    assert model.roles.count("recall.direct") == 1
    for ceiling, roles in ((2, ["recall.direct"]), (3, ["fiske.extract_clues", "fiske.conclude", "recall.direct"])):
        _, model = ask(["Kenya", "capital"], **settings, max_calls=ceiling)
        assert sorted(model.roles) == sorted(roles), "both closing calls are kept back"


def test_the_clue_table_is_in_state_in_the_events_and_in_the_answer() -> None:
    model = FakeModel(
        {
            "fiske.extract_clues": {"keywords": ["Kenya", "buyer", "seat"]},
            "fiske.r_mapping": mapping(*BUYER),
            "fiske.e_mapping": mapping(*BUYER),
            "fiske.conclude": everything,
        }
    )
    saver = InMemorySaver()
    graph = tg.build("fiske", knowledge=knowledge(TRADE), model=model, checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "1"}}
    events = list(graph.stream({"question": "?x"}, config, stream_mode="custom"))
    traced = [event for event in events if event["type"] == "traced"]
    assert [(event["round"], event["title"]) for event in traced] == [(1, "clues"), (2, "clues")]
    assert [line["text"] for line in traced[0]["lines"]] == [
        "1 Kenya: Kenya (start, branch 1)",
        "2 buyer: -[export partner]-> Uganda, Peru (round 1, branches 2, 3)",
        "3 seat: unexplored",
    ]
    values = graph.get_state(config).values
    assert values["table"] == values["answer"]["trace"]["data"]["clues"]
    assert values["answer"]["trace"]["lines"] == traced[1]["lines"]
    assert [clue["status"] for clue in values["table"]] == ["mapped"] * 3
    # Nothing of a closed round is left behind.
    assert (values["mapped"], values["expansions"], values["calls_to_make"]) == ({}, [], [])


def test_one_list_for_all_branches_if_wanted() -> None:
    clues = ["Kenya", "Uganda", "people"]
    _, each = ask(clues, ("people", "population"))
    _, shared = ask(clues, ("people", "population"), share_all=True)
    assert len(asked(each, "r_mapping")) > len(asked(shared, "r_mapping"))
    assert [item.text for item in asked(shared, "r_mapping")[0].lines("clues")] == ["Kenya", "Uganda", "people"]
