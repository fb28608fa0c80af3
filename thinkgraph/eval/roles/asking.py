"""Cases put to a model: one call at a time, through the package's own model layer, every reply kept."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from typing_extensions import TypedDict

from thinkgraph.errors import ModelError
from thinkgraph.eval.files import make_folder
from thinkgraph.eval.record import RecordFile
from thinkgraph.eval.roles.cases import Case
from thinkgraph.eval.roles.checked import checked
from thinkgraph.eval.roles.lines import reordered
from thinkgraph.graphs.registry import NAMES, find_method
from thinkgraph.models.budget import Ledger, ceilings
from thinkgraph.models.calls import CallResult, CallScope, ModelCall, call_model, prompt_profile, rendered
from thinkgraph.models.failures import classify
from thinkgraph.models.journal import Journal, MemoryJournal, RawReply
from thinkgraph.models.roles import Models
from thinkgraph.prompts.example_names import without_example_names
from thinkgraph.prompts.files import Profile
from thinkgraph.prompts.library import Prompt, PromptLibrary
from thinkgraph.runtime.deps import Deps
from thinkgraph.runtime.driver import Driver
from thinkgraph.runtime.shortlist import nearest, prunes, shortlist, with_nearest_clues
from thinkgraph.state.events import Event
from thinkgraph.state.settings import RunSettings, resolve_settings
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.progress import Progress, no_progress
from thinkgraph.version import VERSION

T = TypeVar("T")


class Asked(TypedDict):
    """One call and its reply."""

    id: str
    """The case's."""
    turn: int
    """0: the options as a run shows them; 1: in the case's other order."""
    shown: list[int]
    """Choosing: the case's numbers of the options shown, in that order; empty where all are, as recorded."""
    value: Any
    """The reply as its kind reads it; null where it could not be read. What `put_to` gives has passed a run's own checks, what it keeps
    has not.
    """
    replies: list[str]
    """As they came: a second one is a repair. None where the encoder chose."""
    input_tokens: int
    """Of all replies, as for output and seconds."""
    output_tokens: int
    seconds: float
    error: str
    """Why the model refused the call; empty where it did not."""


class RoleCall(NamedTuple):
    """One call, as a run makes it of this model."""

    case: Case
    turn: int
    shown: Sequence[int]
    """As in `Asked`."""
    request: ModelCall[Any]
    chosen: Any = None
    """What the encoder chooses in the model's place (the setting `pruning`); None where the model is asked."""


class _Kept(MemoryJournal):
    def __init__(self) -> None:
        super().__init__()
        self.replies: list[RawReply] = []

    def put(self, thread: str, key: str, reply: RawReply) -> None:
        del thread, key
        self.replies.append(reply)


def put_to(
    model: str,
    models: Models,
    cases: Sequence[Case],
    *,
    knowledge: Knowledge,
    prompts: PromptLibrary,
    settings: RunSettings,
    folder: Path | None = None,
    progress: Progress = no_progress,
) -> list[Asked]:
    """Ask a model about all cases, role by role, so that a server's cache of a prompt's fixed text serves.

    Args:
        model: its name.
        models: makes its client.
        cases: what to ask; those with a second order are asked twice.
        knowledge: its encoder chooses the options that the model's prompt has room for, as in a run.
        prompts: what is rendered.
        settings: timeouts, temperatures, examples of a call.
        folder: where the replies are kept, a file for each model and role; what stands there is not asked again.
        progress: told after every call.

    Raises:
        ModelError: the model cannot be reached.
        UsageError: a file in the folder holds other replies, or cannot be written.
    """
    by_role: dict[str, list[RoleCall]] = {}
    driver = Driver({}, Deps(knowledge=knowledge, models=models, prompts=prompts, journal=None))
    for case in cases:
        by_role.setdefault(case.role, []).extend(calls_of(case, prompts.get(case.role), models, settings, driver))
    found: list[Asked] = []
    total = sum(map(len, by_role.values()))
    for role, calls in by_role.items():
        prompt = prompts.get(role)
        own = _of_method(role, prompt_profile(prompt, models, settings), settings)
        with _record(folder, model, calls, prompt, settings, models) or nullcontext() as file:
            known = cast("list[Asked]", list(file.records(_is_reply))) if file else []
            done = {(one["id"], one["turn"]): one for one in known}
            for call in calls:
                reply = done.get((call.case.id, call.turn))
                if reply is None:
                    reply = _ask(call, models, prompts, settings)
                    if file:
                        file.keep(reply)
                value = without_example_names(reply["value"], prompt.example_names, call.case.inputs)
                value = driver.drive(checked(call.case, prompt.kind.name, value, own))
                found.append({**reply, "value": value})
                progress(f"{model} {role}", len(found), total)
    return found


