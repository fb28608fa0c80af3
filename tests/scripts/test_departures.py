"""docs/departures.md tells of every setting that `preset=paper` changes, with the figures that were measured."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import CASES

from thinkgraph.eval.bench import BenchPlan
from thinkgraph.eval.questions import Question

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "departures.md").read_text("utf-8")
TITLES = {"tog2": "ToG-2", "fasttog": "FastToG", "fiske": "FiSKE", "coggrag": "CogGRAG"}
SECTIONS = dict(zip(["all", *TITLES], re.split(r"(?m)^## .*$", PAGE), strict=True))


@pytest.fixture(scope="module")
def departures() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        return importlib.import_module("departures")


def settings_told(section: str) -> list[str]:
    """The settings in the first cells of the tables that say why."""
    rows = [line.split("|")[1] for line in section.splitlines() if line.count("|") == 4 and line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


def test_the_pages_figures_are_the_results(departures: Any) -> None:
    rows = departures.Store(departures.RESULTS).rows
    assert departures.page(PAGE, rows) == PAGE
    assert departures.page(PAGE, [{**row, "calls": row["calls"] + 99 * bool(row["departure"])} for row in rows]) != PAGE


def test_what_was_measured_is_not_asked_again(departures: Any, tmp_path: Path) -> None:
    case = CASES["fiske"]
    question = Question(id="q", question=case.question, answers=tuple(case.answers))

    def measured(departure: str, **settings: Any) -> list[Any]:
        model = FakeModel(case.replies)
        plan = BenchPlan([question], case.knowledge(), {"fiske": settings}, model)
        departures.Store(tmp_path / "rows.jsonl").measure(plan, departure, name="small", model="fake")
        return model.asked

    assert measured("")
    assert not measured("")
    assert measured("backtracks", backtracks=0)
    rows = departures.Store(tmp_path / "rows.jsonl").rows
    assert [(row["departure"], row["n"], row["hits1"]) for row in rows] == [("", 1, 1.0), ("backtracks", 1, 1.0)]


@pytest.mark.parametrize("method", TITLES)
def test_every_setting_that_the_preset_changes_is_measured_once(departures: Any, method: str) -> None:
    measured = [name for one in departures.DEPARTURES[method] for name in one.settings]
    assert sorted(measured) == sorted(departures.changed(method).keys() - departures.IDLE.get(method, set()))


@pytest.mark.parametrize("method", TITLES)
def test_the_page_says_why_of_each(departures: Any, method: str) -> None:
    told = {*settings_told(SECTIONS["all"]), *settings_told(SECTIONS[method])}
    assert {name for one in departures.DEPARTURES[method] for name in one.settings} <= told
