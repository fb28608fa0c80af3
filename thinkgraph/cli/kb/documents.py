"""`thinkgraph kb build --documents`, `kb update` and `kb remove`: knowledge bases out of documents."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from thinkgraph.cli.kb.info import own_folder
from thinkgraph.cli.options import MODEL, SEVERAL, add_flags, configured, prices_of, profiles
from thinkgraph.cli.show import leaving_at_once, many
from thinkgraph.config import load_config, parse_settings
from thinkgraph.errors import UsageError
from thinkgraph.prompts.lines import one_line
from thinkgraph.tools.addresses import local_path

if TYPE_CHECKING:
    from thinkgraph.ingest.build import BuildReport
    from thinkgraph.ingest.documents.build import DocumentsReport, ExtractionModel
    from thinkgraph.tools.progress import Progress

_INTERRUPTED = "interrupted; the same command goes on where it stopped"
_ONLY_MODEL = ("model", "prices", "prompts", "set", "relations", "entity_types")
_ONLY_DOCUMENTS = ("extract", *_ONLY_MODEL, "passage_size", "encoding")
_OTHER_INPUTS = ("triples", "wikidata", "passages", "aliases", "entities")
_NEVER_DOCUMENTS = (*_OTHER_INPUTS, "language", "literal", "no_literals", "strict")


def add_build_arguments(build: argparse.ArgumentParser) -> None:
    """The flags of `kb build` that are about documents."""
    group = build.add_argument_group("from documents without a graph")
    _add_documents(group)
    group.add_argument(
        "--loader",
        metavar="MODULE:CLASS",
        help="read them with this LangChain loader, which is given each PATH as it stands, or nothing where there is none",
    )
    group.add_argument(
        "--extract",
        choices=("cooccurrence", "llm", "both"),
        help="where relations come from: names that stand together (the default), a model's reading, or both",
    )
    _add_model(group)
    group.add_argument("--relations", metavar="FILE", help="the only relations to extract, one a line")
    group.add_argument("--entity-types", metavar="T[,T]", help="types of entities to tell, parted by commas")
    group.add_argument("--passage-size", metavar="N", type=int, help="characters of a passage at most (default 1000)")
    group.add_argument("--encoding", metavar="NAME", help="how files are written that are not UTF-8, such as latin-1")


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`kb update` and `kb remove`."""
    update = commands.add_parser(
        "update",
        help="add documents, or newer versions of them",
        description="Add documents to a knowledge base that was built from documents. Unchanged ones cost nothing.",
    )
    update.add_argument("folder", metavar="DIR", type=own_folder, help="the knowledge base's folder")
    _add_documents(update)
    _add_model(update)
    add_flags(update, "trust-embedder")
    remove = commands.add_parser(
        "remove",
        help="take documents out",
        description="Take documents out of a knowledge base, with every statement that no other document has.",
    )
    remove.add_argument("folder", metavar="DIR", type=own_folder, help="the knowledge base's folder")
    remove.add_argument(
        "--document", metavar="ID", **SEVERAL, help="as `kb info DIR --documents` lists it; may be repeated"
    )
    add_flags(remove, "trust-embedder")


def _add_documents(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--documents",
        metavar="PATH",
        **SEVERAL,
        help="files and folders of text, Markdown, HTML, PDF and JSON Lines (id, text, title…); may be repeated",
    )


def _add_model(group: argparse._ActionsContainer) -> None:
    add_flags(group, *MODEL)
    add_flags(
        group,
        "set",
        help="a setting of the extraction: concurrency, max_calls, max_cost, max_tokens …; may be repeated",
    )


def check(args: argparse.Namespace) -> None:
    """Refuse what does not go together.

    Raises:
        UsageError: flags of two ways of building a knowledge base.
    """
    if args.documents or args.loader:
        if wrong := _given(args, _NEVER_DOCUMENTS):
            raise UsageError(f"--{wrong} and --documents do not go together: one graph is given, one is made")
        if args.extract in {None, "cooccurrence"} and (wrong := _given(args, _ONLY_MODEL)):
            raise UsageError(f"--{wrong} is for extraction by a model: add --extract llm (or both)")
    elif wrong := _given(args, _ONLY_DOCUMENTS):
        raise UsageError(f"--{wrong} is for documents: name them with --documents")


def _given(args: argparse.Namespace, names: Sequence[str]) -> str:
    """The first of the flags that was given, as it is written; empty if none was."""
    return next((name.replace("_", "-") for name in names if getattr(args, name, None)), "")


