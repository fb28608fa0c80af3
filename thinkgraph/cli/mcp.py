"""`thinkgraph mcp`: an MCP server on standard input and output."""

from __future__ import annotations

import argparse
import logging
import sys

from thinkgraph.cli.options import add_served_flags, open_knowledge, open_models, served_settings
from thinkgraph.cli.show import leaving_at_once


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `mcp`."""
    add_served_flags(parser, "clients")


def run(args: argparse.Namespace) -> int:
    """Serve until the client goes."""
    from thinkgraph.integrations.mcp.server import check_installed, serve

    check_installed()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="thinkgraph mcp: %(levelname)s %(message)s")

    from thinkgraph.integrations.mcp.tools import Tools
    from thinkgraph.ui.share import page_for_hosts
    from thinkgraph.ui.walk import Recorder

    # Flags first: a wrong one must not cost the opening of a knowledge base.
    fixed = served_settings(args)
    with open_knowledge(args) as knowledge:
        models = open_models(args.model, knowledge, prices=args.prices)
        # A server that can answer nothing is better refused to whoever starts it than to a client's model.
        models.check()
        with leaving_at_once("interrupted"):
            serve(Tools(knowledge, models, fixed, args.prompts, Recorder), page_for_hosts)
    return 0
