"""`kb build`, `kb update`, `kb index`, `bench` and `g2t train`, killed at random moments and given again: what comes of it is the same."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.sample import write_rows

from trials.commands import Command, Done, Limits
from trials.outcomes import Outcome, Trial
from trials.world import drawn, own_folder

_DOCUMENTS = 60
_AGAIN = 0.4
"""Share of commands that are killed once more."""
_PLACES = ("Varn", "Osk", "Merish", "Port Arden", "Lake Tolm", "Quill Ridge", "Hesper Bay", "Dun Marrow")


@dataclass(frozen=True)
class Stage:
    """A command over a folder that is made ready for it."""

    words: tuple[str, ...]
    ready: Callable[[Path, Path], None]
    digest: Callable[[Path, Path], Any]
    """What came of it: the same, killed or not."""


def trials(kb: Path, count: int) -> Iterator[Trial]:
    """So many killed runs of each stage."""
    for name, stage in STAGES.items():
        whole = _Whole(kb, stage)
        for number in range(count):
            yield Trial("stages", name, str(number), functools.partial(_trial, whole, name, number))


class _Whole:
    """An undisturbed run, made when it is first asked for."""

    def __init__(self, kb: Path, stage: Stage) -> None:
        self.kb, self.stage = kb, stage
        self._lock = threading.Lock()

    @property
    def found(self) -> tuple[Any, float]:
        """What came of it, and its seconds."""
        with self._lock:
            return self._made

    @functools.cached_property
    def _made(self) -> tuple[Any, float]:
        with own_folder() as folder:
            self.stage.ready(folder, self.kb)
            done = _command(folder, *self.stage.words).wait(Limits())
            if done.code:
                raise SystemExit(f"an undisturbed {' '.join(self.stage.words)} failed: {done.err}")
            return self.stage.digest(folder, self.kb), done.seconds


def _command(folder: Path, *words: str) -> Command:
    given = [word.replace("DIR", str(folder)) for word in words]
    env = {"THINKGRAPH_HOME": str(folder / "home"), "THINKGRAPH_CACHE": str(folder / "cache")}
    return Command(given, folder / "said", env).start()


def _trial(whole: _Whole, name: str, number: int) -> Outcome:
    expected, seconds = whole.found
    rng = drawn("stage", name, number)
    wrong: list[str] = []
    kills = 0
    with own_folder() as folder:
        whole.stage.ready(folder, whole.kb)
        command = _command(folder, *whole.stage.words)
        while kills == 0 or rng.random() < _AGAIN:
            command.sleep(rng.uniform(0, seconds))
            command.kill()
            kills += 1
            command = _command(folder, *whole.stage.words)
        done = command.wait(Limits())
        # A kill after all was done: a build does not replace what is there.
        there = name.startswith("build") and done.code == 3 and "--replace" in done.err
        wrong += done.faults
        if done.code and not there:
            wrong.append(f"given again, it ended with {done.code}: {done.err[-300:]!r}")
        elif (found := whole.stage.digest(folder, whole.kb)) != expected:
            wrong.append(f"another result: {found!r:.200}, undisturbed {expected!r:.200}")
    return Outcome("stages", name, str(number), wrong, "same result" if not wrong else "wrong", figure=kills)


def _write_documents(folder: Path, count: int) -> None:
    docs = folder / "docs"
    docs.mkdir(exist_ok=True)
    for number in range(count):
        rng = drawn("document", number)
        names = [f"{rng.choice(_PLACES)} {rng.choice('ABCDEFG')}" for _ in range(12)]
        lines = [
            f"{one} lies north of {other}, and {one} trades with {rng.choice(_PLACES)}."
            for one, other in itertools.pairwise(names)
        ]
        (docs / f"{number}.txt").write_text(" ".join(lines * 4), "utf-8")


def _built(folder: Path, *words: str) -> None:
    done: Done = _command(folder, *words).wait(Limits())
    if done.code:
        raise SystemExit(f"{' '.join(words)} failed: {done.err}")


def _ready_update(folder: Path, _: Path) -> None:
    _write_documents(folder, _DOCUMENTS // 2)
    _built(folder, *BUILD)
    _write_documents(folder, _DOCUMENTS)


def _ready_index(folder: Path, _: Path) -> None:
    _write_documents(folder, _DOCUMENTS // 2)
    _built(folder, *BUILD)


def _ready_bench(folder: Path, kb: Path) -> None:
    shutil.copytree(kb, folder / "kb")
    rows = [
        {
            "id": str(n),
            "question": f"What is the capital of Panama, asked for the time number {n}?",
            "answers": ["Panama City"],
        }
        for n in range(24)
    ]
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def _facts(folder: Path, _: Path) -> Any:
    """What `kb info` says, but for when it was made."""
    done = _command(folder, "kb", "info", "DIR/kb", "--json").wait(Limits())
    said = json.loads(done.out)
    return {name: said.get(name) for name in ("fingerprint", "graph", "documents", "encoded")} | {
        "text": said["text"]["fingerprint"]
    }


def _rows(folder: Path, _: Path) -> Any:
    """The results of a bench, in the order of ids."""
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text("utf-8").splitlines()]
    return sorted(
        (row["id"], row["method"], row["answer"]["answers"], row["answer"]["status"]) for row in rows if "answer" in row
    )


def _trained(folder: Path, _: Path) -> Any:
    """The weights of a training, and what it says of itself."""
    model = folder / "model"
    return hashlib.sha256((model / "model.safetensors").read_bytes()).hexdigest(), json.loads(
        (model / "g2t.json").read_text("utf-8")
    )


BUILD = ("kb", "build", "DIR/kb", "--documents", "DIR/docs")
STAGES = {
    "build": Stage(BUILD, lambda folder, _: _write_documents(folder, _DOCUMENTS), _facts),
    "update": Stage(("kb", "update", "DIR/kb", "--documents", "DIR/docs"), _ready_update, _facts),
    "index": Stage(("kb", "index", "DIR/kb"), _ready_index, _facts),
    "bench": Stage(
        ("bench", "--data", "DIR/questions.jsonl", "--kb", "DIR/kb", "--methods", "tog2,fiske", "--model", "offline", "--out", "DIR/out.jsonl"),
        _ready_bench,
        _rows,
    ),
    "train": Stage(
        ("g2t", "train", "--data", "DIR/pairs.jsonl", "--from-scratch", "tiny", "--epochs", "6", "--save-every", "1", "--out", "DIR/model"),
        lambda folder, _: write_rows(folder / "pairs.jsonl") and None,
        _trained,
    ),
}  # fmt: skip
