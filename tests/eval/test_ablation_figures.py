"""Figures that only ablations show, and the papers' own: where they stand, and what a bench's page takes of them."""

from __future__ import annotations

from typing import Any

import pytest

from thinkgraph.eval.ablations import ABLATIONS, ablation
from thinkgraph.eval.ablations.figures import cell_figures, merged
from thinkgraph.eval.bench import BenchPlan, run_bench
from thinkgraph.eval.bench_setup import bench_model, load_questions
from thinkgraph.eval.questions import Question
from thinkgraph.eval.reports.published import paper_tables, published_for
from thinkgraph.eval.reports.results import BenchResult, ReportRow
from thinkgraph.state.knowledge import Triple
from thinkgraph.tools.knowledge import Knowledge

QUESTIONS = load_questions("world", 3)


@pytest.fixture(scope="module")
def results() -> list[BenchResult]:
    """FastToG over three questions, its texts by the model."""
    with Knowledge.open("world") as knowledge:
        model = bench_model("perfect", QUESTIONS, knowledge)
        settings = {"fasttog": {"community_text": "llm"}}
        return run_bench(BenchPlan(QUESTIONS, knowledge, settings, model, concurrency=3))


def _with(result: BenchResult, *, hits1: float = 1.0, **answer: Any) -> BenchResult:
    """A result with another answer; `evidence` may give triples and passages alone."""
    evidence = {"triples": [], "passages": [], "paths": [], **answer.pop("evidence", {})}
    return {
        **result,
        "scores": {**result["scores"], "hits1": hits1},
        "em_contains": hits1,
        "gold": ["x"],
        "answer": {**result["answer"], "status": "grounded", **answer, "evidence": evidence},
    }


def _triple(subject: str, end: str) -> Triple:
    return {"subject_label": subject, "object_label": end}  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("verdict", "ends", "status", "hits1", "counts"),
    [
        ("yes", ("Lima", "Peru"), "grounded", 1.0, 1.0),
        ("yes", ("Lima", "Rímac"), "grounded", 1.0, 0.0),  # only one end of what it claims
        ("no", ("Lima", "Rímac"), "grounded", 1.0, 1.0),
        ("no", ("Oslo", "Norway"), "grounded", 1.0, 0.0),  # a path about something else
        ("yes", ("Lima", "Peru"), "memory", 1.0, 0.0),
        ("yes", ("Lima", "Peru"), "partial", 1.0, 0.0),
        ("yes", ("Lima", "Peru"), "grounded", 0.0, 0.0),
    ],
)
def test_a_verdict_counts_only_where_its_path_supports_it(
    results: list[BenchResult], verdict: str, ends: tuple[str, str], status: str, hits1: float, counts: float
) -> None:
    answer = {"question": "Is Lima the capital of Peru?", "answers": [verdict], "status": status}
    one = _with(results[0], hits1=hits1, **answer, evidence={"triples": [_triple(*ends)]})
    assert cell_figures([one], seed=0)["supported"] == counts


@pytest.mark.parametrize(
    ("question", "ends", "counts"),
    [
        ("Is Louvre Lens a museum?", ("Louvre Lens", "US"), 0.0),
        ("Is Louvre Lens a museum?", ("Louvre Lens", "Museum"), 1.0),
        ("王大亮是否开了病理学这门课？", ("王大亮", "病理学"), 1.0),
    ],
)
def test_a_part_of_a_word_names_nothing(
    results: list[BenchResult], question: str, ends: tuple[str, str], counts: float
) -> None:
    answer = {"question": question, "answers": ["yes"], "status": "grounded"}
    one = _with(results[0], **answer, evidence={"triples": [_triple(*ends)]})
    assert cell_figures([one], seed=0)["supported"] == counts


def test_right_answers_are_told_apart_by_what_they_cite(results: list[BenchResult]) -> None:
    triple, passage = {"triples": [_triple("a", "b")]}, {"passages": [{"id": "p"}]}
    cited: list[Any] = [{}, triple, passage, passage, {**triple, **passage}]
    made = [_with(results[0], evidence=evidence) for evidence in cited]
    # A wrong answer does not count, nor a question without an answer.
    made += [_with(results[0], hits1=0.0), {**_with(results[0]), "gold": []}]
    found = cell_figures(made, seed=0)
    names = ("from_nothing", "from_triples", "from_documents", "from_both")
    assert [found[name] for name in names] == [0.2, 0.2, 0.4, 0.2]
    assert cell_figures(made[-1:], seed=0)["from_both"] is None


