"""The few kinds of reply that roles ask for: their JSON schema, how they are said in words, and how they are read.

A new method adds roles, each with one of these kinds. The offline model and the perfect chooser implement kinds, never
roles, so they do not change when a method comes. Choices are numbers of a list that code has rendered: a reply never
carries names that would have to be matched again.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, NotRequired, TypeVar

from typing_extensions import TypedDict

from thinkgraph.prompts import forms
from thinkgraph.prompts.forms import MAX_SCORE, ReplyForm
from thinkgraph.prompts.reading import (
    BadReplyError,
    a_name,
    as_list,
    as_text,
    find_json,
    given_answers,
    in_range,
    integer,
    number_from,
    object_with,
    readable,
    strip_thinking,
    the_names,
    truth,
    whole,
    within,
)
from thinkgraph.state.coggrag import SubQuestion

T = TypeVar("T")

Shape = forms.Shape
"""What one call may answer: roles ask for a kind and a shape."""

_AFTER_LABEL = re.compile(r"\s*(?:[.,;:!(]|\s[-\u2013\u2014]\s)")
"""What parts a label from more words: "Yes, it does."; "No evidence" is none."""

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
    scores: NotRequired[list[tuple[int, float]]]
    """Where asked for, numbers of the options that the search may go on with, each with its score; empty where none can be read."""


NOT_SUFFICIENT = Judgement(sufficient=False, answers=[], evidence=[], clues="", query="")
"""What stands for a judgement that cannot be read."""


class ExtractedKey(TypedDict):
    """Something to look up in a graph (the keys of CogGRAG section 4.2)."""

    key: list[str]
    """[entity], [entity, relation] or [subject, relation, object]; an unknown one is a placeholder that starts with "?"."""
    of: list[int]
    """Numbers of the listed questions it belongs to; empty where the reply does not say."""


class Verdict(TypedDict):
    """A verifier's word on an answer (CogGRAG section 4.3, table 10)."""

    right: bool


class Statements(TypedDict):
    """What a text states, as triples (the relation extraction of ToG-2 section 1)."""

    triples: list[list[str]]
    """[subject, relation, object]; none of them empty."""
    types: dict[str, str]
    """Type by name; empty where types are not asked for."""


@dataclass(frozen=True)
class Kind(Generic[T]):
    """One kind of reply."""

    name: KindName
    parse: Callable[[str, Shape], T]
    """Read a reply. Raises BadReplyError."""
    form: Callable[[Shape], ReplyForm] | None
    """What is asked for, by the call's shape; None for plain text."""

    @functools.lru_cache(maxsize=1024)  # noqa: B019 - kinds are a dozen constants
    def schema(self, shape: Shape) -> Mapping[str, Any] | None:
        """JSON schema for providers that enforce one; None for plain text."""
        return self.form(shape).schema(shape) if self.form else None

    def instruction(self, shape: Shape) -> str:
        """The words that ask for this form, appended to the system message."""
        return self.form(shape).instruction(shape) if self.form else "Reply with plain text only."

    def tokens(self, shape: Shape) -> int:
        """Output tokens that a reply may take where no setting says so, for a model that does not reason first."""
        return self.form(shape).longest(shape) if self.form else forms.TEXT_TOKENS


_NUMBERS_ONLY = re.compile(r"^[\s\[\](),;.and#]*\d[\d\s\[\](),;.and#]*$", re.IGNORECASE)


def _listed(text: str, key: str, *, of: str = "") -> list[Any]:
    """The list under the key of a reply, or its only list; with `of` also one entry alone, an object that has this key."""
    if of and isinstance(value := find_json(text, key), dict) and key not in value and of in value:
        return [value]
    return as_list(object_with(text, key, lone=True)[key], key, of=of)


def _shown(numbers: list[int], shape: Shape) -> list[int]:
    """Without the numbers that the prompt did not show."""
    return [number for number in numbers if number not in shape.unseen]


def _parse_pick(text: str, shape: Shape) -> list[int]:
    body = strip_thinking(text)
    bare = "{" not in body and _NUMBERS_ONLY.match(body) and body.count("[") == body.count("]")
    said = re.findall(r"\d+", body) if bare else _listed(text, "numbers")
    return _shown(in_range(said, shape.options), shape)


_CLEARLY_ABOVE = 2 * MAX_SCORE
"""A best score up to this is from 0 to 10 and a little too good."""
_PERCENT = 100


def _a_score(entry: Any) -> tuple[int | None, float]:
    pair = [entry, entry.get("score")] if isinstance(entry, dict) else entry
    if not isinstance(pair, list | tuple) or len(pair) < 2:  # noqa: PLR2004 - a pair
        raise BadReplyError('every entry of "scores" must be [number, score]')
    score = number_from(pair[1])
    if score is None or not math.isfinite(score):
        raise BadReplyError("a score must be a number from 0 to 10")
    return integer(pair[0]), max(score, 0.0)


