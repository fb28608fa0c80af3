"""Trains graph-to-text: fine-tunes a checkpoint on pairs of triples and texts (FastToG, appendix B1).

transformers' `Seq2SeqTrainer` trains, evaluates and saves. It works in `.NAME.building` beside the result's folder; the same
command goes on from the last whole checkpoint there.
"""

from __future__ import annotations

import json
import math
import pickle
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from typing_extensions import TypedDict, override

from thinkgraph.errors import ModelError, ThinkGraphError, first_line
from thinkgraph.ingest.folder import BuildFolder, FolderKind, writing
from thinkgraph.tools.communities.g2t import load_checkpoint, max_tokens, room_for, writer
from thinkgraph.tools.encoders.embeddings import folder_hash, quiet_libraries
from thinkgraph.tools.progress import Progress, no_progress
from thinkgraph.training.pairs import Split, TextPair, digest
from thinkgraph.training.scores import TextScores, require_packages, score_texts

REPORT = "g2t.json"
"""The file that tells a folder trained here from any other."""
KIND = FolderKind("a trained checkpoint", lambda folder: (folder / REPORT).is_file(), working="training", precious=True)
SIZES: Mapping[str, tuple[int, int, int, int]] = {"tiny": (128, 2, 4, 1500), "small": (256, 4, 8, 8000)}
"""Models made from scratch, of 1.1 and about 9 million parameters: width, layers, heads, vocabulary."""

_GRAMMAR = "<{}"
"""Characters of T2T lines that some tokenisers lack (T5's): without them the arrows of both directions read alike."""


@dataclass(frozen=True)
class TrainSettings:
    """What a training is made with. Equal settings and data give an equal checkpoint, killed in between or not."""

    base: str = ""
    """Folder or name of the checkpoint to fine-tune; empty with `scratch`."""
    scratch: str = ""
    """Size of a model made from scratch (a key of `SIZES`), instead of `base`."""
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
    save_every: int = field(default=200, compare=False)
    """Steps between two checkpoints within an epoch; changes nothing in what comes out."""


class EpochRow(TypedDict):
    """One line of a training's table."""

    epoch: int
    training_loss: float
    validation_loss: float | None
    """None where there are no validation pairs."""
    scores: TextScores | None


