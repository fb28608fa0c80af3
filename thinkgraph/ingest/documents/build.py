"""Builds a knowledge base from documents that have no graph, and updates it document by document.

Every change builds a whole new base beside the old one and replaces it in one step, so that no reader sees half of a change.
What was expensive is kept: unchanged documents are not read again, a model is not asked about them again, and equal texts
are not encoded again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinkgraph.errors import KnowledgeError, ModelError, SettingsError, UsageError
from thinkgraph.ingest.build import Build, BuildReport, Inputs
from thinkgraph.ingest.documents.graph import RESOLUTION, GraphFiles, Limits, Mode, write_files
from thinkgraph.ingest.documents.pieces import UnreadableError
from thinkgraph.ingest.documents.sources import find_sources, names_of, read_source
from thinkgraph.ingest.documents.store import DocumentStore
from thinkgraph.ingest.folder import BuildFolder, refuse_target
from thinkgraph.ingest.readers.rejects import Rejects
from thinkgraph.tools import kb_files
from thinkgraph.tools.kb_files import DocumentCounts
from thinkgraph.tools.progress import Progress, no_progress
from thinkgraph.tools.protocols import Embedder

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from thinkgraph.ingest.documents.extraction import Extraction, ExtractionUsage, ExtractSettings
    from thinkgraph.models.prices import Prices
    from thinkgraph.models.roles import ModelSpec

PASSAGE_SIZE = 1000
"""Most characters of a passage: what the bundled encoder reads at once, and what ToG-2 shows as one chunk."""

_READER = "2"
"""Version of the readers: raised when they cut the same file differently."""
_FILES = "files"
_REPLIES = "replies.sqlite"
_OFFLINE = "offline"


@dataclass(frozen=True, kw_only=True)
class DocumentOptions:
    """How documents become a graph. A knowledge base keeps them for its updates."""

    extract: Mode = "cooccurrence"
    size: int = PASSAGE_SIZE
    encoding: str = ""
    """Encoding of files that are not UTF-8; empty: such files are refused."""
    relations: tuple[str, ...] = ()
    """The only relations that are extracted; empty: any."""
    types: tuple[str, ...] = ()
    """Types that a model may give an entity; empty: it gives none."""
    limits: Limits = field(default_factory=Limits)

    def check(self) -> None:
        """Raise `UsageError` for a value out of range."""
        if self.extract not in {"cooccurrence", "llm", "both"}:
            raise UsageError(f"relations come from cooccurrence, llm or both, not from {self.extract!r}")
        if not 200 <= self.size <= 20_000:  # noqa: PLR2004 - a sentence; more than any encoder reads
            raise UsageError("a passage has 200 to 20,000 characters at most")
        if self.encoding:
            try:
                "".encode(self.encoding)
            except LookupError:
                raise UsageError(f"there is no encoding {self.encoding!r} (try latin-1, cp1252, utf-16)") from None

    def to_json(self) -> str:
        """For the store."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> DocumentOptions:
        """What `to_json` wrote."""
        value: dict[str, Any] = json.loads(text)
        lists = {name: tuple(value[name]) for name in ("relations", "types")}
        return cls(**{**value, **lists, "limits": Limits(**value["limits"])})


@dataclass(frozen=True, kw_only=True)
class ExtractionModel:
    """The model that extracts relations, with its settings, prompts and prices."""

    model: ModelSpec = _OFFLINE
    settings: ExtractSettings | None = None
    prompts: Path | str | None = None
    prices: Prices | None = None


@dataclass(frozen=True, kw_only=True)
class DocumentsReport:
    """The result of a build, an update or a removal."""

    build: BuildReport
    documents: DocumentCounts
    changes: dict[str, int]
    """How many documents were `added`, `changed`, `unchanged`, `removed`."""
    counts: dict[str, int]
    """Passages, triples, statements kept and dropped, names merged."""
    usage: ExtractionUsage | None


