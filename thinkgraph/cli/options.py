"""Flags that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from thinkgraph.errors import UsageError
from thinkgraph.graphs.registry import NAMES

if TYPE_CHECKING:
    from thinkgraph.config import Config
    from thinkgraph.models.roles import Models
    from thinkgraph.tools.knowledge import Knowledge

MAX_WORKERS = 64

_CONFIGURED = "default THINKGRAPH_MODEL, thinkgraph.toml, else the offline model"


def add_model(parser: argparse._ActionsContainer, *, default: str = _CONFIGURED) -> None:
    """--model, --prices and --prompts; `default` says what holds where no model is given."""
    parser.add_argument("--model", metavar="M", help=f"provider:name (openai:… honours OPENAI_BASE_URL); {default}")
    parser.add_argument(
        "--prices", metavar="FILE", help="YAML price table, model: [input, output] in dollars per million tokens"
    )
    parser.add_argument("--prompts", metavar="DIR", help="folder whose files override built-in prompts")


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
    add_set(parser, "a setting of the method, for example width=5")


def add_methods(parser: argparse.ArgumentParser, default: Sequence[str], *, shown: str = "") -> None:
    """--methods and --set for several methods; `shown` describes the default."""
    parser.add_argument(
        "--methods", metavar="NAME[,NAME]", default=",".join(default), help=f"default {shown or ','.join(default)}"
    )
    add_set(parser, "a setting of all methods that have it (width=5), or of one (tog2.width=5)")


def add_set(parser: argparse._ActionsContainer, description: str) -> None:
    """--set."""
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help=f"{description}; may be repeated"
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


def add_output(parser: argparse.ArgumentParser) -> None:
    """--plot, --json and --quiet."""
    parser.add_argument("--plot", metavar="FILE", help="draw what led to the answer, as .svg or .html")
    parser.add_argument("--json", action="store_true", help="print the whole answer as one JSON object")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


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


def method_names(given: str) -> list[str]:
    """The names of --methods.

    Raises:
        UsageError: there is none.
    """
    names = list(dict.fromkeys(name.strip() for name in given.split(",") if name.strip()))
    if not names:
        raise UsageError("--methods names no method")
    return names


def check_concurrency(args: argparse.Namespace, most: int) -> None:
    """Refuse a --concurrency above `most` and a --workers above 64.

    Raises:
        UsageError: one of them is out of range.
    """
    for name, limit in (("concurrency", most), ("workers", MAX_WORKERS)):
        if not 1 <= getattr(args, name) <= limit:
            raise UsageError(f"--{name} must be from 1 to {limit}")


def open_models(args: argparse.Namespace, knowledge: Knowledge, rate: float | None = None) -> Models:
    """The models of --model and --prices, called at most `rate` times a second; the offline one uses the knowledge's encoder.

    Raises:
        UsageError: a malformed model name or price table.
    """
    from thinkgraph.graphs.build import offline_model
    from thinkgraph.models.client import rate_limiter
    from thinkgraph.models.prices import load_prices
    from thinkgraph.models.roles import Models

    prices = load_prices(args.prices) if args.prices else None
    return Models(args.model, offline=offline_model(knowledge), prices=prices, rate_limiter=rate_limiter(rate))
