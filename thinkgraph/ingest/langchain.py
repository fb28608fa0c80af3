"""Knowledge bases out of LangChain's objects: documents of any loader, and graph documents (what LLMGraphTransformer gives)."""

from __future__ import annotations

import importlib
import json
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from thinkgraph.errors import KnowledgeError, UsageError, first_line
from thinkgraph.ingest.documents.sources import Source, row_source
from thinkgraph.ingest.readers.files import LONGEST_PASSAGE, PassageRow
from thinkgraph.tools.chunks import chunk_offsets
from thinkgraph.tools.sqlite.text_schema import clean

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from thinkgraph.ingest.build import BuildReport
    from thinkgraph.ingest.documents.build import DocumentsReport

_LONGEST_LIST = 50
"""Parts of a property from which it is data (a vector) rather than facts."""


class GraphNode(Protocol):
    """A node of a `GraphDocument`."""

    id: str | int
    type: str
    properties: dict[str, Any]


class GraphRelationship(Protocol):
    """A relationship of a `GraphDocument`."""

    source: GraphNode
    target: GraphNode
    type: str
    properties: dict[str, Any]


class GraphDocument(Protocol):
    """A graph with the document that it was read from: langchain-community's, langchain-neo4j's, or your own."""

    nodes: list[Any]
    relationships: list[Any]
    source: Document | None


def build_from_documents(folder: Path | str, documents: Iterable[Document], **options: Any) -> DocumentsReport:
    """Build a knowledge base from LangChain documents.

    Args:
        folder: the knowledge base.
        documents: what a loader or a splitter gives. A document's id is its own, or its metadata's `source`, with a number
            where several have one; its title is its metadata's.
        options: as `build_documents`.

    Raises:
        KnowledgeError, ModelError, UsageError: as `build_documents`; there is no document.
    """
    from thinkgraph.ingest.documents.build import build_documents

    sources = list(_sources(documents))
    if not sources:
        raise KnowledgeError("there is no document in what is given: there is nothing to build from")
    return build_documents(folder, [], sources=sources, **options)


def build_from_graph_documents(folder: Path | str, documents: Iterable[GraphDocument], **options: Any) -> BuildReport:
    """Build a knowledge base from graph documents; their sources become passages about their nodes.

    Args:
        folder: the knowledge base.
        documents: nodes are one where their ids are one, and the first that says something of it counts; a node's label is
            its property `name`, its description that of this name, a relationship's properties are qualifiers.
        options: as `build_kb`.

    Raises:
        KnowledgeError: as `build_kb`, or there is no relationship.
        UsageError: something else is given.
    """
    from thinkgraph.ingest.build import build_kb

    given = list(documents)
    for one in given:
        _check_graph(one)
    triples = [row for one in given for row in map(_triple, one.relationships)]
    if not triples:
        raise KnowledgeError("these graph documents hold no relationship: there is nothing to make a graph of")
    nodes: dict[str, dict[str, str]] = {}
    for one in given:
        for node in _nodes(one):
            nodes[str(node.id)] = {**_said(node), **nodes.get(str(node.id), {})}
    entities = ({"id": name, "label": name, **said} for name, said in nodes.items())
    with tempfile.TemporaryDirectory(prefix="thinkgraph-") as scratch:
        names = ("triples", "entities", "passages")
        files = {name: Path(scratch) / f"{name}.jsonl" for name in names}
        for name, rows in zip(names, (triples, entities, _passages(given)), strict=True):
            _write(files[name], rows)
        passages = [files["passages"]] if files["passages"].stat().st_size else []
        return build_kb(folder, triples=[files["triples"]], entities=files["entities"], passages=passages, **options)


def load(loader: str, sources: Sequence[str]) -> list[Document]:
    """The documents that a loader's class gives: of each source, its first argument; of itself where there is none.

    Args:
        loader: `module:Class`.
        sources: files, folders, addresses: whatever the class takes.

    Raises:
        UsageError: there is no such class.
        KnowledgeError: it fails.
    """
    module, _, name = loader.partition(":")
    try:
        made = getattr(importlib.import_module(module), name)
    except ImportError as error:
        extra = ": pip install 'thinkgraph[community]'" if module.startswith("langchain_community") else ""
        raise UsageError(f"the loader {loader} cannot be imported ({first_line(error)}){extra}") from error
    except (AttributeError, ValueError) as error:
        raise UsageError(f"there is no loader {loader!r}: name it as module:Class") from error
    found: list[Document] = []
    for arguments in [[source] for source in sources] or [[]]:
        try:
            found += made(*arguments).load()
        # Each loader has errors of its own (a missing package, a page that is not there) with no common base; one may even exit.
        except (Exception, SystemExit) as error:
            where = f" with {arguments[0]}" if arguments else ""
            raise KnowledgeError(f"the loader {loader} failed{where}: {first_line(error)}") from error
    return found


