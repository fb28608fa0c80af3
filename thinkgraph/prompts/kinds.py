"""The few kinds of reply that roles ask for: their JSON schema, how they are said in words, and how they are read.

A new method adds roles, each with one of these kinds. The offline model and the perfect chooser implement kinds, never
roles, so they do not change when a method comes. Choices are numbers of a list that code has rendered: a reply never
carries names that would have to be matched again.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from typing_extensions import TypedDict

KindName = Literal[
    "pick",
    "score",
    "pairs",
    "judge",
    "keywords",
    "names",
    "keys",
    "subquestions",
    "verdict",
    "triples",
    "texts",
    "text",
]

MAX_SCORE = 10
"""Scores run from 0 to 10 (ToG-2 section 3.2.1)."""


class BadReplyError(ValueError):
    """A reply that does not have the form its kind asks for; the message tells the model what to mend."""


class Judgement(TypedDict):
    """Reason's reply (ToG-2 section 3.3): is the evidence sufficient, and what follows from it."""

    sufficient: bool
    answers: list[str]
    """Empty where there is no answer."""
    evidence: list[int]
    """Numbers of the evidence lines the answer stands on."""
    clues: str
    """What is known so far, for the next round; empty where sufficient."""
    query: str
    """What to search for next (fused query reform); empty where not asked for."""


class SubQuestion(TypedDict):
    """One node of a mind map (CogGRAG section 3.1)."""

    question: str
    open: bool
    """Whether it must be decomposed further."""
    refers: list[int]
    """Numbers of the sibling questions whose answers it needs, counted from 1."""


class LookUp(TypedDict):
    """Something to look up in a graph (the keys of CogGRAG section 4.2)."""

    key: list[str]
    """[entity], [entity, relation] or [subject, relation, object]; an unknown one is a placeholder that starts with "?"."""
    of: list[int]
    """Numbers of the listed questions it belongs to; empty where the reply does not say."""


class Verdict(TypedDict):
    """A verifier's word on an answer (CogGRAG section 3.3)."""

    right: bool


class Statements(TypedDict):
    """What a text states, as triples (the relation extraction of ToG-2 section 1)."""

    triples: list[list[str]]
    """[subject, relation, object]; none of them empty."""
    types: dict[str, str]
    """Type by name; empty where types are not asked for."""


@dataclass(frozen=True)
class Shape:
    """What one call may answer: bounds known when the prompt is rendered."""

    options: int = 0
    """How many numbered options there are; numbers beyond it are out of range."""
    evidence: int = 0
    """How many numbered evidence lines there are (judge)."""
    clues: int = 0
    """How many numbered clues there are (pairs: the first number of a pair)."""
    fields: tuple[str, ...] = ()
    """Which of the optional fields are asked for (judge: `clues`, `query`; triples: `types`)."""
    labels: tuple[str, ...] = ()
    """Judge: the only answers allowed (fact verification); empty: any."""
    explain: bool = False
    """Ask for a sentence of explanation too (off: output tokens are the bill)."""
    likely: bool = False
    """Judge: take a likely answer, marked as not sufficient, where no sure one can be given."""
    steps: bool = False
    """Ask for the steps that lead to the reply, written out before it (chain of thought)."""
    questions: int = 0
    """How many numbered questions there are (keys)."""
    triples: bool = False
    """Keys: only whole triples are asked for."""


@dataclass(frozen=True)
class Kind:
    """One kind of reply."""

    name: KindName
    schema: Callable[[Shape], dict[str, Any] | None]
    """JSON schema for providers that enforce one; None for plain text."""
    instruction: Callable[[Shape], str]
    """The words that ask for this form, appended to the system message."""
    parse: Callable[[str, Shape], Any]
    """Read a reply. Raises BadReplyError."""


