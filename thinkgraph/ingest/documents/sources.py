"""Finds documents: files, files in folders, rows of JSON Lines files. Reports what it leaves out, and why."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from thinkgraph.errors import KnowledgeError
from thinkgraph.ingest.documents.pieces import Piece, Reading, UnreadableError
from thinkgraph.ingest.documents.readers import read_html, read_markdown, read_pdf, read_text
from thinkgraph.ingest.readers.files import PassageRow, read_passages
from thinkgraph.ingest.readers.rejects import Rejects
from thinkgraph.tools.kb_files import content_hash, is_knowledge_base, json_hash
from thinkgraph.tools.linking.names import well_formed

_READERS: dict[str, Callable[[Path, str | None], Reading]] = {
    **dict.fromkeys((".txt", ".text"), read_text),
    **dict.fromkeys((".md", ".markdown"), read_markdown),
    **dict.fromkeys((".html", ".htm", ".xhtml"), read_html),
    ".pdf": read_pdf,
}
_ROWS = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class Source:
    """One document, found but not read."""

    id: str
    """The file's path, beginning with the name of the given folder; a row's own id."""
    file: str
    """The file it is in, named like an id."""
    line: int
    """Of a row; 0 for a file."""
    content: str
    """Hash of the file or row. A document changed if it changed. Empty for a file or folder that cannot be opened."""
    read: Callable[[str | None], Reading]
    """Opens it, given the encoding of files that are not UTF-8. Raises `UnreadableError`, also while pieces are iterated."""


def names_of(paths: Sequence[Path], known: Collection[str] = ()) -> list[tuple[Path, str]]:
    """Each path, resolved, with the beginning of the ids of its documents: the folder's name, or the file's.

    A path inside a folder that known documents came from keeps its id: after `reports` was read, the file
    `reports/2023/a.md` is the same document however it is given.
    """
    folders = {one[:at] for one in known for at, sign in enumerate(one) if sign == "/"}
    found = []
    for path in (path.resolve() for path in paths):
        ends = ["/".join(path.parts[at:]) for at in range(1, len(path.parts))]
        same = [end for end in ends if end in (folders if path.is_dir() else known)]
        inside = [end for end in ends if end.rpartition("/")[0] in folders]
        found.append((path, well_formed((same or inside or [path.name or path.as_posix()])[0])))
    return found


def find_sources(named: Sequence[tuple[Path, str]], rejects: Rejects) -> Iterator[Source]:
    """Every document under the paths (see `names_of`), in the order of names. What cannot be used goes to `rejects`.

    What cannot be opened is a source too, as one that cannot be read: nobody knows which documents are in it.
    """
    seen: dict[str, Path] = {}
    for path, name, problem in _files(named, rejects):
        for source in [_unreadable(name, problem)] if problem else _documents(path, name, rejects):
            if source.id in seen:
                where = f"the id {source.id[:80]!r} was used before ({seen[source.id]})"
                if not source.line:
                    where += f"; {path} is not used: rename it or its folder, or name the folder that both are in"
                rejects.note(source.file, source.line, where, kind="duplicate id")
            else:
                seen[source.id] = path
                yield source


def _files(named: Sequence[tuple[Path, str]], rejects: Rejects) -> Iterator[tuple[Path, str, str]]:
    """The files below some paths, each with its name, and folders that cannot be read, with why. No folder is read twice."""
    visited: set[tuple[int, int]] = set()
    stack = [*reversed(named)]
    while stack:
        path, name = stack.pop()
        entries: list[os.DirEntry[str]] = []
        try:
            if not path.is_dir():
                yield path, name, ""
                continue
            about = path.stat()
            if (about.st_dev, about.st_ino) in visited:
                rejects.note(name, 0, "is a folder that was read before, by another name", kind="not read")
            elif is_knowledge_base(path):
                rejects.note(name, 0, "is a knowledge base, no document", kind="not read")
            else:
                entries = sorted(os.scandir(path), key=lambda entry: entry.name)
            visited.add((about.st_dev, about.st_ino))
        except OSError as error:
            yield path, name, f"cannot be read: {error.strerror or error}"
        inside = []
        for entry in entries:
            inner = well_formed(f"{name}/{entry.name}")
            if entry.name.startswith("."):
                continue
            if refused := _refused(entry, [root for root, _ in named]):
                rejects.note(inner, 0, refused, kind="not read")
            else:
                inside.append((Path(entry.path), inner))
        stack += reversed(inside)


def _refused(entry: os.DirEntry[str], roots: Sequence[Path]) -> str:
    """Why an entry of a folder is neither read nor searched; empty if it is."""
    try:
        if entry.is_symlink():
            target = Path(entry.path).resolve()
            # A target below a given path is read at its own place. A target above one would be read for ever.
            if target.exists() and any(target.is_relative_to(root) or root.is_relative_to(target) for root in roots):
                return "is a link to what is read by its own name"
            if target.exists():
                return "is a link that leads out of the folder; if it is wanted, name with --documents what it leads to"
        if entry.is_dir() or entry.is_file():
            return ""
        return "is a link to nothing" if entry.is_symlink() else "is neither a file nor a folder"
    except (OSError, RuntimeError) as error:
        return f"cannot be read: {getattr(error, 'strerror', None) or error}"


def _documents(path: Path, name: str, rejects: Rejects) -> Iterator[Source]:
    suffix = path.suffix.lower()
    try:
        if reader := _READERS.get(suffix):
            if path.stat().st_size:
                yield Source(name, name, 0, content_hash(path), partial(reader, path))
            else:
                yield _unreadable(name, "is empty")
        elif suffix in _ROWS:
            rejects.names[path] = name
            yield from (row_source(row, name) for row in read_passages(path, rejects))
        else:
            known = ", ".join(sorted((*_READERS, *_ROWS)))
            rejects.note(name, 0, f"is of no known type ({known})", kind="not read")
    except OSError as error:
        yield _unreadable(name, f"cannot be read: {error.strerror or error}")
    except KnowledgeError as error:
        yield _unreadable(name, str(error).removeprefix(f"{path} "))


def _unreadable(name: str, problem: str) -> Source:
    def read(_encoding: str | None) -> Reading:
        raise UnreadableError(problem)

    return Source(name, name, 0, "", read)


def row_source(row: PassageRow, file: str) -> Source:
    """The document that a row is; `file` names what it is in."""
    content = json_hash([row.title, row.section, row.text, row.entities])
    return Source(row.id, file, row.line, content, partial(_read_row, row))


def _read_row(row: PassageRow, _encoding: str | None) -> Reading:
    return Reading(row.title, tuple(row.entities or ()), iter([Piece(row.section, row.text, 0)]))
