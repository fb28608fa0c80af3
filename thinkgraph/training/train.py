"""Trains graph-to-text: fine-tunes a checkpoint on pairs of triples and texts (FastToG, appendix B1).

A plain PyTorch loop: the Trainer of transformers needs accelerate for what are thirty lines here, and it cannot be killed between a
checkpoint and its bookkeeping without a trace. The folder being trained stands beside its place (`.NAME.building`) until it is
done; every few steps the whole state goes there in one move, and the same command goes on from it.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from typing_extensions import TypedDict

from thinkgraph.errors import KnowledgeError, ModelError
from thinkgraph.ingest.folder import BuildFolder, FolderKind, refuse_target
from thinkgraph.tools.communities.g2t import MAX_INPUT, MAX_OUTPUT, Checkpoint, GraphToText, writer
from thinkgraph.tools.encoders.embeddings import folder_hash, one_line, quiet_libraries
from thinkgraph.tools.progress import Progress, no_progress
from thinkgraph.training.pairs import Pair, Split, digest
from thinkgraph.training.scores import Scores, require_metrics, score_texts
from thinkgraph.training.start import from_checkpoint, from_scratch

REPORT = "g2t.json"
"""The file that tells a folder trained here from any other."""

FORMAT = 1
_STATE = "state.pt"
_CLIP = 1.0
_AT_A_TIME = 256
"""Validation texts between two reports of progress."""
_SORTED = 16
"""Batches that are filled from one stretch of shuffled pairs, sorted by length: little padding, and still shuffled."""


@dataclass(frozen=True)
class TrainSettings:
    """What a training is made with. Equal settings and data give an equal checkpoint, killed in between or not."""

    base: str = ""
    """Folder or name of the checkpoint to fine-tune; empty with `scratch`."""
    scratch: str = ""
    """Size of a model made from scratch (training/start.py), instead of `base`."""
    epochs: int = 2
    lr: float = 1e-5
    """Learning rate after the warm-up; it falls to 0 in a straight line."""
    batch: int = 8
    """Texts of one step."""
    warmup: float = 0.0
    """Share of the steps in which the learning rate rises."""
    dropout: float | None = None
    """None: the checkpoint's own, or 0.1 from scratch."""
    seed: int = 0
    evaluate_every: int = 1
    """Epochs between two looks at the validation pairs; the last epoch is always looked at."""
    save_every: int = field(default=200, compare=False)
    """Steps between two saved states; changes nothing in what comes out."""


class EpochRow(TypedDict):
    """One line of a training's table."""

    epoch: int
    training_loss: float
    validation_loss: float | None
    """None where there are no validation pairs, or they were not looked at."""
    scores: Scores | None


class TrainReport(TypedDict):
    """What a training came to; kept in the folder as g2t.json."""

    format: int
    key: str
    settings: dict[str, Any]
    parameters: int
    texts: int
    """Texts learnt from."""
    validation: int
    """Pairs of the validation."""
    too_long: int
    """Texts left out because they, or their triples, have more tokens than the model is given."""
    epochs: list[EpochRow]
    best: int
    """The epoch whose weights were kept."""


def is_trained(folder: Path) -> bool:
    """Whether a folder was made by a training."""
    return (folder / REPORT).is_file()


KIND = FolderKind("a trained checkpoint", is_trained, working="training", precious=True)


def refuse_out(out: Path, *, replace: bool) -> None:
    """Raise `KnowledgeError` if there is something at `out` that no training put there."""
    if not is_trained(out):
        # Whether a finished training is this one shows when the data have been read.
        refuse_target(out.expanduser().resolve(), replace=replace, kind=KIND)


