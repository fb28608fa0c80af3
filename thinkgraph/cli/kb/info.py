"""`thinkgraph kb info`: what a knowledge base holds, in a folder, on a Neo4j server or in another store."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinkgraph.cli.options import add_flags
from thinkgraph.cli.show import LineProgress, many, write_json, write_line
from thinkgraph.errors import KnowledgeError, UsageError
from thinkgraph.prompts.lines import one_line
from thinkgraph.tools.openers import BUNDLED, folder_of

if TYPE_CHECKING:
    from thinkgraph.tools.kb_files import KbManifest
    from thinkgraph.tools.knowledge import Knowledge

_SHOWN = 40
"""Most relations or labels listed."""


def add_arguments(commands: Any) -> None:
    """Declare `kb info`."""
    info = commands.add_parser("info", help="show what a knowledge base holds")
    info.add_argument("folder", metavar="KB", help='a knowledge base\'s folder, "world", or an address')
    add_flags(info, "text")
    info.add_argument("--documents", action="store_true", help="list the documents it was built from")
    add_flags(info, "json", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Print what the knowledge base holds."""
    from thinkgraph.tools.knowledge import Knowledge

    facts: object
    if "://" in args.folder or args.text:
        if args.documents:
            raise UsageError(
                "--documents lists those of a knowledge base's folder; leave --text out, and give no address"
            )
        with Knowledge.open(args.folder, text=args.text) as knowledge:
            facts, lines = _server(knowledge) if is_server(args.folder) and not args.text else _store(knowledge)
    else:
        with LineProgress(sys.stderr) as progress:
            folder = folder_of(args.folder, progress)
        facts, lines = _documents(folder) if args.documents else _folder(folder)
    if args.json:
        write_json(facts, indent=2)
    else:
        write_line("\n".join(lines))
    return 0


def indexed(knowledge: Knowledge, spec: str, text: str | None) -> list[str]:
    """What an open knowledge base holds and how it is searched, in lines; a folder's relations are left out.

    Args:
        knowledge: it, open.
        spec: its name, folder or address.
        text: where its passages are, if elsewhere.

    Raises:
        KnowledgeError: its folder cannot be read, or holds another one by now.
    """
    from thinkgraph.tools import kb_files

    if knowledge.folder is None or text:
        return (_server(knowledge) if is_server(spec) and not text else _store(knowledge))[1]
    manifest = kb_files.read_manifest(knowledge.folder)
    if manifest["fingerprint"] != knowledge.fingerprint:
        raise KnowledgeError(f"{knowledge.folder} was replaced while it was open; open the knowledge base again")
    return _manifest_lines(manifest, _size(knowledge.folder), _encoded(knowledge.folder, manifest))


def is_server(spec: str) -> bool:
    """Whether a knowledge base's name is the address of a Neo4j server."""
    return spec.lower().startswith(("neo4j", "bolt")) and "://" in spec


def own_folder(text: str) -> str:
    """The folder of a knowledge base of the user's own, which is opened by that name.

    Raises:
        ArgumentTypeError: the package's own is opened by it.
    """
    if text in BUNDLED:
        raise argparse.ArgumentTypeError(
            f"{text} is the knowledge base that comes with the package and stays as it is: name another folder, or ./{text}"
        )
    return text


def _row(title: str, value: object) -> str:
    return f"{title:<12} {one_line(str(value))}"


def _counted(number: int) -> str:
    return f"{number:,}" if number >= 0 else "unknown"


def _more(items: Sequence[Any]) -> list[str]:
    return [f"  … and {len(items) - _SHOWN:,} more (--json shows all)"] if len(items) > _SHOWN else []


def _store(knowledge: Knowledge) -> tuple[dict[str, Any], list[str]]:
    """What the graph and the text store report of themselves."""
    graph = knowledge.graph.info()
    text = knowledge.text.info() if knowledge.text is not None else None
    notes = list(getattr(knowledge.graph, "notes", ()))
    facts = {
        "name": knowledge.name,
        "fingerprint": knowledge.fingerprint,
        "graph": graph,
        "text": text,
        "notes": notes,
    }
    lines = [_row(key, facts[key]) for key in ("name", "fingerprint")]
    lines += [_row(kind, _counted(graph[kind])) for kind in ("triples", "entities", "literals", "relations")]
    lines.append(_row("passages", f"{_counted(text['passages'])} ({text['name']})" if text else "none"))
    if text:
        lines.append(_row("with text", _counted(text["entities"])))
    return facts, lines + [_row("note", note) for note in notes]


