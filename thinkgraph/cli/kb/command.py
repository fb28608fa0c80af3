"""`thinkgraph kb`: build a knowledge base, keep it up to date, show what one holds, load it into a server."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinkgraph.cli.kb import documents, info
from thinkgraph.cli.options import SEVERAL, add_flags
from thinkgraph.cli.show import LineProgress, many, stopped_code, write_line
from thinkgraph.errors import KnowledgeError, UsageError
from thinkgraph.prompts.lines import one_line
from thinkgraph.tools.openers import folder_of

if TYPE_CHECKING:
    from thinkgraph.ingest.build import BuildReport
    from thinkgraph.tools.progress import Progress

    _Work = Callable[[argparse.Namespace, Progress], tuple[BuildReport | None, list[str]]]

CSV = "neo4j-csv"
_SHOWN_REJECTS = 20
_SHOWN_LITERALS = 8
_ONE = {
    "triples": "triple",
    "entities": "entity",
    "literals": "literal",
    "relations": "relation",
    "passages": "passage",
}
_INDEXED = {"text": "passages", "entities": "entities"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the commands of `kb`."""
    commands = parser.add_subparsers(dest="kb_command", metavar="COMMAND", required=True)
    _add_build(commands)
    documents.add_commands(commands)
    info.add_arguments(commands)
    index = commands.add_parser(
        "index",
        help="encode all passages and entities ahead",
        description="Encode all passages and entities ahead: questions are quicker, and searches exact. What was stopped goes "
        "on when the same command is given again.",
    )
    index.add_argument("folder", metavar="KB", help='a knowledge base\'s folder, or "world"')
    add_flags(index, "trust-embedder")
    export = commands.add_parser(
        "export",
        help="load a knowledge base into an empty Neo4j database, or write files for neo4j-admin",
        description="Load a knowledge base into an empty Neo4j database, or write files for neo4j-admin. An export that was "
        "stopped goes on when the same command is given again.",
    )
    export.add_argument("folder", metavar="KB", help='a knowledge base\'s folder, or "world"')
    export.add_argument(
        "--to", metavar="TO", required=True, help="neo4j://user:password@host/database, or a new folder"
    )
    export.add_argument(
        "--format", metavar="F", choices=[CSV], help=f"{CSV}: CSV files for `neo4j-admin database import`"
    )


