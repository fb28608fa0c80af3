"""Builds a knowledge base: a folder with a graph, the passages about its entities, and a manifest."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from thinkgraph.errors import KnowledgeError, UsageError
from thinkgraph.ingest.encode import encode_stores, take_over
from thinkgraph.ingest.folder import BuildFolder, named, refuse_target, writing
from thinkgraph.ingest.passages import build_text
from thinkgraph.ingest.readers.facts import Facts, Languages
from thinkgraph.ingest.readers.files import (
    TripleBatch,
    in_batches,
    read_aliases,
    read_entities,
    read_passages,
    read_triples,
)
from thinkgraph.ingest.readers.lines import is_packed
from thinkgraph.ingest.readers.linked import linked_passages
from thinkgraph.ingest.readers.nodes import is_node_graph, read_nodes
from thinkgraph.ingest.readers.rdf import rdf_form, read_rdf
from thinkgraph.ingest.readers.rejects import Reject, Rejects
from thinkgraph.ingest.readers.wikidata import read_wikidata
from thinkgraph.ingest.writers.graph import GraphCounts, write_graph
from thinkgraph.ingest.writers.loader import LoadState, TripleLoader, remove_load
from thinkgraph.prompts.lines import one_line
from thinkgraph.tools import kb_files
from thinkgraph.tools.addresses import local_path, local_paths
from thinkgraph.tools.kb_files import DocumentCounts, EntityCounts, InputFile, KbManifest, StatementCounts, TextCounts
from thinkgraph.tools.linking.meaning import entity_passage
from thinkgraph.tools.linking.names import key_label, well_formed
from thinkgraph.tools.progress import Progress, no_progress
from thinkgraph.tools.protocols import Embedder
from thinkgraph.tools.sqlite.file import chunks
from thinkgraph.tools.sqlite.graph import SqliteGraphStore
from thinkgraph.tools.sqlite.graph_schema import GRAPH_FORMAT

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

MOST_ENTITIES = 50_000
"""Entities that can be linked by meaning, those with the most triples: a second of work, however large the graph is."""

_BATCH = 500
_BLOCK = 1 << 20
_GRAPH_ROLES = ("triples", "wikidata", "entities", "aliases")


@dataclass(frozen=True, kw_only=True)
class BuildReport:
    """What a build made, and what it could not use."""

    folder: Path
    manifest: KbManifest
    rejected: Mapping[str, int]
    """How many, by kind: `malformed`, `duplicate id`, `unknown entity`."""
    examples: Sequence[Reject]
    """The first of each kind, 1,000 at most; also in the folder's `build_report.jsonl`."""
    resumed: bool
    """Whether an unfinished build was continued."""
    seconds: float

    @property
    def not_used(self) -> str:
        """How many of each kind could not be used, in words; empty where all was."""
        return ", ".join(f"{n:,} {kind}" for kind, n in sorted(self.rejected.items()))


def build_kb(
    folder: Path | str,
    *,
    triples: Sequence[Path | str] = (),
    wikidata: Sequence[Path | str] = (),
    languages: Sequence[str] = (),
    passages: Sequence[Path | str] = (),
    aliases: Path | str | None = None,
    entities: Path | str | None = None,
    name: str | None = None,
    embedder: Embedder | Embeddings | str | None = None,
    literal_relations: Iterable[str] = (),
    detect_literals: bool = True,
    index: bool = True,
    known_vectors: Path | str | None = None,
    strict: bool = False,
    replace: bool = False,
    progress: Progress = no_progress,
) -> BuildReport:
    """Build a knowledge base from files. A build that was killed goes on when it is started again with the same inputs.

    Args:
        folder: where it will be; it appears whole or not at all.
        triples: TSV, CSV, JSON Lines, `subject|relation|object`, RDF or GRBench's graph.json; also packed (gzip, bzip2).
        wikidata: JSON dumps of Wikidata, whole or in part.
        languages: of names and texts in RDF and Wikidata, the best first. By default English, and values in all; where
            any is given, values of RDF in others are left out.
        passages: JSON Lines files of texts about the entities.
        aliases: a JSON object {entity: [alias, …]}.
        entities: TSV, CSV or JSON Lines with ids, labels, types and descriptions.
        name: for people; by default the folder's.
        embedder: a name, or an embedder or `Embeddings` (then given again to open the base); by default the bundled one.
        literal_relations: relations all of whose objects are literals.
        detect_literals: whether numbers, dates and the like become literals where a relation has nothing else.
        index: whether entities can be linked by meaning too.
        known_vectors: vectors made before (`thinkgraph.ingest.readers.known`), taken over where the encoder is theirs.
        strict: stop at the first malformed row instead of reporting it.
        replace: whether an existing knowledge base may be replaced, once the new one is ready.
        progress: told how far the work is.

    Raises:
        KnowledgeError: an input cannot be read, or the folder cannot be written, is something else, or is being built.
        UsageError: no file of triples is given, an address where a path is meant, or a literal relation without triples.
    """
    target = local_path(folder, "a folder").resolve()
    refuse_target(target, replace=replace)
    build = Build(
        started=time.monotonic(),
        inputs=Inputs(triples, passages, aliases, entities, wikidata, progress),
        name=named(target, name),
        embedder=embedder,
        languages=tuple(languages),
        literal_relations=frozenset(literal_relations),
        detect_literals=detect_literals,
        index=index,
        known_vectors=Path(known_vectors).expanduser() if known_vectors else None,
        rejects=Rejects(strict=strict),
        progress=progress,
    )
    return build.into(target, replace=replace)


