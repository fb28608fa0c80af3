"""What a method answers from: a graph, perhaps texts about its entities, and how to find entities in a question."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from thinkgraph.errors import KnowledgeError
from thinkgraph.tools import kb_files
from thinkgraph.tools.addresses import local_path
from thinkgraph.tools.openers import OPENERS, WRITERS, folder_of
from thinkgraph.tools.progress import Progress, no_progress
from thinkgraph.tools.protocols import Closing, GraphStore, Linker, TextStore, lacking

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings

    from thinkgraph.tools.kb_files import KbManifest
    from thinkgraph.tools.protocols import Embedder

PROTOCOLS: Mapping[str, type] = {"graph": GraphStore, "text": TextStore, "linker": Linker}
"""What the parts implement."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


class Knowledge(Closing):
    """A knowledge base, opened. Parts are made when they are first asked for; none can be exchanged afterwards.

    Safe to share between threads. Close it, or use it as a context manager.
    """

    name: str
    """For people."""
    fingerprint: str
    """Changes whenever the content does."""
    folder: Path | None
    """Where it lies, None if it was put together from stores."""
    empty: bool
    """Whether its graph and its passages were found to hold nothing."""
    _makers: dict[str, Callable[[], Any]]
    _parts: dict[str, Any]
    _opened: list[Any]
    """The parts that were made here and are therefore closed here."""
    _lock: threading.RLock
    _closed: bool

    def __init__(
        self,
        *,
        graph: GraphStore,
        text: TextStore | None = None,
        linker: Linker | None = None,
        embedder: Embedder | Embeddings | None = None,
        name: str | None = None,
        close_stores: bool = False,
    ) -> None:
        """Put together stores of your own. They stay yours: closing the knowledge base leaves them open.

        Args:
            graph: the graph.
            text: passages about its entities.
            linker: finds entities in texts; by default the standard one over `graph`.
            embedder: encodes texts for ranking and linking, an `Embedder` or LangChain's `Embeddings`; by default the bundled
                one, loaded when first used.
            name: by default the graph's.
            close_stores: whether `close` closes what was given here as well: for whoever opens stores only to hand
                them over.

        Raises:
            KnowledgeError: a part lacks members of its protocol.
        """
        parts = {"graph": graph, "text": text, "linker": linker}
        given: dict[str, Any] = {
            name: _fitting(name, part) for name, part in parts.items() if name == "graph" or part is not None
        }
        if (encoder := _own_embedder(embedder)) is not None:
            given["embedder"] = encoder
        info, texts = graph.info(), text.info() if text is not None else None
        prints = [info["fingerprint"], texts["fingerprint"] if texts else ""]
        self._setup(
            name or info["name"],
            _mixed(*prints),
            linker=self._standard_linker,
            embedder=lambda: _load_embedder(None),
            index=lambda: None,
            empty=info["entities"] == info["triples"] == 0 and not (texts and texts["passages"]),
        )
        self._parts.update({"text": None, **given})
        if close_stores:
            self._opened.extend(given.values())

    def _setup(
        self,
        name: str,
        fingerprint: str,
        *,
        folder: Path | None = None,
        empty: bool = False,
        **parts: Callable[[], Any],
    ) -> None:
        state = {"name": name, "fingerprint": fingerprint, "folder": folder, "empty": empty}
        self.__dict__.update(state, _makers=parts, _parts={}, _opened=[], _lock=threading.RLock(), _closed=False)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Knowledge cannot be changed ({name}); make another one")

    def __repr__(self) -> str:
        return f"<Knowledge {self.name!r} {self.fingerprint[:8]}>"

    @property
    def graph(self) -> GraphStore:
        """The graph."""
        return cast("GraphStore", self._part("graph"))

    @property
    def text(self) -> TextStore | None:
        """The passages, or None. Opening them loads no model; the first search does."""
        return cast("TextStore | None", self._part("text"))

    @property
    def linker(self) -> Linker:
        """Finds entities in texts."""
        return cast("Linker", self._part("linker"))

    @property
    def embedder(self) -> Embedder:
        """The encoder that the passages' vectors were made with, or the bundled one where there are none."""
        return cast("Embedder", self._part("embedder"))

    def with_linker(self, make: Callable[[], Linker]) -> Knowledge:
        """The same knowledge with another linker, made when first used. Both share their stores: close one of them."""
        shared = {name: functools.partial(self._part, name) for name in ("graph", "text", "embedder", "index")}
        return self.with_parts(linker=make, **shared)

    def with_parts(self, **makers: Callable[[], Any]) -> Knowledge:
        """The same knowledge, by name and fingerprint, with other parts. It closes none of these: close this one."""
        return self.of_parts(self.name, self.fingerprint, folder=self.folder, empty=self.empty, **makers)

    @classmethod
    def of_parts(
        cls,
        name: str,
        fingerprint: str,
        *,
        folder: Path | None = None,
        empty: bool = False,
        **makers: Callable[[], Any],
    ) -> Knowledge:
        """Knowledge put together from what makes its graph, text, linker and embedder when they are first asked for."""
        other = cls.__new__(cls)
        other._setup(name, fingerprint, folder=folder, empty=empty, **makers)  # noqa: SLF001 - of this very class
        return other

    def close(self) -> None:
        """Close what was opened here; what the caller put in stays open. Closing twice is no error."""
        with self._lock:
            self.__dict__["_closed"] = True
            for part in self._opened:
                if callable(close := getattr(part, "close", None)):
                    close()

    def _part(self, name: str) -> Any:
        if name not in self._parts:
            with self._lock:
                if name not in self._parts:
                    if self._closed:
                        raise KnowledgeError(f"the knowledge base {self.name} is closed; open it again")
                    self._parts[name] = part = self._makers[name]()
                    self._opened.append(part)
        return self._parts[name]

    def _standard_linker(self) -> Linker:
        from thinkgraph.tools.linking.linker import StandardLinker
        from thinkgraph.tools.linking.meaning import EntityIndex

        store = self._part("index")
        return StandardLinker(
            self.graph,
            # Without passages no model is needed for anything but this; then namesakes keep the graph's order.
            embedder=self.embedder if self.text is not None else None,
            entity_index=EntityIndex(store) if store is not None else None,
        )

    @classmethod
    def open(
        cls,
        spec: str | Path,
        *,
        embedder: Embedder | Embeddings | None = None,
        text: TextStore | str | None = None,
        trust_embedder: bool = False,
        progress: Progress = no_progress,
    ) -> Knowledge:
        """Open a knowledge base.

        Args:
            spec: "world" for the one that comes with the package (built into the user's cache when first opened), the
                folder of one built with `thinkgraph kb build`, or `scheme://…` for a server.
            embedder: the encoder the vectors were made with, where it has no name that loads it.
            text: passages about its entities in place of its own: a text store, which stays yours, or a line that names
                one ("chroma:FOLDER?collection=NAME&entity=KEY"), which is closed with the knowledge base.
            trust_embedder: whether to load the encoder that a folder names where it is not the bundled one. A model's folder
                may run code of its own, and a provider's costs money.
            progress: told of the building of "world".

        Raises:
            KnowledgeError: there is none, or it is damaged, incomplete or of another format version.
        """
        encoder = _own_embedder(embedder)
        if text is None:
            return cls._open(spec, encoder, progress, trust=trust_embedder)
        with contextlib.ExitStack() as closing:
            if isinstance(text, str):
                from thinkgraph.tools.vectorstores.chroma import open_text

                store: TextStore = closing.enter_context(open_text(text))
            else:
                store = _fitting("text", text)
            found = cls._open(spec, encoder, progress, trust=trust_embedder)
            closing.callback(found.close)
            texts = store.info()
            found.__dict__["fingerprint"] = _mixed(found.fingerprint, texts["fingerprint"])
            found.__dict__["empty"] = found.empty and not texts["passages"]
            found._parts["text"] = store  # noqa: SLF001 - nobody has seen it yet
            if isinstance(text, str):
                found._opened.append(store)  # noqa: SLF001 - as above
            closing.pop_all()
        return found

    @classmethod
    def from_documents(cls, documents: Iterable[Document], folder: str | Path, **options: Any) -> Knowledge:
        """Build a knowledge base from LangChain documents, and open it.

        Args:
            documents: what a loader or a splitter gives.
            folder: where it will be.
            options: as `thinkgraph.ingest.documents.build.build_documents` (options, extractor, name, embedder, replace …).

        Raises:
            KnowledgeError, ModelError, UsageError: it cannot be built, or an address is given as the folder.
        """
        place = local_path(folder, "a folder")  # a path: by its name a bundled one would be opened
        WRITERS["documents"](place, documents, **options)
        return cls.open(place, embedder=_own(options), trust_embedder=True)

    @classmethod
    def from_graph_documents(cls, documents: Iterable[Any], folder: str | Path, **options: Any) -> Knowledge:
        """Build a knowledge base from LangChain graph documents (nodes, relationships, source), and open it.

        Args:
            documents: what LLMGraphTransformer gives: langchain-community's class, or any with these attributes.
            folder: where it will be.
            options: as `thinkgraph.ingest.build.build_kb` (name, embedder, replace …).

        Raises:
            KnowledgeError: it cannot be built, or there is no relationship.
            UsageError: something else is given, or an address as the folder.
        """
        place = local_path(folder, "a folder")
        WRITERS["graph documents"](place, documents, **options)
        return cls.open(place, embedder=_own(options), trust_embedder=True)

    @classmethod
    def _open(cls, spec: str | Path, embedder: Embedder | None, progress: Progress, *, trust: bool) -> Knowledge:
        if not isinstance(spec, str | os.PathLike):
            raise KnowledgeError(f"a knowledge base is named by a text or a path, not {spec!r:.80}")
        if isinstance(spec, str) and (found := _SCHEME.match(spec)):
            opener = OPENERS.get(found[1].lower())
            if opener is None:
                known = ", ".join(f"{scheme}://" for scheme in sorted(OPENERS)) or "none in this release"
                raise KnowledgeError(f"{found[1]}:// is no kind of knowledge base that is known (known: {known})")
            return opener(spec, embedder=embedder)
        folder = folder_of(spec, progress) if isinstance(spec, str) else Path(spec).expanduser()
        return cls._open_folder(folder, embedder, trust=trust)

    @classmethod
    def _open_folder(cls, folder: Path, embedder: Embedder | None, *, trust: bool) -> Knowledge:
        manifest, graph = _opened(folder)
        self = cls.__new__(cls)

        def make_store(file: str, counts: kb_files.TextCounts | kb_files.EntityCounts | None) -> TextStore | None:
            if counts is None or file not in manifest["files"]:
                return None
            from thinkgraph.tools.sqlite.text import SqliteTextStore

            store = SqliteTextStore(folder / file, self.embedder)
            if store.info()["fingerprint"] != counts["fingerprint"]:
                store.close()
                raise KnowledgeError(f"{folder} was replaced while it was open; open the knowledge base again")
            return store

        self._setup(
            manifest["name"],
            manifest["fingerprint"],
            folder=folder,
            text=lambda: make_store(kb_files.TEXT, manifest["text"]),
            index=lambda: make_store(kb_files.ENTITIES, manifest["linking"]),
            linker=self._standard_linker,
            embedder=lambda: _load_embedder(kb_files.encoder_spec(folder, manifest, trust=trust)),
        )
        # Open already, so that a damaged graph is found now and close() closes it.
        self._parts["graph"] = graph
        self._opened.append(graph)
        if embedder is not None:
            self._parts["embedder"] = embedder
        return self


