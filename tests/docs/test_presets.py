"""docs/presets.md says what the papers set, what we set and what `preset=paper` sets: every row of it holds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from graphs.cases import CASES

import thinkgraph as tg
from thinkgraph.graphs.registry import find_method
from thinkgraph.models.roles import OFFLINE
from thinkgraph.state.settings import RunSettings, resolve_settings
from thinkgraph.state.tog2 import Tog2Settings

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "presets.md"
METHODS = {"All methods": "tog2 fasttog fiske coggrag paths", "ToG-2": "tog2", "FastToG": "fasttog", "FiSKE": "fiske"}
METHODS |= {"CogGRAG": "coggrag", "Paths": "paths", "Search agent": "search_agent"}
COLUMNS = ["the paper", "where", "setting", "ours", "`preset=paper`", "why, and the test"]
_SETTING = re.compile(r"`(\w+)`(?: \(`task=(\w+)`\))?")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


class Row(NamedTuple):
    """One row of a table."""

    methods: tuple[str, ...]
    paper: str
    where: str
    setting: str
    ours: str
    preset: str
    why: str

    @property
    def named(self) -> tuple[str, dict[str, str]]:
        """The setting, and the task for which the row holds."""
        found = _SETTING.fullmatch(self.setting)
        assert found, f"no setting: {self.setting}"
        return found[1], {"task": found[2]} if found[2] else {}


def rows() -> Iterator[Row]:
    """All rows of the page."""
    for section in re.split(r"(?m)^## ", PAGE.read_text("utf-8"))[1:]:
        title, _, body = section.partition("\n")
        lines = [line for line in body.splitlines() if line.startswith("|")]
        table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        assert table[0] == COLUMNS, title
        for cells in table[2:]:
            assert len(cells) == len(COLUMNS), cells
            yield Row(tuple(METHODS[title].split()), *cells)


ROWS = list(rows())
SET = [row for row in ROWS if row.setting]
SHOWN = [row for row in ROWS if not row.setting]


def value_of(cell: str) -> Any:
    """A cell as a setting's value."""
    return yaml.safe_load(cell)


@cache
def names_of_tests(path: str) -> frozenset[str]:
    """Names of the tests in a file."""
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def test_every_table_was_found() -> None:
    assert {method for row in ROWS for method in row.methods} >= {"tog2", "fasttog", "fiske", "coggrag"}


@pytest.mark.parametrize("row", SET, ids=lambda row: f"{row.methods[0]}-{row.setting}")
def test_a_row_is_what_a_run_gets(row: Row) -> None:
    name, task = row.named
    for method in row.methods:
        schema = find_method(method).settings
        assert getattr(resolve_settings(schema, task), name) == value_of(row.ours), method
        assert getattr(resolve_settings(schema, {"preset": "paper", **task}), name) == value_of(row.preset), method


@pytest.mark.parametrize("row", SHOWN, ids=lambda row: f"{row.methods[0]}-{row.paper[:30]}")
def test_a_row_without_a_setting_names_a_test(row: Row) -> None:
    named = _TEST.findall(row.why)
    assert named, row.paper
    for path, name in named:
        assert name.startswith("test_")
        assert name in names_of_tests(path)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.methods[0]}-{row.setting or row.paper[:30]}")
def test_what_stays_ours_has_a_reason(row: Row) -> None:
    silent = row.paper == "silent"
    assert row.where or silent
    assert row.why or silent or row.preset != row.ours or row.paper.casefold().startswith(row.preset), row.paper


@pytest.mark.parametrize("method", ["tog2", "fasttog", "fiske", "coggrag"])
def test_every_setting_of_a_method_has_a_row(method: str) -> None:
    schema = find_method(method).settings
    told = {row.named[0] for row in SET if method in row.methods}
    own = schema.model_fields.keys() - RunSettings.model_fields.keys()
    by_preset = resolve_settings(schema, {"preset": "paper"}).model_fields_set - {"preset"}
    assert (own | by_preset) - told == set()


@pytest.mark.parametrize(("method", "like"), [("paths", Tog2Settings), ("search_agent", RunSettings)])
def test_every_setting_that_is_a_methods_own_has_a_row(method: str, like: type[RunSettings]) -> None:
    fields = find_method(method).settings.model_fields
    own = {name for name, field in fields.items() if str(field) != str(like.model_fields.get(name))}
    assert own
    assert own == {row.named[0] for row in SET if row.methods == (method,)}


@pytest.mark.parametrize("method", ["tog2", "fasttog", "fiske", "coggrag", "paths", "search_agent"])
def test_a_methods_page_names_the_steps_and_settings_that_there_are(method: str) -> None:
    overview = (ROOT / "docs" / "methods.md").read_text("utf-8")
    own = ROOT / "docs" / "methods" / f"{method}.md"
    section = own.read_text("utf-8") if own.is_file() else overview.partition("\n## Search agent\n")[2]
    steps, settings = (
        {*re.findall(r"`(\w+)`", section.split(start)[1].split("\n\n")[0])}
        for start in ("\nSteps:", "\nMain settings:")
    )
    graph = tg.build(method, knowledge=CASES[method].knowledge(), model=OFFLINE).get_graph(xray=True)
    ours = {"__start__", "__end__", "begin", "backtrack", "answer"}
    assert steps == {name.rpartition(":")[2] for name in graph.nodes} - ours
    assert settings <= find_method(method).settings.model_fields.keys()
    assert "[Presets](presets.md)" in overview.partition("\n## ")[0], "what a run does by default is not the paper's"


@pytest.mark.parametrize("task", ["question", "fact", "truth"])
@pytest.mark.parametrize("method", ["tog2", "fasttog", "fiske", "coggrag"])
def test_a_run_ends_within_the_methods_bound(method: str, task: str) -> None:
    case, found = CASES[method], find_method(method)
    settings = {**case.settings, "preset": "paper", "task": task}
    graph = tg.build(method, knowledge=case.knowledge(), model=OFFLINE, settings=settings)
    answer = graph.invoke({"question": case.question})["answer"]
    assert answer["status"] in {"grounded", "partial", "memory", "unknown"}
    bound = found.bound(resolve_settings(found.settings, settings), answer)
    assert bound is not None
    assert 0 < answer["usage"]["total"]["calls"] <= bound
