"""`thinkgraph g2t`: train a graph-to-text checkpoint on pairs of triples and texts, and look at what one writes."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from thinkgraph.cli.show import LineProgress, leaving_at_once, write_json, write_line
from thinkgraph.errors import UsageError
from thinkgraph.prompts.lines import one_line

if TYPE_CHECKING:
    from thinkgraph.ingest.readers.rejects import Rejects
    from thinkgraph.state.knowledge import Prose
    from thinkgraph.training.pairs import Split, TextPair
    from thinkgraph.training.train import EpochRow, TrainReport

_TRAIN = """Fine-tune a sequence-to-sequence checkpoint on pairs of triples and texts. A training that was stopped goes on
when the same command is given again. The paper's recipe: --base t5-base --lr 1e-5 --epochs 2 --validation 0.1."""
_WRITE = "Let a checkpoint put triples into words, and check every text against its triples."
_LEAST = {"epochs": 1, "batch": 1, "limit": 2, "evaluate_every": 1, "save_every": 1, "seed": 0}
_SHOWN_REJECTS = 5
_AT_A_TIME = 256
_SCRATCH_LR = 1e-3
_PAPER_LR = 1e-5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `g2t train` and `g2t write` on the parser of `g2t`."""
    commands = parser.add_subparsers(dest="g2t_command", metavar="COMMAND", required=True)
    train = commands.add_parser("train", help="fine-tune a checkpoint, or train a small model", description=_TRAIN)
    add = train.add_argument
    files = 'JSON Lines: {"triples": [[s, r, o], …], "texts": [text, …]}; may be repeated'
    add("--data", metavar="FILE", type=Path, action="extend", nargs="+", required=True, help=files)
    add("--out", metavar="DIR", type=Path, required=True, help="the checkpoint's folder; made by training")
    start = train.add_mutually_exclusive_group(required=True)
    start.add_argument("--base", metavar="PATH|NAME", default="", help="the checkpoint to fine-tune")
    start.add_argument(
        "--from-scratch", dest="scratch", choices=("tiny", "small"), default="", help="a new T5: tiny or small"
    )
    add("--epochs", metavar="N", type=int, default=2, help="times over the data (default 2)")
    add("--lr", metavar="X", type=float, help="learning rate (default 1e-5; from scratch 1e-3)")
    add("--batch", metavar="N", type=int, default=8, help="texts per step (default 8)")
    add("--warmup", metavar="SHARE", type=float, default=0.0, help="share of steps with a rising rate")
    add("--dropout", metavar="SHARE", type=float, help="default: the checkpoint's own")
    add("--seed", metavar="N", type=int, default=0, help="default 0")
    add("--limit", metavar="N", type=int, help="only N pairs, spread over the data")
    best = "pairs by which the best epoch is chosen (ROUGE-1): a share of the data, or a file (default 0.1)"
    add("--validation", metavar="SHARE|FILE", default="0.1", help=best)
    add("--evaluate-every", metavar="N", type=int, default=1, help="epochs between two evaluations (default 1)")
    add("--save-every", metavar="N", type=int, default=200, help="steps between two checkpoints (default 200)")
    add("--replace", action="store_true", help="give up what another training left there")
    add("--json", action="store_true", help="print the report as one JSON object")
    write = commands.add_parser("write", help="let a checkpoint write, and check the texts", description=_WRITE)
    write.add_argument("file", metavar="FILE", type=Path, help="JSON Lines, as for training; texts may be missing")
    write.add_argument("--model", metavar="PATH|NAME", required=True, help="the checkpoint")
    write.add_argument("--limit", metavar="N", type=int, help="only N, spread over the file")
    write.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Run the command that was parsed; gives the exit status. Errors are raised as `ThinkGraphError`."""
    return _train(args) if args.g2t_command == "train" else _write(args)


def _train(args: argparse.Namespace) -> int:
    _check_ranges(args)
    from thinkgraph.training.scores import require_packages
    from thinkgraph.training.train import TrainSettings, refuse_out, train

    require_packages()
    refuse_out(args.out, replace=args.replace)
    pairs = _split(args)
    args.lr = args.lr or (_SCRATCH_LR if args.scratch else _PAPER_LR)
    settings = TrainSettings(**{field.name: getattr(args, field.name) for field in fields(TrainSettings)})
    progress = LineProgress(sys.stderr)
    learnt: list[int] = []

    def each(row: EpochRow) -> None:
        learnt.append(row["epoch"])
        progress.close()
        _say(_figures(row))

    try:
        # An interrupt that is raised may be swallowed where PyTorch calls back; what was learnt is on disk.
        with leaving_at_once("interrupted; the same command goes on where it stopped"):
            report = train(pairs, args.out, settings, replace=args.replace, progress=progress, each=each)
    finally:
        progress.close()
    if not learnt:
        _say(f"{args.out} is trained already with these settings and data; its report:")
    if args.json:
        write_json(report)
    else:
        write_line("\n".join(_table(report, args.out)))
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201 (beside the result)


