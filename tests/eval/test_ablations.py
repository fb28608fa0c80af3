"""The papers' tables as data: every cell is valid, and the command runs, keeps and prints them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thinkgraph.cli.main import main
from thinkgraph.errors import UsageError
from thinkgraph.eval.ablations import ABLATIONS, AblationCell, ablation, cells, render
from thinkgraph.eval.reports.published import _CELLS
from thinkgraph.eval.reports.results import ReportRow


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_cell_is_a_method_with_settings_of_its_own(name: str) -> None:
    table = ablation(name)
    made = cells(table, g2t="some/model")
    assert [(cell.row, cell.column) for cell in made] == [
        (row, column) for row in table.rows for column in table.columns
    ]
    assert len({cell.key for cell in made}) == len(made)


def test_published_figures_stand_at_cells_that_are_there() -> None:
    for name, _dataset, row, column, measure in _CELLS:
        table = ablation(name)
        assert row in table.rows
        assert column in table.columns
        assert measure in {one.column for one in table.measures}


def test_settings_of_the_user_never_undo_a_row() -> None:
    made = cells(ablation("fiske-table6"), extra={"stateful": "true", "preset": "paper"})
    assert [cell.settings.get("stateful", True) for cell in made] == ["true", False, "true", False]
    assert {cell.settings["preset"] for cell in made} == {"paper"}
    with pytest.raises(UsageError, match="has a setting 'alpha'"):
        cells(ablation("fiske-table6"), extra={"alpha": 1})


def test_cells_with_graph_to_text_need_a_model() -> None:
    assert {cell.row for cell in cells(ablation("fasttog-table3"))} == {"t2t"}
    texts = {cell.settings["community_text"] for cell in cells(ablation("fasttog-table3"), g2t="m")}
    assert texts == {"t2t", "g2t:m"}
    with pytest.raises(UsageError, match="need --g2t MODEL"):
        cells(ablation("fasttog-table3"), leave_out=["t2t"])
    with pytest.raises(UsageError, match="no row or column 'T2T'"):
        cells(ablation("fasttog-table3"), leave_out=["T2T"])


def _rows(made: list[AblationCell]) -> dict[str, ReportRow]:
    return {
        cell.key: ReportRow(em_contains=0.5 + 0.01 * n, hits1=0.4, calls_mean=4.0 + n)  # type: ignore[typeddict-item]
        for n, cell in enumerate(made)
    }


def test_a_table_has_the_papers_shape_and_its_figures_in_brackets() -> None:
    made = cells(ablation("fasttog-table3"), leave_out=["GN"])
    shown = render("fasttog-table3", made, _rows(made), dataset="webqsp").splitlines()
    assert shown[2].split() == ["EM", "(contains)", "Rand", "Louvain", "Hier", "Spectral"]
    assert shown[3].split() == ["t2t", "50.0", "[60.6]", "51.0", "[65.2]", "52.0", "[66]", "53.0", "[65.1]"]
    # The paper's figures were not made with the strict metric.
    assert shown[5:7] == ["hits@1  Rand  Louvain  Hier  Spectral", "t2t     40.0     40.0  40.0      40.0"]
    assert shown[9].split() == ["t2t", "4.00", "5.00", "6.00", "7.00"]
    assert "not comparable" in shown[-1]
    assert "[" not in render("fasttog-table3", made, _rows(made), dataset="world")


def test_an_ablation_is_kept_and_gone_on_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["ablation", "fiske-table6", "--model", "perfect", "--limit", "3", "--out", str(tmp_path / "kept")]
    assert main(words) == 0
    first = capsys.readouterr().out
    assert first.startswith("FiSKE, table 6")
    assert "w/o ending flag" in first
    files = sorted((tmp_path / "kept").glob("*.jsonl"))
    assert len(files) == 4
    whole = files[0].read_text("utf-8").splitlines(keepends=True)
    files[0].write_text("".join(whole[:1]), "utf-8")
    files[1].unlink()
    before = [file.read_bytes() for file in files[2:]]
    assert main(words) == 0
    assert capsys.readouterr().out == first
    assert [file.read_bytes() for file in files[2:]] == before
    assert {json.loads(line)["id"] for line in files[0].read_text("utf-8").splitlines()} == {
        json.loads(line)["id"] for line in whole
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "which ablation?"),
        (["tog2-table7"], "there is no ablation 'tog2-table7'; known: tog2-table6"),
        (["tog2-table6", "--limit", "0"], "--limit must be at least 1"),
        (["tog2-table6", "--concurrency", "0"], "--concurrency must be from 1"),
        (["tog2-table6", "--rate", "nan"], "--rate must be"),
        (["tog2-table6", "--data", "nowhere.jsonl"], "nowhere.jsonl"),
        (["tog2-table6", "--set", "width=0"], "width"),
    ],
)
def test_bad_input_is_one_line(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ablation", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_the_list_names_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ablation", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(ABLATIONS)


def test_an_encoder_that_is_not_there_leaves_its_cells_blank(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thinkgraph.tools.encoders.embeddings._hub_reachable", lambda: False)
    words = ["ablation", "tog2-figure3a", "--model", "perfect", "--limit", "2"]
    assert main([*words, "--leave-out", "embedding", "--leave-out", "LLM"]) == 3
    shown = capsys.readouterr()
    figures = {line.split()[0]: line.split()[1:] for line in shown.out.splitlines() if line.strip()}
    assert figures["BGE-Reranker"] == ["-"] * 4
    assert "-" not in figures["BM25"]
    (said,) = [line for line in shown.err.splitlines() if "BAAI/bge-reranker-large" in line]
    assert said.startswith("thinkgraph: error: no figure for BGE-Reranker: ")
    # Nothing at all to show: no table.
    left = [word for row in ("embedding", "LLM", "BM25") for word in ("--leave-out", row)]
    assert main([*words, *left]) == 3
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines()[-1].startswith("thinkgraph: error: the cross-encoder ")
