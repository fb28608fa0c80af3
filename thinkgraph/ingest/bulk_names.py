"""The forms of `tools.names` for many names at once: the same functions, run over one long text of a name a line.

None of them does anything across the end of a line: it takes part in no composition and folds to nothing else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from thinkgraph.tools.names import folded, key_label, normal_name

_UNEVEN = ["  ", " \n", "\n ", "\n\n", *(chr(c) for c in range(0x3001) if chr(c).isspace() and chr(c) not in " \n")]
_MARKS = re.compile("[\u0300-\u036f]+")
_APART = {c: " " for c in range(128) if not chr(c).isalnum() and chr(c) != "\n"}


def key_labels(keys: Sequence[str]) -> list[str]:
    """`key_label` of each key."""
    text = "\n".join(keys).replace("_", " ")
    return text.split("\n") if _even(text, keys) else [key_label(key) for key in keys]


def normal_names(names: Sequence[str]) -> list[str]:
    """`normal_name` of each name."""
    text = "\n".join(names)
    if text.isascii():
        text = text.lower()
    else:
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return text.split("\n") if _even(text, names) else [normal_name(name) for name in names]


def folded_names(norms: Sequence[str]) -> list[str]:
    """`folded` of each normal name."""
    text = "\n".join(norms)
    if text.isascii():
        return list(norms)
    bare = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", text)))
    found = bare.encode("utf-8", "replace").decode("utf-8").split("\n")
    return found if len(found) == len(norms) else [folded(norm) for norm in norms]


def spoken_names(names: Sequence[str]) -> tuple[list[str], list[int]]:
    """The words of each folded name, with spaces between them and perhaps around them, and how many they are."""
    if not names:
        return [], []
    text = "\n".join(names)
    if text.isascii():
        text = text.translate(_APART)
    else:
        # Marks (Indic vowel signs) are part of a word, though the regular expression's \w leaves them out.
        marks = (c for c in set(text) if c > "\x7f" and unicodedata.category(c)[0] == "M")
        text = re.sub(rf"[^\w\n{re.escape(''.join(sorted(marks)))}]|_", " ", text)
    found = text.split("\n")
    if len(found) != len(names):
        parts = [spoken_names([name.replace("\n", " ")]) for name in names]
        return [one[0] for one, _ in parts], [n[0] for _, n in parts]
    return found, [len(words.split()) for words in found]


def _even(text: str, names: Sequence[str]) -> bool:
    """Whether every name is one line, with no white space but single spaces between words, and not empty."""
    return (
        text.count("\n") == len(names) - 1
        and bool(text)
        and not text[0].isspace()
        and not text[-1].isspace()
        and not any(sign in text for sign in _UNEVEN)
    )
