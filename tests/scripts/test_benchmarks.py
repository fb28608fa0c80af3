"""Every benchmark finds what it imports of the package: none is run here, and most run for minutes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "benchmarks"
IMPORTING = """
import runpy, sys
known = sys.path[:]
for file in sys.argv[2:]:
    # Last: one of them is called as a package that others import.
    sys.path[:] = [*known, sys.argv[1]]
    runpy.run_path(file)
"""


def test_every_benchmark_can_be_imported() -> None:
    files = sorted(map(str, FOLDER.glob("*.py")))
    assert len(files) > 20
    done = subprocess.run(
        [sys.executable, "-c", IMPORTING, str(FOLDER), *files], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
