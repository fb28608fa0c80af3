"""The form of a reply: its JSON schema with bounds, how it is said in words, and how long it may get.

Every list and number has a bound that follows from what the prompt shows, so that a schema that is enforced ends a reply that
would run on. Bounds are generous: no reply that makes sense is longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Literal

MAX_SCORE = 10
"""Scores run from 0 to 10 (ToG-2 appendix E, tables 10 and 11)."""

Order = Literal["verdict first", "evidence first"]
"""Judge: whether `sufficient` stands first in the reply, or evidence and answers do."""


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
    """Which of the optional fields are asked for (judge: `clues`, `query`, `scores`; triples: `types`)."""
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
    compares: bool = False
    """Subquestions: what follows from other answers (a comparison, a count) is a sub-question too."""
    consistent: bool = False
    """Verdict: ask whether an answer is consistent with the evidence, not whether it follows from it."""
    most: int = 0
    """Most entries that are wanted (pick, score, subquestions; pairs, `ranked`: options); 0: as many as there are."""
    order: Order = "verdict first"
    """Judge: what stands first in the reply."""
    named: bool = False
    """Score and pairs: an entry is an object whose numbers have names, which small models do not mix up, in place of a list."""
    ranked: bool = False
    """Score and pairs: only the numbers of the best options, the best first."""
    nearest: tuple[int, ...] = ()
    """Pairs, `ranked`: for each option the number of the clue that it is held to match, if it is named."""
    unseen: tuple[int, ...] = ()
    """Numbers of options (judge without `scores`: of evidence lines) that the prompt does not show, below the highest one that it shows."""

    @property
    def choices(self) -> int:
        """How many options are shown."""
        return max(0, self.options - len(self.unseen))


@dataclass(frozen=True)
class ReplyForm:
    """The JSON object that a kind asks for."""

    properties: Mapping[str, Any]
    """JSON schema by key."""
    example: str
    words: str
    """What the example does not say."""
    tokens: int
    """How long a reply may get, in tokens, without its `why`."""

    def schema(self, shape: Shape) -> dict[str, Any]:
        """As JSON schema."""
        why = {"why": text(LONGEST_STEPS if shape.steps else LONGEST_WORDS)} if shape.explain or shape.steps else {}
        return an_object({**why, **self.properties})

    def instruction(self, shape: Shape) -> str:
        """As words."""
        why = ' Put one sentence that explains it first, as "why".' if shape.explain else " Do not explain."
        if shape.steps:
            why = ' Put the steps that lead to it first, as "why".'
        return f"Reply with one JSON object and nothing else, in this form: {self.example}\n{self.words}{why}"

    def longest(self, shape: Shape) -> int:
        """How long a reply may get, in tokens, with its `why`."""
        why = _STEPS_TOKENS if shape.steps else _WHY_TOKENS if shape.explain else 0
        return min(self.tokens + why, MOST_TOKENS)


LONGEST_NAME = 300
"""Most characters of a name, an answer or a key."""
LONGEST_WORDS = 600
LONGEST_STEPS = 2000
MOST_TOKENS = 4000
TEXT_TOKENS = 400
"""Of a reply in plain text."""
_WHY_TOKENS = 120
_STEPS_TOKENS = 600
_MOST_NAMES = 40
_MOST_ANSWERS = 100
"""Judge: one evidence line may list that many ends, and all may be answers; every further line allows for ten more."""
_MOST_PAIRS = 400
_KEYS_EACH = 4
_MOST_TRIPLES = 200


def an_object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Schema of an object with just these keys."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def list_of(items: Mapping[str, Any], most: int, least: int = 0) -> dict[str, Any]:
    """Schema of a list of at most so many items."""
    return {"type": "array", "items": items, **({"minItems": least} if least else {}), "maxItems": most}


def text(longest: int = LONGEST_NAME) -> dict[str, Any]:
    """Schema of a text of at most so many characters."""
    return {"type": "string", "maxLength": longest}


def number(top: int, least: int = 1) -> dict[str, Any]:
    """Schema of a whole number up to `top`."""
    return {"type": "integer", "minimum": least, "maximum": max(top, least)}


BOUNDS = frozenset({"minItems", "maxItems", "minimum", "maximum", "maxLength"})
"""Keywords of the bounds in schemas of ours."""


def without(schema: Any, keywords: AbstractSet[str]) -> Any:
    """A schema without some keywords. Fields of an object that have the same names stay."""
    if isinstance(schema, list):
        return [without(one, keywords) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        name: {field: without(each, keywords) for field, each in one.items()}
        if name == "properties"
        else without(one, keywords)
        for name, one in schema.items()
        if name not in keywords
    }


_BOOLEAN = {"type": "boolean"}

LIKELY = (
    'If the evidence is not sufficient but makes some answer likely, put that answer under "answers", leave "sufficient" false '
    "and name the lines that speak for it."
)
"""How a judge is asked for a likely answer."""
LIKELIEST = 'If you are not sure, put the likeliest answer under "answers" and leave "sufficient" false.'
"""The same where there are no lines."""


def _numbers_form(shape: Shape, words: str, example: str = '{"numbers": [2, 5]}') -> ReplyForm:
    most = min(shape.most or shape.choices, shape.choices)
    return ReplyForm({"numbers": list_of(number(shape.options), most)}, example, words, 40 + 8 * most)


def pick_form(shape: Shape) -> ReplyForm:
    """Numbers of options."""
    if shape.most == 1:
        return _numbers_form(shape, "One number; an empty list means that none fits.", '{"numbers": [2]}')
    return _numbers_form(shape, "An empty list means that none fits.")


def score_form(shape: Shape) -> ReplyForm:
    """Pairs of an option's number and its score."""
    if shape.ranked:
        return _numbers_form(shape, "The numbers of the best options, the best first.")
    most = min(shape.most or shape.choices, shape.choices)
    words = (
        "Each pair is an option's number and its score from 0 (useless) to 10 (exactly what is needed). "
        "Leave out options that score 0."
    )
    if shape.named:
        pair = an_object({"option": number(shape.options), "score": number(MAX_SCORE, 0)})
        example = '{"scores": [{"option": 2, "score": 9}, {"option": 5, "score": 4}]}'
    else:
        pair, example = list_of(number(max(shape.options, MAX_SCORE), 0), 2, 2), '{"scores": [[2, 9], [5, 4]]}'
    return ReplyForm({"scores": list_of(pair, most)}, example, words, 60 + (16 if shape.named else 12) * most)


