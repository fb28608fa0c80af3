"""An export of training data: questions are run with the perfect chooser, and every call is kept with its right reply."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinkgraph.errors import UsageError
from thinkgraph.eval.bench_setup import known_golds
from thinkgraph.eval.files import make_folder, write_text
from thinkgraph.eval.gold import Gold, agrees
from thinkgraph.eval.perfect.chooser import PerfectChooser
from thinkgraph.eval.questions import Question, question_row, read_questions
from thinkgraph.eval.roles.cases import sort_of
from thinkgraph.eval.roles.making import Maker
from thinkgraph.eval.roles.recording import Oracle, recorded
from thinkgraph.ingest.folder import BuildFolder, FolderKind, writing
from thinkgraph.prompts.library import PromptLibrary, builtin_roles
from thinkgraph.state.settings import RunSettings
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.progress import Progress, no_progress
from thinkgraph.training.chat.card import DataReport, card
from thinkgraph.training.chat.records import records_of
from thinkgraph.training.chat.split import Parted, parted
from thinkgraph.version import VERSION

CARD, QUESTIONS, ASKED = "README.md", "questions", "asked.jsonl"
KIND = FolderKind(
    "an export of training data", lambda folder: (folder / CARD).is_file() and (folder / QUESTIONS).is_dir(), "writing"
)
_AT_A_TIME = 50
"""Questions whose calls are in memory at once; lines of others come from among them."""
_EVERY = 10**9
_NOT_TOLD = frozenset({"recall", "search_agent"})
"""Rooms whose replies do not follow from their prompts: a model's own knowledge, and turns with tools."""


@dataclass(frozen=True)
class ExportPlan:
    """What is exported."""

    knowledge: Knowledge
    questions: Callable[[Path], Sequence[Question]]
    """Gives the questions; may keep what it paid for in the folder it is given."""
    of: Sequence[Any]
    """What tells these questions from others, as plain JSON."""
    methods: Sequence[str]
    prompts: PromptLibrary
    settings: RunSettings
    test: float
    """Share of the questions that are for the test."""
    seed: int
    command: str
    """How it was asked for, for the card."""
    data: str
    """Where the questions are from, for the card."""


def roles_of(methods: Sequence[str]) -> list[str]:
    """The roles of some methods whose right reply follows from gold paths; without any methods all such roles.

    Raises:
        UsageError: a method has none.
    """
    library = PromptLibrary()
    known = [role for role in builtin_roles() if sort_of(library.get(role)) and role.partition(".")[0] not in _NOT_TOLD]
    rooms = list(dict.fromkeys(role.partition(".")[0] for role in known))
    if unknown := [name for name in methods if name not in rooms]:
        raise UsageError(
            f"--methods: '{unknown[0]}' has no calls of its own whose right replies are known; these have: {', '.join(rooms)}"
        )
    return [role for role in known if not methods or role.partition(".")[0] in methods]


def export(plan: ExportPlan, out: Path, *, replace: bool = False, progress: Progress = no_progress) -> DataReport:
    """Write the records of both parts, the questions and the card into a folder that appears whole or not at all.

    A killed export goes on when it is asked for again.

    Raises:
        KnowledgeError: the folder holds something else or cannot be written, or the knowledge cannot be read.
        UsageError: no question has a gold path, or none gives a record.
    """
    with writing(out), BuildFolder(out, _key(plan), replace=replace, kind=KIND) as place:
        try:
            report = _made(plan, place, progress)
        except UsageError:
            # The same command would come to the same.
            place.discard()
            raise
        place.commit()
    return report


def _made(plan: ExportPlan, place: BuildFolder, progress: Progress) -> DataReport:
    questions = _questions(plan, place)
    golds = _fitting(questions, plan.knowledge)
    asked = [question for question in questions if question.id in golds]
    parts = parted(asked, golds, test=plan.test, seed=plan.seed)
    batches = [
        (part, at, of[at : at + _AT_A_TIME]) for part, of in _by_part(parts) for at in range(0, len(of), _AT_A_TIME)
    ]
    work = _Work(plan, golds, PerfectChooser({one.question: golds[one.id] for one in asked}), place.work / "parts")
    done = 0
    for part, at, batch in batches:
        name = f"{part}-{at}"
        progress("questions", done, len(asked))
        if place.stage(name) is None or not work.file(name).is_file():
            work.keep(name, batch)
            place.finished(name, len(batch))
        done += len(batch)
    counts, repeated = _joined([(part, work.file(f"{part}-{at}")) for part, at, _ in batches], place.work)
    report = _report(plan, parts, counts, repeated=repeated, unfit=len(questions) - len(asked))
    if not report["train"]:
        raise UsageError("no question gives a record to learn from: name more of them, or a smaller --test")
    for part, of in _by_part(parts):
        _write(place.work / QUESTIONS / f"{part}.jsonl", map(question_row, of))
    write_text(place.work / CARD, card(report))
    for name in ("parts", "reworded"):
        shutil.rmtree(place.work / name, ignore_errors=True)
    (place.work / ASKED).unlink()
    return report


