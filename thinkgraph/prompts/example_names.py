"""Names of a prompt's worked examples that come back in a reply: small models copy them, and nobody asked about them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar, cast

from thinkgraph.prompts.files import Part

T = TypeVar("T")

_NAME = re.compile(r"\b[^\W\d_a-z][\w'\u2019-]+(?: (?:of )?[^\W\d_a-z][\w'\u2019-]+)*")
_HEADING = re.compile(r"^## .*$", re.MULTILINE)
_SENTENCE_WORDS = frozenset(
    "A An And At Between By Chain Citizens Did Do Does For From Has Have How If In Is It Latin May Most Of On Since That The "  # noqa: SIM905
    "This Through To What When Where Which Who Whose With Yes No".split()
)
"""Words written large that are no names of ours."""
_INSIDE = re.compile(r"[(\w,] ?$")
"""What stands before a word inside a sentence, or before an end of a statement. One word alone written large there is a name; elsewhere
it may be any word that begins a sentence, or a title.
"""


def example_names(examples: Iterable[Part]) -> frozenset[str]:
    """The names in the worked examples of a prompt: runs of words written large, without the words that begin a sentence."""
    found: set[str] = set()
    text = _HEADING.sub("", "\n".join(f"{part.text}\n{part.reply}" for part in examples))
    for run in _NAME.finditer(text):
        words = run[0].split(" ")
        while words and words[0] in _SENTENCE_WORDS:
            del words[0]
        name = " ".join(words)
        if len(words) > 1 or name != run[0] or _INSIDE.search(text, run.start() - 2, run.start()):
            found.add(name)
    return frozenset(found - {""})


def without_example_names(value: T, names: AbstractSet[str], inputs: Mapping[str, str]) -> T:
    """A reply as its kind reads it, without what it copied of these names of its prompt's examples.

    An entry of a list goes if it is the name of an example or speaks of one, a text becomes empty if it does, unless the call's
    inputs have the name too. Of questions that refer to each other by number none is left then. Numbers and pairs stay.
    """
    if isinstance(value, list) and not any(_texts(value)):
        return value  # numbers
    said = json.dumps(value, ensure_ascii=False).casefold()
    if not (named := [name for name in names if name.casefold() in said]):
        return value
    given = " ".join(inputs.values()).casefold()
    copied = [name for name in named if name.casefold() not in given]
    if not copied:
        return value
    spoken = re.compile(rf"\b(?:{'|'.join(map(re.escape, copied))})\b")
    return cast("T", _cleaned(value, {name.casefold() for name in copied}, spoken))


def _cleaned(value: Any, names: AbstractSet[str], spoken: re.Pattern[str]) -> Any:
    if isinstance(value, str):
        return "" if spoken.search(value) else value
    if isinstance(value, dict):
        return {
            key: _cleaned(part, names, spoken) if isinstance(part, str | list) else part for key, part in value.items()
        }
    if not isinstance(value, list):
        return value
    left = [
        part
        for part in value
        if not any(text.strip(" .").casefold() in names or spoken.search(text) for text in _texts(part))
    ]
    return [] if len(left) < len(value) and any(map(_refers, left)) else left


def _refers(part: Any) -> bool:
    """Whether it is a question that names others by their numbers."""
    return isinstance(part, dict) and "refers" in part and bool(part["refers"] or "#" in part["question"])


def _texts(value: Any) -> Iterator[str]:
    """The texts in a part of a reply."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)
