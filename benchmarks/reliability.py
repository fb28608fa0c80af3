"""Nothing lost, nothing let in: kills of runs and of builds, faults of the model, ceilings, malformed replies, hostile files, load.

    ./tg python benchmarks/reliability.py [--only kills,faults] [--kills 10] [--faults 20] [--keep DIR]

Prints one table, a line for each column and method: how many trials, how many of them violated what is promised, and how the others
ended. Exit code 1 on a violation; each is a line on standard error when it happens. With --keep a run that was stopped goes on, and
trials that were made are not made again: leave the folder's outcomes.jsonl out to make them anew.

With --broken the package is broken on purpose, each way in a run of its own with few trials: exit code 1 if a column does not
notice its breakage.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

HERE = Path(__file__).parent
ROOMS = [str(HERE), str(HERE.parent / "tests"), str(HERE.parent)]
sys.path[:0] = ROOMS
# What is forked and what is spawned finds the same modules.
os.environ["PYTHONPATH"] = os.pathsep.join([*ROOMS, os.environ.get("PYTHONPATH", "")])
os.environ.setdefault("OMP_NUM_THREADS", "1")

from trials import ceilings, faults, files, kills, load, replies, stages  # noqa: E402
from trials.broken import BREAKAGES, NAME  # noqa: E402
from trials.outcomes import Outcomes, table  # noqa: E402
from trials.world import build  # noqa: E402

COLUMNS = ("kills", "stages", "faults", "ceilings", "replies", "files", "load")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(COLUMNS), help=f"columns, of {','.join(COLUMNS)} (default all)")
    parser.add_argument("--kills", type=int, default=100, help="killed runs of each method (default 100)")
    parser.add_argument(
        "--stages", type=int, default=25, help="killed kb build, update, index, bench and g2t train (default 25)"
    )
    parser.add_argument("--faults", type=int, default=1000, help="faults, each once and lasting (default all of them)")
    parser.add_argument("--runs", type=int, default=500, help="concurrent runs under a ceiling (default 500)")
    parser.add_argument("--replies", type=int, default=1000, help="malformed replies (default 1000)")
    parser.add_argument("--files", type=int, default=200, help="hostile files (default 200)")
    parser.add_argument("--in-flight", type=int, default=64, help="questions at a time under load (default 64)")
    parser.add_argument("--minutes", type=float, default=10.0, help="of load (default 10)")
    parser.add_argument("--jobs", type=int, default=2, help="trials at a time (default 2)")
    parser.add_argument("--broken", action="store_true", help="break the package, and see that the columns notice")
    parser.add_argument("--keep", type=Path, help="folder that keeps what was done")
    return parser.parse_args()


def _unnoticed(columns: Sequence[str]) -> int:
    """Break the package in every way that these columns must notice; returns how many they did not."""
    missed = 0
    for name, (column, _, counts) in BREAKAGES.items():
        if column not in columns:
            continue
        command = [sys.executable, __file__, "--only", column, *counts]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, NAME: name}, check=False)
        said = [line for line in done.stderr.splitlines() if line.startswith("VIOLATION")]
        missed += not (noticed := done.returncode == 1 and bool(said))
        print(
            f"{column:<10}{name:<44}{'noticed' if noticed else 'NOT NOTICED'}: {(said or [done.stderr[-200:]])[0]:.150}",
            flush=True,
        )
    return missed


def main() -> int:
    """Run the columns and print the table."""
    args = _arguments()
    chosen = args.only.split(",")
    if unknown := set(chosen) - set(COLUMNS):
        sys.exit(f"no such column: {', '.join(sorted(unknown))}; there are {', '.join(COLUMNS)}")
    if args.broken:
        return 1 if _unnoticed(chosen) else 0
    with ExitStack() as stack:
        folder = args.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="thinkgraph-reliability-")))
        folder.mkdir(parents=True, exist_ok=True)
        outcomes = Outcomes(folder)
        kb = build(folder)
        every = {
            "kills": lambda: kills.trials(kb, args.kills),
            "stages": lambda: stages.trials(kb, args.stages),
            "faults": lambda: faults.trials(kb, args.faults),
            "ceilings": lambda: ceilings.trials(args.runs),
            "replies": lambda: replies.trials(args.replies),
            "files": lambda: files.trials(kb, args.files),
            "load": lambda: load.trials(args.in_flight, args.minutes),
        }
        for column in COLUMNS:
            if column in chosen:
                outcomes.make(every[column](), 1 if column in {"ceilings", "load"} else args.jobs)
        found = [one for one in outcomes.all if one.column in chosen]
    print(table(found))
    wrong = sum(bool(one.violations) for one in found)
    print(f"{len(found)} trials, {wrong} with violations")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main())
