"""The data card of an export: what it holds, counted, and how it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from typing_extensions import TypedDict

SORTS_OF_RECORDS: Mapping[str, str] = {
    "right": "the options, the evidence or the question of a run, with what is right",
    "noisy": "evidence that suffices, among lines of other questions that share its words, mixed",
    "cut": "evidence that no longer suffices: its gold lines gave way to such lines",
    "none": "nothing fits, evidence that does not suffice yet, or an answer to be verified that is wrong",
    "shuffled": "the options of a call above, in another order",
    "unanswerable": "calls of questions that have no answer",
}

_HEAD = (
    "---",
    "configs:",
    "- config_name: default",
    "  data_files:",
    "  - {split: train, path: train/*.jsonl}",
    "  - {split: test, path: test/*.jsonl}",
    "---",
    "",
)
"""What a model hub reads of a data set."""
_TAIL = (
    "Replies are made by rule from the gold paths, and each was read back by its prompt's own reader. The words of the questions "
    "and of the knowledge are under the licence of their sources."
)


class DataReport(TypedDict):
    """What an export holds."""

    train: int
    """Records; so for test."""
    test: int
    repeated: int
    """Records left out because another one has the same messages."""
    questions: dict[str, int]
    """By part and type: "train 2hop"."""
    dropped: int
    """Questions in neither part: they share a topic or an answer with the test."""
    unfit: int
    """Questions left out because their path does not lead to their answers here."""
    counts: dict[str, int]
    """Records by part, role and sort: "train tog2.reason cut"."""
    command: str
    knowledge: str
    """Name and fingerprint."""
    data: str
    profile: str
    shots: int
    seed: int


def card(report: DataReport) -> str:
    """The card, as Markdown whose header is that of a data set on a model hub."""
    counts = report["counts"]
    roles = sorted({key.split()[1] for key in counts})
    by_role = [
        [role, *(_number(counts, part, role) for part in ("train", "test")),
         *(_number(counts, "train", role, sort) for sort in SORTS_OF_RECORDS)]
        for role in roles
    ]  # fmt: skip
    types = sorted({key.partition(" ")[2] for key in report["questions"]})
    by_type = [
        [kind or "(none)", *(str(report["questions"].get(f"{part} {kind}", 0)) for part in ("train", "test"))]
        for kind in types
    ]
    held = (
        f"{report['train']:,} records for training and {report['test']:,} for a test, one file for each role: "
        '`{"messages": [system, user, …, assistant]}` a line, as a run of the method sends them; the last message is the reply '
        f"to learn. Prompts are rendered for {report['profile']} models with {report['shots']} worked examples at most."
    )
    left_out = (
        f"The questions ({report['data']}) stand in `questions/`, with their gold paths. No topic and no answer of a test "
        f"question is one of a training question: {report['dropped']:,} questions were dropped for that. Left out were also "
        f"{report['unfit']:,} questions whose gold path does not lead to their answers here, and {report['repeated']:,} records "
        f"that repeat another's messages. Seed {report['seed']}."
    )
    lines = [
        *_HEAD,
        f"# Chat messages with right replies, from {report['knowledge']}",
        "",
        f"    {report['command']}",
        "",
    ]
    lines += [held, "", left_out, "", *_table(["role", "train", "test", *SORTS_OF_RECORDS], by_role), ""]
    lines += ["The columns after `test` part the training records by sort:", ""]
    lines += [f"- {sort}: {what}" for sort, what in SORTS_OF_RECORDS.items()]
    lines += ["", *_table(["questions", "train", "test"], by_type), "", _TAIL, ""]
    return "\n".join(lines)


def _number(counts: Mapping[str, int], *of: str) -> str:
    """How many records have a key that begins so."""
    return str(sum(count for key, count in counts.items() if tuple(key.split()[: len(of)]) == of))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return [f"| {' | '.join(line)} |" for line in lines]
