"""The folder of a knowledge base: which files it has and what its manifest says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from typing_extensions import TypedDict

from thinkgraph.errors import KnowledgeError

KB_FORMAT = 2
"""Version of the folder's layout."""

BUILDER_VERSION = 2
"""Raised whenever the same inputs would give another content, so that fingerprints tell them apart."""

MANIFEST = "kb.json"
GRAPH = "graph.sqlite"
TEXT = "text.sqlite"
ENTITIES = "entities.sqlite"
DOCUMENTS = "documents.sqlite"
REPORT = "build_report.jsonl"

_SQLITE_MAGIC = b"SQLite format 3\0"


class InputFile(TypedDict):
    """A file that the knowledge base was built from."""

    role: str
    """`triples`, `wikidata`, `passages`, `aliases` or `entities`."""
    file: str
    """Its name, without a folder."""
    bytes: int
    blake2b: str


class TextCounts(TypedDict):
    """The text side of a knowledge base."""

    fingerprint: str
    passages: int
    vectors: int
    """Vectors of all passages; a long passage has several."""
    entities: int
    """Entities with at least one passage."""
    not_linked: int
    """Passages about no entity of the graph."""


class EntityCounts(TypedDict):
    """The entities that can be linked by meaning."""

    fingerprint: str
    entities: int
    vectors: int


class DocumentCounts(TypedDict):
    """The documents that a knowledge base without a graph of its own was made from."""

    documents: int
    """Those in use."""
    copies: int
    """Those left out because another one has the same words."""
    failed: int
    """Those that could not be read, or not wholly asked about."""
    extract: str
    """Where relations come from: `cooccurrence`, `llm` or `both`."""
    model: str
    """What extracted relations last; empty where none did."""


class _Manifest(TypedDict):
    format: int
    name: str
    fingerprint: str
    """A hash over the inputs' contents, the options and the formats: equal for equal content."""
    created: str
    """When it was finished, ISO 8601 in UTC."""
    graph: dict[str, int]
    """Counts: entities, literals, triples, relations, duplicates."""
    text: TextCounts | None
    linking: EntityCounts | None
    """None where only names are linked."""
    embedder: dict[str, str | None] | None
    """`name` of the model behind the vectors, and the `spec` that loads it (None: only the caller can)."""
    literal_relations: list[str]
    inputs: list[InputFile]
    files: dict[str, int]
    """Size in bytes of each file of the folder that is needed, so that a half-copied one is noticed."""


class KbManifest(_Manifest, total=False):
    """The content of `kb.json`."""

    documents: DocumentCounts
    """Only where it was built from documents."""


def is_knowledge_base(folder: Path) -> bool:
    """Whether the folder has a manifest."""
    return (folder / MANIFEST).is_file()


def read_manifest(folder: Path) -> KbManifest:
    """The manifest of a knowledge base whose files are all there.

    Raises:
        KnowledgeError: the folder is no knowledge base, of another format, or incomplete.
    """
    if not folder.exists():
        raise KnowledgeError(f"there is no knowledge base {folder}; make one with `thinkgraph kb build {folder} …`")
    if not is_knowledge_base(folder):
        raise KnowledgeError(
            f"{folder} is not a knowledge base (it has no {MANIFEST}); name a folder made by `kb build`"
        )
    again = "build it again with `thinkgraph kb build --replace`"
    try:
        manifest: Any = json.loads((folder / MANIFEST).read_text("utf-8"))
        version = int(manifest["format"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise KnowledgeError(f"{folder / MANIFEST} is damaged ({type(error).__name__}); {again}") from None
    if version != KB_FORMAT:
        advice = "update thinkgraph to open it" if version > KB_FORMAT else again
        raise KnowledgeError(f"{folder} has knowledge base format {version}, this release reads {KB_FORMAT}; {advice}")
    found = cast("KbManifest", manifest)
    if set(_Manifest.__annotations__) - set(manifest):
        raise KnowledgeError(f"{folder / MANIFEST} is incomplete; {again}")
    for name, size in found["files"].items():
        _check(folder / name, size)
    return found


def _check(path: Path, size: int) -> None:
    advice = "copy the folder again or build it again with `thinkgraph kb build --replace`"
    try:
        real = path.stat().st_size
        with path.open("rb") as stream:
            head = stream.read(len(_SQLITE_MAGIC))
    except OSError as error:
        raise KnowledgeError(f"{path} cannot be read ({error.strerror}); {advice}") from None
    if real != size:
        raise KnowledgeError(f"{path} has {real:,} bytes where {size:,} are expected; {advice}")
    if head != _SQLITE_MAGIC:
        raise KnowledgeError(f"{path} is damaged; {advice}")
