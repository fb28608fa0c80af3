"""Reading what a model wrote: JSON between prose, numbers in quotes, lists that are none; whatever is meant, nothing that is not."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

_THINK = re.compile(r"<(/?)(?:think|thinking|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"```[\w-]*")
_OPENING = re.compile(r"[{\[]")
_LONGEST = 100_000
"""Characters at the end of a reply in which JSON is looked for: a longer reply is garbage before its end."""
_MOST_TRIES = 500
"""Brackets that open nothing readable before a reply is given up."""


class BadReplyError(ValueError):
    """A reply that does not have the form its kind asks for; the message tells the model what to mend."""


def strip_thinking(text: str) -> str:
    """The reply without the `<think>` prefix that reasoning models write; nothing is left of one that was cut off in it."""
    kept: list[str] = []
    at = 0
    thinking = False
    for tag in _THINK.finditer(text):
        closing = bool(tag.group(1))
        if closing and not thinking:
            # Some servers leave the opening tag out: all that came before was thinking.
            kept.clear()
        elif not closing and not thinking:
            kept.append(text[at : tag.start()])
        elif not closing:
            continue
        thinking = not closing
        at = tag.end()
    if not thinking or "".join(kept).strip():
        kept.append(text[at:])
    return "".join(kept).strip()


def find_json(text: str, key: str = "") -> Any:
    """The last JSON object (else list) in a reply, which may stand between prose or in a code fence.

    Args:
        text: the reply.
        key: an object that has this key is preferred to later ones that do not.

    Raises:
        BadReplyError: there is none.
    """
    body = _FENCE.sub(" ", strip_thinking(text))[-_LONGEST:]
    decoder = json.JSONDecoder()
    found: list[Any] = []
    at = tries = 0
    while tries < _MOST_TRIES and (opening := _OPENING.search(body, at)) is not None:
        try:
            value, at = decoder.raw_decode(body, opening.start())
        except (ValueError, RecursionError):
            # ValueError: not JSON, or a number of more digits than Python reads.
            at = opening.start() + 1
            tries += 1
            continue
        found.append(value)
    objects = [value for value in found if isinstance(value, dict)]
    keyed = [value for value in objects if key in value]
    for best in (keyed, objects, found):
        if best:
            return best[-1]
    raise BadReplyError("the reply holds no JSON object")


def object_with(text: str, key: str) -> dict[str, Any]:
    """The object in a reply that has a key; a bare list stands for it. Raises BadReplyError."""
    value = find_json(text, key)
    if isinstance(value, list):
        value = {key: value}
    if key not in value:
        raise BadReplyError(f'the JSON object has no "{key}"')
    return dict(value)


def integer(value: object) -> int | None:
    """A whole number, in quotes or not; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    # At most nine digits: no list is longer, and Python reads no number of thousands of digits. "-3" is not 3.
    if isinstance(value, str) and (found := re.fullmatch(r"(?:\W*[^\w-])?(\d{1,9})\W*", value)):
        return int(found.group(1))
    return None


def in_range(values: Sequence[object], top: int, what: str) -> list[int]:
    """The numbers from 1 to `top` among values, each once. Raises BadReplyError where there are values and none is one."""
    kept: list[int] = []
    for value in values:
        number = integer(value)
        if number is not None and 1 <= number <= top and number not in kept:
            kept.append(number)
    if values and not kept:
        raise BadReplyError(f"no {what} is a number from 1 to {top}" if top else f"there is no {what} to choose")
    return kept


def as_list(value: object, key: str) -> list[Any]:
    """A list; a lone value is a list of one. Raises BadReplyError."""
    if isinstance(value, list):
        return value
    if value is None:
        return []
    if isinstance(value, int | str | float) and not isinstance(value, bool):
        return [value]
    raise BadReplyError(f'"{key}" must be a list')


def whole(text: str) -> str:
    """The text without halves of characters (a reply cut off, a bad escape), which neither files nor state can hold."""
    return text.encode("utf-8", "replace").decode("utf-8").strip()


def as_text(value: object) -> str:
    """A value as text, whatever it is. Raises BadReplyError where it is nested too deeply."""
    if value is None:
        return ""
    if isinstance(value, str | int | float):
        return whole(str(value))
    try:
        return whole(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        raise BadReplyError("the reply is nested too deeply") from None


def truth(value: object, key: str) -> bool:
    """A verdict, in words or not. Raises BadReplyError."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().casefold()
    if word in {"true", "yes", "1", "right", "correct"}:
        return True
    if word in {"false", "no", "0", "wrong", "incorrect"}:
        return False
    raise BadReplyError(f'"{key}" must be true or false')
