from __future__ import annotations

import json
from pathlib import Path

import pytest
from memory_graph import MemoryGraph, small_world

from thinkgraph.errors import UsageError
from thinkgraph.eval.gold import Gold, resolve_golds
from thinkgraph.eval.questions import Question, read_questions
from thinkgraph.state.knowledge import Passage
from thinkgraph.testing.memory import MemoryGraphStore, MemoryTextStore


def gold(path, answers, question="?", type="", **more) -> Gold:  # noqa: A002
    graph, texts = small_world()
    asked = Question(
        id="q1", question=question, answers=tuple(answers), type=type, gold_path=tuple(map(tuple, path)), **more
    )
    return resolve_golds([asked], graph, texts)[0]


def ends(found: Gold) -> set[str]:
    return {end for place in found.finals for end in found.hops[place].ends}


def test_two_hops_backwards_and_forwards() -> None:
    found = gold([["Nairobi", "-capital"], ["Kenya", "official_language"]], ["English", "Swahili"])
    assert [hop.facts for hop in found.hops] == [
        (("Kenya", "capital", "Nairobi"),),
        (("Kenya", "official language", "English"), ("Kenya", "official language", "Swahili")),
    ]
    assert (found.operation, found.starts, found.hops[1].takes) == ("chain", ("Nairobi",), (0,))
    assert not found.hops[0].outgoing
    assert found.lines["Kenya"] == "Kenya -- country in Africa"


def test_a_named_end_singles_out_its_triple() -> None:
    found = gold([["Kenya", "export_partner"], ["Uganda", "capital"]], ["Kampala"])
    assert found.hops[0].facts == (("Kenya", "export partner", "Uganda"),)
    assert len(found.hops[0].every) > 1


def test_an_answer_beside_a_statement_keeps_the_statement_that_reaches_the_named_end() -> None:
    found = gold([["Kenya", "export_partner"], ["Uganda", "qualifier:since"]], ["1967"])
    assert (found.operation, found.answers, found.finals) == ("qualifier", ("1967",), (0,))
    assert found.hops[0].facts == (("Kenya", "export partner", "Uganda"),)
    with pytest.raises(UsageError, match='hop 1: no hop before reaches "Kenya"'):
        gold([["Kenya", "qualifier:since"]], ["1967"])


def test_star_takes_everything_and_dead_ends_go() -> None:
    found = gold([["Kenya", "export_partner"], ["*", "official_language"]], ["English"])
    assert found.hops[0].ends == ("Uganda",), "Panama has no official language here"
    assert ends(found) == {"English"}


def test_relations_by_label_and_alternatives() -> None:
    found = gold([["Kenya", "official language|language_spoken"]], ["English", "Swahili"])
    assert ends(found) == {"English", "Swahili"}


@pytest.mark.parametrize("kind", ["intersection", ""])
def test_intersection_even_where_one_branch_reaches_the_other_start(kind: str) -> None:
    found = gold([["Kenya", "shares_border_with"], ["Uganda", "shares_border_with"]], ["Tanzania"], type=kind)
    assert (found.operation, ends(found)) == ("intersection", {"Tanzania"})
    assert all(len(hop.facts) == 1 for hop in found.hops)


def test_comparison_takes_its_direction_from_the_question() -> None:
    path = [["Kenya", "population"], ["Uganda", "population"]]
    assert gold(path, ["Kenya"], "Which has the larger population?", "comparison").operation == "max"
    assert gold(path, ["Uganda"], "Which has fewer people?").operation == "min"
    joined = gold(
        [["Nairobi", "-capital"], ["Kampala", "-capital"], ["*", "population", "max"]], ["Kenya"], type="comparison"
    )
    assert (joined.operation, joined.hops[2].takes, len(joined.finals)) == ("max", (0, 1), 1)


def test_count_and_statements() -> None:
    assert gold([["Kenya", "shares_border_with"], ["count"]], ["2"]).operation == "count"
    statement = gold([["Kenya", "shares_border_with", "Panama"]], ["no"])
    assert (statement.operation, statement.other, len(statement.hops[0].facts)) == ("yesno", "Panama", 2)