class Inputs:
    """The files of a build with their sizes and hashes."""

    def __init__(
        self,
        triples: Sequence[Path | str],
        passages: Sequence[Path | str],
        aliases: Path | str | None,
        entities: Path | str | None,
        wikidata: Sequence[Path | str] = (),
        progress: Progress = no_progress,
    ) -> None:
        if not triples and not wikidata:
            raise UsageError(
                "a knowledge base needs a file of triples (--triples, --wikidata), or documents to make a graph of (--documents)"
            )
        roles: dict[str, Sequence[Path | str]] = {
            "triples": triples,
            "wikidata": wikidata,
            "entities": [] if entities is None else [entities],
            "aliases": [] if aliases is None else [aliases],
            "passages": passages,
        }
        self.paths = {role: local_paths(paths, "a file") for role, paths in roles.items()}
        given = [(role, path) for role, paths in self.paths.items() for path in paths]
        self.passage_lines = 0
        self.files: list[InputFile] = []
        for number, (role, path) in enumerate(given):
            progress("inputs", number, len(given))
            self.files.append(self._hashed(role, path))
        progress("inputs", len(given), len(given))

    def _hashed(self, role: str, path: Path) -> InputFile:
        if path.is_dir():
            raise KnowledgeError(f"{path} is a folder; name a file for the {role}")
        if path.exists() and not path.is_file():
            # A device need not end, and a pipe cannot be read a second time.
            raise KnowledgeError(f"{path} is no file but a pipe or a device; write what it gives to a file")
        digest = hashlib.blake2b(digest_size=16)
        size = 0
        try:
            with path.open("rb") as stream:
                while block := stream.read(_BLOCK):
                    digest.update(block)
                    size += len(block)
                    self.passage_lines += block.count(b"\n") if role == "passages" else 0
        except FileNotFoundError:
            raise KnowledgeError(f"there is no file {path} (given as {role})") from None
        except OSError as error:
            raise KnowledgeError(f"{path} cannot be read: {error.strerror or error}") from None
        if not size:
            raise KnowledgeError(f"{path} is empty (given as {role})")
        return {"role": role, "file": well_formed(path.name), "bytes": size, "blake2b": digest.hexdigest()}

    @property
    def total_passages(self) -> int | None:
        """About how many passages there are; None where a file is packed."""
        return None if any(map(is_packed, self.paths["passages"])) else self.passage_lines


