"""`thinkgraph doctor`: checks the installation, the knowledge base, and the model's replies to every prompt."""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.metadata
import sqlite3
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from thinkgraph.cli.options import (
    KB,
    MODEL,
    add_flags,
    configured,
    open_knowledge,
    open_models,
    prices_of,
)
from thinkgraph.cli.show import many, write_line
from thinkgraph.config import Config, Value, shown
from thinkgraph.errors import KnowledgeError, ThinkGraphError
from thinkgraph.prompts.lines import one_line

if TYPE_CHECKING:
    from thinkgraph.tools.knowledge import Knowledge

PACKAGES = ("langgraph", "langchain-core", "langchain-openai", "neo4j")
OPTIONAL = ("sentence-transformers", "torch", "chromadb", "langchain-community")
_LOOKED_AT = 100
"""Passages whose entities are looked up in the graph."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `doctor`."""
    add_flags(parser, *MODEL, *KB)
    parser.add_argument("--no-calls", action="store_true", help="make no model call")


def run(args: argparse.Namespace) -> int:
    """Check everything; exit code 1 if something is wrong."""
    flags = {name: getattr(args, name) for name in ("kb", "text", "model", "prompts", "prices")}
    config = configured(args)
    with contextlib.ExitStack() as closing:

        @functools.cache
        def knowledge() -> Knowledge:
            """Opened when first needed; a failed opening is tried again."""
            return closing.enter_context(open_knowledge(args))

        faults = sum(
            _failed(title, check)
            for title, check in (
                ("python", lambda: sys.version.split()[0]),
                ("configuration", lambda: _configuration(config, flags, args)),
                ("packages", _packages),
                ("sqlite", _sqlite),
                ("runs", _runs),
                ("knowledge", lambda: _knowledge(knowledge)),
                ("encoder", lambda: _encoder(knowledge())),
                *([("texts", lambda: _texts(knowledge()))] if args.text else []),
            )
        )
        if not args.no_calls:
            faults += _calls(args, knowledge)
    _print("all is well" if not faults else f"{faults} of the checks failed")
    return 1 if faults else 0


def _print(text: str) -> None:
    write_line(text)
    sys.stdout.flush()


def _failed(title: str, check: Callable[[], str]) -> bool:
    """Make a check and print what it found; further lines of it are notes."""
    try:
        found, *notes = check().split("\n")
    except (ThinkGraphError, OSError, sqlite3.Error, importlib.metadata.PackageNotFoundError) as error:
        _print(f"FAIL {title:<24} {one_line(str(error))}")
        return True
    _print(f"ok   {title:<24} {one_line(found)}")
    for note in notes:
        _print(f"     {one_line(note)}")
    return False


def _configuration(config: Config, flags: dict[str, str | None], args: argparse.Namespace) -> str:
    """Where each value comes from; passwords and keys of addresses are left out. Prices and prompts that cannot be read are faults."""
    from thinkgraph.prompts.library import PromptLibrary

    prices_of(args.prices)
    PromptLibrary(args.prompts)
    values = {
        **config.values,
        **{name: Value(given, "flag") for name, given in flags.items() if given},
        **{f"settings.{name}": value for name, value in config.sources(config.get("method")).items()},
    }
    return "; ".join(f"{name} = {shown(value)}" for name, value in values.items())


def _packages() -> str:
    """Versions of what must be there, and of what need not."""
    found = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
    for name in OPTIONAL:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found.append(f"{name} {importlib.metadata.version(name)}")
    return ", ".join(found)


def _sqlite() -> str:
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='trigram')")
    return f"{sqlite3.sqlite_version} with FTS5"


def _runs() -> str:
    from thinkgraph.cli.runs import RunStore

    with RunStore() as runs:
        return f"{len(runs.rows())} kept in {runs.folder}"


def _knowledge(opened: Callable[[], Knowledge]) -> str:
    """What it holds; below, the indexes that would make a server faster."""
    began = time.monotonic()
    knowledge = opened()
    info = knowledge.graph.info()
    passages = many(knowledge.text.info()["passages"], "passage") if knowledge.text else "no passages"
    notes = "".join(f"; {one_line(note)}" for note in getattr(knowledge.graph, "notes", ()))
    took = time.monotonic() - began
    counts = f"{many(info['entities'], 'entity', 'entities')}, {many(info['triples'], 'triple')}, {passages}"
    found = [f"{one_line(knowledge.name)}: {counts} ({took:.1f} s){notes}"]
    if describe := getattr(knowledge.graph, "describe", None):
        found += map(one_line, describe(knowledge.text)["missing"])
    return "\n".join(found)


def _encoder(knowledge: Knowledge) -> str:
    began = time.monotonic()
    vector = knowledge.embedder.embed(["a short text"])[0]
    return f"{knowledge.embedder.name}, {len(vector)} dimensions ({time.monotonic() - began:.1f} s to load)"


def _texts(knowledge: Knowledge) -> str:
    """What was named with --text: whether it is about entities of the graph, and answers a query."""
    if knowledge.text is None:
        return "none"
    info = knowledge.text.info()
    if info["passages"] and not info["entities"]:
        raise KnowledgeError(
            f"no document of {info['name']} names an entity in its metadata: say under which key (entity=)"
        )
    (hits,) = knowledge.text.search(["a short text"], limit=_LOOKED_AT)
    named = list(dict.fromkeys(entity for hit in hits for entity in hit["passage"]["entities"]))
    if named and not any(knowledge.graph.entities(named)):
        raise KnowledgeError(
            f"{info['name']} speaks of nothing in the graph: none of {many(len(named), 'entity', 'entities')} ({named[0]}) is "
            "there; its documents must name the ids that the graph has"
        )
    entities = many(info["entities"], "entity", "entities")
    return f"{info['name']}: {many(info['passages'], 'passage')} about {entities}"


def _calls(args: argparse.Namespace, knowledge: Callable[[], Knowledge]) -> int:
    """What the models are like, and one small call of every role."""
    from thinkgraph.cli.model_check import check_model
    from thinkgraph.prompts.library import PromptLibrary

    try:
        library = PromptLibrary(args.prompts)
        models = open_models(args.model, knowledge())
    except ThinkGraphError as error:
        _print(f"FAIL {'model calls':<24} not made: {one_line(str(error))}")
        return 1
    return check_model(models, library, _print)
