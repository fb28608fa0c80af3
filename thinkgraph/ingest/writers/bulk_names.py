"""The forms of `tools.names` for many names at once: the same functions, run over one long text of a name a line.

None of them does anything across the end of a line: it takes part in no composition and folds to nothing else. A normal
name has no such end in it, since white space was made single spaces.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from itertools import compress

from thinkgraph.tools.linking.names import key_label, normal_name

_UNEVEN = ["  ", " \n", "\n ", "\n\n", *(chr(c) for c in range(0x3001) if chr(c).isspace() and chr(c) not in " \n")]
_MARKS = re.compile("[\u0300-\u036f]+")
_APART = {c: " " for c in range(128) if not chr(c).isalnum() and chr(c) != "\n"}


def key_labels(keys: Sequence[str]) -> list[str]:
    """`key_label` of each key."""
    text = "\n".join(keys).replace("_", " ")
    return text.split("\n") if _even(text, keys) else [key_label(key) for key in keys]


def normal_names(names: Sequence[str]) -> list[str]:
    """`normal_name` of each name."""
    return _apart(_normal, names)


def folded_names(norms: Sequence[str]) -> list[str]:
    """`folded` of each normal name."""
    return _apart(_folded, norms)


def spoken_names(names: Sequence[str]) -> list[str]:
    """The words of each folded name, with spaces between them and perhaps around them."""
    return _apart(_spoken, names)


def _apart(form: Callable[[Sequence[str]], list[str]], names: Sequence[str]) -> list[str]:
    """The forms of all names, of those that are ASCII by themselves: on such texts Python is many times faster."""
    plain = [name.isascii() for name in names]
    if all(plain):
        return form(names)
    ascii_ = iter(form(list(compress(names, plain))))
    others = iter(form([name for name, one in zip(names, plain, strict=True) if not one]))
    return [next(ascii_) if one else next(others) for one in plain]


def _normal(names: Sequence[str]) -> list[str]:
    text = "\n".join(names)
    if text.isascii():
        text = text.lower()
    else:
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return text.split("\n") if _even(text, names) else [normal_name(name) for name in names]


def _folded(norms: Sequence[str]) -> list[str]:
    text = "\n".join(norms)
    if text.isascii():
        return list(norms)
    bare = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", text)))
    return bare.encode("utf-8", "replace").decode("utf-8").split("\n")


def _spoken(names: Sequence[str]) -> list[str]:
    text = "\n".join(names)
    if not text:
        return list(names)
    if text.isascii():
        return text.translate(_APART).split("\n")
    # Marks (Indic vowel signs) are part of a word, though the regular expression's \w leaves them out.
    marks = "".join(c for c in sorted(set(text)) if c > "\x7f" and unicodedata.category(c)[0] == "M")
    return re.sub(rf"[^\w\n{re.escape(marks)}]|_", " ", text).split("\n")


def _even(text: str, names: Sequence[str]) -> bool:
    """Whether every name is one line, with no white space but single spaces between words, and not empty."""
    return (
        text.count("\n") == len(names) - 1
        and bool(text)
        and not text[0].isspace()
        and not text[-1].isspace()
        and not any(sign in text for sign in _UNEVEN)
    )
