"""The entry transition of every method: check the question, reset what the thread still holds, write the manifest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from langgraph.types import Overwrite

from thinkgraph.errors import UnfinishedRunError, UsageError
from thinkgraph.models.ops import Flow, NodeFunction, Update
from thinkgraph.nodes.common import conversation
from thinkgraph.nodes.common.judging import VERIFIER
from thinkgraph.nodes.opening.clarify import clarify
from thinkgraph.runtime import requests
from thinkgraph.state.base import BeginState, RunState
from thinkgraph.state.events import Started
from thinkgraph.state.settings import RunSettings


def check_question(question: object, settings: RunSettings) -> str:
    """The question, stripped.

    Raises:
        UsageError: no text, or too long.
    """
    if not isinstance(question, str | None):
        raise UsageError(f"the question is a text, not {question!r:.60}")
    if not question or not question.strip():
        raise UsageError("the question is empty: ask something")
    text = question.strip()
    if len(text) > settings.max_question:
        raise UsageError(
            f"the question has {len(text):,} characters, more than the {settings.max_question:,} allowed (max_question)"
        )
    return text.encode("utf-8", "replace").decode("utf-8")


def begin(
    method: str,
    schema: type[RunState],
    roles: Callable[[Any], Mapping[str, bool]],
    *,
    links: Callable[[Any], bool] = lambda _settings: True,
) -> NodeFunction:
    """The entry transition.

    Args:
        method: the method's registered name.
        schema: its state, of which a new run finds the method's own channels empty.
        roles: for each of the method's roles, whether a run with given settings may call it.
        links: whether a run with given settings links names to entities, so that it matters which one is meant.
    """
    hints = get_type_hints(schema, include_extras=True)
    own = {name: hint for name, hint in hints.items() if name not in RunState.__annotations__}

    def run(state: BeginState, settings: RunSettings) -> Flow[Update]:
        old = state.get("manifest")
        turn = conversation.asked(state)
        question = check_question(turn.question, settings)
        if old and not state.get("answer") and settings.on_unfinished == "refuse":
            raise UnfinishedRunError(
                "this thread holds an unfinished run: resume it, use another thread, or set on_unfinished=replace"
            )
        # Beside the method's own, those that any run may call before its first step and after its last.
        wanted = {**roles(settings), conversation.ROLE: settings.history, VERIFIER: settings.verifies_at_end}
        used = [role for role, may_call in wanted.items() if may_call]
        manifest = yield from requests.start_run(method, (old["run"] if old else 0) + 1, settings, used)
        models = sorted(set(manifest["models"].values()))
        yield from requests.emit(
            Started(type="started", method=method, question=question, models=models, knowledge=manifest["knowledge"])
        )
        said, manifest["message"] = conversation.note(turn, question, settings)
        manifest["said"] = str(turn.question) if turn.message else question
        if settings.history:
            question = yield from conversation.in_full(question, turn.earlier, settings)
        if settings.ask_user in {"ambiguity", "both"} and links(settings):
            manifest["not_meant"] = yield from clarify(question)
            yield from requests.leave_out(manifest["not_meant"])
        manifest["question"] = question
        return {
            "question": question,
            "messages": said,
            "manifest": manifest,
            "round": 0,
            "evidence": Overwrite({}),
            "pruned": Overwrite([]),
            "stopped": Overwrite(""),
            "draft": None,
            "answer": None,
            **{name: _empty(hint) for name, hint in own.items()},
        }

    return run


def _empty(hint: Any) -> Any:
    """What a channel of this type holds at first. A reducer would keep what is there, so its channel is overwritten."""
    if get_origin(hint) is Annotated:
        return Overwrite(_empty(get_args(hint)[0]))
    return None if type(None) in get_args(hint) else (get_origin(hint) or hint)()
