"""The knowledge base that comes with the package: built into the user's cache when it is first opened."""

from __future__ import annotations

import hashlib
from importlib.resources import as_file, files
from pathlib import Path

from thinkgraph.errors import KnowledgeError
from thinkgraph.tools import kb_files
from thinkgraph.tools.cache import cache_folder, file_lock
from thinkgraph.tools.progress import Progress, no_progress
from thinkgraph.tools.protocols import Embedder
from thinkgraph.tools.sqlite.graph_schema import GRAPH_FORMAT

WORLD = "world"
"""Its name."""

_FILES = ("triples.tsv", "literals.tsv", "entities.tsv", "aliases.json", "passages.jsonl", "vectors.npz")


def world_folder(progress: Progress = no_progress) -> Path:
    """The folder of the bundled knowledge base in the user's cache, built there if it is not yet.

    Raises:
        KnowledgeError: the cache cannot be written, or the package has no such data.
    """
    with as_file(files("thinkgraph").joinpath("data", WORLD)) as data:
        if not (data / "triples.tsv").is_file():
            raise KnowledgeError('this installation has no "world" knowledge base; install thinkgraph again')
        folder: Path = cache_folder("kb", f"{WORLD}-{_key(data)}")
        if kb_files.is_knowledge_base(folder):
            return folder
        # Several processes may open it for the first time at once: one builds, the others wait for it.
        with file_lock(folder.with_name(f"{folder.name}.first"), timeout=3600):
            if not kb_files.is_knowledge_base(folder):
                build_world(folder, data, progress=progress)
        return folder


def build_world(
    folder: Path,
    data: Path,
    *,
    embedder: Embedder | None = None,
    known: bool = True,
    progress: Progress = no_progress,
) -> None:
    """Build the bundled knowledge base from the files in `data`; with `known`, the vectors there are used.

    Raises:
        KnowledgeError: `folder` cannot be written.
    """
    # Only here, so that opening what is built already loads no NumPy.
    from thinkgraph.ingest.build import build_kb
    from thinkgraph.ingest.readers.files import read_triples
    from thinkgraph.ingest.readers.rejects import Rejects

    triples, literals, entities, aliases, passages, vectors = (
        path if (path := data / name).is_file() else None for name in _FILES
    )
    build_kb(
        folder,
        triples=[path for path in (triples, literals) if path],
        literal_relations={name for batch in read_triples(literals, Rejects(strict=True)) for name in batch.relations}
        if literals
        else (),
        entities=entities,
        aliases=aliases,
        passages=[passages] if passages else [],
        embedder=embedder,
        known_vectors=vectors if known else None,
        name=WORLD,
        progress=progress,
    )


def _key(data: Path) -> str:
    digest = hashlib.blake2b(f"{kb_files.KB_FORMAT} {GRAPH_FORMAT} {kb_files.BUILDER_VERSION}".encode(), digest_size=8)
    for path in (data / name for name in _FILES):
        content = path.read_bytes() if path.is_file() else b""
        digest.update(f"\0{path.name} {len(content)}\0".encode() + content)
    return digest.hexdigest()
