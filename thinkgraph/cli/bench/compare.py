"""`thinkgraph compare`: one question through all methods, side by side."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any

from thinkgraph.cli.options import (
    KB,
    MODEL,
    OF_SEVERAL,
    add_flags,
    configured,
    open_knowledge,
    open_models,
    settings_by_method,
)
from thinkgraph.cli.show import write_result
from thinkgraph.errors import ThinkGraphError
from thinkgraph.graphs.registry import NAMES
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.answer import Answer

if TYPE_CHECKING:
    from thinkgraph.models.roles import Models
    from thinkgraph.tools.knowledge import Knowledge

_PATHS = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `compare`."""
    parser.add_argument("question", metavar="QUESTION", help="the question, or - to read it from standard input")
    add_flags(parser, "methods", default=",".join(NAMES))
    add_flags(parser, "set", help=OF_SEVERAL)
    add_flags(parser, *MODEL, *KB)
    add_flags(parser, "json", help='print {"method": answer or {"error": …}} instead')


def run(args: argparse.Namespace) -> int:
    """Ask every method."""
    from thinkgraph.cli.ask import read_question

    question = read_question(args.question)
    settings = settings_by_method(args, configured(args), args.methods)
    with open_knowledge(args) as knowledge:
        models = open_models(args.model, knowledge, prices=args.prices)
        sys.stderr.write(f"{len(settings)} methods with model {models.default} over {knowledge.name}\n")
        answers = asyncio.run(_all(question, settings, knowledge, models, args.prompts))
    told = {name: {"error": str(a)} if isinstance(a, ThinkGraphError) else a for name, a in answers.items()}
    write_result(told, _table(answers), as_json=args.json)
    return 1 if all(isinstance(answer, ThinkGraphError) for answer in answers.values()) else 0


async def _all(
    question: str,
    settings: dict[str, dict[str, Any]],
    knowledge: Knowledge,
    models: Models,
    prompts: str | None,
) -> dict[str, Answer | ThinkGraphError]:
    from thinkgraph.graphs.build import build

    async def one(name: str) -> Answer | ThinkGraphError:
        try:
            graph = build(name, knowledge=knowledge, model=models, settings=settings[name], prompts=prompts)
            answer: Answer = (await graph.ainvoke({"question": question}))["answer"]
        except ThinkGraphError as error:
            return error
        sys.stderr.write(f"  {name} done\n")
        return answer

    try:
        found = await asyncio.gather(*(one(name) for name in settings))
    finally:
        await models.aclose()
    return dict(zip(settings, found, strict=True))


def _table(answers: dict[str, Answer | ThinkGraphError]) -> str:
    width = min(max(shutil.get_terminal_size((100, 24)).columns, 60), 160)
    head = f"{'method':14}{'status':10}{'sure':>5}{'calls':>6}{'tokens':>8}{'rounds':>7}{'trips':>6}  answer"
    out = [head, "-" * min(width, len(head) + 20)]
    for name, answer in answers.items():
        if isinstance(answer, ThinkGraphError):
            out.append(f"{name:14}{'error':10}{'':32}  {one_line(str(answer))}"[:width])
            continue
        total = answer["usage"]["total"]
        tokens = total["input_tokens"] + total["output_tokens"]
        sure = "-" if (chance := answer["confidence"]) is None else f"{chance:.2f}"
        lead = (
            f"{name:14}{answer['status']:10}{sure:>5}{total['calls']:>6}{tokens:>8}{answer['rounds']:>7}"
            f"{answer['usage']['store_round_trips']:>6}  "
        )
        indent = " " * len(lead)
        out.append(textwrap.fill(one_line(answer["text"]), width, initial_indent=lead, subsequent_indent=indent))
        room = max(width - len(indent), 20)
        shown = [path["text"] for path in answer["evidence"]["paths"][:_PATHS]]
        shown += [f"[{passage['id']}] {passage['text']}" for passage in answer["evidence"]["passages"][:1]]
        out += [indent + textwrap.shorten(one_line(text), room, placeholder=" …") for text in shown]
    return "\n".join(out)
