"""Encodes a knowledge base ahead, and takes the vectors of the one before into a new one."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from thinkgraph.errors import KnowledgeError
from thinkgraph.tools import kb_files
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.progress import Progress, no_progress
from thinkgraph.tools.protocols import Embedder
from thinkgraph.tools.sqlite.encodings import stored_vectors
from thinkgraph.tools.sqlite.file import chunks
from thinkgraph.tools.sqlite.text import SqliteTextStore

STORES = {"text": kb_files.TEXT, "entities": kb_files.ENTITIES}
"""What is encoded, and the files."""
_BATCH = 500


def encode_kb(
    folder: Path, *, embedder: Embedder | None = None, trust_embedder: bool = False, progress: Progress = no_progress
) -> dict[str, int]:
    """Make all vectors of a knowledge base that are not made yet. A call that was killed goes on when it is made again.

    Args:
        folder: the knowledge base.
        embedder: the one it was built for, where it has no name that loads it.
        trust_embedder: see `Knowledge.open`.
        progress: told how far the work is.

    Returns:
        How many passages (`text`) and entities (`entities`) were encoded now.

    Raises:
        KnowledgeError: it cannot be opened, the encoder fails, or the vectors cannot be kept.
    """
    with Knowledge.open(folder, embedder=embedder, trust_embedder=trust_embedder) as opened:
        return encode_stores(folder, opened.embedder, progress)


def encode_stores(folder: Path, embedder: Embedder, progress: Progress) -> dict[str, int]:
    """As `encode_kb`, for the text stores in a folder that need be no knowledge base yet."""
    made: dict[str, int] = {}
    for what, name in STORES.items():
        if (folder / name).is_file():
            with SqliteTextStore(folder / name, embedder) as store:
                made[what] = store.encode(progress, what)
    return made


def is_encoded(folder: Path) -> bool:
    """Whether all vectors of a knowledge base were made ahead."""
    files = [folder / name for name in STORES.values() if (folder / name).is_file()]
    for file in files:
        with stored_vectors(file) as (_, vectors):
            if not vectors.whole:
                return False
    return bool(files)


def take_over(old: Path, new: Path) -> None:
    """Copy what one encoder made of texts that are in both from one knowledge base to the one that takes its place.

    What cannot be read or copied is made again when it is needed.
    """
    for name in STORES.values():
        if not (old / name).is_file() or not (new / name).is_file():
            continue
        with (
            suppress(KnowledgeError, KeyError, ValueError),
            stored_vectors(new / name) as (wanting, kept),
            stored_vectors(old / name) as (db, vectors),
        ):
            if vectors.model == kept.model:
                wanted = {one: no for no, one in wanting.execute("SELECT no, embedded FROM passages")}
                rows = {no: wanted[one] for no, one in db.execute("SELECT no, embedded FROM passages") if one in wanted}
                for part in chunks(list(rows), _BATCH):
                    kept.keep(wanting, {rows[no]: vector for no, vector in vectors.read(db, part).items()})
