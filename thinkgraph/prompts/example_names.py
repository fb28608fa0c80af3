"""Names of a prompt's worked examples that come back in a reply: small models copy them, and nobody asked about them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar, cast

from thinkgraph.prompts.files import Part

T = TypeVar("T")

_NAME = re.compile(r"\b[^\W\d_a-z][\w'\u2019-]+(?: [^\W\d_a-z][\w'\u2019-]+)*")
_HEADING = re.compile(r"^## .*$", re.MULTILINE)
_SENTENCE_WORDS = frozenset(
    "A An And At Between By Chain Citizens Did Do Does For From Has Have How If In Is It Latin May Most Of On Since That The "  # noqa: SIM905
    "This Through To What When Where Which Who Whose With Yes No".split()
)
"""Words written large that are no names of ours."""


@lru_cache(maxsize=256)
def example_names(examples: tuple[Part, ...]) -> frozenset[str]:
    """The names in the worked examples of a prompt: runs of words written large, without the words that begin a sentence."""
    found: set[str] = set()
    for name in _NAME.findall(_HEADING.sub("", "\n".join(f"{part.text}\n{part.reply}" for part in examples))):
        words = name.split(" ")
        while words and words[0] in _SENTENCE_WORDS:
            del words[0]
        found.add(" ".join(words))
    return frozenset(found - {""})


def without_example_names(value: T, examples: tuple[Part, ...], inputs: Mapping[str, str]) -> T:
    """A reply as its kind reads it, without what it copied from the examples.

    An entry of a list of texts goes if it is the name of an example, and a text becomes empty if it speaks of one, unless the
    call's inputs have the name too. Numbers, pairs and questions stay.
    """
    if isinstance(value, list) and not any(isinstance(part, str | dict) for part in value):
        return value  # numbers
    said = json.dumps(value, ensure_ascii=False).casefold()
    if not (named := [name for name in example_names(examples) if name.casefold() in said]):
        return value
    given = " ".join(inputs.values()).casefold()
    copied = [name for name in named if name.casefold() not in given]
    return cast("T", _cleaned(value, copied)) if copied else value


def _cleaned(value: Any, copied: Sequence[str]) -> Any:
    if isinstance(value, str):
        return "" if any(re.search(rf"\b{re.escape(name)}\b", value) for name in copied) else value
    if isinstance(value, dict):
        return {name: _cleaned(part, copied) if isinstance(part, str | list) else part for name, part in value.items()}
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        names = {name.casefold() for name in copied}
        return [part for part in value if part.strip(" .").casefold() not in names]
    return value
