"""Parsing of model replies: JSON between prose, almost JSON, numbers in quotes, a lone value where a list is asked for.

Almost JSON is repaired where only one reading is possible. What is still no JSON is refused: the model is asked again, which
costs less than an answer that it did not give.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

R = TypeVar("R")

_THINK = re.compile(r"<(/?)(?:think|thinking|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"```[\w-]*")
_OPENING = re.compile(r"[{\[]")
_CIRCLE = 60
"""So many characters at the end of a reply, when they stand there three times, show that it repeats itself."""
_LONGEST = 100_000
"""Only so many characters at the end of a reply are searched for JSON."""
_MOST_TRIES = 500
"""The search ends after so many opening brackets that start no JSON."""
_TRIES_DEEP = 50
"""Tries that one counts for whose brackets are too deep: it takes that much longer, and those within are hardly better."""
_LONGEST_LIST = 500
"""A text of more characters is not read as a list of numbers."""
_ALMOST = re.compile(
    r""""(?:\\.|[^"\\])*"|(?<=[\[{,:\s])'(?P<single>(?:\\.|[^'\\])*)'(?=\s*[,:\]}])|\u201c(?P<curly>[^\u201c\u201d]*)\u201d"""
    r"|(?P<noise>//[^\n]*|,(?=(?:\s|//[^\n]*)*[\]}]))|\b(?:True|False|None)\b",
    re.DOTALL,
)
"""What JSON does not allow: single and typographic quotes, comments, trailing commas, Python's constants. JSON strings match
first, so nothing within them is changed.
"""
_CONSTANTS = {"True": "true", "False": "false", "None": "null"}
_LISTED = re.compile(r"[\[(#]?\d{1,9}[\])]?\.?(?:(?: ?[,;&] ?| and | )[\[(#]?\d{1,9}[\])]?\.?)*")
_BEFORE_LABEL = re.compile(r"\s*(?:\[(\d{1,9})\]|(\d{1,9})[.:)](?=\s))\s*(?:\(|[^\W\d])")
"""A number followed by its line: "[2] capital of", "2. capital of", "[2] (Panama) -[capital]-> (Panama City)"."""
_MARKS = re.compile(r"(?:\s*(?:\[\d{1,4}(?:\s*[,;]\s*\d{1,4}){0,20}\]|\u3010[^\u3010\u3011]{0,40}\u3011))+\.?$")
"""Citation marks after an answer: "Paris [2]", "Paris [1, 3]"."""
_AROUND = (("**", "**"), ("*", "*"), ('"', '"'), ("'", "'"), ("\u201c", "\u201d"), ("\u00ab", "\u00bb"), ("`", "`"))
_COUNTED = re.compile(r"[(\[#]?([0-9]{1,2})[.)\]:]+(?:\s+|(?=\D))(.+)")
"""A name with its place in a list before it: "1. Panama", "[1] Panama", "#1: Panama"."""
_FULL_STOP = re.compile(r"(?<![^\W\d_]\.)(?:(?<=[^\W\d_]{5})|(?<=\d))\.$")
"""The full stop of a sentence, not that of an abbreviation (D.C., Corp.)."""
_DECLINED = re.compile(
    r"unknown|none|null|n/a|\?+|unclear|undetermined|unspecified|undefined|"
    r"not (?:known|given|available|applicable|specified|stated|mentioned|provided|found|sure)|"
    r"(?:there is )?(?:no|insufficient|not enough) (?:answer|information|evidence|data|info)\b.*|"
    r"(?:it |this |that |the answer )?(?:cannot|can ?not|can't|could not) be (?:determined|answered|found|known|said)\b.*|"
    r"(?:sorry,? )?(?:but )?i(?: do not|(?: a|')m not| don't| cannot| can't) (?:know|sure|say|tell|determine|find|answer)\b.*|"
    r"(?:the )?(?:answer|evidence|it) (?:(?:is|does|do)(?: not|n't) "
    r"(?:known|given|available|clear|say|state|contain|mention|hold|specify|provide|tell)|is (?:unknown|unclear))\b.*"
)
"""Words that a model gives in place of an answer to say that there is none."""
_TITLE_WORDS = 5
"""A text of at least so many words, all with a capital, is a title and no sentence."""
_NAMES_NUMBER = ("number", "option", "id", "index", "choice", "line")
_NAMES_TEXT = ("answer", "name", "text", "label", "value", "keyword")


