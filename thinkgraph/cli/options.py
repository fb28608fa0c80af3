"""Flags that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from thinkgraph.errors import UsageError
from thinkgraph.graphs.registry import NAMES

if TYPE_CHECKING:
    from thinkgraph.config import Config

OFFLINE = "offline"


_CONFIGURED = "default THINKGRAPH_MODEL, thinkgraph.toml, else the offline model"


def add_model(parser: argparse._ActionsContainer, *, default: str = _CONFIGURED) -> None:
    """--model, --prices and --prompts; `default` says what holds where no model is given."""
    parser.add_argument("--model", metavar="M", help=f"provider:name (openai:… honours OPENAI_BASE_URL); {default}")
    parser.add_argument(
        "--prices", metavar="FILE", help="YAML price table, model: [input, output] in dollars per million tokens"
    )
    parser.add_argument("--prompts", metavar="DIR", help="folder whose files override built-in prompts")


MAX_WORKERS = 64


def add_bench_model(parser: argparse.ArgumentParser) -> None:
    """--model, which may be a perfect chooser."""
    parser.add_argument(
        "--model",
        metavar="M",
        help="provider:name, offline, perfect (it knows the gold path) or perfect:0.1 (and is wrong in 10%% of its "
        f"choices); {_CONFIGURED}",
    )


def add_kb(parser: argparse.ArgumentParser) -> None:
    """--kb and --text."""
    parser.add_argument(
        "--kb",
        metavar="K",
        help="'world' (bundled), the folder of a knowledge base, or an address (neo4j://user@host/database, "
        "sparql+https://host/path?profile=…); default THINKGRAPH_KB, thinkgraph.toml, else world",
    )
    add_text(parser)


def add_text(parser: argparse.ArgumentParser) -> None:
    """--text."""
    parser.add_argument(
        "--text",
        metavar="T",
        help="passages about its entities from elsewhere: chroma:FOLDER?collection=NAME&entity=METADATA_KEY",
    )


def add_method(parser: argparse.ArgumentParser) -> None:
    """--method and --set."""
    parser.add_argument(
        "--method",
        metavar="NAME",
        help=f"one of: {', '.join(NAMES)} ; default THINKGRAPH_METHOD, thinkgraph.toml, else tog2",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the method, for example width=5; may be repeated",
    )


def add_workers(parser: argparse.ArgumentParser) -> None:
    """--workers."""
    parser.add_argument(
        "--workers",
        type=int,
        default=1,
        metavar="N",
        help="processes that share the questions, --concurrency (at least one each) and --rate (default 1: this one)",
    )


def add_plot(parser: argparse.ArgumentParser) -> None:
    """--plot."""
    parser.add_argument("--plot", metavar="FILE", help="draw what led to the answer, as .svg or .html")


def configured(args: argparse.Namespace) -> Config:
    """Fill in from environment and file what no flag gave (see thinkgraph.config); settings are left to `settings_of`.

    Raises:
        UsageError: the environment or the file is malformed.
    """
    from thinkgraph.config import load_config

    config = load_config()
    for name in ("kb", "text", "model", "method", "prompts", "prices"):
        # An empty flag is an error of its own, except for a model: there it always meant none.
        given = getattr(args, name, "")
        if given is None or (name == "model" and not given):
            setattr(args, name, config.get(name))
    return config


def model_name(given: str | None) -> str:
    """The model to use where only one will do: the flag, else what is configured, else offline.

    Keys in the environment never choose one.

    Raises:
        UsageError: several are configured, by role.
    """
    from thinkgraph.config import load_config

    model = given or load_config().get("model")
    if not isinstance(model, str):
        raise UsageError("models by role are configured; this command takes one: --model NAME")
    return model


def parse_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """`name=value` pairs as a mapping; the method's schema turns the values into numbers and switches.

    Raises:
        UsageError: a pair without '='.
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--set takes name=value, not '{pair}'")
        settings[name.strip()] = None if value.strip().casefold() in {"none", "null"} else value.strip()
    return settings


__all__ = [
    "MAX_WORKERS",
    "OFFLINE",
    "add_bench_model",
    "add_kb",
    "add_method",
    "add_model",
    "add_plot",
    "add_text",
    "add_workers",
    "configured",
    "model_name",
    "parse_settings",
]
