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
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinkgraph.errors import KnowledgeError, ModelError, SettingsError, UsageError
from thinkgraph.ingest.build import Build, BuildReport, Inputs, embedder_name
from thinkgraph.ingest.documents import graph
from thinkgraph.ingest.documents.pieces import ReadingTime, UnreadableError
from thinkgraph.ingest.documents.sources import Source, find_sources, names_of
from thinkgraph.ingest.documents.store import DocumentStore
from thinkgraph.ingest.encode import is_encoded
from thinkgraph.ingest.folder import BuildFolder, named, writing
from thinkgraph.ingest.readers.rejects import Rejects
from thinkgraph.prompts.lines import one_line
from thinkgraph.tools import kb_files
from thinkgraph.tools.addresses import local_path, local_paths
from thinkgraph.tools.kb_files import DocumentCounts
from thinkgraph.tools.progress import Progress, no_progress
from thinkgraph.tools.protocols import Embedder

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel

    from thinkgraph.ingest.documents.extraction import Extraction, ExtractionUsage, ExtractSettings
    from thinkgraph.models.prices import Prices
    from thinkgraph.models.roles import ModelSpec

PASSAGE_SIZE = 1000
"""Most characters of a passage: what the bundled encoder reads at once, and what ToG-2 shows as one chunk."""

_READER = "3"
"""Version of the readers: raised when they cut the same file differently."""
_FILES = "files"
_REPLIES = "replies.sqlite"
_OFFLINE = "offline"