class BadReplyError(ValueError):
    """A reply that does not have the form of its kind. The message tells the model what to correct."""


def strip_thinking(text: str) -> str:
    """The reply without the `<think>` part of reasoning models; empty where the reply ends within that part."""
    kept: list[str] = []
    at = 0
    thinking = False
    for tag in _THINK.finditer(text):
        closing = bool(tag.group(1))
        if closing and not thinking:
            # Some servers leave the opening tag out: all text before the closing tag was thinking.
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
    """The last JSON object of a reply, one with the key if there is one, else its last list. Prose or a fence may surround it.

    Raises:
        BadReplyError: the reply holds neither.
    """
    try:
        whole = _DECODER.decode(text)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict) and key in whole:
        # Most replies are the object and nothing else.
        return whole
    body = _FENCE.sub(" ", strip_thinking(text))[-_LONGEST:]
    if body.lstrip().startswith('"'):
        # The JSON was written as a JSON string.
        try:
            inner = json.loads(body)
        except (ValueError, RecursionError):
            inner = None
        body = inner if isinstance(inner, str) else body
    found = _decoded(body)
    if not any(_holder(value, key) for value in found) and (opening := _OPENING.search(body)) is not None:
        found = _decoded(_repaired(body[opening.start() :])) or found
    objects = [value for value in found if isinstance(value, dict)]
    keyed = [value for value in objects if key in value]
    for best in (keyed, [value for value in found if _holder(value, key)], objects, found):
        if best:
            return best[-1]
    raise BadReplyError("the reply holds no JSON object")


def _decoded(body: str) -> list[Any]:
    """Every outermost JSON object and list in a text; where the last one is cut off, only the objects before it."""
    found: list[Any] = []
    length = len(body.rstrip())
    at = tries = 0
    while tries < _MOST_TRIES and (opening := _OPENING.search(body, at)) is not None:
        try:
            value, at = _DECODER.raw_decode(body, opening.start())
        # Any other ValueError: a number of more digits than Python reads.
        except (ValueError, RecursionError) as error:
            if isinstance(error, json.JSONDecodeError) and (
                error.pos >= length or error.msg.startswith("Unterminated string")
            ):
                # A list within it is not the reply.
                return [value for value in found if isinstance(value, dict)]
            at = opening.start() + 1
            tries += _TRIES_DEEP if isinstance(error, RecursionError) else 1
        else:
            found.append(value)
    return found


def is_whole(text: str) -> bool:
    """Whether a reply that ended at its limit is one whole JSON object all the same, with at most blanks or words after it."""
    body = _FENCE.sub(" ", strip_thinking(text)).strip()
    if not body.startswith("{"):
        return False
    try:
        _, end = _DECODER.raw_decode(body)
    except (ValueError, RecursionError):
        return False
    return not _OPENING.search(body, end)


def before_circles(text: str) -> str:
    """A reply that was cut off, without what only repeats its end: no limit is large enough for that. The whole one where nothing does."""
    end = text[-_CIRCLE:]
    return text[: text.index(end) + _CIRCLE] if len(text) > _CIRCLE and text.count(end) > 2 else text  # noqa: PLR2004


_DECODER = json.JSONDecoder(
    strict=False,
    object_pairs_hook=lambda pairs: {name.strip().casefold(): value for name, value in pairs} | dict(pairs),
)
"""Not strict: strings may hold line breaks. Keys are also found in lower case and without blanks around them."""


def _repaired(body: str) -> str:
    """Almost JSON as JSON: quotes, constants, comments and trailing commas are replaced."""

    def repair(found: re.Match[str]) -> str:
        if found.lastgroup in {"single", "curly"}:
            return json.dumps(found[found.lastgroup].replace("\\'", "'"), ensure_ascii=False)
        return " " if found.lastgroup else _CONSTANTS.get(found[0], found[0])

    return _ALMOST.sub(repair, body)


