"""`thinkgraph kb`: build a knowledge base, keep it up to date, show what one holds, load it into a server."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from thinkgraph.cli.kb import documents
from thinkgraph.cli.options import add_text
from thinkgraph.cli.show import INTERRUPTED
from thinkgraph.errors import UsageError

if TYPE_CHECKING:
    from thinkgraph.ingest.build import BuildReport
    from thinkgraph.tools.kb_files import DocumentCounts, KbManifest

_SHOWN_REJECTS = 20
_SHOWN_RELATIONS = 40
_REDRAW_SECONDS = 0.2
_LINE_SECONDS = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `kb build`, `kb info` and `kb export` on the parser of `kb`."""
    from thinkgraph.cli.kb.server import add_export

    commands = parser.add_subparsers(dest="kb_command", metavar="COMMAND", required=True)
    _add_build(commands)
    documents.add_commands(commands)
    info = commands.add_parser("info", help="show what a knowledge base holds")
    info.add_argument("folder", metavar="KB", help='a knowledge base\'s folder, "world", or an address')
    add_text(info)
    info.add_argument("--documents", action="store_true", help="list the documents it was built from")
    info.add_argument("--json", action="store_true", help="print JSON")
    add_export(commands)


_FILES: dict[str, Any] = {"metavar": "FILE", "type": Path, "action": "extend", "nargs": "+", "default": []}
_BUILD = "Build a knowledge base. A build that was stopped goes on when the same command is given again."


def _add_build(commands: Any) -> None:
    build = commands.add_parser("build", help="build a knowledge base from files", description=_BUILD)
    build.add_argument("folder", metavar="DIR", type=Path, help="the knowledge base's folder; made by the build")
    build.add_argument(
        "--triples",
        **_FILES,
        help="TSV, CSV, JSON Lines, subject|relation|object lines or RDF (.nt, .ttl, .rdf, .nq …), plain, .gz or .bz2; may be repeated",
    )
    build.add_argument("--wikidata", **_FILES, help="a JSON dump of Wikidata")
    build.add_argument(
        "--language",
        metavar="CODE[,CODE]",
        type=_languages,
        default=[],
        help="of names and texts in RDF and dumps, the best first (default en; if given, RDF values in others are left out)",
    )
    build.add_argument("--passages", **_FILES, help="JSON Lines: id, text, title…")
    build.add_argument("--aliases", metavar="FILE", type=Path, help="JSON: {entity: [alias, …]}")
    build.add_argument("--entities", metavar="FILE", type=Path, help="TSV or JSON Lines: id, label, type, description")
    build.add_argument("--name", metavar="NAME", help="name of the knowledge base (by default the folder's)")
    build.add_argument(
        "--embedder", metavar="NAME", help="sentence encoder for the passages (by default the bundled one)"
    )
    build.add_argument(
        "--literal",
        metavar="RELATION",
        action="extend",
        nargs="+",
        default=[],
        help="relation whose objects are all literal values; may be repeated",
    )
    build.add_argument("--no-literals", action="store_true", help="do not look for literal values")
    build.add_argument(
        "--no-index",
        action="store_true",
        help="do not encode the entities for linking by meaning, nor make the index for searching all vectors now",
    )
    build.add_argument("--strict", action="store_true", help="stop at the first malformed row")
    build.add_argument("--replace", action="store_true", help="replace the knowledge base that is there")
    documents.add_build_arguments(build)


def _languages(text: str) -> list[str]:
    found = [code.strip() for code in text.split(",") if code.strip()]
    if not found or not all(code.isascii() and code.replace("-", "").isalnum() for code in found):
        raise argparse.ArgumentTypeError(f"takes language codes with commas between them, not '{text}'")
    return found


def run(args: argparse.Namespace) -> int:
    """Run the parsed command; returns the exit status.

    Raises:
        ThinkGraphError: what the user can mend.
    """
    if args.kb_command == "export":
        return _export(args)
    if args.kb_command == "info":
        return _info(args)
    if args.kb_command == "build":
        documents.check(args)
        if not args.documents:
            return _build(args)
    change = {"build": documents.build, "update": documents.update, "remove": documents.remove}[args.kb_command]
    with LineProgress(sys.stderr) as progress:
        report = change(args, progress)
    _print_rejects(report.build, sys.stderr)
    _print_notes(report.build)
    _print([*_summary(report.build), *documents.summary(report)])
    return 0


def _export(args: argparse.Namespace) -> int:
    from thinkgraph.cli.kb.server import export

    with LineProgress(sys.stderr) as progress:
        return export(args, progress)


