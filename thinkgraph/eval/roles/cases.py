"""A case of a role: what its prompt is filled with, and what is right. Cases are kept as JSON Lines."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from thinkgraph.errors import UsageError
from thinkgraph.eval.files import FileRow, json_lines, write_text
from thinkgraph.eval.roles.lines import lines_of
from thinkgraph.prompts.kinds import Shape
from thinkgraph.prompts.library import Prompt, PromptLibrary, builtin_roles

Sort = Literal["choosing", "judging", "generating"]
SORTS: Mapping[str, Sort] = {
    "pick": "choosing",
    "score": "choosing",
    "pairs": "choosing",
    "judge": "judging",
    "verdict": "judging",
    "keywords": "generating",
    "names": "generating",
    "keys": "generating",
    "subquestions": "generating",
}
"""How roles are measured, by their kind of reply. The other kinds have no reply that is right alone."""

_RIGHT: Mapping[str, set[str]] = {
    "pick": {"choices"},
    "score": {"choices"},
    "pairs": {"choices"},
    "judge": {"sufficient", "answers", "aliases"},
    "verdict": {"right"},
    "keywords": {"names", "words"},
    "names": {"names", "words"},
    "keys": {"names", "words"},
    "subquestions": {"names", "words", "least", "most", "refers"},
}
"""What `Case.right` holds at least, by the role's kind of reply."""
_INPUTS = {"question", "options", "clues", "answer", "evidence"}
"""What code reads of `Case.inputs`: a case has those that its role's prompt has a place for."""
_DEFAULTS = dataclasses.asdict(Shape())


class _Right(TypedDict, total=False):
    """What stands under each name of `Case.right`."""

    choices: list[int] | list[Annotated[list[int], Field(min_length=2, max_length=2)]]
    sufficient: bool
    answers: list[str]
    aliases: list[list[str]]
    right: bool
    names: list[str]
    words: list[str]
    least: int
    most: int
    refers: bool


_RIGHT_FORM = TypeAdapter(_Right)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One call whose right reply is known. It holds no rendered prompt: other prompts can be measured with it."""

    id: str
    """Role, question and number: the same in every release that makes the same calls."""
    role: str
    question: str
    """Id of the question whose run made the call."""
    type: str
    """The question's type."""
    inputs: Mapping[str, str]
    """What the prompt's places are filled with."""
    shape: Mapping[str, Any]
    """The fields of `Shape` that are not its defaults."""
    right: Mapping[str, Any]
    """What is right: see `thinkgraph.eval.roles.scoring`."""
    order: tuple[int, ...] = ()
    """Choosing: a second order of the options, by their numbers; empty where there is nothing to order."""

    @property
    def bounds(self) -> Shape:
        """The bounds of the reply. Fields that this release does not know are left out."""
        known: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in self.shape.items()
            if name in _DEFAULTS
        }
        return Shape(**known)


def sort_of(prompt: Prompt) -> Sort | None:
    """How a role is measured; None where it is not."""
    return SORTS.get(prompt.kind.name)


def shape_fields(shape: Shape) -> dict[str, Any]:
    """The fields of a shape that are not its defaults."""
    return {name: value for name, value in dataclasses.asdict(shape).items() if value != _DEFAULTS[name]}


def save_cases(path: Path, cases: Sequence[Case]) -> None:
    """Write cases, one JSON object a line.

    Raises:
        UsageError: the file cannot be written.
    """
    write_text(path, "".join(json.dumps(dataclasses.asdict(case), ensure_ascii=False) + "\n" for case in cases))


def read_cases(path: Path) -> list[Case]:
    """The cases of a file.

    Raises:
        UsageError: it cannot be read, or holds something else; the line names file, place and field.
    """
    cases: dict[str, Case] = {}
    for row in json_lines(path):
        case = _case(row)
        if case.id in cases:
            raise row.fail("id", f'repeats "{case.id}"')
        cases[case.id] = case
    if not cases:
        raise UsageError(f"{path}: holds no cases")
    return list(cases.values())


def _case(row: FileRow) -> Case:
    inputs = row.row("inputs").value
    if not all(isinstance(text, str) for text in inputs.values()):
        raise row.fail("inputs", "must hold texts")
    role = row.text("role")
    # A role that this release does not know is never asked for.
    prompt = PromptLibrary().get(role) if role in builtin_roles() else None
    if prompt and (missing := (prompt.places & _INPUTS) - inputs.keys()):
        raise row.fail("inputs", f"must hold {', '.join(sorted(missing))}")
    order = row.value.get("order") or []
    options = range(1, len(lines_of(inputs.get("options", ""))) + 1)
    if order and not (isinstance(order, list) and len(order) == len(options) and all(one in order for one in options)):
        raise row.fail("order", "must be a list of the options' numbers")
    return Case(
        id=row.text("id"),
        role=role,
        question=row.text("question"),
        type=row.note("type"),
        inputs=inputs,
        shape=row.row("shape").value,
        right=_right(row, prompt, inputs),
        order=tuple(order),
    )


def _right(row: FileRow, prompt: Prompt | None, inputs: Mapping[str, str]) -> Mapping[str, Any]:
    """What is right, in a form that can be scored."""
    right = row.row("right").value
    try:
        _RIGHT_FORM.validate_python(right, strict=True)
    except ValidationError as error:
        fault = error.errors()[0]
        raise row.fail("right", f"is wrong under {fault['loc'][0]!r}: {fault['msg']}") from None
    if prompt is None:
        return right
    if missing := _RIGHT.get(prompt.kind.name, set()) - right.keys():
        raise row.fail("right", f"must have {', '.join(sorted(missing))}")
    if right.get("aliases") and len(right["aliases"]) != len(right["answers"]):
        raise row.fail("right", "must hold one list of aliases for each answer")
    # Pairs are of a clue and an option.
    most = [len(lines_of(inputs[name])) for name in ("clues", "options") if name in prompt.places]
    for choice in right.get("choices", ()):
        numbers = choice if isinstance(choice, list) else [choice]
        if len(numbers) != len(most) or not all(1 <= at <= last for at, last in zip(numbers, most, strict=True)):
            raise row.fail("right", f"must choose by the numbers of its lines: {choice} is none")
    return right


def first_of_each(cases: Sequence[Case], roles: Sequence[str], most: int) -> list[Case]:
    """At most `most` cases of each of some roles, of a judging role as many that must answer as that must abstain.

    Raises:
        UsageError: there are none.
    """
    found: list[Case] = []
    for role in roles:
        groups: dict[str, list[Case]] = {}
        for case in (case for case in cases if case.role == role):
            groups.setdefault(_group(case), []).append(case)
        found += [case for row in zip_longest(*groups.values()) for case in row if case][:most]
    if not found:
        raise UsageError(
            f"these cases have none of {', '.join(roles)}; they have {', '.join(sorted({c.role for c in cases}))}"
        )
    return found


def _group(case: Case) -> str:
    """Whether a judging role must answer or abstain; nothing for the others."""
    return str(case.right.get("sufficient", case.right.get("right", "")))
