"""`thinkgraph resume`: go on where a run stopped, with what it was started with."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, cast

from thinkgraph.cli.ask import announce, open_graph, report, run_of_page, speaker, waiting, watch_of, work
from thinkgraph.cli.options import OUTPUT, add_flags
from thinkgraph.cli.runs import RunOptions, RunRow, RunStore, kept_answer
from thinkgraph.config import absolute, model_words
from thinkgraph.errors import ManifestMismatchError, UsageError
from thinkgraph.state.answer import Answer
from thinkgraph.tools.addresses import noted

if TYPE_CHECKING:
    from thinkgraph.graphs.build import Graph

_FINISHED = "this run is finished; its answer:"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `resume`."""
    parser.add_argument("thread", metavar="THREAD", help="the run's id (thinkgraph runs lists them)")
    add_flags(parser, "model", help="default the one that the run was started with; another is refused")
    add_flags(parser, "prices", "prompts", "text", "trust-embedder")
    parser.add_argument("--kb", metavar="K", help="the knowledge base, where it was moved since, or with its password")
    parser.add_argument("--answer", metavar="VALUE", help="the reply to what the run asks (ask_user)")
    add_flags(parser, *OUTPUT)


def run(args: argparse.Namespace) -> int:
    """Resume one run; a finished one just shows its answer again."""
    say = speaker(quiet=args.quiet)
    with RunStore() as runs:
        runs.known(args.thread)
        with runs.lock(args.thread):
            row = runs.known(args.thread)
            options = _options(args, row)
            if row["status"] == "unfinished":
                answer = _go_on(runs, row, options, args)
            else:
                if args.answer is not None:
                    raise UsageError(f"run {args.thread} asks nothing: resume it without --answer")
                answer = kept_answer(runs, args.thread)
                say(_FINISHED)
            shown = run_of_page(args.plot, runs, args.thread)
    return report(answer, args, say, shown)


def _options(args: argparse.Namespace, row: RunRow) -> RunOptions:
    old = row["options"]
    if args.model and args.model != old["model"]:
        raise ManifestMismatchError(
            f"run {row['thread']} was started with model {model_words(old['model'])}, not {args.model}: resume it without --model, "
            f"or ask the question again on another thread"
        )
    return RunOptions(
        method=old["method"],
        model=old["model"],
        kb=noted(old["kb"]) if args.kb is None else absolute("kb", args.kb),
        text=old.get("text") if args.text is None else absolute("text", args.text),
        trust_embedder=bool(args.trust_embedder or old.get("trust_embedder")),
        settings=old["settings"],
        prompts=absolute("prompts", args.prompts) if args.prompts else old["prompts"],
        prices=absolute("prices", args.prices) if args.prices else old["prices"],
    )


def continuation(graph: Graph, row: RunRow, reply: str | None) -> tuple[Any, Answer | None]:
    """What a graph is given to go on with a run, and the answer of one that has it already.

    Args:
        graph: of the run's method, over the checkpoints of its store.
        row: the run.
        reply: to what the run asks (`ask_user`).

    Raises:
        UsageError: there is a reply, and the run asks nothing.
    """
    from langgraph.types import Command

    state = graph.get_state({"configurable": {"thread_id": row["thread"]}})
    found = (state.config.get("configurable") or {}).get("checkpoint_id") or ""
    start: Any = None
    answer: Answer | None = None
    if found in {"", row["after"]}:
        # Killed before the first checkpoint of this question: what the thread holds, if anything, is an older one's.
        start = {"question": row["question"]}
    elif not state.next and (known := cast("Answer | None", state.values.get("answer"))):
        # Killed between the answer and the note that it is there.
        answer = known
    elif reply is not None and (questions := waiting(state)):
        # Tasks side by side ask the same thing: one reply is for all of them.
        start = Command(resume=dict.fromkeys(questions, reply))
    if reply is not None and answer is None and not isinstance(start, Command):
        raise UsageError(f"run {row['thread']} asks nothing: resume it without --answer")
    return start, answer


def _go_on(runs: RunStore, row: RunRow, options: RunOptions, args: argparse.Namespace) -> Answer:
    say = speaker(quiet=args.quiet)
    thread = row["thread"]
    graph = open_graph(options, runs)
    announce(options, say)
    with runs.using():
        start, answer = continuation(graph, row, args.answer)
    if answer is not None:
        say(_FINISHED)
        runs.finish(thread, answer["status"])
        return answer
    watch = watch_of(args.plot, options, runs, thread)
    return work(graph, start, thread, runs, quiet=args.quiet, watch=watch)