_THINK = re.compile(r"<(/?)(?:think|thinking|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"```[\w-]*")
_OPENING = re.compile(r"[{\[]")
_LONGEST = 100_000
"""Characters at the end of a reply in which JSON is looked for: a longer reply is garbage before its end."""
_MOST_TRIES = 500
"""Brackets that open nothing readable before a reply is given up."""
_NUMBERS_ONLY = re.compile(r"^[\s\[\](),;.and#]*\d[\d\s\[\](),;.and#]*$", re.IGNORECASE)


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


def _object(text: str, key: str) -> dict[str, Any]:
    value = find_json(text, key)
    if isinstance(value, list):
        value = {key: value}
    if key not in value:
        raise BadReplyError(f'the JSON object has no "{key}"')
    return dict(value)


def _integer(value: object) -> int | None:
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


def _in_range(values: Sequence[object], top: int, what: str) -> list[int]:
    kept: list[int] = []
    for value in values:
        number = _integer(value)
        if number is not None and 1 <= number <= top and number not in kept:
            kept.append(number)
    if values and not kept:
        raise BadReplyError(f"no {what} is a number from 1 to {top}" if top else f"there is no {what} to choose")
    return kept


def _list(value: object, key: str) -> list[Any]:
    if isinstance(value, list):
        return value
    if value is None:
        return []
    if isinstance(value, int | str | float) and not isinstance(value, bool):
        return [value]
    raise BadReplyError(f'"{key}" must be a list')


def _schema(properties: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    every = dict(properties)
    if shape.explain or shape.steps:
        every = {"why": {"type": "string"}, **every}
    return {"type": "object", "properties": every, "required": list(every), "additionalProperties": False}


def _say(example: str, shape: Shape, words: str) -> str:
    why = ' Put one sentence that explains it first, as "why".' if shape.explain else " Do not explain."
    if shape.steps:
        why = ' Put the steps that lead to it first, as "why".'
    return f"Reply with one JSON object and nothing else, in this form: {example}\n{words}{why}"


LIKELY = (
    'If the evidence is not sufficient but makes some answer likely, put that answer under "answers", leave "sufficient" false '
    "and name the lines that speak for it."
)
"""How a judge is asked for a likely answer."""

_INTEGERS = {"type": "array", "items": {"type": "integer"}}
_STRINGS = {"type": "array", "items": {"type": "string"}}


def _parse_pick(text: str, shape: Shape) -> list[int]:
    body = strip_thinking(text)
    if "{" not in body and _NUMBERS_ONLY.match(body) and body.count("[") == body.count("]"):
        return _in_range(re.findall(r"\d+", body), shape.options, "choice")
    return _in_range(_list(_object(text, "numbers")["numbers"], "numbers"), shape.options, "choice")


def _parse_score(text: str, shape: Shape) -> list[tuple[int, float]]:
    raw = _object(text, "scores")["scores"]
    if isinstance(raw, dict):
        raw = list(raw.items())
    scores: dict[int, float] = {}
    for entry in _list(raw, "scores"):
        pair = [entry.get("number"), entry.get("score")] if isinstance(entry, dict) else entry
        if not isinstance(pair, list | tuple) or len(pair) < 2:  # noqa: PLR2004 - a pair
            raise BadReplyError('every entry of "scores" must be [number, score]')
        number = _integer(pair[0])
        try:
            score = float(pair[1])
        except (TypeError, ValueError, OverflowError):
            score = math.nan
        if not math.isfinite(score):
            raise BadReplyError("a score must be a number from 0 to 10")
        if number is not None and 1 <= number <= shape.options:
            scores.setdefault(number, min(max(score, 0.0), float(MAX_SCORE)))
    if raw and not scores:
        raise BadReplyError(f"no scored number is from 1 to {shape.options}")
    return list(scores.items())


def _parse_pairs(text: str, shape: Shape) -> list[tuple[int, int]]:
    raw = _list(_object(text, "pairs")["pairs"], "pairs")
    pairs: dict[tuple[int, int], None] = {}
    for entry in raw:
        if not isinstance(entry, list | tuple) or len(entry) != 2:  # noqa: PLR2004 - a pair
            raise BadReplyError('every entry of "pairs" must be [number of the clue, number of the option]')
        clue, option = _integer(entry[0]), _integer(entry[1])
        if clue is None or option is None or not (1 <= clue <= shape.clues and 1 <= option <= shape.options):
            continue
        pairs[clue, option] = None
    if raw and not pairs:
        raise BadReplyError(f"no pair has a clue from 1 to {shape.clues} and an option from 1 to {shape.options}")
    return list(pairs)


def _whole(text: str) -> str:
    """The text without halves of characters (a reply cut off, a bad escape), which neither files nor state can hold."""
    return text.encode("utf-8", "replace").decode("utf-8").strip()


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str | int | float):
        return _whole(str(value))
    try:
        return _whole(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        raise BadReplyError("the reply is nested too deeply") from None


def _truth(value: object, key: str) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().casefold()
    if word in {"true", "yes", "1", "right", "correct"}:
        return True
    if word in {"false", "no", "0", "wrong", "incorrect"}:
        return False
    raise BadReplyError(f'"{key}" must be true or false')


def _parse_judge(text: str, shape: Shape) -> Judgement:
    value = _object(text, "sufficient")
    answers = [_text(answer) for answer in _list(value.get("answers", value.get("answer")), "answers")]
    answers = [answer for answer in dict.fromkeys(answers) if answer]
    if shape.labels:
        known = {label.casefold(): label for label in shape.labels}
        answers = list(dict.fromkeys(known[a.casefold()] for a in answers if a.casefold() in known))
    sufficient = _truth(value["sufficient"], "sufficient")
    if sufficient and not answers:
        allowed = f" from: {', '.join(shape.labels)}" if shape.labels else ""
        raise BadReplyError(f'"sufficient" is true but "answers" holds no answer{allowed}')
    numbers = [number for number in map(_integer, _list(value.get("evidence"), "evidence")) if number is not None]
    return Judgement(
        sufficient=sufficient,
        answers=answers,
        # Numbers that no line carries are dropped here, so an invented citation can never reach an answer.
        evidence=[number for number in dict.fromkeys(numbers) if 1 <= number <= shape.evidence],
        clues=_text(value.get("clues")) if "clues" in shape.fields else "",
        query=_text(value.get("query")) if "query" in shape.fields else "",
    )


def _judge_schema(shape: Shape) -> dict[str, Any]:
    answers: dict[str, Any] = {"type": "array", "items": {"type": "string", "enum": list(shape.labels)}}
    properties: dict[str, Any] = {
        "sufficient": {"type": "boolean"},
        "answers": answers if shape.labels else _STRINGS,
        "evidence": _INTEGERS,
    }
    properties.update({name: {"type": "string"} for name in shape.fields})
    return _schema(properties, shape)


def _judge_instruction(shape: Shape) -> str:
    more = "".join(f', "{name}": "..."' for name in shape.fields)
    words = '"evidence" lists the numbers of the evidence lines that the answer stands on.'
    if shape.likely:
        words += f" {LIKELY}"
    if shape.labels:
        words += f" The only answers allowed are: {', '.join(shape.labels)}."
    return _say('{"sufficient": true, "answers": ["..."], "evidence": [1]' + more + "}", shape, words)


def _parse_keywords(text: str, _shape: Shape) -> list[str]:
    words = [_text(word) for word in _list(_object(text, "keywords")["keywords"], "keywords")]
    return [word for word in words if word]


def _parse_names(text: str, _shape: Shape) -> list[str]:
    names = [_text(name) for name in _list(_object(text, "names")["names"], "names")]
    return [name for name in dict.fromkeys(names) if name]


def _parse_texts(text: str, shape: Shape) -> list[str]:
    found = [" ".join(_text(entry).split()) for entry in _list(_object(text, "texts")["texts"], "texts")]
    if len(found) != shape.options:
        raise BadReplyError(f'"texts" must hold {shape.options} texts, one for each option, not {len(found)}')
    return found


def _parse_subquestions(text: str, _shape: Shape) -> list[SubQuestion]:
    nodes: list[SubQuestion] = []
    entries = _list(_object(text, "questions")["questions"], "questions")
    for entry in entries:
        node = {"question": entry} if isinstance(entry, str) else entry
        if not isinstance(node, dict) or not _text(node.get("question")):
            raise BadReplyError('every entry of "questions" must be an object with a "question"')
        numbers = [n for n in map(_integer, _list(node.get("refers"), "refers")) if n is not None]
        # One that refers to itself is a circle; whoever draws the map breaks those, and says so.
        refers = [n for n in dict.fromkeys(numbers) if 1 <= n <= len(entries)]
        nodes.append(
            SubQuestion(question=_text(node["question"]), open=_truth(node.get("open", False), "open"), refers=refers)
        )
    return nodes


_MOST_PARTS = 3


def _parse_keys(text: str, shape: Shape) -> list[LookUp]:
    entries = _list(_object(text, "keys")["keys"], "keys")
    keys: list[LookUp] = []
    for entry in entries:
        found = entry if isinstance(entry, dict) else {"key": entry}
        parts = [_text(part) for part in _list(found.get("key"), "key")]
        if not 1 <= len(parts) <= _MOST_PARTS:
            raise BadReplyError('every "key" must be a list of one to three texts')
        parts = [part or "?" for part in parts]  # what is left empty is unknown
        numbers = [n for n in map(_integer, _list(found.get("of"), "of")) if n is not None]
        if len(parts) == _MOST_PARTS or not shape.triples:
            keys.append(LookUp(key=parts, of=[n for n in dict.fromkeys(numbers) if 1 <= n <= shape.questions]))
    if entries and not keys:
        raise BadReplyError('no "key" is a list of three texts: subject, relation, object')
    return keys


def _keys_instruction(shape: Shape) -> str:
    form = "Each key is [subject, relation, object]."
    if not shape.triples:
        form = "A key is [entity], [entity, relation] or [subject, relation, object]."
    words = f'{form} "of" lists the numbers of the questions it belongs to.'
    return _say('{"keys": [{"key": ["...", "...", "?2"], "of": [2]}]}', shape, words)


def _parse_verdict(text: str, _shape: Shape) -> Verdict:
    return Verdict(right=_truth(_object(text, "right")["right"], "right"))


_TRIPLE = ("subject", "relation", "object")


def _parse_triples(text: str, shape: Shape) -> Statements:
    value = _object(text, "triples")
    entries = _list(value["triples"], "triples")
    triples: list[list[str]] = []
    for entry in entries:
        parts = [entry.get(name) for name in _TRIPLE] if isinstance(entry, dict) else entry
        if not isinstance(parts, list) or len(parts) != len(_TRIPLE):
            continue
        texts = [_text(part) for part in parts]
        if all(texts):
            triples.append(texts)
    if entries and not triples:
        raise BadReplyError('every entry of "triples" must be [subject, relation, object], none of them empty')
    types = _list(value.get("types"), "types") if "types" in shape.fields else []
    pairs = [[_text(part) for part in entry] for entry in types if isinstance(entry, list) and len(entry) == 2]  # noqa: PLR2004
    return Statements(triples=triples, types={name: kind for name, kind in pairs if name and kind})


def _triples_instruction(shape: Shape) -> str:
    if "types" not in shape.fields:
        return _say('{"triples": [["...", "...", "..."]]}', shape, "Each triple is [subject, relation, object].")
    return _say(
        '{"triples": [["...", "...", "..."]], "types": [["...", "..."]]}',
        shape,
        'Each triple is [subject, relation, object]; "types" gives the type of each subject and object that has one, [name, type].',
    )


def _parse_text(text: str, _shape: Shape) -> str:
    body = _whole(strip_thinking(text))
    if not body:
        raise BadReplyError("the reply is empty")
    return body


_QUESTION = {
    "type": "object",
    "properties": {"question": {"type": "string"}, "open": {"type": "boolean"}, "refers": _INTEGERS},
    "required": ["question", "open", "refers"],
    "additionalProperties": False,
}
_KEY = {
    "type": "object",
    "properties": {"key": _STRINGS, "of": _INTEGERS},
    "required": ["key", "of"],
    "additionalProperties": False,
}
_NESTED = {"type": "array", "items": _INTEGERS}
_TEXTS = {"type": "array", "items": _STRINGS}

KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "pick",
            lambda shape: _schema({"numbers": _INTEGERS}, shape),
            lambda shape: _say('{"numbers": [2, 5]}', shape, "An empty list means that none fits."),
            _parse_pick,
        ),
        Kind(
            "score",
            lambda shape: _schema({"scores": _NESTED}, shape),
            lambda shape: _say(
                '{"scores": [[2, 9], [5, 4]]}',
                shape,
                "Each pair is an option's number and its score from 0 (useless) to 10 (exactly what is needed). "
                "Leave out options that score 0.",
            ),
            _parse_score,
        ),
        Kind(
            "pairs",
            lambda shape: _schema({"pairs": _NESTED}, shape),
            lambda shape: _say(
                '{"pairs": [[1, 3], [2, 7]]}',
                shape,
                "Each pair is a clue's number and an option's number. An empty list means that nothing matches.",
            ),
            _parse_pairs,
        ),
        Kind("judge", _judge_schema, _judge_instruction, _parse_judge),
        Kind(
            "keywords",
            lambda shape: _schema({"keywords": _STRINGS}, shape),
            lambda shape: _say('{"keywords": ["...", "..."]}', shape, "One entry for each."),
            _parse_keywords,
        ),
        Kind(
            "names",
            lambda shape: _schema({"names": _STRINGS}, shape),
            lambda shape: _say(
                '{"names": ["...", "..."]}',
                shape,
                "Copy each name as it is written. An empty list means there is none.",
            ),
            _parse_names,
        ),
        Kind(
            "texts",
            lambda shape: _schema({"texts": _STRINGS}, shape),
            lambda shape: _say('{"texts": ["...", "..."]}', shape, "One text for each option, in their order."),
            _parse_texts,
        ),
        Kind(
            "keys",
            lambda shape: _schema({"keys": {"type": "array", "items": _KEY}}, shape),
            _keys_instruction,
            _parse_keys,
        ),
        Kind(
            "subquestions",
            lambda shape: _schema({"questions": {"type": "array", "items": _QUESTION}}, shape),
            lambda shape: _say(
                '{"questions": [{"question": "...", "open": false, "refers": []}]}',
                shape,
                '"open" is true where a question must be broken down further; "refers" lists the numbers (from 1) of '
                "the questions in this list whose answers it needs.",
            ),
            _parse_subquestions,
        ),
        Kind(
            "verdict",
            lambda shape: _schema({"right": {"type": "boolean"}}, shape),
            lambda shape: _say('{"right": true}', shape, ""),
            _parse_verdict,
        ),
        Kind(
            "triples",
            lambda shape: _schema(
                {"triples": _TEXTS} | ({"types": _TEXTS} if "types" in shape.fields else {}),
                shape,
            ),
            _triples_instruction,
            _parse_triples,
        ),
        Kind("text", lambda _: None, lambda _: "Reply with plain text only.", _parse_text),
    )
}
