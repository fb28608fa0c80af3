"""Flags that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from thinkgraph.config import Config, load_config, parse_settings
from thinkgraph.errors import UsageError
from thinkgraph.graphs.registry import NAMES, find_method
from thinkgraph.plot.save import check_target

if TYPE_CHECKING:
    from thinkgraph.models.prices import Prices
    from thinkgraph.models.recorded import Recording
    from thinkgraph.models.roles import Models, ModelSpec
    from thinkgraph.prompts.tasks import Task
    from thinkgraph.tools.knowledge import Knowledge

MAX_WORKERS = 64
MAX_CONCURRENCY = 1024


def names_in(given: str) -> list[str]:
    """The names in a list with commas, each once."""
    return list(dict.fromkeys(name.strip() for name in given.split(",") if name.strip()))


def method_names(given: str) -> list[str]:
    """The methods in a list with commas, each once."""
    names = names_in(given)
    if not names:
        raise argparse.ArgumentTypeError(f"'{given}' names no method")
    return names


def place(given: str) -> str:
    """Where answers are kept or shared. An empty variable must not stand for nowhere: they are paid for."""
    if not given.strip():
        raise argparse.ArgumentTypeError("is empty: leave it out, or name a place")
    return given


_CONFIGURED = "default THINKGRAPH_MODEL, thinkgraph.toml, else the offline model"
_FLAGS: dict[str, dict[str, Any]] = {
    "kb": {
        "metavar": "K",
        "help": "'world' (bundled), the folder of a knowledge base, or an address (neo4j://user@host/database, "
        "sparql+https://host/path?profile=…); default THINKGRAPH_KB, thinkgraph.toml, else world",
    },
    "text": {
        "metavar": "T",
        "help": "passages about its entities from elsewhere: chroma:FOLDER?collection=NAME&entity=METADATA_KEY",
    },
    "trust-embedder": {
        "action": "store_true",
        "default": None,
        "help": "load the encoder that a knowledge base's folder names, whatever it is: it may run code of its own or cost money",
    },
    "model": {"metavar": "M", "help": f"provider:name (openai:… honours OPENAI_BASE_URL); {_CONFIGURED}"},
    "prices": {
        "metavar": "FILE",
        "help": "YAML price table, model: [input, output] in dollars per million tokens",
    },
    "prompts": {"metavar": "DIR", "help": "folder whose files override built-in prompts"},
    "method": {
        "metavar": "NAME",
        "help": f"one of: {', '.join(NAMES)} ; default THINKGRAPH_METHOD, thinkgraph.toml, else tog2",
    },
    "methods": {"metavar": "NAME[,NAME]", "type": method_names, "help": "default %(default)s"},
    "set": {
        "action": "append",
        "default": [],
        "metavar": "NAME=VALUE",
        "help": "a setting of the method, for example width=5; may be repeated",
    },
    "limit": {"type": int, "metavar": "N", "help": "only N questions, spread over the file"},
    "concurrency": {
        "type": int,
        "default": 1,
        "metavar": "C",
        "help": "questions at a time (default %(default)s)",
    },
    "workers": {
        "type": int,
        "default": 1,
        "metavar": "N",
        "help": "processes that share the questions, --concurrency (at least one each) and --rate (default 1: this one)",
    },
    "rate": {"type": float, "metavar": "R", "help": "at most R requests to models a second, over all questions"},
    "gold-entities": {
        "choices": ("yes", "no"),
        "default": "no",
        "help": "start from the topic entities that the data gives instead of linking them (default no)",
    },
    "seed": {
        "type": int,
        "default": 0,
        "metavar": "S",
        "help": "of samples, wrong choices and intervals (default 0)",
    },
    "plot": {
        "metavar": "FILE",
        "type": check_target,
        "help": "draw what led to the answer: .svg a picture, .html a page that replays the run",
    },
    "json": {"action": "store_true", "help": "print the whole answer as one JSON object"},
    "estimate": {
        "action": "store_true",
        "help": "print the calls, tokens and price to expect, from a walk of the knowledge that asks no model, and end",
    },
    "quiet": {"action": "store_true", "help": "no progress on stderr"},
}
SEVERAL: dict[str, Any] = {"action": "extend", "nargs": "+", "default": []}
"""Arguments of a flag that takes several values and may be repeated."""
KB = ("kb", "text", "trust-embedder")
MODEL = ("model", "prices", "prompts")
MEASURING = (*KB, "limit", "concurrency", "rate", "gold-entities", "seed")
OUTPUT = ("plot", "json", "quiet")
CONFIGURABLE = ("kb", "text", "trust_embedder", "model", "method", "prompts", "prices")
"""What `configured` fills in."""
OF_SEVERAL = "a setting of all methods that have it (width=5), or of one (tog2.width=5); may be repeated"
"""Help of --set for several methods."""
MEASURED_MODEL = (
    "provider:name, offline, perfect (it knows the gold path), perfect:0.1 (and is wrong in 10%% of its choices) or "
    "perfect:pick=0.2,judge/bridge=0.1 (docs/measuring.md, Errors of the perfect chooser); "
    f"{_CONFIGURED}"
)
"""Help of --model where it may be a perfect chooser."""


def add_flags(parser: argparse._ActionsContainer, *names: str, **changes: Any) -> None:
    """Declare flags that several commands share; `changes` are other arguments of `add_argument` than theirs."""
    for name in names:
        parser.add_argument(f"--{name}", **{**_FLAGS[name], **changes})


def configured(args: argparse.Namespace) -> Config:
    """Fill in what no flag gave from the environment and the file (see thinkgraph.config), except settings.

    Raises:
        UsageError: the environment or the file is malformed.
    """
    config = load_config()
    for name in CONFIGURABLE:
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
    model = given or load_config().get("model")
    if not isinstance(model, str):
        raise UsageError("models by role are configured; this command takes one: --model NAME")
    return model


def check_numbers(args: argparse.Namespace) -> None:
    """Check --limit, --concurrency, --workers and --rate, where a command has them.

    Raises:
        UsageError: one of them is out of range.
    """
    if getattr(args, "limit", None) is not None and args.limit < 1:
        raise UsageError("--limit must be at least 1")
    for name, most in (("concurrency", MAX_CONCURRENCY), ("workers", MAX_WORKERS)):
        if not 1 <= getattr(args, name, 1) <= most:
            raise UsageError(f"--{name} must be from 1 to {most}")
    rate = getattr(args, "rate", None)
    if rate is not None and not 0 < rate < float("inf"):
        raise UsageError("--rate must be a number of requests a second above 0")


def settings_by_method(
    args: argparse.Namespace, config: Config, methods: Sequence[str], *, style: Task = "question"
) -> dict[str, dict[str, Any]]:
    """The settings of several methods: the configuration's, then those of --set and --seed.

    Raises:
        UsageError: no such method, or a setting that none has.
        SettingsError: a value out of range.
    """
    from thinkgraph.eval import bench_setup
    from thinkgraph.state.settings import resolve_settings

    schemas = {name: find_method(name).settings for name in methods}
    flags = bench_setup.settings_by_method(methods, parse_settings(args.set), style=style)
    settings = {name: {**config.settings(name), **flags[name]} for name in methods}
    for name, schema in schemas.items():
        if getattr(args, "seed", 0) and "seed" in schema.model_fields:
            settings[name].setdefault("seed", args.seed)
        resolve_settings(schema, settings[name])
    return settings


def add_served_flags(parser: argparse.ArgumentParser, others: str, *, repeated: Collection[str] = ()) -> None:
    """The flags of a command that serves methods: which ones, and what of their settings `others` cannot change.

    Args:
        parser: of the command.
        others: who is served.
        repeated: flags of --model and --kb that may be given several times, for others to choose.
    """
    parser.add_argument(
        "--method",
        metavar="NAME[,NAME]",
        type=method_names,
        help=f"methods to serve, the default first: {', '.join(NAMES)} (default: all of them, tog2 first)",
    )
    add_flags(
        parser,
        "set",
        help=f"a setting that {others} cannot change (ceilings: only lower), of all methods that have it or of one "
        "(tog2.width=5); may be repeated",
    )
    for name in (*MODEL, *KB):
        help_ = f"{_FLAGS[name]['help']}; may be repeated, for {others} to choose, the default first"
        add_flags(parser, name, **({"action": "append", "help": help_} if name in repeated else {}))


def served_settings(args: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """The methods that such a command serves, the default first, with the settings that are fixed; completes the flags (`configured`).

    Raises:
        UsageError: no such method, a setting that none has, or a prompt that cannot be used.
        SettingsError: a value out of range.
    """
    from thinkgraph.prompts.library import PromptLibrary

    named = args.method
    config = configured(args)
    fixed = settings_by_method(args, config, named or list(dict.fromkeys((config.get("method"), *NAMES))))
    PromptLibrary(args.prompts)
    return fixed


def prices_of(path: str | None) -> Prices | None:
    """The price table of --prices.

    Raises:
        UsageError: it cannot be read or is malformed.
    """
    from thinkgraph.models.prices import load_prices

    return load_prices(path) if path else None


def profiles() -> dict[str, dict[str, Any]] | None:
    """What the configuration says of models, by name."""
    found: dict[str, dict[str, Any]] | None = load_config().get("models")
    return found


def open_knowledge(args: argparse.Namespace) -> Knowledge:
    """The knowledge base of --kb, --text and --trust-embedder.

    Raises:
        KnowledgeError: see `Knowledge.open`.
    """
    from thinkgraph.tools.knowledge import Knowledge

    return Knowledge.open(args.kb, text=args.text, trust_embedder=bool(args.trust_embedder))


def open_models(
    model: ModelSpec,
    knowledge: Knowledge,
    *,
    prices: str | None = None,
    rate: float | None = None,
    recording: Recording | None = None,
) -> Models:
    """The models of --model, with what the configuration says of them.

    Args:
        model: one, or by role.
        knowledge: its encoder is the offline model's.
        prices: the path of --prices.
        rate: requests a second at most.
        recording: keeps the replies of the one model.

    Raises:
        UsageError: a malformed model name or price table.
    """
    from thinkgraph.graphs.build import offline_model
    from thinkgraph.models.client import rate_limiter
    from thinkgraph.models.roles import Models

    return Models(
        model,
        offline=offline_model(knowledge),
        prices=prices_of(prices),
        profiles=profiles(),
        rate_limiter=rate_limiter(rate),
        recording=recording,
    )