def test_answers_are_merged_question_by_question(results: list[BenchResult]) -> None:
    question = Question(id="q", question="Who?", answers=("Ann", "Bob"))
    first = {**_with(results[0], answers=["Ann"]), "calls": 4, "bound": 9}
    second = {**_with(results[0], answers=["Bob", "Ann"]), "calls": 1}
    (both,) = merged([first], [second], [question])  # type: ignore[list-item]
    assert both["answer"]["answers"] == ["Ann", "Bob"]
    assert (both["scores"]["partial"], both["scores"]["complete"], both["calls"]) == (1.0, 1.0, 5)
    assert both["bound"] is None
    assert first["answer"]["answers"] == ["Ann"]


def test_texts_that_the_check_refused_are_counted(results: list[BenchResult]) -> None:
    told = [result["answer"]["trace"]["data"]["texts"] for result in results]
    asked = sum(one.get("asked", 0) for one in told)
    found = cell_figures(results, seed=0)
    assert asked > 0
    assert found["texts_mean"] == round(asked / 3, 4)
    assert found["refused_texts"] == round(sum(one.get("fell_back", 0) for one in told) / asked, 4)


def test_seconds_of_a_step_are_those_of_its_nodes(results: list[BenchResult]) -> None:
    first, second = ({**results[0], "steps": {}} for _ in range(2))
    first["steps"] = {
        "context_retrieval": {"turns": 3, "seconds": 5.0},
        "entity_prune": {"turns": 2, "seconds": 1.0},
    }
    second["steps"] = {"entity_prune": {"turns": 1, "seconds": 3.0}}
    found = cell_figures([first, second], seed=0)  # type: ignore[list-item]
    # Round 0 retrieves and prunes nothing: three prunes.
    assert found["seconds_entity_prune"] == 3.0
    assert found["seconds_relation_prune"] is None


# --- the papers' figures ----------------------------------------------------------------------------------------------


def test_every_figure_of_a_paper_stands_at_a_cell_that_is_there() -> None:
    tables = dict(paper_tables())
    assert set(tables) - set(ABLATIONS) == {"search-agent"}
    for name in ABLATIONS:
        table, paper = ablation(name), tables[name]
        assert bool(paper.figures) != bool(paper.unread), name
        for figure in paper.figures:
            assert figure.row in table.rows, figure
            assert figure.column in table.columns, figure
            assert figure.measure in {measure.column for measure in table.measures}, figure
            assert all([figure.model, figure.metric, float(figure.printed) >= 0]), figure
        assert set(paper.bench) <= set(table.rows)


def test_only_one_sum_does_not_add_up() -> None:
    assert {name: table.faults for name, table in paper_tables().items() if table.faults} == {
        "coggrag-table5": ["as printed, the row CogGRAG adds up to 119.9, not to 100"]
    }


def test_a_bench_s_page_takes_what_is_a_method_as_it_is() -> None:
    columns = set(ReportRow.__annotations__)
    told = published_for("webqsp")
    assert all(one.column in columns for one in told)
    assert {(one.method, one.column, one.printed) for one in told} >= {
        ("tog2", "em_contains", "81.1"),
        ("fasttog", "em_contains", "65.8"),
        ("fiske", "complete", "40.4"),
        ("coggrag", "em", "56.1"),
        ("search_agent", "hits1", "91.3"),
    }
    assert ("tog2", "GPT-3.5-turbo, 3-shot", "63.1") in {
        (one.method, one.setting, one.printed) for one in published_for("fever")
    }
    assert {one.setting for one in told if one.method == "fasttog"} == {
        f"{model}, {text}, given topics, 1,000 questions"
        for model in ("gpt-4o-mini", "Llama-3-70b")
        for text in ("T2T", "G2T")
    }
    assert published_for("world") == []