def _check_ranges(args: argparse.Namespace) -> None:
    for name, least in _LEAST.items():
        value = getattr(args, name)
        if value is not None and value < least:
            raise UsageError(f"--{name.replace('_', '-')} must be at least {least}")
    if args.lr is not None and not 0 < args.lr < 1:
        raise UsageError("--lr must lie between 0 and 1")
    for name in ("warmup", "dropout"):
        value = getattr(args, name)
        if value is not None and not 0 <= value < 1:
            raise UsageError(f"--{name} must be at least 0 and less than 1")


def _split(args: argparse.Namespace) -> Split:
    from thinkgraph.ingest.readers.rejects import Rejects
    from thinkgraph.training.pairs import Split, read_pairs, split, spread

    rejects = Rejects()
    share = _share(args.validation)
    every = spread(read_pairs(args.data, rejects), args.limit)
    if share is not None:
        pairs = split(every, share, args.seed)
    else:
        pairs = Split(every, read_pairs([Path(args.validation)], rejects))
    _tell_rejects(rejects)
    texts = sum(len(pair.texts) for pair in pairs.train)
    _say(f"{texts:,} texts of {len(pairs.train):,} sets of triples; {len(pairs.validation):,} for validation")
    return pairs


def _share(text: str) -> float | None:
    """The share that --validation gives; None where it names a file."""
    try:
        share = float(text)
    except ValueError:
        return None
    if not 0 <= share < 1:
        raise UsageError("--validation must be at least 0 and less than 1, or a file")
    return share


def _tell_rejects(rejects: Rejects) -> None:
    for reject in rejects.kept[:_SHOWN_REJECTS]:
        _say(f"{reject['file']}, line {reject['line']}: {one_line(reject['reason'])}")
    if count := sum(rejects.counts.values()):
        _say(f"not used: {count:,} malformed line{'s' * (count > 1)}")


def _figures(row: EpochRow) -> str:
    scores, loss = row["scores"], f"epoch {row['epoch']}: loss {row['training_loss']:.3f}"
    if scores is None:
        return loss
    return (
        f"{loss}, validation {row['validation_loss']:.3f}, ROUGE-1 {scores['rouge1']:.2f}, BLEU {scores['bleu']:.2f}, "
        f"chrF {scores['chrf']:.2f}, coverage {scores['coverage']:.3f} ({scores['relative_coverage']:.3f} of the "
        f"references'), true to triples {scores['true_to_triples']:.3f}"
    )


def _table(report: TrainReport, out: Path) -> list[str]:
    settings = report["settings"]
    begun = settings["base"] or f"a {settings['scratch']} T5 from scratch"
    counts = f"{report['texts']:,} texts learnt, {report['validation']:,} sets of triples for validation"
    lines = [f"{out}: {begun}, {report['parameters']:,} parameters, {counts}"]
    if left := report["too_long"]:
        lines.append(f"{left:,} texts left out: they, or their triples, have more tokens than the model takes")
    best = report["best"]
    shown = [row for row in report["epochs"] if row["scores"] or row["epoch"] == best]
    return lines + [_figures(row) + (", kept" if row["epoch"] == best else "") for row in shown]


def _write(args: argparse.Namespace) -> int:
    if args.limit is not None and args.limit < 1:
        raise UsageError("--limit must be at least 1")
    from thinkgraph.ingest.readers.rejects import Rejects
    from thinkgraph.tools.communities.g2t import writer
    from thinkgraph.training.pairs import read_pairs, spread

    rejects = Rejects()
    pairs = spread(read_pairs([args.file], rejects, texts=False), args.limit)
    _tell_rejects(rejects)
    model = writer(args.model)
    progress = LineProgress(sys.stderr)
    made: list[Prose] = []
    try:
        for start in range(0, len(pairs), _AT_A_TIME):
            made += model.write([pair.triples for pair in pairs[start : start + _AT_A_TIME]])
            progress("texts", len(made), len(pairs))
    finally:
        progress.close()
    kinds = Counter(kind for prose in made for kind in {problem.partition(":")[0] for problem in prose["problems"]})
    true = sum(prose["ok"] for prose in made)
    if args.json:
        rows = [{"triples": pair.line, **prose} for pair, prose in zip(pairs, made, strict=True)]
        write_json({"rows": rows, "summary": {"texts": len(made), "true": true, **dict(sorted(kinds.items()))}})
        return 0
    write_line("\n".join(_shown(pairs, made)))
    found = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
    write_line(
        f"{true} of {len(made)} texts are true to their triples" + (f"; faults found in: {found}" if found else "")
    )
    return 0


def _shown(pairs: Sequence[TextPair], made: Sequence[Prose]) -> list[str]:
    lines: list[str] = []
    for pair, prose in zip(pairs, made, strict=True):
        lines += [one_line(pair.line), f"  {one_line(prose['text']) or '(nothing)'}"]
        lines += [*(f"  ! {one_line(problem)}" for problem in prose["problems"]), ""]
    return lines