def _documents(folder: Path) -> tuple[list[Any], list[str]]:
    """A line for each document: its id, its passages, what is wrong with it."""
    from thinkgraph.ingest.documents.store import DocumentStore
    from thinkgraph.tools.kb_files import DOCUMENTS, read_manifest

    read_manifest(folder)
    if not (folder / DOCUMENTS).is_file():
        raise UsageError(f"{folder} was not built from documents")
    with DocumentStore(folder / DOCUMENTS, write=False) as store:
        facts = list(store.facts())
    return facts, [
        f"{one_line(fact['id'])}  {many(fact['passages'], 'passage')}"
        + (f"  same words as {one_line(fact['copy_of'])}" if fact["copy_of"] else "")
        + (f"  failed: {one_line(fact['problem'])}" if fact["problem"] else "")
        for fact in facts
    ]


def _folder(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """What the manifest says, the size on disk, and the relations."""
    from thinkgraph.tools import kb_files
    from thinkgraph.tools.linking.names import relation_label
    from thinkgraph.tools.sqlite.graph import SqliteGraphStore

    manifest = kb_files.read_manifest(folder)
    kb_files.check_content(folder, manifest)
    with SqliteGraphStore(folder / kb_files.GRAPH) as graph:
        relations = graph.relation_counts()
    size = _size(folder)
    listed = [{"name": name, "label": label, "triples": count} for name, label, count in relations]
    encoded = _encoded(folder, manifest)
    lines = _manifest_lines(manifest, size, encoded)
    # The label too, where the name does not tell ("P36", an IRI).
    lines += [
        f"  {count:>12,}  {one_line(name)}" + (f"  ({one_line(label)})" if label != relation_label(name) else "")
        for name, label, count in relations[:_SHOWN]
    ]
    counts = {what: {"made": made, "of": total} for what, (made, total) in encoded.items()}
    return {**manifest, "bytes": size, "encoded": counts, "relations": listed}, lines + _more(relations)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())


def _manifest_lines(manifest: KbManifest, size: int, encoded: dict[str, tuple[int, int]]) -> list[str]:
    graph, text, model, linking = manifest["graph"], manifest["text"], manifest["embedder"], manifest["linking"]
    lines = [
        _row("name", manifest["name"]),
        _row("fingerprint", manifest["fingerprint"]),
        _row("format", f"{manifest['format']}, made {manifest['created']}"),
        _row("size", f"{size / 1e6:,.1f} MB"),
        *(_row(kind, f"{graph[kind]:,}") for kind in ("triples", "entities", "literals")),
    ]
    if documents := manifest.get("documents"):
        parts = [f"{documents['documents']:,}"]
        parts += [f"{documents[kind]:,} {kind}" for kind in ("copies", "failed") if documents[kind]]
        by = f" by {documents['model']}" if documents["extract"] != "cooccurrence" else ""
        lines.append(_row("documents", f"{', '.join(parts)} (relations: {documents['extract']}{by})"))
    if text:
        share = text["entities"] / graph["entities"] if graph["entities"] else 0
        lines.append(_row("passages", f"{text['passages']:,} ({text['not_linked']:,} about no known entity)"))
        lines.append(_row("with text", f"{text['entities']:,} entities ({share:.1%})"))
    else:
        lines.append(_row("passages", "none"))
    if linking:
        lines.append(_row("by meaning", f"{linking['entities']:,} of {graph['entities']:,} entities can be linked"))
    else:
        lines.append(_row("by meaning", "no entity can be linked (built with --no-index)"))
    for what, (made, total) in encoded.items():
        note = "" if made == total else " (the others when they are first ranked, or all by `thinkgraph kb index`)"
        lines.append(_row("encoded", f"{made:,} of {total:,} {what}{note}"))
    if "passages" in encoded:
        lines.append(_row("search", _search_words(*encoded["passages"])))
    return [*lines, _row("embedder", model["name"] if model else "none"), _row("relations", f"{graph['relations']:,}")]


