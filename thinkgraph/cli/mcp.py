"""`thinkgraph mcp`: an MCP server on standard input and output."""

from __future__ import annotations

import argparse
import logging
import sys

from thinkgraph.cli.options import add_kb, add_model, add_set, configured, open_models
from thinkgraph.cli.show import leaving_at_once
from thinkgraph.config import parse_settings
from thinkgraph.graphs.registry import NAMES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `mcp`."""
    parser.add_argument(
        "--method",
        metavar="NAME[,NAME]",
        help=f"methods to serve, the default first: {', '.join(NAMES)} (default: all of them, tog2 first)",
    )
    add_set(
        parser,
        "a setting that clients cannot change (ceilings: only lower), of all methods that have it or of one (tog2.width=5)",
    )
    add_model(parser)
    add_kb(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until the client goes."""
    from thinkgraph.integrations.mcp.server import check_installed, serve

    check_installed()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="thinkgraph mcp: %(levelname)s %(message)s")

    from thinkgraph.integrations.mcp.tools import Tools, shared_out
    from thinkgraph.prompts.library import PromptLibrary
    from thinkgraph.tools.knowledge import Knowledge

    # Flags first: a wrong one must not cost the opening of a knowledge base.
    given = args.method
    config = configured(args)
    chosen = methods(given, config.get("method"))
    flags = shared_out(chosen, parse_settings(args.set))
    fixed = {name: {**config.settings(name), **flags[name]} for name in chosen}
    PromptLibrary(args.prompts)
    with Knowledge.open(args.kb, text=args.text) as knowledge:
        models = open_models(args, knowledge)
        # A server that can answer nothing is better refused to whoever starts it than to a client's model.
        models.check()
        with leaving_at_once("interrupted"):
            serve(Tools(knowledge, models, fixed, args.prompts))
    return 0


def methods(given: str | None, default: str) -> list[str]:
    """The methods of --method, the default first; without it all of them."""
    if given is None:
        return list(dict.fromkeys((default, *NAMES)))
    return list(dict.fromkeys(name.strip() for name in given.split(",")))