def build(args: argparse.Namespace, progress: Progress) -> tuple[BuildReport, list[str]]:
    """`kb build --documents`: its report, and what became of the documents."""
    from thinkgraph.ingest.documents.build import DocumentOptions, build_documents
    from thinkgraph.ingest.langchain import build_from_documents, load

    options = DocumentOptions(
        extract=args.extract or "cooccurrence",
        encoding=args.encoding or "",
        relations=() if args.relations is None else _relations(args.relations),
        types=() if args.entity_types is None else _types(args.entity_types),
        **({"size": args.passage_size} if args.passage_size is not None else {}),
    )
    extractor = _extractor(args) if options.extract != "cooccurrence" else None
    with leaving_at_once(_INTERRUPTED):
        given: Any = load(args.loader, args.documents) if args.loader else args.documents
        report = (build_from_documents if args.loader else build_documents)(
            args.folder,
            given,
            options=options,
            extractor=extractor,
            name=args.name,
            embedder=args.embedder,
            index=not args.no_index,
            replace=args.replace,
            progress=progress,
        )
    return report.build, [*_summary(report), *_how_to_ask(args)]


def update(args: argparse.Namespace, progress: Progress) -> tuple[BuildReport, list[str]]:
    """`kb update`."""
    from thinkgraph.ingest.documents.build import update_documents

    # A model in the environment alone asks nothing: only one that is named now.
    if not args.model and (wrong := _given(args, _ONLY_MODEL)):
        raise UsageError(f"--{wrong} is for extraction by a model: name one with --model")
    extractor = _extractor(args) if args.model else None
    with leaving_at_once(_INTERRUPTED):
        report = update_documents(
            args.folder,
            args.documents,
            extractor=extractor,
            trust_embedder=bool(args.trust_embedder),
            progress=progress,
        )
    return report.build, _summary(report)


def remove(args: argparse.Namespace, progress: Progress) -> tuple[BuildReport, list[str]]:
    """`kb remove`."""
    from thinkgraph.ingest.documents.build import remove_documents

    with leaving_at_once(_INTERRUPTED):
        report = remove_documents(
            args.folder, args.document, trust_embedder=bool(args.trust_embedder), progress=progress
        )
    return report.build, _summary(report)


def _how_to_ask(args: argparse.Namespace) -> list[str]:
    """That documents want a model, and the command; nothing where one is configured."""
    from thinkgraph.models.roles import OFFLINE

    if load_config().get("model") != OFFLINE:
        return []
    folder = shlex.quote(one_line(str(args.folder)))
    return [
        f'documents want a model, the offline one seldom does: thinkgraph ask --kb {folder} --model openai:NAME "…"'
    ]


def _extractor(args: argparse.Namespace) -> ExtractionModel:
    from thinkgraph.ingest.documents.build import ExtractionModel
    from thinkgraph.ingest.documents.extraction import ROLE, ExtractSettings
    from thinkgraph.state.settings import resolve_settings

    configured(args)
    named = args.model if isinstance(args.model, str) else f"the model that is configured for {ROLE}"
    sys.stderr.write(f"relations are extracted by {named}\n")
    return ExtractionModel(
        model=args.model,
        settings=resolve_settings(ExtractSettings, parse_settings(args.set)),
        prompts=args.prompts,
        prices=prices_of(args.prices),
        profiles=profiles(),
    )


def _relations(given: str) -> tuple[str, ...]:
    """A relation a line; what follows a tab describes it."""
    path = local_path(given, "a file")
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as UTF-8 text ({error})") from None
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    found = tuple(dict.fromkeys(" -- ".join(part.strip() for part in line.split("\t", 1)) for line in lines))
    if not found:
        raise UsageError(f"{path} names no relation; write one a line")
    return found


def _types(given: str) -> tuple[str, ...]:
    found = tuple(part.strip() for part in given.split(",") if part.strip())
    if not found:
        raise UsageError("--entity-types names no type; write them with commas between: person,place")
    return found


def _summary(report: DocumentsReport) -> list[str]:
    """What became of the documents, in lines."""
    documents, counts = report.documents, report.counts
    kinds = ("added", "changed", "removed", "unchanged")
    what = ", ".join(f"{report.changes[kind]:,} {kind}" for kind in kinds if report.changes.get(kind))
    lines = [f"{many(documents['documents'], 'document')} in {many(counts['passages'], 'passage')} ({what})"]
    if documents["copies"]:
        lines.append(f"{many(documents['copies'], 'document')} left out: another one has the same words")
    if documents["failed"]:
        again = "the same command tries again what failed (kb info --documents lists it)"
        lines.append(f"{many(documents['failed'], 'document')} failed; {again}")
    merged = many(counts.get("merged names", 0), "name")
    lines.append(f"{merged} taken for others (resolution.jsonl in the folder says which, and why)")
    if (usage := report.usage) is None:
        return lines
    cost = "" if usage.cost is None else f", ${usage.cost:.4f}"
    replayed = f"; {usage.replayed:,} replies were there already" if usage.replayed else ""
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    lines.append(f"{usage.calls:,} model calls to {usage.model}, {tokens}{cost}{replayed}")
    dropped = [
        f"{n:,} {kind.partition(': ')[2]}"
        for kind, n in sorted(counts.items())
        if kind.startswith("statements dropped: ")
    ]
    left = f"; dropped: {', '.join(dropped)}" if dropped else ""
    lines.append(f"{counts.get('statements', 0):,} statements{left}")
    if usage.failed:
        lines.append(f"{usage.failed:,} passages without a usable reply, the first: {usage.first_problem}")
    return lines
