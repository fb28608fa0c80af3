"""`thinkgraph kb info` of a knowledge base on a server, and `thinkgraph kb export` to one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinkgraph.cli.show import INTERRUPTED, write_json, write_line
from thinkgraph.errors import KnowledgeError, UsageError
from thinkgraph.prompts.lines import one_line

if TYPE_CHECKING:
    from thinkgraph.tools.knowledge import Knowledge
    from thinkgraph.tools.progress import Progress

CSV = "neo4j-csv"
_SHOWN = 40


def is_server(spec: str) -> bool:
    """Whether a knowledge base's name is the address of a Neo4j server."""
    return spec.startswith(("neo4j", "bolt")) and "://" in spec


def info(spec: str, *, as_json: bool) -> int:
    """Print what was recognised in a Neo4j database; returns the exit status."""
    from thinkgraph.tools.knowledge import Knowledge

    with Knowledge.open(spec) as knowledge:
        facts = _facts(knowledge)
    if as_json:
        write_json(facts, indent=2)
    else:
        for line in _lines(facts):
            write_line(line)
    return 0


def show_store(spec: str, text: str | None, *, as_json: bool) -> int:
    """Print what the graph and the text store report of themselves; returns the exit status."""
    from thinkgraph.tools.knowledge import Knowledge

    with Knowledge.open(spec, text=text) as knowledge:
        graph = knowledge.graph.info()
        passages = knowledge.text.info() if knowledge.text else None
        notes = list(getattr(knowledge.graph, "notes", ()))
        name, fingerprint = knowledge.name, knowledge.fingerprint
    if as_json:
        write_json({"name": name, "fingerprint": fingerprint, "graph": graph, "text": passages, "notes": notes})
        return 0
    lines = [("name", name), ("fingerprint", fingerprint)]
    lines += [(kind, _counted(graph[kind])) for kind in ("triples", "entities", "literals", "relations")]
    if passages:
        lines.append(("passages", f"{_counted(passages['passages'])} ({passages['name']})"))
        lines.append(("with text", _counted(passages["entities"])))
    else:
        lines.append(("passages", "none"))
    lines += [("note", note) for note in notes]
    write_line("\n".join(f"{title:<12} {one_line(value)}" for title, value in lines))
    return 0


def _facts(knowledge: Knowledge) -> dict[str, Any]:
    describe = getattr(knowledge.graph, "describe", None)
    described: dict[str, Any] = describe(knowledge.text) if callable(describe) else {}
    text = knowledge.text.info() if knowledge.text is not None else None
    counts = {"passages": text["passages"] if text else 0, "with_text": text["entities"] if text else 0}
    return {**knowledge.graph.info(), **counts, **described, "fingerprint": knowledge.fingerprint}


def _lines(facts: dict[str, Any]) -> list[str]:
    about = "" if facts.get("exact", True) else "about "
    lines = [f"{'name':<12} {one_line(facts['name'])}"]
    lines += [f"{key:<12} {one_line(facts[key])}" for key in ("address", "server") if key in facts]
    lines += [
        f"{'fingerprint':<12} {facts['fingerprint']}",
        f"{'triples':<12} {about}{facts['triples']:,}",
        f"{'entities':<12} {facts['entities']:,}",
        f"{'literals':<12} {about}{facts['literals']:,}",
        f"{'passages':<12} {about}{facts['passages']:,}",
        f"{'with text':<12} {about}{facts['with_text']:,} entities",
    ]
    labels = facts.get("labels", [])
    lines += ["labels"] * bool(labels) + [line for label in labels[:_SHOWN] for line in _label_lines(label)]
    lines += _more(labels)
    relations = facts["relations"] if isinstance(facts["relations"], list) else []
    lines += ["relations"] * bool(relations)
    lines += [
        f"  {_number(one['triples'])}  {one_line(one['label'])} ({one_line(one['name'])})"
        + ("  hidden" if one["hidden"] else "")
        for one in relations[:_SHOWN]
    ]
    lines += _more(relations)
    if indexes := facts.get("indexes"):
        lines += [
            f"{'names':<12} {_names(indexes)}",
            f"{'full text':<12} {_listed(indexes['text'])}",
            f"{'vectors':<12} {_listed(indexes['vector'])}"
            + (" (where it fits the encoder)" if indexes["vector"] else ""),
        ]
    lines += [f"{'slow':<12} {one_line(note)}" for note in facts.get("missing", [])]
    return lines