def scores_by_rank(best: Sequence[int]) -> list[tuple[int, float]]:
    """The scores of options that are only ranked, the best first."""
    return [(option, max(1.0, MAX_SCORE - place)) for place, option in enumerate(best)]


def _parse_score(text: str, shape: Shape) -> list[tuple[int, float]]:
    if shape.ranked and "scores" not in text:
        return scores_by_rank(_parse_pick(text, shape))
    raw = object_with(text, "scores", lone=True)["scores"]
    if isinstance(raw, dict):
        raw = [list(pair) for pair in raw.items()]
    raw = as_list(raw, "scores")
    if len(flat := [integer(one) for one in raw if not isinstance(one, list | dict)]) == len(raw) == 2:  # noqa: PLR2004
        # One pair alone, unless both could be options.
        raw = [raw] if not any(one in range(1, shape.options + 1) for one in flat[1:]) else raw
    scores: dict[int, float] = {}
    for number, score in readable(_a_score, raw):
        if number is not None and 1 <= number <= shape.options and number not in shape.unseen:
            scores.setdefault(number, score)
    if raw and not scores:
        raise BadReplyError(f"no scored number is from 1 to {shape.options}")
    top, factor = max(scores.values(), default=0), 1.0
    if top <= 1 and not all(score.is_integer() for score in scores.values()):
        factor = MAX_SCORE  # from 0 to 1: taken as they stand, all would be as good as useless
    elif _CLEARLY_ABOVE < top <= _PERCENT:
        factor = MAX_SCORE / _PERCENT  # from 0 to 100: cut, all would be the best
    return [(number, min(score * factor, float(MAX_SCORE))) for number, score in scores.items()]


def _a_pair(entry: Any) -> tuple[int | None, int | None]:
    pair = [entry.get("clue"), entry.get("option")] if isinstance(entry, dict) else entry
    if not isinstance(pair, list | tuple) or len(pair) != 2:  # noqa: PLR2004 - a pair
        raise BadReplyError('every entry of "pairs" must be [number of the clue, number of the option]')
    return integer(pair[0]), integer(pair[1])


def _parse_pairs(text: str, shape: Shape) -> list[tuple[int, int]]:
    if shape.ranked and "pairs" not in text:
        return [(shape.nearest[option - 1], option) for option in _parse_pick(text, shape)[: shape.most or None]]
    raw = _listed(text, "pairs")
    if shape.clues > 1 and len(raw) == 2 and not any(isinstance(one, list | dict) for one in raw):  # noqa: PLR2004
        # One pair alone. Where there is one clue it could also be two options.
        raw = [raw]
    pairs: dict[tuple[int, int], None] = {}
    for clue, option in readable(_a_pair, raw):
        if clue and option and 1 <= clue <= shape.clues and 1 <= option <= shape.options and option not in shape.unseen:
            pairs[clue, option] = None
    if raw and not pairs:
        raise BadReplyError(f"no pair has a clue from 1 to {shape.clues} and an option from 1 to {shape.options}")
    return list(pairs)


def _parse_steering(value: Mapping[str, Any], shape: Shape) -> list[tuple[int, float]]:
    """The scores beside a judgement; none where they cannot be read: they can be asked for again."""
    key = "numbers" if shape.ranked and "scores" not in value else "scores"
    try:
        return _parse_score(json.dumps({key: value.get(key) or []}), shape)
    except BadReplyError:
        return []


def _parse_judge(text: str, shape: Shape) -> Judgement:
    value = object_with(text, "sufficient", names=("enough",))
    said = as_list(value.get("answers", value.get("answer")), "answers", of="answer")
    answers, declined = (
        ([as_text(answer) for answer in said], False) if shape.labels else given_answers(readable(a_name, said))
    )
    if shape.labels:
        known = {label.casefold(): label for label in shape.labels}
        given = [_AFTER_LABEL.split(answer.casefold().strip(), maxsplit=1)[0] for answer in answers]
        answers = list(dict.fromkeys(known[answer] for answer in given if answer in known))
        if len(answers) > 1:
            raise BadReplyError(f'"answers" must hold one of these alone: {", ".join(shape.labels)}')
    # "Unknown" is no answer, whatever is said beside it.
    sufficient = truth(value["sufficient"], "sufficient") and not declined
    if sufficient and not answers:
        allowed = f" from: {', '.join(shape.labels)}" if shape.labels else ""
        raise BadReplyError(f'"sufficient" is true but "answers" holds no answer{allowed}')
    cited = within(as_list(value.get("evidence"), "evidence"), shape.evidence)
    judgement = Judgement(
        sufficient=sufficient,
        answers=answers,
        # Numbers that no line carries are dropped here, so an invented citation can never reach an answer.
        evidence=cited if "scores" in shape.fields else _shown(cited, shape),
        clues=as_text(value.get("clues")) if "clues" in shape.fields else "",
        query=as_text(value.get("query")) if "query" in shape.fields else "",
    )
    return {**judgement, "scores": _parse_steering(value, shape)} if "scores" in shape.fields else judgement


