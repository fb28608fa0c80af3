"""Training: it learns, it can be cut off anywhere, and it touches nothing that is not its own."""

from __future__ import annotations

import gc
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from training.sample import PLACES, write_rows

from thinkgraph.cli.main import main
from thinkgraph.errors import KnowledgeError, ModelError
from thinkgraph.ingest.folder import BuildFolder
from thinkgraph.tools.communities.g2t import writer
from thinkgraph.tools.progress import Progress
from thinkgraph.training.pairs import Split, TextPair, make_triple
from thinkgraph.training.scores import score_texts
from thinkgraph.training.train import KIND, TrainReport, TrainSettings, from_checkpoint, from_scratch, train

QUICK = TrainSettings(scratch="tiny", epochs=3, lr=2e-3, batch=4, warmup=0.1, save_every=2)
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.xdist_group("g2t")
"""One worker imports PyTorch for all of them."""


class Cut(BaseException):
    """The end of a process, as the training sees it."""


def cut_after(steps: int) -> Progress:
    """Progress that ends everything after so many reports."""
    told = 0

    def progress(stage: str, done: int, total: int | None) -> None:
        nonlocal told
        told += 1
        if told > steps:
            raise Cut

    return progress


def weights(folder: Path) -> dict[str, Any]:
    return load_file(str(folder / "model.safetensors"))


def same(one: Path, other: Path) -> bool:
    first, second = weights(one), weights(other)
    return first.keys() == second.keys() and all(np.allclose(first[name], second[name], atol=1e-6) for name in first)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Split, TrainReport]]:
    """A training that nothing disturbed."""
    found = []
    for country, capital, _ in PLACES:
        triple = make_triple(country, "hasCapital", capital)
        text = f"The capital of {country} is {capital}."
        found.append(TextPair(f"({country}) -[has capital]-> ({capital})", (triple,), (text, f"{capital} it is.")))
    # Names that the tokeniser has learnt are few tokens, and what is written about them in each validation is short.
    pairs = Split(found[:6], found[:2])
    out = tmp_path_factory.mktemp("whole") / "model"
    report = train(pairs, out, QUICK)
    # Every training collects garbage; all that PyTorch brought along need not be looked through each time.
    gc.freeze()
    yield out, pairs, report
    gc.unfreeze()


def test_what_a_training_leaves_behind(whole: tuple[Path, Split, TrainReport]) -> None:
    out, pairs, report = whole
    assert sorted(path.name for path in out.iterdir()) == [
        "config.json", "g2t.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
    ]  # fmt: skip
    assert not list(out.parent.glob(".model*"))
    assert json.loads((out / "g2t.json").read_text("utf-8")) == report
    assert (report["texts"], report["validation"], report["too_long"]) == (12, 2, 0)
    losses = [row["training_loss"] for row in report["epochs"]]
    assert losses == sorted(losses, reverse=True)
    scores = [row["scores"]["rouge1"] for row in report["epochs"] if row["scores"]]
    assert len(scores) == 3
    assert scores[report["best"] - 1] == max(scores)
    assert writer(str(out)).write([pairs.train[0].triples])[0]["text"] is not None


def test_it_learns_a_few_pairs_by_heart(whole: tuple[Path, Split, TrainReport], tmp_path: Path) -> None:
    _, pairs, _ = whole
    known = [TextPair(pair.line, pair.triples, pair.texts[:1]) for pair in pairs.train]
    settings = TrainSettings(scratch="tiny", epochs=40, lr=3e-3, batch=6, dropout=0.0)
    report = train(Split(known, []), tmp_path / "model", settings)
    assert [row["scores"] for row in report["epochs"]] == [None] * 40
    assert report["best"] == 40
    written = writer(str(tmp_path / "model")).write([pair.triples for pair in known])
    assert sum(prose["ok"] for prose in written) >= 5
    scores = score_texts(known, [prose["text"] for prose in written])
    assert scores["relative_coverage"] >= 0.95
    assert scores["true_to_triples"] >= 0.95


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5, 8, 9])
def test_cut_off_and_resumed_it_comes_to_the_same(
    whole: tuple[Path, Split, TrainReport], tmp_path: Path, steps: int
) -> None:
    out, pairs, report = whole
    with pytest.raises(Cut):
        train(pairs, tmp_path / "model", QUICK, progress=cut_after(steps))
    assert not (tmp_path / "model").exists()
    told: list[str] = []
    again = train(pairs, tmp_path / "model", QUICK, progress=lambda *report: told.append(str(report[0])))
    assert again == report
    assert same(out, tmp_path / "model")
    # Two steps are saved at a time, and the end of an epoch: what was done is not done again.
    assert ("epoch 1 of 3" in told) == (steps <= 3)


