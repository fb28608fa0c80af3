"""Calls of known outcome as chat messages: what a run sends, and the reply that is right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel

from thinkgraph.eval.roles.asking import RoleCall, calls_of
from thinkgraph.eval.roles.cases import Case
from thinkgraph.eval.roles.lines import lines_of
from thinkgraph.eval.roles.scoring import figures
from thinkgraph.models.calls import prompt_profile, rendered
from thinkgraph.models.roles import Models
from thinkgraph.models.wire.forms import to_messages
from thinkgraph.prompts.library import Message, PromptLibrary, in_form
from thinkgraph.prompts.parsed import parse_items
from thinkgraph.runtime.deps import Deps
from thinkgraph.runtime.driver import Driver
from thinkgraph.state.settings import RunSettings
from thinkgraph.tools.grounding import fold
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.linking.lexical import content_tokens

_MUST_BE_WHOLE = ("recall", "precision", "none", "can", "must")


@dataclass(frozen=True)
class Record:
    """A call and its right reply."""

    role: str
    sort: str
    """Why it is there: see `SORTS_OF_RECORDS` of `thinkgraph.training.chat.card`."""
    messages: tuple[Message, ...]
    """As a run sends them."""
    reply: str

    def row(self) -> dict[str, Any]:
        """As a line of training data."""
        said = [*self.messages, ("assistant", self.reply)]
        return {"messages": [{"role": who, "content": text} for who, text in said]}


def records_of(
    cases: Iterable[Case],
    *,
    chooser: BaseChatModel,
    knowledge: Knowledge,
    prompts: PromptLibrary,
    settings: RunSettings,
    unanswerable: frozenset[str] = frozenset(),
) -> Iterator[Record]:
    """The records of cases: one for each order of options. Cases whose right reply cannot be told from what their prompt shows
    are left out.

    Args:
        cases: what is asked.
        chooser: the perfect chooser, which replies.
        knowledge: its encoder chooses the options that a prompt has room for, as in a run.
        prompts: what is rendered.
        settings: profile and worked examples of a call.
        unanswerable: ids of questions without an answer.
    """
    models = Models(chooser, offline=lambda: chooser)
    driver = Driver({}, Deps(knowledge=knowledge, models=models, prompts=prompts, journal=None))
    for case in cases:
        prompt = prompts.get(case.role)
        for call in calls_of(case, prompt, models, settings, driver):
            shape = prompt.shaped(call.request.shape, prompt_profile(prompt, models, settings))
            messages = rendered(prompt, call.request.inputs, shape, models, settings)
            said = str(chooser.invoke(to_messages(messages)).text)
            value = prompt.kind.parse(said, shape)
            found = figures(case, prompt.kind.name, value, call.shown)
            if any(found.get(name, 1.0) < 1.0 for name in _MUST_BE_WHOLE) or _doubtful(call, value):
                continue
            group = case.id.rpartition("/")[2].rstrip("0123456789")
            sort = "unanswerable" if case.question in unanswerable else "shuffled" if call.turn else group
            yield Record(case.role, sort, tuple(messages), in_form(said, prompt.kind.schema(shape)))


def _doubtful(call: RoleCall, value: Any) -> bool:
    """Whether a prompt does not tell the reply, though the gold path does: to learn it would be to learn to guess."""
    request = call.request
    if request.inputs.get("tried"):
        # What led nowhere before is what the path gives once more.
        return True
    match request.kind.name:
        case "judge":
            # What a search should go on with where no option lies on the path is not known.
            return not value["sufficient"] and value.get("scores") == [] and request.shape.options > 0
        case "keywords" | "names":
            asked = set(content_tokens(request.inputs["question"]))
            return not all(asked & set(content_tokens(word)) for word in value)
        case "pairs":
            # An option of the very name of a clue, at an entity that the path does not walk from, may be meant all the same.
            clues = set(map(fold, lines_of(request.inputs["clues"])))
            named = [item.step[1] if item.step else item.label for item in parse_items(request.inputs["options"])]
            return not value and not clues.isdisjoint(map(fold, named))
        case _:
            return False