def _search_words(made: int, total: int) -> str:
    """Which passages are ranked by their vectors."""
    from thinkgraph.tools.sqlite.text import SCANNED

    few = "those whose words fit best"
    if made < total:
        return f"by meaning, of {few}"
    return f"by meaning, of all about an entity; over everything, of {few}" if total > SCANNED else "by meaning, of all"


def _encoded(folder: Path, manifest: KbManifest) -> dict[str, tuple[int, int]]:
    """How many passages and entities have their vectors, and of how many."""
    from thinkgraph.tools import kb_files
    from thinkgraph.tools.sqlite.encodings import stored_vectors

    found = {}
    files = {"passages": kb_files.TEXT, "entities": kb_files.ENTITIES}
    for what, name in files.items():
        if name in manifest["files"]:
            with stored_vectors(folder / name) as (db, vectors):
                (total,) = db.execute("SELECT count(*) FROM passages").fetchone()
                found[what] = (vectors.count(db), total)
    return found


def _server(knowledge: Knowledge) -> tuple[dict[str, Any], list[str]]:
    """What was recognised in a Neo4j database."""
    describe = getattr(knowledge.graph, "describe", None)
    described: dict[str, Any] = describe(knowledge.text) if callable(describe) else {}
    text = knowledge.text.info() if knowledge.text is not None else None
    counts = {"passages": text["passages"] if text else 0, "with_text": text["entities"] if text else 0}
    facts: dict[str, Any] = {
        **knowledge.graph.info(),
        **counts,
        **described,
        "fingerprint": knowledge.fingerprint,
    }
    about = "" if facts.get("exact", True) else "about "
    lines = [_row(key, facts[key]) for key in ("name", "address", "server", "fingerprint") if key in facts]
    lines += [
        _row("triples", f"{about}{facts['triples']:,}"),
        _row("entities", f"{facts['entities']:,}"),
        _row("literals", f"{about}{facts['literals']:,}"),
        _row("passages", f"{about}{facts['passages']:,}"),
        _row("with text", f"{about}{facts['with_text']:,} entities"),
    ]
    if labels := facts.get("labels", []):
        lines += ["labels", *(line for label in labels[:_SHOWN] for line in _label_lines(label)), *_more(labels)]
    if isinstance(facts["relations"], list) and (relations := facts["relations"]):
        lines += ["relations", *map(_relation_line, relations[:_SHOWN]), *_more(relations)]
    if indexes := facts.get("indexes"):
        ways = [f"full-text index {name}" for name in indexes["fulltext"]]
        ways += [f"index on {pair}" for pair in indexes["exact"]]
        ways += [f"{', '.join(labels[:6])} read whole" for labels in indexes["scanned"]]
        fits = " (where it fits the encoder)" if indexes["vector"] else ""
        lines.append(_row("names", "; ".join(ways) or "none"))
        lines.append(_row("full text", ", ".join(indexes["text"]) or "no index"))
        lines.append(_row("vectors", f"{', '.join(indexes['vector']) or 'no index'}{fits}"))
    return facts, lines + [_row("slow", note) for note in facts.get("missing", [])]


def _relation_line(relation: dict[str, Any]) -> str:
    count = f"{relation['triples']:,}" if relation["triples"] >= 0 else ""
    hidden = "  hidden" if relation["hidden"] else ""
    return f"  {count:>12}  {one_line(relation['label'])} ({one_line(relation['name'])}){hidden}"


def _label_lines(label: dict[str, Any]) -> list[str]:
    parts = {
        "id": [label["id"]] if label["id"] else [],
        "named by": label["names"],
        "aliases": label["aliases"],
        "described by": [label["description"]] if label["description"] else [],
        "text": label["text"],
        "values": label["values"] if label["kind"] == "entities" else [],
    }
    return [f"  {label['nodes']:>12,}  {one_line(label['label'])}: {label['kind']}"] + [
        f"{'':>16}{word} {', '.join(map(one_line, names))}" for word, names in parts.items() if names
    ]
