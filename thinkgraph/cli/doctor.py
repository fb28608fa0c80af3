"""`thinkgraph doctor`: checks the installation, the knowledge base, and the model's replies to every prompt."""

from __future__ import annotations

import argparse
import importlib.metadata
import sqlite3
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from thinkgraph.cli.options import add_kb, add_model, configured
from thinkgraph.cli.show import counted, write_line
from thinkgraph.config import Config, Value, shown
from thinkgraph.errors import ModelError, ThinkGraphError
from thinkgraph.prompts.lines import one_line
from thinkgraph.prompts.reading import BadReplyError

if TYPE_CHECKING:
    from thinkgraph.models.client import ChatClient
    from thinkgraph.prompts.library import Prompt
    from thinkgraph.tools.knowledge import Knowledge

PACKAGES = ("langgraph", "langchain-core", "langchain-openai", "neo4j", "chromadb", "sentence-transformers", "torch")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `doctor`."""
    add_model(parser)
    add_kb(parser)
    parser.add_argument("--no-calls", action="store_true", help="make no model call")


def run(args: argparse.Namespace) -> int:
    """Check everything; exit code 1 if something is wrong."""
    flags = {name: getattr(args, name) for name in ("kb", "text", "model", "prompts", "prices")}
    config = configured(args)
    faults = 0
    with _Base(args.kb, args.text) as base:
        for title, check in (
            ("python", _python),
            ("configuration", lambda: _configuration(config, flags)),
            ("packages", _packages),
            ("sqlite", _sqlite),
            ("runs", _runs),
            ("knowledge", lambda: _knowledge(base)),
            ("encoder", lambda: _encoder(base)),
        ):
            faults += _report(title, check)
            if title == "knowledge":
                for note in base.notes():
                    _print(f"     {note}")
        if not args.no_calls:
            faults += _calls(args, base)
    _print("all is well" if not faults else f"{faults} of the checks failed")
    return 1 if faults else 0


def _print(text: str) -> None:
    write_line(text)
    sys.stdout.flush()


def _report(title: str, check: Callable[[], str]) -> int:
    try:
        found = check()
    except (ThinkGraphError, OSError, sqlite3.Error, importlib.metadata.PackageNotFoundError) as error:
        _print(f"FAIL {title:<24} {one_line(str(error))}")
        return 1
    _print(f"ok   {title:<24} {one_line(found)}")
    return 0


def _python() -> str:
    return sys.version.split()[0]


def _packages() -> str:
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)


def _configuration(config: Config, flags: dict[str, str | None]) -> str:
    """Where each value comes from; passwords and keys of addresses are left out."""
    values = {
        **config.values,
        **{name: Value(given, "flag") for name, given in flags.items() if given},
        **{f"settings.{name}": value for name, value in config.sources(config.get("method")).items()},
    }
    return "; ".join(f"{name} = {shown(value)}" for name, value in values.items())


def _sqlite() -> str:
    with sqlite3.connect(":memory:") as db:
        db.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='trigram')")
    db.close()
    return f"{sqlite3.sqlite_version} with FTS5"


def _runs() -> str:
    from thinkgraph.cli.runs import RunStore

    with RunStore() as runs:
        return f"{len(runs.rows())} kept in {runs.folder}"


class _Base:
    """The knowledge base, opened when first needed; a failed opening is tried again."""

    def __init__(self, spec: str, text: str | None) -> None:
        self._spec = spec
        self._text = text
        self._opened: Knowledge | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._opened is not None:
            self._opened.close()

    def open(self) -> Knowledge:
        """The knowledge base. Raises KnowledgeError where it cannot be opened."""
        from thinkgraph.tools.knowledge import Knowledge

        if self._opened is None:
            self._opened = Knowledge.open(self._spec, text=self._text)
        return self._opened

    def notes(self) -> list[str]:
        """The indexes that would make a server faster, as `describe` lists them."""
        describe = getattr(self._opened.graph, "describe", None) if self._opened else None
        return [one_line(note) for note in describe(self.open().text)["missing"]] if callable(describe) else []


def _knowledge(base: _Base) -> str:
    began = time.monotonic()
    knowledge = base.open()
    info = knowledge.graph.info()
    passages = f"{counted(knowledge.text.info()['passages'])} passages" if knowledge.text else "no passages"
    notes = "".join(f"; {note}" for note in getattr(knowledge.graph, "notes", ()))
    took = time.monotonic() - began
    counts = f"{counted(info['entities'])} entities, {counted(info['triples'])} triples, {passages}"
    return f"{knowledge.name}: {counts} ({took:.1f} s){notes}"


def _encoder(base: _Base) -> str:
    embedder = base.open().embedder
    began = time.monotonic()
    vector = embedder.embed(["a short text"])[0]
    return f"{embedder.name}, {len(vector)} dimensions ({time.monotonic() - began:.1f} s to load)"


def _calls(args: argparse.Namespace, base: _Base) -> int:
    """One small call of every role: the prompt's own worked example, read back by the role's parser."""
    from thinkgraph.graphs.build import offline_model
    from thinkgraph.models.roles import Models
    from thinkgraph.prompts.library import PromptLibrary, builtin_roles

    try:
        library = PromptLibrary(args.prompts)
        models = Models(args.model, offline=offline_model(base.open()))
    except ThinkGraphError as error:
        _print(f"FAIL {'model calls':<24} not made: {one_line(str(error))}")
        return 1
    faults = 0
    client = None
    for role in builtin_roles():
        prompt = library.get(role)
        client = models.of(prompt)
        title = f"{role} ({prompt.kind.name})"
        try:
            _print(f"ok   {title:<36} {one_line(_one_call(prompt, client))[:70]}")
        except BadReplyError as error:
            _print(f"FAIL {title:<36} the reply cannot be read: {one_line(str(error))}")
            faults += 1
        except ModelError as error:
            # The next roles would meet the same fault.
            _print(f"FAIL {title:<36} {one_line(str(error))}")
            return faults + 1
    learnt = {"temperature": client.takes_temperature, "a JSON schema": client.takes_schema} if client else {}
    refused = [word for word, takes in learnt.items() if not takes]
    if client and refused:
        _print(f"     {client.name} refuses {' and '.join(refused)}; it is used without")
    return faults


def _one_call(prompt: Prompt, client: ChatClient) -> str:
    """Ask one worked example. Raises BadReplyError or ModelError."""
    from thinkgraph.models.client import CallOptions
    from thinkgraph.models.failures import classify
    from thinkgraph.prompts.kinds import Shape
    from thinkgraph.prompts.lines import parse_prompt

    example, _ = prompt.examples[0]
    parsed = parse_prompt("", example)
    shape = Shape(
        options=len(parsed.lines("options")),
        evidence=len(parsed.lines("evidence")),
        clues=len(parsed.lines("clues")),
        questions=len(parsed.lines("questions")),
        fields=("clues", "query") if prompt.kind.name == "judge" else (),
    )
    messages = prompt.render(dict.fromkeys(prompt.places, ""), shape)
    messages[-1] = ("user", example)
    options = CallOptions(0.0, prompt.kind.schema(shape), None, 60.0)
    while True:
        try:
            reply = client.invoke(messages, options, {})
        except Exception as error:
            failure = classify(error)
            if failure is None:
                raise
            if failure.refused and client.learn_from(failure.message):
                continue
            raise ModelError(f"model {client.name} failed: {failure.message}") from error
        return str(prompt.kind.parse(reply.text, shape))