def test_a_count_that_needs_both_directions_is_walked_both_ways() -> None:
    # Uganda borders Panama here, but it is written down at Panama alone.
    rows = [("Uganda", "borders", "Kenya"), ("Panama", "borders", "Uganda"), ("Kenya", "population", "5")]
    rows += [("Panama", "population", "9")]
    graph = MemoryGraph(rows)

    def of(path: list[list[str]], answer: str) -> Gold:
        asked = Question(id="q", question="?", answers=(answer,), gold_path=tuple(map(tuple, path)))
        return resolve_golds([asked], graph)[0]

    found = of([["Uganda", "borders"], ["count"]], "2")
    assert (found.finals, [hop.outgoing for hop in found.hops], ends(found)) == (
        (0, 1),
        [True, False],
        {"Kenya", "Panama"},
    )
    assert len(of([["Uganda", "borders"], ["count"]], "1").hops) == 1
    assert len(of([["Uganda", "borders"], ["count"]], "7").hops) == 1, "neither reading agrees: the path as it stands"
    largest = of([["Uganda", "borders"], ["*", "population", "max"]], "Panama")
    assert (largest.hops[2].takes, len(largest.hops)) == ((0, 1), 3)


def test_a_branch_of_an_intersection_knows_all_that_it_reaches() -> None:
    found = gold([["Kenya", "shares_border_with"], ["Uganda", "shares_border_with"]], ["Tanzania"])
    assert {fact[2] for fact in found.hops[0].every} == {"Uganda", "Tanzania"}


def test_text_hop_by_id_and_by_search() -> None:
    path = [["Volcan Baru", "-highest_point"], ["Panama", "text:Voting"]]
    for ids in (("pa-1",), ()):
        found = gold(path, ["18"], gold_passages=ids)
        assert found.hops[1].is_text
        assert found.passages == ("pa-1",)
        assert "reached 18" in found.hops[1].passages[0]


def test_ids_before_labels_and_namesakes_by_relation() -> None:
    assert gold([["Niger (river)", "length_km"]], ["4180"]).starts == ("Niger (river)",)
    assert gold([["Niger", "capital"]], ["Niamey"]).starts == ("Niger",)


def test_unanswerable() -> None:
    assert not gold([], []).is_answerable


def test_one_round_trip_per_hop_for_all_questions() -> None:
    graph, texts = small_world()
    asked = [
        Question(id=str(n), question=str(n), answers=("Nairobi",), type="1hop", gold_path=(("Kenya", "capital"),))
        for n in range(20)
    ]
    resolve_golds(asked, graph, texts)
    assert graph.calls.count("neighbours") == 1
    assert graph.calls.count("relations") <= 2


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ([["Nowhere", "capital"]], 'hop 1: the graph has no entity "Nowhere"'),
        ([["Kenya", "anthem"]], 'hop 1: no relation "anthem" at Kenya'),
        ([["Kenya", "text:Voting"]], 'hop 1: no passage "Voting" of Kenya'),
        ([["*", "capital"]], "nothing before it"),
    ],
)
def test_faults_name_question_and_hop(path, said: str) -> None:
    with pytest.raises(UsageError, match="q1") as caught:
        gold(path, ["x"])
    assert said in str(caught.value)


def write(folder: Path, *rows: object) -> Path:
    file = folder / "q.jsonl"
    file.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), "utf-8")
    return file


GOOD = {"id": "a", "question": "Why?", "answers": ["so"]}


