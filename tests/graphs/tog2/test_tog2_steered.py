"""One call decides and steers (`steered`), in ToG-2 and ToG."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import small_knowledge
from graphs.tog2.test_tog2 import BORDERS, NEVER, every_relation, only

import thinkgraph as tg
from thinkgraph.eval.gold import resolve_golds
from thinkgraph.eval.perfect.chooser import PerfectChooser
from thinkgraph.eval.perfect.errors import Slip
from thinkgraph.eval.questions import Question
from thinkgraph.graphs.registry import find_method
from thinkgraph.prompts.kinds import JUDGE, Shape
from thinkgraph.prompts.parsed import ParsedPrompt
from thinkgraph.state.knowledge import Passage
from thinkgraph.state.settings import resolve_settings
from thinkgraph.testing.memory import MemoryGraphStore, MemoryTextStore
from thinkgraph.tools.knowledge import Knowledge

SETTINGS: Any = {"ranker": "bm25", "backtracks": 0, "depth": 3}
ROWS = [("Ann", "wrote", f"Book {n}") for n in "ab"] + [(f"Book {n}", "set in", f"Town {n}") for n in "ab"]
ROWS += [(f"Town {n}", "mayor", f"Mayor {n}") for n in "ab"] + [("Ann", "born in", "Rome"), ("Rome", "mayor", "Gino")]
ROWS += [(f"Book {n}", "year", "1999") for n in "ab"] + [(f"Town {n}", "river", "Osk") for n in "ab"]
PATH = (("Ann", "wrote"), ("*", "set in"), ("*", "mayor"))
WHO = Question("w", "Who are the mayors where the books of Ann are set?", ("Mayor a", "Mayor b"), gold_path=PATH)


def steer(*names: str) -> Any:
    """A judgement that is never sufficient and scores relations by name."""
    return lambda prompt: NEVER | only(*names)(prompt)


def ask(replies: dict[str, Any], *, question: str = BORDERS, **settings: Any) -> FakeModel:
    base = {"tog2.topic_prune": {"numbers": [1]}, "tog2.relation_prune": every_relation, "tog2.reason": NEVER}
    model = FakeModel({**base, **replies})
    built = tg.build("tog2", knowledge=small_knowledge(), model=model, settings={**SETTINGS, **settings})
    built.invoke({"question": question})
    return model


def perfect(method: str, rows: Any = ROWS, question: Question = WHO, **settings: Any) -> tuple[Any, list[str]]:
    """The answer of a run with the perfect chooser, and the roles that it called."""
    graph = MemoryGraphStore(rows)
    (gold,) = resolve_golds([question], graph)
    own = SETTINGS if method == "tog2" else {"depth": 3}
    chooser = PerfectChooser({question.question: gold})
    built = tg.build(method, knowledge=Knowledge(graph=graph), model=chooser, settings=own | settings)
    answer = built.invoke({"question": question.question})["answer"]
    return answer, [role for role, use in answer["usage"]["roles"].items() for _ in range(use["calls"])]


@pytest.mark.parametrize("method", ["tog2", "tog"])
def test_a_round_costs_one_call(method: str) -> None:
    answer, calls = perfect(method)
    assert set(answer["answers"]) == set(WHO.answers)
    assert sorted(calls) == ["tog2.reason", "tog2.relation_prune", "tog2.steer", "tog2.steer"]
    same, more = perfect(method, steered=False)
    assert same["answers"] == answer["answers"]
    assert sorted(more) == ["tog2.reason"] * 3 + ["tog2.relation_prune"] * 3


def test_relation_prune_walks_what_the_judgement_scored_and_asks_where_it_scored_nothing() -> None:
    def walked(model: FakeModel) -> set[str]:
        items = [item for prompt in model.asked[-1:] for item in prompt.lines("evidence")]
        return {hop.relation for item in items for hop in item.triples}

    said = ask({"tog2.steer": steer("borders")}, depth=1)
    assert (walked(said), said.roles.count("tog2.relation_prune")) == ({"borders"}, 0)
    for reply in (NEVER, NEVER | {"scores": []}, NEVER | {"scores": "no"}, NEVER | {"scores": [[99, 9]]}):
        model = ask({"tog2.steer": reply, "tog2.relation_prune": only("capital")}, depth=1)
        assert (walked(model), model.roles.count("tog2.relation_prune")) == ({"capital"}, 1)


def test_what_a_judgement_scored_serves_the_next_round_alone() -> None:
    model = ask({"tog2.steer": steer("borders"), "tog2.relation_prune": {"scores": []}}, backtracks=1, depth=1)
    after = model.roles[model.roles.index("tog2.reason") :]
    assert "tog2.relation_prune" in after, "the way back offers other relations, and is asked of its own"


def test_a_search_whose_relations_to_come_score_nothing_goes_back_at_once() -> None:
    def offered(backtracks: int) -> list[set[str]]:
        replies = {"tog2.steer": NEVER | {"scores": []}, "tog2.relation_prune": only("borders")}
        model = ask(replies, backtracks=backtracks)
        # The topic's own relations are all there is to go back to at first, so relation prune is asked about them.
        assert model.roles[:4] == ["tog2.steer", "tog2.relation_prune"] * 2
        prunes = [prompt for prompt in model.asked if prompt.role == "tog2.relation_prune"]
        return [{item.text for item in prompt.lines("options")} for prompt in prunes[:2]]

    (first, onwards), (same, back) = offered(0), offered(1)
    assert first == same
    left_aside = {option for option in first if "borders" not in option}
    assert left_aside
    assert back == onwards | left_aside


def test_a_lone_relation_is_scored_where_the_search_may_go_back() -> None:
    rows = [("Ann", "wrote", "Book a"), ("Ann", "born in", "Rome"), ("Book a", "set in", "Town a")]
    question = Question("t", "Where is what Ann wrote set?", ("Town a",), gold_path=(("Ann", "wrote"), ("*", "set in")))
    for often, role in ((0, "tog2.reason"), (1, "tog2.steer")):
        answer, calls = perfect("tog2", rows, question, backtracks=often)
        assert answer["answers"] == ["Town a"]
        assert sorted(calls) == sorted(["tog2.relation_prune", "tog2.steer", role])


def test_a_lone_relation_is_walked_unasked() -> None:
    rows = [("Ann", "wrote", "Book a"), ("Book a", "year", "1999")]
    question = Question("y", "When was what Ann wrote?", ("1999",), gold_path=(("Ann", "wrote"), ("*", "year")))
    answer, calls = perfect("tog2", rows, question, steered=False, avoid_cycles=False)
    assert answer["answers"] == ["1999"]
    assert calls.count("tog2.relation_prune") == 1, "the book has two relations, its author one"


def test_the_relations_scored_first_tell_which_entity_is_meant() -> None:
    rows = [*ROWS, ("Mayors", "genre", "song"), ("Mayors", "singer", "Lena"), ("Books", "genre", "song")]
    _, calls = perfect("tog2", rows)
    assert "tog2.topic_prune" not in calls
    for other in ({"steered": False}, {"width": 1}):
        assert "tog2.topic_prune" in perfect("tog2", rows, **other)[1]


def test_the_model_chooses_among_entities_with_documents() -> None:
    rows = [*ROWS, ("Mayors", "genre", "song")]
    passage = Passage(id="p", entities=["Mayors"], title="Mayors", section="", text="A song.")
    replies = {"tog2.topic_prune": {"numbers": []}, "tog2.relation_prune": {"scores": []}, "tog2.reason": NEVER}
    for texts, asked in (([], 0), ([passage], 1)):
        model = FakeModel(replies)
        knowledge = Knowledge(graph=MemoryGraphStore(rows), text=MemoryTextStore(texts))
        tg.build("tog2", knowledge=knowledge, model=model, settings=SETTINGS).invoke({"question": WHO.question})
        assert model.roles.count("tog2.topic_prune") == asked


def test_equal_evidence_is_not_judged_twice() -> None:
    def reason(prompt: ParsedPrompt) -> Any:
        lines = [item.number for item in prompt.lines("evidence") if "Rome" in item.text]
        return {
            "sufficient": bool(lines),
            "answers": ["Rome"] * bool(lines),
            "evidence": lines,
            "clues": "",
            "query": "",
        }

    model = FakeModel({"tog2.relation_prune": only("zeal"), "tog2.reason": reason})
    knowledge = Knowledge(graph=MemoryGraphStore([("Ann", "zeal", "Rome"), ("Ann", "year", "1999")]))
    settings = SETTINGS | {"backtracks": 1, "depth": 1}
    built = tg.build("tog2", knowledge=knowledge, model=model, settings=settings)
    answer = built.invoke({"question": "Which city did Ann marry in?"})["answer"]
    assert answer["answers"] == ["Rome"]
    shown = [
        (prompt.text("evidence"), prompt.text("doubted answer")) for prompt in model.asked if prompt.kind == "judge"
    ]
    assert len(shown) == len(set(shown)) == 1


def test_the_paper_does_not_join_calls() -> None:
    for method in ("tog2", "tog"):
        found = find_method(method)
        assert resolve_settings(found.settings, {}).steered
        assert not resolve_settings(found.settings, {"preset": "paper"}).steered


def test_a_judgement_is_read_with_its_scores() -> None:
    shape = Shape(options=4, evidence=2, fields=("scores",), unseen=(2,))
    said = '{"sufficient": false, "answers": [], "evidence": [2], "scores": [[1, 9], [2, 8], [3, 7]]}'
    judgement = JUDGE.parse(said, shape)
    assert judgement["scores"] == [(1, 9.0), (3, 7.0)], "options that were not shown are not scored"
    assert judgement["evidence"] == [2], "lines of evidence have numbers of their own"
    assert JUDGE.schema(shape)["required"][-1] == "scores"
    assert "scores" not in JUDGE.parse(said, Shape(evidence=2))


def test_the_chooser_errs_in_both_decisions_of_a_call() -> None:
    assert perfect("tog2")[0]["status"] == "grounded"
    graph = MemoryGraphStore(ROWS)
    (gold,) = resolve_golds([WHO], graph)
    for where in ("score", "judge"):
        chooser = PerfectChooser(
            {WHO.question: gold}, slips=[Slip(1.0, where, "none" if where == "score" else "never")]
        )
        built = tg.build("tog2", knowledge=Knowledge(graph=graph), model=chooser, settings=SETTINGS)
        assert built.invoke({"question": WHO.question})["answer"]["status"] != "grounded"


def test_a_doubted_answer_is_steered_on_from() -> None:
    """The judgement that is doubted says nothing of relations; the one after it does."""
    rows = [("Volga", "ends_in", "Russia"), ("Volga", "rises_in", "Valdai"), ("Russia", "capital", "Moscow")]
    rows += [("Russia", "population", "144000000"), ("Russia", "area", "17098246")]

    def decide(prompt: ParsedPrompt) -> Any:
        if lines := [item.number for item in prompt.lines("evidence") if "144000000" in item.text]:
            return {"sufficient": True, "answers": ["144000000"], "evidence": lines, "clues": "", "query": ""}
        if prompt.text("doubted answer"):
            return NEVER | only("population")(prompt)
        return {
            "sufficient": True,
            "answers": ["Russia"],
            "evidence": [1],
            "clues": "",
            "query": "",
            "scores": [[1, 9]],
        }

    model = FakeModel({"tog2.relation_prune": only("ends in"), "tog2.reason": decide})
    settings = SETTINGS | {"backtracks": 1}
    built = tg.build("tog2", knowledge=Knowledge(graph=MemoryGraphStore(rows)), model=model, settings=settings)
    answer = built.invoke({"question": "How many people live in the country where the Volga ends?"})["answer"]
    assert answer["answers"] == ["144000000"]
    assert model.roles[:3] == ["tog2.relation_prune", "tog2.steer", "tog2.steer"]
    assert model.roles.count("tog2.relation_prune") == 1


@pytest.mark.parametrize("method", ["tog2", "tog"])
def test_small_models_are_asked_one_thing_at_a_time_unless_told_otherwise(method: str) -> None:
    assert "tog2.steer" not in perfect(method, prompt_profile="small")[1]
    assert "tog2.steer" in perfect(method, prompt_profile="small", steered=True)[1]
