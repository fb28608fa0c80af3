"""The papers' tables as data: every cell is valid, and the command runs, keeps and prints them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from thinkgraph.cli.main import main
from thinkgraph.errors import UsageError
from thinkgraph.eval.ablations import ABLATIONS, ablation
from thinkgraph.eval.ablations.cells import AblationCell, cells, runs
from thinkgraph.eval.ablations.figures import Figures
from thinkgraph.eval.ablations.shown import RunNote, render
from thinkgraph.graphs.registry import find_method
from thinkgraph.state.evidence import MAX_EVIDENCE
from thinkgraph.state.settings import resolve_settings

PAPER = {"preset": "paper", "task": "question"}


def _made(name: str, **more: Any) -> list[AblationCell]:
    return cells(ablation(name), extra={**PAPER, **more.pop("extra", {})}, **more)


def _resolved(cell: AblationCell) -> dict[str, Any]:
    return resolve_settings(find_method(cell.run.method).settings, cell.run.settings).model_dump()


def test_the_issue_s_tables_and_figures_are_there() -> None:
    wanted = {
        "tog2": [*(f"table{n}" for n in (1, 2, 3, 4, 6, 7)), *(f"figure{n}" for n in ("3a", "3b", "4", "6"))],
        "fasttog": ["table1", "table2", "table3", *(f"figure{n}" for n in (3, 4, 5, 7))],
        "fiske": [f"table{n}" for n in range(1, 7)],
        "coggrag": ["table2", "table3", "table4", "table5", "figure4"],
    }
    assert set(ABLATIONS) == {f"{paper}-{part}" for paper, parts in wanted.items() for part in parts}


@pytest.mark.parametrize("preset", ["paper", "default"])
@pytest.mark.parametrize("name", ABLATIONS)
def test_every_cell_is_a_method_with_settings_of_its_own(name: str, preset: str) -> None:
    made = _made(name, g2t="some/model", extra={"preset": preset, "task": "fact"})
    places = [(cell.row, cell.column) for cell in made]
    assert len(set(places)) == len(places)
    assert {cell.run.settings["preset"] for cell in made} == {preset}
    # Under the paper's preset FEVER's 3 shots may be the preset's own.
    alike = [cell.key for cell in made if "3-shot" not in cell.row]
    assert len(set(alike)) == len(alike)


def test_no_search_of_a_paper_goes_back_and_ours_may() -> None:
    for name in ABLATIONS:
        for cell in _made(name, g2t="m"):
            assert not _resolved(cell).get("backtracks")
    assert any(_resolved(cell)["backtracks"] for cell in _made("fiske-table6", extra={"preset": "default"}))


@pytest.mark.parametrize("preset", ["paper", "default"])
@pytest.mark.parametrize("name", ["fasttog-table1", "fasttog-table2", "fasttog-table3"])
def test_fasttog_s_tables_have_one_setting_of_memory(name: str, preset: str) -> None:
    made = _made(name, g2t="m", extra={"preset": preset, "own_knowledge": False})
    assert {_resolved(cell)["own_knowledge"] for cell in made} == {True}


@pytest.mark.parametrize("preset", ["paper", "default"])
def test_every_detector_sees_a_graph_of_the_same_size(preset: str) -> None:
    resolved = [_resolved(cell) for cell in _made("fasttog-table3", extra={"preset": preset})]
    assert len({(one["graph_cap"], one["slow_graph_cap"]) for one in resolved}) == 1
    assert all(one["graph_cap"] == one["slow_graph_cap"] for one in resolved)


@pytest.mark.parametrize("preset", ["paper", "default"])
@pytest.mark.parametrize("name", ["tog2-figure3a", "tog2-figure3b"])
def test_all_rankers_rank_the_same_texts_and_no_cap_cuts_k(name: str, preset: str) -> None:
    resolved = [_resolved(cell) for cell in _made(name, extra={"preset": preset})]
    assert {one["rank_texts"] for one in resolved} == {2_000}
    for one in resolved:
        # A chunk has no more tokens than characters.
        assert one["evidence_tokens"] > one["top_k"] * one["chunk_size"]
        chunks, paths = one["top_k"] * (one["depth"] + 1), one["depth"] * one["width"] * one["relations"]
        assert chunks + paths <= MAX_EVIDENCE


def test_settings_of_the_user_never_undo_a_row() -> None:
    made = _made("fiske-table6", extra={"stateful": "true"})
    assert [cell.run.settings.get("stateful", True) for cell in made] == ["true", False, "true", False]
    with pytest.raises(UsageError, match="has a setting 'alpha'"):
        _made("fiske-table6", extra={"alpha": 1})
    (t2t,) = {
        cell.run.settings.get("community_text") for cell in _made("fasttog-figure4", extra={"community_text": "llm"})
    }
    assert t2t is None  # by the preset, whatever the user says: the row is named so


def test_rows_for_one_task_stand_only_there() -> None:
    of_fact = {cell.row for cell in _made("tog2-table1", extra={"task": "fact"})}
    assert of_fact - {cell.row for cell in _made("tog2-table1")} == {
        f"{method}, {shots}-shot" for method in ("CoT-SC", "ToG-2") for shots in (3, 6)
    }


def test_io_is_merged_from_runs_that_stand_anyway() -> None:
    made = {cell.row: cell for cell in _made("fiske-table2")}
    assert made["ToG + IO"].plus == made["FiSKE + IO"].plus == made["IO"].run
    assert made["ToG + IO"].run == made["ToG"].run
    assert len(runs(made.values())) == 4


def test_cells_with_graph_to_text_need_a_model() -> None:
    assert {cell.row for cell in _made("fasttog-table3")} == {"t2t"}
    texts = {cell.run.settings.get("community_text") for cell in _made("fasttog-table3", g2t="m")}
    assert texts == {None, "g2t:m"}
    with pytest.raises(UsageError, match="need --g2t MODEL"):
        _made("fasttog-table3", leave_out=["t2t"])
    with pytest.raises(UsageError, match="no row or column 'T2T'"):
        _made("fasttog-table3", leave_out=["T2T"])


# --- how it is shown --------------------------------------------------------------------------------------------------


def _note(data: str) -> RunNote:
    return RunNote(data, f"{data}.json", 20, "my-kb", "some:model", seed=7, preset="paper")


def _figures(made: list[AblationCell]) -> dict[str, Figures]:
    return {
        cell.key: {"em_contains": 0.5 + 0.01 * n, "hits1": 0.4, "calls_mean": 4.0 + n} for n, cell in enumerate(made)
    }


def test_a_table_has_the_papers_shape_and_its_figures_in_brackets() -> None:
    made = _made("fasttog-table3", leave_out=["GN"])
    shown = render("fasttog-table3", made, _figures(made), _note("webqsp")).splitlines()
    assert shown[0].startswith('FastToG, Table 3, section "Comparison')
    assert shown[3].split() == ["EM", "(contains)", "Rand", "Louvain", "Hier", "Spectral"]
    assert shown[4].split() == ["t2t", "50.0", "51.0", "52.0", "53.0"]
    assert shown[5].split() == ["[paper]", "60.6", "65.2", "66.0", "65.1"]
    # Without --g2t the row has the paper's figures alone.
    assert shown[6].split() == ["g2t", "-", "-", "-", "-"]
    assert shown[7].split() == ["[paper]", "62.5", "65.8", "66.1", "66.7"]
    # The paper's figures were not made with the strict metric.
    assert shown[9:12] == [
        "hits@1  Rand  Louvain  Hier  Spectral",
        "t2t     40.0     40.0  40.0      40.0",
        "g2t        -        -     -         -",
    ]
    assert shown[-2].endswith("not comparable as equals: its accuracy beside EM (contains).")


def test_one_line_says_what_differs() -> None:
    made = _made("tog2-table6")
    *_, line = render("tog2-table6", made, _figures(made), _note("webqsp")).splitlines()
    assert line == (
        "Differs from the paper: model some:model (theirs: GPT-3.5-turbo); data 20 questions of webqsp.json over my-kb, entities "
        "linked by us (theirs: WebQSP); seed 7 (theirs: not given); preset=paper."
    )


def test_over_other_data_all_the_papers_figures_stand_beside() -> None:
    made = _made("tog2-table6")
    shown = render("tog2-table6", made, _figures(made), _note("world"))
    (head,) = [line for line in shown.splitlines() if "[WebQSP]" in line]
    assert re.findall(r"\[(.*?)\]", head) == ["WebQSP", "AdvHotpotQA", "QALD-10-en", "FEVER, a subset"]
    (row,) = [line for line in shown.splitlines() if line.startswith("ToG-2 /TP ")]
    assert row.split()[2:] == ["53.0", "77.6", "41.9", "52.9", "56.5", "-", "7.00"]


def test_columns_that_do_not_fit_are_numbered_and_named_below() -> None:
    made = _made("fiske-table1")
    shown = render("fiske-table1", made, _figures(made), _note("mooc")).splitlines()
    assert re.findall(r"\[(.*?)\]", shown[3]) == [str(number) for number in range(1, 13)]
    assert "[1] 1-hop true/false, GLM4-9B-Chat" in shown


def test_a_quoted_row_has_the_papers_figures_alone() -> None:
    made = _made("coggrag-table4")
    shown = render("coggrag-table4", made, _figures(made), _note("grbench")).splitlines()
    (quoted,) = [line for line in shown if line.startswith("Graph-CoT")]
    assert quoted.split()[1:3] == ["-", "26.4"]


def test_sums_that_do_not_add_up_are_flagged() -> None:
    made = _made("coggrag-table5")
    shown = render("coggrag-table5", made, _figures(made), _note("hotpotqa")).splitlines()
    assert [line for line in shown if "adds up" in line] == ["as printed, the row CogGRAG adds up to 119.9, not to 100"]


def test_a_picture_is_said_to_be_one() -> None:
    made = _made("tog2-figure6")
    shown = render("tog2-figure6", made, _figures(made), _note("advhotpotqa")).splitlines()
    assert "The paper's figure is a picture: its values cannot be read, so none of them stands here." in shown


# --- the command ------------------------------------------------------------------------------------------------------


def test_an_ablation_is_kept_and_gone_on_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["ablation", "fiske-table6", "--model", "perfect", "--limit", "3", "--out", str(tmp_path / "kept")]
    assert main(words) == 0
    first = capsys.readouterr().out
    assert first.startswith("FiSKE, Table 6, section 4.4")
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
    # Our settings are other runs.
    assert main([*words, "--preset", "ours"]) == 0
    assert "our settings, not the paper's" in capsys.readouterr().out
    assert len(list((tmp_path / "kept").glob("*.jsonl"))) == 8


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "which ablation?"),
        (["tog2-table5"], "there is no ablation 'tog2-table5'; known: tog2-table1"),
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
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(ABLATIONS)
    assert lines[0].split(maxsplit=4)[1:4] == ["ToG-2,", "Table", "1"]


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ablation", "tog2-table7", "--model", "perfect", "--limit", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["source"] == "ToG-2, Table 7, appendix B.3"
    assert [cell["row"] for cell in told["cells"]] == ["ToG-2", "ToG"]
    steps = [cell["figures"][f"seconds_{step}"] for cell in told["cells"] for step in ("relation_prune", "reason")]
    assert all(0 < seconds < 60 for seconds in steps)
    assert {"row": "ToG", "printed": "14.2", "measure": "seconds_relation_prune"}.items() <= told["paper"][8].items()
    assert told["differs"].startswith("Differs from the paper: model perfect (theirs: GPT-3.5-turbo)")


@pytest.mark.xdist_group("g2t")  # the worker that has PyTorch loaded
def test_an_encoder_that_is_not_there_leaves_its_cells_blank(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thinkgraph.tools.encoders.embeddings._hub_reachable", lambda: False)
    words = ["ablation", "tog2-figure3a", "--model", "perfect", "--limit", "1"]
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


@pytest.mark.parametrize("name", [name for name in ABLATIONS if name not in {"tog2-figure3a", "tog2-figure3b"}])
def test_every_table_runs_to_the_end(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ablation", name, "--model", "perfect:0.1", "--limit", "1"]) == 0
    assert "Differs from the paper: model perfect:0.1" in capsys.readouterr().out
