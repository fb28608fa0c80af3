"""`thinkgraph g2t`: train a graph-to-text checkpoint on pairs of triples and texts, and look at what one writes."""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from thinkgraph.cli.show import LineProgress, leaving_at_once, many, write_json, write_line, write_result
from thinkgraph.eval.questions import spread
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.knowledge import Prose

if TYPE_CHECKING:
    from thinkgraph.training.pairs import TextPair
    from thinkgraph.training.train import EpochRow, TrainReport

_TRAIN = """Fine-tune a sequence-to-sequence checkpoint on pairs of triples and texts. A training that was stopped goes on
when the same command is given again. The paper's recipe: --base t5-base --lr 1e-5 --epochs 2 --validation 0.1."""
_WRITE = "Let a checkpoint put triples into words, and check every text against its triples."
_SHOWN_REJECTS = 5
_AT_A_TIME = 256


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `g2t train` and `g2t write` on the parser of `g2t`."""
    count, share = _number(int, 1), _number(float, 0, 1)
    commands = parser.add_subparsers(dest="g2t_command", metavar="COMMAND", required=True)
    train = commands.add_parser("train", help="fine-tune a checkpoint, or train a small model", description=_TRAIN)
    add = train.add_argument
    files = 'JSON Lines: {"triples": [[s, r, o], …], "texts": [text, …]}, or WebNLG\'s own XML (file, folder) or JSON; may be repeated'
    add("--data", metavar="FILE", type=Path, action="extend", nargs="+", required=True, help=files)
    add("--out", metavar="DIR", type=Path, required=True, help="the checkpoint's folder; made by training")
    start = train.add_mutually_exclusive_group(required=True)
    start.add_argument("--base", metavar="PATH|NAME", default="", help="the checkpoint to fine-tune")
    start.add_argument("--from-scratch", dest="scratch", choices=("tiny", "small"), default="", help="a new T5")
    add("--epochs", metavar="N", type=count, default=2, help="times over the data (default 2)")
    add("--lr", metavar="X", type=_number(float, 1e-9, 1), help="learning rate (default 1e-5; from scratch 1e-3)")
    add("--batch", metavar="N", type=count, default=8, help="texts per step (default 8)")
    add("--warmup", metavar="SHARE", type=share, default=0.0, help="share of steps with a rising rate")
    add("--dropout", metavar="SHARE", type=share, help="default: the checkpoint's own")
    add("--seed", metavar="N", type=_number(int, 0, 2**32), default=0, help="default 0")
    add("--limit", metavar="N", type=_number(int, 2), help="only N pairs, spread over the data")
    best = "pairs by which the best epoch is chosen (ROUGE-1): a share of the data, or a file (default 0.1)"
    add("--validation", metavar="SHARE|FILE", type=_number(float, 0, 1, or_file=True), default=0.1, help=best)
    add("--save-every", metavar="N", type=count, default=200, help="steps between two checkpoints (default 200)")
    add("--replace", action="store_true", help="give up what another training left there")
    add("--json", action="store_true", help="print the report as one JSON object")
    write = commands.add_parser("write", help="let a checkpoint write, and check the texts", description=_WRITE)
    write.add_argument("file", metavar="FILE", type=Path, help="JSON Lines, as for training; texts may be missing")
    write.add_argument("--model", metavar="PATH|NAME", required=True, help="the checkpoint")
    write.add_argument("--limit", metavar="N", type=count, help="only N, spread over the file")
    write.add_argument("--json", action="store_true", help="print one JSON object")


def _number(
    kind: type[float], least: float, below: float = math.inf, *, or_file: bool = False
) -> Callable[[str], float | Path]:
    def number(text: str) -> float | Path:
        try:
            found = kind(text)
        except ValueError:
            if or_file:
                return Path(text)
            raise argparse.ArgumentTypeError(f"must be a {'whole ' * (kind is int)}number, not '{text}'") from None
        if not least <= found < below:
            top = "" if below == math.inf else f" and less than {below}"
            raise argparse.ArgumentTypeError(f"must be at least {least}{top}{', or a file' * or_file}")
        return found

    return number


def run(args: argparse.Namespace) -> int:
    """Run the command that was parsed; gives the exit status. Errors are raised as `ThinkGraphError`."""
    return _train(args) if args.g2t_command == "train" else _write(args)


def _train(args: argparse.Namespace) -> int:
    from thinkgraph.training.pairs import Split, split
    from thinkgraph.training.train import TrainSettings, train

    data = _read(args.data, args.limit)
    held_out = isinstance(args.validation, Path)
    pairs = Split(data, _read([args.validation])) if held_out else split(data, args.validation, args.seed)
    texts = sum(len(pair.texts) for pair in pairs.train)
    _say(f"{texts:,} texts of {len(pairs.train):,} sets of triples; {len(pairs.validation):,} for validation")
    args.lr = args.lr or (1e-3 if args.scratch else 1e-5)
    settings = TrainSettings(**{field.name: getattr(args, field.name) for field in fields(TrainSettings)})
    learnt: list[int] = []

    def each(row: EpochRow) -> None:
        learnt.append(row["epoch"])
        progress.close()
        _say(_figures(row))

    # An interrupt that is raised may be swallowed where PyTorch calls back; what was learnt is on disk.
    going_on = leaving_at_once("interrupted; the same command goes on where it stopped")
    with LineProgress(sys.stderr) as progress, going_on:
        report = train(pairs, args.out, settings, replace=args.replace, progress=progress, each=each)
    if not learnt:
        _say(f"{args.out} is trained already with these settings and data; its report:")
    write_result(report, "\n".join(_table(report, args.out)), as_json=args.json)
    return 0


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _read(files: Sequence[Path], limit: int | None = None, *, texts: bool = True) -> Sequence[TextPair]:
    """The pairs of the files; malformed lines are told of."""
    from thinkgraph.ingest.readers.rejects import Rejects
    from thinkgraph.training.pairs import read_pairs

    rejects = Rejects()
    pairs = spread(read_pairs(files, rejects, texts=texts), limit)
    for reject in rejects.kept[:_SHOWN_REJECTS]:
        _say(f"{reject['file']}, line {reject['line']}: {one_line(reject['reason'])}")
    if count := rejects.counts.total():
        _say(f"not used: {many(count, 'malformed line')}")
    return pairs


def _figures(row: EpochRow) -> str:
    line = f"epoch {row['epoch']}: loss {row['training_loss']:.3f}"
    if scores := row["scores"]:
        line += (
            f", validation {row['validation_loss']:.3f}, ROUGE-1 {scores['rouge1']:.2f}, BLEU {scores['bleu']:.2f}, "
            f"chrF {scores['chrf']:.2f}, coverage {scores['coverage']:.3f} ({scores['relative_coverage']:.3f} of the "
            f"references'), true to triples {scores['true_to_triples']:.3f}"
        )
    return line


def _table(report: TrainReport, out: Path) -> list[str]:
    settings, best = report["settings"], report["best"]
    begun = settings["base"] or f"a {settings['scratch']} T5 from scratch"
    counts = f"{report['texts']:,} texts learnt, {report['validation']:,} sets of triples for validation"
    lines = [f"{out}: {begun}, {report['parameters']:,} parameters, {counts}"]
    if left := report["too_long"]:
        lines.append(f"{left:,} texts left out: they, or their triples, have more tokens than the model takes")
    shown = [row for row in report["epochs"] if row["scores"] or row["epoch"] == best]
    return lines + [_figures(row) + ", kept" * (row["epoch"] == best) for row in shown]


def _write(args: argparse.Namespace) -> int:
    from thinkgraph.tools.communities.g2t import writer

    pairs = _read([args.file], args.limit, texts=False)
    model = writer(args.model)
    made: list[Prose] = []
    with LineProgress(sys.stderr) as progress:
        for start in range(0, len(pairs), _AT_A_TIME):
            made += model.write([pair.triples for pair in pairs[start : start + _AT_A_TIME]])
            progress("texts", len(made), len(pairs))
    faults = Counter(kind for prose in made for kind in {problem.partition(":")[0] for problem in prose["problems"]})
    true = sum(prose["ok"] for prose in made)
    rows = [{"triples": pair.line, **prose} for pair, prose in zip(pairs, made, strict=True)]
    if args.json:
        write_json({"rows": rows, "summary": {"texts": len(made), "true": true, **dict(sorted(faults.items()))}})
        return 0
    for pair, prose in zip(pairs, made, strict=True):
        write_line(f"{one_line(pair.line)}\n  {one_line(prose['text']) or '(nothing)'}")
        write_line("".join(f"  ! {one_line(problem)}\n" for problem in prose["problems"]))
    found = ", ".join(f"{kind} {count}" for kind, count in sorted(faults.items()))
    write_line(f"{true} of {len(made)} texts are true to their triples" + f"; faults found in: {found}" * bool(found))
    return 0
