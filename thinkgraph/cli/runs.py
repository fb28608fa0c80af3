"""`thinkgraph runs`: what was asked, how it ended, and what is kept of it."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from thinkgraph.cli.runstore import RunRow, RunStore
from thinkgraph.errors import UsageError
from thinkgraph.prompts.lines import one_line

DAY = 86_400


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `runs`."""
    parser.add_argument("--json", action="store_true", help="print the list as one JSON array")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    remove = actions.add_parser("rm", help="remove runs with their checkpoints and replies")
    remove.add_argument("thread", nargs="+", metavar="THREAD")
    prune = actions.add_parser("prune", help="remove finished runs that are older than so many days")
    prune.add_argument("--days", type=float, default=30.0, metavar="N", help="age in days (default 30)")
    prune.add_argument("--unfinished", action="store_true", help="unfinished runs too")
    export = actions.add_parser("export", help="write a run's question, state and history as JSON")
    export.add_argument("thread", metavar="THREAD")
    export.add_argument("--out", metavar="FILE", help="default: standard output")


def run(args: argparse.Namespace) -> int:
    """List runs, or do what the action says."""
    with RunStore() as runs:
        if args.action == "rm":
            for thread in args.thread:
                runs.known(thread)
            for thread in args.thread:
                runs.remove(thread)
            _print(f"removed {len(args.thread)} runs")
        elif args.action == "prune":
            _prune(runs, args.days, unfinished=args.unfinished)
        elif args.action == "export":
            _export(runs, args.thread, args.out)
        else:
            _list(runs.rows(), as_json=args.json)
    return 0


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")


def _list(rows: list[RunRow], *, as_json: bool) -> None:
    if as_json:
        _print(json.dumps(rows, ensure_ascii=False))
        return
    if not rows:
        _print("no runs yet")
    for row in rows:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(row["updated"]))
        options = row["options"]
        _print(
            f"{row['thread']:<18} {when}  {row['status']:<9} {options['method']:<8} {options['model']:<22} "
            f"{one_line(row['question'])[:80]}"
        )


def _prune(runs: RunStore, days: float, *, unfinished: bool) -> None:
    if days < 0:
        raise UsageError("--days must not be negative")
    before = time.time() - days * DAY
    old = [row for row in runs.rows() if row["updated"] < before and (unfinished or row["status"] != "running")]
    for row in old:
        runs.remove(row["thread"])
    _print(f"removed {len(old)} runs")


def _export(runs: RunStore, thread: str, out: str | None) -> None:
    row = runs.known(thread)
    saver = runs.checkpointer()
    history: list[dict[str, Any]] = []
    for found in saver.list({"configurable": {"thread_id": thread}}):
        values = found.checkpoint["channel_values"]
        kept = {key: value for key, value in values.items() if not key.startswith(("__", "branch:"))}
        step = dict(found.metadata or {})
        history.append(
            {"id": found.checkpoint["id"], "at": found.checkpoint["ts"], "step": step.get("step"), "state": kept}
        )
    body = json.dumps({"run": row, "history": history}, ensure_ascii=False, indent=1, default=str)
    if out:
        Path(out).write_text(body + "\n", "utf-8")
    else:
        _print(body)
