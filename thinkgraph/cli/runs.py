"""`thinkgraph runs`: what was asked, how it ended, and what is kept of it."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from thinkgraph.cli.runstore import RunBusyError, RunRow, RunStore
from thinkgraph.cli.show import write_json, write_line
from thinkgraph.config import model_words
from thinkgraph.errors import UsageError
from thinkgraph.prompts.lines import one_line

DAY = 86_400


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `runs`."""
    parser.add_argument("--json", action="store_true", help="print the list as one JSON array")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    remove = actions.add_parser("rm", help="remove runs with their checkpoints and replies")
    remove.add_argument("thread", nargs="+", metavar="THREAD", help="the run's id (thinkgraph runs lists them)")
    prune = actions.add_parser("prune", help="remove finished runs that are older than so many days")
    prune.add_argument("--days", type=float, default=30.0, metavar="N", help="age in days (default 30)")
    prune.add_argument("--unfinished", action="store_true", help="unfinished runs too")
    export = actions.add_parser("export", help="write a run's question, state and history as JSON")
    export.add_argument("thread", metavar="THREAD", help="the run's id (thinkgraph runs lists them)")
    export.add_argument("--out", metavar="FILE", help="default: standard output")


def run(args: argparse.Namespace) -> int:
    """List runs, or do what the action says."""
    with RunStore() as runs:
        if args.action == "rm":
            threads = list(dict.fromkeys(args.thread))
            for thread in threads:
                runs.known(thread)
            for thread in threads:
                runs.remove(thread)
            write_line(f"removed {len(threads)} runs")
        elif args.action == "prune":
            _prune(runs, args.days, unfinished=args.unfinished)
        elif args.action == "export":
            _export(runs, args.thread, args.out)
        else:
            _list(runs.rows(), as_json=args.json)
    return 0


def _list(rows: list[RunRow], *, as_json: bool) -> None:
    if as_json:
        write_json(rows)
        return
    if not rows:
        write_line("no runs yet")
    for row in rows:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(row["updated"]))
        options = row["options"]
        write_line(
            f"{row['thread']:<18} {when}  {row['status']:<9} {options['method']:<8} {one_line(model_words(options['model'])):<22} "
            f"{one_line(row['question'])[:80]}"
        )


def _prune(runs: RunStore, days: float, *, unfinished: bool) -> None:
    if days < 0:
        raise UsageError("--days must not be negative")
    before = time.time() - days * DAY
    old = [row for row in runs.rows() if row["updated"] < before and (unfinished or row["status"] != "running")]
    busy = 0
    for row in old:
        try:
            runs.remove(row["thread"])
        except RunBusyError:
            busy += 1
    write_line(f"removed {len(old) - busy} runs" + (f", not {busy} that are being worked on" if busy else ""))


def _export(runs: RunStore, thread: str, out: str | None) -> None:
    row = runs.known(thread)
    saver = runs.checkpointer()
    history: list[dict[str, Any]] = []
    with runs.using():
        steps = list(saver.list({"configurable": {"thread_id": thread}}))
    for found in steps:
        values = found.checkpoint["channel_values"]
        kept = {key: value for key, value in values.items() if not key.startswith(("__", "branch:"))}
        step = dict(found.metadata or {})
        history.append(
            {"id": found.checkpoint["id"], "at": found.checkpoint["ts"], "step": step.get("step"), "state": kept}
        )
    body = {"run": row, "history": history}
    if out:
        Path(out).write_text(json.dumps(body, ensure_ascii=False, indent=1, default=str) + "\n", "utf-8")
    else:
        write_json(body, indent=1)
