"""FiSKE's exploration: clues, starting points, mappings, branches, ending flag (METHODS: FiSKE, 1 to 4)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from graphs.fiske.fiske_kit import BUYER, ROWS, TRADE, ask, asked, knowledge, members, row

from thinkgraph.errors import SettingsError
from thinkgraph.state.fiske import FiskeSettings
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.testing.memory import MemoryGraphStore
from thinkgraph.tools.knowledge import Knowledge


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
        "fiske.conclude",
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


def test_extract_clues_that_cannot_be_read_end_in_a_counted_answer() -> None:
    answer, model = ask([], replies={"fiske.extract_clues": "no idea"})
    assert answer["status"] == "unknown"
    assert answer["reason"].startswith("no clues could be read from the question; 1 of 1 model calls gave no reply")
    assert answer["usage"]["total"]["calls"] == len(model.asked) == 2
    answer, model = ask([], replies={"fiske.extract_clues": "no idea"}, own_knowledge=True)
    assert (answer["status"], answer["answers"]) == ("memory", ["from memory"])
    assert model.roles[-1] == "recall.direct"


@pytest.mark.parametrize("said", ["{n}. {clue}", "{n}) {clue}", "[{n}] {clue}", "#{n}: {clue}"])
def test_numbers_that_a_reply_gives_its_clues_are_no_part_of_them(said: str) -> None:
    clues = ["Kenya", "capital"]
    answer, _ = ask([said.format(n=number, clue=clue) for number, clue in enumerate(clues, start=1)])
    assert answer["answers"] == ["Nairobi"]
    assert [clue["text"] for clue in answer["trace"]["data"]["clues"]] == clues


def test_a_number_that_does_not_count_the_clues_is_part_of_a_name() -> None:
    answer, _ = ask(["1. FC Alba", "capital", "1984"])
    assert [clue["text"] for clue in answer["trace"]["data"]["clues"]] == ["1. FC Alba", "capital", "1984"]
    for clues in (["1. FC Alba"], ["1.5 km", "2.5 km"]):
        answer, _ = ask(clues)
        assert [clue["text"] for clue in answer["trace"]["data"]["clues"]] == clues


def test_extract_clues_cuts_more_than_allowed_and_says_so() -> None:
    answer, _ = ask(["Kenya", *"abcdefgh"], max_clues=3)
    assert [clue["text"] for clue in answer["trace"]["data"]["clues"]] == ["Kenya", "a", "b"]
    assert "only the first 3 of 9 clues were used" in answer["reason"]


class NoEncoder:
    name = "none"

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        raise AssertionError("FiSKE needs no encoder")


def test_starting_points_link_all_clues_in_one_batch_without_an_encoder() -> None:
    store = MemoryGraphStore([*ROWS, ("Kenya (film)", "director", "Ayo")], labels={"Kenya (film)": "Kenya"})
    looked_up: list[int] = []
    lookup = store.lookup
    store.lookup = lambda names, *, limit=10: looked_up.append(len(names)) or lookup(names, limit=limit)  # type: ignore[method-assign]
    kb = Knowledge(graph=store, embedder=NoEncoder())
    answer, _ = ask(["Kenya", "Uganda", "buyer"], ("buyer", "export partner"), kb=kb)
    # The names of the question are looked up at the end, where it is not written like one.
    assert len(looked_up[:-1]) == 1
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
    assert model.roles == ["fiske.extract_clues", "fiske.conclude"]


def test_clues_that_match_nothing() -> None:
    answer, model = ask(["Xyzzy", "qwrtp"])
    assert (answer["status"], answer["rounds"]) == ("unknown", 0)
    assert answer["reason"] == "no entity of the knowledge base is named by a clue"
    assert len(model.asked) == 1


def test_clues_that_are_all_names() -> None:
    answer, model = ask(["Kenya"])
    assert answer["reason"] == "the clues name entities and nothing to look for at them"
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


def test_starting_points_of_a_clue_that_matches_ten_thousand_entities() -> None:
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
    assert model.roles == ["fiske.extract_clues", "fiske.conclude"]
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


def test_r_mapping_keeps_relations_apart_that_are_prefixes_of_others() -> None:
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


def test_r_mapping_keeps_incoming_edges_incoming() -> None:
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


def test_one_node_by_two_relations_maps_both_clues_if_steps_are_not_told_apart() -> None:
    rows = [("X", "director", "Ann"), ("X", "writer", "Ann"), ("X", "writer", "Ben")]
    wanted = ("director", "director"), ("writer", "writer")
    apart, _ = ask(["X", "director", "writer"], *wanted, kb=knowledge(rows), partial_evidence=False)
    assert apart["status"] == "unknown"
    both, _ = ask(["X", "director", "writer"], *wanted, kb=knowledge(rows), meant_step=False)
    assert both["answers"] == ["Ann"]
    assert both["rounds"] == 1


def test_a_start_is_an_answer_only_if_it_may_be() -> None:
    rows = [("Kenya", "capital", "Nairobi"), ("Nairobi", "country", "Kenya")]
    clues = ["Kenya", "capital", "country"]
    wanted = ("capital", "capital")
    never, _ = ask(clues, wanted, kb=knowledge(rows), partial_evidence=False)
    assert never["answers"] == []
    may, _ = ask(clues, wanted, kb=knowledge(rows), start_answers=True)
    assert may["answers"] == ["Kenya"]


def test_a_node_called_as_a_kind_of_thing_settles_nothing_for_the_others() -> None:
    rows = [("PiL", "discography", name) for name in ("Album", "Metal Box")]
    rows += [("Album", "year", "1986"), ("Metal Box", "year", "1979")]
    answer, _ = ask(["PiL", "album", "year"], ("album", "discography"), kb=knowledge(rows))
    assert sorted(answer["answers"]) == ["1979", "1986"]


def test_e_mapping_explains_a_clue_only_on_the_step_that_it_means() -> None:
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


def test_r_mapping_or_e_mapping_of_nothing_ends_the_branch() -> None:
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


def test_nodes_of_the_last_relation_are_asked_about_first_where_the_paper_is_wanted() -> None:
    some = {"fiske.e_mapping": lambda prompt: {"pairs": [[1, 1]] if prompt.lines("options") else []}}
    none = {"fiske.e_mapping": {"pairs": []}}
    ours, unasked = ask(["Kenya", "buyer"], *BUYER, replies=some)
    asks, model = ask(["Kenya", "buyer"], *BUYER, replies=some, multi_answer_asks=True)
    every, _ = ask(["Kenya", "buyer"], *BUYER, replies=none, multi_answer_asks=True)
    assert ours["answers"] == every["answers"] == ["Uganda", "Peru"]
    assert asks["answers"] == ["Uganda"]
    assert "fiske.e_mapping" in model.roles
    assert "fiske.e_mapping" not in unasked.roles


def test_branches_are_asked_about_alone_and_not_merged_where_the_paper_is_wanted() -> None:
    rows = [("A", "r", "X"), ("B", "r", "X"), ("X", "s", "Z")]
    labels = {"A": "N", "B": "N"}
    clues, wanted = ["N", "go", "on", "end"], (("go", "r"), ("on", "s"))
    ours, shared = ask(clues, *wanted, kb=knowledge(rows, labels=labels))
    paper, alone = ask(clues, *wanted, kb=knowledge(rows, labels=labels), per_branch=True)
    assert [len(asked(model, "r_mapping")) for model in (shared, alone)] == [3, 6]
    assert [one["label"] for one in ours["trace"]["data"]["branches"] if one["round"] == 1] == ["X"]
    assert [one["label"] for one in paper["trace"]["data"]["branches"] if one["round"] == 1] == ["X", "X"]
    with pytest.raises(SettingsError, match="exclude each other"):
        ask(clues, per_branch=True, share_all=True)


def test_where_branches_meet_a_line_tells_of_all_of_them() -> None:
    rows = [
        ("Rhine", "flows_through", "France"),
        ("Rhine", "flows_through", "Germany"),
        ("Danube", "flows_through", "Germany"),
        ("Danube", "flows_through", "Serbia"),
        ("Serbia", "capital", "Belgrade"),
    ]
    clues, wanted = ["Rhine", "Danube", "run through", "run through", "end"], ("run through", "flows through")

    def lines(clues: Sequence[str], **settings: Any) -> list[list[str]]:
        _, model = ask(clues, wanted, kb=knowledge(rows), **settings)
        return sorted([item.text for item in prompt.lines("options")] for prompt in asked(model, "e_mapping")[:2])

    france, serbia = "France -- Rhine flows through France", "Serbia -- Danube flows through Serbia"
    rhine, danube = "Rhine flows through Germany", "Danube flows through Germany"
    assert lines(clues) == [
        [france, f"Germany -- {rhine}; {danube}"],
        [f"Germany -- {danube}; {rhine}", serbia],
    ]
    assert lines(clues, share_all=True) == [[f"Germany -- {danube}; {rhine}", serbia, france]]
    assert lines(clues, per_branch=True) == [[france, f"Germany -- {rhine}"], [f"Germany -- {danube}", serbia]], "apart"


def test_the_encoder_can_choose_in_place_of_the_model() -> None:
    _, model = ask(
        ["Kenya", "export partner", "capital"], kb=knowledge(TRADE, embedder=HashEmbedder()), exact_names=False
    )
    assert {"fiske.r_mapping", "fiske.e_mapping"} & set(model.roles)
    answer, model = ask(
        ["Kenya", "export partner", "capital"],
        kb=knowledge(TRADE, embedder=HashEmbedder()),
        question="What are the capitals of the export partners of Kenya?",
        exact_names=False,
        pruning="encoder",
    )
    assert model.roles == ["fiske.extract_clues", "fiske.conclude"]
    assert {"Kampala", "Lima"} <= set(answer["answers"])


def test_nodes_are_offered_in_small_calls_up_to_a_number_where_the_paper_is_wanted() -> None:
    clues, wanted = ["League", "there", "end"], ("there", "member of")
    answer, model = ask(clues, wanted, kb=knowledge(members(90)), preset="paper", node_types=False)
    offered = [len(prompt.lines("options")) for prompt in asked(model, "e_mapping")]
    assert offered[:4] == [20, 20, 20, 20]
    assert "round 1: 10 nodes were not asked about (node_cap)" in answer["reason"]


def test_outcomes_start_no_round_once_a_branch_is_complete_and_keep_all_of_its_round() -> None:
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
def test_outcomes_allow_no_more_rounds_than_clues(settings: dict[str, Any]) -> None:
    rows = [(f"n{n}", "next", f"n{n + 1}") for n in range(30)]
    clues = ["n0", "next", "next", "last"]
    answer, _ = ask(clues, ("next", "next"), kb=knowledge(rows), max_calls=None, **settings)
    assert answer["rounds"] <= len(clues)
    # Without state the clue is mapped again and again; with state its two occurrences are two steps.
    assert answer["rounds"] == (4 if settings.get("stateful") is False else 3)


def test_entity_discovery_takes_no_step_back_but_loops() -> None:
    rows = [("A", "knows", "B"), ("B", "knows", "A"), ("G", "capital", "G")]
    answer, _ = ask(["A", "knows", "knows", "end"], ("knows", "knows"), kb=knowledge(rows))
    assert [one["label"] for one in answer["trace"]["data"]["branches"] if one["round"]] == ["B"]
    again, _ = ask(["A", "knows", "knows", "end"], ("knows", "knows"), kb=knowledge(rows), revisits=True)
    assert {one["label"] for one in again["trace"]["data"]["branches"] if one["round"] == 2} == {"A"}
    answer, _ = ask(["G", "capital"], kb=knowledge(rows))
    assert answer["answers"] == ["G"]


def test_entity_discovery_reaches_literals_that_a_path_may_pass() -> None:
    rows = [("Ghana", "founded", "1957-03-06"), ("Malaya", "founded", "1957-03-06")]
    answer, _ = ask(["Ghana", "founded", "founded"], ("founded", "founded"), kb=knowledge(rows))
    assert answer["answers"] == ["Malaya"]
    assert answer["evidence"]["paths"][0]["text"] == "(Ghana) -[founded]-> (1957-03-06) <-[founded]- (Malaya)"
    answer, _ = ask(["Ghana", "founded", "1957-03-06"], kb=knowledge(rows))
    assert answer["trace"]["data"]["outcome"] == "complete", "a literal is matched by name too"