def _holder(value: object, key: str) -> dict[str, Any] | None:
    """The object that has a key: the value itself, or the only such object directly within it."""
    if isinstance(value, dict) and key in value:
        return value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    holders = [one for one in inner if isinstance(one, dict) and key in one]
    return holders[0] if len(holders) == 1 else None


def object_with(text: str, key: str, *, lone: bool = False, names: Sequence[str] = ()) -> dict[str, Any]:
    """The object of a reply that has a key, also where another object or a list surrounds it.

    A bare list is taken for the key's value; with `lone` also the only list of an object, whatever its own key is. `names` are
    other names of the key.

    Raises:
        BadReplyError: no object has the key.
    """
    value = find_json(text, key)
    value = _holder(value, key) or value
    if isinstance(value, list):
        value = {key: value}
    if key not in value and lone:
        every = [one for one in value.values() if isinstance(one, list)]
        lists = [one for one in every if one] or every
        # A key that is not in lower case is there twice, with the same list.
        if lists and all(one is lists[0] for one in lists):
            value = {**value, key: lists[0]}
    if key not in value and len(other := [name for name in names if name in value]) == 1:
        value = {**value, key: value[other[0]]}
    if key not in value:
        raise BadReplyError(f'the JSON object has no "{key}"')
    return dict(value)


def readable(read: Callable[[Any], R], values: Sequence[Any]) -> list[R]:
    """What can be read of the entries of a list: one bad entry does not spoil the others. Raises BadReplyError if all are bad."""
    found: list[R] = []
    fault: BadReplyError | None = None
    for value in values:
        try:
            found.append(read(value))
        except BadReplyError as error:
            fault = fault or error
    if fault is not None and not found:
        raise fault
    return found


def integer(value: object) -> int | None:
    """A whole number, in quotes or not; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        # At most nine digits: Python refuses numbers of thousands of digits. "-3" is not 3.
        found = re.fullmatch(
            r"(?:\W*(?:(?:option|number|line|no\.)\s*|[^\w-]))?(\d{1,9})\W*", value, re.IGNORECASE
        ) or _BEFORE_LABEL.match(value)
        return int(next(digits for digits in found.groups() if digits)) if found else None
    if isinstance(value, dict):
        named = [value[name] for name in _NAMES_NUMBER if name in value and not isinstance(value[name], dict)]
        return integer(named[0]) if len(named) == 1 else None
    return None


def integers(values: Sequence[object]) -> list[int]:
    """The whole numbers among values. One text may hold several ("[1], [3]")."""
    found: list[int] = []
    for value in values:
        if isinstance(value, str) and len(value) < _LONGEST_LIST and _LISTED.fullmatch(value.strip()):
            found += map(int, re.findall(r"\d+", value))
        elif (number := integer(value)) is not None:
            found.append(number)
    return found


def number_from(value: object) -> float | None:
    """A number, also within a text ("8", "[8]", "8/10", "8 out of 10", "80%"); None for anything else."""
    if isinstance(value, str):
        found = re.fullmatch(r"[\s\[(]*(-?\d{1,9}(?:\.\d{1,9})?)\s*(?:(?:/|out of)\s*10|(%))?[\s\]).]*", value)
        return float(found[1]) / (10 if found[2] else 1) if found else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return None
    return None


def within(values: Sequence[object], top: int) -> list[int]:
    """The numbers from 1 to `top` among values, each once."""
    return [number for number in dict.fromkeys(integers(values)) if 1 <= number <= top]


def in_range(values: Sequence[object], top: int) -> list[int]:
    """As `within`. Raises BadReplyError if there are values but no such number."""
    kept = within(values, top)
    if values and not kept:
        raise BadReplyError(f"no choice is a number from 1 to {top}" if top else "there is no choice to choose")
    return kept


def _texts_within(text: str) -> object:
    """The list of texts that a text is, in JSON or almost; else the text itself."""
    try:
        found = json.loads(_repaired(text))
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, list) and all(isinstance(one, str) for one in found) else text


def as_list(value: object, key: str, *, of: str = "") -> list[Any]:
    """The value if it is a list, written as a text or not; a lone value, or an object with the key `of`, as a list of one.

    Raises:
        BadReplyError: it is something else.
    """
    if isinstance(value, str) and value.strip().startswith("["):
        value = _texts_within(value)
    if isinstance(value, list):
        return value
    if of and isinstance(value, dict) and of in value:
        return [value]
    if value is None:
        return []
    if isinstance(value, int | str | float) and not isinstance(value, bool):
        return [value]
    raise BadReplyError(f'"{key}" must be a list')


def whole(text: str) -> str:
    """The text without lone surrogates (from a bad escape or a reply cut off), which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode("utf-8").strip()