def build_documents(
    folder: Path | str,
    documents: Sequence[Path | str],
    *,
    options: DocumentOptions | None = None,
    extractor: ExtractionModel | None = None,
    name: str | None = None,
    embedder: Embedder | str | None = None,
    index: bool = True,
    replace: bool = False,
    progress: Progress = no_progress,
) -> DocumentsReport:
    """Build a knowledge base from documents.

    A build that was stopped goes on when it is called again. A finished one in which documents failed tries those again.

    Args:
        folder: the knowledge base; it appears whole or not at all.
        documents: files and folders (.txt, .md, .html, .pdf, .jsonl).
        options: how they become a graph.
        extractor: the model that extracts relations; by default the offline one.
        name: for people; by default the folder's.
        embedder: encodes the passages; a name, or an embedder (which must then be given again).
        index: whether to encode the entities, and to make the index for searching all vectors.
        replace: whether an existing knowledge base may be replaced.
        progress: called with stage, done and total.

    Raises:
        KnowledgeError: no document could be read, the folder cannot be written, is something else, or is being built by
            another process.
        ModelError: the model cannot be reached, or refuses.
        UsageError: no document is named, or an option is wrong.
    """
    target = Path(folder).expanduser().resolve()
    options = options or DocumentOptions()
    options.check()
    if not documents:
        raise UsageError("name a file or folder of documents with --documents")
    called = (name or target.name).strip() or target.name
    again = not replace and _has_failures(target, options, called)
    work = _Change(target, options, extractor, embedder, called, progress, index=index, keep_found=False)
    paths = _paths(documents)
    return work.run(
        "build", lambda store, rejects: _read_all(work, store, paths, rejects, only=True), replace=replace or again
    )


def update_documents(
    folder: Path | str,
    documents: Sequence[Path | str],
    *,
    extractor: ExtractionModel | None = None,
    embedder: Embedder | None = None,
    progress: Progress = no_progress,
) -> DocumentsReport:
    """Add documents to a knowledge base that was built from documents, or replace changed ones. Unchanged ones cost nothing.

    Args:
        folder: the knowledge base; readers see the old one until the new one is whole.
        documents: files and folders, given as before: a document's id is its path from the given folder.
        extractor: the model that extracts relations; required where a model other than the offline one did before.
        embedder: the one it was built with, where it has no name that loads it.
        progress: called with stage, done and total.

    Raises:
        KnowledgeError, ModelError, UsageError: as `build_documents`.
    """
    if not documents:
        raise UsageError("name a file or folder of documents with --documents")
    work = _Change.of(folder, extractor, embedder, progress)
    if work.options.extract != "cooccurrence" and extractor is None and work.model_before != _OFFLINE:
        raise UsageError(
            f"relations of {work.target} were extracted by {work.model_before}: name the model with --model to ask again"
        )
    paths = _paths(documents)
    return work.run("update", lambda store, rejects: _read_all(work, store, paths, rejects, only=False), replace=True)


def remove_documents(
    folder: Path | str,
    documents: Sequence[str],
    *,
    embedder: Embedder | None = None,
    progress: Progress = no_progress,
) -> DocumentsReport:
    """Remove documents, and what only they said, from a knowledge base that was built from documents.

    Args:
        folder: the knowledge base.
        documents: their ids (`thinkgraph kb info --documents` lists them).
        embedder: the one it was built with, where it has no name that loads it.
        progress: called with stage, done and total.

    Raises:
        KnowledgeError, UsageError: as `build_documents`; an id is unknown, or no document would be left.
    """
    if not documents:
        raise UsageError("name the documents to remove with --document")
    work = _Change.of(folder, None, embedder, progress)
    with DocumentStore(work.target / kb_files.DOCUMENTS, write=False) as store:
        known = {fact["id"] for fact in store.facts()}
    if unknown := [identifier for identifier in documents if identifier not in known]:
        raise UsageError(f"{work.target} has no document {unknown[0]!r}; `thinkgraph kb info --documents` lists them")

    def remove(store: DocumentStore, _rejects: Rejects) -> Counter[str]:
        store.remove(documents)
        return Counter(removed=len(set(documents)))

    return work.run("remove", remove, replace=True, ask=False)


def _has_failures(target: Path, options: DocumentOptions, name: str) -> bool:
    """Whether the same build is finished and has documents that failed."""
    try:
        manifest = kb_files.read_manifest(target)
    except KnowledgeError:
        return False
    if manifest["name"] != name or not manifest.get("documents", {"failed": 0})["failed"]:
        return False
    with DocumentStore(target / kb_files.DOCUMENTS, write=False) as store:
        return store.meta("options") == options.to_json()