def _number(count: int) -> str:
    """A count, right-aligned; blank where it is unknown."""
    return f"{count:>12,}" if count >= 0 else f"{'':>12}"


def _label_lines(label: dict[str, Any]) -> list[str]:
    head = f"  {label['nodes']:>12,}  {one_line(label['label'])}: {label['kind']}"
    parts = [
        f"{word} {', '.join(map(one_line, names))}"
        for word, names in (
            ("id", [label["id"]] if label["id"] else []),
            ("named by", label["names"]),
            ("aliases", label["aliases"]),
            ("described by", [label["description"]] if label["description"] else []),
            ("text", label["text"]),
            ("values", label["values"] if label["kind"] == "entities" else []),
        )
        if names
    ]
    return [head] + [f"{'':>16}{part}" for part in parts]


def _names(indexes: dict[str, Any]) -> str:
    ways = [f"full-text index {one_line(name)}" for name in indexes["fulltext"]]
    ways += [f"index on {one_line(pair)}" for pair in indexes["exact"]]
    ways += [f"{', '.join(map(one_line, labels[:6]))} read whole" for labels in indexes["scanned"]]
    return "; ".join(ways) or "none"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(one_line, names)) or "no index"


def _more(items: Sequence[Any]) -> list[str]:
    return [f"  … and {len(items) - _SHOWN:,} more (--json shows all)"] if len(items) > _SHOWN else []


def add_export(commands: Any) -> None:
    """Declare `kb export`."""
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


def export(args: argparse.Namespace, progress: Progress) -> int:
    """Run `kb export`; gives the exit status."""
    from thinkgraph.ingest.world import WORLD, world_folder

    if is_server(args.folder):
        raise UsageError("kb export takes a knowledge base's folder; a server's data are where they should be")
    if ("://" in args.to) == bool(args.format):
        raise UsageError(
            f"give --to neo4j://… for a running database, or --to FOLDER --format {CSV} for files for neo4j-admin"
        )
    try:
        folder = world_folder(progress) if args.folder == WORLD else Path(args.folder).expanduser()
        line = _to_files(folder, args.to, progress) if args.format else _to_server(folder, args.to, progress)
    except KeyboardInterrupt:
        again = "empty the folder and start again" if args.format else "the same command goes on where it stopped"
        print(f"thinkgraph: error: interrupted; {again}", file=sys.stderr)  # noqa: T201 - this is the terminal
        return INTERRUPTED
    write_line(line)
    return 0


def _to_server(folder: Path, to: str, progress: Progress) -> str:
    from thinkgraph.ingest.neo4j.export import export_neo4j
    from thinkgraph.tools.neo4j.connection import SCHEMES, parse_address

    scheme = to.partition("://")[0]
    if scheme.lower() not in SCHEMES:
        raise KnowledgeError(f"{one_line(scheme)}:// takes no export; neo4j:// and bolt:// do")
    address = parse_address(to)
    report = export_neo4j(folder, address, progress=progress)
    how = "continued, " if report.resumed else ""
    return (
        f"{address}: {report.triples:,} triples, {report.entities:,} entities, {report.literals:,} literals, "
        f"{report.passages:,} passages ({how}{report.seconds:.1f} s)"
    )


def _to_files(folder: Path, to: str, progress: Progress) -> str:
    from thinkgraph.ingest.neo4j.csv_files import export_csv

    target = Path(to).expanduser()
    files = export_csv(folder, target, progress=progress)
    return f"{one_line(str(target))}: {len(files)} files; load them with sh {one_line(str(target))}/import.sh DATABASE"


def _counted(number: int) -> str:
    return f"{number:,}" if number >= 0 else "unknown"