def _add_build(commands: Any) -> None:
    build = commands.add_parser(
        "build",
        help="build a knowledge base from files",
        description="Build a knowledge base. A build that was stopped goes on when the same command is given again.",
    )
    build.add_argument(
        "folder", metavar="DIR", type=info.own_folder, help="the knowledge base's folder; made by the build"
    )
    build.add_argument(
        "--triples",
        metavar="FILE",
        **SEVERAL,
        help="TSV, CSV, JSON Lines, subject|relation|object lines, RDF (.nt, .ttl, .rdf, .nq …) or GRBench's graph.json, plain, .gz or .bz2; "
        "may be repeated",
    )
    build.add_argument("--wikidata", metavar="FILE", **SEVERAL, help="a JSON dump of Wikidata")
    build.add_argument(
        "--language",
        metavar="CODE[,CODE]",
        type=_languages,
        default=[],
        help="of names and texts in RDF and dumps, the best first (default en; if given, RDF values in others are left out)",
    )
    build.add_argument("--passages", metavar="FILE", **SEVERAL, help="JSON Lines: id, text, title…")
    build.add_argument("--aliases", metavar="FILE", help="JSON: {entity: [alias, …]}")
    build.add_argument("--entities", metavar="FILE", help="TSV or JSON Lines: id, label, type, description")
    build.add_argument("--name", metavar="NAME", help="name of the knowledge base (by default the folder's)")
    build.add_argument(
        "--embedder", metavar="NAME", help="sentence encoder for the passages (by default the bundled one)"
    )
    build.add_argument(
        "--literal",
        metavar="RELATION",
        **SEVERAL,
        help="relation whose objects are all literal values; may be repeated",
    )
    build.add_argument("--no-literals", action="store_true", help="do not look for literal values")
    build.add_argument(
        "--no-index",
        action="store_true",
        help="no linking of entities by meaning",
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
    if args.kb_command == "info":
        return info.run(args)
    if args.kb_command == "build":
        documents.check(args)
    works: dict[str, _Work] = {
        "build": _build,
        "update": documents.update,
        "remove": documents.remove,
        "index": _index,
        "export": _export,
    }
    work = works[args.kb_command]
    try:
        with LineProgress(sys.stderr) as progress:
            report, lines = work(args, progress)
    except KeyboardInterrupt as stop:
        sys.stderr.write("thinkgraph: error: interrupted; the same command goes on where it stopped\n")
        return stopped_code(stop)
    if report:
        sys.stderr.writelines(f"{line}\n" for line in _problems(report))
        lines = [*_summary(report), *lines]
    write_line("\n".join(lines))
    return 0


def _build(args: argparse.Namespace, progress: Progress) -> tuple[BuildReport, list[str]]:
    from thinkgraph.ingest.build import build_kb

    if args.embedder:
        from thinkgraph.tools.encoders.embeddings import load_embedder

        # The build encodes nothing: a wrong name would be found by the first question.
        load_embedder(args.embedder).embed([args.embedder])
    if args.documents or args.loader:
        return documents.build(args, progress)
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
    return report, []


def _index(args: argparse.Namespace, progress: Progress) -> tuple[None, list[str]]:
    from thinkgraph.ingest.encode import encode_kb

    if "://" in args.folder:
        raise UsageError(
            "kb index takes a knowledge base's folder; of a server's texts, what a question brings is encoded"
        )
    folder = folder_of(args.folder, progress)
    made = encode_kb(folder, trust_embedder=bool(args.trust_embedder), progress=progress)
    counts = ", ".join(f"{count:,} of the {_INDEXED[what]}" for what, count in made.items())
    return None, [f"{one_line(str(folder))}: all is encoded ({counts or 'nothing to encode'} now)"]


def _problems(report: BuildReport) -> list[str]:
    lines = []
    for reject in report.examples[:_SHOWN_REJECTS]:
        where = f"{reject['file']}, line {reject['line']}" if reject["line"] else reject["file"]
        lines.append(one_line(f"{where}: {reject['kind']}: {reject['reason']}"))
    if report.rejected:
        lines.append(f"not used: {report.not_used} (see build_report.jsonl in the folder)")
    return lines


def _summary(report: BuildReport) -> list[str]:
    graph, text = report.manifest["graph"], report.manifest["text"]
    counts = ", ".join(many(graph[kind], _ONE[kind], kind) for kind in ("triples", "entities", "literals", "relations"))
    lines = [f"{one_line(str(report.folder))}: {counts}"]
    if text:
        about = f"about {many(text['entities'], 'entity', 'entities')}, {text['not_linked']:,} about none that is known"
        lines.append(f"{many(text['passages'], 'passage')}, {about}")
    if graph["duplicates"]:
        lines.append(f"{many(graph['duplicates'], 'duplicate row')} left out")
    if relations := report.manifest["literal_relations"]:
        more = len(relations) - _SHOWN_LITERALS
        named = ", ".join(map(one_line, relations[:_SHOWN_LITERALS]))
        lines.append(f"literal values: {named}{f' and {more:,} more' if more > 0 else ''}")
    how = "continued, " if report.resumed else ""
    lines.append(f"fingerprint {report.manifest['fingerprint']} ({how}{report.seconds:.1f} s)")
    return lines


def _export(args: argparse.Namespace, progress: Progress) -> tuple[None, list[str]]:
    from thinkgraph.ingest.neo4j.csv_files import export_csv
    from thinkgraph.ingest.neo4j.export import export_neo4j
    from thinkgraph.tools.neo4j.connection import SCHEMES, parse_address

    if "://" in args.folder:
        raise UsageError("kb export takes a knowledge base's folder; a server's data are where they should be")
    if ("://" in args.to) == bool(args.format):
        raise UsageError(
            f"give --to neo4j://… for a running database, or --to FOLDER --format {CSV} for files for neo4j-admin"
        )
    if args.format and args.to.lower().startswith(
        tuple(f"{scheme}{mark}" for scheme in SCHEMES for mark in ("//", ":/"))
    ):
        raise UsageError("--to begins like an address, which has :// after its scheme; a folder of that name is ./…")
    folder = folder_of(args.folder, progress)
    if args.format:
        target = one_line(str(Path(args.to).expanduser()))
        files = export_csv(folder, Path(args.to).expanduser(), progress=progress)
        return None, [f"{target}: {len(files)} files; load them with sh {target}/import.sh DATABASE"]
    scheme = args.to.partition("://")[0]
    if scheme.lower() not in SCHEMES:
        raise KnowledgeError(f"{one_line(scheme)}:// takes no export; neo4j:// and bolt:// do")
    address = parse_address(args.to)
    report = export_neo4j(folder, address, progress=progress)
    kinds = ("triples", "entities", "literals", "passages")
    counts = ", ".join(many(getattr(report, kind), _ONE[kind], kind) for kind in kinds)
    how = "continued, " if report.resumed else ""
    return None, [f"{address}: {counts} ({how}{report.seconds:.1f} s)"]