def _build(args: argparse.Namespace) -> int:
    from thinkgraph.ingest.build import build_kb

    try:
        with LineProgress(sys.stderr) as progress:
            report = build_kb(
                args.folder,
                triples=args.triples,
                wikidata=args.wikidata,
                languages=args.language,
                passages=args.passages,
                aliases=args.aliases,
                entities=args.entities,
                name=args.name,
                embedder=args.embedder,
                literal_relations=args.literal,
                detect_literals=not args.no_literals,
                index=not args.no_index,
                strict=args.strict,
                replace=args.replace,
                progress=progress,
            )
    except KeyboardInterrupt:
        print("thinkgraph: error: interrupted; the same command goes on where it stopped", file=sys.stderr)  # noqa: T201
        return INTERRUPTED
    _print_rejects(report, sys.stderr)
    _print_notes(report)
    _print(_summary(report))
    return 0


def _print_notes(report: BuildReport) -> None:
    for note in report.notes:
        print(f"note: {_shown(note)}", file=sys.stderr)  # noqa: T201 (beside the summary)


def _summary(report: BuildReport) -> list[str]:
    graph, text = report.manifest["graph"], report.manifest["text"]
    counts = ", ".join(f"{graph[kind]:,} {kind}" for kind in ("triples", "entities", "literals", "relations"))
    lines = [f"{_shown(str(report.folder))}: {counts}"]
    if text:
        about = f"about {text['entities']:,} entities, {text['not_linked']:,} about none that is known"
        lines.append(f"{text['passages']:,} passages, {about}")
    if graph["duplicates"]:
        lines.append(f"{graph['duplicates']:,} duplicate rows left out")
    if relations := report.manifest["literal_relations"]:
        named = ", ".join(_shown(name) for name in relations[:8])
        lines.append(f"literal values: {named}{f' and {len(relations) - 8:,} more' if len(relations) > 8 else ''}")  # noqa: PLR2004
    how = "continued, " if report.resumed else ""
    lines.append(f"fingerprint {report.manifest['fingerprint']} ({how}{report.seconds:.1f} s)")
    return lines


def _print_rejects(report: BuildReport, out: TextIO) -> None:
    for reject in report.examples[:_SHOWN_REJECTS]:
        where = f"{reject['file']}, line {reject['line']}" if reject["line"] else reject["file"]
        print(f"{_shown(where)}: {reject['kind']}: {_shown(reject['reason'])}", file=out)
    if report.rejected:
        counts = ", ".join(f"{n:,} {kind}" for kind, n in sorted(report.rejected.items()))
        print(f"not used: {counts} (see build_report.jsonl in the folder)", file=out)


def _info(args: argparse.Namespace) -> int:
    from thinkgraph.cli.kb.server import info, is_server, show_store

    if is_server(args.folder) and not args.text:
        return info(args.folder, as_json=args.json)
    if "://" in args.folder or args.text:
        return show_store(args.folder, args.text, as_json=args.json)
    from thinkgraph.ingest.world import WORLD, world_folder
    from thinkgraph.tools import kb_files
    from thinkgraph.tools.sqlite.graph import SqliteGraphStore

    if args.folder == WORLD:
        with LineProgress(sys.stderr) as progress:
            folder = world_folder(progress)
    else:
        folder = Path(args.folder).expanduser()
    manifest = kb_files.read_manifest(folder)
    if args.documents:
        _print(_listed(folder, as_json=args.json))
        return 0
    with SqliteGraphStore(folder / kb_files.GRAPH) as graph:
        relations = graph.relation_counts()
    size = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    if args.json:
        facts = {
            **manifest,
            "bytes": size,
            "relations": [{"name": n, "label": b, "triples": c} for n, b, c in relations],
        }
        _print([json.dumps(facts, ensure_ascii=False, indent=2)])
        return 0
    _print(_facts(manifest, relations, size))
    return 0


def _listed(folder: Path, *, as_json: bool) -> list[str]:
    """A line for each document: its id, its passages, what is wrong with it."""
    from thinkgraph.ingest.documents.store import DocumentStore
    from thinkgraph.tools.kb_files import DOCUMENTS

    if not (folder / DOCUMENTS).is_file():
        raise UsageError(f"{folder} was not built from documents")
    with DocumentStore(folder / DOCUMENTS, write=False) as store:
        facts = list(store.facts())
    if as_json:
        return [json.dumps(facts, ensure_ascii=False, indent=2)]
    return [
        f"{_shown(fact['id'])}  {fact['passages']:,} passages"
        + (f"  same words as {_shown(fact['copy_of'])}" if fact["copy_of"] else "")
        + (f"  failed: {_shown(fact['problem'])}" if fact["problem"] else "")
        for fact in facts
    ]


