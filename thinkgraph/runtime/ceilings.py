"""What happens where a ceiling is spent: the run stops, or (`ask_user`) the person is asked whether to raise it."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from langgraph.types import interrupt

from thinkgraph.errors import UsageError
from thinkgraph.models.budget import BudgetSpentError, CeilingName, Ledger
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.base import Manifest
from thinkgraph.state.events import ActionRequest, ReviewConfig, UserQuestion
from thinkgraph.state.settings import RunSettings, resolve_settings

T = TypeVar("T")

ENOUGH = "stop"
_ACTIONS = {"ambiguity": "choose_entity", "budget": "raise_ceiling"}


def from_user(question: UserQuestion, read: Callable[[object], T]) -> T:
    """Pause the run until there is a reply that can be read. After one that cannot, the question is put again with the reason."""
    while True:
        given = interrupt(reviewable(question))
        try:
            return read(decided(question, given))
        except UsageError as error:
            question = {**question, "problem": str(error)}


def reviewable(question: UserQuestion) -> UserQuestion:
    """The question, and the same once more in the form that chat pages for agents show."""
    options = [f"{one['number']}: {one['label']} ({one['description'] or one['id']})" for one in question["options"]]
    lines = [*filter(None, [question["problem"]]), question["text"], *options, f"Reply: {question['reply']}"]
    name = _ACTIONS[question["kind"]]
    return {
        **question,
        "action_requests": [ActionRequest(name=name, args={"reply": ""}, description="\n".join(lines))],
        "review_configs": [ReviewConfig(action_name=name, allowed_decisions=["respond", "edit", "reject"])],
    }


def decided(question: UserQuestion, given: object) -> object:
    """The reply in what a person gave; such pages wrap it as a decision. A rejection stops the run, or means any namesake."""
    decisions = given.get("decisions") if isinstance(given, Mapping) else None
    if not isinstance(decisions, list) or not decisions or not isinstance(decisions[0], Mapping):
        return given
    first = decisions[0]
    match first.get("type"):
        case "respond":
            return first.get("message")
        case "edit":
            action = first.get("edited_action")
            args = action.get("args") if isinstance(action, Mapping) else None
            return args.get("reply") if isinstance(args, Mapping) else args
        case "reject":
            return ENOUGH if question["kind"] == "budget" else "0"
    raise UsageError(f"a decision is to respond, edit or reject, not {one_line(repr(first.get('type')))[:40]}")


class Ceilings:
    """The ceilings of one node execution, and what the person said about them. Safe under concurrent calls."""

    def __init__(self, settings: RunSettings, *, ask: bool) -> None:
        self._settings = settings
        self._ask = ask
        self._lock = threading.RLock()
        self._raised: dict[str, float] = {}
        self._enough = False
        self.version = 0
        """Counts how often a ceiling was raised here."""

    def more(self, spent: BudgetSpentError, ledger: Ledger, tried: int) -> bool:
        """Whether there is more room than when `tried` was the version; the person may be asked for it."""
        if not self._ask:
            return False
        with self._lock:
            if self.version != tried:
                return True
            if self._enough:
                return False
            name = spent.name
            limit = getattr(self._settings, f"max_{name}")
            question = UserQuestion(
                kind="budget",
                text=f"The ceiling of {limit:.15g} {spent.what} (max_{name}) is reached. Raise it?",
                options=[],
                reply=f"a number larger than {limit:.15g} as the new ceiling, or '{ENOUGH}' for an answer from what there is",
                problem="",
            )
            raised = from_user(question, lambda reply: self._read(reply, name, ledger.parts))
            if raised is None:
                self._enough = True
                return False
            self._raised.setdefault(f"max_{name}", limit)
            self._settings = raised
            ledger.extend(name, raised)
            self.version += 1
            return True

    def _read(self, reply: object, name: CeilingName, parts: int) -> RunSettings | None:
        setting = f"max_{name}"
        if isinstance(reply, Mapping):
            if set(reply) != {setting}:
                raise UsageError(
                    f"it is {setting} that is reached: reply with a number, {{'{setting}': number}} or '{ENOUGH}'"
                )
            reply = reply[setting]
        if isinstance(reply, str) and reply.strip().casefold() == ENOUGH:
            return None
        value = _number(reply)
        if value is None:
            raise UsageError(f"{one_line(repr(reply))[:80]} is no number: reply with a new {setting}, or '{ENOUGH}'")
        old = getattr(self._settings, setting)
        least = old + (parts if name in {"calls", "tokens"} else 0)
        if value <= old or value < least:
            shared = f", which {parts} tasks share: at least {least:.15g}" if least > old + 1 else ""
            raise UsageError(f"{value:.15g} is not more than the ceiling of {old:.15g} there is{shared}")
        whole = int(value) if value == int(value) else value
        # A ceiling may be out of the setting's own range: that is a UsageError too.
        return resolve_settings(type(self._settings), {**self._settings.model_dump(), setting: whole})

    def changes(self) -> dict[str, Any]:
        """What the manifest must know: raised ceilings (new and old value), and whether it is enough."""
        changed: dict[str, Any] = {
            name: (getattr(self._settings, name), before) for name, before in self._raised.items()
        }
        return {**changed, "enough": True} if self._enough else changed


def changed_manifest(manifest: Manifest, changed: Mapping[str, Any]) -> Manifest:
    """The manifest with what `Ceilings.changes` says."""
    pairs = {name: value for name, value in changed.items() if name != "enough"}
    settings = {**manifest["settings"], **{name: new for name, (new, _) in pairs.items()}}
    before = {**{name: old for name, (_, old) in pairs.items()}, **manifest.get("raised", {})}
    enough = {"enough": True} if "enough" in changed else {}
    return cast("Manifest", {**manifest, "settings": settings, **({"raised": before} if before else {}), **enough})


def _number(reply: object) -> float | None:
    if isinstance(reply, bool) or not isinstance(reply, int | float | str):
        return None
    try:
        value = float(reply)
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None