def _by_part(parts: Parted) -> list[tuple[str, Sequence[Question]]]:
    """The test first: what it holds is not learnt from."""
    return [("test", parts.test), ("train", parts.train)]


def _key(plan: ExportPlan) -> str:
    """Exports with the same key go on with each other's work."""
    prompts = [plan.prompts.get(role).digest for role in builtin_roles()]
    told = [VERSION, plan.knowledge.fingerprint, plan.of, plan.methods, prompts, plan.test, plan.seed]
    whole = json.dumps([*told, plan.settings.model_dump(mode="json")], sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()


def _questions(plan: ExportPlan, place: BuildFolder) -> list[Question]:
    """The questions, as they were asked for first; each text once."""
    file = place.work / ASKED
    if place.stage(ASKED) is None or not file.is_file():
        # From here on there is something to go on with.
        place.finished("begun", result=True)
        _write(file, map(question_row, plan.questions(place.work)))
        place.finished(ASKED, result=True)
    return list({question.question: question for question in reversed(read_questions(file))}.values())[::-1]


def _fitting(questions: Sequence[Question], knowledge: Knowledge) -> dict[str, Gold]:
    """The gold paths that fit the knowledge and lead to the answers; questions without answers have an empty one.

    Raises:
        UsageError: there are none.
    """
    golds = known_golds(questions, knowledge)
    fitting = {
        question.id: gold
        for question in questions
        if (gold := golds.get(question.id)) and (agrees(gold) if gold.is_answerable else not question.answers)
    }
    if not any(gold.is_answerable for gold in fitting.values()):
        raise UsageError("no question here has a gold path that leads to its answers in this knowledge base")
    return fitting


class _Work:
    def __init__(self, plan: ExportPlan, golds: Mapping[str, Gold], chooser: PerfectChooser, folder: Path) -> None:
        self._plan, self._golds, self._chooser, self._folder = plan, golds, chooser, folder
        self._roles = roles_of(plan.methods)
        self._oracle = Oracle(chooser)
        make_folder(folder)

    def file(self, name: str) -> Path:
        return self._folder / f"{name}.jsonl"

    def keep(self, name: str, questions: Sequence[Question]) -> None:
        plan = self._plan
        maker = Maker(self._roles, self._golds, self._oracle, cases=_EVERY, seed=plan.seed, measures=False)
        for question, calls in recorded(questions, self._roles, knowledge=plan.knowledge, chooser=self._chooser):
            maker.add(question, calls)
        found = records_of(
            maker.cases(),
            chooser=self._chooser,
            knowledge=plan.knowledge,
            prompts=plan.prompts,
            settings=plan.settings,
            golds=self._golds,
        )
        _write(self.file(name), ({"role": one.role, "sort": one.sort, **one.row()} for one in found))


def _joined(batches: Iterable[tuple[str, Path]], work: Path) -> tuple[Counter[str], int]:
    """Write a file for each part and role, each prompt once; counts by part, role and sort, and how many were there before."""
    seen: set[str] = set()
    counts: Counter[str] = Counter()
    repeated = 0
    for part in ("train", "test", QUESTIONS):
        # An export that was killed here may have left some.
        shutil.rmtree(work / part, ignore_errors=True)
        make_folder(work / part)
    for part, batch in batches:
        for line in batch.read_text("utf-8").split("\n")[:-1]:
            row = json.loads(line)
            messages = json.dumps(row["messages"][:-1])
            if messages in seen:
                repeated += 1
                continue
            seen.add(messages)
            counts[f"{part} {row['role']} {row['sort']}"] += 1
            # JSON may hold half a surrogate pair, a file may not.
            kept = work / part / f"{row['role']}.jsonl"
            with kept.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{json.dumps({'messages': row['messages']}, ensure_ascii=False)}\n")
    return counts, repeated


def _report(plan: ExportPlan, parts: Parted, counts: Counter[str], *, repeated: int, unfit: int) -> DataReport:
    totals = Counter({part: 0 for part, _ in _by_part(parts)})
    for key, count in counts.items():
        totals[key.partition(" ")[0]] += count
    return DataReport(
        train=totals["train"],
        test=totals["test"],
        repeated=repeated,
        questions=dict(Counter(f"{part} {question.type}" for part, of in _by_part(parts) for question in of)),
        dropped=len(parts.dropped),
        unfit=unfit,
        counts=dict(sorted(counts.items())),
        command=plan.command,
        knowledge=f"{plan.knowledge.name} ({plan.knowledge.fingerprint[:8]})",
        data=plan.data,
        profile=plan.settings.prompt_profile,
        shots=plan.settings.shots,
        seed=plan.seed,
    )


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    write_text(path, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))