def as_text(value: object) -> str:
    """Any value as text. Raises BadReplyError if it is nested too deeply."""
    if value is None:
        return ""
    if isinstance(value, str | int | float):
        return whole(str(value))
    try:
        return whole(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        raise BadReplyError("the reply is nested too deeply") from None


def a_name(value: object) -> str:
    """A name or an answer as text, also from an object that holds one. Raises BadReplyError if it holds none or several."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, Mapping):
        named = [value[name] for name in _NAMES_TEXT if name in value]
        value = named[0] if len(named) == 1 else value
    if isinstance(value, list | Mapping):
        raise BadReplyError("every entry must be a text, not an object or a list")
    return as_text(value)


def the_names(values: Sequence[Any]) -> list[str]:
    """What can be read of a list as names, without the numbers before them where they count all: "1. Panama" is no entity's name.

    Raises:
        BadReplyError: none can be read.
    """
    names = [name for name in readable(a_name, values) if name]
    counted = [_COUNTED.fullmatch(name) for name in names]
    numbers = [int(found[1]) for found in counted if found]
    if len(names) > 1 and numbers == list(range(1, len(names) + 1)):
        return [found[2] for found in counted if found]
    return names


def _answer(text: str) -> str:
    """An answer without citation marks, without quotes and emphasis around it, and without its full stop."""
    plain = _MARKS.sub("", text).strip()
    for opening, closing in _AROUND:
        inner = plain[len(opening) : -len(closing)].strip()
        if plain.startswith(opening) and plain.endswith(closing) and inner and not {opening, closing} & set(inner):
            plain = inner
    return _FULL_STOP.sub("", _MARKS.sub("", plain).strip()) or text


def _is_title(text: str) -> bool:
    """Whether every word of a text has a capital, as in a title ("I Don't Know How She Does It")."""
    words = text.split()
    return len(words) >= _TITLE_WORDS and all(word[0].isupper() for word in words)


def given_answers(texts: Iterable[str]) -> tuple[list[str], bool]:
    """The answers among texts, and whether the model declined to answer.

    Answers come once whatever their case. A true one that is called just "Unknown" or "None" is lost: these words mean far
    more often that there is no answer.
    """
    said = [answer for answer in map(_answer, texts) if answer]
    kept: dict[str, str] = {}
    for answer in said:
        words = " ".join(answer.replace("\u2019", "'").casefold().split()).strip(" .!\"'*()[]-")
        if _is_title(answer) or not _DECLINED.fullmatch(words[:500]):
            kept.setdefault(answer.casefold(), answer)
    return list(kept.values()), bool(said) and not kept


_YES = frozenset(("true", "yes", "1", "right", "correct"))
_NO = frozenset(("false", "no", "0", "wrong", "incorrect"))
_WORDS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "open": (frozenset(("continue", "open")), frozenset(("end", "closed", "simple"))),
    "sufficient": (frozenset(("sufficient", "enough")), frozenset(("insufficient", "not sufficient", "not enough"))),
}
"""By key, words that say true and words that say false; CogGRAG's own are "Continue" and "End" (section 3.2)."""


def truth(value: object, key: str) -> bool:
    """A truth value, also in words ("yes", "incorrect"). Raises BadReplyError."""
    if isinstance(value, bool):
        return value
    word = str(value)[:100].strip(" \t\n.!*\"'`{}").casefold()
    true, false = _WORDS.get(key, (frozenset(), frozenset()))
    if word in _YES | true:
        return True
    if word in _NO | false:
        return False
    raise BadReplyError(f'"{key}" must be true or false')
