"""`thinkgraph ask`: one question to one answer, checkpointed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from thinkgraph.cli import recording
from thinkgraph.cli.options import KB, MODEL, OUTPUT, add_flags, configured, open_knowledge, open_models, prices_of
from thinkgraph.cli.runs import RunOptions, RunStore, new_thread, run_options
from thinkgraph.cli.show import (
    leaving_at_once,
    question_lines,
    render_answer,
    show_progress,
    write_estimates,
    write_result,
)
from thinkgraph.config import model_words, parse_settings
from thinkgraph.errors import RunError, ThinkGraphError, UsageError
from thinkgraph.graphs.registry import find_method
from thinkgraph.plot.save import is_page, plot_answer
from thinkgraph.state.answer import Answer
from thinkgraph.state.events import Event, UserQuestion

if TYPE_CHECKING:
    from thinkgraph.graphs.build import Graph
    from thinkgraph.models.recorded import Recording
    from thinkgraph.models.roles import Models
    from thinkgraph.tools.knowledge import Knowledge
    from thinkgraph.ui.live import Watched


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `ask`."""
    parser.add_argument(
        "question", metavar="QUESTION", nargs="?", help="the question, or - to read it from standard input"
    )
    add_flags(parser, "method", "set", *MODEL, *KB)
    parser.add_argument(
        "--thread", metavar="ID", help="name of the run (default: a new one); an older answer's may be reused"
    )
    parser.add_argument("--replace", action="store_true", help="give up an unfinished run on that thread")
    recording.add_arguments(parser)
    add_flags(parser, "estimate", *OUTPUT)


def read_question(text: str) -> str:
    """The question given, or standard input for '-'; whatever the locale, its bytes are read as UTF-8."""
    if text == "-":
        if sys.stdin is None:
            raise UsageError("standard input is closed: there is no question to read")
        source = getattr(sys.stdin, "buffer", None)
        text = source.read().decode("utf-8", "replace") if source else sys.stdin.read()
    else:
        text = os.fsencode(text).decode("utf-8", "replace")
    return kept_words(text)


def kept_words(text: str) -> str:
    """A question as it is asked and kept.

    Raises:
        UsageError: it is empty.
    """
    # A NUL ends a text for SQLite and some servers; half a character cannot be kept.
    text = text.encode("utf-8", "replace").decode().replace("\0", " ").strip()
    if not text:
        raise UsageError("the question is empty: ask something")
    return text


def run(args: argparse.Namespace) -> int:
    """Answer one question."""
    if args.question is None and args.replay is None:
        raise UsageError("the question is missing (see thinkgraph ask --help)")
    recording.check_replay(args)
    question = "" if args.question is None else read_question(args.question)
    config = configured(args)
    settings = {**config.settings(args.method), **parse_settings(args.set)}
    options = run_options(args, args.method, settings)
    recording.check(args)
    repeated = recording.of(args.replay) if args.replay else None
    if repeated:
        question, options = recording.started_with(repeated, question or None, options)
    # First: what is wrong must not cost the opening of a knowledge base.
    check_fits(question, options)
    if args.estimate:
        from thinkgraph.eval.costs.estimate import estimates

        with open_knowledge(args) as knowledge:
            models = open_models(args.model, knowledge, prices=args.prices)
            expected = estimates(models, knowledge, {args.method: settings}, [question], prompts=args.prompts)
        write_estimates(expected, prices_of(args.prices), as_json=args.json)
        return 0
    with RunStore() as runs:
        thread = new_thread() if args.thread is None else args.thread
        with runs.lock(thread):
            old = runs.get(thread)
            if old and old["status"] == "unfinished" and not args.replace:
                raise RunError(
                    f"run {thread} is not finished ('{old['question'][:60]}'): go on with 'thinkgraph resume {thread}', "
                    "or give it up with --replace"
                )
            graph = _graph(options, runs, args.record, question, repeated)
            say = speaker(quiet=args.quiet)
            announce(options, say)
            say(f"run {thread} (if it is stopped: thinkgraph resume {thread})")
            runs.start(thread, question, options)
            answer = work(
                graph,
                {"question": question},
                thread,
                runs,
                quiet=args.quiet,
                watch=None if repeated else watch_of(args.plot, options, runs, thread),
            )
            shown = run_of_page(args.plot, runs, thread)
    return report(answer, args, say, shown)


def speaker(*, quiet: bool) -> Callable[[str], None]:
    """A function that prints a line on stderr, or with `quiet` does nothing. A closed stderr does not end the run."""

    def say(line: str) -> None:
        if quiet:
            return
        try:
            # One write: Ctrl-C between a line and its end would put the error behind the line.
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()
        except OSError:
            sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open until the process ends

    return say


def announce(options: RunOptions, say: Callable[[str], None]) -> None:
    """Print which model answers; for the offline one, how to use another."""
    from thinkgraph.models.roles import OFFLINE

    if options["model"] == OFFLINE:
        say("model offline: no key, no network, modest skill; for a real one: --model openai:NAME or THINKGRAPH_MODEL")
    else:
        say(f"model {model_words(options['model'])}")