class _Change:
    """One change to a knowledge base."""

    def __init__(
        self,
        target: Path,
        options: DocumentOptions,
        extractor: ExtractionModel | None,
        embedder: Embedder | str | None,
        name: str,
        progress: Progress,
        *,
        index: bool,
        keep_found: bool,
    ) -> None:
        self.target = target
        self.options = options
        self.progress = progress
        self.model_before = ""
        self._extractor = extractor or ExtractionModel()
        self._embedder = embedder
        self._name = name
        self._index = index
        self._keep_found = keep_found
        self._old = ""

    @classmethod
    def of(
        cls, folder: Path | str, extractor: ExtractionModel | None, embedder: Embedder | None, progress: Progress
    ) -> _Change:
        """A change to an existing knowledge base, with the options it was built with."""
        target = Path(folder).expanduser().resolve()
        manifest = kb_files.read_manifest(target)
        if "documents" not in manifest:
            raise KnowledgeError(f"{target} was not built from documents; build it again with `kb build --replace`")
        with DocumentStore(target / kb_files.DOCUMENTS, write=False) as store:
            options = DocumentOptions.from_json(store.meta("options"))
        model = manifest["embedder"]
        if embedder is None and model is not None and model["spec"] is None:
            raise KnowledgeError(f"{target} was built with an embedder of yours ({model['name']}); pass it: embedder=…")
        work = cls(
            target,
            options,
            extractor,
            embedder or (model["spec"] if model else None),
            manifest["name"],
            progress,
            index=manifest["linking"] is not None,
            keep_found=True,
        )
        work._old = manifest["fingerprint"]
        work.model_before = manifest["documents"]["model"] or _OFFLINE
        return work

    def run(
        self,
        what: str,
        change: Callable[[DocumentStore, Rejects], Counter[str]],
        *,
        replace: bool,
        ask: bool = True,
    ) -> DocumentsReport:
        """Build the changed base beside the old one and replace it."""
        started = time.monotonic()
        rejects = Rejects()
        key = [what, self.options.to_json(), self._name, str(self._index), self._old, str(self._embedder_name())]
        digest = hashlib.blake2b(json.dumps(key).encode(), digest_size=16).hexdigest()
        how = self._how() if ask and self.options.extract != "cooccurrence" else None
        try:
            refuse_target(self.target, replace=replace)
            with BuildFolder(self.target, digest, replace=replace) as place:
                if place.stage("taken over") is None:
                    self._take_over(place.work)
                    place.finished("taken over", "the old base")
                with DocumentStore(place.work / kb_files.DOCUMENTS) as store:
                    changes = change(store, rejects)
                    if not store.documents():
                        place.discard()
                        raise _nothing_left(self.target, rejects)
                    usage = self._extract(store, how, place.work, rejects) if how else None
                    store.set_meta("options", self.options.to_json())
                    made = self._write_files(store, place)
                    counts = self._counts(store, usage)
                build = self._build(made, counts, rejects)
                manifest, facts = build.run(place)
                shutil.rmtree(place.work / _FILES)
                for left in place.work.glob(f"{_REPLIES}*"):
                    left.unlink()
                place.commit()
                report = build.report(self.target, manifest, facts, resumed=place.resumed, started=started)
        except (OSError, sqlite3.Error, MemoryError) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise KnowledgeError(
                f"cannot write {self.target}: {reason}; mend that and run the same command again to go on"
            ) from error
        return DocumentsReport(
            build=report, documents=counts, changes=dict(changes), counts=dict(made.counts), usage=usage
        )

    def _embedder_name(self) -> str | None:
        return self._embedder if isinstance(self._embedder, str | None) else self._embedder.name

    def _take_over(self, work: Path) -> None:
        """Copy the old base's documents, texts and vectors into a new working folder, so that they are used again."""
        if _is_sound(self.target / kb_files.DOCUMENTS):
            for file in (kb_files.DOCUMENTS, kb_files.TEXT, kb_files.ENTITIES):
                if (self.target / file).is_file():
                    shutil.copyfile(self.target / file, work / file)

    def _extract(self, store: DocumentStore, how: Extraction, work: Path, rejects: Rejects) -> ExtractionUsage:
        from thinkgraph.ingest.documents.extraction import cached_journal, extract
        from thinkgraph.models.journal import SqliteJournal

        with closing(cached_journal(lambda: SqliteJournal(work / _REPLIES))) as journal:
            usage = extract(store, how, journal, keep=self._keep_found, progress=self.progress)
        if usage.failed and not store.has_statements():
            raise ModelError(f"{usage.first_problem}; mend that and run the same command again to go on")
        store.set_meta("model", usage.model)
        for fact in store.facts():
            if fact["problem"] and fact["passages"]:
                rejects.note(fact["id"], 0, fact["problem"], kind="not extracted")
        return usage

    def _how(self) -> Extraction:
        """The extraction, checked before the build starts."""
        from thinkgraph.ingest.documents.extraction import Extraction, ExtractSettings
        from thinkgraph.models.roles import Models
        from thinkgraph.prompts.library import PromptLibrary
        from thinkgraph.state.settings import resolve_settings

        def offline() -> BaseChatModel:
            from thinkgraph.models.offline import OfflineChatModel
            from thinkgraph.tools.encoders.embeddings import load_embedder

            embedder: Embedder = load_embedder(self._embedder)
            return OfflineChatModel(embed=embedder.embed)

        extractor = self._extractor
        how = Extraction(
            models=Models(extractor.model, offline=offline, prices=extractor.prices),
            prompts=PromptLibrary(extractor.prompts),
            settings=extractor.settings or resolve_settings(ExtractSettings),
            relations=self.options.relations,
            types=self.options.types,
        )
        if how.settings.max_cost is not None and how.models.price(how.client) is None:
            raise SettingsError(f"max_cost cannot be kept: no price is known for {how.client.name}; give a price table")
        return how

    def _write_files(self, store: DocumentStore, place: BuildFolder) -> GraphFiles:
        folder = place.work / _FILES
        folder.mkdir(exist_ok=True)
        made = write_files(
            store, folder, place.work / RESOLUTION, self.options.extract, self.options.limits, self.progress
        )
        if not made.counts["triples"]:
            place.discard()
            raise KnowledgeError("these documents name no two things together: there is nothing to make a graph of")
        return made

    def _counts(self, store: DocumentStore, usage: ExtractionUsage | None) -> DocumentCounts:
        failed = copies = used = 0
        for fact in store.facts():
            copies += bool(fact["copy_of"])
            failed += bool(fact["problem"])
            used += not fact["copy_of"] and bool(fact["passages"])
        return {
            "documents": used,
            "copies": copies,
            "failed": failed,
            "extract": self.options.extract,
            "model": usage.model if usage else store.meta("model"),
        }

    def _build(self, made: GraphFiles, counts: DocumentCounts, rejects: Rejects) -> Build:
        return Build(
            inputs=Inputs([made.triples], [], [made.passages], made.aliases, made.entities, no_progress),
            name=self._name,
            embedder=self._embedder,
            languages=(),
            literal_relations=frozenset(),
            detect_literals=self.options.extract != "cooccurrence",
            index=self._index,
            known_vectors=None,
            rejects=rejects,
            progress=self.progress,
            documents=counts,
        )


