"""`thinkgraph batch`: a file of questions to a file of answers, here or on a LangGraph server."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
import warnings
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinkgraph.cli.options import (
    KB,
    MODEL,
    add_flags,
    check_numbers,
    configured,
    model_name,
    open_knowledge,
    open_models,
    place,
    prices_of,
    profiles,
)
from thinkgraph.cli.show import LineProgress, leaving_at_once, telling
from thinkgraph.config import model_words, parse_settings
from thinkgraph.errors import UsageError
from thinkgraph.eval.costs.bill import Spent
from thinkgraph.eval.record import RecordFile, known_of
from thinkgraph.graphs.registry import find_method
from thinkgraph.prompts.lines import one_line
from thinkgraph.tools.addresses import redacted
from thinkgraph.tools.progress import no_progress

if TYPE_CHECKING:
    from thinkgraph.eval.batch import Asker
    from thinkgraph.integrations.langgraph.shared_queue import SharedQueue


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `batch`."""
    parser.add_argument("file", metavar="FILE", help='JSON Lines: {"question": "…", "id": "…"} a line; .gz is unpacked')
    parser.add_argument(
        "--out",
        required=True,
        metavar="OUT",
        help="one JSON line per question, with the answer or the error; the same command goes on where it was",
    )
    add_flags(parser, "method", "set", *MODEL, *KB, "workers", "rate", "quiet")
    add_flags(parser, "concurrency", default=8)
    parser.add_argument(
        "--url",
        metavar="URL",
        help="ask a LangGraph server that serves these graphs, with its own knowledge and models",
    )
    parser.add_argument(
        "--queue",
        metavar="ADDRESS",
        type=place,
        help="share the questions with whoever gives the same command: a PostgreSQL database (postgresql://user@host/database)",
    )
    parser.add_argument("--assistant", metavar="ID", help="with --url: an assistant's id (default: the method's name)")


def _files(args: argparse.Namespace) -> tuple[Path, Path]:
    """The file of questions and that of answers. A pipe will not do: questions are read twice, and again when the batch goes on."""
    from thinkgraph.eval.batch import read_items

    source, out = Path(args.file).expanduser(), Path(args.out).expanduser()
    if not source.exists():
        raise UsageError(f"there is no file {source}")
    if not source.is_file():
        raise UsageError(f"{source} is a {'folder' if source.is_dir() else 'pipe'}: keep the questions in a file")
    if source.resolve() == out.resolve():
        raise UsageError("--out must be another file than the questions'")
    first = next(read_items(source), None)
    if first is None:
        raise UsageError(f"{source}: holds no questions")
    if not first.is_json:
        # A file of another form: each of its lines would be an error beside the answers.
        raise UsageError(
            f'{source}, line {first.line}: {first.fault}; the file must be JSON Lines, one {{"question": "…"}} a line'
        )
    return source, out


def run(args: argparse.Namespace) -> int:
    """Answer the file."""
    from thinkgraph.eval.batch import drop_superseded, finished, read_items, run_batch, tally

    source, out = _files(args)
    check_numbers(args)
    _check_places(args)
    config = configured(args)
    # A server has a configuration of its own.
    own = {} if args.url else config.settings(args.method)
    settings = {**own, **parse_settings(args.set)}
    plan = _plan(args, source, settings)
    began = time.monotonic()
    kept = f"interrupted; what was answered is in {out}: the same command goes on from there"
    with (
        RecordFile(out, plan, counts=lambda record: "answer" in record) as file,
        _Replies(None if args.url or args.queue else out) as replies,
        leaving_at_once(kept),
        LineProgress(sys.stderr) as progress,
    ):
        done = finished(file)
        # Questions alone: a line that cannot be asked costs nothing.
        to_ask, answered_before, failed_before = tally(read_items(source), done)
        spent = Spent(to_ask, prices_of(args.prices))

        async def work() -> tuple[int, int, str]:
            async with _queue(args, out, plan) as queue, _asker(args, settings, queue or replies) as ask:
                counts = await run_batch(
                    read_items(source),
                    ask,
                    telling(file.keep, spent, progress),
                    done=done,
                    forget=(queue or replies).forget,
                    claims=queue,
                    concurrency=max(args.concurrency, args.workers),
                    progress=no_progress if args.quiet else progress,
                )
                return *counts, f", {queue.elsewhere} of them elsewhere" if queue and queue.elsewhere else ""

        try:
            answered, failed, elsewhere = asyncio.run(work())
        finally:
            # Also where it gave up: a file that is tried again and again does not grow.
            first_error = drop_superseded(file, read_items(source))
    earlier = {"answered": answered_before, "failed": failed_before}
    before = "".join(f", {count} {what} before" for what, count in earlier.items() if count)
    seconds = time.monotonic() - began
    counts = f"{answered} answered, {failed} failed{elsewhere}{before} in {seconds:.0f} s"
    cause = f"; the first error: {first_error}" if first_error else ""
    sys.stderr.write(one_line(f"{counts}: {out}{cause}") + "\n")
    return 1 if failed or failed_before else 0