def _opened(folder: Path) -> tuple[KbManifest, GraphStore]:
    """The manifest and the graph of one version of a knowledge base, which another one may replace at any moment."""
    from thinkgraph.tools.sqlite.graph import SqliteGraphStore

    for again in (True, True, False):
        try:
            manifest = kb_files.read_manifest(folder)
            graph = SqliteGraphStore(folder / kb_files.GRAPH)
        except KnowledgeError:
            if not again:
                raise
            continue
        with contextlib.suppress(KnowledgeError):
            if kb_files.read_manifest(folder) == manifest:
                return manifest, graph
        graph.close()
    raise KnowledgeError(f"{folder} is being replaced again and again; open it when that is done")


def _mixed(*fingerprints: str) -> str:
    return hashlib.blake2b("\0".join(fingerprints).encode(), digest_size=16).hexdigest()


def _own(options: Mapping[str, Any]) -> Embedder | None:
    """The embedder object among the options of a build; one that has a name is in the manifest."""
    given = options.get("embedder")
    return None if isinstance(given, str) else given


def _fitting(name: str, part: Any) -> Any:
    """A part that a user gives, if it has the members of its protocol."""
    protocol = PROTOCOLS[name]
    if missing := lacking(part, protocol):
        raise KnowledgeError(
            f"{name}= takes a {protocol.__name__} (thinkgraph/tools/protocols.py): {type(part).__name__} lacks "
            + ", ".join(missing)
        )
    return part


def _own_embedder(given: Embedder | Embeddings | None) -> Embedder | None:
    if given is None:
        return None
    from thinkgraph.tools.encoders.embeddings import load_embedder

    return load_embedder(given)


def _load_embedder(spec: str | None) -> Embedder:
    from thinkgraph.tools.encoders.words import embedder_for_questions

    return embedder_for_questions(spec)
