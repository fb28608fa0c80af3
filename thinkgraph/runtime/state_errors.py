"""A thread's state may be edited by hand (`update_state`, Studio). An edit that gives a channel the wrong form is refused.

What is in a state is not checked at every node: states that nobody edited would pay for it. If a node fails over a channel of
another form, as another release may have left it, the error names that.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NotRequired, Required, get_args, get_origin, get_type_hints

from langgraph.types import Overwrite
from pydantic import TypeAdapter, ValidationError

from thinkgraph.errors import RunError, StateFormError
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.evidence import PARTS
from thinkgraph.tools.protocols import misfit

_LOST = (KeyError, IndexError, TypeError, AttributeError, ValueError)
"""What a transition raises over a channel of another form."""
_UNCHECKED = frozenset({"messages"})
"""LangChain's own."""


def check_edit(values: Any, schema: Any, channels: Container[str]) -> None:
    """Look at what is to be written into channels; None leaves a channel as it is, or empties it.

    Raises:
        StateFormError: there is no such channel, or it would not have its form.
    """
    if not isinstance(values, Mapping):
        return
    # LangGraph drops a name that it does not know, and the run would go on without the edit.
    if strange := next((name for name in values if name not in channels), None):
        raise StateFormError(
            f"there is no channel '{one_line(str(strange))}'; known: {', '.join(sorted(_forms(schema)))}"
        )
    plain = {name: one.value if isinstance(one, Overwrite) else one for name, one in values.items()}
    if said := fault({name: one for name, one in plain.items() if one is not None}, schema):
        raise StateFormError(f"the state of this thread cannot be edited so: {said}")


def check_fit(
    before: Mapping[str, Any], edit: Mapping[str, Any], channels: Mapping[str, Any], unfit: Callable[[Any], str]
) -> None:
    """Look at what a state will be after an edit of the right form; one that did not fit before is let be.

    Raises:
        StateFormError: its parts would not fit together, and no step could work on it.
    """
    after = dict(before)
    for name, value in edit.items():
        merge = getattr(channels.get(name), "operator", None)
        if isinstance(value, Overwrite):
            after[name] = value.value
        elif value is not None:
            after[name] = merge(before.get(name), value) if merge else value
    if (said := unfit(after)) and not unfit(before):
        raise StateFormError(f"the state of this thread cannot be edited so: {one_line(said)}")


@contextmanager
def explain_edits(state: Mapping[str, Any], schema: type[Any] | None) -> Iterator[None]:
    """Run a node; where it fails over a channel that does not have its form in the schema, say which one.

    Raises:
        RunError: a channel has another form.
    """
    try:
        yield
    except _LOST as error:
        if not schema or not (said := fault(state, schema)):
            raise
        raise RunError(
            f"the state of this thread cannot be worked on: {said}; edit it, or go on from an earlier checkpoint"
        ) from error


def fault(state: Mapping[str, Any], schema: Any) -> str:
    """The first channel that does not have its form, and how; empty where all have."""
    for name, form in _forms(schema).items():
        if name not in state or name in _UNCHECKED:
            continue
        try:
            form.validate_python(state[name])
        except ValidationError as error:
            return misfit(error, name)
    for key, item in (state.get("evidence") or {}).items():
        if lost := next((part for part in PARTS[item["kind"]] if part not in item), None):
            return f"'evidence.{one_line(str(key))}.{lost}': Field required of a {item['kind']}"
    return ""


@functools.cache
def _forms(schema: Any) -> dict[str, TypeAdapter[Any]]:
    forms = {}
    for name, hint in get_type_hints(schema, include_extras=True).items():
        form = hint
        while get_origin(form) in {NotRequired, Required}:
            form = get_args(form)[0]
        forms[name] = TypeAdapter(form)
    return forms
