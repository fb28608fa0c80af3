"""What a question wants back: an answer, or a verdict on a claim (ToG-2 section 4.1: QA and fact verification); and the words
that code puts into prompts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

Task = Literal["question", "fact", "truth"]

AUXILIARIES = r"(?:is|are|am|was|were|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must)"
QUESTION_WORDS = r"(?:who|whom|whose|what|which|where|when|why|how)"
_YES_OR_NO = re.compile(
    # "Can you name …", "Is there a …" ask for a thing.
    rf"\W*{AUXILIARIES} (?!(?:you|there|any\w*|some\w*|i|we)\b)"
    rf"(?!.*\b(?:or|{QUESTION_WORDS})\b).*[?\uff1f]\W*$",
    re.IGNORECASE | re.DOTALL,
)
_OTHER_LANGUAGE = re.compile(
    # German asks "Was ist …?" (what is) and "Am Ufer …" (at the shore), Portuguese "Do que …" (of what).
    r"\W*(?:was (?:ist|sind|wird|wurden?|hat|haben|hatten?|kann|muss|soll|f\u00fcr|\w+iert|\w+ (?:der|die|das|eine?))|am|do que)\b"
    r"|(?:was|do|am)\b(?!.*\bthe\b).*(?-i:\b(?:[a-z]*[\u00df-\u00f6\u00f8-\u00ff]|[a-z]+[\u0100-\u024f\u1e00-\u1eff]))"
    # A small word behind "was" is a verb in German, unless an English one says otherwise.
    r"|was (?!(?:an|it|its|she|he|his|they|their|this|that)\b)(?-i:[a-z])"
    r"(?!.*\b(?:[a-z]+ed|a|the|of|on|to|by|for|from|with|at|and|born|built|made|held|won|written)\b)",
    re.IGNORECASE | re.DOTALL,
)
"""Words that are no English, behind one that looks like an English auxiliary. A name has a capital: "Łódź"."""

TASK_WORDS: Mapping[Task, str] = {
    "question": "Where the question asks for several things, list every one that the evidence gives.",
    "fact": "The question is a claim to check. Answer SUPPORTS if the evidence shows that it is true, REFUTES if the evidence "
    "shows that it is false, and NOT ENOUGH INFO if the evidence leaves it open.",
    "truth": "The question is a claim to check. Answer true if the evidence shows that it is true, and false if the evidence "
    "shows that it is false.",
}
"""The words that stand for {{task}} in prompts."""

_YES_OR_NO_WORDS = "The question asks for yes or no. Answer yes or no, as the evidence shows."
_RECALL_YES_OR_NO = "The question asks for yes or no."

_RECALL_WORDS: Mapping[Task, str] = {
    "question": "Where the question asks for several things, list every one.",
    "fact": "The question is a claim to check. Answer SUPPORTS if it is true, REFUTES if it is false, and NOT ENOUGH INFO if it "
    "can be neither known to be true nor known to be false.",
    "truth": "The question is a claim to check. Answer true or false.",
}
"""The same where there is no evidence."""

TASK_LABELS: Mapping[Task, tuple[str, ...]] = {
    "question": (),
    "fact": ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"),
    "truth": ("true", "false"),
}
"""The only answers a task allows; empty: any."""

_BOTH_WAYS = "(a) <-[relation]-> (b) holds both ways."
_PLAIN = (
    '(a) relation: (b) is a statement, read from a to b; "both ways" behind it says that it also holds from b to a.'
)
_MORE = '"... and N more" says how many things a list leaves out.'
_ARROWS = (
    "(a) -[relation]-> (b) is read from a to b. (b) <-[relation]- (a) is the same statement, read from a to b too. "
    f"{_BOTH_WAYS} The last step of a path may list several ends. {_MORE}"
)
NOTATION: Mapping[Literal["arrows", "plain"], Mapping[str, str]] = {
    "arrows": {
        "path lines": _ARROWS,
        "set lines": f"{_ARROWS} Behind a bar, |, stands what the same step reaches from another thing.",
        "relation lines": "(entity) -[relation]-> xN leads from the entity to N things. (entity) <-[relation]- xN leads from N "
        "things to the entity.",
        "community lines": "(a) -[relation]-> (b) is read from a to b. (b) <-[relation]- (a) is the same statement, read from a "
        f"to b too. {_BOTH_WAYS} Behind a semicolon stands another statement about the same thing. Behind a bar, |, stand "
        f"statements about another thing. {_MORE}",
    },
    "plain": {
        "path lines": f'{_PLAIN} Statements joined by "then" are the steps of one path. {_MORE}',
        "set lines": f'{_PLAIN} Statements joined by "then" are the steps of one path. A semicolon stands between what one step reaches '
        f"from several things. {_MORE}",
        "relation lines": "(entity) relation: (N things) leads from the entity to N things. (N things) relation: (entity) leads "
        "from N things to the entity.",
        "community lines": f"{_PLAIN} A semicolon stands between statements. {_MORE}",
    },
}
"""How lines are to be read, by how they are written: {{path lines}}, {{set lines}} (of paths that share a line), {{relation lines}} and {{community lines}} in prompts."""


def asks_yes_or_no(question: str) -> bool:
    """Whether an English question asks for nothing but yes or no ("Does A border B?")."""
    return _YES_OR_NO.match(question) is not None and not in_other_language(question)


def in_other_language(question: str) -> bool:
    """Whether a question begins with a word that only looks like an English "is" or "do"."""
    return _OTHER_LANGUAGE.match(question) is not None


def task_labels(task: Task, question: str) -> tuple[str, ...]:
    """The only answers that a task allows to a question; empty: any."""
    return ("yes", "no") if task == "question" and asks_yes_or_no(question) else TASK_LABELS[task]


def task_words(task: Task, question: str, *, own: bool = False) -> str:
    """What is asked for; with `own`, that the model may also use what it knows."""
    words = _YES_OR_NO_WORDS if task == "question" and asks_yes_or_no(question) else TASK_WORDS[task]
    return words + (" You may also use what you know yourself; then name no line for it." if own else "")


def recall_words(task: Task, question: str) -> str:
    """The same where there is no evidence."""
    return _RECALL_YES_OR_NO if task == "question" and asks_yes_or_no(question) else _RECALL_WORDS[task]


def otherwise(*, own: bool, likely: bool = False) -> str:
    """What to do where the lines do not hold the answer; with `likely`, the form of the reply says what to give all the same."""
    if own:
        return (
            "If they do not, answer from what you know yourself and name no line. If you do not know the answer either, "
            'set "sufficient" to false.'
        )
    return 'If they do not, set "sufficient" to false' + ("." if likely else " and give no answer.")