def _plan(args: argparse.Namespace, source: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What the results are results of: the same command goes on with them, another does not."""
    from thinkgraph.prompts.library import PromptLibrary
    from thinkgraph.state.settings import resolve_settings

    # A server has prompts of its own, whatever the configuration names.
    prompts = PromptLibrary(args.prompts).own if args.prompts is not None and not args.url else {}
    text = f" and {redacted(args.text)}" if args.text else ""
    told = {} if args.url else profiles() or {}
    asked = [args.model] if isinstance(args.model, str) else args.model.values()
    known = known_of({model: told.get(model, {}) for model in asked})
    return {
        "questions": source.name,
        "method": args.method,
        "settings": resolve_settings(find_method(args.method).settings, settings).model_dump(mode="json"),
        "where": args.url or f"{model_words(args.model)} over {redacted(args.kb)}{text}",
        "assistant": args.assistant,
        **({"prompts": prompts} if prompts else {}),
        **({"models": known} if known else {}),
        **({"queue": True} if args.queue else {}),
    }


def _check_places(args: argparse.Namespace) -> None:
    """Refuse flags of where the questions are answered that do not go together."""
    if args.url is not None and not args.url.startswith(("http://", "https://")):
        raise UsageError(f"--url must begin with http:// or https://, not '{args.url}'")
    own = ("kb", "text", "trust-embedder", "model", "prompts")
    given = [f"--{name}" for name in own if getattr(args, name.replace("-", "_"))]
    if args.url and given:
        raise UsageError(f"a server has its own knowledge, models and prompts: leave {', '.join(given)} or --url out")
    if args.url and args.workers > 1:
        raise UsageError("--workers is for questions answered here: leave it or --url out")
    if args.url and args.rate is not None:
        raise UsageError("--rate is for questions answered here: leave it or --url out")
    if args.assistant and not args.url:
        raise UsageError("--assistant is a server's: name that with --url, or leave it out")
    if args.queue and (args.url or args.workers > 1):
        raise UsageError(
            "--queue is for questions answered here, by one process a command: leave it, or --url and --workers, out"
        )
    if args.queue and not args.queue.startswith(("postgresql://", "postgres://")):
        raise UsageError("--queue takes the address of a PostgreSQL database: postgresql://user@host/database")


class _Replies(AbstractContextManager["_Replies"]):
    """The replies to questions whose answers are not on disk yet, in a file beside the results: a kill pays for none twice."""

    def __init__(self, out: Path | None) -> None:
        """Open the journal; none where a server asks the model."""
        from thinkgraph.models.journal import SqliteJournal

        self.path = out and out.with_name(f"{out.name}.replies.sqlite")
        self.journal = SqliteJournal(self.path) if self.path else None

    def forget(self, thread: str) -> None:
        if self.journal:
            self.journal.forget(thread)

    def __exit__(self, *_error: object) -> None:
        if self.journal and self.path:
            empty = self.journal.is_empty()
            self.journal.close()
            if empty:
                self.path.unlink(missing_ok=True)


def _queue(
    args: argparse.Namespace, out: Path, plan: dict[str, Any]
) -> AbstractAsyncContextManager[SharedQueue | None]:
    """The queue that the questions are shared by, named like the results; None where they are not shared."""
    if not args.queue:
        return nullcontext()
    from thinkgraph.integrations.langgraph.shared_queue import SharedQueue

    return SharedQueue(args.queue, out.name, plan)


@asynccontextmanager
async def _asker(
    args: argparse.Namespace, settings: dict[str, Any], replies: _Replies | SharedQueue
) -> AsyncIterator[Asker]:
    """What answers a question: a server, several processes, or a graph in this one."""
    from thinkgraph.eval.batch import local_asker, server_asker
    from thinkgraph.eval.workers import Work, workers

    if args.url:
        # The SDK's client warns of every connection it makes again; what fails in the end stands beside the answers.
        warnings.filterwarnings("ignore", "Request failed, attempting reconnect")
        yield server_asker(args.url, args.assistant or args.method, settings)
    elif args.workers > 1:
        work = Work(
            kb=args.kb,
            text=args.text,
            trust_embedder=bool(args.trust_embedder),
            methods={args.method: settings},
            model=model_name(args.model if isinstance(args.model, str) else None),
            prices=prices_of(args.prices),
            profiles=profiles(),
            prompts=args.prompts,
            journal=str(replies.path),
            rate=args.rate,
        )
        async with workers(work, args.workers) as ask:
            yield partial(ask, args.method)
    else:
        with open_knowledge(args) as knowledge:
            models = open_models(args.model, knowledge, prices=args.prices, rate=args.rate)
            methods = {args.method: settings}
            asker = local_asker(models, knowledge, methods, prompts=args.prompts, journal=replies.journal)
            async with asker as ask:
                yield partial(ask, args.method)