class TrainReport(TypedDict):
    """What a training came to; kept in the folder as g2t.json."""

    key: str
    """Tells settings and data from others."""
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

    Returns:
        The report that is kept in the folder.

    Raises:
        UsageError: a package of the extra `g2t` is missing.
        ModelError: the checkpoint to start from cannot be loaded, or training fails.
        KnowledgeError: `out` holds something else, another training's result, or is being trained by another process.
    """
    require_packages()
    out = out.expanduser().resolve()
    key = _key(pairs, settings)
    if (known := _finished(out, key)) is not None:
        return known
    with writing(out), BuildFolder(out, key, replace=replace, kind=KIND) as place:
        report: TrainReport | None = place.stage("trained")
        if report is None:
            report = _run(pairs, settings, place, progress, each)
            report["key"] = key
            place.finished("trained", report)
        _tidy(place.work, report)
        place.commit()
    return report


def _key(pairs: Split, settings: TrainSettings) -> str:
    """Settings and data as one text; `save_every` is no part of it."""
    given = {**asdict(settings), "data": [digest(pairs.train), digest(pairs.validation)]}
    del given["save_every"]
    if settings.base:
        source = writer(settings.base).source
        # Another checkpoint in the same folder is another start.
        given["base"] = f"{source}@{folder_hash(Path(source))}" if Path(source).is_dir() else source
    return json.dumps(given, sort_keys=True)


def _finished(out: Path, key: str) -> TrainReport | None:
    try:
        report = json.loads((out / REPORT).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return cast("TrainReport", report) if isinstance(report, dict) and report.get("key") == key else None


def _tidy(work: Path, report: TrainReport) -> None:
    """Leave nothing but the best weights and the report."""
    (work / REPORT).write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    # Written for the owner alone; a checkpoint may be shared like any file.
    (work / "model.safetensors").chmod((work / REPORT).stat().st_mode)
    for checkpoint in work.glob("checkpoint-*"):
        shutil.rmtree(checkpoint)


def _run(
    pairs: Split, settings: TrainSettings, place: BuildFolder, progress: Progress, each: Callable[[EpochRow], None]
) -> TrainReport:
    """Train to the end, from the start or from the last checkpoint, and leave the best weights in the folder."""
    import torch
    import transformers

    # Half of its classes have no types that a checker could follow.
    library: Any = transformers
    # The trainer seeds torch's generators; the caller's stay as they were.
    with torch.random.fork_rng(), quiet_libraries():
        library.set_seed(settings.seed)
        if settings.base:
            model, tokenizer = from_checkpoint(writer(settings.base).source, settings.dropout)
        else:
            said = (text for pair in pairs.train for text in (pair.line, *pair.texts))
            model, tokenizer = from_scratch(settings.scratch, said, settings.dropout)
        rows = [(pair, text) for pair in pairs.train for text in pair.texts]
        examples = _encode(model, tokenizer, rows)
        if not examples:
            raise ModelError(
                f"none of the {len(rows)} texts can be learnt: they, or their triples, have more tokens than the model takes"
            )
        validation = _encode(model, tokenizer, [(pair, pair.texts[0]) for pair in pairs.validation])
        checked = [pair for pair, _ in validation]

        def scores(made: Any) -> TextScores:
            # -100 fills up what is shorter than the longest text.
            made.predictions[made.predictions < 0] = tokenizer.pad_token_id
            texts = tokenizer.batch_decode(made.predictions, skip_special_tokens=True)
            return score_texts(checked, [" ".join(text.split()) for text in texts])

        longest = max((len(example["input_ids"]) for _, example in validation), default=0)
        trainer = library.Seq2SeqTrainer(
            model=model,
            args=_arguments(settings, place.work, room_for(longest, model.config) if validation else 0),
            train_dataset=[example for _, example in examples],
            eval_dataset=[example for _, example in validation] or None,
            data_collator=library.DataCollatorForSeq2Seq(tokenizer, model=model),
            processing_class=tokenizer,
            compute_metrics=scores,
            callbacks=[_watch(place, progress, each)],
        )
        trainer.remove_callback(library.PrinterCallback)
        _train(trainer, _last_checkpoint(place.work))
        model.save_pretrained(place.work)
        tokenizer.save_pretrained(place.work)
    state = trainer.state
    return TrainReport(
        key="",
        settings=asdict(settings),
        parameters=model.num_parameters(),
        texts=len(examples),
        validation=len(validation),
        too_long=len(rows) - len(examples),
        epochs=_rows(state),
        best=(state.best_global_step or state.max_steps) // _steps(state),
    )


def _train(trainer: Any, last: str | None) -> None:
    from safetensors import SafetensorError

    try:
        trainer.train(resume_from_checkpoint=last)
    except ThinkGraphError:
        raise
    except (RuntimeError, ValueError, EOFError, pickle.UnpicklingError, SafetensorError) as error:
        if last and trainer.state.global_step <= int(last.rpartition("-")[2]):
            raise ModelError(f"{last} is damaged ({first_line(error)}); start anew with --replace") from error
        raise ModelError(f"training failed: {first_line(error)}; a smaller --batch needs less memory") from error


def _encode(
    model: Any, tokenizer: Any, rows: Sequence[tuple[TextPair, str]]
) -> list[tuple[TextPair, Mapping[str, list[int]]]]:
    """Token ids of triples and texts, without those that would have to be cut.

    A text that speaks of triples beyond the cut would teach the model to invent.
    """
    most = max_tokens(model.config)
    found = [(pair, tokenizer(pair.line, text_target=text, return_token_type_ids=False)) for pair, text in rows]
    return [(pair, ids) for pair, ids in found if max(len(ids["input_ids"]), len(ids["labels"])) <= most]


def _arguments(settings: TrainSettings, work: Path, room: int) -> Any:
    """`room`: most tokens of a text in the validation; 0 without one."""
    from transformers import Seq2SeqTrainingArguments

    return Seq2SeqTrainingArguments(
        output_dir=str(work),
        num_train_epochs=settings.epochs,
        learning_rate=settings.lr,
        warmup_steps=settings.warmup,
        per_device_train_batch_size=settings.batch,
        per_device_eval_batch_size=settings.batch,
        seed=settings.seed,
        logging_strategy="epoch",
        logging_nan_inf_filter=False,
        eval_strategy="epoch" if room else "no",
        save_strategy="epoch",
        save_steps=settings.save_every,
        save_total_limit=1,
        load_best_model_at_end=room > 0,
        metric_for_best_model="rouge1",
        predict_with_generate=True,
        generation_max_length=room or None,
        disable_tqdm=True,
        report_to="none",
    )


def _watch(place: BuildFolder, progress: Progress, each: Callable[[EpochRow], None]) -> Any:
    """A callback that saves within epochs too, and tells how far the training is."""
    from transformers import TrainerCallback

    class Watch(TrainerCallback):
        validated = 0

        @override
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.validated = 0
            steps = _steps(state)
            epoch, step = divmod(state.global_step - 1, steps)
            progress(f"epoch {epoch + 1} of {args.num_train_epochs}", step + 1, steps)
            # The last step of an epoch is saved after the evaluation. A resumed training forgets a loss that was not logged.
            due = state.global_step % args.save_steps == 0 and step + 1 < steps
            control.should_log = control.should_save = due

        @override
        def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.validated += 1
            progress("validation", self.validated, len(kwargs["eval_dataloader"]))

        @override
        def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if not math.isfinite(loss := kwargs["logs"].get("loss", 0.0)):
                raise ModelError(
                    f"training failed: the loss is {loss} by step {state.global_step}; a smaller --lr may help"
                )

        @override
        def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            # From now on there is something to go on with.
            place.finished("begun", result=True)
            if state.global_step % _steps(state) == 0:
                each(_rows(state)[-1])

    return Watch()


def _steps(state: Any) -> int:
    return int(state.max_steps // state.num_train_epochs)


def _rows(state: Any) -> list[EpochRow]:
    """The epochs that the trainer's log tells of; a loss in it is the mean of the steps since the one before."""
    steps, before = _steps(state), 0
    rows = [
        EpochRow(epoch=done, training_loss=0.0, validation_loss=None, scores=None)
        for done in range(1, state.global_step // steps + 1)
    ]
    for entry in state.log_history:
        step, row = entry["step"], rows[(entry["step"] - 1) // steps]
        if "loss" in entry:
            row["training_loss"] += entry["loss"] * (step - before) / steps
            before = step
        elif "eval_loss" in entry:
            row["validation_loss"] = entry["eval_loss"]
            row["scores"] = cast("TextScores", {name: entry[f"eval_{name}"] for name in TextScores.__annotations__})
    return rows


def _last_checkpoint(work: Path) -> str | None:
    """The last checkpoint that was written whole; what a kill left half written is removed."""
    steps = sorted(int(folder.name.partition("-")[2]) for folder in work.glob("checkpoint-*"))
    for step in reversed(steps):
        folder = work / f"checkpoint-{step}"
        try:
            # It is written last.
            json.loads((folder / "trainer_state.json").read_text("utf-8"))
        except (OSError, ValueError):
            shutil.rmtree(folder)
        else:
            return str(folder)
    return None


def from_checkpoint(source: str, dropout: float | None) -> tuple[Any, Any]:
    """Model and tokeniser of a checkpoint, with tokens for the characters of T2T lines that it lacked.

    Raises:
        ModelError: it cannot be loaded.
    """
    model, tokenizer = load_checkpoint(source, dropout)
    unknown = tokenizer.unk_token_id
    tokenizer.add_tokens(
        [mark for mark in _GRAMMAR if unknown in tokenizer(f"a {mark} b", add_special_tokens=False)["input_ids"]]
    )
    if len(tokenizer) > model.get_input_embeddings().num_embeddings:
        with quiet_libraries():
            model.resize_token_embeddings(len(tokenizer))
    return model, tokenizer


def from_scratch(size: str, texts: Iterable[str], dropout: float | None) -> tuple[Any, Any]:
    """A T5 with random weights (torch's generator decides them) and a byte-level BPE tokeniser learnt from `texts`.

    Bytes, so that a name in any alphabet can be read and written again.
    """
    import transformers
    from tokenizers import ByteLevelBPETokenizer, Tokenizer
    from tokenizers.processors import TemplateProcessing

    library: Any = transformers
    width, layers, heads, vocabulary = SIZES[size]
    learnt = ByteLevelBPETokenizer(add_prefix_space=True)
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    learnt.train_from_iterator(texts, vocabulary, show_progress=False, special_tokens=list(special.values()))
    learnt.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer = library.PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(learnt.to_str()), **special)
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    config = library.T5Config(
        vocab_size=len(tokenizer),
        d_model=width,
        d_kv=width // heads,
        d_ff=4 * width,
        num_layers=layers,
        num_heads=heads,
        dropout_rate=0.1 if dropout is None else dropout,
        **ids,
    )
    model = library.T5ForConditionalGeneration(config)
    model.generation_config = library.GenerationConfig(**ids)
    return model, tokenizer