@dataclass(frozen=True, kw_only=True)
class DocumentOptions:
    """How documents become a graph. A knowledge base keeps them for its updates."""

    extract: graph.Mode = "cooccurrence"
    size: int = PASSAGE_SIZE
    encoding: str = ""
    """Encoding of files that are not UTF-8; empty: such files are refused."""
    relations: tuple[str, ...] = ()
    """The only relations that are extracted; empty: any."""
    types: tuple[str, ...] = ()
    """Types that a model may give an entity; empty: it gives none."""

    def check(self) -> None:
        """Raise `UsageError` for a value out of range."""
        if self.extract not in {"cooccurrence", "llm", "both"}:
            raise UsageError(f"relations come from cooccurrence, llm or both, not from {self.extract!r}")
        if not 200 <= self.size <= 20_000:  # noqa: PLR2004 - a sentence; more than any encoder reads
            raise UsageError("a passage has 200 to 20,000 characters at most")
        if self.encoding:
            try:
                "".encode(self.encoding)
            except (LookupError, UnicodeError):
                raise UsageError(f"there is no encoding {self.encoding!r} (try latin-1, cp1252, utf-16-le)") from None

    def to_json(self) -> str:
        """For the store."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> DocumentOptions:
        """What `to_json` wrote."""
        value: dict[str, Any] = json.loads(text)
        return cls(**{**value, "relations": tuple(value["relations"]), "types": tuple(value["types"])})


@dataclass(frozen=True, kw_only=True)
class ExtractionModel:
    """The model that extracts relations, with its settings, prompts and prices, and what the user says of models."""

    model: ModelSpec = _OFFLINE
    settings: ExtractSettings | None = None
    prompts: Path | str | None = None
    prices: Prices | None = None
    profiles: Mapping[str, Mapping[str, Any]] | None = None


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
    sources: Sequence[Source] = (),
    options: DocumentOptions | None = None,
    extractor: ExtractionModel | None = None,
    name: str | None = None,
    embedder: Embedder | Embeddings | str | None = None,
    index: bool = True,
    replace: bool = False,
    progress: Progress = no_progress,
) -> DocumentsReport:
    """Build a knowledge base from documents.

    A build that was stopped goes on when it is called again. A finished one in which documents failed tries those again.

    Args:
        folder: the knowledge base; it appears whole or not at all.
        documents: files and folders (.txt, .md, .html, .pdf, .jsonl).
        sources: documents that are in no file, with ids of their own.
        options: how they become a graph.
        extractor: the model that extracts relations; by default the offline one.
        name: for people; by default the folder's.
        embedder: encodes the passages; a name, or an embedder or LangChain's `Embeddings` (which must then be given again).
        index: whether entities can be linked by meaning too.
        replace: whether an existing knowledge base may be replaced.
        progress: called with stage, done and total.

    Raises:
        KnowledgeError: no document could be read, the folder cannot be written, is something else, or is being built by
            another process.
        ModelError: the model cannot be reached, or refuses.
        UsageError: no document is named, an option is wrong, or an address is given where a folder or document is meant.
    """
    options = options or DocumentOptions()
    options.check()
    paths = _paths(documents) if documents or not sources else []
    target = local_path(folder, "a folder").resolve()
    change = _Change(
        target=target,
        options=options,
        name=named(target, name),
        embedder=embedder,
        index=index,
        extractor=extractor or ExtractionModel(),
        progress=progress,
        given=kb_files.json_hash([*(str(path.resolve()) for path in paths), *(source.id for source in sources)]),
    )
    replace = replace or _has_failures(change)
    return change.run(
        "build", lambda store, rejects: _read_all(change, store, paths, rejects, sources), replace=replace
    )


def update_documents(
    folder: Path | str,
    documents: Sequence[Path | str],
    *,
    extractor: ExtractionModel | None = None,
    embedder: Embedder | Embeddings | None = None,
    trust_embedder: bool = False,
    progress: Progress = no_progress,
) -> DocumentsReport:
    """Add documents to a knowledge base that was built from documents, or replace changed ones. Unchanged ones cost nothing.

    Args:
        folder: the knowledge base; readers see the old one until the new one is whole.
        documents: files and folders, given as before: a document's id is its path from the given folder.
        extractor: the model that extracts relations; required where a model other than the offline one did before.
        embedder: the one it was built with, where it has no name that loads it.
        trust_embedder: see `Knowledge.open`.
        progress: called with stage, done and total.

    Raises:
        KnowledgeError, ModelError, UsageError: as `build_documents`.
    """
    paths = _paths(documents)
    change = _change_of(folder, embedder, progress, extractor, trust=trust_embedder)
    if change.options.extract != "cooccurrence" and extractor is None and change.model_before != _OFFLINE:
        raise UsageError(
            f"relations of {change.target} were extracted by {change.model_before}: "
            "name the model with --model to ask again"
        )
    of = [str(path.resolve()) for path in paths]
    return change.run("update", lambda store, rejects: _read_all(change, store, paths, rejects), of=of)


def remove_documents(
    folder: Path | str,
    documents: Sequence[str],
    *,
    embedder: Embedder | Embeddings | None = None,
    trust_embedder: bool = False,
    progress: Progress = no_progress,
) -> DocumentsReport:
    """Remove documents, and what only they said, from a knowledge base that was built from documents.

    Args:
        folder: the knowledge base.
        documents: their ids, also as `thinkgraph kb info --documents` shows them: on one line.
        embedder: the one it was built with, where it has no name that loads it.
        trust_embedder: see `Knowledge.open`.
        progress: called with stage, done and total.

    Raises:
        KnowledgeError, UsageError: as `build_documents`; an id is unknown, or no document would be left.
    """
    if not documents:
        raise UsageError("name the documents to remove with --document")
    change = _change_of(folder, embedder, progress, trust=trust_embedder)
    with DocumentStore(change.target / kb_files.DOCUMENTS, write=False) as store:
        known = store.files()
    ids: set[str] = set()
    for given in documents:
        meant = [given] if given in known else [one for one in known if one_line(one) == given]
        if len(meant) != 1:
            none = "has no document" if not meant else "has several documents shown as"
            raise UsageError(f"{change.target} {none} {given!r}; `thinkgraph kb info --documents` lists them")
        ids.update(meant)

    def remove(store: DocumentStore, _rejects: Rejects) -> Counter[str]:
        store.remove(ids)
        return Counter(removed=len(ids))

    return change.run("remove", remove, of=sorted(ids), ask=False)


def _paths(documents: Sequence[Path | str]) -> list[Path]:
    """The files and folders. Refuses none, and one that does not exist, before the build starts."""
    if not documents:
        raise UsageError("name a file or folder of documents with --documents")
    paths = local_paths(documents, "a file or folder")
    if missing := next((path for path in paths if not path.exists()), None):
        raise KnowledgeError(f"there is no file or folder {missing} (given as documents)")
    if other := next((path for path in paths if not path.is_file() and not path.is_dir()), None):
        raise KnowledgeError(f"{other} is neither a file nor a folder (given as documents)")
    return paths


def _has_failures(change: _Change) -> bool:
    """Whether the same build is finished and has documents that failed."""
    try:
        manifest = kb_files.read_manifest(change.target)
    except KnowledgeError:
        return False
    if manifest["name"] != change.name or not manifest.get("documents", {"failed": 0})["failed"]:
        return False
    with DocumentStore(change.target / kb_files.DOCUMENTS, write=False) as store:
        return (store.meta("options"), store.meta("given")) == (change.options.to_json(), change.given)


def _change_of(
    folder: Path | str,
    embedder: Embedder | Embeddings | None,
    progress: Progress,
    extractor: ExtractionModel | None = None,
    *,
    trust: bool,
) -> _Change:
    """A change to an existing knowledge base, with the options it was built with."""
    target = local_path(folder, "a folder").resolve()
    manifest = kb_files.read_manifest(target)
    if "documents" not in manifest:
        raise KnowledgeError(
            f"{target} was not built from documents: build it again from all its files, with `kb build --replace`"
        )
    with DocumentStore(target / kb_files.DOCUMENTS, write=False) as store:
        options = DocumentOptions.from_json(store.meta("options"))
    return _Change(
        target=target,
        options=options,
        name=manifest["name"],
        embedder=embedder or kb_files.encoder_spec(target, manifest, trust=trust),
        index=manifest["linking"] is not None,
        extractor=extractor or ExtractionModel(),
        progress=progress,
        old=manifest["fingerprint"],
        encode=is_encoded(target),
        model_before=manifest["documents"]["model"],
    )


@dataclass(frozen=True, kw_only=True)
class _Change:
    """One change to a knowledge base."""

    target: Path
    options: DocumentOptions
    name: str
    embedder: Embedder | Embeddings | str | None
    index: bool
    extractor: ExtractionModel
    progress: Progress
    old: str = ""
    """Fingerprint of the base that is updated; empty: all is read anew, and what is not found goes."""
    model_before: str = ""
    given: str = ""
    """Hash of what a build is of; empty in an update."""
    encode: bool = False
    """Whether the old base was encoded ahead: then the new one is too."""

    def run(
        self,
        what: str,
        change: Callable[[DocumentStore, Rejects], Counter[str]],
        *,
        of: Sequence[str] = (),
        replace: bool = True,
        ask: bool = True,
    ) -> DocumentsReport:
        """Build the changed base beside the old one and replace it; one that was killed goes on where `of` is the same."""
        started = time.monotonic()
        rejects = Rejects()
        # A change of other documents must not be finished with this one.
        key = [what, *of, self.options.to_json(), self.name, self.index, self.old, embedder_name(self.embedder)]
        how = self._how() if ask and self.options.extract != "cooccurrence" else None
        with writing(self.target), BuildFolder(self.target, kb_files.json_hash(key), replace=replace) as place:
            if place.stage("taken over") is None:
                self._take_over(place.work)
                place.finished("taken over", "the old base")
            files = place.work / _FILES
            files.mkdir(exist_ok=True)
            with DocumentStore(place.work / kb_files.DOCUMENTS) as store:
                changes = change(store, rejects)
                if not store.documents():
                    place.discard()
                    raise _nothing_left(self.target, rejects)
                usage = self._extract(store, how, place.work, rejects) if how else None
                store.set_meta("options", self.options.to_json())
                store.set_meta("given", self.given)
                made = graph.write_files(
                    store, files, place.work / kb_files.RESOLUTION, self.options.extract, self.progress
                )
                if not made["triples"]:
                    place.discard()
                    raise KnowledgeError(
                        "these documents name no two things together: there is nothing to make a graph of"
                    )
                counts = self._counts(store)
            report = self._build(files, counts, rejects, started).run(place)
            shutil.rmtree(files)
            for left in place.work.glob(f"{_REPLIES}*"):
                left.unlink()
            place.commit()
        return DocumentsReport(build=report, documents=counts, changes=changes, counts=made, usage=usage)

    def _take_over(self, work: Path) -> None:
        """Copy the old base's documents into a new working folder, so that they are not read again.

        If they are damaged or not there, all is made anew.
        """
        try:
            with DocumentStore(self.target / kb_files.DOCUMENTS, write=False) as store:
                sound = store.is_sound()
        except (KnowledgeError, sqlite3.Error):
            sound = False
        if sound:
            shutil.copyfile(self.target / kb_files.DOCUMENTS, work / kb_files.DOCUMENTS)

    def _extract(self, store: DocumentStore, how: Extraction, work: Path, rejects: Rejects) -> ExtractionUsage:
        from thinkgraph.ingest.documents.extraction import cached_journal, extract

        with closing(cached_journal(work / _REPLIES)) as journal:
            usage = extract(store, how, journal, keep=bool(self.old), progress=self.progress)
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

            embedder: Embedder = load_embedder(self.embedder)
            return OfflineChatModel(embed=embedder.embed)

        how = Extraction(
            models=Models(
                self.extractor.model,
                offline=offline,
                prices=self.extractor.prices,
                profiles=self.extractor.profiles,
            ),
            prompts=PromptLibrary(self.extractor.prompts),
            settings=self.extractor.settings or resolve_settings(ExtractSettings),
            relations=self.options.relations,
            types=self.options.types,
        )
        if how.settings.max_cost is not None and how.models.price(how.client.name) is None:
            raise SettingsError(f"max_cost cannot be kept: no price is known for {how.client.name}; give a price table")
        return how

    def _counts(self, store: DocumentStore) -> DocumentCounts:
        facts = list(store.facts())
        return {
            "documents": sum(bool(fact["passages"]) and not fact["copy_of"] for fact in facts),
            "copies": sum(bool(fact["copy_of"]) for fact in facts),
            "failed": sum(bool(fact["problem"]) for fact in facts),
            "extract": self.options.extract,
            "model": store.meta("model"),
        }

    def _build(self, files: Path, counts: DocumentCounts, rejects: Rejects, started: float) -> Build:
        return Build(
            started=started,
            inputs=Inputs(
                [files / graph.TRIPLES], [files / graph.PASSAGES], files / graph.ALIASES, files / graph.ENTITIES
            ),
            name=self.name,
            embedder=self.embedder,
            detect_literals=self.options.extract != "cooccurrence",
            index=self.index,
            encode=self.encode,
            rejects=rejects,
            progress=self.progress,
            documents=counts,
        )


def _nothing_left(target: Path, rejects: Rejects) -> KnowledgeError:
    if rejects.kept:
        return KnowledgeError(f"no document could be read: {rejects.kept[0]['file']} {rejects.kept[0]['reason']}")
    if target.exists():
        return KnowledgeError(f"{target} would be left without documents; delete the folder instead")
    return KnowledgeError("there is no document in what is given as documents; name files, or a folder that holds some")


def _read_all(
    change: _Change, store: DocumentStore, paths: Sequence[Path], rejects: Rejects, sources: Sequence[Source] = ()
) -> Counter[str]:
    """Read every document that is new or changed. A build removes those that were not found; an update reports them.

    Documents of a file or folder that cannot be opened are no longer found, but nothing says that they are gone.
    """
    options = change.options
    how = hashlib.blake2b(f"{_READER} {options.size} {options.encoding}".encode(), digest_size=4).hexdigest()
    changes: Counter[str] = Counter()
    seen: set[str] = set()
    closed: list[str] = []
    named = names_of(paths, {*store.files().values()} if change.old else ())
    with ReadingTime() as clock:
        for source in chain(sources, find_sources(named, rejects)):
            change.progress("documents", len(seen), None)
            seen.add(source.id)
            content = f"{source.content}:{how}"
            before = store.content(source.id)
            if before == content:
                store.found(source)
                changes["unchanged"] += 1
                continue
            try:
                clock.begin()
                with clock.counted():
                    reading = source.read(options.encoding or None)
                store.put(source, content, reading, options.size, clock)
                changes["changed" if before else "added"] += 1
                for what in reading.left_out:
                    rejects.note(source.file, source.line, what, kind="not read")
            except UnreadableError as error:
                if not source.content:
                    closed.append(source.file)
                kept = " (what was read of it before is kept)" if store.fail(source, str(error)) else ""
                rejects.note(source.file, source.line, f"{error}{kept}", kind="not read")
    change.progress("documents", len(seen), len(seen))
    files = store.files()
    gone = [one for one in sorted(files.keys() - seen) if not any(_is_in(files[one], name) for name in closed)]
    if not change.old:
        changes["removed"] = len(gone)
    else:
        gone = [one for one in gone if any(_is_in(files[one], name) for _, name in named)]
        for one in filter(store.content, gone):
            rejects.note(one, 0, "is no longer there; `kb remove` takes it out", kind="gone")
        # Nothing was ever read of the others.
        gone = [one for one in gone if not store.content(one)]
    store.remove(gone)
    return changes


def _is_in(name: str, place: str) -> bool:
    """Whether a name is that of a file or folder, or of something in it."""
    return f"{name}/".startswith(f"{place}/")
