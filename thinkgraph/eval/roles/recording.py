"""Every model call that the methods make when the perfect chooser answers: role, inputs and shape."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.language_models import BaseChatModel

from thinkgraph.eval.questions import Question
from thinkgraph.graphs.registry import NAMES, find_method
from thinkgraph.models.roles import Models
from thinkgraph.models.wire.forms import to_messages
from thinkgraph.prompts.kinds import Shape
from thinkgraph.prompts.library import Message, Prompt, PromptLibrary
from thinkgraph.runtime.deps import Deps
from thinkgraph.runtime.driver import NodeRunner
from thinkgraph.tools.knowledge import Knowledge

_RUNS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    # The perfect chooser's clues are the graph's own names, which code would map without a call.
    "fiske": ("fiske", {"exact_names": False}),
    "rank": ("tog2", {"ranker": "llm"}),
    # Each decision by itself; `steer` makes two in one call.
    "tog2": ("tog2", {"steered": False}),
    "tog2.steer": ("tog2", {}),
    "tog": ("tog", {"beam": "entities"}),
    "fasttog": ("fasttog", {"steered": False, "ask_subjects": True}),
    "fasttog.steer": ("fasttog", {}),
    "coggrag.extract_keys_local": ("coggrag", {"joint_keys": False}),
    "coggrag.extract_keys_global": ("coggrag", {"joint_keys": False}),
}
"""By a role, or the first part of one, the method and settings that call it, where it is not its own method with the defaults."""


@dataclass(frozen=True)
class Recorded:
    """One call, as its node made it."""

    role: str
    inputs: Mapping[str, str]
    shape: Shape


@dataclass(frozen=True)
class _Noted(Prompt):
    """A prompt that tells what it is filled with."""

    note: Callable[[Recorded], None] = field(kw_only=True)

    def render(self, inputs: Mapping[str, str], shape: Shape, **how: Any) -> list[Message]:
        self.note(Recorded(self.role, dict(inputs), shape))
        return super().render(inputs, shape, **how)


class _Recorder(PromptLibrary):
    """The built-in prompts; `calls` is what they were filled with."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Recorded] = []

    def get(self, role: str) -> Prompt:
        prompt = super().get(role)
        parts = {one.name: getattr(prompt, one.name) for one in dataclasses.fields(prompt)}
        return _Noted(**parts, note=self.calls.append)


def methods_of(roles: Sequence[str]) -> list[tuple[str, Mapping[str, Any]]]:
    """The methods, with settings, whose runs call these roles."""
    found: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for role in roles:
        room = role if role in _RUNS else role.partition(".")[0]
        if room in NAMES or room in _RUNS:
            found[room] = _RUNS.get(room, (room, {}))
    runs = list(found.values())
    return [run for place, run in enumerate(runs) if run not in runs[:place]]


def recorded(
    questions: Sequence[Question], roles: Sequence[str], *, knowledge: Knowledge, chooser: BaseChatModel
) -> Iterator[tuple[Question, list[Recorded]]]:
    """Run the methods of some roles over questions, one by one.

    Args:
        questions: what is asked.
        roles: the roles whose calls are kept.
        knowledge: what the methods look up.
        chooser: the model that answers, the perfect chooser.

    Yields:
        Each question with its calls, each once, in an order that does not depend on threads.

    Raises:
        ThinkGraphError: a run failed.
    """
    prompts, models = _Recorder(), Models(chooser, offline=lambda: chooser)
    graphs = []
    for name, settings in methods_of(roles):
        method = find_method(name)
        deps = Deps(knowledge=knowledge, models=models, prompts=prompts, journal=None)
        graphs.append(method.wire(NodeRunner(deps, method.settings, settings)).compile(name=name))
    for question in questions:
        prompts.calls.clear()
        for graph in graphs:
            graph.invoke({"question": question.question})
        kept = {(one.role, *sorted(one.inputs.items())): one for one in prompts.calls if one.role in roles}
        yield question, [kept[key] for key in sorted(kept, key=str)]


class Oracle:
    """The perfect chooser, asked about inputs."""

    def __init__(self, chooser: BaseChatModel) -> None:
        """Bind the chooser; it reads the built-in prompts."""
        self._chooser = chooser
        self.prompts = PromptLibrary()

    def __call__(self, role: str, inputs: Mapping[str, str], shape: Shape) -> Any:
        """Its reply, as the role's kind reads it."""
        prompt = self.prompts.get(role)
        reply = self._chooser.invoke(to_messages(prompt.render(inputs, shape)))
        return prompt.kind.parse(str(reply.text), shape)