def check_fits(question: str, options: RunOptions) -> None:
    """Refuse a question that the run's settings do not allow.

    Raises:
        UsageError: it is too long.
        SettingsError: a setting is out of range.
    """
    from thinkgraph.nodes.opening.begin import check_question
    from thinkgraph.state.settings import resolve_settings

    check_question(question, resolve_settings(find_method(options["method"]).settings, options["settings"]))


def open_graph(options: RunOptions, runs: RunStore) -> Graph:
    """Build the graph of a run over the store's checkpoints and journal."""
    knowledge = _opened(options, runs)
    return built(options, runs, knowledge, open_models(options["model"], knowledge, prices=options["prices"]))


def _graph(options: RunOptions, runs: RunStore, record: str | None, question: str, repeated: Recording | None) -> Graph:
    """The same, recording the run or repeating a recorded one."""
    if repeated is not None:
        return built(options, runs, *recording.repeat(repeated, options))
    if record is not None:
        return built(options, runs, *recording.begin(record, question, options, _opened(options, runs)))
    return open_graph(options, runs)


def _opened(options: RunOptions, runs: RunStore) -> Knowledge:
    from thinkgraph.tools.knowledge import Knowledge

    found: Knowledge = runs.keep(
        Knowledge.open(options["kb"], text=options["text"], trust_embedder=options["trust_embedder"])
    )
    return found


def built(options: RunOptions, runs: RunStore, knowledge: Knowledge, models: Models) -> Graph:
    """Build the graph of a run whose knowledge and models are open."""
    from thinkgraph.graphs.build import build

    return build(
        options["method"],
        knowledge=knowledge,
        model=models,
        settings=options["settings"],
        prompts=options["prompts"],
        checkpointer=runs.checkpointer(),
        journal=runs.journal(),
    )


def watch_of(plot: Path | None, options: RunOptions, runs: RunStore, thread: str) -> Watched | None:
    """What keeps a run's events, where --plot makes a page of them that replays; None otherwise."""
    if plot is None or not is_page(plot):
        return None
    from thinkgraph.ui.live import Watched

    return Watched(_opened(options, runs), runs, thread)


def run_of_page(plot: Path | None, runs: RunStore, thread: str) -> dict[str, Any] | None:
    """The run as the page that --plot makes has it; None where it makes none."""
    if plot is None or not is_page(plot):
        return None
    from thinkgraph.ui.live import kept_run

    return kept_run(runs, runs.known(thread))


def work(graph: Graph, start: Any, thread: str, runs: RunStore, *, quiet: bool, watch: Watched | None = None) -> Answer:
    """Run a graph to its end, showing progress; with start=None from where it stopped.

    Args:
        graph: of the run's method.
        start: its input.
        thread: the run's.
        runs: where it is kept.
        quiet: no progress on stderr.
        watch: keeps the run's events.

    Raises:
        RunError: it waits for a reply of the user (`ask_user`); the question was printed.
    """
    config: Any = {"configurable": {"thread_id": thread}, "callbacks": [watch.listener] if watch else []}
    kept = f"the run is kept: thinkgraph resume {thread}"
    say = speaker(quiet=quiet)
    try:
        with leaving_at_once(f"interrupted; {kept}"), runs.using():
            # "sync": a step is on disk before the next one starts, so that a killed process repeats at most one.
            modes: list[Any] = ["custom", "updates"] if watch else ["custom"]
            for mode, part in graph.stream(start, config, stream_mode=modes, durability="sync"):
                if mode == "custom":
                    show_progress(cast("Event", part), say)
                if watch:
                    watch.read(mode, part)
            state = graph.get_state(config)
            answer: Answer | None = state.values.get("answer")
    except ThinkGraphError as error:
        if watch:
            watch.rest(error)
        raise type(error)(f"{error}; {kept}") from error
    questions = waiting(state)
    if questions:
        _tell(watch, {"type": "asked", "question": next(iter(questions.values()))})
        # With --quiet too: without the question there is nothing to reply to.
        for line in dict.fromkeys(line for question in questions.values() for line in question_lines(question)):
            speaker(quiet=False)(line)
        raise RunError(f"run {thread} waits for a reply: thinkgraph resume {thread} --answer VALUE")
    if answer is None:
        raise RunError(f"run {thread} stopped before its answer; go on with: thinkgraph resume {thread}")
    runs.finish(thread, answer["status"])
    _tell(watch, {"type": "finished", "answer": answer})
    return answer


def _tell(watch: Watched | None, event: Mapping[str, Any]) -> None:
    if watch:
        watch.tell(event)


def waiting(state: Any) -> dict[str, UserQuestion]:
    """The questions of an interrupted run to the user, by interrupt id; empty where it waits for none."""
    return {found.id: found.value for task in state.tasks for found in task.interrupts}


def report(
    answer: Answer,
    args: argparse.Namespace,
    say: Callable[[str], None],
    shown: Mapping[str, Any] | None,
) -> int:
    """Print the answer on stdout and draw it, as --json and --plot say; a page shows the run. Returns the exit status."""
    write_result(answer, render_answer(answer), as_json=args.json)
    sys.stdout.flush()
    if args.plot is not None:
        if shown is not None:
            from thinkgraph.ui.share import save_run

            say(f"page written to {save_run(shown, args.plot)}")
        else:
            say(f"picture written to {plot_answer(answer, args.plot)}")
    return 0