def _check(given: object, wanted: str, *attributes: str) -> None:
    if not all(hasattr(given, attribute) for attribute in attributes):
        raise UsageError(f"{wanted}, in a list; this is {type(given).__name__}")


def _check_graph(given: GraphDocument) -> None:
    """Refuse what is no graph document: classes of one's own may hold anything."""
    _check(given, "graph documents have nodes, relationships and a source", "nodes", "relationships", "source")
    for several in (given.nodes, given.relationships):
        if not isinstance(several, Collection):
            raise UsageError(f"nodes and relationships are lists; this is {type(several).__name__}")
    for edge in given.relationships:
        _check(edge, "relationships have a source, a target, a type and properties", *GraphRelationship.__annotations__)
    for node in _nodes(given):
        _check(node, "nodes have an id, a type and properties", *GraphNode.__annotations__)
        if node.id is None:
            raise UsageError("a node of these graph documents has no id: its id is None")


def _sources(documents: Iterable[Document]) -> Iterator[Source]:
    """The documents, each under an id that no other has."""
    seen: dict[str, int] = {}
    for number, document in enumerate(documents, 1):
        row = _row(document, number)
        id_ = row.id
        while id_ in seen:
            seen[row.id] += 1
            id_ = f"{row.id}#{seen[row.id]}"
        seen[id_] = 1
        yield row_source(row._replace(id=id_), id_)


def _row(document: Document, number: int) -> PassageRow:
    """A document as a row of no file, with the id that it has by itself."""
    _check(document, "documents are LangChain's Document objects", "page_content", "id", "metadata")
    metadata: object = document.metadata or {}
    text: object = document.page_content
    known = metadata if isinstance(metadata, Mapping) else {}
    name = clean(str(document.id or known.get("source") or "")).strip() or f"document {number}"
    if known is not metadata:
        raise UsageError(f"{name[:80]!r}: its metadata is {type(metadata).__name__}, not a mapping")
    if not isinstance(text, str):
        raise UsageError(f"{name[:80]!r}: its page_content is {type(text).__name__}, not a text")
    title = clean(str(known.get("title") or Path(name).name)).strip()
    return PassageRow(0, name, title, "", clean(text), None)


def _passages(documents: Iterable[GraphDocument]) -> list[dict[str, Any]]:
    """The sources, each once, with the nodes that were read from it; one of which none was read is about what its title names.

    A source that is longer than a passage may be is several.
    """
    found: dict[str, tuple[PassageRow, dict[str, None]]] = {}
    for number, one in enumerate(documents, 1):
        if one.source is None or not (row := _row(one.source, number)).text.strip():
            continue
        found.setdefault(row.text, (row, {}))[1].update(dict.fromkeys(str(node.id) for node in _nodes(one)))
    parts = (
        (row, about, text)
        for row, about in found.values()
        for first, last in chunk_offsets(row.text, LONGEST_PASSAGE, 0)
        if (text := row.text[first:last].strip())
    )
    return [
        {"id": f"{row.id}#{number}", "title": row.title, "text": text, **({"entities": list(about)} if about else {})}
        for number, (row, about, text) in enumerate(parts, 1)
    ]


def _nodes(document: GraphDocument) -> list[GraphNode]:
    """Its nodes, and the ends of its relationships."""
    return [*document.nodes, *(end for edge in document.relationships for end in (edge.source, edge.target))]


def _triple(edge: GraphRelationship) -> dict[str, Any]:
    # A name may stand in quotes, which a file's literals do.
    row: dict[str, Any] = {
        "subject": str(edge.source.id),
        "relation": edge.type,
        "object": str(edge.target.id),
        "literal": False,
    }
    if properties := _plain(edge.properties):
        row["qualifiers"] = properties
    return row


def _said(node: GraphNode) -> dict[str, str]:
    """What a node says of its entity."""
    properties = _plain(node.properties)
    label, description = (", ".join(properties.get(name, ())) for name in ("name", "description"))
    said = {"label": label, "type": node.type, "description": description}
    return {field: text for field, text in said.items() if text}


def _plain(properties: Mapping[str, Any] | None) -> dict[str, list[str]]:
    """The properties that say something, each as texts: a list is as many as it has parts."""
    return {str(name): texts for name, value in (properties or {}).items() if (texts := _texts(value))}


def _texts(value: object) -> list[str]:
    parts = value if isinstance(value, list) else [value]
    if len(parts) > _LONGEST_LIST:
        return []
    return [text for part in parts if part is not None and (text := str(part).strip())]


def _write(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    with file.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=True) + "\n" for row in rows)
