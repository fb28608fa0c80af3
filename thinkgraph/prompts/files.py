"""The form of a prompt file, read and checked.

    ---
    # Everything behind a # is a note.
    kind: judge            reply kind, see kinds.py
    stage: reason          explore | reason: which temperature applies
    lines: arrows          arrows | plain: how statements are written (lines.py, plain.py)
    last: question         the section of this title stands last
    flat: true             lines without a number are left out of lists
    options: 30            most options shown, those nearest to the question by the encoder
    ends: 8                most ends listed of one relation in plain lines; the others are counted
    form: {steps: true}    fields of the reply's shape (kinds.py) to set
    small: {lines: plain}  any of these six for the profile `small` alone
    ---
    === system
    What to do …           {{task}} and other names in double braces are filled in
    === user
    ## Question            a section whose body comes out empty is left out
    {{question}}
    === example user [task=fact, not likely]
    === example reply

Only kind and stage must be there. Every part may carry conditions in brackets, which must all hold: a word, `not` a word, or
`task=…`; see CONDITIONS. Of several `=== system` or `=== user` the first whose conditions hold is used, the one without
conditions last. Of the examples those count whose conditions hold. An example is written once, in arrows and with every key
that a reply may have: code keeps those that the call asks for, in the form's order.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import yaml

from thinkgraph.errors import PromptError, first_line
from thinkgraph.prompts.forms import Order
from thinkgraph.prompts.kinds import KINDS, Kind, Shape
from thinkgraph.prompts.tasks import TASK_LABELS, Task

Stage = Literal["explore", "reason"]
Profile = Literal["small", "standard"]
"""For which size of model a prompt is rendered."""

PROFILES: tuple[Profile, ...] = get_args(Profile)
CONDITIONS = frozenset(
    {*PROFILES, *(f"task={task}" for task in TASK_LABELS), "clues", "query", "types", "triples"}
    | {"likely", "memory", "explain", "steps", "compares", "consistent"}
)
"""What a part's conditions can ask: the profile; the task; whether the reply has clues, a query, types; whether it is to hold
whole triples only; whether a likely answer is wanted (the last round), the model's own knowledge counts, the reply explains
itself, or is led up to step by step; whether comparisons are sub-questions; whether a verifier asks for consistency alone.
"""

_PARTS = re.compile(r"^=== *(.+?) *$", re.MULTILINE)
_HEADING = re.compile(r"^(?P<name>[^\[\]]+?)\s*(?:\[(?P<when>[^\[\]]*)\])?$")
_KNOWN_PARTS = ("system", "user", "example user", "example reply")
_OWN = ("kind", "stage", "pruning")
"""What the header says of the file as a whole."""
_FORM: Mapping[str, tuple[Any, ...]] = {
    **{entry.name: (True, False) for entry in dataclasses.fields(Shape) if isinstance(entry.default, bool)},
    "order": get_args(Order),
}
"""What the header's `form` may set, and to what."""


@dataclass(frozen=True)
class Style:
    """How a prompt is laid out."""

    lines: Literal["arrows", "plain"] = "arrows"
    last: str = ""
    flat: bool = False
    options: int = 0
    """0: all; so for ends."""
    ends: int = 0
    form: Mapping[str, Any] = field(default_factory=dict)


_STYLE: Mapping[str, Any] = {
    entry.name: type(entry.default) for entry in dataclasses.fields(Style) if entry.name != "form"
} | {"form": dict}


@dataclass(frozen=True)
class Part:
    """One part of a prompt file; of an example both parts."""

    text: str
    reply: str = ""
    """Of an example."""
    when: tuple[tuple[str, bool], ...] = ()
    """Conditions, each with what it must be."""

    def fits(self, facts: Iterable[str]) -> bool:
        """Whether all conditions hold."""
        return all((name in facts) is wanted for name, wanted in self.when)


@dataclass(frozen=True)
class PromptFile:
    """What a prompt file says."""

    kind: Kind[Any]
    stage: Stage
    """Which temperature applies."""
    pruning: bool
    """Whether the encoder can choose in place of a model (the setting of that name)."""
    styles: Mapping[Profile, Style]
    systems: tuple[Part, ...]
    users: tuple[Part, ...]
    worked: tuple[Part, ...]
    """The worked examples."""
    digest: str
    """Hash of the file's text, for the run manifest."""


@functools.lru_cache(maxsize=1024)
def facts_of(shape: Shape, profile: Profile, *, memory: bool, task: Task = "question") -> frozenset[str]:
    """The conditions that hold for a call.

    Args:
        shape: of its reply.
        profile: it is rendered for.
        memory: whether the model's own knowledge counts.
        task: what is asked, unless the shape has a task's labels.
    """
    task = next((name for name, labels in TASK_LABELS.items() if labels and labels == shape.labels), task)
    asked = {
        name for name in ("likely", "explain", "steps", "triples", "compares", "consistent") if getattr(shape, name)
    }
    return frozenset({profile, f"task={task}", *shape.fields, *asked} | ({"memory"} if memory else set()))


