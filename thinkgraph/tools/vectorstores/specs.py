"""Text stores by a line: `chroma:FOLDER?collection=NAME&entity=KEY…`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import parse_qsl

from thinkgraph.errors import KnowledgeError

if TYPE_CHECKING:
    from thinkgraph.tools.protocols import TextStore

FORM = "chroma:FOLDER?collection=NAME&entity=KEY"
_OPTIONS = ("collection", "entity", "title", "section", "embedder")


def parsed(spec: str) -> tuple[str, dict[str, str]]:
    """The folder and the options of a line.

    Raises:
        KnowledgeError: it has another form.
    """
    kind, colon, rest = spec.partition(":")
    folder, _, query = rest.partition("?")
    if kind != "chroma" or not colon or not folder:
        raise KnowledgeError(f"{spec!r} names no texts: write {FORM}")
    options = dict(parse_qsl(query, keep_blank_values=True))
    if unknown := sorted(options.keys() - {*_OPTIONS}):
        raise KnowledgeError(f"{unknown[0]!r} is no option of {FORM} (known: {', '.join(_OPTIONS)})")
    if not options.get("collection"):
        raise KnowledgeError(f"{spec!r} names no collection: write {FORM}")
    return folder, options


def absolute_text(spec: str) -> str:
    """The line with a folder that holds in any working folder."""
    folder, _ = parsed(spec)
    _, _, rest = spec.partition(":")
    return f"chroma:{Path(folder).expanduser().absolute()}{rest[len(folder) :]}"


def open_text(spec: str) -> TextStore:
    """The text store of a line; close it.

    Raises:
        KnowledgeError: the line has another form, or there is no such collection.
    """
    from thinkgraph.tools.encoders.embeddings import load_embedder
    from thinkgraph.tools.vectorstores.chroma import ChromaTextStore

    folder, options = parsed(spec)
    keys = {f"{name}_key": options[name] for name in ("entity", "title", "section") if options.get(name)}
    embedder = load_embedder(options["embedder"]) if options.get("embedder") else None
    return cast(
        "TextStore",
        ChromaTextStore(str(Path(folder).expanduser()), options["collection"], embedder=embedder, **keys),
    )
