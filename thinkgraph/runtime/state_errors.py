"""A thread's state may be edited by hand (`update_state`, Studio). If a node then fails, the error names the channel in the wrong form.

Nothing is checked beforehand: states that nobody edited would pay for it at every node.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NotRequired, Required, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from thinkgraph.errors import RunError, ThinkGraphError
from thinkgraph.prompts.lines import one_line

_LOST = (KeyError, IndexError, TypeError, AttributeError, ValueError)
"""What a transition raises over a channel of another form."""
_UNCHECKED = frozenset({"messages"})
"""LangChain's own."""


@contextmanager
def explain_edits(state: Mapping[str, Any], schema: type[Any] | None) -> Iterator[None]:
    """Run a node; where it fails over a channel that does not have its form in the schema, say which one.

    Raises:
        RunError: a channel has another form.
    """
    try:
        yield
    except ThinkGraphError:
        # It says what is wrong, also where it is one of these kinds.
        raise
    except _LOST as error:
        if not schema or not (said := fault(state, schema)):
            raise
        raise RunError(
            f"the state of this thread cannot be worked on: {said}. If it was edited, edit it again or go on from an earlier "
            "checkpoint"
        ) from error


def fault(state: Mapping[str, Any], schema: Any) -> str:
    """The first channel that does not have its form, and how; empty where all have."""
    for name, form in _forms(schema).items():
        if name not in state or name in _UNCHECKED:
            continue
        try:
            form.validate_python(state[name])
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False)[0]
            where = ".".join(map(str, (name, *found["loc"])))
            return f"'{one_line(where)}': {one_line(found['msg'])} (it is {one_line(repr(found['input']))[:80]})"
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
