"""What is FiSKE's own: clues, starting points, mappings, branches, ending flag, answers, ablations (METHODS: FiSKE)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from fakes import FakeModel
from langgraph.checkpoint.memory import InMemorySaver

import thinkgraph as tg
from thinkgraph.errors import SettingsError
from thinkgraph.prompts.lines import Item, ParsedPrompt
from thinkgraph.state.fiske import FiskeSettings
from thinkgraph.state.settings import resolve_settings
from thinkgraph.testing.memory import MemoryGraphStore
from thinkgraph.tools.knowledge import Knowledge

ROWS = [
    ("Kenya", "capital", "Nairobi"),
    ("Kenya", "export_partner", "Uganda"),
    ("Kenya", "export_partner", "Peru"),
    ("Kenya", "population", "52"),
    ("Uganda", "capital", "Kampala"),
    ("Uganda", "population", "49"),
    ("Uganda", "head_of_state", "Ayo"),
    ("Peru", "capital", "Lima"),
    ("Peru", "population", "33"),
    ("Kampala", "mayor", "Ibo"),
]
TRADE = [row for row in ROWS if row[:2] != ("Kenya", "capital")]


def knowledge(rows: Sequence[Any] = ROWS, **options: Any) -> Knowledge:
    return Knowledge(graph=MemoryGraphStore(rows, literals=["population", "founded"], **options))


def mapping(*wanted: tuple[str, str]) -> Callable[[ParsedPrompt], Any]:
    """Pairs a clue with every option whose relation is the word, or that has the word in its name or in what is told."""

    def fits(item: Item, word: str) -> bool:
        if item.step:
            return item.step[1] == word
        return word == item.label or f" {word} " in f" {item.about} "

    def reply(prompt: ParsedPrompt) -> Any:
        return {
            "pairs": [
                [clue.number, item.number]
                for clue in prompt.lines("clues")
                for text, word in wanted
                if clue.text == text
                for item in prompt.lines("options")
                if fits(item, word)
            ]
        }

    return reply


def everything(prompt: ParsedPrompt) -> Any:
    """The last ends of all evidence lines as the answer."""
    ends = [
        (hop.object if hop.outgoing else hop.subject, item)
        for item in prompt.lines("evidence")
        for hop in item.hops[-1]
    ]
    return {
        "sufficient": bool(ends),
        "answers": [end for end, _ in ends],
        "evidence": sorted({item.number for _, item in ends}),
    }


def ask(
    clues: Sequence[str],
    *wanted: tuple[str, str],
    kb: Knowledge | None = None,
    replies: Mapping[str, Any] | None = None,
    question: str = "What is asked?",
    **settings: Any,
) -> tuple[Any, FakeModel]:
    model = FakeModel(
        {
            "fiske.extract_clues": {"keywords": list(clues)},
            "fiske.r_mapping": mapping(*wanted),
            "fiske.e_mapping": mapping(*wanted),
            "fiske.answer": everything,
            "recall.direct": {"sufficient": True, "answers": ["from memory"], "evidence": []},
            **(replies or {}),
        }
    )
    graph = tg.build("fiske", knowledge=kb or knowledge(), model=model, settings=settings)
    return graph.invoke({"question": question})["answer"], model


def asked(model: FakeModel, role: str) -> list[ParsedPrompt]:
    return [prompt for prompt in model.asked if prompt.role == f"fiske.{role}"]


def row(answer: Any, number: int) -> Any:
    return answer["trace"]["data"]["clues"][number - 1]


BUYER = (("buyer", "export partner"), ("seat", "capital"))


def test_two_hops_and_what_is_offered_in_each() -> None:
    answer, model = ask(["Kenya", "buyer", "seat"], *BUYER, kb=knowledge(TRADE))
    assert answer["answers"] == ["Kampala", "Lima"]
    assert answer["status"] == "grounded"
    # The last clue's relation is what is asked for: no e-mapping in round 2.
    assert model.roles == [
        "fiske.extract_clues",
        "fiske.r_mapping",
        "fiske.e_mapping",
        "fiske.r_mapping",
        "fiske.answer",
    ]
    first, second = asked(model, "r_mapping")
    assert [item.text for item in first.lines("clues")] == ["buyer", "seat"]
    assert [item.text for item in second.lines("clues")] == ["seat"]
    nodes = asked(model, "e_mapping")[0]
    assert [item.text for item in nodes.lines("clues")] == ["buyer", "seat"], "what r-mapping mapped is still offered"
    assert [item.text for item in nodes.lines("options")] == [
        "Uganda -- Kenya export partner Uganda",
        "Peru -- Kenya export partner Peru",
    ]
    # Branches with the same clues left share one list of distinct relations.
    assert "(Uganda and 1 more) -[capital]-> x2" in second.text("options")


def test_equal_clues_are_two() -> None:
    rows = [("Alpha", "capital", "Aleph"), ("Beta", "capital", "Bet"), ("Alpha", "borders", "Beta")]
    answer, model = ask(
        ["capital", "borders", "capital", "Aleph"], ("borders", "borders"), ("capital", "capital"), kb=knowledge(rows)
    )
    assert answer["answers"] == ["Bet"]
    first, third = row(answer, 1)["targets"][0], row(answer, 3)["targets"][0]
    assert (first["round"], first["direction"], first["ends"]) == (1, "in", ["Alpha"])
    assert (third["round"], third["direction"], third["ends"]) == (3, "out", ["Bet"])
    assert [item.text for item in asked(model, "e_mapping")[0].lines("clues")] == ["capital", "borders", "capital"]


def test_clues_that_cannot_be_read_end_in_a_counted_answer() -> None:
    answer, model = ask([], replies={"fiske.extract_clues": "no idea"})
    assert (answer["status"], answer["reason"]) == ("unknown", "no clues could be read from the question")
    assert answer["usage"]["total"]["calls"] == len(model.asked) == 2
    answer, model = ask([], replies={"fiske.extract_clues": "no idea"}, own_knowledge=True)
    assert (answer["status"], answer["answers"]) == ("memory", ["from memory"])
    assert model.roles[-1] == "recall.direct"


def test_more_clues_than_allowed_are_cut_and_said() -> None:
    answer, _ = ask(["Kenya", *"abcdefgh"], max_clues=3)
    assert [clue["text"] for clue in answer["trace"]["data"]["clues"]] == ["Kenya", "a", "b"]
    assert "only the first 3 of 9 clues were used" in answer["reason"]


class NoEncoder:
    name = "none"

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        raise AssertionError("FiSKE needs no encoder")


def test_clues_are_linked_in_one_batch_without_an_encoder() -> None:
    store = MemoryGraphStore([*ROWS, ("Kenya (film)", "director", "Ayo")], labels={"Kenya (film)": "Kenya"})
    looked_up: list[int] = []
    lookup = store.lookup
    store.lookup = lambda names, *, limit=10: looked_up.append(len(names)) or lookup(names, limit=limit)  # type: ignore[method-assign]
    kb = Knowledge(graph=store, embedder=NoEncoder())
    answer, _ = ask(["Kenya", "Uganda", "buyer"], ("buyer", "export partner"), kb=kb)
    assert len(looked_up) == 1
    starts = [row for row in answer["trace"]["data"]["branches"] if row["round"] == 0]
    assert {start["entity"] for start in starts} == {"Kenya", "Kenya (film)", "Uganda"}
    assert answer["usage"]["encoder_texts"] == 0


@pytest.mark.parametrize("clue", ["KENYA", "kenya", "\uff2bENYA", "the Kenya's"])
def test_capital_letters_and_width_do_not_matter(clue: str) -> None:
    answer, _ = ask([clue, "CAPITAL"])
    assert answer["answers"] == ["Nairobi"]


@pytest.mark.parametrize(
    ("name", "relation"), [("日本", "首都"), ("Ελλάδα", "πρωτεύουσα"), ("مصر", "عاصمة"), ("대한민국", "수도")]
)
def test_names_and_relations_of_any_alphabet(name: str, relation: str) -> None:
    answer, model = ask([name, relation], kb=knowledge([(name, relation, "X"), ("Y", "capital", "Z")]))
    assert answer["answers"] == ["X"]
    assert answer["evidence"]["paths"][0]["text"] == f"({name}) -[{relation}]-> (X)"
    assert model.roles == ["fiske.extract_clues", "fiske.answer"]


def test_clues_that_match_nothing() -> None:
    answer, model = ask(["Xyzzy", "qwrtp"])
    assert (answer["status"], answer["rounds"]) == ("unknown", 0)
    assert answer["reason"] == "no entity of the knowledge base is named by a clue"
    assert len(model.asked) == 1


def test_a_misspelt_or_hidden_name_starts_where_no_clue_is_a_name() -> None:
    for clue in ("Kenia", "buyers of Kenya"):
        answer, _ = ask([clue, "seat"], *BUYER)
        starts = [one["label"] for one in answer["trace"]["data"]["branches"] if one["round"] == 0]
        assert starts == ["Kenya"]
        # The misspelt name is the clue; a name that only stands in a clue does not explain it.
        assert row(answer, 1)["status"] == ("mapped" if clue == "Kenia" else "unexplored")
        none, _ = ask([clue, "seat"], *BUYER, link_fallback=False)
        assert none["reason"] == "no entity of the knowledge base is named by a clue"
    assert FiskeSettings(preset="paper").link_fallback is False


def test_a_clue_that_matches_ten_thousand_entities() -> None:
    rows = [(f"s{n}", "located_in", f"State {n}") for n in range(10_000)]
    kb = knowledge(rows, labels={f"s{n}": "Springfield" for n in range(10_000)})
    answer, model = ask(["Springfield", "located in"], kb=kb, evidence_tokens=100_000)
    assert len(answer["answers"]) == 1000
    assert "more than 1000 entities are named 'Springfield' (candidate cap)" in answer["reason"]
    assert len(model.asked) == 2
    assert answer["trace"]["data"]["more"] > 0
    assert len(json.dumps(answer["trace"])) < 20_000


def test_what_names_settle_is_not_asked_and_the_rest_is() -> None:
    answer, model = ask(["Kenya", "capital"])
    assert answer["answers"] == ["Nairobi"]
    assert model.roles == ["fiske.extract_clues", "fiske.answer"]
    _, model = ask(["Kenya", "export partner", "seat"], *BUYER)
    first = asked(model, "r_mapping")[0]
    assert [item.text for item in first.lines("clues")] == ["seat"]
    assert "export partner" not in first.text("options")
    _, model = ask(["Kenya", "export partner", "seat"], ("export partner", "export partner"), *BUYER, exact_names=False)
    first = asked(model, "r_mapping")[0]
    assert [item.text for item in first.lines("clues")] == ["export partner", "seat"]
    assert "export partner" in first.text("options")


def test_a_lone_candidate_is_asked_about() -> None:
    _, model = ask(["Alpha", "what", "there"], ("what", "rel"), kb=knowledge([("Alpha", "rel", "Beta")]))
    assert len(asked(model, "r_mapping")[0].lines("options")) == 1
    assert len(asked(model, "e_mapping")[0].lines("options")) == 1


def test_relations_that_are_prefixes_of_others_are_kept_apart() -> None:
    rows = [("A", "part", "P"), ("A", "part_of", "Q"), ("A", "part_of_speech", "R")]
    for clue, end in (("part", "P"), ("part of", "Q"), ("part of speech", "R")):
        answer, _ = ask(["A", clue], kb=knowledge(rows))
        assert answer["answers"] == [end]
    answer, model = ask(["A", "belongs to"], ("belongs to", "part of"), kb=knowledge(rows))
    assert [item.step[1] for item in asked(model, "r_mapping")[0].lines("options")] == [
        "part",
        "part of",
        "part of speech",
    ]
    assert answer["answers"] == ["Q"]


def test_incoming_edges_stay_incoming() -> None:
    answer, model = ask(["Nairobi", "seat of"], ("seat of", "capital"))
    assert answer["answers"] == ["Kenya"]
    assert answer["evidence"]["paths"][0]["text"] == "(Nairobi) <-[capital]- (Kenya)"
    triple = answer["evidence"]["triples"][0]
    assert (triple["subject"], triple["object"]) == ("Kenya", "Nairobi")
    assert "(Nairobi) <-[capital]- x1" in asked(model, "r_mapping")[0].text("options")
    assert row(answer, 2)["targets"][0]["direction"] == "in"


def test_a_clue_mapped_to_relation_and_node_is_one_and_two_clues_are_both() -> None:
    # "buyer" maps relation and node; "Uganda" is a node by name; the step marks both.
    answer, _ = ask(["Kenya", "buyer", "Uganda", "seat"], *BUYER, kb=knowledge(TRADE))
    data = answer["trace"]["data"]
    uganda = next(one for one in data["branches"] if one["label"] == "Uganda" and one["round"] == 1)
    assert uganda["explored"] == [1, 2, 3]
    peru = next(one for one in data["branches"] if one["label"] == "Peru" and one["round"] == 1)
    assert peru["explored"] == [1, 2]
    assert answer["answers"] == ["Kampala"]
    assert data["outcome"] == "complete"
    assert [target["kind"] for target in row(answer, 3)["targets"]] == ["entity", "start"] or row(answer, 3)[
        "total"
    ] == 2


def test_a_node_explains_a_clue_only_on_the_step_that_the_clue_means() -> None:
    # Ayo directed and wrote both films: "directed by" is met by a film as directed, not as written.
    rows = [(film, relation, "Ayo") for film in ("F", "G") for relation in ("directed_by", "written_by")]
    rows += [("G", "written_by", "Ibo")]
    clues, wanted = ["F", "directed by", "directed by", "written by"], ("directed by", "directed by")
    answer, _ = ask(clues, wanted, kb=knowledge(rows))
    assert answer["rounds"] == 3
    # The answer may lie on its path (Ayo); the starting point never is one.
    assert answer["answers"] == ["Ayo", "Ibo"]
    assert answer["evidence"]["paths"][0]["text"].startswith("(F) -[directed by]-> (Ayo) <-[directed by]- (G)")
    back, _ = ask(["F", "directed by", "directed by"], wanted, kb=knowledge(rows))
    assert back["answers"] == ["G"]


def test_an_empty_mapping_ends_the_branch() -> None:
    no_relation, model = ask(["Kenya", "colour", "shape"])
    assert no_relation["trace"]["data"]["branches"][0]["why"] == "no relation maps a clue"
    assert model.roles == ["fiske.extract_clues", "fiske.r_mapping"]
    no_node, model = ask(["Kenya", "buyer", "shape"], *BUYER, replies={"fiske.e_mapping": {"pairs": []}})
    assert no_node["trace"]["data"]["branches"][0]["why"] == "no node maps a clue"
    assert no_node["status"] == "unknown"
    assert no_node["reason"] == "the exploration failed: no path maps every clue, and none maps clue 2 (buyer)"
    assert model.roles == ["fiske.extract_clues", "fiske.r_mapping", "fiske.e_mapping"]


def test_the_multi_answer_rule_can_be_off() -> None:
    on, _ = ask(["Kenya", "buyer"], *BUYER, replies={"fiske.e_mapping": {"pairs": []}})
    off, model = ask(["Kenya", "buyer"], *BUYER, replies={"fiske.e_mapping": {"pairs": []}}, multi_answer=False)
    assert on["answers"] == ["Uganda", "Peru"]
    assert off["status"] == "unknown"
    assert "fiske.e_mapping" in model.roles


def test_no_new_round_once_a_branch_is_complete_and_all_of_its_round_are_kept() -> None:
    rows = [("A", "r", "X"), ("B", "r", "Y"), ("B", "s", "Z"), ("Z", "t", "W")]
    clues, wanted = ["N", "r"], (("r", "r"), ("r", "s"))
    labels = {"A": "N", "B": "N"}
    answer, _ = ask(clues, *wanted, kb=knowledge(rows, labels=labels), exact_names=False)
    assert sorted(answer["answers"]) == ["X", "Y", "Z"]
    assert answer["rounds"] == 1
    # Uganda is reached by name and completes; Peru still lacks a clue and stops with the round.
    answer, _ = ask(["Kenya", "buyer", "Uganda"], *BUYER)
    statuses = {(one["label"], one["status"], one["why"]) for one in answer["trace"]["data"]["branches"]}
    assert ("Uganda", "complete", "") in statuses
    assert answer["rounds"] == 1


def test_a_call_that_cannot_complete_a_branch_is_saved_where_one_is_complete() -> None:
    _, model = ask(["Kenya", "export partner", "Uganda"])
    assert "fiske.e_mapping" not in model.roles, "Peru could at best lack the clue Uganda"
    _, model = ask(["Kenya", "export partner", "Uganda"], ending_flag=False)
    assert "fiske.e_mapping" in model.roles
    _, model = ask(["Kenya", "export partner", "Uganda", "friend"])
    assert "fiske.e_mapping" in model.roles, "nothing is complete yet"


@pytest.mark.parametrize(
    "settings", [{}, {"stateful": False}, {"ending_flag": False}, {"stateful": False, "ending_flag": False}]
)
def test_there_are_no_more_rounds_than_clues(settings: dict[str, Any]) -> None:
    rows = [(f"n{n}", "next", f"n{n + 1}") for n in range(30)]
    clues = ["n0", "next", "next", "last"]
    answer, _ = ask(clues, ("next", "next"), kb=knowledge(rows), max_calls=None, **settings)
    assert answer["rounds"] <= len(clues)
    # Without state the clue is mapped again and again; with state its two occurrences are two steps.
    assert answer["rounds"] == (4 if settings.get("stateful") is False else 3)


def test_steps_back_are_no_steps_but_loops_are() -> None:
    rows = [("A", "knows", "B"), ("B", "knows", "A"), ("G", "capital", "G")]
    answer, _ = ask(["A", "knows", "knows", "end"], ("knows", "knows"), kb=knowledge(rows))
    assert [one["label"] for one in answer["trace"]["data"]["branches"] if one["round"]] == ["B"]
    answer, _ = ask(["G", "capital"], kb=knowledge(rows))
    assert answer["answers"] == ["G"]


def test_a_literal_is_a_node_that_a_path_may_pass() -> None:
    rows = [("Ghana", "founded", "1957-03-06"), ("Malaya", "founded", "1957-03-06")]
    answer, _ = ask(["Ghana", "founded", "founded"], ("founded", "founded"), kb=knowledge(rows))
    assert answer["answers"] == ["Malaya"]
    assert answer["evidence"]["paths"][0]["text"] == "(Ghana) -[founded]-> (1957-03-06) <-[founded]- (Malaya)"
    answer, _ = ask(["Ghana", "founded", "1957-03-06"], kb=knowledge(rows))
    assert answer["trace"]["data"]["outcome"] == "complete", "a literal is matched by name too"


def members(count: int) -> list[tuple[str, str, str]]:
    return [(f"Member {n:03}", "member_of", "League") for n in range(count)] + [
        (f"Member {n:03}", "capital", f"City {n:03}") for n in range(count)
    ]


def test_a_set_of_eighty_comes_back_whole_on_one_line() -> None:
    answer, model = ask(["League", "member of"], kb=knowledge(members(80)))
    assert answer["answers"] == [f"Member {n:03}" for n in range(80)]
    assert answer["status"] == "grounded"
    assert answer["reason"] == "the evidence holds the answer"
    assert len(asked(model, "answer")[0].lines("evidence")) == 1
    assert len(answer["evidence"]["triples"]) == 80


def test_a_set_of_eighty_in_the_middle_comes_back_whole_and_in_few_calls() -> None:
    answer, model = ask(["League", "member of", "capital"], ("member of", "member of"), kb=knowledge(members(80)))
    assert answer["answers"] == [f"City {n:03}" for n in range(80)]
    assert answer["reason"] == "the evidence holds the answer"
    assert len(answer["evidence"]["triples"]) == 160
    assert (
        model.roles == ["fiske.extract_clues", "fiske.r_mapping", "fiske.e_mapping", "fiske.answer"]
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


def test_evidence_that_does_not_fit_is_shortened_then_cut_and_said() -> None:
    clues, wanted = ["League", "member of", "capital"], ("member of", "member of")
    full, whole = ask(clues, wanted, kb=knowledge(members(60)))
    assert (
        asked(whole, "answer")[0].lines("evidence")[0].text
        == "(League) <-[member of]- (Member 000) -[capital]-> (City 000)"
    )
    short, shortened = ask(clues, wanted, kb=knowledge(members(60)), evidence_tokens=1300)
    lines = [item.text for item in asked(shortened, "answer")[0].lines("evidence")]
    assert "(Member 000) -[capital]-> (City 000)" in lines
    assert len([line for line in lines if "capital" in line]) == 60
    # What is cited is the whole path all the same.
    assert "(League) <-[member of]- (Member 000) -[capital]-> (City 000)" in [
        p["text"] for p in short["evidence"]["paths"]
    ]
    cut, few = ask(clues, wanted, kb=knowledge(members(60)), evidence_tokens=300)
    assert len(asked(few, "answer")[0].lines("evidence")) < 60
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
    assert len(asked(model, "answer")[0].lines("evidence")) == 3
    assert {"Osk", "1911"} <= set(answer["answers"])


def test_the_nodes_of_a_round_come_in_one_round_trip() -> None:
    saver = InMemorySaver()
    model = FakeModel(
        {
            "fiske.extract_clues": {"keywords": ["League", "member of", "capital"]},
            "fiske.e_mapping": mapping(("member of", "member of")),
            "fiske.r_mapping": {"pairs": []},
            "fiske.answer": everything,
        }
    )
    graph = tg.build("fiske", knowledge=knowledge(members(30)), model=model, checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "1"}}
    graph.invoke({"question": "?x"}, config)
    trips = {place: work["store_round_trips"] for place, work in graph.get_state(config).values["work"].items()}
    # Names, then relations; nodes and their types; the next relations, nodes; the evidence, cited once more at the end.
    assert {place: count for place, count in trips.items() if count} == {
        "extract/0": 2,
        "reach/1": 2,
        "advance/1": 1,
        "reach/2": 1,
        "conclude/2": 1,
        "answer/2": 1,
    }


def test_the_ceiling_of_thirty_holds_under_concurrency_and_is_said() -> None:
    rows = [("Hub", f"relation {n:02}", f"End {n}") for n in range(60)]
    answer, model = ask(["Hub", "something", "else"], kb=knowledge(rows), chunk=1)
    assert len(model.asked) == 29, "the last is kept for answering"
    assert answer["usage"]["total"]["calls"] == 29
    assert answer["status"] == "unknown"
    assert "budget: the ceiling of 30 calls is reached" in answer["reason"]
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


def test_a_failed_exploration_is_answered_from_memory_only_if_allowed() -> None:
    off, model = ask(["Kenya", "buyer", "shape"], *BUYER, partial_evidence=False)
    assert off["status"] == "unknown"
    assert "fiske.answer" not in model.roles
    on, model = ask(["Kenya", "buyer", "shape"], *BUYER, preset="paper")
    assert (on["status"], on["answers"]) == ("memory", ["from memory"])
    assert model.roles[-1] == "recall.direct"
    assert on["evidence"] == {"triples": [], "passages": [], "paths": []}
    assert "fiske.answer" not in model.roles, "one closing call"


COMPARED = {"fiske.answer": {"sufficient": True, "answers": ["Kenya"], "evidence": [1, 2]}}


def test_partial_evidence_of_several_branches_together() -> None:
    clues = ["Kenya", "Uganda", "population"]
    answer, model = ask(clues, ("population", "population"), replies=COMPARED)
    lines = [item.text for item in asked(model, "answer")[0].lines("evidence")]
    assert sorted(lines) == ["(Kenya) -[population]-> (52)", "(Uganda) -[population]-> (49)"]
    assert (answer["answers"], answer["status"]) == (["Kenya"], "grounded")
    assert "by several paths together" in answer["reason"]
    answer, _ = ask([*clues, "area"], ("population", "population"), replies=COMPARED)
    assert answer["status"] == "partial"
    assert "no path maps clue 4 (area)" in answer["reason"]
    answer, _ = ask(clues, ("population", "population"), replies=COMPARED, partial_evidence=False)
    assert answer["status"] == "unknown"


@pytest.mark.parametrize(("cited", "status"), [([1], "grounded"), ([], "unknown")])
def test_a_verdict_counts_only_with_a_path_that_supports_it(cited: list[int], status: str) -> None:
    verdict = {"fiske.answer": {"sufficient": True, "answers": ["true"], "evidence": cited}}
    answer, model = ask(["Kenya", "export partner", "Uganda"], replies=verdict, task="truth")
    assert answer["status"] == status
    assert answer["answers"] == (["true"] if cited else [])
    assert "The only answers allowed" not in asked(model, "answer")[0].text("evidence")
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
    assert sorted(model.roles[1:]) == ["fiske.answer", "recall.direct"]
    same = {"recall.direct": {"sufficient": True, "answers": ["nairobi"], "evidence": []}}
    answer, _ = ask(["Kenya", "capital"], replies=same, **settings)
    assert (answer["answers"], answer["status"]) == (["Nairobi"], "grounded")
    failed, model = ask(["Xyzzy"], **settings)
    assert failed["answers"] == ["from memory"]
    assert model.roles.count("recall.direct") == 1
    _, model = ask(["Kenya", "capital"], **settings, max_calls=2)
    assert len(model.asked) <= 2


def test_the_clue_table_is_in_state_in_the_events_and_in_the_answer() -> None:
    model = FakeModel(
        {
            "fiske.extract_clues": {"keywords": ["Kenya", "buyer", "seat"]},
            "fiske.r_mapping": mapping(*BUYER),
            "fiske.e_mapping": mapping(*BUYER),
            "fiske.answer": everything,
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
    assert (values["mapped"], values["reached"], values["calls_to_make"]) == ({}, [], [])


def test_one_list_for_all_branches_if_wanted() -> None:
    clues = ["Kenya", "Uganda", "people"]
    _, each = ask(clues, ("people", "population"))
    _, shared = ask(clues, ("people", "population"), share_all=True)
    assert len(asked(each, "r_mapping")) > len(asked(shared, "r_mapping"))
    assert [item.text for item in asked(shared, "r_mapping")[0].lines("clues")] == ["Kenya", "Uganda", "people"]