def read_prompt_file(text: str, where: str) -> PromptFile:
    """Read one prompt file.

    Args:
        text: what it holds.
        where: how faults name it.

    Raises:
        PromptError: the file is malformed; the message names file and fault in one line.
    """
    # Editors on Windows put a byte order mark first and \r\n at line ends.
    found = re.match(r"\A---\n(.*?)\n---\n(.*)\Z", text.removeprefix("\ufeff").replace("\r\n", "\n"), re.DOTALL)
    if not found:
        raise PromptError(f"{where}: a prompt file starts with a header between two lines '---'")
    header = _header(found[1], where)
    before, *pieces = _PARTS.split(found[2])
    titles = [_title(title, where) for title in pieces[::2]]
    names, bodies = [name for name, _ in titles], [body.strip() for body in pieces[1::2]]
    examples = [name for name in names if name.startswith("example")]
    if unknown := [name for name in names if name not in _KNOWN_PARTS]:
        fault = f"unknown part '=== {unknown[0]}'"
    elif before.strip():
        fault = f"text stands before the first part, '=== {names[0]}'"
    elif "" in bodies:
        fault = f"the part '=== {names[bodies.index('')]}' is empty"
    elif examples != ["example user", "example reply"] * (len(examples) // 2):
        fault = "every '=== example user' needs an '=== example reply' right after it"
    elif any(when for name, when in titles if name == "example reply"):
        fault = "conditions of an example stand at its '=== example user'"
    elif any([name for name, when in titles if not when].count(part) != 1 for part in ("system", "user")):
        fault = "it needs one '=== system' and one '=== user' without conditions"
    else:
        parts = [Part(body, "", when) for body, (_, when) in zip(bodies, titles, strict=True)]
        by_name = {name: [part for part, own in zip(parts, names, strict=True) if own == name] for name in _KNOWN_PARTS}
        pairs = zip(by_name["example user"], by_name["example reply"], strict=True)
        # What has no condition stands last: it is for all other cases.
        systems, users = (sorted(by_name[name], key=lambda part: not part.when) for name in ("system", "user"))
        return PromptFile(
            kind=KINDS[header["kind"]],
            stage=header["stage"],
            pruning=header.get("pruning") is True,
            styles=_styles(header, where),
            systems=tuple(systems),
            users=tuple(users),
            worked=tuple(dataclasses.replace(asked, reply=reply.text) for asked, reply in pairs),
            digest=hashlib.sha256(text.encode()).hexdigest()[:16],
        )
    raise PromptError(f"{where}: {fault}")


def _header(text: str, where: str) -> dict[str, Any]:
    try:
        header = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise PromptError(f"{where}: the header is not YAML ({first_line(error)})") from None
    if (
        not isinstance(header, dict)
        or str(header.get("kind")) not in KINDS
        or str(header.get("stage")) not in get_args(Stage)
    ):
        raise PromptError(f"{where}: the header needs kind (one of {', '.join(KINDS)}) and stage (explore or reason)")
    if not isinstance(header.get("pruning", False), bool):
        raise PromptError(f"{where}: the header's 'pruning' is true or false")
    return header


def _title(text: str, where: str) -> tuple[str, tuple[tuple[str, bool], ...]]:
    """Name and conditions of a part."""
    found = _HEADING.match(text)
    if not found:
        raise PromptError(f"{where}: '=== {text}' must be a part's name, with its conditions in one pair of brackets")
    when: list[tuple[str, bool]] = []
    for entry in (found["when"] or "").split(",") if found["when"] is not None else ():
        condition = entry.split()
        if not condition or condition[-1] not in CONDITIONS or condition[:-1] not in ([], ["not"]):
            known = ", ".join(sorted(CONDITIONS))
            raise PromptError(f"{where}: '=== {text}' has a condition that is none of: {known} (each may follow 'not')")
        when.append((condition[-1], len(condition) == 1))
    return " ".join(found["name"].casefold().split()), tuple(when)


def _styles(header: Mapping[str, Any], where: str) -> dict[Profile, Style]:
    """The style of every profile: the header's, and what it says for the profile."""
    own = {profile: header.get(profile, {}) for profile in PROFILES}
    given = {name: value for name, value in header.items() if name not in {*_OWN, *PROFILES}}
    for profile, said in own.items():
        if not isinstance(said, dict):
            raise PromptError(f"{where}: the header's '{profile}' must be a mapping of {', '.join(_STYLE)}")
    for name, value in [*given.items(), *(pair for said in own.values() for pair in said.items())]:
        if name not in _STYLE:
            raise PromptError(f"{where}: the header has no '{name}'; known: {', '.join([*_OWN, *_STYLE, *PROFILES])}")
        if type(value) is not _STYLE[name] or (name == "lines" and value not in {"arrows", "plain"}):
            raise PromptError(
                f"{where}: the header's '{name}' cannot be {str(value)!r:.40}; see docs/methods.md, Prompts"
            )
        for key, wanted in value.items() if name == "form" else ():
            if wanted not in _FORM.get(key, ()):
                known = "; ".join(f"{field}: {' or '.join(map(str, values))}" for field, values in _FORM.items())
                raise PromptError(f"{where}: the header's form cannot set '{key}' to {wanted!r:.40}; it sets {known}")
    return {profile: Style(**{**given, **said}) for profile, said in own.items()}
