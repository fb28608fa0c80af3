"""The notebooks of examples/notebooks run from top to bottom, and are kept without what they printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
PRINTED = {
    "ask_and_see_why": ["18 | grounded | ", "path    (Mont Ngaoui)", "is in a sentence", "answered", "graph TD"],
    "own_graph_and_documents": ["left out: nothing", "Hammerfest (grounded)", "40 (grounded)", "Ines Calder"],
    "agent_and_methods": [
        "Paramaribo\nStatus: grounded",
        "grounded (Suriname)",
        "tog2     grounded",
        "direct   unknown",
    ],
}


def cells(name: str) -> list[dict[str, Any]]:
    """The cells of a notebook."""
    book = json.loads((FOLDER / f"{name}.ipynb").read_text("utf-8"))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    found: list[dict[str, Any]] = book["cells"]
    assert len({cell["id"] for cell in found}) == len(found)
    return found


def test_no_notebook_is_forgotten() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == PRINTED.keys()


@pytest.mark.parametrize("name", PRINTED)
def test_it_runs_and_prints_what_it_promises(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells(name):
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None), "clear the outputs before you commit"
            exec(compile("".join(cell["source"]), f"{name} {cell['id']}", "exec"), names)  # noqa: S102 - our own
    out = capsys.readouterr().out
    for words in PRINTED[name]:
        assert words in out
