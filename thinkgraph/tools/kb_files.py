"""The folder of a knowledge base: which files it has and what its manifest says."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from pathlib import Path
from typing import Annotated, Any, NotRequired

from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from thinkgraph.errors import KnowledgeError

KB_FORMAT = 3
"""Version of the folder's layout."""

BUILDER_VERSION = 6
"""Raised whenever the same inputs would give another content, so that fingerprints tell them apart."""

MANIFEST = "kb.json"
GRAPH = "graph.sqlite"
TEXT = "text.sqlite"
ENTITIES = "entities.sqlite"
DOCUMENTS = "documents.sqlite"
ENCODINGS = "encodings.sqlite"
"""Vectors made so far: no part of the content, and in no manifest."""
REPORT = "build_report.jsonl"
RESOLUTION = "resolution.jsonl"
"""The file of a knowledge base that lists the merged names with their rules."""

_AGAIN = "build it again with `thinkgraph kb build --replace`"
_ADVICE = f"copy the folder again or {_AGAIN}"
_OWN_NAMES = {MANIFEST, REPORT, RESOLUTION, ".DS_Store"}
"""The last is nobody's: macOS leaves it behind."""
_OWN = r"\w+\.sqlite(?:-wal|-shm|-journal)?"
_SQLITE_MAGIC = b"SQLite format 3\0"

Fingerprint = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
"""A hash."""
_FileName = Annotated[str, Field(pattern=r"^\w+\.sqlite$")]


class InputFile(TypedDict):
    """A file that the knowledge base was built from."""

    role: str
    """`triples`, `wikidata`, `passages`, `aliases` or `entities`."""
    file: str
    """Its name, without a folder."""
    bytes: int
    blake2b: str


class StatementCounts(TypedDict):
    """The graph of a knowledge base."""

    entities: int
    literals: int
    triples: int
    relations: int
    duplicates: int
    """Rows that were left out, equal to another one in subject, relation, object and qualifiers."""
    entities_without_triples: int


class TextCounts(TypedDict):
    """The text side of a knowledge base."""

    fingerprint: Fingerprint
    passages: int
    entities: int
    """Entities with at least one passage."""
    not_linked: int
    """Passages about no entity of the graph."""


class EntityCounts(TypedDict):
    """The entities that can be linked by meaning."""

    fingerprint: Fingerprint
    entities: int


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


class Encoder(TypedDict):
    """The embedder behind the vectors."""

    name: str
    spec: str | None
    """What loads it; None: only the caller can."""


class KbManifest(TypedDict):
    """The content of `kb.json`."""

    format: int
    name: str
    fingerprint: Fingerprint
    """A hash over the inputs' contents, the options and the formats: equal for equal content."""
    created: str
    """When it was finished, ISO 8601 in UTC."""
    graph: StatementCounts
    text: TextCounts | None
    linking: EntityCounts | None
    """None where only names are linked."""
    embedder: Encoder | None
    literal_relations: list[str]
    inputs: list[InputFile]
    files: dict[_FileName, int]
    """Size in bytes of each file of the folder that is needed, so that a half-copied one is noticed."""
    hashes: dict[_FileName, Fingerprint]
    """Of each file of `files`."""
    documents: NotRequired[DocumentCounts]
    """Only where it was built from documents."""


def is_knowledge_base(folder: Path) -> bool:
    """Whether the folder has a manifest."""
    return (folder / MANIFEST).is_file()


def foreign_files(folder: Path) -> list[str]:
    """What the folder of a knowledge base holds beside its files. Nothing for one of another format, whose files are not known."""
    try:
        _, version = _read(folder)
    except KnowledgeError:
        # A damaged one is most likely of this release.
        version = KB_FORMAT
    names = sorted(path.name for path in folder.iterdir()) if version == KB_FORMAT else []
    return [name for name in names if name not in _OWN_NAMES and not re.fullmatch(_OWN, name)]


def _read(folder: Path) -> tuple[Any, int]:
    """What the file of a manifest holds, and its format."""
    try:
        manifest: Any = json.loads((folder / MANIFEST).read_text("utf-8"))
        return manifest, int(manifest["format"])
    except OSError as error:
        raise KnowledgeError(f"{folder / MANIFEST} cannot be read: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise KnowledgeError(f"{folder / MANIFEST} is damaged ({type(error).__name__}); {_AGAIN}") from None


@functools.cache
def _schema() -> TypeAdapter[KbManifest]:
    return TypeAdapter(KbManifest)


def encoder_spec(folder: Path, manifest: KbManifest, *, trust: bool) -> str | None:
    """What loads the encoder that a knowledge base was built with; None for the bundled one.

    Args:
        folder: the knowledge base, for errors.
        manifest: its manifest, which whoever made it may have written by hand.
        trust: whether any encoder may be loaded, not only the bundled one.

    Raises:
        KnowledgeError: only the caller has the encoder, or it is not trusted.
    """
    from thinkgraph.tools.encoders.embeddings import is_bundled

    model = manifest["embedder"]
    if model is None or is_bundled(model["spec"]):
        return None
    if model["spec"] is None:
        raise KnowledgeError(f"{folder} was built with an embedder of yours ({model['name']}); pass it: embedder=…")
    if not trust:
        raise KnowledgeError(
            f"{folder} was built with the embedder {model['spec'][:80]!r}, which may run code of its own or cost money: "
            "if you trust it, add --trust-embedder (in Python, trust_embedder=True)"
        )
    return model["spec"]


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
    manifest, version = _read(folder)
    if version != KB_FORMAT:
        advice = "update thinkgraph to open it" if version > KB_FORMAT else _AGAIN
        raise KnowledgeError(f"{folder} has knowledge base format {version}, this release reads {KB_FORMAT}; {advice}")
    try:
        found = _schema().validate_python(manifest, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise KnowledgeError(f"{folder / MANIFEST} is damaged ({where[:80]!r}: {first['msg']}); {_AGAIN}") from None
    for name, size in found["files"].items():
        _check(folder / name, size)
    return found


def content_hash(path: Path) -> str:
    """A hash over the bytes of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, functools.partial(hashlib.blake2b, digest_size=16)).hexdigest()


def json_hash(value: object) -> str:
    """A hash over a value as JSON."""
    return hashlib.blake2b(json.dumps(value).encode(), digest_size=16).hexdigest()


def check_content(folder: Path, manifest: KbManifest) -> None:
    """Read every file of a knowledge base, about a second per gigabyte.

    Raises:
        KnowledgeError: a file is not as it was built.
    """
    for name, known in manifest["hashes"].items():
        try:
            found = content_hash(folder / name)
        except OSError as error:
            raise KnowledgeError(f"{folder / name} cannot be read ({error.strerror}); {_ADVICE}") from None
        if found != known:
            raise KnowledgeError(f"{folder / name} is damaged: its bytes are not those that were built; {_ADVICE}")


def _check(path: Path, size: int) -> None:
    try:
        real = path.stat().st_size
        with path.open("rb") as stream:
            head = stream.read(len(_SQLITE_MAGIC))
    except OSError as error:
        raise KnowledgeError(f"{path} cannot be read ({error.strerror}); {_ADVICE}") from None
    if real != size:
        raise KnowledgeError(f"{path} has {real:,} bytes where {size:,} are expected; {_ADVICE}")
    if head != _SQLITE_MAGIC:
        raise KnowledgeError(f"{path} is damaged; {_ADVICE}")