def test_reads_questions(tmp_path: Path) -> None:
    file = write(
        tmp_path, {**GOOD, "gold_path": [["A", "b"], ["count"]], "topic": ["A"], "extra": 1}, "", {**GOOD, "id": "b"}
    )
    first, second = read_questions(file)
    assert (first.gold_path, first.topic, second.answers) == ((("A", "b"), ("count",)), ("A",), ("so",))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('{"id": "a", "quest', "line 2: not a whole JSON object"),
        ("[1]", "line 2: not a JSON object"),
        ({"question": "x", "answers": []}, 'line 2: field "id" is missing'),
        ({"id": "b", "answers": []}, 'line 2: field "question" is missing'),
        ({"id": "b", "question": "x"}, 'line 2: field "answers" is missing'),
        ({"id": "b", "question": "x", "answers": "y"}, 'line 2: field "answers" must be a list of texts'),
        ({**GOOD, "id": "b", "gold_path": [["A"]]}, 'line 2: field "gold_path", hop 1'),
        (GOOD, 'line 2: the id "a" stands there twice, first at line 1'),
        ({**GOOD, "id": "b", "type": "all"}, 'line 2: no type can be "all"'),
        ({**GOOD, "id": "b", "type": "untyped"}, 'line 2: no type can be "untyped"'),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, row, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_questions(write(tmp_path, GOOD, row))
    assert said in str(caught.value)
    assert "q.jsonl" in str(caught.value)


def test_missing_and_empty_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_questions(tmp_path / "none.jsonl")
    with pytest.raises(UsageError, match="holds no questions"):
        read_questions(write(tmp_path, ""))


READ = [
    Passage(id="1", entities=["Osk", "Varn"], title="Osk", section="", text="The Osk rises in Varn."),
    Passage(id="2", entities=["Varn", "Ines Calder"], title="Varn", section="", text="Varn is led by Ines Calder."),
    Passage(
        id="3", entities=["Ines Calder", "Tollow"], title="Ines Calder", section="", text="She was born in Tollow."
    ),
    Passage(id="4", entities=["Grey Hills"], title="Grey Hills", section="", text="Nothing leads here."),
]
STANDING = [
    ("Osk", "mentions", "Varn"),
    ("Varn", "mentions", "Ines Calder"),
    ("Ines Calder", "mentions", "Tollow"),
    ("Ines Calder", "mentioned with", "Grey Wolf"),
    ("Grey Wolf", "mentioned with", "Tollow"),
    ("Osk", "mentioned with", "Lake"),
]


def supported(question: str, answers: list[str], *passages: str) -> Gold:
    asked = Question(id="q1", question=question, answers=tuple(answers), gold_passages=passages)
    return resolve_golds([asked], MemoryGraphStore(STANDING), MemoryTextStore(READ))[0]


def test_passages_alone_are_a_chain_from_what_the_question_names() -> None:
    found = supported("Where was the head of the land born in which the Osk rises?", ["Tollow"], "3", "1", "2")
    assert [(hop.passages, hop.sources, hop.takes) for hop in found.hops] == [
        (("The Osk rises in Varn.",), ("Osk",), ()),
        (("Varn is led by Ines Calder.",), ("Varn",), (0,)),
        (("She was born in Tollow.",), ("Ines Calder",), (1,)),
    ]
    assert all(hop.is_text for hop in found.hops)
    assert (found.starts, found.finals, found.passages) == (("Osk",), (2,), ("3", "1", "2"))
    assert found.steps == {
        ("Osk", "mentions", True),
        ("Varn", "mentions", True),
        ("Ines Calder", "mentions", False),
        ("Tollow", "mentions", False),
    }


def test_a_passage_that_shares_nothing_comes_last_with_no_way_to_it() -> None:
    found = supported("What leads to the Osk?", ["Nothing"], "4", "1")
    assert [(hop.passages[0][:9], hop.sources) for hop in found.hops] == [("The Osk r", ("Osk",)), ("Nothing l", ())]
    assert found.finals == (1,)


def test_a_step_may_lead_by_way_of_one_more_entity() -> None:
    found = supported("What of Tollow and the Osk?", ["Varn"], "1", "3")
    assert ("Osk", "mentions", True) in found.steps, "by way of Varn"
    assert ("Osk", "mentioned with", True) not in found.steps


def test_passages_that_are_not_there_are_named() -> None:
    with pytest.raises(UsageError, match='question "q1", gold_passages: there is no passage "9"'):
        supported("?", ["x"], "1", "9")
