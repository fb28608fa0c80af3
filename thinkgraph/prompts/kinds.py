"""The few kinds of reply that roles ask for: their JSON schema, how they are said in words, and how they are read.

A new method adds roles, each with one of these kinds. The offline model and the perfect chooser implement kinds, never
roles, so they do not change when a method comes. Choices are numbers of a list that code has rendered: a reply never
carries names that would have to be matched again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from typing_extensions import TypedDict

from thinkgraph.prompts.reading import (
    BadReplyError,
    a_name,
    as_list,
    as_text,
    given_answers,
    in_range,
    integer,
    integers,
    number_from,
    object_with,
    strip_thinking,
    truth,
    whole,
)

T = TypeVar("T")

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


NOT_SUFFICIENT = Judgement(sufficient=False, answers=[], evidence=[], clues="", query="")
"""What stands for a judgement that cannot be read."""


class SubQuestion(TypedDict):
    """One node of a mind map (CogGRAG section 3.1)."""

    question: str
    open: bool
    """Whether it must be decomposed further."""
    refers: list[int]
    """Numbers of the sibling questions whose answers it needs, counted from 1."""


class ExtractedKey(TypedDict):
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
class Kind(Generic[T]):
    """One kind of reply."""

    name: KindName
    schema: Callable[[Shape], dict[str, Any] | None]
    """JSON schema for providers that enforce one; None for plain text."""
    instruction: Callable[[Shape], str]
    """The words that ask for this form, appended to the system message."""
    parse: Callable[[str, Shape], T]
    """Read a reply. Raises BadReplyError."""


_NUMBERS_ONLY = re.compile(r"^[\s\[\](),;.and#]*\d[\d\s\[\](),;.and#]*$", re.IGNORECASE)


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
        return in_range(re.findall(r"\d+", body), shape.options, "choice")
    return in_range(as_list(object_with(text, "numbers", lone=True)["numbers"], "numbers"), shape.options, "choice")


def _parse_score(text: str, shape: Shape) -> list[tuple[int, float]]:
    raw = object_with(text, "scores", lone=True)["scores"]
    if isinstance(raw, dict):
        raw = list(raw.items())
    scores: dict[int, float] = {}
    for entry in as_list(raw, "scores"):
        pair = [entry, entry.get("score")] if isinstance(entry, dict) else entry
        if not isinstance(pair, list | tuple) or len(pair) < 2:  # noqa: PLR2004 - a pair
            raise BadReplyError('every entry of "scores" must be [number, score]')
        number = integer(pair[0])
        score = number_from(pair[1])
        if score is None or not math.isfinite(score):
            raise BadReplyError("a score must be a number from 0 to 10")
        if number is not None and 1 <= number <= shape.options:
            scores.setdefault(number, min(max(score, 0.0), float(MAX_SCORE)))
    if raw and not scores:
        raise BadReplyError(f"no scored number is from 1 to {shape.options}")
    return list(scores.items())


def _parse_pairs(text: str, shape: Shape) -> list[tuple[int, int]]:
    raw = as_list(object_with(text, "pairs", lone=True)["pairs"], "pairs")
    pairs: dict[tuple[int, int], None] = {}
    for entry in raw:
        pair = [entry.get("clue"), entry.get("option")] if isinstance(entry, dict) else entry
        if not isinstance(pair, list | tuple) or len(pair) != 2:  # noqa: PLR2004 - a pair
            raise BadReplyError('every entry of "pairs" must be [number of the clue, number of the option]')
        clue, option = integer(pair[0]), integer(pair[1])
        if clue is None or option is None or not (1 <= clue <= shape.clues and 1 <= option <= shape.options):
            continue
        pairs[clue, option] = None
    if raw and not pairs:
        raise BadReplyError(f"no pair has a clue from 1 to {shape.clues} and an option from 1 to {shape.options}")
    return list(pairs)


def _parse_judge(text: str, shape: Shape) -> Judgement:
    value = object_with(text, "sufficient")
    said = as_list(value.get("answers", value.get("answer")), "answers", of="answer")
    answers, declined = (
        ([as_text(answer) for answer in said], False) if shape.labels else given_answers(map(a_name, said))
    )
    if shape.labels:
        known = {label.casefold(): label for label in shape.labels}
        answers = list(dict.fromkeys(known[a.casefold()] for a in answers if a.casefold() in known))
    # "Unknown" is no answer, whatever is said beside it.
    sufficient = truth(value["sufficient"], "sufficient") and not declined
    if sufficient and not answers:
        allowed = f" from: {', '.join(shape.labels)}" if shape.labels else ""
        raise BadReplyError(f'"sufficient" is true but "answers" holds no answer{allowed}')
    numbers = integers(as_list(value.get("evidence"), "evidence"))
    return Judgement(
        sufficient=sufficient,
        answers=answers,
        # Numbers that no line carries are dropped here, so an invented citation can never reach an answer.
        evidence=[number for number in dict.fromkeys(numbers) if 1 <= number <= shape.evidence],
        clues=as_text(value.get("clues")) if "clues" in shape.fields else "",
        query=as_text(value.get("query")) if "query" in shape.fields else "",
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
    words = [a_name(word) for word in as_list(object_with(text, "keywords")["keywords"], "keywords")]
    return [word for word in words if word]


def _parse_names(text: str, _shape: Shape) -> list[str]:
    names = [a_name(name) for name in as_list(object_with(text, "names")["names"], "names")]
    return [name for name in dict.fromkeys(names) if name]


def _parse_texts(text: str, shape: Shape) -> list[str]:
    found = [" ".join(as_text(entry).split()) for entry in as_list(object_with(text, "texts")["texts"], "texts")]
    if len(found) != shape.options:
        raise BadReplyError(f'"texts" must hold {shape.options} texts, one for each option, not {len(found)}')
    return found


def _parse_subquestions(text: str, _shape: Shape) -> list[SubQuestion]:
    nodes: list[SubQuestion] = []
    entries = as_list(object_with(text, "questions")["questions"], "questions", of="question")
    for entry in entries:
        node = {"question": entry} if isinstance(entry, str) else entry
        if not isinstance(node, dict) or not as_text(node.get("question")):
            raise BadReplyError('every entry of "questions" must be an object with a "question"')
        numbers = [n for n in map(integer, as_list(node.get("refers"), "refers")) if n is not None]
        # One that refers to itself is a circle; whoever draws the map breaks those, and says so.
        refers = [n for n in dict.fromkeys(numbers) if 1 <= n <= len(entries)]
        nodes.append(
            SubQuestion(question=as_text(node["question"]), open=truth(node.get("open", False), "open"), refers=refers)
        )
    return nodes


_MOST_PARTS = 3


def _parse_keys(text: str, shape: Shape) -> list[ExtractedKey]:
    entries = as_list(object_with(text, "keys")["keys"], "keys", of="key")
    keys: list[ExtractedKey] = []
    for entry in entries:
        found = entry if isinstance(entry, dict) else {"key": entry}
        parts = [as_text(part) for part in as_list(found.get("key"), "key")]
        if not 1 <= len(parts) <= _MOST_PARTS:
            raise BadReplyError('every "key" must be a list of one to three texts')
        parts = [part or "?" for part in parts]  # what is left empty is unknown
        numbers = [n for n in map(integer, as_list(found.get("of"), "of")) if n is not None]
        if len(parts) == _MOST_PARTS or not shape.triples:
            keys.append(ExtractedKey(key=parts, of=[n for n in dict.fromkeys(numbers) if 1 <= n <= shape.questions]))
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
    return Verdict(right=truth(object_with(text, "right")["right"], "right"))


_TRIPLE = ("subject", "relation", "object")


def _parse_triples(text: str, shape: Shape) -> Statements:
    value = object_with(text, "triples")
    entries = as_list(value["triples"], "triples")
    triples: list[list[str]] = []
    for entry in entries:
        parts = [entry.get(name) for name in _TRIPLE] if isinstance(entry, dict) else entry
        if not isinstance(parts, list) or len(parts) != len(_TRIPLE):
            continue
        texts = [as_text(part) for part in parts]
        if all(texts):
            triples.append(texts)
    if entries and not triples:
        raise BadReplyError('every entry of "triples" must be [subject, relation, object], none of them empty')
    types = as_list(value.get("types"), "types") if "types" in shape.fields else []
    pairs = [[as_text(part) for part in entry] for entry in types if isinstance(entry, list) and len(entry) == 2]  # noqa: PLR2004
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
    body = whole(strip_thinking(text))
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

PICK: Kind[list[int]] = Kind(
    "pick",
    lambda shape: _schema({"numbers": _INTEGERS}, shape),
    lambda shape: _say('{"numbers": [2, 5]}', shape, "An empty list means that none fits."),
    _parse_pick,
)
SCORE: Kind[list[tuple[int, float]]] = Kind(
    "score",
    lambda shape: _schema({"scores": _NESTED}, shape),
    lambda shape: _say(
        '{"scores": [[2, 9], [5, 4]]}',
        shape,
        "Each pair is an option's number and its score from 0 (useless) to 10 (exactly what is needed). "
        "Leave out options that score 0.",
    ),
    _parse_score,
)
PAIRS: Kind[list[tuple[int, int]]] = Kind(
    "pairs",
    lambda shape: _schema({"pairs": _NESTED}, shape),
    lambda shape: _say(
        '{"pairs": [[1, 3], [2, 7]]}',
        shape,
        "Each pair is a clue's number and an option's number. An empty list means that nothing matches.",
    ),
    _parse_pairs,
)
JUDGE: Kind[Judgement] = Kind("judge", _judge_schema, _judge_instruction, _parse_judge)
KEYWORDS: Kind[list[str]] = Kind(
    "keywords",
    lambda shape: _schema({"keywords": _STRINGS}, shape),
    lambda shape: _say('{"keywords": ["...", "..."]}', shape, "One entry for each."),
    _parse_keywords,
)
NAMES: Kind[list[str]] = Kind(
    "names",
    lambda shape: _schema({"names": _STRINGS}, shape),
    lambda shape: _say(
        '{"names": ["...", "..."]}',
        shape,
        "Copy each name as it is written. An empty list means there is none.",
    ),
    _parse_names,
)
TEXTS: Kind[list[str]] = Kind(
    "texts",
    lambda shape: _schema({"texts": _STRINGS}, shape),
    lambda shape: _say('{"texts": ["...", "..."]}', shape, "One text for each option, in their order."),
    _parse_texts,
)
KEYS: Kind[list[ExtractedKey]] = Kind(
    "keys",
    lambda shape: _schema({"keys": {"type": "array", "items": _KEY}}, shape),
    _keys_instruction,
    _parse_keys,
)
SUBQUESTIONS: Kind[list[SubQuestion]] = Kind(
    "subquestions",
    lambda shape: _schema({"questions": {"type": "array", "items": _QUESTION}}, shape),
    lambda shape: _say(
        '{"questions": [{"question": "...", "open": false, "refers": []}]}',
        shape,
        '"open" is true where a question must be broken down further; "refers" lists the numbers (from 1) of '
        "the questions in this list whose answers it needs.",
    ),
    _parse_subquestions,
)
VERDICT: Kind[Verdict] = Kind(
    "verdict",
    lambda shape: _schema({"right": {"type": "boolean"}}, shape),
    lambda shape: _say('{"right": true}', shape, ""),
    _parse_verdict,
)
TRIPLES: Kind[Statements] = Kind(
    "triples",
    lambda shape: _schema(
        {"triples": _TEXTS} | ({"types": _TEXTS} if "types" in shape.fields else {}),
        shape,
    ),
    _triples_instruction,
    _parse_triples,
)
TEXT: Kind[str] = Kind("text", lambda _: None, lambda _: "Reply with plain text only.", _parse_text)
KINDS: Mapping[str, Kind[Any]] = {
    kind.name: kind
    for kind in (PICK, SCORE, PAIRS, JUDGE, KEYWORDS, NAMES, TEXTS, KEYS, SUBQUESTIONS, VERDICT, TRIPLES, TEXT)
}
