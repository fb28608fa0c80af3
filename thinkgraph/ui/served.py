"""The page on a LangGraph server: what `"http": {"app": …}` of a langgraph.json can name. It lies at /page/.

It answers with what the environment and thinkgraph.toml configure, as the server's graphs do. THINKGRAPH_UI_TOKEN is the token that
opens it, else one is made and the address written to the log; THINKGRAPH_UI_HOSTS names the hosts, with commas, by which the server
is reached beside this machine's own names, THINKGRAPH_UI_MODELS the models that may be chosen beside the configured one.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import secrets
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.routing import Mount

from thinkgraph.cli.options import CONFIGURABLE, configured, names_in, open_knowledge
from thinkgraph.cli.runs import run_options
from thinkgraph.graphs.registry import NAMES
from thinkgraph.ui.app import create_app
from thinkgraph.ui.runs import Served
from thinkgraph.ui.security import LOCAL

log = logging.getLogger("thinkgraph.page")

PATH = "/page"
TOKEN = "THINKGRAPH_UI_TOKEN"  # noqa: S105 - the variable's name
HOSTS = "THINKGRAPH_UI_HOSTS"
MODELS = "THINKGRAPH_UI_MODELS"


def opened() -> Served:
    """What the environment and the file configure.

    Raises:
        ThinkGraphError: the configuration is malformed, or the knowledge cannot be opened.
    """
    args = argparse.Namespace(**dict.fromkeys(CONFIGURABLE))
    config = configured(args)
    fixed = {name: config.settings(name) for name in dict.fromkeys((args.method, *NAMES))}
    others = names_in(os.environ.get(MODELS, ""))
    return Served(open_knowledge(args), run_options(args, next(iter(fixed)), {}), fixed, others)


def make_app() -> Starlette:
    """The application that `langgraph.json` names, as the environment wants it."""
    token = os.environ.get(TOKEN) or secrets.token_urlsafe(24)
    hosts = {*LOCAL, *names_in(os.environ.get(HOSTS, ""))}
    page = create_app(opened, token=token, cookie="thinkgraph-page", hosts=hosts)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        # A token of the keeper's own is in no log.
        shown = "…" if os.environ.get(TOKEN) else token
        log.warning("the page lies at %s/?token=%s of this server", PATH, shown)
        async with page.router.lifespan_context(page):
            yield

    return Starlette(routes=[Mount(PATH, page)], lifespan=lifespan)


app = make_app()