def train(
    pairs: Split,
    out: Path,
    settings: TrainSettings,
    *,
    replace: bool = False,
    progress: Progress = no_progress,
    each: Callable[[EpochRow], None] = lambda _: None,
) -> TrainReport:
    """Train a checkpoint into the folder `out`; go on with a training that was killed, or give a finished one's report.

    Args:
        pairs: what to learn from, and what to choose the best epoch by (ROUGE-1); without the latter the last is kept.
        out: a new folder. While it is being made, it stands beside as `.NAME.building`.
        settings: see `TrainSettings`.
        replace: give up what another training left there.
        progress: told of every step.
        each: told of every epoch that ends.

    Raises:
        UsageError: packages for the scores are missing.
        ModelError: the checkpoint to start from cannot be loaded, or training fails.
        KnowledgeError: `out` holds something else, another training's result, or is being trained by another process.
    """
    require_metrics()
    out = out.expanduser().resolve()
    key = _key(pairs, settings)
    if (known := _finished(out, key)) is not None:
        return known
    try:
        with BuildFolder(out, key, replace=replace, kind=KIND) as place:
            report = place.stage("trained")
            if report is None:
                report = _run(_Training(settings, key, place, progress, each), pairs)
                place.finished("trained", report)
            _put_in_place(place.work, report)
            place.commit()
    except OSError as error:
        raise KnowledgeError(
            f"cannot write {out}: {error.strerror or error}; mend that and run the same command again to go on"
        ) from error
    return cast("TrainReport", report)


def _run(training: _Training, pairs: Split) -> TrainReport:
    with quiet_libraries():
        import torch
    # The caller's own random numbers stay what they were.
    with torch.random.fork_rng([torch.cuda.current_device()] if torch.cuda.is_available() else []):
        return training.run(pairs)


def _key(pairs: Split, settings: TrainSettings) -> str:
    given = asdict(settings)
    del given["save_every"]
    if settings.base:
        source = Path(writer(settings.base).source)
        # Another checkpoint in the same folder is another start.
        given["base"] = f"{source}@{folder_hash(source)}" if source.is_dir() else str(source)
    data = [digest(pairs.train), digest(pairs.validation)]
    return json.dumps({"format": FORMAT, **given, "data": data}, sort_keys=True)


