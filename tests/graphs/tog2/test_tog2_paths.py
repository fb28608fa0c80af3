"""A beam of relation paths (`beam=paths`) in ToG-2 and ToG: each with all entities that it reaches."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import FakeModel

import thinkgraph as tg
from thinkgraph.eval.gold import resolve_golds
from thinkgraph.eval.perfect.chooser import PerfectChooser, is_gold
from thinkgraph.eval.questions import Question
from thinkgraph.nodes.tog2.context_retrieval import LISTED
from thinkgraph.prompts.lines import parse_item
from thinkgraph.prompts.parsed import ParsedPrompt
from thinkgraph.state.evidence import MAX_EVIDENCE, Path, merge_evidence, path_item
from thinkgraph.state.knowledge import Passage
from thinkgraph.testing.memory import MemoryGraphStore, MemoryTextStore
from thinkgraph.tools.knowledge import Knowledge

FILMS = "abcdefgh"
ROWS = [(f"Film {n}", "starred", "Ann") for n in FILMS]
ROWS += [(f"Film {n}", "year", f"19{n}") for n in FILMS]
ROWS += [(f"Film {n}", "starred", f"Bob {n}") for n in FILMS[:2]]
YEARS = Question(
    "q", "When were the films of Ann?", tuple(f"19{n}" for n in FILMS), gold_path=(("Ann", "-starred"), ("*", "year"))
)
OTHERS = Question(
    "o",
    "Who starred in the films of Ann?",
    ("Ann", "Bob a", "Bob b"),
    gold_path=(("Ann", "-starred"), ("*", "starred")),
)
SETTINGS = {"depth": 2, "width": 1, "relations": 1, "steered": False}
NEVER = {"sufficient": False, "answers": [], "evidence": [], "clues": "", "query": ""}


def perfect(method: str, question: Question, rows: Any = ROWS, **settings: Any) -> Any:
    """The answer of a run with the perfect chooser."""
    graph = MemoryGraphStore(rows)
    (gold,) = resolve_golds([question], graph)
    ranker = {"ranker": "bm25"} if method == "tog2" else {}
    chooser = PerfectChooser({question.question: gold})
    built = tg.build(method, knowledge=Knowledge(graph=graph), model=chooser, settings=SETTINGS | ranker | settings)
    return built.invoke({"question": question.question})["answer"]


def shown(rows: Any, *wanted: str, **settings: Any) -> list[ParsedPrompt]:
    """The prompts of a run that walks these relations and finds nothing sufficient."""

    def walk(prompt: ParsedPrompt) -> Any:
        return {
            "scores": [[item.number, 9] for item in prompt.lines("options") if item.step and item.step[1] in wanted]
        }

    replies = {"tog2.topic_prune": {"numbers": [1]}, "tog2.relation_prune": walk, "tog2.reason": NEVER}
    model = FakeModel({**replies, "rank.texts": {"scores": []}})
    base = {**SETTINGS, "ranker": "bm25", "backtracks": 0, "skip_exact_topic": False}
    graph = tg.build("tog2", knowledge=Knowledge(graph=MemoryGraphStore(rows)), model=model, settings=base | settings)
    graph.invoke({"question": "What of Ann?"})
    return model.asked


def test_a_model_that_ranks_reads_what_a_relation_path_reaches_not_one_name_of_it() -> None:
    bands = [("Ann", "member", f"Band {n:02}") for n in range(25)]
    rows = [*bands, ("Ann", "friend", "Eve"), ("Ann", "friend", "Band 24")]
    asked = shown(rows, "member", "friend", ranker="llm", relations=2)
    options = next(prompt for prompt in asked if prompt.role == "rank.texts").lines("options")
    ends = {item.hops[0][0].relation: [hop.object for hop in item.hops[0]] for item in options}
    assert sorted(ends["friend"]) == ["Band 24", "Eve"]
    assert len(set(ends["member"])) == len(ends["member"]) == LISTED
    (line,) = [item.text for item in options if "member" in item.text]
    assert line.endswith("... and 5 more")


@pytest.mark.parametrize("method", ["tog2", "tog"])
def test_all_members_of_a_list_are_answers_however_narrow_the_beam(method: str) -> None:
    answer = perfect(method, YEARS)
    assert (set(answer["answers"]), answer["status"]) == (set(YEARS.answers), "grounded")
    narrow = perfect(method, YEARS, beam="entities")
    assert narrow["answers"] != answer["answers"]
    assert len(narrow["answers"]) < len(FILMS)


@pytest.mark.parametrize("method", ["tog2", "tog"])
def test_a_step_back_to_where_the_path_began_is_shown_and_ends_there(method: str) -> None:
    answer = perfect(method, OTHERS)
    assert set(answer["answers"]) == set(OTHERS.answers)
    assert answer["status"] == "grounded"
    if method == "tog2":
        assert "Ann" not in perfect(method, OTHERS, beam="entities", width=9)["answers"]
    (last, *_) = reversed([one for one in shown(ROWS, "starred", depth=3) if one.role == "tog2.relation_prune"])
    assert [item.step[0] for item in last.lines("options") if item.step] == ["Bob a and 1 more"]


def test_a_self_loop_is_a_statement_like_any_other() -> None:
    rows = [("Ann", "admires", "Ann"), ("Ann", "admires", "Bob a")]
    question = Question("l", "How many does Ann admire?", ("2",), gold_path=(("Ann", "admires"), ("count",)))
    assert perfect("tog2", question, rows)["answers"] == ["2"]
    who = Question("w", "Who does Ann admire?", ("Ann", "Bob a"), gold_path=(("Ann", "admires"),))
    assert set(perfect("tog2", who, rows)["answers"]) == {"Ann", "Bob a"}
    assert perfect("tog2", who, rows, beam="entities")["answers"] == ["Bob a"]


def test_one_line_shows_what_all_entities_of_a_path_lead_to_and_another_how_they_were_reached() -> None:
    reasons = [one for one in shown(ROWS, "starred", "year") if one.role == "tog2.reason"]
    reached, led_on = reasons[1].lines("evidence")
    assert len(reached.hops) == 1
    assert {hop.subject for hop in reached.triples} == {f"Film {n}" for n in FILMS}
    assert {(hop.subject, hop.object) for hop in led_on.triples} == {(f"Film {n}", f"19{n}") for n in FILMS}
    assert [len(listed.ends) for listed in led_on.lists] == [1] * len(FILMS), "no list claims more than its own"


def test_relations_are_offered_once_for_all_entities_of_a_path() -> None:
    (_, second) = [one for one in shown(ROWS, "starred", "year") if one.role == "tog2.relation_prune"]
    options = {(item.step, item.count) for item in second.lines("options")}
    assert (("Film a and 7 more", "year", True), 8) in options


def test_the_width_counts_relation_paths() -> None:
    rows = [*ROWS, *((f"Film {n}", "directed", "Ann") for n in "xy"), *((f"Film {n}", "year", "2000") for n in "xy")]
    for width, expected in ((1, {"Film a and 7 more"}), (2, {"Film a and 7 more", "Film x and 1 more"})):
        asked = shown(rows, "starred", "directed", width=width, relations=2)
        (_, second) = [one for one in asked if one.role == "tog2.relation_prune"]
        named = {item.step[0] for item in second.lines("options") if item.step and item.step[1] == "year"}
        assert named == expected or (width == 1 and len(named) == 1)


def test_an_entity_of_two_paths_stands_where_the_better_one_has_it() -> None:
    """It stood at the place of the worse one."""
    rows = [("Ann", "wrote", "Hedge"), ("Ann", "wrote", "Moss"), ("Ann", "edited", "Hedge")]
    passages = [Passage(id="p", entities=["Moss"], title="Moss", section="", text="Moss is a novel about peat.")]
    replies = {"tog2.relation_prune": {"scores": [[1, 9], [2, 9]]}, "tog2.reason": NEVER}
    graph = tg.build(
        "tog2",
        knowledge=Knowledge(graph=MemoryGraphStore(rows), text=MemoryTextStore(passages)),
        model=FakeModel({"tog2.topic_prune": {"numbers": [1]}, **replies}),
        settings=SETTINGS | {"depth": 1, "width": 2, "relations": 2, "ranker": "bm25", "backtracks": 0},
    )
    (update,) = (one for one in graph.stream({"question": "Which novel about peat by Ann?"}) if "entity_prune" in one)
    topics = update["entity_prune"]["topics"]
    assert [(topic["id"], topic["came_by"]) for topic in topics] == [
        ("Hedge", "Ann|out|wrote"),
        ("Moss", "Ann|out|wrote"),
    ]


def test_a_large_path_is_walked_from_its_first_entities_and_the_answer_says_what_was_cut() -> None:
    answer = perfect("tog2", YEARS, members=3, backtracks=0)
    assert answer["status"] != "grounded"
    (note,) = [one for one in answer["pruned"] if one["what"] == "entities" and one["dropped"]]
    assert (note["kept"], note["dropped"]) == (3, 5)


def test_a_line_too_long_for_the_prompt_loses_its_last_entities() -> None:
    rows = [(f"Film {n}", name, end) for n in range(40) for name, end in (("starred", "Ann"), ("year", str(1900 + n)))]
    (*_, last) = [one for one in shown(rows, "starred", "year", evidence_tokens=400) if one.role == "tog2.reason"]
    reached, led_on = last.lines("evidence")
    assert len(reached.triples) == 40
    assert 0 < len(led_on.triples) < 40
    assert led_on.text.endswith(")")


def test_an_answer_cites_only_the_entities_that_lead_to_it() -> None:
    graph = MemoryGraphStore(ROWS)
    replies = {
        "tog2.relation_prune": {"scores": [[1, 9], [2, 9]]},
        "tog2.reason": {"sufficient": True, "answers": ["19c"], "evidence": [1, 2]},
    }
    settings = {**SETTINGS, "ranker": "bm25", "relations": 2, "backtracks": 0}
    early = {"sufficient": False, "answers": [], "evidence": [], "clues": "", "query": ""}
    said = iter([early, replies["tog2.reason"]])
    model = FakeModel({**replies, "tog2.reason": lambda _: next(said)})
    built = tg.build("tog2", knowledge=Knowledge(graph=graph), model=model, settings=settings)
    answer = built.invoke({"question": "When was the work of Ann?"})["answer"]
    years = [path["text"] for path in answer["evidence"]["paths"] if "year" in path["text"]]
    assert years == ["(Ann) <-[starred]- (Film c) -[year]-> (19c)"]


def test_a_run_keeps_lines_of_evidence_whatever_the_number_of_items_in_one() -> None:
    def items(route: str, score: float, number: int) -> Any:
        start = Path(start="Ann", triples=[])
        every = [
            path_item(f"{route}{n}", start, ["t"], total=1, score=score, number=number, route=route) for n in range(5)
        ]
        return {item["id"]: item for item in every}

    early = {key: item for n in range(MAX_EVIDENCE) for key, item in items(f"early {n} ", n / 100, 1).items()}
    assert len(merge_evidence({}, early)) == 5 * MAX_EVIDENCE
    merged = merge_evidence(early, items("late ", 0.0, 2))
    assert len(merged) == 5 * MAX_EVIDENCE
    assert "late 4" in merged
    assert not any(key.startswith("early 0 ") for key in merged)


def test_an_option_of_several_entities_that_a_gold_hop_reaches_is_no_step_of_it() -> None:
    (gold,) = resolve_golds([OTHERS], MemoryGraphStore(ROWS))
    (_, films) = gold.hops
    assert films.takes
    offered = [f"({name} and 1 more) -[starred]-> x2" for name in ("Film a", "Film z", "Bob a")]
    assert [is_gold(gold, parse_item(1, line)) for line in offered] == [True, True, False]