def _facts(manifest: KbManifest, relations: Sequence[tuple[str, str, int]], size: int) -> list[str]:
    from thinkgraph.tools.linking.names import relation_label

    graph, text, model = manifest["graph"], manifest["text"], manifest["embedder"]
    lines = [
        f"name         {_shown(manifest['name'])}",
        f"fingerprint  {manifest['fingerprint']}",
        f"format       {manifest['format']}, made {manifest['created']}",
        f"size         {size / 1e6:,.1f} MB",
        f"triples      {graph['triples']:,}",
        f"entities     {graph['entities']:,}",
        f"literals     {graph['literals']:,}",
    ]
    if counts := manifest.get("documents"):
        lines.append(f"documents    {_counted(counts)}")
    if text:
        share = text["entities"] / graph["entities"] if graph["entities"] else 0
        lines += [
            f"passages     {text['passages']:,} ({text['not_linked']:,} about no known entity)",
            f"with text    {text['entities']:,} entities ({share:.1%})",
        ]
    else:
        lines.append("passages     none")
    if linking := manifest["linking"]:
        lines.append(f"by meaning   {linking['entities']:,} of {graph['entities']:,} entities can be linked")
    else:
        lines.append("by meaning   no entity can be linked (built with --no-index)")
    for kind, store in (("passages", text), ("entities", linking)):
        if store:
            lines.append(f"search       {kind}: {_search(store['fingerprint'], store['vectors'])}")
    lines.append(f"embedder     {_shown(str(model['name'])) if model else 'none'}")
    lines.append(f"relations    {graph['relations']:,}")
    # The label too, where the name does not tell ("P36", an IRI).
    lines += [
        f"  {count:>12,}  {_shown(name)}" + (f"  ({_shown(label)})" if label != relation_label(name) else "")
        for name, label, count in relations[:_SHOWN_RELATIONS]
    ]
    if len(relations) > _SHOWN_RELATIONS:
        lines.append(f"  … and {len(relations) - _SHOWN_RELATIONS:,} more (--json shows all)")
    return lines


def _counted(documents: DocumentCounts) -> str:
    """How many documents there are, and where their relations come from."""
    parts = [f"{documents['documents']:,}"]
    parts += [f"{documents[kind]:,} {kind}" for kind in ("copies", "failed") if documents[kind]]
    by = f" by {_shown(documents['model'])}" if documents["extract"] != "cooccurrence" else ""
    return f"{', '.join(parts)} (relations: {documents['extract']}{by})"


def _search(fingerprint: str, vectors: int) -> str:
    """How a search over all vectors of a store is done."""
    from thinkgraph.tools.sqlite.text_schema import SCANNED
    from thinkgraph.tools.vectorstores.index import index_folder, is_complete

    if vectors <= SCANNED:
        return f"all {vectors:,} vectors are read (an index is made for more than {SCANNED:,})"
    folder = index_folder(fingerprint)
    where = "in" if is_complete(folder) else "not made yet: on first use, in"
    return f"index of {vectors:,} vectors {where} {_shown(str(folder))}"


def _print(lines: Sequence[str]) -> None:
    print("\n".join(lines))  # noqa: T201 (the command's result)


def _shown(text: str) -> str:
    """Other people's text without the characters that would steer a terminal."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


class LineProgress(AbstractContextManager["LineProgress"]):
    """Shows progress: one line that changes on a terminal, a line now and then elsewhere. See `Progress`."""

    def __init__(self, out: TextIO) -> None:
        """Write to `out`."""
        self._out = out
        self._terminal = out.isatty()
        self._stage = ""
        # Where lines stay, as in a log, what is done within seconds is not worth one.
        self._last = 0.0 if self._terminal else time.monotonic()
        self._width = 0

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Show `done` of `total`; calls that follow within a moment show nothing."""
        now = time.monotonic()
        finished = total is not None and done >= total
        pause = _REDRAW_SECONDS if self._terminal else _LINE_SECONDS
        at_once = self._terminal and (finished or stage != self._stage)
        if not at_once and now - self._last < pause:
            return
        self._stage, self._last = stage, now
        line = f"{stage}: {done:,}" + (f" of {total:,}" if total is not None else "")
        if self._terminal:
            self._out.write(f"\r{line:<{self._width}}")
            self._width = len(line)
        else:
            self._out.write(f"{line}\n")
        self._out.flush()

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Clear the changing line."""
        if self._terminal and self._width:
            self._out.write("\r" + " " * self._width + "\r")
            self._out.flush()
            self._width = 0