def _finished(out: Path, key: str) -> TrainReport | None:
    try:
        report = json.loads((out / REPORT).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return cast("TrainReport", report) if isinstance(report, dict) and report.get("key") == key else None


def _put_in_place(work: Path, report: TrainReport) -> None:
    """Leave nothing but the best checkpoint and the report; may be cut off and repeated."""
    best = work / f"epoch-{report['best']}"
    if best.is_dir():
        for file in best.iterdir():
            file.replace(work / file.name)
        best.rmdir()
    for path in work.glob("epoch-*"):
        shutil.rmtree(path)
    (work / _STATE).unlink(missing_ok=True)
    (work / REPORT).write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    for weights in work.glob("*.safetensors"):
        # Written for the owner alone; a checkpoint may be shared like any file.
        weights.chmod((work / REPORT).stat().st_mode)


@dataclass
class _Progress:
    """Where a training stands; with the weights and the optimiser all that a saved state holds."""

    epoch: int = 1
    step: int = 0
    """Steps done in this epoch."""
    loss: float = 0.0
    """Sum over this epoch's steps."""
    rows: list[EpochRow] = field(default_factory=list)
    best: int = 0
    best_score: float = -1.0


class _Training:
    """One training in its working folder."""

    def __init__(
        self,
        settings: TrainSettings,
        key: str,
        place: BuildFolder,
        progress: Progress,
        each: Callable[[EpochRow], None],
    ) -> None:
        with quiet_libraries():
            import torch
        self._torch = torch
        self._settings = settings
        self._key = key
        self._place = place
        self._work = place.work
        self._tell = progress
        self._each = each
        self._at = _Progress()
        self._device = "cuda" if torch.cuda.is_available() else "cpu"

    def _prepare(self, pairs: Split) -> None:
        torch, settings = self._torch, self._settings
        torch.manual_seed(settings.seed)
        self._model, self._tokenizer = _start(settings, pairs.train)
        self._model.to(self._device)
        positions = getattr(self._model.config, "max_position_embeddings", None) or MAX_INPUT
        self._max_input, self._max_output = min(MAX_INPUT, positions), min(MAX_OUTPUT, positions)
        self._validation = pairs.validation
        self._examples, self._too_long = self._encode(pairs.train)
        if not self._examples:
            raise ModelError(
                f"none of the {self._too_long} texts can be learnt: they, or their triples, have more tokens than the model takes"
            )
        self._steps = math.ceil(len(self._examples) / settings.batch)
        self._optimizer = torch.optim.AdamW(self._model.parameters(), lr=settings.lr, weight_decay=0.0)

    def _encode(self, pairs: Sequence[Pair]) -> tuple[list[tuple[list[int], list[int]]], int]:
        """Token ids of every (triples, text); those that would have to be cut are counted and left out.

        A text that speaks of triples beyond the cut would teach the model to invent.
        """
        found, cut = [], 0
        for pair in pairs:
            source = self._tokenizer(pair.line)["input_ids"]
            for text in pair.texts:
                target = self._tokenizer(text_target=text)["input_ids"]
                if len(source) > self._max_input or len(target) > self._max_output:
                    cut += 1
                else:
                    found.append((source, target))
        return found, cut

    def run(self, pairs: Split) -> TrainReport:
        """Train to the end, from the start or from the saved state."""
        settings, at = self._settings, self._at
        self._prepare(pairs)
        self._restore()
        try:
            while at.epoch <= settings.epochs:
                self._epoch()
                at.epoch, at.step, at.loss = at.epoch + 1, 0, 0.0
                self._save()
        except RuntimeError as error:
            raise ModelError(f"training failed: {one_line(error)}; a smaller --batch needs less memory") from error
        return TrainReport(
            format=FORMAT,
            key=self._key,
            settings=asdict(settings),
            parameters=sum(weights.numel() for weights in self._model.parameters()),
            texts=len(self._examples),
            validation=len(self._validation),
            too_long=self._too_long,
            epochs=at.rows,
            best=at.best,
        )

    def _epoch(self) -> None:
        settings, at = self._settings, self._at
        stage = f"epoch {at.epoch} of {settings.epochs}"
        self._model.train()
        for number, batch in enumerate(self._batches(at.epoch)):
            if number < at.step:
                continue
            at.loss += self._learn(batch, (at.epoch - 1) * self._steps + number)
            at.step = number + 1
            self._tell(stage, at.step, self._steps)
            if at.step % settings.save_every == 0 and at.step < self._steps:
                self._save()
        row = EpochRow(epoch=at.epoch, training_loss=round(at.loss / self._steps, 4), validation_loss=None, scores=None)
        last = at.epoch == settings.epochs
        if self._validation and (last or at.epoch % settings.evaluate_every == 0):
            row["validation_loss"], row["scores"] = self._evaluate()
        score = row["scores"]["rouge1"] if row["scores"] else -1.0
        if score > at.best_score or (last and not self._validation):
            self._keep()
            at.best, at.best_score = at.epoch, score
        at.rows.append(row)
        self._each(row)

    def _batches(self, epoch: int) -> Iterator[list[int]]:
        """The examples of one epoch in batches, the same for the same seed and epoch."""
        rng = random.Random(f"{self._settings.seed}/{epoch}")  # noqa: S311 - an order, not a secret
        order = list(range(len(self._examples)))
        rng.shuffle(order)
        size = self._settings.batch
        batches = []
        for start in range(0, len(order), size * _SORTED):
            stretch = sorted(order[start : start + size * _SORTED], key=lambda at: len(self._examples[at][0]))
            batches += [stretch[at : at + size] for at in range(0, len(stretch), size)]
        rng.shuffle(batches)
        return iter(batches)

    def _learn(self, batch: Sequence[int], step: int) -> float:
        torch = self._torch
        rate = self._settings.lr * self._share(step)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        loss = self._model(**self._tensors(self._examples[at] for at in batch)).loss
        self._optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), _CLIP)
        self._optimizer.step()
        value = float(loss.detach())
        if not math.isfinite(value):
            raise ModelError(f"training failed: the loss is {value} at step {step + 1}; a smaller --lr may help")
        return value

    def _share(self, step: int) -> float:
        """Learning rate at a step, as a share of the highest: a straight line up, a straight line down."""
        total = self._steps * self._settings.epochs
        warm = round(total * self._settings.warmup)
        return (step + 1) / warm if step < warm else (total - step) / max(1, total - warm)

    def _tensors(self, examples: Iterator[tuple[list[int], list[int]]]) -> Mapping[str, Any]:
        torch = self._torch
        sources, targets = zip(*examples, strict=True)
        width, length = max(map(len, sources)), max(map(len, targets))
        pad = self._tokenizer.pad_token_id or 0
        ids = [row + [pad] * (width - len(row)) for row in sources]
        real = [[1] * len(row) + [0] * (width - len(row)) for row in sources]
        # -100 is what the loss passes over.
        labels = [row + [-100] * (length - len(row)) for row in targets]
        named = {"input_ids": ids, "attention_mask": real, "labels": labels}
        return {name: torch.tensor(rows, device=self._device) for name, rows in named.items()}

    def _evaluate(self) -> tuple[float | None, Scores]:
        """Loss and scores on the validation pairs."""
        torch = self._torch
        self._model.eval()
        examples, _ = self._encode(self._validation)
        size, losses = self._settings.batch, []
        with torch.inference_mode():
            for start in range(0, len(examples), size):
                batch = examples[start : start + size]
                losses.append(float(self._model(**self._tensors(iter(batch))).loss) * len(batch))
                self._tell("validation, loss", start + len(batch), len(examples))
        made = GraphToText("the model in training", loaded=self._checkpoint())
        texts: list[str] = []
        for start in range(0, len(self._validation), _AT_A_TIME):
            part = self._validation[start : start + _AT_A_TIME]
            texts += [written.text for written in made.texts([pair.line for pair in part])]
            self._tell("validation, texts", len(texts), len(self._validation))
        loss = round(sum(losses) / len(examples), 4) if examples else None
        return loss, score_texts(self._validation, texts)

    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(self._model, self._tokenizer, self._device, self._max_input, self._max_output)

    def _keep(self) -> None:
        """Write the weights of this epoch; the state that names them as the best follows, then the older ones go."""
        part = self._work / "part"
        shutil.rmtree(part, ignore_errors=True)
        with quiet_libraries():
            self._model.save_pretrained(part)
            self._tokenizer.save_pretrained(part)
        folder = self._work / f"epoch-{self._at.epoch}"
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)

    def _save(self) -> None:
        torch = self._torch
        part = self._work / f"{_STATE}.part"
        state = {
            "at": json.dumps(asdict(self._at)),
            "model": self._model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "random": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state() if self._device == "cuda" else None,
        }
        # From now on there is something to go on with.
        self._place.finished("begun", result=True)
        with part.open("wb") as stream:
            torch.save(state, stream)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(self._work / _STATE)
        for folder in self._work.glob("epoch-*"):
            if folder.name != f"epoch-{self._at.best}":
                shutil.rmtree(folder)

    def _restore(self) -> None:
        torch = self._torch
        file = self._work / _STATE
        if not file.is_file():
            return
        try:
            # Only tensors and plain values are read: a state is no program.
            state = torch.load(file, map_location="cpu", weights_only=True)
        except (RuntimeError, EOFError, pickle.UnpicklingError) as error:
            raise ModelError(f"{file} is damaged ({one_line(error)}); start anew with --replace") from error
        self._model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
        if state["cuda"] is not None and self._device == "cuda":
            torch.cuda.set_rng_state(state["cuda"])
        for name, value in json.loads(state["at"]).items():
            setattr(self._at, name, value)


def _start(settings: TrainSettings, pairs: Sequence[Pair]) -> tuple[Any, Any]:
    if settings.base:
        return from_checkpoint(writer(settings.base).source, settings.dropout)
    texts = (text for pair in pairs for text in (pair.line, *pair.texts))
    return from_scratch(settings.scratch, texts, settings.dropout)