def test_cut_off_again_and_again(whole: tuple[Path, Split, TrainReport], tmp_path: Path) -> None:
    out, pairs, report = whole
    for _ in range(20):
        try:
            again = train(pairs, tmp_path / "model", QUICK, progress=cut_after(3))
            break
        except Cut:
            continue
    else:
        pytest.fail("it never came to an end")
    assert again == report
    assert same(out, tmp_path / "model")


@pytest.mark.parametrize("step", ["pathlib.Path.chmod", "thinkgraph.ingest.folder.BuildFolder.commit"])
def test_cut_off_while_the_best_is_put_in_its_place(
    whole: tuple[Path, Split, TrainReport], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    out, pairs, report = whole

    def cut(*_: object) -> None:
        raise Cut

    monkeypatch.setattr(step, cut)
    with pytest.raises(Cut):
        train(pairs, tmp_path / "model", QUICK)
    monkeypatch.undo()
    assert train(pairs, tmp_path / "model", QUICK, progress=cut_after(0)) == report
    assert same(out, tmp_path / "model")


@pytest.mark.slow
def test_killed_for_good(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SIGKILL at any moment, through the command line; the same command comes to what an unbroken run comes to."""
    import torch

    data = write_rows(tmp_path / "pairs.jsonl")
    words = ["g2t", "train", "--data", str(data), "--from-scratch", "tiny", "--epochs", "3", "--save-every", "1"]
    program = [sys.executable, "-P", "-c", "from thinkgraph.cli.main import entry; entry()"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    work = tmp_path / ".killed.building"
    rng = random.Random(7)
    with subprocess.Popen(
        [*program, *words, "--out", str(tmp_path / "killed")], env=env, stderr=subprocess.PIPE
    ) as run:
        end = time.monotonic() + 200
        while not list(work.glob("checkpoint-*")) and run.poll() is None:
            assert time.monotonic() < end
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.05))
        run.send_signal(signal.SIGKILL)
    assert run.returncode == -signal.SIGKILL
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as there: sums depend on it
    try:
        for name in ("killed", "whole"):
            assert main([*words, "--out", str(tmp_path / name)]) == 0
            assert "kept" in capsys.readouterr().out
    finally:
        torch.set_num_threads(threads)
    assert same(tmp_path / "killed", tmp_path / "whole")


def test_a_finished_training_is_not_done_again(whole: tuple[Path, Split, TrainReport], tmp_path: Path) -> None:
    out, pairs, report = whole
    shutil.copytree(out, tmp_path / "model")
    assert train(pairs, tmp_path / "model", QUICK, progress=cut_after(0)) == report
    # How often the state is saved changes nothing in what comes out.
    often = TrainSettings(**{**report["settings"], "save_every": 1})
    assert train(pairs, tmp_path / "model", often, progress=cut_after(0)) == report
    other = TrainSettings(**{**report["settings"], "seed": 1, "epochs": 1})
    with pytest.raises(KnowledgeError, match="is a trained checkpoint already; add --replace"):
        train(pairs, tmp_path / "model", other)
    assert train(pairs, tmp_path / "model", other, replace=True)["settings"]["seed"] == 1
    assert not same(out, tmp_path / "model")


def test_unfinished_work_of_another_training_is_not_thrown_away(
    whole: tuple[Path, Split, TrainReport], tmp_path: Path
) -> None:
    _, pairs, _ = whole
    with pytest.raises(Cut):
        train(pairs, tmp_path / "model", QUICK, progress=cut_after(5))
    other = TrainSettings(scratch="tiny", epochs=1)
    with pytest.raises(KnowledgeError, match="unfinished work with other settings or data"):
        train(pairs, tmp_path / "model", other)
    checkpoints = (tmp_path / ".model.building").glob("checkpoint-*")
    checkpoint = max(checkpoints, key=lambda folder: int(folder.name.partition("-")[2]))
    for name in ("rng_state.pth", "optimizer.pt", "model.safetensors"):
        state = checkpoint / name
        state.write_bytes(state.read_bytes()[:1000])
        with pytest.raises(ModelError, match=r"is damaged .*--replace"):
            train(pairs, tmp_path / "model", QUICK)
    assert train(pairs, tmp_path / "model", other, replace=True)["best"] == 1


def test_a_start_that_fails_leaves_nothing_behind(whole: tuple[Path, Split, TrainReport], tmp_path: Path) -> None:
    out, pairs, _ = whole
    base = tmp_path / "base"
    shutil.copytree(out, base)
    (base / "model.safetensors").write_bytes(b"")
    with pytest.raises(ModelError, match="are damaged"):
        train(pairs, tmp_path / "model", TrainSettings(base=str(base), epochs=1))
    with pytest.raises(ModelError, match="nothing is there"):
        train(pairs, tmp_path / "model", TrainSettings(base="/nowhere", epochs=1))
    assert not list(tmp_path.glob("*model*"))
    # Cut off before there was anything to keep: other settings are no one's loss.
    with pytest.raises(Cut):
        train(pairs, tmp_path / "model", QUICK, progress=cut_after(0))
    train(pairs, tmp_path / "model", TrainSettings(scratch="tiny", epochs=1))


@pytest.mark.parametrize("replace", [False, True])
def test_what_else_stands_there_is_left_alone(
    whole: tuple[Path, Split, TrainReport], tmp_path: Path, *, replace: bool
) -> None:
    _, pairs, _ = whole
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    with pytest.raises(KnowledgeError, match="is not empty and not a trained checkpoint"):
        train(pairs, tmp_path / "notes", QUICK, replace=replace)
    assert (tmp_path / "notes" / "a.txt").read_text() == "mine"
    with pytest.raises(KnowledgeError, match="is a file"):
        train(pairs, tmp_path / "notes" / "a.txt", QUICK, replace=replace)
    with pytest.raises(KnowledgeError, match="cannot write"):
        train(pairs, tmp_path / "notes" / "a.txt" / "model", QUICK, replace=replace)


def test_two_at_a_time_are_refused(whole: tuple[Path, Split, TrainReport], tmp_path: Path) -> None:
    _, pairs, _ = whole
    with (
        BuildFolder(tmp_path / "model", "key", replace=False, kind=KIND),
        pytest.raises(KnowledgeError, match="another process is training"),
    ):
        train(pairs, tmp_path / "model", QUICK)


def test_nothing_is_said_and_the_callers_random_numbers_stay(
    whole: tuple[Path, Split, TrainReport], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    import torch

    _, pairs, _ = whole
    torch.manual_seed(5)
    before = torch.get_rng_state()
    train(pairs, tmp_path / "model", TrainSettings(scratch="tiny", epochs=1))
    assert torch.equal(before, torch.get_rng_state())
    assert capfd.readouterr() == ("", "")


def test_a_loss_that_is_no_number_ends_it(whole: tuple[Path, Split, TrainReport], tmp_path: Path) -> None:
    _, pairs, _ = whole
    with pytest.raises(ModelError, match=r"the loss is nan.*a smaller --lr may help"):
        train(pairs, tmp_path / "model", TrainSettings(scratch="tiny", lr=1e30, epochs=5))


def test_texts_too_long_for_the_model_are_left_out_and_counted(tmp_path: Path) -> None:
    def pair(words: int) -> TextPair:
        line = "(a) -[r]-> (" + " ".join(random.Random(n).choice(PLACES)[0] + str(n) for n in range(words)) + ")"
        return TextPair(line, (make_triple("a", "r", "b"),), ("A is B.", "B is A."))

    settings = TrainSettings(scratch="tiny", epochs=1)
    report = train(Split([pair(1), pair(600)], []), tmp_path / "model", settings)
    assert (report["texts"], report["too_long"]) == (2, 2)
    assert report["best"] == 1
    assert report["epochs"][0]["scores"] is None
    with pytest.raises(ModelError, match="none of the 2 texts can be learnt"):
        train(Split([pair(600)], []), tmp_path / "other", settings)


def test_any_kind_of_checkpoint_can_be_the_start(whole: tuple[Path, Split, TrainReport], tmp_path: Path) -> None:
    import torch
    from transformers import BartConfig, BartForConditionalGeneration

    out, pairs, _ = whole
    _, tokenizer = from_scratch("tiny", [pair.line for pair in pairs.train], None)
    config = BartConfig(
        vocab_size=len(tokenizer), d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=64,
        pad_token_id=0, bos_token_id=1, eos_token_id=1, decoder_start_token_id=1, forced_eos_token_id=1,
    )  # fmt: skip
    torch.manual_seed(0)
    BartForConditionalGeneration(config).save_pretrained(tmp_path / "bart")
    tokenizer.save_pretrained(tmp_path / "bart")
    for base in (tmp_path / "bart", out):
        target = tmp_path / f"tuned-{base.name}"
        report = train(pairs, target, TrainSettings(base=str(base), epochs=1, lr=1e-4, dropout=0.0))
        assert report["settings"]["base"] == str(base)
        assert not same(base, target)
        assert len(writer(str(target)).write([pairs.train[0].triples])) == 1
    # 64 positions: a longer community is not written, and says so.
    triples = [make_triple("Panama", "borders", f"Country number {n} of many") for n in range(30)]
    (prose,) = writer(str(tmp_path / "tuned-bart")).write([triples])
    assert not prose["ok"]
    assert prose["problems"][0].startswith("too long: ")
    assert prose["problems"][0].endswith(" tokens, 64 are read")


def test_another_checkpoint_in_the_same_folder_is_another_training(
    whole: tuple[Path, Split, TrainReport], tmp_path: Path
) -> None:
    out, pairs, _ = whole
    base = tmp_path / "base"
    shutil.copytree(out, base)
    settings = TrainSettings(base=str(base), epochs=1)
    train(pairs, tmp_path / "model", settings)
    shutil.rmtree(base)
    train(pairs, base, TrainSettings(scratch="tiny", epochs=1, seed=9))
    with pytest.raises(KnowledgeError, match="already"):
        train(pairs, tmp_path / "model", settings)


def test_a_tokeniser_without_the_signs_of_t2t_learns_them(tmp_path: Path) -> None:
    """T5's has neither < nor braces: both directions of an arrow would read alike."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

    words = ["<pad>", "</s>", "<unk>", "(", ")", "-", "[", "]", ">", "a", "b", "r", "Panama", "borders", "Colombia"]
    names = dict(zip(("pad_token", "eos_token", "unk_token"), words, strict=False))
    inner = Tokenizer(models.WordLevel({word: at for at, word in enumerate(words)}, unk_token=words[2]))
    inner.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation("isolated")])
    bare = PreTrainedTokenizerFast(tokenizer_object=inner, **names)
    config = T5Config(vocab_size=len(words), d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2, pad_token_id=0)
    config.decoder_start_token_id = 0
    T5ForConditionalGeneration(config).save_pretrained(tmp_path / "base")
    bare.save_pretrained(tmp_path / "base")
    model, tokenizer = from_checkpoint(str(tmp_path / "base"), None)
    there, back = (tokenizer(line)["input_ids"] for line in ("(a) -[r]-> (b)", "(a) <-[r]- (b)"))
    assert tokenizer.unk_token_id not in there + back
    assert len(tokenizer) == len(words) + 3 == model.get_input_embeddings().num_embeddings