def calls_of(case: Case, prompt: Prompt, models: Models, settings: RunSettings, driver: Driver) -> list[RoleCall]:
    """The calls of a case, with as many options as a run shows this model. What the prompt asks for beside them stays empty."""
    inputs = {**dict.fromkeys(prompt.places, ""), **case.inputs}
    whole = ModelCall(kind=prompt.kind, role=case.role, inputs=inputs, shape=case.bounds, fallback=None)
    profile = prompt_profile(prompt, models, settings)
    chosen = prunes(prompt, _of_method(prompt.role, profile, settings))
    request, shown = driver.drive(shortlist(whole, 0 if chosen else prompt.most_options(profile)))
    calls = [RoleCall(case, 0, shown, request)]
    if case.order:
        order = [number for number in case.order if not shown or number in shown]
        other = {**inputs, "options": reordered(inputs["options"], order)}
        calls.append(RoleCall(case, 1, order, replace(request, inputs=other)))
    if chosen:
        return [one._replace(chosen=driver.drive(nearest(one.request))) for one in calls]
    return [one._replace(request=driver.drive(with_nearest_clues(one.request, prompt, profile))) for one in calls]


def _of_method(role: str, profile: Profile, settings: RunSettings) -> RunSettings:
    """The settings as they are in a run of the role's method. A prompt that several methods share has none."""
    method = role.partition(".")[0]
    kind = find_method(method).settings if method in NAMES else RunSettings
    own = resolve_settings(kind, settings)
    return own.for_small() if profile == "small" else own


def _is_reply(record: Mapping[str, Any]) -> bool:
    return record.keys() == Asked.__annotations__.keys()


def _record(
    folder: Path | None, model: str, calls: Sequence[RoleCall], prompt: Prompt, settings: RunSettings, models: Models
) -> RecordFile | None:
    """The file of a model's replies in a role. Other cases, prompts, forms or settings are other replies."""
    if folder is None:
        return None
    said = [rendered(prompt, call.request.inputs, call.request.shape, models, settings) for call in calls]
    # Cases that were saved and read again come in another order.
    digest = hashlib.sha256(json.dumps(sorted(said), ensure_ascii=False).encode("utf-8", "replace")).hexdigest()[:16]
    place = folder / re.sub(r"[^\w.-]+", "_", model)
    make_folder(place)
    plan = {
        "version": VERSION,
        "model": model,
        "role": prompt.role,
        "prompts": digest,
        "settings": settings.model_dump(mode="json"),
    }
    return RecordFile(place / f"{prompt.role}.jsonl", plan)


def call_alone(
    request: ModelCall[T],
    models: Models,
    prompts: PromptLibrary,
    settings: RunSettings,
    *,
    journal: Journal | None = None,
    emit: Callable[[Event], None] = lambda _event: None,
) -> CallResult[T]:
    """Make one call as a run makes it, outside of any run.

    Raises:
        ModelError: the model cannot be reached or refuses.
    """
    scope = CallScope(
        models=models,
        prompts=prompts,
        journal=journal,
        thread="roles",
        run=0,
        node=request.role,
        place=request.role,
        settings=settings,
        ledger=Ledger(ceilings(settings), settings),
        emit=emit,
    )
    result: CallResult[T] = Driver({}).drive(call_model(request, scope))
    return result


def _ask(call: RoleCall, models: Models, prompts: PromptLibrary, settings: RunSettings) -> Asked:
    if call.chosen is not None:
        return _reply(call, call.chosen, [])
    journal = _Kept()
    value, problem = None, ""
    try:
        value = call_alone(call.request, models, prompts, settings, journal=journal).value
    except ModelError as error:
        failure = classify(error.__cause__) if isinstance(error.__cause__, Exception) else None
        if failure is None or not failure.refused:
            raise
        # A prompt beyond the model's window, for example: the next one may fit.
        problem = str(error)
    return _reply(call, value, journal.replies, problem)


def _reply(call: RoleCall, value: Any, replies: Sequence[RawReply], problem: str = "") -> Asked:
    return Asked(
        id=call.case.id,
        turn=call.turn,
        shown=list(call.shown),
        value=value,
        replies=[reply["text"] for reply in replies],
        input_tokens=sum(reply["input_tokens"] for reply in replies),
        output_tokens=sum(reply["output_tokens"] for reply in replies),
        seconds=round(sum(reply["seconds"] for reply in replies), 3),
        error=problem,
    )
