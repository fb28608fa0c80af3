"""`thinkgraph g2t`: training and writing from the command line."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli.conftest import PROGRAM, QUESTION, Run, environment
from docs.page_blocks import block_of
from training.sample import rows, write_rows

pytestmark = pytest.mark.xdist_group("g2t")
"""One worker imports PyTorch for all of them."""
TINY = ("--from-scratch", "tiny")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_rows(tmp_path_factory.mktemp("data") / "pairs.jsonl"))


def test_train_and_write(cli: Run, data: str, tmp_path: Path) -> None:
    out = str(tmp_path / "model")
    words = ["g2t", "train", "--data", data, "--out", out, *TINY, "--epochs", "2", "--validation", "0.2"]
    done = cli(*words)
    assert done.code == 0, done.err
    assert "13 texts of 13 sets of triples; 3 for validation" in done.err
    assert "epoch 1: loss" in done.err
    assert "ROUGE-1" in done.out
    assert done.out.count("kept") == 1
    again = cli(*words, "--json")
    assert again.code == 0
    assert "is trained already" in again.err
    report = json.loads(again.out)
    assert len(report["epochs"]) == 2
    assert report["validation"] == 3
    written = cli("g2t", "write", "--model", out, data, "--limit", "3")
    assert written.code == 0
    assert written.out.startswith("(Panama) ")
    assert " of 3 texts are true to their triples" in written.out
    found = json.loads(cli("g2t", "write", "--model", out, data, "--json").out)
    assert len(found["rows"]) == len(rows()) == found["summary"]["texts"]
    assert {"triples", "text", "ok", "problems"} == set(found["rows"][0])
    other = cli(*words, "--seed", "4")
    assert other.code == 3
    assert "is a trained checkpoint already; add --replace" in other.line
    assert cli(*words, "--seed", "4", "--replace").code == 0


def test_what_docs_howto_g2t_md_says_of_a_trained_one(
    cli: Run, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("communities.jsonl").symlink_to(data)
    assert cli("g2t", "train", "--data", data, "--out", "my-g2t", *TINY, "--epochs", "1").code == 0
    write, ask = block_of("docs/howto/g2t.md", "./tg g2t write").replace("…", QUESTION).splitlines()
    written, asked = (cli(*shlex.split(line)[1:]) for line in (write, ask))
    assert f" of {len(rows())} texts are true to their triples" in written.out
    assert asked.code == 0, asked.err
    assert "with fasttog" in asked.out


def test_a_validation_file_and_half_lines(cli: Run, data: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text(Path(data).read_text("utf-8") + '{"triples": [["a", "b\x1b[31m', "utf-8")
    done = cli(
        "g2t", "train", "--data", str(broken), "--out", str(tmp_path / "model"), *TINY, "--epochs", "1",
        "--validation", data, "--limit", "4", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "broken.jsonl, line 17: bad JSON" in done.err
    assert "not used: 1 malformed line" in done.err
    assert "\x1b" not in done.err
    report = json.loads(done.out)
    assert (report["texts"], report["validation"]) == (4, 16)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--epochs", "0"), 2, "--epochs: must be at least 1"),
        (("--batch", "0"), 2, "--batch: must be at least 1"),
        (("--limit", "1"), 2, "--limit: must be at least 2"),
        (("--seed", "-1"), 2, "--seed: must be at least 0"),
        (("--seed", "4294967296"), 2, "--seed: must be at least 0 and less than 4294967296"),
        (("--epochs", "1.5"), 2, "--epochs: must be a whole number, not '1.5'"),
        (("--lr", "0"), 2, "--lr: must be at least 1e-09 and less than 1"),
        (("--lr", "nan"), 2, "--lr: must be at least 1e-09 and less than 1"),
        (("--warmup", "1"), 2, "--warmup: must be at least 0 and less than 1"),
        (("--dropout", "-0.1"), 2, "--dropout: must be at least 0"),
        (("--validation", "1"), 2, "--validation: must be at least 0 and less than 1, or a file"),
        (("--validation", "nan"), 2, "--validation: must be at least 0"),
        (("--validation", "/nowhere.jsonl"), 3, "there is no file /nowhere.jsonl"),
        (("--data", "/nowhere.jsonl"), 3, "there is no file /nowhere.jsonl"),
        (("--data", str(Path(__file__).parent)), 3, "is a folder"),
        (("--data", os.devnull), 3, "is empty"),
        (("--from-scratch", "huge"), 2, "invalid choice"),
        (("--base", "x"), 2, "not allowed with"),
        (("--out", __file__), 3, "is a file; name a folder"),
        (("--out", str(Path(__file__).parent)), 3, "is not empty and not a trained checkpoint"),
        (("--out", "/"), 3, "cannot be a trained checkpoint"),
    ],
)
def test_wrong_flags_are_one_line_and_cost_nothing(
    cli: Run, data: str, tmp_path: Path, words: tuple[str, ...], code: int, says: str
) -> None:
    done = cli("g2t", "train", "--data", data, "--out", str(tmp_path / "model"), *TINY, *words)
    assert done.code == code
    assert says in done.line
    assert not list(tmp_path.glob("*model*"))


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("g2t",), 2, "COMMAND"),
        (("g2t", "train"), 2, "required"),
        (("g2t", "train", "--data", "x", "--out", "y"), 2, "one of the arguments --base --from-scratch is required"),
        (("g2t", "write", "--model", "/nowhere", "FILE"), 4, "nothing is there"),
        (("g2t", "write", "--model", "", "FILE"), 4, "no graph-to-text checkpoint is named"),
        (("g2t", "write", "--model", "/nowhere", "/nowhere.jsonl"), 3, "there is no file /nowhere.jsonl"),
        (("g2t", "write", "--model", "x", "FILE", "--limit", "0"), 2, "--limit: must be at least 1"),
    ],
)
def test_wrong_usage(cli: Run, data: str, words: tuple[str, ...], code: int, says: str) -> None:
    done = cli(*(data if word == "FILE" else word for word in words))
    assert done.code == code
    assert says in done.line


@pytest.mark.parametrize("package", ["transformers", "accelerate", "rouge_score", "sacrebleu"])
def test_the_extra_is_named_before_anything_is_read(
    cli: Run, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    done = cli("g2t", "train", "--data", data, "--out", str(tmp_path / "model"), *TINY)
    assert done.code == 2
    assert "pip install 'thinkgraph[g2t]'" in done.line


@pytest.mark.slow
def test_interrupted_it_goes_on(cli: Run, data: str, tmp_path: Path) -> None:
    words = ["g2t", "train", "--data", data, "--out", str(tmp_path / "model"), *TINY, "--save-every", "1"]
    work = tmp_path / ".model.building"
    with subprocess.Popen([*PROGRAM, *words, "--epochs", "500"], env=environment(), stderr=subprocess.PIPE) as run:
        end = time.monotonic() + 200
        # A checkpoint counts from when build.json tells of it.
        while not (work / "build.json").is_file() or '"begun"' not in (work / "build.json").read_text("utf-8"):
            assert time.monotonic() < end
            assert run.poll() is None
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert err.decode().splitlines()[-1] == "thinkgraph: error: interrupted; the same command goes on where it stopped"
    assert list(work.glob("checkpoint-*/trainer_state.json"))
    other = cli(*words, "--epochs", "1")
    assert other.code == 3
    assert "holds unfinished work with other settings or data" in other.line
