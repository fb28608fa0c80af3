"""`thinkgraph batch`: a file of questions to a file of answers, here or on a LangGraph server."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinkgraph.cli.options import (
    add_kb,
    add_method,
    add_model,
    add_workers,
    check_concurrency,
    configured,
    model_name,
    open_models,
)
from thinkgraph.cli.show import leaving_at_once
from thinkgraph.config import model_words, parse_settings
from thinkgraph.errors import UsageError
from thinkgraph.tools.addresses import redacted
from thinkgraph.tools.progress import no_progress

if TYPE_CHECKING:
    from thinkgraph.eval.batch import Asker
    from thinkgraph.eval.record import RecordFile

_MAX_CONCURRENCY = 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `batch`."""
    parser.add_argument("file", metavar="FILE", help='JSON Lines: {"question": "…", "id": "…"} a line')
    parser.add_argument(
        "--out",
        required=True,
        metavar="OUT",
        help="one JSON line per question, with the answer or the error; the same command goes on where it was",
    )
    add_method(parser)
    add_model(parser)
    add_kb(parser)
    parser.add_argument("--concurrency", type=int, default=8, metavar="C", help="questions at a time (default 8)")
    add_workers(parser)
    parser.add_argument("--rate", type=float, metavar="R", help="at most R requests to models a second")
    parser.add_argument("--url", metavar="URL", help="ask a LangGraph server that serves these graphs instead")
    parser.add_argument("--assistant", metavar="ID", help="with --url: an assistant's id (default: the method's name)")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def run(args: argparse.Namespace) -> int:
    """Answer the file."""
    from thinkgraph.eval.record import RecordFile
    from thinkgraph.graphs.registry import find_method
    from thinkgraph.state.settings import resolve_settings

    source, out = Path(args.file).expanduser(), Path(args.out).expanduser()
    if not source.is_file():
        raise UsageError(f"there is no file {source}")
    if source.resolve() == out.resolve():
        raise UsageError("--out must be another file than the questions'")
    check_concurrency(args, _MAX_CONCURRENCY)
    if args.url is not None and not args.url.startswith(("http://", "https://")):
        raise UsageError(f"--url must begin with http:// or https://, not '{args.url}'")
    if args.url and args.workers > 1:
        raise UsageError("--workers is for questions answered here: leave it or --url out")
    config = configured(args)
    # A server has a configuration of its own.
    own = {} if args.url else config.settings(args.method)
    settings = {**own, **parse_settings(args.set)}
    resolved = resolve_settings(find_method(args.method).settings, settings)
    plan = {
        "questions": source.name,
        "method": args.method,
        "settings": resolved.model_dump(mode="json"),
        "where": args.url or f"{model_words(args.model)} over {redacted(args.kb)}",
        "assistant": args.assistant,
    }
    began = time.monotonic()
    kept = f"interrupted; what was answered is in {out}: the same command goes on from there"
    with RecordFile(out, plan) as file, leaving_at_once(kept):
        answered, failed, before = (
            _on_server(args, file, source, settings) if args.url else _here(args, file, source, settings)
        )
    again = f", {before} answered before" if before else ""
    sys.stderr.write(f"{answered} answered, {failed} failed{again} in {time.monotonic() - began:.0f} s: {out}\n")
    return 1 if failed else 0


def _on_server(
    args: argparse.Namespace, file: RecordFile, source: Path, settings: dict[str, Any]
) -> tuple[int, int, int]:
    from thinkgraph.eval.batch import server_asker

    # The SDK's client warns of every connection it makes again; what fails in the end stands beside the answers.
    warnings.filterwarnings("ignore", "Request failed, attempting reconnect")

    async def work() -> tuple[int, int, int]:
        return await _ask_all(args, file, source, server_asker(args.url, args.assistant or args.method, settings))

    return asyncio.run(work())


def _here(args: argparse.Namespace, file: RecordFile, source: Path, settings: dict[str, Any]) -> tuple[int, int, int]:
    from thinkgraph.eval.batch import local_asker
    from thinkgraph.tools.knowledge import Knowledge

    if args.workers > 1:
        return asyncio.run(_with_workers(args, file, source, settings))
    with Knowledge.open(args.kb, text=args.text) as knowledge:
        models = open_models(args, knowledge, args.rate)

        async def work() -> tuple[int, int, int]:
            async with local_asker(models, knowledge, {args.method: settings}, prompts=args.prompts) as ask:
                return await _ask_all(args, file, source, partial(ask, args.method))

        return asyncio.run(work())


async def _with_workers(
    args: argparse.Namespace, file: RecordFile, source: Path, settings: dict[str, Any]
) -> tuple[int, int, int]:
    from thinkgraph.eval.workers import Work, workers
    from thinkgraph.models.prices import load_prices

    work = Work(
        kb=args.kb,
        text=args.text,
        methods={args.method: settings},
        model=model_name(args.model if isinstance(args.model, str) else None),
        prices=load_prices(args.prices) if args.prices else None,
        prompts=args.prompts,
        rate=args.rate,
    )
    async with workers(work, args.workers) as ask:
        return await _ask_all(args, file, source, partial(ask, args.method))


async def _ask_all(args: argparse.Namespace, file: RecordFile, source: Path, ask: Asker) -> tuple[int, int, int]:
    from thinkgraph.eval.batch import finished, read_items, run_batch

    done = finished(file)
    answered, failed = await run_batch(
        read_items(source),
        ask,
        file.keep,
        done=done,
        concurrency=max(args.concurrency, args.workers),
        progress=no_progress if args.quiet else _progress,
    )
    return answered, failed, len(done)


def _progress(stage: str, done: int, total: int | None) -> None:
    del total
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{done:,} {stage} ")
        sys.stderr.flush()
    elif done % 100 == 0:
        sys.stderr.write(f"{done:,} {stage}\n")
