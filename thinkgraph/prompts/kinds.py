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
    number_from,
    object_with,
    strip_thinking,
    truth,
    whole,
    within,
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
class ReplyForm:
    """The JSON object that a kind asks for."""

    properties: Mapping[str, Any]
    """JSON schema by key."""
    example: str
    words: str
    """What the example does not say."""


@dataclass(frozen=True)
class Kind(Generic[T]):
    """One kind of reply."""

    name: KindName
    parse: Callable[[str, Shape], T]
    """Read a reply. Raises BadReplyError."""
    form: ReplyForm | Callable[[Shape], ReplyForm] | None
    """What is asked for, for every call or by its shape; None for plain text."""

    def schema(self, shape: Shape) -> dict[str, Any] | None:
        """JSON schema for providers that enforce one; None for plain text."""
        form = self.form(shape) if callable(self.form) else self.form
        if form is None:
            return None
        why = {"why": _STRING} if shape.explain or shape.steps else {}
        return _object({**why, **form.properties})

    def instruction(self, shape: Shape) -> str:
        """The words that ask for this form, appended to the system message."""
        form = self.form(shape) if callable(self.form) else self.form
        if form is None:
            return "Reply with plain text only."
        why = ' Put one sentence that explains it first, as "why".' if shape.explain else " Do not explain."
        if shape.steps:
            why = ' Put the steps that lead to it first, as "why".'
        return f"Reply with one JSON object and nothing else, in this form: {form.example}\n{form.words}{why}"


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _list_of(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_STRING = {"type": "string"}
_BOOLEAN = {"type": "boolean"}
_STRINGS = _list_of(_STRING)
_INTEGERS = _list_of({"type": "integer"})

LIKELY = (
    'If the evidence is not sufficient but makes some answer likely, put that answer under "answers", leave "sufficient" false '
    "and name the lines that speak for it."
)
"""How a judge is asked for a likely answer."""

_NUMBERS_ONLY = re.compile(r"^[\s\[\](),;.and#]*\d[\d\s\[\](),;.and#]*$", re.IGNORECASE)


def _listed(text: str, key: str, *, lone: bool = False, of: str = "") -> list[Any]:
    """The list under the key of a reply; see `object_with` and `as_list`."""
    return as_list(object_with(text, key, lone=lone)[key], key, of=of)


def _parse_pick(text: str, shape: Shape) -> list[int]:
    body = strip_thinking(text)
    if "{" not in body and _NUMBERS_ONLY.match(body) and body.count("[") == body.count("]"):
        return in_range(re.findall(r"\d+", body), shape.options, "choice")
    return in_range(_listed(text, "numbers", lone=True), shape.options, "choice")


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
    raw = _listed(text, "pairs", lone=True)
    pairs: dict[tuple[int, int], None] = {}
    for entry in raw:
        pair = [entry.get("clue"), entry.get("option")] if isinstance(entry, dict) else entry
        if not isinstance(pair, list | tuple) or len(pair) != 2:  # noqa: PLR2004 - a pair
            raise BadReplyError('every entry of "pairs" must be [number of the clue, number of the option]')
        clue, option = integer(pair[0]), integer(pair[1])
        if clue and option and 1 <= clue <= shape.clues and 1 <= option <= shape.options:
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
    return Judgement(
        sufficient=sufficient,
        answers=answers,
        # Numbers that no line carries are dropped here, so an invented citation can never reach an answer.
        evidence=within(as_list(value.get("evidence"), "evidence"), shape.evidence),
        clues=as_text(value.get("clues")) if "clues" in shape.fields else "",
        query=as_text(value.get("query")) if "query" in shape.fields else "",
    )


def _judge_form(shape: Shape) -> ReplyForm:
    properties = {
        "sufficient": _BOOLEAN,
        "answers": _list_of({**_STRING, "enum": list(shape.labels)}) if shape.labels else _STRINGS,
        "evidence": _INTEGERS,
        **dict.fromkeys(shape.fields, _STRING),
    }
    more = "".join(f', "{name}": "..."' for name in shape.fields)
    words = '"evidence" lists the numbers of the evidence lines that the answer stands on.'
    if shape.likely:
        words += f" {LIKELY}"
    if shape.labels:
        words += f" The only answers allowed are: {', '.join(shape.labels)}."
    return ReplyForm(properties, '{"sufficient": true, "answers": ["..."], "evidence": [1]' + more + "}", words)


def _parse_keywords(text: str, _shape: Shape) -> list[str]:
    return [word for word in map(a_name, _listed(text, "keywords")) if word]


def _parse_names(text: str, _shape: Shape) -> list[str]:
    return [name for name in dict.fromkeys(map(a_name, _listed(text, "names"))) if name]


def _parse_texts(text: str, shape: Shape) -> list[str]:
    found = [" ".join(as_text(entry).split()) for entry in _listed(text, "texts")]
    if len(found) != shape.options:
        raise BadReplyError(f'"texts" must hold {shape.options} texts, one for each option, not {len(found)}')
    return found


def _parse_subquestions(text: str, _shape: Shape) -> list[SubQuestion]:
    nodes: list[SubQuestion] = []
    entries = _listed(text, "questions", of="question")
    for entry in entries:
        node = {"question": entry} if isinstance(entry, str) else entry
        if not isinstance(node, dict) or not as_text(node.get("question")):
            raise BadReplyError('every entry of "questions" must be an object with a "question"')
        # One that refers to itself is a circle; whoever draws the map breaks those, and says so.
        refers = within(as_list(node.get("refers"), "refers"), len(entries))
        nodes.append(
            SubQuestion(question=as_text(node["question"]), open=truth(node.get("open", False), "open"), refers=refers)
        )
    return nodes


_TRIPLE = ("subject", "relation", "object")


def _parse_keys(text: str, shape: Shape) -> list[ExtractedKey]:
    entries = _listed(text, "keys", of="key")
    keys: list[ExtractedKey] = []
    for entry in entries:
        found = entry if isinstance(entry, dict) else {"key": entry}
        parts = [as_text(part) or "?" for part in as_list(found.get("key"), "key")]  # what is left empty is unknown
        if not 1 <= len(parts) <= len(_TRIPLE):
            raise BadReplyError('every "key" must be a list of one to three texts')
        numbers = within(as_list(found.get("of"), "of"), shape.questions)
        if len(parts) == len(_TRIPLE) or not shape.triples:
            keys.append(ExtractedKey(key=parts, of=numbers))
    if entries and not keys:
        raise BadReplyError('no "key" is a list of three texts: subject, relation, object')
    return keys


def _keys_form(shape: Shape) -> ReplyForm:
    a_key = "A key is [entity], [entity, relation] or [subject, relation, object]."
    if shape.triples:
        a_key = "Each key is [subject, relation, object]."
    return ReplyForm(
        {"keys": _list_of(_object({"key": _STRINGS, "of": _INTEGERS}))},
        '{"keys": [{"key": ["...", "...", "?2"], "of": [2]}]}',
        f'{a_key} "of" lists the numbers of the questions it belongs to.',
    )


def _parse_verdict(text: str, _shape: Shape) -> Verdict:
    return Verdict(right=truth(object_with(text, "right")["right"], "right"))


def _parse_triples(text: str, shape: Shape) -> Statements:
    value = object_with(text, "triples")
    entries = as_list(value["triples"], "triples")
    triples: list[list[str]] = []
    for entry in entries:
        parts = [entry.get(name) for name in _TRIPLE] if isinstance(entry, dict) else entry
        if isinstance(parts, list) and len(parts) == len(_TRIPLE) and all(texts := [as_text(part) for part in parts]):
            triples.append(texts)
    if entries and not triples:
        raise BadReplyError('every entry of "triples" must be [subject, relation, object], none of them empty')
    types = as_list(value.get("types"), "types") if "types" in shape.fields else []
    pairs = [[as_text(part) for part in entry] for entry in types if isinstance(entry, list) and len(entry) == 2]  # noqa: PLR2004
    return Statements(triples=triples, types={name: kind for name, kind in pairs if name and kind})


def _triples_form(shape: Shape) -> ReplyForm:
    texts = _list_of(_STRINGS)
    if "types" not in shape.fields:
        return ReplyForm(
            {"triples": texts}, '{"triples": [["...", "...", "..."]]}', "Each triple is [subject, relation, object]."
        )
    return ReplyForm(
        {"triples": texts, "types": texts},
        '{"triples": [["...", "...", "..."]], "types": [["...", "..."]]}',
        'Each triple is [subject, relation, object]; "types" gives the type of each subject and object that has one, [name, type].',
    )


def _parse_text(text: str, _shape: Shape) -> str:
    body = whole(strip_thinking(text))
    if not body:
        raise BadReplyError("the reply is empty")
    return body


PICK: Kind[list[int]] = Kind(
    "pick",
    _parse_pick,
    ReplyForm({"numbers": _INTEGERS}, '{"numbers": [2, 5]}', "An empty list means that none fits."),
)
SCORE: Kind[list[tuple[int, float]]] = Kind(
    "score",
    _parse_score,
    ReplyForm(
        {"scores": _list_of(_INTEGERS)},
        '{"scores": [[2, 9], [5, 4]]}',
        "Each pair is an option's number and its score from 0 (useless) to 10 (exactly what is needed). "
        "Leave out options that score 0.",
    ),
)
PAIRS: Kind[list[tuple[int, int]]] = Kind(
    "pairs",
    _parse_pairs,
    ReplyForm(
        {"pairs": _list_of(_INTEGERS)},
        '{"pairs": [[1, 3], [2, 7]]}',
        "Each pair is a clue's number and an option's number. An empty list means that nothing matches.",
    ),
)
JUDGE: Kind[Judgement] = Kind("judge", _parse_judge, _judge_form)
KEYWORDS: Kind[list[str]] = Kind(
    "keywords",
    _parse_keywords,
    ReplyForm({"keywords": _STRINGS}, '{"keywords": ["...", "..."]}', "One entry for each."),
)
NAMES: Kind[list[str]] = Kind(
    "names",
    _parse_names,
    ReplyForm(
        {"names": _STRINGS},
        '{"names": ["...", "..."]}',
        "Copy each name as it is written. An empty list means there is none.",
    ),
)
TEXTS: Kind[list[str]] = Kind(
    "texts",
    _parse_texts,
    ReplyForm({"texts": _STRINGS}, '{"texts": ["...", "..."]}', "One text for each option, in their order."),
)
KEYS: Kind[list[ExtractedKey]] = Kind("keys", _parse_keys, _keys_form)
SUBQUESTIONS: Kind[list[SubQuestion]] = Kind(
    "subquestions",
    _parse_subquestions,
    ReplyForm(
        {"questions": _list_of(_object({"question": _STRING, "open": _BOOLEAN, "refers": _INTEGERS}))},
        '{"questions": [{"question": "...", "open": false, "refers": []}]}',
        '"open" is true where a question must be broken down further; "refers" lists the numbers (from 1) of '
        "the questions in this list whose answers it needs.",
    ),
)
VERDICT: Kind[Verdict] = Kind("verdict", _parse_verdict, ReplyForm({"right": _BOOLEAN}, '{"right": true}', ""))
TRIPLES: Kind[Statements] = Kind("triples", _parse_triples, _triples_form)
TEXT: Kind[str] = Kind("text", _parse_text, None)
KINDS: Mapping[str, Kind[Any]] = {
    kind.name: kind
    for kind in (PICK, SCORE, PAIRS, JUDGE, KEYWORDS, NAMES, TEXTS, KEYS, SUBQUESTIONS, VERDICT, TRIPLES, TEXT)
}
