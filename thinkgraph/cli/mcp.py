"""`thinkgraph mcp`: an MCP server on standard input and output."""

from __future__ import annotations

import argparse
import logging
import sys

from thinkgraph.cli.options import (
    KB,
    MODEL,
    add_flags,
    configured,
    method_names,
    open_knowledge,
    open_models,
    settings_by_method,
)
from thinkgraph.cli.show import leaving_at_once
from thinkgraph.graphs.registry import NAMES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `mcp`."""
    parser.add_argument(
        "--method",
        metavar="NAME[,NAME]",
        type=method_names,
        help=f"methods to serve, the default first: {', '.join(NAMES)} (default: all of them, tog2 first)",
    )
    add_flags(
        parser,
        "set",
        help="a setting that clients cannot change (ceilings: only lower), of all methods that have it or of one "
        "(tog2.width=5); may be repeated",
    )
    add_flags(parser, *MODEL, *KB)


def run(args: argparse.Namespace) -> int:
    """Serve until the client goes."""
    from thinkgraph.integrations.mcp.server import check_installed, serve

    check_installed()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="thinkgraph mcp: %(levelname)s %(message)s")

    from thinkgraph.integrations.mcp.tools import Tools
    from thinkgraph.prompts.library import PromptLibrary

    # Flags first: a wrong one must not cost the opening of a knowledge base.
    named = args.method
    config = configured(args)
    fixed = settings_by_method(args, config, named or list(dict.fromkeys((config.get("method"), *NAMES))))
    PromptLibrary(args.prompts)
    with open_knowledge(args) as knowledge:
        models = open_models(args, knowledge)
        # A server that can answer nothing is better refused to whoever starts it than to a client's model.
        models.check()
        with leaving_at_once("interrupted"):
            serve(Tools(knowledge, models, fixed, args.prompts))
    return 0