def pairs_form(shape: Shape) -> ReplyForm:
    """Pairs of a clue's number and an option's number."""
    if shape.ranked:
        words = "The numbers of the options that match a clue, the best first. An empty list means that none does."
        return _numbers_form(shape, words)
    most = min(shape.clues * shape.choices, _MOST_PAIRS)
    words = "Each pair is a clue's number and an option's number. An empty list means that nothing matches."
    if shape.named:
        pair = an_object({"clue": number(shape.clues), "option": number(shape.options)})
        example = '{"pairs": [{"clue": 1, "option": 3}, {"clue": 2, "option": 7}]}'
    else:
        pair, example = list_of(number(max(shape.clues, shape.options)), 2, 2), '{"pairs": [[1, 3], [2, 7]]}'
    # One clue fits many options, but hardly ever all of them do.
    tokens = 60 + (16 if shape.named else 12) * min(most, 2 * (shape.clues + shape.choices))
    return ReplyForm({"pairs": list_of(pair, most)}, example, words, tokens)


def judge_form(shape: Shape) -> ReplyForm:
    """Whether the evidence is sufficient, what follows from it and where it stands; with `scores`, what to go on with where it is not."""
    lines = max(0, shape.evidence - (0 if "scores" in shape.fields else len(shape.unseen)))
    most = 1 if shape.labels else _MOST_ANSWERS + 10 * lines
    answer = {"type": "string", "enum": list(shape.labels)} if shape.labels else text()
    verdict = {"sufficient": _BOOLEAN}
    given = {"answers": list_of(answer, most)}
    lines_named = {"evidence": list_of(number(shape.evidence), lines)}
    cited = "[1]" if lines else "[]"
    said = [name for name in shape.fields if name != "scores"]
    more = "".join(f', "{name}": "..."' for name in said)
    steering = score_form(shape) if "scores" in shape.fields else None
    more += f", {steering.example[1:-1]}" if steering else ""
    if shape.order == "evidence first":
        properties: dict[str, Any] = {**lines_named, **given, **verdict}
        example = '{"evidence": ' + cited + ', "answers": ["..."], "sufficient": true' + more + "}"
    else:
        properties = {**verdict, **given, **lines_named}
        example = '{"sufficient": true, "answers": ["..."], "evidence": ' + cited + more + "}"
    words = '"sufficient" is true or false; '
    words += '"evidence" lists the numbers of the evidence lines that the answer stands on.' if lines else ""
    words += "" if lines else '"evidence" stays empty, as there are no lines to name.'
    if shape.likely:
        words += f" {LIKELY if lines else LIKELIEST}"
    if shape.labels:
        words += f" The only answers allowed are: {', '.join(shape.labels)}."
    if steering:
        words += f" {steering.words} If the evidence is sufficient, leave that list empty."
    properties |= {name: text(LONGEST_WORDS) for name in said} | dict(steering.properties if steering else {})
    # A list of sixty short answers takes some 500 tokens; it may stand in a single line.
    tokens = (600 if lines and not shape.labels else 300) + 16 * lines + 150 * len(said)
    tokens += steering.tokens if steering else 0
    return ReplyForm(properties, example, words, min(tokens, 1600))


