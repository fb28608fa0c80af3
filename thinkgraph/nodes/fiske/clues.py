"""What the transitions of FiSKE know of clues: which texts are the same, and which occurrence a mapping marks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from thinkgraph.prompts.lines import one_line
from thinkgraph.state.fiske import FiskeSettings
from thinkgraph.tools.linking.lexical import content_tokens
from thinkgraph.tools.linking.names import normal_name

_QUOTES = "\"'\u201c\u201d\u2018\u2019\u00ab\u00bb\u300c\u300d"
_LONGEST = 200
"""Characters of a clue that are kept."""


def cleaned(words: Iterable[str]) -> list[str]:
    """Clues as they are kept: on one line, without quotes around them; empty ones go, repeated ones stay."""
    texts = (one_line(word).strip(_QUOTES + " ")[:_LONGEST].strip() for word in words)
    return [text for text in texts if text]


def last_calls(settings: FiskeSettings) -> int:
    """Model calls kept back for the end of a run: the closing call, and the IO answer's."""
    return 1 + settings.io


def same(clues: Sequence[str], number: int) -> list[int]:
    """Numbers of all occurrences of a clue's text, in order."""
    name = normal_name(clues[number - 1])
    return [other for other, text in enumerate(clues, start=1) if normal_name(text) == name]


def marked(clues: Sequence[str], numbers: Iterable[int], explored: Collection[int]) -> dict[int, int]:
    """Which occurrence each mapped clue marks: the first one not explored. One step marks a text once.

    Args:
        clues: all clues.
        numbers: the clues mapped by one step.
        explored: what the branch has mapped before.

    Returns:
        Mapped clue to the occurrence it marks; a clue that has none left (possible only without state) is missing.
    """
    found: dict[int, int] = {}
    for number in numbers:
        every = same(clues, number)
        free = next((other for other in every if other not in explored), None)
        if free is not None:
            found[number] = free
    return found


def is_whole(mention: str, clue: str) -> bool:
    """Whether a name found in a clue is all that the clue says, articles and the like aside."""
    if normal_name(mention) == normal_name(clue):
        return True
    left = content_tokens(clue)
    for token in content_tokens(mention):
        if token in left:
            left.remove(token)
    return not left and bool(content_tokens(mention))
