"""What a question wants back: an answer, or a verdict on a claim (ToG-2 section 4.1: QA and fact verification)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Task = Literal["question", "fact", "truth"]

TASK_WORDS: Mapping[Task, str] = {
    "question": "A question that asks for several things has several answers: list every one the evidence gives.",
    "fact": "The question is a claim to be verified: it is SUPPORTS if the evidence shows it true, REFUTES if the evidence "
    "shows it false, and NOT ENOUGH INFO if the evidence leaves it open.",
    "truth": "The question is a claim to be verified: it is true if the evidence shows it true and false if the evidence "
    "shows it false.",
}
"""The words that stand for {{task}} in prompts."""

TASK_LABELS: Mapping[Task, tuple[str, ...]] = {
    "question": (),
    "fact": ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"),
    "truth": ("true", "false"),
}
"""The only answers a task allows; empty: any."""


def task_words(task: Task, *, own: bool) -> str:
    """What is asked for; with `own`, that the model may also use what it knows."""
    return TASK_WORDS[task] + (" You may also use what you know yourself; then name no line for it." if own else "")


def otherwise(*, own: bool, likely: bool = False) -> str:
    """What to do where the lines do not hold the answer; with `likely`, the form of the reply says what to give all the same."""
    if own:
        return "Otherwise answer from what you know yourself and name no line, or say that you do not have enough."
    return "Otherwise say that you do not have enough" + ("." if likely else " and give no answer.")