def keywords_form(_shape: Shape) -> ReplyForm:
    """Words or phrases."""
    return ReplyForm(
        {"keywords": list_of(text(), _MOST_NAMES)}, '{"keywords": ["...", "..."]}', "One entry for each.", 400
    )


def names_form(_shape: Shape) -> ReplyForm:
    """Names."""
    words = "Copy each name as it is written. An empty list means there is none."
    return ReplyForm({"names": list_of(text(), _MOST_NAMES)}, '{"names": ["...", "..."]}', words, 400)


def texts_form(shape: Shape) -> ReplyForm:
    """One text for each option."""
    every = list_of(text(LONGEST_STEPS), shape.options)
    words = "One text for each option, in their order."
    return ReplyForm({"texts": every}, '{"texts": ["...", "..."]}', words, 100 + 200 * shape.options)


def keys_form(shape: Shape) -> ReplyForm:
    """What to look up for numbered questions."""
    a_key = "A key is [entity], [entity, relation] or [subject, relation, object]."
    if shape.triples:
        a_key = "Each key is [subject, relation, object]."
    key = {"key": list_of(text(), 3, 1), "of": list_of(number(shape.questions), shape.questions)}
    # So few that a model which repeats itself comes to an end within the limit.
    most = _KEYS_EACH * (shape.questions + 1)
    return ReplyForm(
        {"keys": list_of(an_object(key), min(shape.most or most, most))},
        '{"keys": [{"key": ["...", "...", "?2"], "of": [2]}]}',
        f'{a_key} "of" lists the numbers of the questions it belongs to.',
        300 + 120 * shape.questions,
    )


def subquestions_form(shape: Shape) -> ReplyForm:
    """Simpler questions."""
    most = shape.most or _MOST_NAMES
    question = {"question": text(LONGEST_WORDS), "open": _BOOLEAN, "refers": list_of(number(most), most)}
    return ReplyForm(
        {"questions": list_of(an_object(question), most)},
        '{"questions": [{"question": "...", "open": false, "refers": []}]}',
        '"open" is true where a question must be broken down further; "refers" lists the numbers (from 1) of '
        "the questions in this list whose answers it needs.",
        200 + 60 * min(most, 20),
    )


def verdict_form(_shape: Shape) -> ReplyForm:
    """Right or wrong."""
    words = '"right" is true where the answer is right and false where it is wrong.'
    return ReplyForm({"right": _BOOLEAN}, '{"right": true} or {"right": false}', words, 40)


def triples_form(shape: Shape) -> ReplyForm:
    """Statements, and types where they are asked for."""
    triples = {"triples": list_of(list_of(text(), 3, 3), _MOST_TRIPLES)}
    words = "Each triple is [subject, relation, object]"
    if "types" not in shape.fields:
        return ReplyForm(triples, '{"triples": [["...", "...", "..."]]}', f"{words}.", 2000)
    return ReplyForm(
        {**triples, "types": list_of(list_of(text(), 2, 2), _MOST_TRIPLES)},
        '{"triples": [["...", "...", "..."]], "types": [["...", "..."]]}',
        f'{words}; "types" gives the type of each subject and object that has one, [name, type].',
        3000,
    )
