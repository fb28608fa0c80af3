"""`thinkgraph resume`: go on where a run stopped, with what it was started with."""

from __future__ import annotations

import argparse
from pathlib import Path

from thinkgraph.cli.ask import _quiet, _say, announce, open_graph, report, work
from thinkgraph.cli.options import add_model
from thinkgraph.cli.runstore import RunOptions, RunStore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `resume`."""
    parser.add_argument("thread", metavar="THREAD", help="the run's id (thinkgraph runs lists them)")
    add_model(parser)
    parser.add_argument("--kb", metavar="K", help="the knowledge base, where it was moved since")
    parser.add_argument("--json", action="store_true", help="print the whole answer as one JSON object")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def run(args: argparse.Namespace) -> int:
    """Resume one run; a finished one just shows its answer again."""
    with RunStore() as runs:
        row = runs.known(args.thread)
        old = row["options"]
        options = RunOptions(
            method=old["method"],
            model=args.model or old["model"],
            kb=args.kb or old["kb"],
            settings=old["settings"],
            prompts=str(Path(args.prompts).absolute()) if args.prompts else old["prompts"],
            prices=str(Path(args.prices).absolute()) if args.prices else old["prices"],
        )
        with runs.lock(args.thread):
            graph = open_graph(options, runs)
            say = _quiet if args.quiet else _say
            announce(options, say)
            state = graph.get_state({"configurable": {"thread_id": args.thread}})
            # Killed before the first checkpoint: nothing to go on from, so the question is asked again.
            start = None if state.next or state.values.get("answer") else {"question": row["question"]}
            answer = state.values.get("answer")
            if answer is None:
                answer = work(graph, start, args.thread, runs, quiet=args.quiet)
            else:
                say("this run is finished; its answer:")
                runs.finish(args.thread, answer["status"])
    return report(answer, as_json=args.json)
