"""Every script of examples/ runs and prints what it promises."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from cli.conftest import environment

FOLDER = Path(__file__).parents[2] / "examples"
PRINTED = {
    "own_graph": [
        "left out: nothing\n4 triples\n",
        "Hammerfest (grounded)",
        "-[captain]-> (Ida Holm) {since=2019} -[born in]-> (Hammerfest)",
    ],
    "own_ranker": ["18 (grounded)", "cited: central-african-republic-voting"],
    "own_store": ["18 (grounded)", "cited: Panama"],
    "own_prompt": ["changed: tog2.steer\n", "asked with it: True\n", "Paramaribo (grounded)"],
    "choose_a_method": [
        "tog2     grounded ",
        "Bangui",
        "paths    grounded ",
        "fiske ",
        "coggrag ",
        "kg_rag ",
        "direct   unknown ",
    ],
    "pause_and_edit": [
        "paused before: context_retrieval",
        "starts from: Suriname",
        "edited: Georgetown",
        "as it was: Paramaribo",
    ],
}


@pytest.mark.parametrize("name", PRINTED)
def test_it_prints_what_it_promises(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    out = capsys.readouterr().out
    for words in PRINTED[name]:
        assert words in out


def test_the_chatbot_says_what_is_wrong_in_a_line() -> None:
    script = str(FOLDER / "neo4j" / "chatbot.py")
    done = subprocess.run(
        [sys.executable, script, "bolt://127.0.0.1:1"], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("chatbot: error: Neo4j at 127.0.0.1:1 cannot be reached")
    assert "Traceback" not in done.stderr


def test_no_script_is_forgotten() -> None:
    scripts = {path.stem for path in FOLDER.glob("*.py")}
    assert scripts == PRINTED.keys()
    for name in scripts:
        assert f"python examples/{name}.py" in (FOLDER / f"{name}.py").read_text("utf-8")