@dataclass(frozen=True, kw_only=True)
class Build:
    """One build in a working folder: `run` makes the files, whoever called it commits the folder."""

    started: float
    """When it began, as `time.monotonic` tells."""
    inputs: Inputs
    name: str
    embedder: Embedder | Embeddings | str | None
    languages: tuple[str, ...] = ()
    literal_relations: frozenset[str] = frozenset()
    detect_literals: bool
    index: bool
    known_vectors: Path | None = None
    encode: bool = False
    """Whether all vectors are made now."""
    rejects: Rejects
    progress: Progress
    documents: DocumentCounts | None = None
    """Where the inputs were made from documents, whose store then lies in the working folder."""

    def into(self, target: Path, *, replace: bool) -> BuildReport:
        """Make the knowledge base in its folder, or go on with what the same build left there."""
        strict, names = str(self.rejects.strict), (file["file"] for file in self.inputs.files)
        key = self._digest("build", self.name, strict, str(self.index), *names)
        with writing(target), BuildFolder(target, key, replace=replace) as place:
            report = self.run(place)
            place.commit()
        return report

    def _digest(self, *more: str, roles: Sequence[str] = (*_GRAPH_ROLES, "passages")) -> str:
        parts = [
            [kb_files.KB_FORMAT, GRAPH_FORMAT, kb_files.BUILDER_VERSION],
            [sorted(self.literal_relations), self.detect_literals, self.languages],
            [[file["role"], file["blake2b"]] for file in self.inputs.files if file["role"] in roles],
            embedder_name(self.embedder) if self._encodes and "passages" in roles else None,
            more,
        ]
        return kb_files.json_hash(parts)

    def run(self, place: BuildFolder) -> BuildReport:
        """Make what the working folder does not hold yet."""
        counts = self._stage(place, "graph", lambda: self._graph(place))
        remove_load(place.work / kb_files.GRAPH)
        text = self._stage(place, "text", lambda: self._text(place.work)) if self.inputs.paths["passages"] else None
        linking = self._stage(place, "entities", lambda: self._entities(place.work)) if self.index else None
        with (place.work / kb_files.REPORT).open("w", encoding="utf-8") as report:
            report.writelines(json.dumps(reject, ensure_ascii=False) + "\n" for reject in self.rejects.kept)
        if self._encodes:
            take_over(place.target, place.work)
        if self.encode or self.known_vectors:
            encode_stores(place.work, self._encoder, self.progress)
        manifest = self._manifest(place.work, counts, text, linking)
        (place.work / kb_files.MANIFEST).write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", "utf-8")
        return BuildReport(
            folder=place.target,
            manifest=manifest,
            rejected=dict(self.rejects.counts),
            examples=self.rejects.kept,
            resumed=place.resumed,
            seconds=time.monotonic() - self.started,
        )

    def _manifest(
        self, work: Path, counts: GraphCounts, text: TextCounts | None, linking: EntityCounts | None
    ) -> KbManifest:
        stores = [kb_files.TEXT] * bool(text) + [kb_files.ENTITIES] * bool(linking)
        files = [kb_files.GRAPH, *stores, *[kb_files.DOCUMENTS] * bool(self.documents)]
        spec = "bundled" if self.embedder is None else self.embedder if isinstance(self.embedder, str) else None
        manifest: KbManifest = {
            "format": kb_files.KB_FORMAT,
            "name": self.name,
            "fingerprint": self._digest("content", str(self.index)),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "graph": cast("StatementCounts", {key: value for key, value in counts.items() if isinstance(value, int)}),
            "text": text,
            "linking": linking,
            "embedder": {"name": self._encoder.name, "spec": spec} if self._encodes else None,
            "literal_relations": counts["literal_relations"],
            "inputs": [] if self.documents else self.inputs.files,
            "files": {file: (work / file).stat().st_size for file in files},
            "hashes": {file: kb_files.content_hash(work / file) for file in files},
        }
        if self.documents:
            manifest["documents"] = self.documents
        return manifest

    def _stage(self, place: BuildFolder, name: str, work: Any) -> Any:
        """Do a stage, or take what it left when it was finished before; its rejects are kept either way."""
        done = place.stage(name)
        of = self._digest("stage")
        if done is None or done.get("of") != of:
            before, kept = self.rejects.counts.copy(), len(self.rejects.kept)
            result = work()
            counts = {kind: n - before[kind] for kind, n in self.rejects.counts.items()}
            done = {"of": of, "result": result, "counts": counts, "kept": self.rejects.kept[kept:]}
            place.finished(name, done)
        else:
            self.rejects.counts.update(done["counts"])
            self.rejects.kept.extend(done["kept"])
        return done["result"]

    def _graph(self, place: BuildFolder) -> GraphCounts:
        path, inputs = place.work / kb_files.GRAPH, self.inputs.paths
        aliases = read_aliases(inputs["aliases"][0], self.rejects) if inputs["aliases"] else {}
        meta = {"name": self.name, "fingerprint": self._digest("graph", roles=_GRAPH_ROLES)}
        if inputs["wikidata"] or any(rdf_form(path) or is_node_graph(path) for path in inputs["triples"]):
            # What these files say of entities is kept only until the graph is written: both are one stage.
            with Facts(place.work / "facts.part", Languages(self.languages)) as facts:
                state = self._triples(path, facts, place.work)
                names = facts.aliases(aliases)
                counts, unknown = write_graph(path, state, meta=meta, aliases=names, progress=self.progress)
        else:
            state = self._stage(place, "triples", lambda: self._triples(path, None, place.work))
            counts, unknown = write_graph(path, state, meta=meta, aliases=aliases.items(), progress=self.progress)
        for key in unknown:
            reason = f"{key_label(key)[:80]!r} names no entity, or several"
            for file in inputs["aliases"]:
                self.rejects.add(file, 0, reason, kind="unknown entity")
        return counts

    def _triples(self, path: Path, facts: Facts | None, work: Path) -> LoadState:
        inputs = self.inputs.paths
        with TripleLoader(path, progress=self.progress) as loader:
            for batches in self._batches(facts, work):
                loader.add(batches, literal_relations=self.literal_relations)
            if not loader.rows:
                names = ", ".join(path.name for path in (*inputs["triples"], *inputs["wikidata"]))
                first = next((f"line {r['line']} {r['reason']}" for r in self.rejects.kept), "no rows")
                raise KnowledgeError(f"no triple could be read from {names}: {first}")
            if unknown := sorted(self.literal_relations.difference(loader.relations)):
                shown = one_line(", ".join(f"'{name}'" for name in unknown))
                raise UsageError(f"no triple has the relation {shown}, whose objects were to be literals")
            # A file of entities says more than the triples' own files, so it comes last.
            if facts is not None:
                loader.describe(facts.rows())
            for file in inputs["entities"]:
                told = partial(self.rejects.add, file, 0, kind="duplicate id")
                loader.describe(read_entities(file, self.rejects), told)
            return loader.finish(detect_literals=self.detect_literals)

    def _batches(self, facts: Facts | None, work: Path) -> Iterator[Iterable[TripleBatch]]:
        """The triples of each file; what RDF and dumps say of entities beside them goes to `facts`."""
        for number, path in enumerate(self.inputs.paths["triples"]):
            if facts is not None and rdf_form(path):
                yield in_batches(read_rdf(path, facts, self.rejects, number=number))
            elif facts is not None and is_node_graph(path):
                yield in_batches(read_nodes(path, facts, self.rejects))
            else:
                yield read_triples(path, self.rejects)
        if facts is not None and self.inputs.paths["wikidata"]:
            yield in_batches(read_wikidata(self.inputs.paths["wikidata"], facts, self.rejects, work))

    @property
    def _encodes(self) -> bool:
        return self.index or bool(self.inputs.paths["passages"])

    @cached_property
    def _encoder(self) -> Embedder:
        """What makes the vectors, now or later; a known one costs nothing."""
        from thinkgraph.tools.encoders.embeddings import load_embedder

        embedder: Embedder = load_embedder(self.embedder)
        if self.known_vectors is None:
            return embedder
        from thinkgraph.ingest.readers.known import ReusingEmbedder

        return ReusingEmbedder(embedder, self.known_vectors)

    def _text(self, work: Path) -> TextCounts:
        counts: Counter[str] = Counter()
        with SqliteGraphStore(work / kb_files.GRAPH) as graph:
            rows = ((path, row) for path in self.inputs.paths["passages"] for row in read_passages(path, self.rejects))
            info = build_text(
                work / kb_files.TEXT,
                linked_passages(graph, rows, self.rejects, counts),
                embedder=self._encoder.name,
                progress=self.progress,
                total=self.inputs.total_passages,
                name=self.name,
            )
        if not info["passages"]:
            # Files without any are a mistake rather than a wish.
            kept = self.rejects.kept
            last = f"{kept[-1]['file']}, line {kept[-1]['line']}: {kept[-1]['reason']}" if kept else "no rows"
            raise KnowledgeError(f"no passage could be read; mend the files or leave them out ({last})")
        return {
            "fingerprint": info["fingerprint"],
            "passages": info["passages"],
            "entities": info["entities"],
            "not_linked": counts["not linked"],
        }

    def _entities(self, work: Path) -> EntityCounts:
        """List the graph's entities, so that a mention whose words no name shares can be linked by what it means."""
        path = work / kb_files.ENTITIES
        with SqliteGraphStore(work / kb_files.GRAPH) as graph:
            ids = graph.most_linked(MOST_ENTITIES)
            found = (entity for some in chunks(ids, _BATCH) for entity in graph.entities(some))
            info = build_text(
                path,
                (entity_passage(entity) for entity in found if entity is not None),
                embedder=self._encoder.name,
                progress=self.progress,
                total=len(ids),
                name=self.name,
                stage="entities",
            )
        return {"fingerprint": info["fingerprint"], "entities": info["passages"]}


def embedder_name(embedder: Embedder | Embeddings | str | None) -> str | None:
    """The name of an embedder, or the one that loads it; None for the bundled one."""
    from thinkgraph.tools.encoders.embeddings import load_embedder

    return embedder if isinstance(embedder, str | None) else load_embedder(embedder).name