def _is_sound(path: Path) -> bool:
    """Whether there is a store of documents without damage; a damaged one is built anew."""
    try:
        with DocumentStore(path, write=False) as store:
            return store.is_sound()
    except (KnowledgeError, sqlite3.Error):
        return False


def _paths(documents: Sequence[Path | str]) -> list[Path]:
    """The files and folders. Raises `KnowledgeError` for one that does not exist, before the build starts."""
    paths = [Path(path).expanduser() for path in documents]
    if missing := next((path for path in paths if not path.exists()), None):
        raise KnowledgeError(f"there is no file or folder {missing} (given as documents)")
    return paths


def _nothing_left(target: Path, rejects: Rejects) -> KnowledgeError:
    first = next((f"{reject['file']} {reject['reason']}" for reject in rejects.kept), "")
    if first:
        return KnowledgeError(f"no document could be read: {first}")
    if not target.exists():
        return KnowledgeError(
            "there is no document in what is given as documents; name files, or a folder that holds some"
        )
    return KnowledgeError(f"{target} would be left without documents; delete the folder instead")


def _read_all(
    work: _Change, store: DocumentStore, paths: Sequence[Path], rejects: Rejects, *, only: bool
) -> Counter[str]:
    """Read every document that is new or changed; with `only`, remove those that were not found."""
    how = hashlib.blake2b(f"{_READER} {work.options.size} {work.options.encoding}".encode(), digest_size=4).hexdigest()
    changes: Counter[str] = Counter()
    seen: set[str] = set()
    before_ids = set() if only else {fact["id"] for fact in store.facts()}
    for source in find_sources(paths, rejects, before_ids):
        work.progress("documents", len(seen), None)
        seen.add(source.id)
        content = f"{source.content}:{how}"
        before = store.content(source.id)
        if before == content:
            changes["unchanged"] += 1
            continue
        try:
            store.put(source, content, read_source(source, work.options.encoding or None), work.options.size)
            changes["changed" if before else "added"] += 1
        except UnreadableError as error:
            kept = " (what was read of it before is kept)" if store.fail(source, str(error)) else ""
            rejects.note(source.file, source.row.line if source.row else 0, f"{error}{kept}", kind="not read")
    work.progress("documents", len(seen), len(seen))
    known = {fact["id"] for fact in store.facts()}
    if only:
        store.keep_only(seen)
        changes["removed"] = len(known - seen)
    else:
        _note_gone(names_of(paths, before_ids), known - seen, rejects)
    return changes


def _note_gone(named: Sequence[tuple[Path, str]], rest: set[str], rejects: Rejects) -> None:
    """Report the documents that a folder no longer has."""
    for path, name in named:
        if path.is_dir():
            for gone in sorted(one for one in rest if one.startswith(f"{name}/")):
                rejects.note(gone, 0, "is no longer there; `kb remove` takes it out", kind="gone")
