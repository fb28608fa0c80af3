"""`thinkgraph ui`: the page, served on this machine and opened in the browser."""

from __future__ import annotations

import argparse
import contextlib
import logging
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from typing import TYPE_CHECKING

from thinkgraph.cli.ask import announce, speaker
from thinkgraph.cli.options import add_served_flags, open_knowledge, open_models, served_settings
from thinkgraph.cli.runs import RunStore, run_options
from thinkgraph.cli.show import leaving_at_once
from thinkgraph.config import absolute
from thinkgraph.errors import UsageError

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette

    from thinkgraph.ui.runs import Desk

HOST = "127.0.0.1"
PORT = 8421
"""The first that is tried; where it is taken, the next ones."""
_TRIED = 20
_LAST_PORT = 65_535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `ui`."""
    parser.add_argument("--port", type=int, metavar="N", help=f"default the first that is free from {PORT} on")
    parser.add_argument("--no-browser", action="store_true", help="print the address and open nothing")
    add_served_flags(parser, "the page", repeated=("model", "kb"))


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    check_installed()
    from thinkgraph.tools.knowledge import Knowledge
    from thinkgraph.ui.app import create_app
    from thinkgraph.ui.runs import Desk, Served

    args.model, *models = args.model or [None]
    args.kb, *bases = args.kb or [None]
    # Flags first: a wrong one must not cost the opening of a knowledge base.
    fixed = served_settings(args)
    if bases and args.text:
        raise UsageError("the passages of --text are about one knowledge base: give --kb once")
    listening, say = _listen(args.port), speaker(quiet=False)
    with contextlib.closing(listening), contextlib.ExitStack() as opened, RunStore():
        knowledge = opened.enter_context(open_knowledge(args))
        more = {
            absolute("kb", kb): opened.enter_context(Knowledge.open(kb, trust_embedder=bool(args.trust_embedder)))
            for kb in bases
        }
        served = Served(knowledge, run_options(args, next(iter(fixed)), {}), fixed, models, more)
        for model in (args.model, *models):
            open_models(model, knowledge, prices=args.prices).check()
            announce({**served.options, "model": model}, say)
        port, token = listening.getsockname()[1], secrets.token_urlsafe(24)
        address = f"http://{HOST}:{port}/?token={token}"
        say(f"the page is open to whoever has this address: {address} (Ctrl-C ends it)")
        if not args.no_browser:
            threading.Thread(target=_open, args=(address, say), daemon=True).start()
        logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="thinkgraph ui: %(levelname)s %(message)s")
        desk = Desk(served)
        server = server_of(create_app(lambda: served, token=token, cookie=f"thinkgraph-{port}", desk=desk), desk)
        with leaving_at_once("interrupted; unfinished runs are kept"):
            server.run(sockets=[listening])
    return 0


def server_of(app: Starlette, desk: Desk) -> uvicorn.Server:
    """What serves the page. At its end it lets go of those who follow runs: it would wait for them, and then cut them off."""
    import uvicorn

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            desk.close()
            await super().shutdown(sockets)

    return Server(uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=2))


def check_installed() -> None:
    """Refuse at once where the server is missing.

    Raises:
        UsageError: it is.
    """
    try:
        import starlette
        import uvicorn
    except ImportError:
        raise UsageError("the page needs a web server: pip install 'thinkgraph[ui]'") from None
    del starlette, uvicorn


def _listen(wanted: int | None) -> socket.socket:
    """A socket on this machine alone.

    Raises:
        UsageError: the port is taken or none.
    """
    if wanted is not None and not 0 <= wanted <= _LAST_PORT:
        raise UsageError(f"--port must be from 0 to {_LAST_PORT:,}")
    ports = [wanted] if wanted is not None else [*range(PORT, PORT + _TRIED), 0]
    for port in ports:
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((HOST, port))
            # Whoever reads the address before the server runs waits for it.
            made.listen()
        except OSError as error:
            made.close()
            if wanted is not None:
                raise UsageError(
                    f"port {port} cannot be used ({error.strerror}): name another with --port, or none"
                ) from None
        else:
            return made
    raise UsageError("no port is free: name one with --port")


def _open(address: str, say: Callable[[str], None]) -> None:
    """Open the browser; where there is none, the address has been printed."""
    if not webbrowser.open(address):
        say("no browser could be opened: copy the address into one")