def _parse_keywords(text: str, _shape: Shape) -> list[str]:
    return the_names(_listed(text, "keywords"))


def _parse_names(text: str, _shape: Shape) -> list[str]:
    return list(dict.fromkeys(the_names(_listed(text, "names"))))


def _parse_texts(text: str, shape: Shape) -> list[str]:
    found = [" ".join(as_text(entry).split()) for entry in _listed(text, "texts")]
    if len(found) != shape.options:
        raise BadReplyError(f'"texts" must hold {shape.options} texts, one for each option, not {len(found)}')
    return found


def _parse_subquestions(text: str, _shape: Shape) -> list[SubQuestion]:
    entries = _listed(text, "questions", of="question")

    def read(entry: Any) -> SubQuestion:
        node = {"question": entry} if isinstance(entry, str) else entry
        if isinstance(node, dict) and "sub-question" in node:
            # As in CogGRAG's table 6, with "State" beside it.
            node = {**node, "question": node["sub-question"]}
        if not isinstance(node, dict) or not as_text(node.get("question")):
            raise BadReplyError('every entry of "questions" must be an object with a "question"')
        more = truth(node.get("open", node.get("state", False)), "open")
        # One that refers to itself is a circle; whoever draws the map breaks those, and says so.
        refers = within(as_list(node.get("refers"), "refers"), len(entries))
        return SubQuestion(question=as_text(node["question"]), open=more, refers=refers)

    nodes = readable(read, entries)
    if len(nodes) < len(entries) and any(node["refers"] or "#" in node["question"] for node in nodes):
        raise BadReplyError('an entry of "questions" cannot be read, so the numbers of the others are not sure')
    return nodes


_TRIPLE = ("subject", "relation", "object")


def _a_key(entry: Any, shape: Shape) -> ExtractedKey:
    found = entry if isinstance(entry, dict) else {"key": entry}
    parts = [as_text(part) or "?" for part in as_list(found.get("key"), "key")]  # what is left empty is unknown
    if not 1 <= len(parts) <= len(_TRIPLE):
        raise BadReplyError('every "key" must be a list of one to three texts')
    return ExtractedKey(key=parts, of=within(as_list(found.get("of"), "of"), shape.questions))


def _parse_keys(text: str, shape: Shape) -> list[ExtractedKey]:
    entries = _listed(text, "keys", of="key")
    read = readable(lambda entry: _a_key(entry, shape), entries)
    keys = [one for one in read if len(one["key"]) == len(_TRIPLE) or not shape.triples]
    if entries and not keys:
        raise BadReplyError('no "key" is a list of three texts: subject, relation, object')
    return keys


def _parse_verdict(text: str, _shape: Shape) -> Verdict:
    said = strip_thinking(text)
    if not re.search(r"[{\[]", said):
        # A word alone; anything longer is refused as no JSON.
        with contextlib.suppress(BadReplyError):
            return Verdict(right=truth(said, "right"))
    return Verdict(right=truth(object_with(text, "right", names=("correct", "verdict"))["right"], "right"))


def _parse_triples(text: str, shape: Shape) -> Statements:
    value = object_with(text, "triples", lone=True)
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


def _parse_text(text: str, _shape: Shape) -> str:
    body = whole(strip_thinking(text))
    if not body:
        raise BadReplyError("the reply is empty")
    return body


PICK: Kind[list[int]] = Kind("pick", _parse_pick, forms.pick_form)
SCORE: Kind[list[tuple[int, float]]] = Kind("score", _parse_score, forms.score_form)
PAIRS: Kind[list[tuple[int, int]]] = Kind("pairs", _parse_pairs, forms.pairs_form)
JUDGE: Kind[Judgement] = Kind("judge", _parse_judge, forms.judge_form)
KEYWORDS: Kind[list[str]] = Kind("keywords", _parse_keywords, forms.keywords_form)
NAMES: Kind[list[str]] = Kind("names", _parse_names, forms.names_form)
TEXTS: Kind[list[str]] = Kind("texts", _parse_texts, forms.texts_form)
KEYS: Kind[list[ExtractedKey]] = Kind("keys", _parse_keys, forms.keys_form)
SUBQUESTIONS: Kind[list[SubQuestion]] = Kind("subquestions", _parse_subquestions, forms.subquestions_form)
VERDICT: Kind[Verdict] = Kind("verdict", _parse_verdict, forms.verdict_form)
TRIPLES: Kind[Statements] = Kind("triples", _parse_triples, forms.triples_form)
TEXT: Kind[str] = Kind("text", _parse_text, None)
KINDS: Mapping[str, Kind[Any]] = {
    kind.name: kind
    for kind in (PICK, SCORE, PAIRS, JUDGE, KEYWORDS, NAMES, TEXTS, KEYS, SUBQUESTIONS, VERDICT, TRIPLES, TEXT)
}
