"""Finds documents: files, files in folders, rows of JSON Lines files. Reports what it leaves out, and why."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from thinkgraph.errors import KnowledgeError
from thinkgraph.ingest.documents.pieces import Piece, Reading
from thinkgraph.ingest.readers.files import PassageRow, read_passages
from thinkgraph.ingest.readers.rejects import Rejects
from thinkgraph.tools.kb_files import is_knowledge_base
from thinkgraph.tools.linking.names import well_formed

Kind = Literal["text", "markdown", "html", "pdf", "rows"]

SUFFIXES: dict[str, Kind] = {
    ".txt": "text",
    ".text": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".jsonl": "rows",
    ".ndjson": "rows",
}
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """One document, found but not read."""

    id: str
    """The file's path, beginning with the name of the given folder; a row's own id."""
    file: str
    """The file it is in, named like an id."""
    kind: Kind
    content: str
    """Hash of the file or row. A document changed if it changed."""
    path: Path | None = None
    row: PassageRow | None = None


def names_of(paths: Sequence[Path], known: Collection[str] = ()) -> list[tuple[Path, str]]:
    """Each path, resolved, with the beginning of the ids of its documents: the folder's name, or the file's.

    A path inside a folder that known documents came from keeps its id: after `reports` was read, the file
    `reports/2023/a.md` is the same document however it is given.
    """
    folders = {one[:at] for one in known for at, sign in enumerate(one) if sign == "/"}
    found = []
    for path in (path.resolve() for path in paths):
        ends = ["/".join(path.parts[at:]) for at in range(1, len(path.parts))]
        above = ["/".join(path.parts[at:-1]) for at in range(1, len(path.parts) - 1)]
        inside = [f"{end}/{path.name}" for end in above if end in folders]
        same = [end for end in ends if end in (folders if path.is_dir() else known)]
        found.append((path, well_formed((same or inside or [path.name or path.as_posix()])[0])))
    return found


def find_sources(paths: Sequence[Path], rejects: Rejects, known: Collection[str] = ()) -> Iterator[Source]:
    """Every document under the paths, in the order of names. What cannot be used is reported and skipped.

    Args:
        paths: files and folders.
        rejects: receives what is no document, and why.
        known: ids of documents that were read before, see `names_of`.

    Raises:
        KnowledgeError: a given path does not exist.
    """
    for path in paths:
        if not path.exists():
            raise KnowledgeError(f"there is no file or folder {path} (given as documents)")
    seen: dict[str, str] = {}
    for file, name in _Files(names_of(paths, known), rejects).found():
        for source in _documents(file, name, rejects):
            if source.id in seen:
                where = f"the id {source.id[:80]!r} was used before ({seen[source.id]})"
                rejects.note(source.file, source.row.line if source.row else 0, where, kind="duplicate id")
            else:
                seen[source.id] = source.file
                yield source


class _Files:
    """The files below some paths, each with its name."""

    def __init__(self, named: Sequence[tuple[Path, str]], rejects: Rejects) -> None:
        self._named = named
        self._roots = [path for path, _ in named]
        self._rejects = rejects
        self._visited: set[tuple[int, int]] = set()

    def found(self) -> Iterator[tuple[Path, str]]:
        for named in self._named:
            stack = [named]
            while stack:
                path, name = stack.pop()
                if path.is_dir():
                    stack += reversed(self._entries(path, name))
                else:
                    yield path, name

    def _entries(self, folder: Path, name: str) -> list[tuple[Path, str]]:
        """The entries of a folder, in the order of names; none if the folder was read before."""
        try:
            about = folder.stat()
            if (about.st_dev, about.st_ino) in self._visited:
                self._rejects.note(name, 0, "is a folder that was read before, by another name", kind="not read")
                return []
            self._visited.add((about.st_dev, about.st_ino))
            if is_knowledge_base(folder):
                self._rejects.note(name, 0, "is a knowledge base, no document", kind="not read")
                return []
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            self._rejects.note(name, 0, f"cannot be read: {error.strerror or error}", kind="not read")
            return []
        return [
            (Path(entry.path), inner)
            for entry in entries
            if not entry.name.startswith(".") and self._is_wanted(entry, inner := well_formed(f"{name}/{entry.name}"))
        ]

    def _is_wanted(self, entry: os.DirEntry[str], name: str) -> bool:
        try:
            if entry.is_symlink():
                target = Path(entry.path).resolve()
                # A target below a given path is read at its own place. A target above one would be read for ever.
                if target.exists() and any(
                    target.is_relative_to(root) or root.is_relative_to(target) for root in self._roots
                ):
                    self._rejects.note(name, 0, "is a link to what is read by its own name", kind="not read")
                    return False
            if entry.is_dir() or entry.is_file():
                return True
            reason = "is a link to nothing" if entry.is_symlink() else "is neither a file nor a folder"
        except (OSError, RuntimeError) as error:
            reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        self._rejects.note(name, 0, reason, kind="not read")
        return False


def _documents(path: Path, name: str, rejects: Rejects) -> Iterator[Source]:
    kind = SUFFIXES.get(path.suffix.lower())
    if kind is None:
        known = ", ".join(sorted(SUFFIXES))
        rejects.note(name, 0, f"is of no known type ({known})", kind="not read")
        return
    try:
        if kind != "rows":
            content = _hash_of(path)
            if content is None:
                rejects.note(name, 0, "is empty", kind="not read")
            else:
                yield Source(name, name, kind, content, path=path)
            return
        for row in read_passages(path, rejects):
            yield Source(row.id, name, kind, _hash_row(row), row=row)
    except OSError as error:
        rejects.note(name, 0, f"cannot be read: {error.strerror or error}", kind="not read")
    except KnowledgeError as error:
        rejects.note(name, 0, str(error).removeprefix(f"{path} "), kind="not read")


def _hash_of(path: Path) -> str | None:
    digest = hashlib.blake2b(digest_size=16)
    size = 0
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
            size += len(block)
    return digest.hexdigest() if size else None


def _hash_row(row: PassageRow) -> str:
    parts = [row.title, row.section, row.text, row.entities]
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def read_source(source: Source, encoding: str | None) -> Reading:
    """Open one document.

    Raises:
        UnreadableError: it cannot be read. Also raised while its pieces are iterated.
    """
    if source.row is not None:
        row = source.row
        return Reading(row.title, tuple(row.entities or ()), iter([Piece(row.section, row.text, 0)]))
    if source.path is None:
        raise AssertionError("a document is a file or a row")
    from thinkgraph.ingest.documents import readers

    match source.kind:
        case "markdown":
            return readers.read_markdown(source.path, encoding)
        case "html":
            return readers.read_html(source.path, encoding)
        case "pdf":
            return readers.read_pdf(source.path)
        case _:
            return readers.read_text(source.path, encoding)
